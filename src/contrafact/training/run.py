"""A self-rewarding training from its config to its checkpoints, stage by stage.

After Yuan et al. (2024), *Self-Rewarding Language Models*. The folders, for a family of headlines::

    OUT/training.json             its config, data and prompts
    OUT/data/                     examples, held-out headlines, rejected rows with reasons
    OUT/base/evaluation/          the base model on the held-out headlines
    OUT/warm-up/model/            a checkpoint: a model's folder, and its losses.jsonl
    OUT/warm-up/evaluation/
    OUT/iteration-1/headlines/    new headlines, and those rejected
    OUT/iteration-1/candidates/
    OUT/iteration-1/scores/
    OUT/iteration-1/preferences/  pairs, and the figures of saturation
    OUT/iteration-1/model/
    OUT/iteration-1/evaluation/
    OUT/metrics.csv, …            tables of all stages
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrafact.console import Progress
from contrafact.errors import InputError
from contrafact.family.training import Answer, TrainingSpec
from contrafact.files.download import sha256_of
from contrafact.files.lock import locked
from contrafact.files.tables import write_rows
from contrafact.models.whitebox.weights import load_causal
from contrafact.training.config import TrainConfig, family_words
from contrafact.training.context import (
    TrainingContext,
    check_same,
    counted_steps,
    read_json,
    run_stage,
    write_json,
)
from contrafact.training.data import load_pool, share_out
from contrafact.training.evaluation import evaluate, write_results
from contrafact.training.generation import (
    Candidate,
    Reply,
    check_context,
    generate_items,
    open_method,
    write_candidates,
)
from contrafact.training.judging import score_candidates
from contrafact.training.learning import check_targets, check_trainers, learn
from contrafact.training.preferences import ScoredCandidate, pair_up

__all__ = ["Training", "train"]


@dataclass(frozen=True)
class Training:
    """The result of a training.

    Attributes:
        checkpoints: The folders of the trained models, in order.
        metrics: A row for each model, the base first.
        saturation: A row for each iteration.
        saturated: The iteration that found too few pairs and trained nothing, or None.
    """

    checkpoints: tuple[Path, ...]
    metrics: tuple[dict[str, Any], ...]
    saturation: tuple[dict[str, Any], ...]
    saturated: int | None


def train(
    config: TrainConfig,
    spec: TrainingSpec,
    out: Path,
    *,
    say: Callable[[str], None],
    progress: Callable[[str, int], Progress] = Progress,
) -> Training:
    """Run a training, continuing an earlier start of the same training.

    Args:
        spec: The spec of the family that the config names.
        out: The folder of the training.
        say: Called with each line for the user.
        progress: Called with what is counted, and how many there are, to show progress.

    Raises:
        InputError: Something is missing or invalid, the folder holds another training, or the disk
            is full. Finished stages are kept.
    """
    check_trainers("datasketch", "spacy")
    with locked(out):
        context = TrainingContext(config, spec, out, say, progress)
        open_method(context)
        _identify(context)
        run_stage(out / "data", lambda folder: _share_data(context, folder))
        _evaluate(context, "base", config.model)
        checkpoints = [out / "warm-up" / "model"]
        run_stage(checkpoints[0], lambda folder: _warm_up(context, folder))
        _evaluate(context, "warm-up", checkpoints[0])
        saturated = None
        for number in range(1, config.iterations + 1):
            iteration = _Iteration(context, number, checkpoints[-1])
            trained = iteration.run()
            if trained is None:
                saturated = number
                break
            _evaluate(context, iteration.name, trained)
            checkpoints.append(trained)
        metrics, saturation = write_results(out, spec, seed=config.seed)
    return Training(tuple(checkpoints), tuple(metrics), tuple(saturation), saturated)


def _identify(context: TrainingContext) -> None:
    """Record which training this is; raise an error if the folder has a stage of another one."""
    # The number of iterations may be raised later; files are recorded by content.
    config = context.config.model_dump(mode="json", exclude={"iterations", "data", "prompts"})
    data = context.config.data
    if data is not None and not data.is_file():
        raise InputError("there is no such file", file=data, hint="check --data or the config")
    facts = {
        **family_words(config, context.spec),
        "data": "bundled" if data is None else sha256_of(data),
        "prompts": context.pack.used_hash,
    }
    begun = (context.out / "data").is_dir()
    check_same(context.out / "training.json", facts, begun=begun)


def _share_data(context: TrainingContext, folder: Path) -> None:
    config, spec, prompts = context.config, context.spec, context.prompts
    causal = context.model(config.model)
    check_targets(causal, config.lora)
    most = config.candidates.max_tokens
    check_context(causal, prompts.answer("-"), most, what=f"a reply with {spec.answer}")

    def fits(item: str, answer: Answer) -> bool:
        example = context.tokenized(causal, item, (spec.reply(item, answer), True))
        return len(example.prompt) + len(example.chosen) <= causal.context

    pool = load_pool(spec, config.data, fits=fits)
    train, validation, held_out = share_out(
        pool,
        held_out=config.held_out,
        validation=config.validation,
        most=config.warm_up.examples,
        seed=config.seed,
    )
    longest, answer = max(train, key=lambda example: len(example[0]))
    shown = config.items.seed_examples + config.items.own_examples
    asked = prompts.new_item([longest] * shown)
    check_context(causal, asked, config.items.max_tokens, what=f"a new {spec.item}")
    if config.judge.by == "self":
        asked = prompts.score(longest, answer)
        check_context(causal, asked, config.judge.max_tokens, what="a score")
    for name, share in {"train": train, "validation": validation}.items():
        write_rows(folder / f"{name}.jsonl", [spec.row(*example) for example in share])
    context.write_rows(folder / "held-out.jsonl", [{"item": item} for item in held_out])
    context.write_rows(folder / "rejected.jsonl", pool.rejected)
    context.say(
        f"data: {len(train)} examples to train on, {len(validation)} to "
        f"validate on, {len(held_out)} {spec.items} held out"
        + (f"; {len(pool.rejected)} left out (data/rejected.jsonl)" if pool.rejected else "")
    )


def _warm_up(context: TrainingContext, folder: Path) -> None:
    causal = context.model_to_train(context.config.model)
    train, validation = (
        [
            context.tokenized(causal, item, (context.spec.reply(item, answer), True))
            for item, answer in context.examples(share)
        ]
        for share in ("train", "validation")
    )
    with counted_steps(context.progress, "warm-up: steps") as steps:
        losses = learn(
            causal, train, validation, context.config, context.config.warm_up, folder, steps
        )
    write_rows(folder / "losses.jsonl", losses)
    context.say_losses("warm-up", losses)


def _evaluate(context: TrainingContext, step: str, model: str | Path) -> None:
    def work(folder: Path) -> None:
        scorer = context.config.fluency_model
        items = context.held_out()
        shown = f"{step}: held-out {context.spec.items}"
        with context.work(folder, shown, len(items)) as (journal, advance):
            replies = evaluate(
                context,
                context.model(model),
                items,
                scorer=None if scorer is None else load_causal(scorer),
                journal=journal,
                advance=advance,
            )
            context.write_rows(folder / "answers.jsonl", replies)
        valid = sum(row["values"]["valid"] == 1 for row in replies)
        context.say(f"{step}: {valid} of {len(replies)} held-out replies are valid")

    if run_stage(context.out / step / "evaluation", work):
        write_results(context.out, context.spec, seed=context.config.seed)


class _Iteration:
    """One iteration from a checkpoint: new items, candidates, scores, preferences, DPO."""

    def __init__(self, context: TrainingContext, number: int, model: Path):
        self.context = context
        self.config = context.config
        self.number = number
        self.model = model
        self.name = f"iteration-{number}"
        self.folder = context.out / self.name

    def run(self) -> Path | None:
        """Run the stages; return the checkpoint, or None if the iteration is saturated."""
        items = self.context.spec.items
        for name, work in (
            (items, self._items),
            ("candidates", self._candidates),
            ("scores", self._scores),
            ("preferences", self._preferences),
        ):
            run_stage(self.folder / name, work)
        saturation = read_json(self.folder / "preferences" / "saturation.json")
        if saturation["pairs"] < self.config.preferences.min_pairs:
            share, spread = saturation["tie_share"], saturation["spread"]
            self.context.say(
                f"{self.name}: saturated: {saturation['pairs']} preference pairs of "
                f"{saturation[items]} {items}, where {self.config.preferences.min_pairs} are wanted"
                + ("" if share is None else f"; {share:.0%} ties")
                + ("" if spread is None else f"; mean spread {spread:.2f}")
            )
            return None
        run_stage(self.folder / "model", self._prefer)
        return self.folder / "model"

    def items(self, iteration: int) -> list[str]:
        """Return the new items of this or an earlier iteration."""
        name = self.context.spec.items
        path = self.context.out / f"iteration-{iteration}" / name / f"{name}.jsonl"
        return [row["item"] for row in self.context.read_rows(path)]

    def _items(self, folder: Path) -> None:
        context, word = self.context, self.context.spec.items
        not_new = context.held_out()
        not_new += [item for item, _ in context.examples("validation")]
        for earlier in range(1, self.number):
            not_new += self.items(earlier)
        count = self.config.items.count
        with context.work(folder, f"{self.name}: new {word}", count) as (journal, advance):
            kept, rejected = generate_items(
                context,
                context.model(self.model),
                [item for item, _ in context.examples("train")],
                not_new,
                iteration=self.number,
                journal=journal,
                advance=advance,
            )
            context.write_rows(folder / f"{word}.jsonl", [{"item": text} for text in kept])
            context.write_rows(
                folder / "rejected.jsonl",
                [{"item": text, "reason": reason} for text, reason in rejected],
            )
        total = len(kept) + len(rejected)
        context.say(f"{self.name}: {len(kept)} new {word} of {total} written")

    def _candidates(self, folder: Path) -> None:
        context, items = self.context, self.items(self.number)
        total = len(items) * self.config.candidates.per_item
        with context.work(folder, f"{self.name}: candidates", total) as (journal, advance):
            candidates = write_candidates(
                context,
                str(self.model),
                items,
                iteration=self.number,
                journal=journal,
                advance=advance,
            )
            context.write_rows(folder / "candidates.jsonl", candidates)

    def _scores(self, folder: Path) -> None:
        context, settings = self.context, self.config.judge
        candidates = [
            Candidate(row["key"], row["item"], Reply(**row["reply"]))
            for row in context.read_rows(self.folder / "candidates" / "candidates.jsonl")
        ]
        total = len(candidates) * (1 if settings.by == "checks" else settings.samples)
        with context.work(folder, f"{self.name}: scores", total) as (journal, advance):
            scored, reasons = score_candidates(
                context, candidates, lambda: context.model(self.model), journal, advance
            )
            context.write_rows(folder / "scores.jsonl", scored)
            write_json(folder / "unreadable.json", dict(reasons.most_common()))

    def _preferences(self, folder: Path) -> None:
        context = self.context
        scored = [
            ScoredCandidate(**{**row, "samples": tuple(row["samples"])})
            for row in context.read_rows(self.folder / "scores" / "scores.jsonl")
        ]
        pairs, saturation = pair_up(scored, margin=self.config.preferences.margin)
        context.write_rows(folder / "preferences.jsonl", pairs)
        write_json(folder / "saturation.json", family_words(saturation, context.spec))
        context.say(
            f"{self.name}: {saturation['valid']} of {saturation['candidates']} candidates are "
            f"valid; {saturation['pairs']} preference pairs of {saturation['items']} "
            f"{context.spec.items}"
        )

    def _prefer(self, folder: Path) -> None:
        context = self.context
        pairs = context.read_rows(self.folder / "preferences" / "preferences.jsonl")
        causal = context.model_to_train(self.model)
        order = np.random.default_rng([self.config.seed, self.number]).permutation(len(pairs))
        examples = [
            context.tokenized(
                causal,
                pair["item"],
                (pair["chosen"], pair["chosen_ended"]),
                (pair["rejected"], pair["rejected_ended"]),
            )
            for pair in (pairs[int(index)] for index in order)
        ]
        checked = max(1, round(self.config.validation * len(examples)))
        with counted_steps(context.progress, f"{self.name}: steps") as steps:
            train, validation = examples[checked:], examples[:checked]
            losses = learn(causal, train, validation, self.config, self.config.dpo, folder, steps)
        write_rows(folder / "losses.jsonl", losses)
        context.say_losses(self.name, losses)
