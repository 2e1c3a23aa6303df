"""The task ``cobe``: its data, its Inspect task, and the tables of a run.

A story is edited and judged in each of its three phrasings, by ``inspect eval contrafact/cobe
--model … --model-role grader=…`` or by ``contrafact run cobe``, which adds tables and the report.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.scorer import Scorer

from contrafact.errors import InputError
from contrafact.families.cobe.data import (
    FIELDS,
    PHRASINGS,
    StoryNotes,
    StoryQuery,
    load_stories,
    queries_of,
    query_of,
    read_story,
    story_object,
)
from contrafact.families.cobe.items import ITEM_COLUMNS, SCORER, item_rows
from contrafact.families.cobe.judging import Judging
from contrafact.families.cobe.methods import METHODS
from contrafact.families.cobe.phrasing import PLAIN, usual_framing
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.scoring import judged_edit
from contrafact.families.cobe.settings import CobeOptions
from contrafact.family.inspect_tasks import make_task
from contrafact.family.method import Method
from contrafact.family.outputs import OutputRow, RecordedRow
from contrafact.family.run import Inputs, TaskRun, load_once, refuse
from contrafact.family.settings import RunSettings
from contrafact.family.task import Exchanges, Solving, degenerate_text, score_metadata
from contrafact.judges.verifier import Subject
from contrafact.prompts import PromptPack
from contrafact.records import Output
from contrafact.text.degenerate import Batch

__all__ = ["RUN", "cobe"]


class CobeRun(TaskRun[Story, StoryQuery]):
    name = "cobe"
    noun = "stories"
    methods = METHODS
    fields = FIELDS
    bundled = Path(__file__).parent / "samples" / "stories.json"
    bundled_shots = Path(__file__).parent / "samples" / "shots.json"
    without_judge = "the five criteria and accuracy are left out"
    judge_reply_tokens = 1
    columns = ITEM_COLUMNS
    output_fields: ClassVar = {
        "id": ("sample_id", "story_id", "id"),
        "story": ("variation_text", "story", "scenario"),
        "phrasing": ("phrasing",),
        "query": ("query", "question"),
        "response": ("response", "output", "completion", "text"),
        "invalid": ("invalid_reason",),
    }
    output_layouts: ClassVar = (("id", "response"), ("story", "response"))

    def load(
        self, path: Path, columns: Mapping[str, str] | None = None
    ) -> tuple[Sequence[Story], list[str]]:
        notes = StoryNotes()
        return load_stories(path, notes, columns=columns), notes.lines()

    def units(self, items: Sequence[Story]) -> Sequence[StoryQuery]:
        return queries_of(items)

    def check(self, settings: RunSettings, asking: tuple[str, ...]) -> None:
        unseen = _options(settings).judge_context and not settings.judges
        refuse([("--judge-context", unseen, "there is no --judge")])

    def settled(self, settings: RunSettings) -> tuple[RunSettings, list[str]]:
        options = _options(settings)
        stories, _ = load_once(self.load, settings.data or self.bundled, settings.columns)
        notes = [*_of_a_kind(stories, settings.models)]
        if not options.framing:
            framing = usual_framing(stories)
            options = options.model_copy(update={"framing": (framing,)})
            if framing != PLAIN:
                notes.append(f"request: {framing}, default for drawn stories (--framing)")
        return settings.model_copy(update={"options": options}), notes

    def judging(self, pack: PromptPack, settings: RunSettings) -> Judging:
        options = _options(settings)
        reads = options.reader is not None
        return Judging(pack, options.judge_context, reads=reads)

    def judge_prompts(self, judging: Judging, unit: StoryQuery) -> Sequence[str]:
        return judging.prompts(unit.story, unit.query, unit.story.answer or unit.story.text)

    def judge_subject(self, judging: Judging, unit: StoryQuery) -> Subject:
        """Return the story's answer after words outside any grammar, so that a reader is needed."""
        return judging.subject(unit.story, f"In free words: {unit.story.answer or unit.story.text}")

    def read_output(self, recorded: RecordedRow) -> OutputRow:
        item: Mapping[str, Any] | None = None
        if any(str(name).strip() == "Variation text" for name in recorded.row):
            story = read_story(recorded.row)
            item, asked = story_object(story), queries_of([story])
        else:
            asked = _asked(recorded)
        named = recorded.text("phrasing").strip().upper()
        if not named and isinstance(recorded.fields.get("query"), str):
            query = " ".join(recorded.text("query").split())
            named = next((q.phrasing for q in asked if " ".join(q.query.split()) == query), "?")
        if not named and len(asked) == 1:
            named = asked[0].phrasing
        if named not in PHRASINGS:
            raise InputError(
                "the query is none of the story's three"
                if named == "?"
                else "no phrasing is named",
                hint="name the phrasing (A, B or C) in a column 'phrasing'",
            )
        identity = next(question.id for question in asked if question.phrasing == named)
        return OutputRow((identity,), {"": recorded.output("response")}, item)

    def samples(self, items: Sequence[Story], limit: int | None) -> list[Sample]:
        return [_sample(question) for question in queries_of(items[:limit])]

    def solving(
        self, inputs: Inputs, method: Method[Any, Any], arguments: Mapping[str, Any]
    ) -> Solving[Any, Any]:
        if not method.shots and (arguments.get("shots") or arguments.get("draws", 1) > 1):
            raise InputError(f"{method.name} shows no examples", hint="leave shots and draws out")
        variants: dict[int, list[str]] = {}
        for story in inputs.items:
            variants.setdefault(story.core_set_id, []).append(story.text)
        return Solving(
            item_of=lambda state: query_of(state.metadata),
            check=partial(_check_edit, Batch([story.text for story in inputs.items]), variants),
        )

    def scorer(self, arguments: Mapping[str, Any]) -> Scorer:
        names = ("judged", "judge_context", "judge_logprobs", "prompts")
        chosen = {name: arguments[name] for name in (*names, "cache_scope") if name in arguments}
        return judged_edit(**chosen)

    def rows(
        self, samples: Sequence[EvalSample], facts: Mapping[str, Any]
    ) -> Iterable[Mapping[str, Any]]:
        return item_rows(samples, **facts)

    def verdicts(self, sample: EvalSample) -> Iterable[tuple[Mapping[str, Any], dict[str, Any]]]:
        metadata = sample.metadata
        part = {"sample_id": metadata["story"]["id"], "phrasing": metadata["phrasing"]}
        return [(part, score_metadata(sample, SCORER).get("verdicts") or {})]


def _of_a_kind(stories: Sequence[Story], models: Sequence[str]) -> Iterator[str]:
    """Yield a note on the models that are named like who wrote or read the stories."""

    def kind(model: str) -> str:
        return re.split(r"[^a-z]", model.rsplit("/", 1)[-1].lower(), maxsplit=1)[0]

    proofs = [dict(story.proof.items()) for story in stories if story.proof]
    makers = {proof.get("writer") for proof in proofs}
    makers |= {one["reader"] for proof in proofs for one in proof.get("senses", ())}
    kinds = {kind(str(maker)) for maker in makers if maker} - {""}
    if alike := sorted({model for model in models if kind(model) in kinds}):
        yield (
            f"{', '.join(alike)}: of one kind, by name, with who wrote or read these stories "
            f"({', '.join(sorted(filter(None, makers)))}), which may favour it"
        )


def _asked(recorded: RecordedRow) -> list[StoryQuery]:
    """Return the questions that a row may answer: a single one, or all three of a story."""
    identity = recorded.text("id").strip()
    if identity in recorded.units.by_id:
        return [recorded.units.by_id[identity]]
    if identity:
        ids = recorded.units.ids("story", lambda question: question.story.id, identity)
    else:
        shown = " ".join(recorded.text("story").split())
        ids = recorded.units.ids("text", lambda one: " ".join(one.story.text.split()), shown)
    if not ids:
        what = (
            f"'{identity}' is no story of the data" if identity else "the story is not in the data"
        )
        raise InputError(what, hint="name the stories' file with --data")
    return [recorded.units.by_id[one] for one in ids]


def _options(settings: RunSettings) -> CobeOptions:
    return cast(CobeOptions, settings.options)


@task
def cobe(data: str | None = None, method: str = "plain", draws: int = 1, **how: Any) -> Task:
    """Counterfactual edits of short stories, judged by causal criteria (CoBe).

    Each story is asked in three phrasings. `make_task` and `CobeOptions` describe further
    arguments.
    """
    return make_task(RUN, {"data": data, "method": method, "draws": draws, "judged": True, **how})


RUN = CobeRun(cobe)
"""The family's only task run."""


def _check_edit(
    batch: Batch,
    variants: Mapping[int, Sequence[str]],
    question: StoryQuery,
    edited: Output,
    shown: Exchanges,
) -> Output:
    """Return an edit with the reason, if any, why it is degenerate.

    It may equal another variation of the same core story.
    """
    story = question.story
    same = variants[story.core_set_id]
    return degenerate_text(batch, edited, story.text, question.query, shown=shown, same=same)


def _sample(question: StoryQuery) -> Sample:
    return Sample(
        id=question.id,
        input=f"{question.story.text}\n\n{question.query}",
        target=question.story.answer,
        metadata={
            "cluster": str(question.story.core_set_id),
            "phrasing": question.phrasing,
            "query": question.query,
            "story": question.story.model_dump(mode="json"),
        },
    )
