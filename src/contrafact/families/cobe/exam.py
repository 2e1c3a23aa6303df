"""CoBe items with known verdicts: stories' right answers, and answers that fail a criterion.

A right answer passes every criterion that its story asks; a wrong one fails the criteria that are
known of it and passes the others.
"""

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pydantic import Field

from contrafact.corpus.datasets import data_source
from contrafact.errors import InputError
from contrafact.families.cobe.data import criteria_of, known_story, load_known
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.synth.difficulty import level_named
from contrafact.family import Lazy
from contrafact.family.exam import (
    RESPONSE,
    Examiner,
    ExamItem,
    ExamSpec,
    RecordedExam,
    draw_crossed,
)
from contrafact.family.settings import ReaderOptions
from contrafact.judges.replies import read_letter
from contrafact.judges.verifier import Subject
from contrafact.records import content_id
from contrafact.text.delimit import delimit

if TYPE_CHECKING:
    from contrafact.families.cobe.data import KnownStory
    from contrafact.judges.surface import LeakItem
    from contrafact.prompts import PromptPack

_DRAWN = 560
"""Items where neither a number nor a file is given: 25 or more of them fail each criterion."""


class CobeExamOptions(ReaderOptions):
    data: Path | None = Field(
        default=None,
        description="Stories with known answers; fresh ones if none.",
        json_schema_extra={"metavar": "FILE"},
    )
    level: int | None = Field(
        default=None,
        description="Draw stories of this level, 0 (easy) to 5; of every kind if not given.",
        json_schema_extra={"metavar": "L"},
    )
    retold: bool | None = Field(
        default=None,
        description="Use answers in free words, which only a reader can read; the default if there "
        "is one.",
    )
    judge_context: bool = Field(
        default=False, description="Also show the judge the story and the query."
    )


def cobe_items(stories: "Sequence[KnownStory]") -> list[ExamItem]:
    """Return every known answer of the stories as an item.

    The kind of a wrong answer is the criterion that it fails (``fails E2``); that of a right one is
    ``right``, with the reason where several stories give it.

    Raises:
        InputError: There are no right answers, or no wrong ones.
    """
    reasons = Counter(why for known in stories for why in {answer.why for answer in known.right})
    items: dict[str, ExamItem] = {}
    for known in stories:
        story = known.story
        for answer in (*known.right, *known.wrong):
            verdicts = known.verdicts(answer)
            failed = [name for name, passes in verdicts.items() if not passes]
            if answer.fails is not None and not failed:
                continue
            fails = answer.fails if answer.fails in failed else next(iter(failed), None)
            kind = f"right: {answer.why}" if answer.why and reasons[answer.why] > 1 else "right"
            item = ExamItem(
                id=content_id(story.id, story.text, answer.text, prefix="x"),
                cluster=str(story.core_set_id),
                kind=kind if fails is None else f"fails {fails}",
                about=story.text,
                text=answer.text,
                known=verdicts,
                whole=fails is None,
                reference=story.answer or None,
                material=story,
                pair=answer.counterpart,
            )
            items.setdefault(item.id, item)
    if {item.whole for item in items.values()} != {True, False}:
        raise InputError(
            "an exam needs stories with right answers and with wrong ones",
            hint="make some with `contrafact cobe synth`",
        )
    return list(items.values())


def retold_known() -> "list[KnownStory]":
    """Return the bundled stories whose answers language models retold in words of their own.

    The retold answers state the same facts, so the verdicts proven for the originals hold for them
    (`docs/readings`).
    """
    return load_known(Path(__file__).parent / "samples" / "retold.jsonl.gz")


def drawn_known(n: int, seed: int, level: int | None = None) -> "list[KnownStory]":
    from contrafact.families.cobe.synth.compose import compose

    difficulty = None if level is None else level_named(level)
    return [known_story(row) for row in compose(n, seed, difficulty=difficulty)]


def examiner(pack: "PromptPack", options: CobeExamOptions) -> Examiner:
    """Return an examiner that asks judges as `judging.Judging` does, with the story's first
    query.
    """
    from contrafact.families.cobe.judging import Judging
    from contrafact.judges.rubric import letter

    reads = options.reader is not None
    judging = Judging(pack, options.judge_context, reads=reads)

    def prompts(item: ExamItem) -> Mapping[str, str]:
        asked = judging.prompts(item.material, item.material.queries[0], item.text)
        every = zip(criteria_of(item.material), asked, strict=True)
        return {name: prompt for name, prompt in every if name in item.known}

    def shown(item: ExamItem) -> Sequence[str]:
        context = (item.about, item.material.queries[0]) if options.judge_context else ()
        return [delimit(text) for text in (item.text, *context)]

    def subject(item: ExamItem) -> Subject:
        return judging.subject(item.material, item.text)

    return Examiner(prompts, shown, letter(), subject)


def leak_item(story: Story, text: str, verdicts: Mapping[str, bool]) -> "LeakItem":
    """Return an answer of a story as an item for surface classifiers.

    The classifiers are scored on graphs and templates that they have not seen.
    """
    from contrafact.judges.surface import LeakItem

    proof = story.proof or {}
    core = str(story.core_set_id)
    graph = proof.get("graph")
    told = set(proof.get("told", graph or ()))
    named = {n: [p for p in parents if p in told] for n, parents in (graph or {}).items()}
    key = json.dumps({n: named[n] for n in sorted(named) if n in told})
    asked = {"E1": story.unchanged, "E2": story.changed, "E3": ""}
    return LeakItem(
        text=text,
        about=(story.text, story.queries[0]),
        asked={**asked, "E4": story.numerical or "", "E5": story.latent or ""},
        verdicts=verdicts,
        block=core,
        groups={"graph": key if graph else core, "template": str(proof.get("template", core))},
    )


def _items(options: CobeExamOptions, n: int | None, seed: int) -> list[ExamItem]:
    if options.level is not None and (options.data is not None or options.retold):
        raise InputError(
            "--level draws stories, and --data and --retold bring theirs", hint="give one of them"
        )
    if options.data is not None:
        return draw_crossed(cobe_items(load_known(data_source(options.data).path)), n, seed)
    if options.retold or (options.retold is None and options.reader and options.level is None):
        return draw_crossed(cobe_items(retold_known()), n, seed)
    n = n or _DRAWN
    # Two items for each story, so that there are many stories and each weighs little: a text is
    # asked about in the story for which it is right, and in one for which it is wrong.
    drawn = drawn_known(max(10, (n + 1) // 2), seed, options.level)
    return draw_crossed(cobe_items(drawn), n, seed)


RECORDED = Path(__file__).parent / "samples" / "exam_replies.json.gz"
"""Replies of judges to the questions of `recorded_exam`; ``tools/exam_replies.py`` records them."""
_RECORDED, _TEMPLATE, _SIDE, _SAMPLE = "E3", "cobe/judge-connectors", 30, 100


def recorded_exam() -> RecordedExam:
    """Return an exam on E3 of retold answers, by recorded replies.

    Of each story at most one right and one wrong answer is in it, so that it has as many
    independent items as a correction needs; the sample is drawn from the other answers.
    """
    known = [item for item in cobe_items(retold_known()) if _RECORDED in item.known]
    items = [
        replace(item, known={_RECORDED: item.known[_RECORDED]}, whole=None)
        for item in Random(0).sample(known, len(known))
    ]
    sides: dict[bool, dict[str, ExamItem]] = {True: {}, False: {}}
    for item in items:
        sides[item.known[_RECORDED]].setdefault(item.cluster, item)
    exam = [item for side in sides.values() for item in list(side.values())[:_SIDE]]
    recording = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return RecordedExam(
        criterion=_RECORDED,
        question="A judge is asked about a text: do the words that join clauses (because, "
        "although) fit? Its replies were recorded before; the right verdicts are known.",
        items=exam,
        sample=[item for item in items if item not in exam][:_SAMPLE],
        templates={_TEMPLATE: recording["templates"].get(_TEMPLATE, "")},
        replies=recording["replies"],
        read=read_letter,
    )


EXAM = ExamSpec(
    task="cobe",
    criteria={**{f"E{n}": f"E{n}" for n in range(1, 6)}, "correct": RESPONSE},
    items=_items,
    examiner=examiner,
    options=CobeExamOptions,
    surface=lambda items: [leak_item(item.material, item.text, item.known) for item in items],
    surface_reader="reads no story",
    recorded=Lazy("contrafact.families.cobe.exam:recorded_exam"),
)
