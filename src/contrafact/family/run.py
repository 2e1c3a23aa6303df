"""How a task is run: what the engine of runs asks of a family, and a run that is ready to start.

A family writes one `TaskRun` for each kind of task: how its data are loaded, what is asked of a
method, how a sample is worked on and scored, and what it becomes in the per-item table. What the
engine prepares of it is data, `Prepared`: Inspect tasks are made of that by
`contrafact.family.inspect_tasks`, tables by `contrafact.runs.items`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from contrafact.errors import InputError
from contrafact.family.manifest import Manifest
from contrafact.family.method import Method, MethodContext, Methods
from contrafact.family.outputs import OutputRow, RecordedOutputs, RecordedRow
from contrafact.family.settings import RunSettings
from contrafact.family.verifier import reader_estimates
from contrafact.files.tables import table_file
from contrafact.judges.verifier import Subject
from contrafact.models.asking import answered_calls
from contrafact.models.estimate import (
    CallEstimate,
    judge_estimates,
    paid_calls,
    sampled,
    subject_estimates,
)
from contrafact.models.prices import Tokens, dollars
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Output

if TYPE_CHECKING:
    import pandas as pd
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSample
    from inspect_ai.scorer import Scorer

    from contrafact.family.task import Solving
    from contrafact.models.whitebox.weights import CausalModel

__all__ = [
    "BUNDLED",
    "COST_COLUMNS",
    "Inputs",
    "Prepared",
    "TaskRun",
    "cost_columns",
    "forget_loaded",
    "load_once",
    "open_inputs",
    "refuse",
    "require_model",
    "system_label",
]

ItemT = TypeVar("ItemT")
UnitT = TypeVar("UnitT")
_T = TypeVar("_T")

BUNDLED = "bundled samples"


class TaskRun(ABC, Generic[ItemT, UnitT]):
    """How a task is run. `ItemT` is what is loaded, `UnitT` what a method works on."""

    name: ClassVar[str]
    noun: ClassVar[str] = "items"
    """What its items are called, in the plural."""
    version: ClassVar[str] = "1-A"
    """Its first part changes when results are no longer comparable, the second with the interface.
    """
    methods: ClassVar[Methods]
    columns: ClassVar[tuple[str, ...]]
    """The columns of the per-item table, in order; a table may have more behind them."""
    bundled: ClassVar[Path]
    bundled_shots: ClassVar[Path | None] = None
    """The files of bundled samples, and of examples if any method shows them."""
    judge_reply_tokens: ClassVar[int] = 12
    """About how long a judge's reply is, for estimates."""
    without_judge: ClassVar[str] = ""
    """What is left out where no judge is named, as a sentence; empty where nothing is."""
    output_type: ClassVar[Callable[..., Any]] = Output
    """What a method returns, made again from its fields."""
    output_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "id": ("sample_id", "id"),
        "output": ("output", "response", "completion", "text"),
        "invalid": ("invalid_reason",),
    }
    """The fields that a row of outputs made elsewhere may have: the names that each is met under.
    ``system``, ``model``, ``method`` and ``draw`` are every row's."""
    output_layouts: ClassVar[tuple[tuple[str, ...], ...]] = (("id", "output"),)
    """Which of these fields are enough together; a file needs the columns of one of them."""

    fields: ClassVar[tuple[str, ...]] = ()
    """What `load` reads of a row, which ``--columns`` may name; none where it does not say."""

    @abstractmethod
    def load(
        self, path: Path, columns: Mapping[str, str] | None = None
    ) -> tuple[Sequence[ItemT], list[str]]:
        """Return the items of a file, and what its loader found (rows left out, repaired, …).

        ``columns`` is what the file calls its columns, by the names that are wanted; a task without
        this argument refuses ``--columns``. A workbook's path may have ``#Sheet`` behind it.
        """

    def load_shots(self, path: Path) -> Sequence[ItemT]:
        return self.load(path)[0]

    def units(self, items: Sequence[ItemT]) -> Sequence[UnitT]:
        """Return what a method works on, with its sample's ``id``; the items if nothing else."""
        return items  # type: ignore[return-value]

    def check(self, settings: RunSettings, asking: tuple[str, ...]) -> None:
        """Refuse settings that change nothing, by `InputError`; ``asking`` methods ask a model."""

    def draws(self, settings: RunSettings, method: Method[Any, Any]) -> int:
        """Return how often a method is run on every item: once where it shows no examples."""
        return int(settings.option("draws", 1)) if method.shots else 1

    def judging(self, pack: PromptPack, settings: RunSettings) -> Any:
        """Return what judges, its templates opened and checked; None where nothing is judged."""
        return None

    def judge_prompts(self, judging: Any, unit: UnitT) -> Sequence[str]:
        """Return what a judge is asked about a typical output of one unit, for estimates."""
        return ()

    def judge_subject(self, judging: Any, unit: UnitT) -> Subject | None:
        """Return a typical output of one unit as verifiers judge it; for estimates of readers."""
        return None

    def label(self, model: str, method: str, shots: int, settings: RunSettings) -> str:
        """Return a system's name in tables: model, method, number of examples."""
        if self.methods.asks_none(method):
            return f"baseline · {method}"
        return system_label(model, method, shots)

    def read_output(self, recorded: RecordedRow) -> OutputRow:
        """Return what one row of outputs made elsewhere gives; invalid ones with their reason.

        A row that cannot be used at all raises `InputError`, is left out and counted.
        """
        if not recorded.text("id"):
            raise InputError("the row names no item", hint="fill in its id")
        return OutputRow((recorded.text("id"),), {"": recorded.output("output")})

    parts: ClassVar[tuple[str, ...]] = ()
    """What an output is put together of, if a file's rows may have some of it alone."""
    part_column: ClassVar[str] = ""
    """The column of the per-item table that names a row's part, if it has one."""

    def whole_output(self, parts: Mapping[str, Any]) -> Any:
        """Return the output that the parts make which the rows of one unit gave."""
        return parts[""]

    def __init__(self, task: "Callable[..., Task]") -> None:
        """Take the ``@task`` function, which is `inspect_tasks.make_task` of its arguments.

        A log names it and its arguments: so ``inspect eval-retry`` makes the task again, and a run
        that goes on finds the logs it has begun.
        """
        self.task = task

    @abstractmethod
    def samples(self, items: Sequence[ItemT], limit: int | None) -> "list[Sample]":
        """Return Inspect's samples of the first items, whose ids are those of their units."""

    @abstractmethod
    def solving(
        self, inputs: "Inputs", method: Method[Any, Any], arguments: Mapping[str, Any]
    ) -> "Solving[Any, Any]":
        """Return how a sample is worked on; `InputError` where the task's arguments do not fit."""

    @abstractmethod
    def scorer(self, arguments: Mapping[str, Any]) -> "Scorer":
        """Return the scorer, from the task's arguments that were given."""

    @abstractmethod
    def rows(
        self, samples: "Sequence[EvalSample]", facts: Mapping[str, Any]
    ) -> Iterable[Mapping[str, Any]]:
        """Return the rows of one system in the per-item table, in order, at least `columns`.

        ``facts`` are columns that all its rows have: system, model, method, shots, judge.
        """

    def verdicts(
        self, sample: "EvalSample"
    ) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Return a sample's verdicts by part: the part's columns, and `Judged.as_json`."""
        return ()

    def finish(
        self, items: "pd.DataFrame", scorer: "CausalModel | None", folder: Path
    ) -> "pd.DataFrame":
        """Return the per-item table with what is computed of every row (fluency, …)."""
        return items

    def check_across(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """Return a run's finished table with what only all of its rows together show.

        Scoring in bulk leaves it out.
        """
        return items

    def local_calls(self, sample: "EvalSample") -> Sequence[tuple[int, int]]:
        """Return the tokens read and written of each text that weights in this process wrote."""
        return ()


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start: everything it names is loaded and checked.

    Attributes:
        manifest: What its folder says of it, before it has begun.
        items: The items, limited; ``units`` are what the methods make of them.
        methods: Those that ask a model, each run with every model; ``baselines`` are run once.
        judging: What judges; None where no judge was named.
        recorded: Outputs that were made elsewhere, whose systems stand among the baselines; None in
            a run that makes its own.
    """

    run: TaskRun[Any, Any]
    settings: RunSettings
    manifest: Manifest
    pack: PromptPack
    items: Sequence[Any]
    units: Sequence[Any]
    methods: Mapping[str, Method[Any, Any]]
    baselines: Mapping[str, Method[Any, Any]] = field(default_factory=dict)
    judging: Any = None
    recorded: RecordedOutputs | None = None

    @property
    def identity(self) -> str:
        """Equal for runs that are meant to give equal results."""
        return self.manifest.identity

    @property
    def notes(self) -> tuple[str, ...]:
        left_out = self.run.without_judge
        return (f"no --judge: {left_out}",) if left_out and self.judging is None else ()

    @property
    def samples(self) -> int:
        """How many samples the run has in all."""
        asking = sum(map(self.draws, self.methods)) * len(self.settings.models)
        return len(self.units) * (asking + sum(map(self.draws, self.baselines)))

    def draws(self, method: str) -> int:
        """Return how often a method is run on every item; outputs made elsewhere, as there are."""
        if method in self.baselines:
            return getattr(self.baselines[method], "draws", 1)
        return self.run.draws(self.settings, self.methods[method])

    def shots(self, method: str) -> int:
        """Return how many examples a method was asked to show; 0 where it shows none."""
        shows = method in self.methods and self.methods[method].shots
        return int(self.settings.option("shots", 0)) if shows else 0

    def facts(self, system: str, model: str, method: str, shots: int) -> dict[str, Any]:
        """Return the columns that every row of a system has, with the judges' names joined."""
        judge = " + ".join(self.settings.judges) or None
        named = {"system": system, "model": model, "method": method, "shots": shots}
        return {**named, "judge": judge}

    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return one estimate for every writer and method, and one for every judge.

        To count tokens as well as calls takes seconds.
        """
        run, models, units = self.run, self.settings.models, len(self.units)
        sample = sampled(self.units)
        scale = units / len(sample)
        times = {name: scale * self.draws(name) for name in self.methods}
        plans = {
            name: [call for unit in sample for call in method.plan(unit)]
            for name, method in self.methods.items()
        }
        rows = subject_estimates(models, plans, times, tokens=tokens)
        outputs = sum(len(models) * often for often in times.values())
        for method in self.baselines.values():
            outputs += scale * getattr(method, "judged_outputs", units) / units
        if outputs and self.judging is not None:
            prompts = [one for unit in sample for one in run.judge_prompts(self.judging, unit)]
            length = run.judge_reply_tokens
            rows += judge_estimates(
                self.settings.judges, prompts, outputs, reply_tokens=length, tokens=tokens
            )
            subjects = [run.judge_subject(self.judging, unit) for unit in sample]
            texts = [subject for subject in subjects if subject is not None]
            rows += reader_estimates(self.settings.judges, texts, outputs, tokens=tokens)
        return rows

    @cached_property
    def paid_calls(self) -> int:
        """About how many of its calls cost money."""
        return paid_calls(self.estimate(tokens=False))


@dataclass(frozen=True)
class Inputs:
    """All that a run reads before its first call: the items, what their loader found, methods.

    ``pool`` is the file that examples are taken from, and its items; none where nothing shows any.
    """

    items: Sequence[Any]
    notes: Sequence[str]
    pool: tuple[Path | None, Sequence[Any]]
    pack: PromptPack
    methods: Mapping[str, Method[Any, Any]]


def open_inputs(run: TaskRun[Any, Any], settings: RunSettings) -> Inputs:
    """Load and check data, examples, prompts and methods; `InputError` if one is wrong."""
    path = settings.data or run.bundled
    items, notes = load_once(run.load, path, settings.columns)
    if not items:
        raise InputError("there is nothing in it to work on", file=path, hint="give another file")
    pool_path = settings.option("shots_from") or run.bundled_shots
    context = MethodContext(
        settings,
        pack=open_pack(settings.prompts),
        items=items,
        pool=load_once(run.load_shots, pool_path) if pool_path else (),
    )
    methods = {name: run.methods.make(name, context) for name in settings.methods}
    return Inputs(items, notes, (pool_path, context.pool), context.pack, methods)


def load_once(
    load: Callable[..., _T], path: str | Path, columns: Mapping[str, str] | None = None
) -> _T:
    """Return what a loader makes of a file: a run and its Inspect tasks read it once."""
    file, on_disk = Path(path), table_file(path)
    state = on_disk.stat() if on_disk.exists() else None
    changed = state and (state.st_mtime_ns, state.st_size)
    loaded: _T = _loaded(load, file, file.absolute(), changed, tuple((columns or {}).items()))
    return loaded


@lru_cache(maxsize=8)
def _loaded(
    load: Callable[..., Any], path: Path, _whole: Path, _changed: Any, columns: tuple[Any, ...]
) -> Any:
    return load(path, dict(columns)) if columns else load(path)


forget_loaded = _loaded.cache_clear
"""Lets go of the files that `load_once` holds."""


def system_label(model: str, method: str, shots: int) -> str:
    return f"{model} · {method}" + (f" ({shots})" if shots else "")


def refuse(useless: Iterable[tuple[str, bool, str]]) -> None:
    """Refuse the first option that has no use: its name, whether it was given, and why."""
    for option, is_set, why in useless:
        if is_set:
            raise InputError(f"{option} has no use here: {why}", hint="leave it out")


def require_model(settings: RunSettings, methods: Methods) -> None:
    """Check that there is a model under test; `InputError` if none is named."""
    hint, baselines = "add --model, e.g. --model embedded/smollm2-135m", methods.baseline_names()
    if baselines:
        hint += f", or name a baseline only (--method {' or '.join(baselines)})"
    if not settings.models:
        raise InputError("no model is named", hint=hint)


COST_COLUMNS = ("calls", "tokens", "dollars")
"""Columns of the per-item table, in families that keep what it took to write an item's outputs."""


def cost_columns(
    sample: "EvalSample", model: str, local: Sequence[tuple[int, int]] = ()
) -> dict[str, Any]:
    """Return what it took to write what a sample holds, with `TaskRun.local_calls`.

    It is ``calls`` but the judge's, ``tokens`` sent and received, and ``dollars`` at list price,
    NaN if that is not known; nothing if nothing was written.
    """
    used: dict[str, list[Tokens]] = {}
    for read, written in local:
        used.setdefault(model, []).append(Tokens(read, written))
    for event in answered_calls(sample):
        if event.role != "grader":
            used.setdefault(event.model, []).append(Tokens.of(event.output.usage))
    if not used:
        return {}
    prices = [dollars(name, calls) for name, calls in used.items()]
    with_price = [float(price) for price in prices if price is not None]
    every = [call for calls in used.values() for call in calls]
    return {
        "calls": float(len(every)),
        "tokens": float(sum(call.sent + call.written for call in every)),
        "dollars": math.fsum(with_price) if len(with_price) == len(prices) else math.nan,
    }
