"""How ``rfc-detect`` and ``rfc-diagnose`` are run: data, tasks, and the table that a run leaves."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inspect_ai import Epochs, Task, task_with
from inspect_ai.log import EvalLog

from contrafact.corpus.news_items import load_news
from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item, PairNotes, items_of, load_pairs
from contrafact.families.rfc.error_classes import ErrorClasses
from contrafact.families.rfc.items import ITEM_COLUMNS, PROBABILITIES, items_frame
from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.methods import methods_of
from contrafact.families.rfc.options import LabelOptions
from contrafact.family.run import Evaluated, Prepared, TaskRun, refuse
from contrafact.family.settings import RunSettings
from contrafact.prompts import PromptPack
from contrafact.records import Rewrite

if TYPE_CHECKING:
    import pandas as pd

    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["DETECT", "DIAGNOSE", "REASONING", "LabelRun"]

REASONING = frozenset({"stepwise", "reflect"})
"""Methods that reason before they answer, whether or not reasons are asked for."""

# A rationale of about the length that estimates take for one.
_RATIONALE = "The figures and the direction that the text gives them do not fit together. " * 8


class LabelRun(TaskRun[Rewrite, Item]):
    """Runs of one of the two tasks: one row a sample.

    Args:
        task: The task's name.
    """

    bundled = Path(__file__).parent / "samples" / "pairs.jsonl"
    columns = ITEM_COLUMNS
    judge_reply_tokens = 5

    def __init__(self, task: TaskName):
        self.name = task
        self.detects = task == "rfc-detect"
        self.methods = methods_of(task)  # type: ignore[misc]
        self.bundled_shots = Path(__file__).parent / "samples" / "shots.jsonl"  # type: ignore[misc]

    def load(self, path: Path) -> tuple[Sequence[Rewrite], list[str]]:
        """Return the pairs of a file; diagnosis needs the originals."""
        notes = PairNotes()
        return load_pairs(path, notes, originals=not self.detects), notes.lines()

    def load_shots(self, path: Path) -> Sequence[Rewrite]:
        """Return the pairs of a file, which need their originals to be examples."""
        return load_pairs(path, originals=True)

    def load_files(self, settings: RunSettings) -> Mapping[str, tuple[Path, Sequence[Any]]]:
        """Return the news that ``memory`` searches."""
        path = _options(settings).background
        return {} if path is None else {"background": (path, load_news(path))}

    def units(self, items: Sequence[Rewrite]) -> Sequence[Item]:
        """Return the samples: two for every pair in detection."""
        return items_of(self.name, items)

    def check(self, settings: RunSettings, asking: tuple[str, ...]) -> None:
        """Refuse settings that would change nothing."""
        options = _options(settings)
        judges, background = bool(settings.judges), options.background is not None
        shots = settings.option("shots", 0)
        refuse(
            [
                ("--shots", bool(shots) and not asking, "baselines show no examples"),
                (
                    "--shots-from",
                    settings.option("shots_from") is not None and not shots,
                    "no examples are shown",
                ),
                ("--draws", settings.option("draws", 1) > 1 and not shots, "no examples are drawn"),
                ("--background", background and "memory" not in asking, "only memory searches it"),
                ("--logprobs", options.logprobs and not asking, "no model is asked for them"),
                (
                    "--rationale",
                    options.rationale and not asking,
                    "the baselines named give no reasons",
                ),
                (
                    "--judge",
                    judges and not self.detects,
                    "only rfc-detect sorts answers by their reasons",
                ),
            ]
        )
        if judges and not any(self.is_judged(settings, name) for name in asking):
            raise InputError(
                "--judge sorts answers by their reasons, and no method here gives any",
                hint="add --rationale, or leave --judge out",
            )

    def judging(self, pack: PromptPack, settings: RunSettings) -> ErrorClasses:
        """Return the judge that sorts answers by their reasons, its template checked."""
        return ErrorClasses(pack)

    def is_judged(self, settings: RunSettings, method: str) -> bool:
        """Whether a judge sorts a method's answers: those that come with reasons."""
        reasons = _options(settings).rationale or method in REASONING
        return bool(settings.judges) and reasons and method not in self.methods.baseline_names()

    def judge_prompts(self, judging: ErrorClasses, unit: Item) -> Sequence[str]:
        """Return what is asked about an answer with reasons."""
        return [judging.prompt(unit, Answer(unit.gold, rationale=_RATIONALE))]

    def label(self, evaluated: EvalLog, settings: RunSettings) -> str:
        """Return a system's name; one that was asked for reasons besides says so."""
        label = super().label(evaluated, settings)
        method = (evaluated.eval.metadata or {})["method"]
        silent = method in REASONING or method in self.methods.baseline_names()
        return f"{label} · reasons" if _options(settings).rationale and not silent else label

    def task(self, prepared: Prepared, method: str) -> Task:
        """Return the Inspect task of one method."""
        from contrafact.families.rfc.detect import rfc_detect
        from contrafact.families.rfc.diagnose import rfc_diagnose

        options = _options(prepared.settings)
        asks = method in prepared.methods
        background = options.background if asks else None
        shared: dict[str, Any] = {
            **prepared.common,
            "method": method,
            "background": None if background is None else str(background.absolute()),
            "rationale": options.rationale and asks,
            "logprobs": options.logprobs and asks,
        }
        if self.detects:
            made = rfc_detect(
                **shared,
                shots=prepared.shots(method),
                shots_from=prepared.shots_from(method),
                judged=asks and prepared.judged(method),
            )
        else:
            made = rfc_diagnose(**shared)
        draws = prepared.draws(method)
        return made if draws == 1 else task_with(made, epochs=Epochs(draws, "mean"))

    def rows(self, evaluated: Evaluated) -> Iterable[Mapping[str, Any]]:
        """Return one row per sample."""
        facts = evaluated.facts
        del facts["judge"]
        return items_frame(evaluated.samples, **facts)

    def finish(
        self, items: "pd.DataFrame", scorer: "CausalModel | None", folder: Path
    ) -> "pd.DataFrame":
        """Return the table with probabilities as numbers, where nobody gave any too."""
        return items.astype(dict.fromkeys(PROBABILITIES.values(), float))


DETECT = LabelRun("rfc-detect")
DIAGNOSE = LabelRun("rfc-diagnose")


def _options(settings: RunSettings) -> LabelOptions:
    return cast(LabelOptions, settings.options)
