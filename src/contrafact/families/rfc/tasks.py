"""How ``rfc-detect`` and ``rfc-diagnose`` are run: data, Inspect tasks, and the table of a run.

RFC-BENCH, section 2.1. Detection shows one paragraph, true or false; diagnosis a pair, which of the
four manipulations. Usable as ``inspect eval contrafact/rfc-detect --model …`` and by ``contrafact
run rfc-detect``.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.scorer import Scorer

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer, answering
from contrafact.families.rfc.data import FIELDS, Item, PairNotes, items_of, load_pairs
from contrafact.families.rfc.items import ITEM_COLUMNS, PROBABILITIES, items_frame
from contrafact.families.rfc.labels import FALSE, TRUE, TaskName, labels_of
from contrafact.families.rfc.methods import methods_of
from contrafact.families.rfc.records import Rewrite
from contrafact.families.rfc.scoring import answered
from contrafact.families.rfc.settings import LabelOptions
from contrafact.family.inspect_tasks import make_task
from contrafact.family.method import Method
from contrafact.family.outputs import OutputRow, RecordedRow
from contrafact.family.run import Inputs, TaskRun, refuse
from contrafact.family.settings import RunSettings
from contrafact.family.task import Solving
from contrafact.judges.replies import Reading, read_label

if TYPE_CHECKING:
    import pandas as pd

    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["rfc_detect", "rfc_diagnose"]

REASONING = frozenset({"stepwise", "reflect"})
"""The methods that always reason before they answer."""

# The fields of a pair that a row of outputs may have; with these, no data file is needed.
_PAIR = ("original", "rewritten", "manipulation", "article_id", "category", "ticker", "date")


class LabelRun(TaskRun[Rewrite, Item]):
    bundled = Path(__file__).parent / "samples" / "pairs.jsonl"
    bundled_shots = Path(__file__).parent / "samples" / "shots.jsonl"
    name: ClassVar[TaskName]
    noun = "pairs"
    fields = FIELDS
    version = "2-A"
    columns = ITEM_COLUMNS
    output_type = Answer
    output_fields: ClassVar = {
        "id": ("sample_id", "item_id", "id"),
        "text": ("shown", "text", "paragraph"),
        "label": ("predicted", "prediction", "label"),
        "reply": ("reply", "raw_reply", "response", "completion", "output"),
        "rationale": ("rationale", "reasons"),
        "invalid": ("invalid_reason",),
        **{column: (column,) for column in (*PROBABILITIES.values(), "p_false")},
        "probability": ("probability", "confidence"),
        "pair_id": ("pair_id",),
        **{name: (name,) for name in _PAIR},
    }
    output_layouts: ClassVar = (
        ("id", "label"), ("id", "reply"), ("text", "label"), ("text", "reply"),
    )  # fmt: skip

    def __init__(self, name: TaskName, task: Callable[..., Task]):
        super().__init__(task)
        self.name = name  # type: ignore[misc]
        self.detects = name == "rfc-detect"
        if not self.detects:  # which shows both paragraphs, and the second is the item's own
            text = (*self.output_fields["text"], "rewritten")
            self.output_fields = {**self.output_fields, "text": text}  # type: ignore[misc]
        self.methods = methods_of(name)  # type: ignore[misc]

    def load(
        self, path: Path, columns: Mapping[str, str] | None = None
    ) -> tuple[Sequence[Rewrite], list[str]]:
        notes = PairNotes()
        pairs = load_pairs(path, notes, originals=not self.detects, columns=columns)
        return pairs, notes.lines()

    def load_shots(self, path: Path) -> Sequence[Rewrite]:
        return load_pairs(path, originals=True)

    def units(self, items: Sequence[Rewrite]) -> Sequence[Item]:
        return items_of(self.name, items)

    def check(self, settings: RunSettings, asking: tuple[str, ...]) -> None:
        options = _options(settings)
        shots, drawn = settings.option("shots", 0), settings.option("draws", 1) > 1
        pool, silent = settings.option("shots_from") is not None, not asking
        refuse(
            [
                ("--shots", bool(shots) and silent, "baselines show no examples"),
                ("--shots-from", pool and not shots, "no examples are shown"),
                ("--draws", drawn and not shots, "no examples are drawn"),
                ("--logprobs", options.logprobs and silent, "no model is asked for them"),
                ("--rationale", options.rationale and silent, "baselines give no reasons"),
                ("--judge", bool(settings.judges), "a label is right or wrong without one"),
            ]
        )

    def label(self, model: str, method: str, shots: int, settings: RunSettings) -> str:
        label = super().label(model, method, shots, settings)
        silent = method in REASONING or self.methods.asks_none(method)
        return f"{label} · reasons" if _options(settings).rationale and not silent else label

    def read_output(self, recorded: RecordedRow) -> OutputRow:
        identity, item = recorded.text("id").strip(), None
        if identity and {"original", "rewritten", "manipulation"} <= recorded.fields.keys():
            pair = recorded.text("pair_id") or re.sub("-(true|false)$", "", identity)
            item = {"id": pair, **{name: recorded.fields.get(name) for name in _PAIR}}
        if self.detects and identity not in recorded.units.by_id:
            two = [f"{identity}-{label}" for label in (TRUE, FALSE)]
            if set(two) <= recorded.units.by_id.keys():
                raise InputError(
                    f"'{identity}' is a pair, and detection shows its two paragraphs",
                    hint=f"write {' or '.join(two)}, or name the paragraph by its text",
                )
        ids: tuple[str, ...] = (identity,) if identity else ()
        if not identity and (shown := recorded.text("text").strip()):
            ids = recorded.units.ids(
                "text", lambda item: (item.shown or item.pair.rewritten).strip(), shown
            )
        if not ids:
            raise InputError("the text is not in the data", hint="name the item by its id")
        unit = recorded.units.by_id.get(ids[0])
        answer = _answer(recorded, labels_of(self.name), unit.texts if unit else ())
        return OutputRow(ids, {"": answer}, item)

    def samples(self, items: Sequence[Rewrite], limit: int | None) -> list[Sample]:
        return [sample_of(item) for item in items_of(self.name, items[:limit])]

    def solving(
        self, inputs: Inputs, method: Method[Any, Any], arguments: Mapping[str, Any]
    ) -> Solving[Item, Answer]:
        if arguments.get("shots") and not method.shots:
            raise InputError(f"{method.name} does not use examples", hint="leave shots out")
        return answering(logprobs=arguments["logprobs"])

    def scorer(self, arguments: Mapping[str, Any]) -> Scorer:
        return answered()

    def rows(
        self, samples: Sequence[EvalSample], facts: Mapping[str, Any]
    ) -> Iterable[Mapping[str, Any]]:
        names = ("system", "model", "method", "shots")  # no judge
        return items_frame(samples, **{name: facts[name] for name in names})

    def finish(
        self, items: "pd.DataFrame", scorer: "CausalModel | None", folder: Path
    ) -> "pd.DataFrame":
        return items.astype(dict.fromkeys(PROBABILITIES.values(), float))


def _answer(recorded: RecordedRow, labels: Sequence[str], texts: Sequence[str]) -> Answer:
    label, reply, reason = map(recorded.text, ("label", "reply", "invalid"))
    if re.fullmatch(r"\s*[\d.,]+\s*", label):
        # Nobody can tell which label a number means.
        wanted = ", ".join(labels)
        raise InputError(f"the label is '{label.strip()}'", hint=f"write one of {wanted}")
    if reason and not label:
        reading: Reading[str] = Reading(None, reason)
    else:
        asked = not label and bool(recorded.settings.option("rationale"))
        reading = read_label(label or reply, labels, texts, reasons=asked)
    return Answer(
        predicted=reading.value,
        invalid=reading.invalid,
        reply=reply or None,
        rationale=recorded.text("rationale") or reading.rationale,
        probabilities=_probabilities(recorded, labels, reading.value) if reading.value else None,
    )


def _probabilities(
    recorded: RecordedRow, labels: Sequence[str], predicted: str
) -> dict[str, float] | None:
    """Return a row's probabilities by label, or None; with two labels, one is enough."""
    shares: dict[str, float] = {}
    columns = {label: f"p_{label.replace(' ', '_')}" for label in labels}
    if not any(column in recorded.fields for column in columns.values()):
        columns = {predicted: "probability"}
    for label, column in columns.items():
        if column in recorded.fields:
            try:
                shares[label] = float(recorded.fields[column])
            except (TypeError, ValueError):
                shares[label] = math.nan
            if not 0 <= shares[label] <= 1:
                raise InputError(
                    f"{column} is {str(recorded.fields[column])[:40]!r}",
                    hint="give a probability from 0 to 1",
                )
    if len(shares) == len(labels) - 1 == 1:
        (stated,) = shares
        shares |= {label: 1 - shares[stated] for label in labels if label != stated}
    return shares if len(shares) == len(labels) else None


def _options(settings: RunSettings) -> LabelOptions:
    return cast(LabelOptions, settings.options)


def sample_of(item: Item) -> Sample:
    pair = item.pair
    return Sample(
        id=item.id,
        input=item.shown or f"Original: {pair.original}\n\nManipulated: {pair.rewritten}",
        target=item.gold,
        metadata={
            "sample_id": item.id,
            "task": item.task,
            "gold": item.gold,
            "shown": item.shown,
            "pair": pair.model_dump(mode="json", exclude={"edits"}),
        },
    )


@task(name="rfc-detect")
def rfc_detect(data: str | None = None, method: str = "plain", draws: int = 1, **how: Any) -> Task:
    """Reference-free detection: is a paragraph as published (true) or manipulated (false)?

    Both members of every pair are shown, each as a sample of its own. Baselines (``majority``,
    ``surface``) ask no model: give ``none`` as the model. `make_task` and `DetectOptions` describe
    further arguments.
    """
    return make_task(DETECT, {"data": data, "method": method, "draws": draws, **how})


@task(name="rfc-diagnose")
def rfc_diagnose(data: str | None = None, method: str = "plain", **how: Any) -> Task:
    """Comparative diagnosis: as `rfc_detect`, with the options of `DiagnoseOptions`."""
    return make_task(DIAGNOSE, {"data": data, "method": method, **how})


DETECT = LabelRun("rfc-detect", rfc_detect)
DIAGNOSE = LabelRun("rfc-diagnose", rfc_diagnose)
