"""Runs of ``rfc-detect`` and ``rfc-diagnose``: what they need first, and the table they leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from inspect_ai import Epochs, Task, task_with
from inspect_ai.log import EvalLog

from contrafact.corpus.news_items import load_news
from contrafact.errors import InputError
from contrafact.families.rfc import bundled
from contrafact.families.rfc.answers import Answer, Answerer
from contrafact.families.rfc.bundled import bundled_pairs, bundled_shots
from contrafact.families.rfc.data import Item, PairNotes, items_of, load_pairs
from contrafact.families.rfc.detect import rfc_detect
from contrafact.families.rfc.diagnose import rfc_diagnose
from contrafact.families.rfc.error_classes import ErrorClasses
from contrafact.families.rfc.items import ITEM_COLUMNS, PROBABILITIES, items_frame
from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.solvers import SolverContext, make_solver
from contrafact.families.rfc.solvers.lookup import baseline_names
from contrafact.families.rfc.tasks import TASK_VERSION
from contrafact.files.tables import write_frame
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.prompts import open_pack
from contrafact.runs.items import ITEMS
from contrafact.runs.prepared import (
    Evaluated,
    Prepared,
    absolute,
    data_record,
    file_record,
    hash_file,
    system_label,
)
from contrafact.runs.settings import RunSettings, identity

if TYPE_CHECKING:
    from contrafact.models.whitebox.weights import CausalModel

__all__ = ["RfcRun", "prepare_rfc"]

# These reason before they answer, whether or not reasons are asked for.
_REASONING = frozenset({"stepwise", "reflect"})
_JUDGE_REPLY_TOKENS = 5
# A rationale of about the length that estimates take for one.
_RATIONALE = "The figures and the direction that the text gives them do not fit together. " * 8


@dataclass(frozen=True)
class RfcRun(Prepared):
    """A run of one of the two tasks that is ready to start.

    Attributes:
        task_items: The items, limited: two for every pair in detection.
        solvers: The solvers that ask a model, by name, their templates checked.
        unasking: The names of the baselines, which ask none.
    """

    family: ClassVar[str] = "rfc"
    task_version: ClassVar[str] = TASK_VERSION

    task_items: list[Item]
    solvers: dict[str, Answerer]
    unasking: tuple[str, ...]

    @property
    def items(self) -> int:
        """How many paragraphs, or pairs in diagnosis."""
        return len(self.task_items)

    @property
    def asked(self) -> tuple[str, ...]:
        """The solvers that ask a model."""
        return tuple(self.solvers)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines."""
        return self.unasking

    def draws(self, method: str) -> int:
        """Return how often the examples are drawn; without examples there is one run."""
        shows = method in self.solvers and self.solvers[method].shots
        return self.settings.draws if shows else 1

    def task(self, method: str) -> Task:
        """Return the Inspect task of one solver or baseline."""
        settings = self.settings
        asks = method in self.solvers
        shared: dict[str, Any] = {
            "data": absolute(settings.data),
            "solver": method,
            "background": absolute(settings.background) if asks else None,
            "rationale": settings.rationale and asks,
            "logprobs": settings.logprobs and asks,
            "seed": settings.seed,
            "prompts": absolute(settings.prompts),
            "limit": settings.limit,
            "cache_scope": "shared" if settings.shared_cache else self.identity,
            "fingerprint": self.identity,
        }
        if settings.task == "rfc-diagnose":
            made = rfc_diagnose(**shared)
        else:
            made = rfc_detect(
                **shared,
                shots=settings.shots if asks else 0,
                shots_from=absolute(settings.shots_from) if asks else None,
                judged=_judged(settings, method) and asks,
            )
        draws = self.draws(method)
        return made if draws == 1 else task_with(made, epochs=Epochs(draws, "mean"))

    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return one estimate for every model and solver, and one for every judge."""
        settings = self.settings
        sample = sampled(self.task_items)
        scale = self.items / len(sample)
        times = {name: scale * self.draws(name) for name in self.solvers}
        plans = {
            name: [call for item in sample for call in solver.plan(item)]
            for name, solver in self.solvers.items()
        }
        rows = subject_estimates(settings.models, plans, times, tokens=tokens)
        sorted_too = [name for name in self.solvers if _judged(settings, name)]
        if settings.judges and sorted_too:
            classes = ErrorClasses(self.pack)
            rows += judge_estimates(
                settings.judges,
                [classes.prompt(item, Answer(item.gold, rationale=_RATIONALE)) for item in sample],
                len(settings.models) * sum(times[name] for name in sorted_too),
                reply_tokens=_JUDGE_REPLY_TOKENS,
                tokens=tokens,
            )
        return rows

    def label(self, log: EvalLog) -> str:
        """Return a system's name in tables: model, solver, number of examples."""
        metadata = log.eval.metadata or {}
        solver = metadata["solver"]
        if solver in self.unasking:
            return f"baseline · {solver}"
        reasons = self.settings.rationale and solver not in _REASONING
        label = system_label(log.eval.model, solver, metadata["shots"])
        return f"{label} · reasons" if reasons else label

    def write_tables(
        self, folder: Path, evaluated: Sequence[Evaluated], scorer: "CausalModel | None"
    ) -> None:
        """Write one row per sample: models in their order, then baselines."""
        import pandas as pd

        place = {item.id: position for position, item in enumerate(self.task_items)}
        rows = []
        for one in sorted(evaluated, key=lambda one: one.label.startswith("baseline")):
            metadata = one.log.eval.metadata or {}
            own = items_frame(
                one.samples,
                system=one.label,
                model=one.log.eval.model,
                solver=metadata["solver"],
                shots=metadata["shots"],
            )
            rows += sorted(own, key=lambda row: (row["draw"], place[row["sample_id"]]))
        frame = pd.DataFrame(rows, columns=list(ITEM_COLUMNS))
        write_frame(frame.astype(dict.fromkeys(PROBABILITIES.values(), float)), folder / ITEMS)


def prepare_rfc(settings: RunSettings) -> RfcRun:
    """Load and check all that a run of ``rfc-detect`` or ``rfc-diagnose`` names.

    Raises:
        InputError: for the first thing that is wrong.
    """
    task = cast(TaskName, settings.task)
    known = baseline_names(task)
    baselines = tuple(name for name in settings.methods if name in known)
    asked = tuple(name for name in settings.methods if name not in known)
    for name in asked:
        if name in baseline_names():
            raise InputError(f"{task} has no solver '{name}'", hint=f"use {' or '.join(known)}")
    # Inspect names no model "none"; a baseline may be given it.
    models = tuple(name for name in settings.models if name not in ("none", "none/none"))
    settings = settings.model_copy(update={"models": models})
    _refuse_the_useless(settings, asked)
    notes = PairNotes()
    originals = task == "rfc-diagnose"
    pairs = load_pairs(settings.data, notes, originals=originals) if settings.data else None
    pool = load_pairs(settings.shots_from, originals=True) if settings.shots_from else None
    news = load_news(settings.background) if settings.background else None
    pack = open_pack(settings.prompts)
    context = SolverContext(
        task=task,
        pairs=pairs or bundled_pairs(),
        pack=pack,
        shots=settings.shots,
        pool=pool or bundled_shots(),
        rationale=settings.rationale,
        background=news,
        seed=settings.seed,
    )
    solvers = {name: make_solver(name, context) for name in asked}
    for name in baselines:
        make_solver(name, context)  # told now if the data are too few for it
    if settings.judges and any(_judged(settings, name) for name in asked):
        ErrorClasses(pack)
    limited = context.pairs[: settings.limit]
    pool_record = (
        file_record(settings.shots_from, len(pool)) if pool and settings.shots_from else None
    )
    news_record = (
        file_record(settings.background, len(news)) if news and settings.background else None
    )
    data = data_record(settings.data, len(limited), notes.lines(), bundled=_bundled("pairs"))
    contents = {
        "data": data.sha256,
        "pack": pack.hash_for(RfcRun.family),
        "task": TASK_VERSION.split("-")[0],
    }
    if settings.shots:
        contents["shots"] = pool_record.sha256 if pool_record else hash_file(_bundled("shots"))
    if news_record:
        contents["background"] = news_record.sha256
    return RfcRun(
        settings=settings,
        identity=identity(settings, contents),
        pack=pack,
        data=data,
        pool=pool_record,
        background=news_record,
        task_items=items_of(task, limited),
        solvers=solvers,
        unasking=baselines,
    )


def _refuse_the_useless(settings: RunSettings, asked: tuple[str, ...]) -> None:
    """Refuse settings that would change nothing, so that nobody believes they did.

    Raises:
        InputError: for the first such setting, or where a model is missing.
    """
    task, detects = settings.task, settings.task == "rfc-detect"
    if asked and not settings.models:
        raise InputError(
            "no model is named",
            hint="add --model, e.g. --model embedded/smollm2-135m, or name a baseline only "
            f"(--method {' or '.join(baseline_names(cast(TaskName, task)))})",
        )
    judges, background = bool(settings.judges), bool(settings.background)
    sorted_too = any(_judged(settings, name) for name in asked)
    useless = [
        ("--model", bool(settings.models) and not asked, "the baselines named ask no model"),
        ("--fluency-model", settings.fluency_model is not None, f"{task} writes no text to score"),
        ("--judge-faults", settings.judge_faults, "it is for finforce"),
        ("--no-structured", not settings.structured, f"{task} asks for a word, not for JSON"),
        ("--shots", bool(settings.shots) and not detects, f"{task} shows no examples"),
        ("--shots", bool(settings.shots) and not asked, "baselines show no examples"),
        ("--shots-from", bool(settings.shots_from and not settings.shots), "no examples are shown"),
        ("--draws", settings.draws > 1 and not settings.shots, "no examples are drawn"),
        ("--background", background and "memory" not in asked, "only memory searches it"),
        ("--logprobs", settings.logprobs and not asked, "no model is asked for them"),
        ("--rationale", settings.rationale and not asked, "the baselines named give no reasons"),
        ("--judge", judges and not detects, "only rfc-detect sorts answers by their reasons"),
    ]  # fmt: skip
    for option, given, why in useless:
        if given:
            raise InputError(f"{option} has no use here: {why}", hint="leave it out")
    if judges and not sorted_too:
        raise InputError(
            "--judge sorts answers by their reasons, and no method here gives any",
            hint="add --rationale, or leave --judge out",
        )


def _judged(settings: RunSettings, method: str) -> bool:
    """Whether a judge sorts a solver's answers: those that come with reasons."""
    return bool(settings.judges) and (settings.rationale or method in _REASONING)


def _bundled(what: str) -> Path:
    return Path(bundled.__file__).parent / "samples" / f"{what}.jsonl"
