"""How ``finforce`` is run: its data, its Inspect task, and the table that a run writes.

One headline's generation and all its judgements are one sample. Usable as ``inspect eval
contrafact/finforce --model … --model-role grader=…`` and by ``contrafact run finforce``, which adds
fluency, tables and the report.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Scorer

from contrafact.errors import InputError
from contrafact.families.finforce.data import FIELDS, SHOTS, load_headlines
from contrafact.families.finforce.error_classes import classify_many
from contrafact.families.finforce.generation import Generation, check_texts, read_pair, read_side
from contrafact.families.finforce.judging import FAULTS, SCORER, Judging, counterfactuals
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.records import CRITERIA, SIDES, Headline, Side
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.inspect_tasks import make_task
from contrafact.family.method import Method
from contrafact.family.outputs import OutputRow, RecordedRow
from contrafact.family.run import Inputs, TaskRun, cost_columns
from contrafact.family.settings import RunSettings
from contrafact.family.task import OUTPUT, Solving, score_metadata, verdict_columns
from contrafact.files.tables import RowNotes
from contrafact.models.fluency import score_fluency
from contrafact.models.opening import NO_MODEL
from contrafact.prompts import PromptPack
from contrafact.text.degenerate import Batch, across
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    import pandas as pd

    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["RUN", "finforce"]

_NOT_RECORDED = "no {} counterfactual was given"


class FinforceRun(TaskRun[Headline, Headline]):
    name = "finforce"
    noun = "headlines"
    parts = SIDES
    part_column = "side"
    methods = METHODS
    fields = FIELDS
    bundled = Path(__file__).parent / "samples" / "headlines.jsonl"
    bundled_shots = SHOTS
    unit_outputs = len(SIDES)
    without_judge = "forward compatibility and directionality are left out"
    columns = (
        "system", "model", "method", "shots", "judge", "draw", "sample_id", "side", "headline",
        "category", "text", "invalid_reason", "degenerate", "repairs", *CRITERIA,
        *(f"{name}_invalid" for name in CRITERIA), *FAULTS,
    )  # fmt: skip

    output_type = Generation
    output_fields: ClassVar = {
        "id": ("sample_id",),
        "headline": ("headline", "original_headline", "news_headline", "title"),
        "risk": ("risk_counterfactual", "risk_counterfactual_scenario", "risk_headline"),
        "opportunity": (
            "opportunity_counterfactual",
            "opportunity_counterfactual_scenario",
            "opportunity_headline",
        ),
        "side": ("side",),
        "text": ("text", "counterfactual", "output"),
        "reply": ("reply", "response", "completion"),
        "invalid": ("invalid_reason",),
        "category": ("category",),
        "description": ("description",),
    }
    output_layouts: ClassVar = tuple(
        (item, *rest)
        for item in ("headline", "id")
        for rest in (("risk", "opportunity"), ("side", "text"), ("reply",))
    )

    def load(
        self, path: Path, columns: Mapping[str, str] | None = None
    ) -> tuple[Sequence[Headline], list[str]]:
        notes = RowNotes()
        return load_headlines(path, notes, columns=columns), notes.lines()

    def judging(self, pack: PromptPack, settings: RunSettings) -> Judging:
        return Judging(pack, _options(settings).judge_faults)

    def judge_prompts(self, judging: Judging, unit: Headline) -> Sequence[str]:
        return [prompt for side in SIDES for prompt in judging.prompts(unit, side, unit.text)]

    def read_output(self, recorded: RecordedRow) -> OutputRow:
        identity, item, headline = recorded.text("id"), None, recorded.text("headline")
        if headline:
            identity = Headline.of(replace_surrogates(headline)).id
            extra = {name: recorded.fields.get(name) for name in ("category", "description")}
            item = {"headline": headline, **extra}
        if not identity:
            raise InputError("the headline is empty", hint="fill it in, or leave the row out")
        return OutputRow((identity,), dict(_sides(recorded)), item)

    def whole_output(self, parts: Mapping[str, Any]) -> Generation:
        return Generation(
            {side: parts[side][0] if side in parts else None for side in SIDES},
            {
                side: parts[side][1] if side in parts else _NOT_RECORDED.format(side)
                for side in SIDES
                if side not in parts or parts[side][0] is None
            },
        )

    def samples(self, items: Sequence[Headline], limit: int | None) -> list[Sample]:
        return [
            Sample(
                id=headline.id,
                input=headline.text,
                metadata={
                    "category": headline.category,
                    "description": headline.description,
                    **({} if headline.date is None else {"date": headline.date}),
                },
            )
            for headline in items[:limit]
        ]

    def solving(
        self, inputs: Inputs, method: Method[Any, Any], arguments: Mapping[str, Any]
    ) -> Solving[Any, Any]:
        facts = ("category", "description", "date")
        return Solving(
            item_of=lambda state: Headline.of(
                state.input_text, **{name: state.metadata.get(name) for name in facts}
            ),
            unanswered=Generation.none,
            shown=lambda made: json.dumps(dict(made.texts), ensure_ascii=False, indent=1),
            check=partial(check_texts, Batch([headline.text for headline in inputs.items])),
        )

    def scorer(self, arguments: Mapping[str, Any]) -> Scorer:
        names = ("judged", "judge_faults", "structured", "prompts", "cache_scope")
        return counterfactuals(**{name: arguments[name] for name in names if name in arguments})

    def rows(
        self, samples: Sequence[EvalSample], facts: Mapping[str, Any]
    ) -> Iterable[Mapping[str, Any]]:
        for sample in samples:
            generation = Generation(**sample.store[OUTPUT])
            panels = score_metadata(sample, SCORER).get("verdicts", {})
            cost = cost_columns(sample, facts["model"], self.local_calls(sample))
            trace = generation.trace
            for side, output in generation.outputs.items():
                row: dict[str, Any] = {
                    **facts,
                    "draw": sample.epoch,
                    "sample_id": str(sample.id),
                    "side": side,
                    "headline": str(sample.input),
                    "category": sample.metadata.get("category"),
                    "text": output.text,
                    "invalid_reason": output.invalid,
                    "degenerate": output.degenerate,
                    "repairs": len(generation.repairs),
                    **cost,
                }
                if "base_distance" in trace:  # from a method that writes a factual text first
                    row |= {"base": trace["base"], "base_distance": trace["base_distance"][side]}
                row |= verdict_columns(panels.get(side, {}), (*CRITERIA, *FAULTS))
                for name in FAULTS:
                    del row[f"{name}_invalid"]
                yield row

    def verdicts(self, sample: EvalSample) -> Iterable[tuple[Mapping[str, Any], dict[str, Any]]]:
        panels = score_metadata(sample, SCORER).get("verdicts", {})
        return [({"side": side}, verdicts) for side, verdicts in panels.items()]

    def finish(
        self, items: "pd.DataFrame", scorer: "CausalModel | None", folder: Path
    ) -> "pd.DataFrame":
        # Outputs that have only one side were not asked for the other.
        lacking = items["invalid_reason"].eq(items["side"].map(_NOT_RECORDED.format))
        items = items[~lacking.groupby([items["system"], items["side"]]).transform("all")]
        items = items.sort_values("system", kind="stable", ignore_index=True)
        scored = score_fluency([*items["headline"], *items["text"].dropna()], scorer, folder)
        items = items.assign(
            perplexity=[scored.get(text, math.nan) for text in items["text"]],
            headline_perplexity=[scored.get(text, math.nan) for text in items["headline"]],
        )
        return classify_many(items)

    def check_across(self, items: "pd.DataFrame") -> "pd.DataFrame":
        items = items.astype({"degenerate": object})
        for _, of_system in items[items["text"].notna()].groupby("system", sort=False):
            reasons = across(list(zip(of_system["headline"], of_system["text"], strict=True)))
            for row, reason in zip(of_system.index, reasons, strict=True):
                if reason is not None and not isinstance(items.at[row, "degenerate"], str):
                    items.at[row, "degenerate"] = reason
        return items

    def local_calls(self, sample: EvalSample) -> Sequence[tuple[int, int]]:
        """Return the tokens of prompt and text of each text by ``lm-counterfactuals``."""
        trace = sample.store.get(OUTPUT, {}).get("trace", {})
        read = trace.get("prompt_tokens", {})
        return [(tokens, len(trace["tokens"][part])) for part, tokens in read.items()]


def _options(settings: RunSettings) -> FinforceOptions:
    return cast(FinforceOptions, settings.options)


def _sides(recorded: RecordedRow) -> Iterator[tuple[Side, tuple[str | None, str]]]:
    """Yield each side that a row has, with its text, or None and why it is invalid."""
    if "reply" in recorded.fields and not {"risk", "opportunity", "side"} & recorded.fields.keys():
        pair = read_pair(ModelOutput.from_content(NO_MODEL, recorded.text("reply")))
        yield from ((side, (pair.texts[side], pair.invalid.get(side, ""))) for side in SIDES)
    elif "side" in recorded.fields:
        side = recorded.text("side").strip().casefold()
        if side not in SIDES:
            raise InputError(f"'{side[:40]}' is not a side", hint="write risk or opportunity")
        text, reason = read_side(recorded.fields.get("text", ""), side)
        yield side, (text, (recorded.text("invalid") or reason) if text is None else "")
    else:
        yield from ((side, read_side(recorded.fields.get(side, ""), side)) for side in SIDES)


@task
def finforce(
    data: str | None = None, method: str | list[str] = "zero-shot", draws: int = 1, **how: Any
) -> Task:
    """Forward counterfactuals of market headlines (FIN-FORCE).

    ``method`` may be a list, which is joined, since Inspect splits arguments at commas. `make_task`
    and `FinforceOptions` describe further arguments.
    """
    given = {"data": data, "method": method, "draws": draws, "judged": True, **how}
    return make_task(RUN, given)


RUN = FinforceRun(finforce)
"""The family's only task run."""
