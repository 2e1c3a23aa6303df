"""How ``cobe`` is run: its data, its task, and the tables that a run leaves."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from inspect_ai import Task

from contrafact.families.cobe.data import StoryNotes, load_stories
from contrafact.families.cobe.items import ITEM_COLUMNS, item_rows, verdict_rows
from contrafact.families.cobe.judging import Judging
from contrafact.families.cobe.methods import METHODS
from contrafact.families.cobe.options import CobeOptions
from contrafact.families.cobe.questions import Question, questions_of
from contrafact.family.run import Evaluated, Prepared, TaskRun, refuse
from contrafact.family.settings import RunSettings
from contrafact.prompts import PromptPack
from contrafact.records import Story

__all__ = ["RUN", "CobeRun"]


class CobeRun(TaskRun[Story, Question]):
    """Runs of ``cobe``: one sample and one row for each story, phrasing and draw."""

    methods = METHODS
    bundled = Path(__file__).parent / "samples" / "stories.json"
    bundled_shots = Path(__file__).parent / "samples" / "shots.json"
    without_judge = "the five criteria, and with them accuracy, are left out"
    judge_reply_tokens = 1
    columns = ITEM_COLUMNS

    def load(self, path: Path) -> tuple[Sequence[Story], list[str]]:
        """Return the stories of a file."""
        notes = StoryNotes()
        return load_stories(path, notes), notes.lines()

    def units(self, items: Sequence[Story]) -> Sequence[Question]:
        """Return every story in its three phrasings."""
        return questions_of(items)

    def check(self, settings: RunSettings, asking: tuple[str, ...]) -> None:
        """Refuse a judge's context where there is no judge."""
        refuse(
            [
                (
                    "--judge-context",
                    _options(settings).judge_context and not settings.judges,
                    "there is no --judge",
                )
            ]
        )

    def judging(self, pack: PromptPack, settings: RunSettings) -> Judging:
        """Return the questions to the judge, opened and checked."""
        return Judging(pack, _options(settings).judge_context)

    def judge_prompts(self, judging: Judging, unit: Question) -> Sequence[str]:
        """Return what is asked about an edit as long as the story's answer."""
        return judging.prompts(unit.story, unit.query, unit.story.answer or unit.story.text)

    def task(self, prepared: Prepared, method: str) -> Task:
        """Return the Inspect task of one method."""
        from contrafact.families.cobe.task import cobe

        options = _options(prepared.settings)
        return cobe(
            method=method,
            shots=prepared.shots(method),
            draws=prepared.draws(method),
            shots_from=prepared.shots_from(method),
            structured=options.structured,
            judged=prepared.judged(method),
            judge_context=options.judge_context,
            **prepared.common,
        )

    def rows(self, evaluated: Evaluated) -> Iterable[Mapping[str, Any]]:
        """Return one row per story, phrasing and draw."""
        return item_rows(evaluated.samples, **evaluated.facts)

    def verdict_rows(self, evaluated: Evaluated) -> Iterable[Mapping[str, Any]]:
        """Return every judge's own verdicts."""
        return verdict_rows(evaluated.samples, system=evaluated.label)

    def order(self, row: Mapping[str, Any]) -> Hashable:
        """Return a row's phrasing."""
        return str(row["phrasing"])


RUN = CobeRun()
"""The one run of the family."""


def _options(settings: RunSettings) -> CobeOptions:
    return cast(CobeOptions, settings.options)
