"""Runs of ``cobe``: what they need before the first call, and the tables they leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from inspect_ai import Task

from contrafact.errors import InputError
from contrafact.families.cobe import bundled
from contrafact.families.cobe.bundled import bundled_shots, bundled_stories
from contrafact.families.cobe.data import StoryNotes, load_stories
from contrafact.families.cobe.editing import Editor, questions_of
from contrafact.families.cobe.items import ITEM_COLUMNS, PHRASINGS, item_rows, verdict_rows
from contrafact.families.cobe.judging import Judging
from contrafact.families.cobe.solvers import SolverContext, make_solver
from contrafact.families.cobe.task import TASK_VERSION, cobe
from contrafact.files.tables import write_frame
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.prompts import open_pack
from contrafact.records import Story
from contrafact.runs.items import ITEMS, VERDICTS
from contrafact.runs.prepared import (
    Evaluated,
    Prepared,
    absolute,
    data_record,
    file_record,
    hash_file,
    require_model,
)
from contrafact.runs.settings import RunSettings, identity

if TYPE_CHECKING:
    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["CobeRun", "prepare_cobe"]

_JUDGE_REPLY_TOKENS = 1


@dataclass(frozen=True)
class CobeRun(Prepared):
    """A run of ``cobe`` that is ready to start.

    Attributes:
        stories: The stories, limited; each is asked in three phrasings.
        editors: The solvers, by name, their templates checked.
        judging: The questions to the judge, checked; none where no judge was named.
    """

    family: ClassVar[str] = "cobe"
    task_version: ClassVar[str] = TASK_VERSION

    stories: list[Story]
    editors: dict[str, Editor]
    judging: Judging | None

    @property
    def items(self) -> int:
        """How many questions: three for every story."""
        return len(self.stories) * len(PHRASINGS)

    @property
    def asked(self) -> tuple[str, ...]:
        """The solvers."""
        return tuple(self.editors)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out."""
        if self.judging is not None:
            return ()
        return ("no --judge: the five criteria, and with them accuracy, are left out",)

    def draws(self, method: str) -> int:
        """Return how often the examples are drawn; a solver that shows none is run once."""
        return self.settings.draws if self.editors[method].shots else 1

    def task(self, method: str) -> Task:
        """Return the Inspect task of one solver."""
        settings = self.settings
        shows = self.editors[method].shots
        return cobe(
            data=absolute(settings.data),
            method=method,
            shots=settings.shots if shows else 0,
            draws=self.draws(method),
            shots_from=absolute(settings.shots_from) if shows else None,
            seed=settings.seed,
            prompts=absolute(settings.prompts),
            structured=settings.structured,
            judged=bool(settings.judges),
            judge_context=settings.judge_context,
            limit=settings.limit,
            cache_scope="shared" if settings.shared_cache else self.identity,
            fingerprint=self.identity,
        )

    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return one estimate for every model and solver, and one for every judge."""
        settings = self.settings
        sample = questions_of(sampled(self.stories))
        scale = self.items / len(sample)
        times = {name: scale * self.draws(name) for name in self.editors}
        plans = {
            name: [call for question in sample for call in editor.plan(question)]
            for name, editor in self.editors.items()
        }
        rows = subject_estimates(settings.models, plans, times, tokens=tokens)
        if self.judging is not None:
            prompts = [
                prompt
                for question in sample
                for prompt in self.judging.prompts(
                    question.story, question.query, question.story.answer or question.story.text
                )
            ]
            rows += judge_estimates(
                settings.judges,
                prompts,
                len(settings.models) * sum(times.values()),
                reply_tokens=_JUDGE_REPLY_TOKENS,
                tokens=tokens,
            )
        return rows

    def write_tables(
        self, folder: Path, evaluated: Sequence[Evaluated], scorer: "CausalModel | None"
    ) -> None:
        """Write one row per story, phrasing and draw, and every judge's own verdicts."""
        import pandas as pd

        place = {story.id: position for position, story in enumerate(self.stories)}
        rows: list[dict[str, Any]] = []
        verdicts: list[dict[str, Any]] = []
        for one in evaluated:
            metadata = one.log.eval.metadata or {}
            own = item_rows(
                one.samples,
                system=one.label,
                model=one.log.eval.model,
                method=metadata["method"],
                shots=metadata["shots"],
                judge=" + ".join(self.settings.judges) or None,
            )
            rows += sorted(
                own, key=lambda row: (row["draw"], place[row["sample_id"]], row["phrasing"])
            )
            verdicts += verdict_rows(one.samples, system=one.label)
        frame = pd.DataFrame(rows, columns=list(ITEM_COLUMNS))
        write_frame(frame, folder / ITEMS)
        if verdicts:
            write_frame(pd.DataFrame(verdicts), folder / VERDICTS)


def prepare_cobe(settings: RunSettings) -> CobeRun:
    """Load and check all that a run of ``cobe`` names.

    Raises:
        InputError: for the first thing that is wrong.
    """
    _refuse_the_useless(settings)
    notes = StoryNotes()
    stories = load_stories(settings.data, notes) if settings.data else bundled_stories()
    stories = stories[: settings.limit]
    pool = load_stories(settings.shots_from) if settings.shots_from else bundled_shots()
    pack = open_pack(settings.prompts)
    context = SolverContext(pack=pack, shots=settings.shots, pool=pool, seed=settings.seed)
    editors = {name: make_solver(name, context) for name in settings.methods}
    shows = any(editor.shots for editor in editors.values())
    for option, given in (
        ("--shots", settings.shots > 0),
        ("--draws", settings.draws > 1),
        ("--shots-from", settings.shots_from is not None),
    ):
        if given and not shows:
            raise InputError(
                f"{option} is for examples, and no method here shows any",
                hint=f"add --method few-shot, or leave {option} out",
            )
    judging = None
    if settings.judges:
        judging = Judging(pack, settings.judge_context)
    data = data_record(settings.data, len(stories), notes.lines(), bundled=_bundled("stories"))
    pool_record = file_record(settings.shots_from, len(pool)) if settings.shots_from else None
    contents = {
        "data": data.sha256,
        "pack": pack.hash_for(CobeRun.family),
        "task": TASK_VERSION.split("-")[0],
    }
    if shows:
        contents["shots"] = pool_record.sha256 if pool_record else hash_file(_bundled("shots"))
    return CobeRun(
        settings=settings,
        identity=identity(settings, contents),
        pack=pack,
        data=data,
        pool=pool_record,
        background=None,
        stories=stories,
        editors=editors,
        judging=judging,
    )


def _refuse_the_useless(settings: RunSettings) -> None:
    """Refuse settings that would change nothing, so that nobody believes they did."""
    require_model(settings)
    useless = (
        ("--rationale", settings.rationale, "asks for no label"),
        ("--logprobs", settings.logprobs, "asks for no label (a judge is always asked for them)"),
        ("--background", settings.background is not None, "shows no earlier news"),
        ("--judge-faults", settings.judge_faults, "has five criteria of its own"),
        ("--fluency-model", settings.fluency_model is not None, "is not scored for fluency"),
        ("--judge-context", settings.judge_context and not settings.judges, "has no --judge here"),
    )
    for option, given, what in useless:
        if given:
            raise InputError(f"{option} is not for cobe, which {what}", hint="leave it out")


def _bundled(what: str) -> Path:
    return Path(bundled.__file__).parent / "samples" / f"{what}.json"
