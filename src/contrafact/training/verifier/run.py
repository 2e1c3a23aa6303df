"""A training of a verifier from its config to its folder, stage by stage.

The stages' folders are whole or not there, and a killed training goes on (`training.context`):
``stage-1`` and so on hold each a model and its figures on the held-out items, ``surface`` what
readers of the surface make of them, and ``verifier`` what is saved where it is usable.
"""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact import __version__
from contrafact.console import Progress
from contrafact.errors import InputError
from contrafact.family.learned import FILE, FORMAT
from contrafact.family.learning import LearningSpec
from contrafact.files.download import sha256_of
from contrafact.files.lock import locked
from contrafact.files.tables import write_rows
from contrafact.models.whitebox.classifier import Classifier, load_classifier, new_classifier
from contrafact.models.whitebox.weights import check_causal
from contrafact.training.context import (
    identify,
    read_json,
    read_lines,
    run_stage,
    steps_shown,
    write_json,
)
from contrafact.training.trainers import (
    Loss,
    Steps,
    adapter,
    callbacks,
    check_trainers,
    quiet_training,
    run_trainer,
    trainer_arguments,
)
from contrafact.training.verifier.card import write_card
from contrafact.training.verifier.config import Stage, VerifierConfig
from contrafact.training.verifier.items import (
    Asked,
    Pool,
    draw,
    load_pools,
    stage_names,
)
from contrafact.training.verifier.measure import (
    Figures,
    Surface,
    figures_of,
    surface_of,
    temperature_of,
)

__all__ = ["Outcome", "describe_items", "train_verifier"]

Inputs = list[dict[str, list[int]]]


@dataclass(frozen=True)
class Outcome:
    """How a training of a verifier ended.

    Attributes:
        figures: A row per stage and criterion.
        usable: The criteria, as ``FAMILY/NAME``, that it may judge; lessons are never among them.
        verifier: Its folder; none where no criterion is usable.
    """

    figures: tuple[dict[str, Any], ...]
    usable: tuple[str, ...]
    verifier: Path | None


def train_verifier(
    config: VerifierConfig,
    specs: Mapping[str, LearningSpec],
    out: Path,
    *,
    say: Callable[[str], None],
    progress: Callable[[str, int], Progress] = Progress,
) -> Outcome:
    """Train a verifier, from where an earlier start of the same training stopped.

    Args:
        config: The training.
        specs: What training a verifier needs of each family, by its name.
        out: Its folder.
        say: Called with one line for each thing worth knowing.
        progress: Shows the progress of a piece of work: what is counted, and how many there are.

    Raises:
        InputError: Something is missing or does not fit; another training is in the folder; the
            disk is full. What was finished stays.
    """
    check_trainers()
    check_causal(config.model)
    with locked(out):
        return _Training(config, specs, out, say, progress).run()


def describe_items(config: VerifierConfig, specs: Mapping[str, LearningSpec]) -> list[str]:
    """Return, a line for each question and stage, what a training would learn from.

    Raises:
        InputError: A file of items is wrong, there are too few, or the model is not there.
    """
    check_trainers()
    check_causal(config.model)
    lines = [
        f"{name}: " + ", ".join(f"{len(items)} {share}" for share, items in pool.shares.items())
        for name, pool in load_pools(config, specs).items()
    ]
    for number, stage in enumerate(config.stages, start=1):
        names = stage_names(stage.criteria, specs)
        lines.append(
            f"stage {number}: at most {stage.items} items of {', '.join(names)}, "
            f"{stage.epochs:g} epochs, {stage.effective_batch} a step"
        )
    return lines


@dataclass(frozen=True)
class _Measured:
    """The items of one question that each stage is measured on, read once for all stages.

    Attributes:
        checked: The validation items that are short enough.
        holds: Their verdicts.
        test: The held-out items.
        short: The places of those that are short enough.
        read: These, as the model reads them.
    """

    checked: Inputs
    holds: NDArray[np.bool_]
    test: list[Asked]
    short: list[int]
    read: Inputs


class _Training:
    def __init__(
        self,
        config: VerifierConfig,
        specs: Mapping[str, LearningSpec],
        out: Path,
        say: Callable[[str], None],
        progress: Callable[[str, int], Progress],
    ):
        self.config, self.specs, self.out = config, specs, out
        self.say, self.progress = say, progress
        self.pools: dict[str, Pool] = {}
        self.left_out = 0
        self.measured: dict[str, _Measured] = {}

    def run(self) -> Outcome:
        self._identify()
        self.pools = load_pools(self.config, self.specs)
        run_stage(self.out / "items", self._describe)
        run_stage(self.out / "surface", self._surface)
        rows: list[dict[str, Any]] = []
        for number, stage in enumerate(self.config.stages, start=1):
            folder = self.out / f"stage-{number}"
            run_stage(folder / "model", lambda at, n=number, s=stage: self._learn(at, n, s))  # type: ignore[misc]
            run_stage(folder / "figures", lambda at, n=number: self._measure(at, n))  # type: ignore[misc]
            own = read_lines(folder / "figures" / "figures.jsonl")
            rows += [{"stage": number, **row} for row in own]
        criteria = [
            row["criterion"]
            for row in own
            if row["usable"] and row["criterion"].partition("/")[2] in self._judged(row)
        ]
        last = self.out / f"stage-{len(self.config.stages)}"
        if criteria:
            chosen = {row["criterion"]: row for row in own if row["criterion"] in criteria}
            run_stage(self.out / "verifier", lambda at: self._save(at, last, chosen))
        write_card(self.out, self.config, rows, read_json(self.out / "items" / "items.json"))
        return Outcome(tuple(rows), tuple(criteria), self.out / "verifier" if criteria else None)

    def _judged(self, row: Mapping[str, Any]) -> Sequence[str]:
        return self.specs[row["criterion"].partition("/")[0]].criteria

    def _identify(self) -> None:
        """Write down which training this is, or hold the folder to be of this one."""
        facts = self.config.model_dump(mode="json")
        for family, source in self.config.sources.items():
            if source.data is not None:
                if not source.data.is_file():
                    raise InputError(
                        "there is no such file",
                        file=source.data,
                        hint=f"check sources.{family}.data",
                    )
                facts["sources"][family]["data"] = sha256_of(source.data)
        identify(self.out, facts, begun=(self.out / "items").is_dir())

    def _describe(self, folder: Path) -> None:
        table = {
            name: {
                **pool.counts,
                **{share: len(items) for share, items in pool.shares.items()},
                "crossed": pool.crossed,
            }
            for name, pool in self.pools.items()
        }
        write_json(folder / "items.json", table)
        most = sum(len(pool.shares["train"]) for pool in self.pools.values())
        held = sum(len(pool.shares["held-out"]) for pool in self.pools.values())
        self.say(f"items: {most} to learn from, {held} held out, of {len(table)} questions")

    def _held_out(self, name: str) -> list[Asked]:
        items = self.pools[name].shares["held-out"]
        return draw(items, self.config.measured, seed=self.config.seed + 1)

    def _surface(self, folder: Path) -> None:
        found = {}
        with self.progress("surface: questions", len(self.pools)) as bar:
            for name, pool in self.pools.items():
                train = draw(pool.shares["train"], len(pool.shares["train"]), seed=self.config.seed)
                best = surface_of(name, train, self._held_out(name), seed=self.config.seed)
                found[name] = {"reader": best.reader, "scores": list(best.scores)}
                bar.step()
        write_json(folder / "surface.json", found)

    def _fed(self, classifier: Classifier, items: Sequence[Asked]) -> tuple[list[Asked], Inputs]:
        """Return items that the model can read at once, and what it reads of them."""
        most = min(self.config.length, classifier.context)
        fed = [(one, classifier.tokens(one.statement, one.item.text)) for one in items]
        kept = [(one, read) for one, read in fed if len(read["input_ids"]) <= most]
        self.left_out += len(fed) - len(kept)
        return [one for one, _ in kept], [read for _, read in kept]

    def _learn(self, folder: Path, number: int, stage: Stage) -> None:
        config = self.config
        if number == 1:
            classifier = new_classifier(
                config.model, head=config.head, precision=config.weights, seed=config.seed
            )
        else:
            before = self.out / f"stage-{number - 1}" / "model"
            classifier = load_classifier(before, precision=config.weights)
        names = stage_names(stage.criteria, self.specs)
        each = max(2, stage.items // len(names))

        def some(share: str, most: int) -> list[Asked]:
            chosen = [
                one
                for name in names
                for one in draw(self.pools[name].shares[share], most, seed=config.seed + number)
            ]
            rng = np.random.default_rng([config.seed, number, 12])
            return [chosen[int(at)] for at in rng.permutation(len(chosen))]

        self.left_out = 0
        train = self._fed(classifier, some("train", each))
        checked = self._fed(classifier, some("validation", max(2, stage.validate_on // len(names))))
        if not train[0] or not checked[0]:
            raise InputError(
                f"stage {number}: no item is of at most {config.length} tokens",
                hint="raise length",
            )
        if self.left_out:
            self.say(f"stage {number}: {self.left_out} items over {config.length} tokens left out")
        with steps_shown(self.progress, f"stage {number}: steps") as steps:
            losses = _fit(classifier, train, checked, config, stage, folder, steps)
        write_rows(folder / "losses.jsonl", losses)
        known = [row["eval_loss"] for row in losses if "eval_loss" in row]
        self.say(f"stage {number}: validation loss {known[0]:.4f} to {known[-1]:.4f}")

    def _measure(self, folder: Path, number: int) -> None:
        classifier = load_classifier(self.out / f"stage-{number}" / "model")
        surface = read_json(self.out / "surface" / "surface.json")
        rows: list[Figures] = []
        plots: dict[str, Any] = {}
        with self.progress(f"stage {number}: questions measured", len(self.pools)) as bar:
            for name, pool in self.pools.items():
                if name not in self.measured:
                    self.measured[name] = self._read(classifier, pool)
                own = self.measured[name]
                temperature = temperature_of(classifier.logits(own.checked), own.holds)
                # A held-out item that is too long counts as one that it knows nothing of.
                logits = np.zeros(len(own.test))
                logits[own.short] = classifier.logits(own.read)
                found = surface[name]
                figures, bins = figures_of(
                    name,
                    own.test,
                    logits,
                    Surface(found["reader"], tuple(found["scores"])),
                    temperature,
                    decided=self.config.decided,
                    seed=self.config.seed,
                )
                rows.append(figures)
                plots[name] = [
                    {"n": one.n, "probability": one.probability, "right": one.right}
                    for one in bins
                    if one.n
                ]
                bar.step()
        write_rows(folder / "figures.jsonl", [one.row() for one in rows])
        write_json(folder / "reliability.json", plots)
        for one in rows:
            self.say(
                f"stage {number}: {one.criterion}: AUROC {one.auroc:.3f} "
                f"({one.auroc_low:.3f} to {one.auroc_high:.3f}), surface {one.surface:.3f}"
            )

    def _read(self, classifier: Classifier, pool: Pool) -> "_Measured":
        """Return what every stage of this model is measured on, as it reads it."""
        checked = draw(pool.shares["validation"], self.config.measured, seed=self.config.seed + 2)
        kept, fed = self._fed(classifier, checked)
        test = self._held_out(pool.name)
        short, read = self._fed(classifier, test)
        places = {id(one): at for at, one in enumerate(test)}
        return _Measured(
            checked=fed,
            holds=np.array([one.holds for one in kept]),
            test=test,
            short=[places[id(one)] for one in short],
            read=read,
        )

    def _save(self, folder: Path, last: Path, criteria: Mapping[str, Any]) -> None:
        shutil.copytree(last / "model", folder, dirs_exist_ok=True)
        (folder / "losses.jsonl").unlink()
        stated = {
            "format": FORMAT,
            "version": __version__,
            "model": self.config.model,
            "length": self.config.length,
            "decided": self.config.decided,
            "criteria": criteria,
        }
        write_json(folder / FILE, stated)


@quiet_training()
def _fit(
    classifier: Classifier,
    train: tuple[list[Asked], Inputs],
    checked: tuple[list[Asked], Inputs],
    config: VerifierConfig,
    stage: Stage,
    folder: Path,
    steps: Steps,
) -> list[Loss]:
    """Train a classifier on one stage's items, and save it; return what was measured."""
    import torch
    from transformers import Trainer, TrainingArguments

    def rows(items: Sequence[Asked], fed: Inputs) -> list[dict[str, Any]]:
        return [{**one, "labels": int(item.holds)} for item, one in zip(items, fed, strict=True)]

    def collate(batch: list[dict[str, Any]]) -> dict[str, Any]:
        labels = torch.tensor([one["labels"] for one in batch])
        fed = [{name: ids for name, ids in one.items() if name != "labels"} for one in batch]
        return {**classifier.padded(fed), "labels": labels}

    total = math.ceil(stage.epochs * len(train[0]) / stage.effective_batch)
    stage = stage.model_copy(update={"evaluate_every": min(stage.evaluate_every, max(1, total))})
    model = classifier.model.train()
    if config.lora is not None:
        from peft import get_peft_model

        model = get_peft_model(model, adapter(config.lora, "SEQ_CLS"))
    settings = TrainingArguments(
        **trainer_arguments(classifier.device, config, stage, folder),
        warmup_steps=stage.warm_up_steps,
        remove_unused_columns=False,
        label_names=["labels"],
    )
    trainer = Trainer(
        model=model,
        args=settings,
        train_dataset=rows(*train),
        eval_dataset=rows(*checked),
        data_collator=collate,
        callbacks=callbacks(stage, steps),
    )

    def again() -> Any:
        return load_classifier(classifier.name, precision="bfloat16").model

    return run_trainer(trainer, classifier.tokenizer, config, folder, again)
