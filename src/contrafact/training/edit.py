"""Training of an editor on answers that are proven right.

The family defines the tasks and proves answers (`contrafact.family.training.EditSpec`). The folder
of a stage is complete or absent; see `contrafact.training.context`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact import __version__
from contrafact.console import Progress
from contrafact.errors import InputError
from contrafact.family.training import EditSpec, EditTask
from contrafact.files.atomic import write_text
from contrafact.files.lock import locked
from contrafact.files.tables import write_frame, write_rows
from contrafact.models.gguf import ADAPTER_FILE, plain_name, shipped_adapter
from contrafact.models.whitebox.noise import prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import ADAPTER_WEIGHTS, check_causal
from contrafact.stats.intervals import clustered_proportion
from contrafact.stats.paired import paired_comparison
from contrafact.training.config import EditConfig, Sampled
from contrafact.training.context import (
    Stages,
    check_same,
    counted_steps,
    read_json,
    read_lines,
    run_stage,
    write_json,
)
from contrafact.training.generation import generate_replies
from contrafact.training.learning import TokenizedExample, check_trainers, learn

__all__ = ["train_edit"]

_VALIDATION, _VALIDATED = "validation", 64
_TEMPERATURE = 0.05  # nearly greedy
_BASE, _BEFORE, _TAUGHT = "base", "before", "supervised"
_HINT = "name the folder of an adapter that train edit wrote, or one that ships"
MET = "met.json"
"""In an adapter's folder: the pieces of its training, and the fingerprints of their stories."""


@dataclass(frozen=True)
class _Begun:
    """An adapter to go on from, or none: its folder, and the pieces and stories it has met."""

    folder: Path | None = None
    pieces: tuple[Mapping[str, Any], ...] = ()
    stories: frozenset[str] = frozenset()

    @property
    def answers(self) -> int:
        return sum(piece["answers"] for piece in self.pieces)


def _begun_from(config: EditConfig) -> _Begun:
    """Return the adapter that a config goes on from; an `InputError` if it does not fit."""
    if config.begin is None:
        return _Begun()
    folder, lora = shipped_adapter(config.begin) or Path(config.begin).expanduser(), config.lora
    if not (folder / "adapter_config.json").is_file():
        raise InputError("is not an adapter's folder", file=folder, hint=_HINT)
    try:
        stated = read_json(folder / "adapter_config.json")
        base = plain_name(stated["base_model_name_or_path"])
        sizes = stated["r"], stated["lora_alpha"]
        met = read_json(folder / MET) if (folder / MET).is_file() else {"pieces": []}
        begun = _Begun(folder, tuple(met["pieces"]), frozenset(met.get("stories", ())))
        ends = begun.answers + config.supervised.examples
    except (AttributeError, KeyError, TypeError):
        raise InputError("does not say what it has learned", file=folder, hint=_HINT) from None
    problem = None
    if base != config.model:
        problem = f"is an adapter of {base}, not of {config.model}"
    elif sizes != (lora.r, lora.alpha):
        problem = f"has rank and alpha {sizes}; the config has {(lora.r, lora.alpha)}"
    elif not any((folder / name).is_file() for name in (ADAPTER_WEIGHTS, ADAPTER_FILE)):
        problem = f"has no weights ({ADAPTER_WEIGHTS} or {ADAPTER_FILE})"
    elif ends > (config.supervised.total or ends):
        problem = f"ends at {ends:,} answers with this piece; total is {config.supervised.total:,}"
    if problem:
        raise InputError(problem, file=folder, hint="change the config, or name another adapter")
    return begun


@dataclass(frozen=True)
class Taught:
    """A trained editor: the folder of its adapter, and rows of metrics by model and split."""

    adapter: Path
    metrics: tuple[dict[str, Any], ...]

    @property
    def provider(self) -> str:
        """The provider that runs the editor: llama.cpp if possible."""
        return "embedded" if (self.adapter / ADAPTER_FILE).is_file() else "whitebox"


def train_edit(
    config: EditConfig,
    spec: EditSpec,
    out: Path,
    *,
    say: Callable[[str], None],
    progress: Callable[[str, int], Progress] = Progress,
) -> Taught:
    """Train an editor, continuing an earlier start; see `contrafact.training.run.train`."""
    config = config.model_copy(update={"framing": spec.framing(config.framing)})
    check_trainers()
    check_causal(config.model)
    with locked(out):
        return _Teaching(config, spec, out, say, progress).run()


class _Teaching(Stages[EditConfig, EditSpec]):
    def run(self) -> Taught:
        self.begun = _begun_from(self.config)
        self._identify()
        run_stage(self.out / "data", self._draw)
        adapter = self.out / "supervised" / "model"
        run_stage(adapter, self._teach)
        before = _BASE if self.config.begin is None else _BEFORE
        self._measure(before, self.config.begin or self.config.model)
        self._measure(_TAUGHT, adapter)
        met = sum(piece["answers"] for piece in read_json(adapter / MET)["pieces"])
        learned = {_TAUGHT: met, before: self.begun.answers}
        metrics = _write_results(self.out, learned, self.spec)
        _write_card(adapter, self.config, self.spec, metrics, learned)
        return Taught(adapter, tuple(metrics))

    def _identify(self) -> None:
        """Record which training this is; raise an error if the folder has a stage of another one.

        Of the prompts, the templates that tasks use are recorded.
        """
        next(self._drawn("train", 16))  # uses the templates
        facts = self.config.model_dump(mode="json", exclude={"prompts"})
        facts["prompts"] = self.pack.used_hash
        check_same(self.out / "training.json", facts, begun=(self.out / "data").is_dir())

    def _drawn(self, split: str, number: int) -> Iterator[EditTask]:
        framing = str(self.config.framing)
        return self.spec.tasks(self.pack, split, self.config.seed, number, framing)

    def _draw(self, folder: Path) -> None:
        """Draw the tasks of every split; no text is in two splits, or was met before.

        The loss is validated on more tasks of the first split.
        """
        seen, learning = set(self.begun.stories), self.config.supervised
        wanted = dict.fromkeys(self.spec.splits, self.config.held_out.each)
        wanted |= {_VALIDATION: _VALIDATED, "train": learning.examples}
        planned = learning.total or self.begun.answers + learning.examples
        with self.progress("tasks", sum(wanted.values())) as bar:
            for split, number in wanted.items():
                source = next(iter(self.spec.splits)) if split == _VALIDATION else split
                drawn = self._drawn(source, planned)
                rows = []
                for task in islice((task for task in drawn if _mark(task) not in seen), number):
                    seen.add(_mark(task))
                    rows.append(asdict(task))
                    bar.step(1)
                write_rows(folder / f"{split}.jsonl", rows)
        self.say(", ".join(f"{split}: {number:,} tasks" for split, number in wanted.items()))

    def _tasks(self, split: str) -> list[EditTask]:
        return [EditTask(**row) for row in read_lines(self.out / "data" / f"{split}.jsonl")]

    def _teach(self, folder: Path) -> None:
        causal, learning = self.model_to_train(self.config.model), self.config.supervised

        def examples(tasks: Sequence[EditTask]) -> list[TokenizedExample]:
            asked = [prompt_tokens(causal, task.prompt) for task in tasks]
            told = [text_tokens(causal, task.answer) for task in tasks]
            pairs = map(TokenizedExample, asked, told)
            return [one for one in pairs if len(one.prompt) + len(one.chosen) <= causal.context]

        tasks = self._tasks("train")
        train, validation = examples(tasks), examples(self._tasks(_VALIDATION))
        with counted_steps(self.progress, "supervised: steps") as steps:
            losses = learn(
                causal,
                train,
                validation,
                self.config,
                learning,
                folder,
                steps,
                begin=self.begun.folder,
                met=self.begun.answers,
                planned=learning.total,
            )
        write_rows(folder / "losses.jsonl", losses)
        piece = {"answers": len(train), "seed": self.config.seed, "framing": self.config.framing}
        stories = sorted(self.begun.stories | {_mark(task) for task in tasks})
        write_json(folder / MET, {"pieces": [*self.begun.pieces, piece], "stories": stories})
        self.say_losses("supervised", losses)

    def _measure(self, step: str, model: str | Path) -> None:
        def work(folder: Path) -> None:
            splits = self.spec.splits
            tasks = {f"{one} {task.id}": task for one in splits for task in self._tasks(one)}
            with self.work(folder, f"{step}: answers", len(tasks)) as (journal, advance):
                replies = generate_replies(
                    self.model(model),
                    {key: task.prompt for key, task in tasks.items()},
                    settings=Sampled(temperature=_TEMPERATURE, max_tokens=self.config.max_tokens),
                    seed=self.config.seed,
                    journal=journal,
                    advance=advance,
                )
            rows = []
            for key, task in tasks.items():
                reply, text = replies[key], replies[key].text.strip()
                passed = self.spec.passed(task.source, text) if reply.ended else None
                asked = {"split": key.partition(" ")[0], "id": task.id, "prompt": task.prompt}
                rows.append({**asked, "reply": text, "ended": reply.ended, "passed": passed})
            write_rows(folder / "answers.jsonl", rows)
            right = sum(row["passed"] is True for row in rows)
            self.say(f"{step}: {right} of {len(rows)} answers are proven right")

        run_stage(self.out / step / "evaluation", work)


def _mark(task: EditTask) -> str:
    """Return a task's fingerprint, by which it is not met twice."""
    return blake2b(task.prompt.encode(), digest_size=8).hexdigest()


_Row = Mapping[str, Any]


def _write_results(out: Path, learned: dict[str, int], spec: EditSpec) -> list[dict[str, Any]]:
    """Write ``metrics.csv`` and ``compared.csv``, and return the rows of the first.

    ``learned`` has the number of answers met by the taught model, and by the one before it.
    """
    answers = {step: read_lines(out / step / "evaluation" / "answers.jsonl") for step in learned}
    taught, before = answers.values()
    metrics = []
    for step in reversed(learned):
        for split in spec.splits:
            passed = [row["passed"] for row in answers[step] if row["split"] == split]
            row = {"checkpoint": step, "examples": learned[step], "split": split}
            metrics.append({**row, **_shares(passed)})
    write_frame(pd.DataFrame(metrics), out / "metrics.csv")
    pairs = {split: _gain(before, taught, split) for split in spec.splits}
    compared = [{"checkpoint": _TAUGHT, "split": split, **pairs[split]} for split in pairs]
    write_frame(pd.DataFrame(compared), out / "compared.csv")
    return metrics


def _shares(passed: Sequence[bool | None]) -> dict[str, Any]:
    """Return the counts of verdicts, and the share of proven answers with a 95% interval."""
    share = clustered_proportion([float(verdict is True) for verdict in passed])
    counts = {"right": passed.count(True), "wrong": passed.count(False), "open": passed.count(None)}
    bounds = {"share": share.estimate, "low": share.low, "high": share.high}
    return {"n": len(passed), **counts, **bounds}


def _gain(base: Sequence[_Row], taught: Sequence[_Row], split: str) -> dict[str, Any]:
    """Return how much a checkpoint's share of proven answers is above that of the one before."""
    before = {row["id"]: row["passed"] is True for row in base if row["split"] == split}
    now = {row["id"]: row["passed"] is True for row in taught if row["split"] == split}
    taught_right, base_right = zip(*((now[id], before[id]) for id in now), strict=True)
    rng = np.random.default_rng(0)
    gain = paired_comparison(np.array(taught_right), np.array(base_right), None, rng=rng)
    bounds = {"low": gain.low, "high": gain.high}
    return {"n": gain.n, "gain": gain.difference, **bounds, "p": gain.p_value}


def _write_card(
    adapter: Path,
    config: EditConfig,
    spec: EditSpec,
    metrics: Sequence[_Row],
    learned: dict[str, int],
) -> None:
    """Write the model card of the adapter, with its training data and its measured figures."""
    met = [
        f"{one['answers']:,} of seed {one['seed']}" for one in read_json(adapter / MET)["pieces"]
    ]
    before = next(reversed(learned))
    lines = [
        f"# An editor taught by proof: {config.family}",
        "",
        f"An adapter of rank {config.lora.r} for `{config.model}`, by contrafact {__version__}. It "
        f"was trained on {spec.train}: {learned[_TAUGHT]:,} proven answers ({met}). "
        "Requests, in the last training and in the figures, are put as "
        f"`{config.framing}`: ask it so (`--framing {config.framing}`).",
        "",
        "| held out | proven right | of | 95% interval | open "
        f"| {'base model' if before == _BASE else 'before the last'} |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for split, about in spec.splits.items():
        taught, base = (
            next(row for row in metrics if (row["checkpoint"], row["split"]) == (step, split))
            for step in (_TAUGHT, before)
        )
        between = f"{taught['low']:.0%} to {taught['high']:.0%}"
        lines.append(
            f"| {about} | {taught['right']} | {taught['n']} | {between} | {taught['open']} "
            f"| {base['right']} of {base['n']} |"
        )
    lines += [
        "",
        "An answer is right if every criterion of its story is proven, open if the proof does "
        "not decide. The figures hold for generated stories, not for other prose.",
    ]
    write_text(adapter / "README.md", "\n".join(lines) + "\n")
