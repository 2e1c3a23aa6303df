"""A self-rewarding training from its config to its checkpoints, stage by stage.

::

    OUT/training.json             what it is: config, data, prompts
    OUT/data/                     examples, held-out headlines, what was left out and why
    OUT/base/evaluation/          the model as it came, on the held-out headlines
    OUT/warm-up/model/            a checkpoint: a model's folder, and its losses.jsonl
    OUT/warm-up/evaluation/
    OUT/iteration-1/headlines/    new headlines, and those rejected
    OUT/iteration-1/candidates/
    OUT/iteration-1/scores/
    OUT/iteration-1/preferences/  pairs, and the figures of saturation
    OUT/iteration-1/model/
    OUT/iteration-1/evaluation/
    OUT/metrics.csv, …            tables and figures over all of it
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contrafact import __version__
from contrafact.errors import InputError
from contrafact.files.download import sha256_of
from contrafact.models.whitebox.weights import load_causal
from contrafact.records import ForwardPair, Headline
from contrafact.training.candidates import check_method
from contrafact.training.config import TrainConfig
from contrafact.training.data import example_row, load_pool, share_out
from contrafact.training.dialogue import answer_text
from contrafact.training.evaluation import answer_held_out
from contrafact.training.iteration import Iteration
from contrafact.training.stages import (
    Journal,
    alone,
    read_json,
    run_stage,
    write_json,
    write_lines,
)
from contrafact.training.tables import write_tables
from contrafact.training.trainers import check_targets, check_trainers, warm_up
from contrafact.training.workshop import JOURNAL, Progress, StepBar, Workshop, told_losses
from contrafact.training.writing import check_room

__all__ = ["Outcome", "train"]


@dataclass(frozen=True)
class Outcome:
    """How a training ended.

    Attributes:
        checkpoints: The folders of its models, in order.
        metrics: A row for each model, the base first.
        saturation: A row for each iteration.
        saturated: The iteration that found too few pairs, and trained nothing; none if none did.
    """

    checkpoints: tuple[Path, ...]
    metrics: tuple[dict[str, Any], ...]
    saturation: tuple[dict[str, Any], ...]
    saturated: int | None


def train(
    config: TrainConfig, out: Path, *, say: Callable[[str], None], progress: Progress
) -> Outcome:
    """Train, from where an earlier start of the same training stopped.

    Args:
        config: The training.
        out: Its folder.
        say: Told one line for each thing worth knowing.
        progress: Makes progress bars.

    Raises:
        InputError: Something is missing or does not fit; another training is in the folder; the
            disk is full. What was finished stays.
    """
    check_trainers()
    with alone(out):
        shop = Workshop(config, out, say, progress)
        _identify(shop)
        check_method(config.candidates, shop.pack)
        run_stage(out / "data", lambda folder: _share_data(shop, folder))
        _evaluate(shop, "base", config.model)
        checkpoints = [out / "warm-up" / "model"]
        run_stage(checkpoints[0], lambda folder: _warm_up(shop, folder))
        _evaluate(shop, "warm-up", checkpoints[0])
        saturated = None
        for number in range(1, config.iterations + 1):
            iteration = Iteration(shop, number, checkpoints[-1])
            trained = iteration.run()
            if trained is None:
                saturated = number
                break
            _evaluate(shop, iteration.name, trained)
            checkpoints.append(trained)
        metrics, saturation = write_tables(out, seed=config.seed)
    return Outcome(tuple(checkpoints), tuple(metrics), tuple(saturation), saturated)


def _identify(shop: Workshop) -> None:
    """Write down which training this is, or hold the folder to be of this one."""
    # How many iterations there are may be raised later; files count by their content.
    config = shop.config.model_dump(mode="json", exclude={"iterations", "data", "prompts"})
    data = shop.config.data
    facts = {
        **config,
        "data": "bundled" if data is None else _digest(data),
        "prompts": shop.dialogue.identity,
    }
    path = shop.out / "training.json"
    if not (shop.out / "data").is_dir():  # nothing is done yet that it would have to fit
        write_json(path, {"version": __version__, "facts": facts})
        return
    known = read_json(path)["facts"]
    if known != facts:
        names = sorted(key for key in facts | known if facts.get(key) != known.get(key))
        raise InputError(
            f"holds another training (it differs in {', '.join(names)})",
            file=shop.out,
            hint="name another folder with --out",
        )


def _share_data(shop: Workshop, folder: Path) -> None:
    config = shop.config
    causal = shop.model(config.model)
    check_targets(causal, config.lora)
    check_room(
        causal,
        shop.dialogue.ask_pair("-"),
        config.candidates.max_tokens,
        what="a pair of counterfactuals",
    )

    def fits(headline: str, pair: ForwardPair) -> bool:
        lesson = shop.lesson(causal, headline, answer_text(headline, pair))
        return len(lesson.prompt) + len(lesson.chosen) <= causal.context

    pool = load_pool(config.data, fits=fits)
    shares = share_out(
        pool,
        held_out=config.held_out,
        validation=config.validation,
        most=config.warm_up.examples,
        seed=config.seed,
    )
    longest = max(shares.train, key=lambda one: len(one.headline))
    shown = config.headlines.seed_examples + config.headlines.own_examples
    asked = shop.dialogue.ask_headline([longest.headline] * shown)
    check_room(causal, asked, config.headlines.max_tokens, what="a new headline")
    if config.judge.by == "self":
        asked = shop.dialogue.ask_score(longest.headline, longest.pair)
        check_room(causal, asked, config.judge.max_tokens, what="a pair's score")
    write_lines(folder / "train.jsonl", [example_row(one) for one in shares.train])
    write_lines(folder / "validation.jsonl", [example_row(one) for one in shares.validation])
    write_lines(folder / "held-out.jsonl", [{"headline": h.text} for h in shares.held_out])
    write_lines(folder / "rejected.jsonl", [asdict(one) for one in pool.rejected])
    shop.say(
        f"data: {len(shares.train)} examples to train on, {len(shares.validation)} to "
        f"validate on, {len(shares.held_out)} headlines held out"
        + (f"; {len(pool.rejected)} left out (data/rejected.jsonl)" if pool.rejected else "")
    )


def _warm_up(shop: Workshop, folder: Path) -> None:
    causal = shop.model_to_train(shop.config.model)
    train, validation = (
        [
            shop.lesson(causal, one.headline, answer_text(one.headline, one.pair))
            for one in shop.examples(share)
        ]
        for share in ("train", "validation")
    )
    with StepBar(shop.progress, "warm-up: steps") as steps:
        losses = warm_up(causal, train, validation, shop.config, folder, steps)
    write_lines(folder / "losses.jsonl", losses)
    shop.say(f"warm-up: {told_losses(losses)}")


def _evaluate(shop: Workshop, step: str, model: str | Path) -> None:
    def work(folder: Path) -> None:
        scorer = shop.config.fluency_model
        headlines = [Headline.of(text) for text in shop.held_out()]
        with shop.progress(f"{step}: held-out headlines", len(headlines)) as bar:
            answers = answer_held_out(
                shop.model(model),
                shop.dialogue,
                headlines,
                shop.config,
                scorer=None if scorer is None else load_causal(scorer),
                journal=Journal(folder / JOURNAL),
                said=bar.step,
            )
        write_lines(folder / "answers.jsonl", [one.row() for one in answers])
        (folder / JOURNAL).unlink()
        valid = sum(one.values["valid"] == 1 for one in answers)
        shop.say(f"{step}: {valid} of {len(answers)} held-out replies are valid")

    if run_stage(shop.out / step / "evaluation", work):
        write_tables(shop.out, seed=shop.config.seed)


def _digest(path: Path) -> str:
    if not path.is_file():
        raise InputError("there is no such file", file=path, hint="check --data or the config")
    return sha256_of(path)
