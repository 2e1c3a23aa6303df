"""Runs of families that make one text from each item, judged true or false by criteria.

The usual case: a method returns an `Output`, a judge is asked about each criterion in a separate
call, and the per-item table has a row for every item and draw. A family defines its items, the
texts shown to a judge, and further computed columns.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import CachePolicy
from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import TaskState

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.exam import Examiner, ExamItem
from contrafact.family.method import Method
from contrafact.family.outputs import OutputRow, RecordedRow
from contrafact.family.run import Inputs, TaskRun, load_once
from contrafact.family.settings import RunSettings
from contrafact.family.task import (
    OUTPUT,
    Exchanges,
    Solving,
    degenerate_text,
    log_scorer,
    number,
    output_of,
    rates,
    score_metadata,
    verdict_columns,
)
from contrafact.judges.judge import judges_of_role
from contrafact.judges.rubric import Rubric, true_or_false
from contrafact.models.asking import cache_policy
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Criterion, Output, Verdict
from contrafact.text.degenerate import Batch
from contrafact.text.delimit import delimit

__all__ = ["SCORER", "TextRun", "criteria_scorer"]

SCORER = "criteria"
"""The scorer's name in logs, after the package's name."""

ItemT = TypeVar("ItemT")


class TextRun(TaskRun[ItemT, ItemT]):
    """How a task with one text per item is run.

    The table's columns are those of every system, ``draw`` and ``sample_id``, the item's own
    (`item_columns`), ``text`` and ``invalid_reason``, and for each criterion the verdict (1.0, 0.0
    or NaN) and ``<criterion>_invalid``. ``degenerate`` says why a readable text is not an
    answer.
    """

    criteria: ClassVar[tuple[Criterion, ...]]
    """The criteria that a judge is asked about, with their templates."""
    output_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **TaskRun.output_fields,
        "input": ("input", "prompt"),
    }
    output_layouts: ClassVar[tuple[tuple[str, ...], ...]] = (("id", "output"), ("input", "output"))

    @abstractmethod
    def prompt_texts(self, item: ItemT, text: str) -> Mapping[str, str]:
        """Return the values for a criterion's template, from an item and the text made from it."""

    @abstractmethod
    def input_of(self, item: ItemT) -> str:
        """Return the item's text, which Inspect's log shows as the input."""

    @abstractmethod
    def item_columns(self, item: ItemT) -> Mapping[str, Any]:
        """Return an item's own columns in the table."""

    def read_output(self, recorded: RecordedRow) -> OutputRow:
        """Return a text made elsewhere for an item that is named by its id or its input."""
        if recorded.text("id") or not recorded.text("input"):
            return super().read_output(recorded)
        shown = recorded.text("input").strip()
        ids = recorded.units.ids("input", lambda item: self.input_of(item).strip(), shown)
        if not ids:
            raise InputError("no item of the data has this input", hint="name the item by its id")
        return OutputRow(ids, {"": recorded.output("output")})

    def rubric(self, pack: PromptPack, cache: bool | CachePolicy = False) -> Rubric[Verdict]:
        """Return the criteria's templates, opened and checked."""
        (item, *_), _ = load_once(self.load, self.bundled)
        shown = tuple(self.prompt_texts(item, ""))
        templates = dict.fromkeys((one.template for one in self.criteria), shown)
        return Rubric(pack, templates, true_or_false(cache=cache))

    def judging(self, pack: PromptPack, settings: RunSettings) -> Rubric[Verdict]:
        return self.rubric(pack)

    def judge_prompts(self, judging: Rubric[Verdict], unit: ItemT) -> Sequence[str]:
        texts = self.prompt_texts(unit, self.input_of(unit))
        return [prompt for _, prompt in judging.prompts(self.criteria, **texts)]

    def examiner(self, pack: PromptPack, options: Any) -> Examiner:
        """Return the examiner for a judge; the ``material`` of an exam item is the item itself."""
        rubric = self.rubric(pack)

        def prompts(item: ExamItem) -> Mapping[str, str]:
            criteria = [one for one in self.criteria if one.name in item.known]
            prompt_of = rubric.prompts(criteria, **self.prompt_texts(item.material, item.text))
            return {name: prompt for (name,), prompt in prompt_of}

        return Examiner(prompts, lambda item: (delimit(item.text),), rubric.ask)

    def samples(self, items: Sequence[ItemT], limit: int | None) -> list[Sample]:
        by_id = {str(item.id): item for item in items}  # type: ignore[attr-defined]
        return [
            Sample(id=name, input=self.input_of(item), metadata=dict(self.item_columns(item)))
            for name, item in list(by_id.items())[:limit]
        ]

    def solving(
        self, inputs: Inputs, method: Method[Any, Any], arguments: Mapping[str, Any]
    ) -> Solving[Any, Any]:
        by_id = {str(item.id): item for item in inputs.items}
        batch = Batch([self.input_of(item) for item in inputs.items])

        def check(item: ItemT, output: Output, shown: Exchanges) -> Output:
            return degenerate_text(batch, output, self.input_of(item), shown=shown)

        return Solving(lambda state: by_id[str(state.sample_id)], check=check)

    def scorer(self, arguments: Mapping[str, Any]) -> Scorer:
        names = ("data", "judged", "prompts", "cache_scope")
        return criteria_scorer(self.name, *(cast(Any, arguments.get(name)) for name in names))

    def rows(
        self, samples: Sequence[EvalSample], facts: Mapping[str, Any]
    ) -> Iterable[Mapping[str, Any]]:
        for sample in samples:
            output = Output(**sample.store[OUTPUT])
            yield {
                **facts,
                "draw": sample.epoch,
                "sample_id": str(sample.id),
                **sample.metadata,
                "text": output.text,
                "invalid_reason": output.invalid,
                "degenerate": output.degenerate,
                **verdict_columns(
                    score_metadata(sample, SCORER).get("verdicts", {}),
                    [one.name for one in self.criteria],
                ),
            }

    def verdicts(self, sample: EvalSample) -> Iterable[tuple[Mapping[str, Any], dict[str, Any]]]:
        return [({}, score_metadata(sample, SCORER).get("verdicts", {}))]


@log_scorer(SCORER, rates())
def criteria_scorer(
    task: str,
    data: str | None = None,
    judged: bool = True,
    prompts: str | None = None,
    cache_scope: str | None = None,
) -> Scorer:
    """Return a scorer of a sample's `Output`: whether it is valid, and each criterion's verdict.

    This scorer makes all judge calls of a sample. Its arguments are plain values, so that
    ``inspect score LOG --scorer contrafact/criteria -S task=NAME`` can make it again: the task,
    whose run is a `TextRun`; the file of its items; whether the judge is asked; the folder of
    prompts; and the name under which answers are kept for a rerun.
    """
    run: Any = task_named(task).run.load()
    items: dict[str, Any] = {}
    rubric: Rubric[Verdict] | None = None
    if judged:
        every, _ = load_once(run.load, Path(data) if data else run.bundled)
        items = {str(item.id): item for item in every}
        rubric = run.rubric(open_pack(prompts), cache_policy(cache_scope))

    async def score(state: TaskState, target: Target) -> Score:
        output = output_of(state)
        value: dict[str, float] = {"valid": float(output.text is not None)}
        metadata: dict[str, Any] = {"degenerate": output.degenerate}
        if rubric is not None:
            names = [one.name for one in run.criteria]
            value |= dict.fromkeys(names, math.nan)
            if output.text is not None:
                shown = run.prompt_texts(items[str(state.sample_id)], output.text)
                judged = await rubric.judge(judges_of_role(), run.criteria, **shown)
                value |= {name: number(judged.panel[name].passed) for name in names}
                metadata["verdicts"] = judged.as_json()
        return Score(
            value=cast(Any, value),
            answer=output.text,
            explanation=output.invalid or output.degenerate,
            metadata=metadata,
        )

    return score
