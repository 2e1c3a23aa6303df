"""How a family's task is run: the interface that families implement, and a run ready to start.

A family writes a `TaskRun` for each kind of task: how its data are loaded, how methods are called,
how a sample is solved and scored, and how it becomes rows of the per-item table. The engine
prepares it as data, `Prepared`, from which `contrafact.family.inspect_tasks` makes Inspect tasks
and `contrafact.runs.items` makes tables.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from contrafact.errors import InputError
from contrafact.family import Lazy
from contrafact.family.manifest import Manifest
from contrafact.family.method import Method, MethodContext, Methods
from contrafact.family.outputs import OutputRow, RecordedOutputs, RecordedRow
from contrafact.family.settings import SHOTS, UNDER, RunSettings, conditioned
from contrafact.family.verifier import reader_estimates
from contrafact.files.tables import table_file
from contrafact.judges.verifier import JUDGING, Subject, is_verifier
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

    from contrafact.family.report import ReportSpec
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
    """How a task is run. `ItemT` is the type of loaded items, `UnitT` that of a method's inputs."""

    name: ClassVar[str]
    noun: ClassVar[str] = "items"
    """The plural noun for its items."""
    version: ClassVar[str] = "1-A"
    """Its first part changes when results are no longer comparable, the second with the interface.
    """
    methods: ClassVar[Methods]
    columns: ClassVar[tuple[str, ...]]
    """The columns of the per-item table, in order; further columns may follow them."""
    bundled: ClassVar[Path]
    bundled_shots: ClassVar[Path | None] = None
    """The files of bundled samples and, if any method shows examples, of bundled examples."""
    unit_outputs: ClassVar[int] = 1
    """How many outputs a judge judges for one input of a method."""
    judge_reply_tokens: ClassVar[int] = 12
    """The approximate length of a judge's reply, for estimates."""
    without_judge: ClassVar[str] = ""
    """A sentence on what is left out if no judge is named; empty if nothing is."""
    output_type: ClassVar[Callable[..., Any]] = Output
    """The type of a method's output, which can be rebuilt from its fields."""
    output_fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "id": ("sample_id", "id"),
        "output": ("output", "response", "completion", "text"),
        "invalid": ("invalid_reason",),
    }
    """The fields that a row of outputs made elsewhere may have, each with its possible columns.
    ``system``, ``model``, ``method`` and ``draw`` are every row's."""
    output_layouts: ClassVar[tuple[tuple[str, ...], ...]] = (("id", "output"),)
    """The sets of fields that suffice; a file needs the columns of one set."""

    fields: ClassVar[tuple[str, ...]] = ()
    """The fields that `load` reads from a row and ``--columns`` may name; empty if not declared."""

    @abstractmethod
    def load(
        self, path: Path, columns: Mapping[str, str] | None = None
    ) -> tuple[Sequence[ItemT], list[str]]:
        """Return the items of a file, and the loader's notes (rows left out, repaired, …).

        ``columns`` gives the file's column for each field; a task without this argument refuses
        ``--columns``. A workbook's path may end in ``#Sheet``.
        """

    def load_shots(self, path: Path) -> Sequence[ItemT]:
        return self.load(path)[0]

    def units(self, items: Sequence[ItemT]) -> Sequence[UnitT]:
        """Return the methods' inputs, each with its sample's ``id``; by default, the items."""
        return items  # type: ignore[return-value]

    def check(self, settings: RunSettings, asking: tuple[str, ...]) -> None:
        """Raise `InputError` for settings without effect; methods in ``asking`` ask a model."""

    def draws(self, settings: RunSettings, method: Method[Any, Any]) -> int:
        """Return how often a method is run on every item: once if it shows no examples."""
        return int(settings.option("draws", 1)) if method.shots else 1

    def settled(self, settings: RunSettings) -> tuple[RunSettings, list[str]]:
        """Return settings with the defaults that depend on the data, and notes on these."""
        return settings, []

    def judging(self, pack: PromptPack, settings: RunSettings) -> Any:
        """Return the judging object, its templates checked; None if nothing is judged."""
        return None

    def judge_prompts(self, judging: Any, unit: UnitT) -> Sequence[str]:
        """Return the judge's prompts about a typical output for a unit, for estimates."""
        return ()

    def judge_subject(self, judging: Any, unit: UnitT) -> Subject | None:
        """Return a typical output of one unit as verifiers judge it; for estimates of readers."""
        return None

    def label(self, model: str, method: str, shots: int, settings: RunSettings) -> str:
        """Return a system's name in tables: model, method, number of examples."""
        if self.methods.asks_none(method):
            return f"baseline · {method}"
        return system_label(model, method, shots)

    def system_of(
        self, model: str, metadata: Mapping[str, Any], settings: RunSettings
    ) -> dict[str, Any]:
        """Return a log's system as columns: system, model, method, shots.

        ``metadata`` are the task's (`inspect_tasks.run_task`); recorded outputs name their system.
        """
        method, shots = str(metadata["method"]), int(metadata["shots"])
        return {
            "system": metadata.get("system") or self.label(model, method, shots, settings),
            "model": metadata.get("model") or model,
            "method": method,
            "shots": shots,
        }

    def read_output(self, recorded: RecordedRow) -> OutputRow:
        """Return the output in a row of outputs made elsewhere; invalid outputs with their reason.

        A row that cannot be used at all raises `InputError`; it is left out and counted.
        """
        if not recorded.text("id"):
            raise InputError("the row names no item", hint="fill in its id")
        return OutputRow((recorded.text("id"),), {"": recorded.output("output")})

    parts: ClassVar[tuple[str, ...]] = ()
    """The names of an output's parts, if a row of a file may have only some of them."""
    part_column: ClassVar[str] = ""
    """The column of the per-item table that names a row's part, if there is such a column."""

    def whole_output(self, parts: Mapping[str, Any]) -> Any:
        """Return a whole output, joined from its parts, each of which is in a row of its own."""
        return parts[""]

    def __init__(self, task: "Callable[..., Task]") -> None:
        """Take the ``@task`` function, which calls `inspect_tasks.make_task` with its arguments.

        A log records the function and its arguments, so that ``inspect eval-retry`` can make the
        task again and a resumed run can find its earlier logs.
        """
        self.task = task

    @abstractmethod
    def samples(self, items: Sequence[ItemT], limit: int | None) -> "list[Sample]":
        """Return Inspect's samples for the first ``limit`` items, with their units' ids."""

    @abstractmethod
    def solving(
        self, inputs: "Inputs", method: Method[Any, Any], arguments: Mapping[str, Any]
    ) -> "Solving[Any, Any]":
        """Return how samples are solved; `InputError` if the task's arguments do not fit."""

    @abstractmethod
    def scorer(self, arguments: Mapping[str, Any]) -> "Scorer":
        """Return the scorer for the given arguments of the task."""

    @abstractmethod
    def rows(
        self, samples: "Sequence[EvalSample]", facts: Mapping[str, Any]
    ) -> Iterable[Mapping[str, Any]]:
        """Return a system's rows of the per-item table, in order, with at least `columns`.

        ``facts`` are columns that all its rows share: system, model, method, shots, judge.
        """

    def verdicts(
        self, sample: "EvalSample"
    ) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Return a sample's verdicts by part: the part's columns, and `Judged.as_json`'s result."""
        return ()

    def finish(
        self, items: "pd.DataFrame", scorer: "CausalModel | None", folder: Path
    ) -> "pd.DataFrame":
        """Return the per-item table with the columns computed for each row (fluency, …)."""
        return items

    def check_across(self, items: "pd.DataFrame") -> "pd.DataFrame":
        """Return a run's finished table with the columns that need all of its rows.

        Scoring in bulk skips this step.
        """
        return items

    def local_calls(self, sample: "EvalSample") -> Sequence[tuple[int, int]]:
        """Return the tokens read and written for each text that weights in this process wrote."""
        return ()


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start, with everything that its settings name loaded and checked.

    Attributes:
        manifest: The manifest for its folder, as before the start.
        items: The items after the limit; ``units`` are the methods' inputs made from them.
        methods: The methods that ask a model, run with every model; ``baselines`` are run once.
        report: The task's report, which says how its rows are told apart and measured.
        judging: The judging object (`TaskRun.judging`); None if no judge was named.
        recorded: Outputs made elsewhere, whose systems are among the baselines; None in a run that
            makes its own outputs.
    """

    run: TaskRun[Any, Any]
    settings: RunSettings
    manifest: Manifest
    pack: PromptPack
    items: Sequence[Any]
    units: Sequence[Any]
    methods: Mapping[str, Method[Any, Any]]
    report: "Lazy[ReportSpec]"
    baselines: Mapping[str, Method[Any, Any]] = field(default_factory=dict)
    judging: Any = None
    recorded: RecordedOutputs | None = None

    @property
    def identity(self) -> str:
        """A hash that is equal for runs that are meant to give equal results."""
        return self.manifest.identity

    @property
    def notes(self) -> tuple[str, ...]:
        left_out = self.run.without_judge
        return (f"no --judge: {left_out}",) if left_out and self.judging is None else ()

    @property
    def samples(self) -> int:
        """The total number of samples of the run."""
        asking = sum(map(self.draws, self.methods)) * len(self.settings.models)
        return len(self.units) * (asking + sum(map(self.draws, self.baselines)))

    def draws(self, method: str) -> int:
        """Return how often a method is run on every item; for recorded outputs, their draws."""
        if method in self.baselines:
            return getattr(self.baselines[method], "draws", 1)
        return self.run.draws(self.settings, self.methods[method])

    def shots(self, method: str) -> int:
        """Return how many examples a method was asked to show; 0 if it shows none."""
        shows = self.methods[method].shots if method in self.methods else 0
        several = len(self.settings.option("shots") or ()) > 1
        return (shows if several else self.settings.shots) if shows else 0

    @property
    def judge(self) -> str | None:
        """The judges' names joined, a column of all rows; None without a judge."""
        return " + ".join(self.settings.judges) or None

    def estimate(self, *, tokens: bool = True) -> list[CallEstimate]:
        """Return an estimate for every model and method, and one for every judge.

        Counting tokens as well as calls takes seconds.
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
            asked = [judge for judge in self.settings.judges if not is_verifier(judge)]
            rows += judge_estimates(asked, prompts, outputs, reply_tokens=length, tokens=tokens)
            subjects = [run.judge_subject(self.judging, unit) for unit in sample]
            texts = [subject for subject in subjects if subject is not None]
            rows += reader_estimates(self.settings.judges, texts, outputs, tokens=tokens)
        return rows

    @cached_property
    def paid_calls(self) -> int:
        """The approximate number of calls that cost money."""
        return paid_calls(self.estimate(tokens=False))


@dataclass(frozen=True)
class Inputs:
    """Everything that a run reads before its first call: items, the loader's notes, methods.

    ``methods`` are those of the settings, each under every condition.
    ``pool`` is the file that examples are taken from and its items; empty if no method shows any.
    """

    items: Sequence[Any]
    notes: Sequence[str]
    pool: tuple[Path | None, Sequence[Any]]
    pack: PromptPack
    methods: Mapping[str, Method[Any, Any]]


def open_inputs(run: TaskRun[Any, Any], settings: RunSettings) -> Inputs:
    """Load and check data, examples, prompts and methods; `InputError` if any is wrong."""
    path = settings.data or run.bundled
    items, notes = load_once(run.load, path, settings.columns)
    if not items:
        raise InputError("the file has no items", file=path, hint="give another file")
    pack = open_pack(settings.prompts)
    bundled_shots = run.bundled_shots and pack.examples(run.bundled_shots)
    pool_path = settings.option("shots_from") or bundled_shots
    context = MethodContext(
        settings,
        pack=pack,
        items=items,
        pool=load_once(run.load_shots, pool_path) if pool_path else (),
    )
    methods: dict[str, Method[Any, Any]] = {}
    counts = settings.for_each_count()
    for name in conditioned(settings):
        for one in counts:
            method = run.methods.make(name, replace(context, settings=one))
            shows = f"{UNDER}{method.shots}{SHOTS}" if len(counts) > 1 and method.shots else ""
            methods.setdefault(f"{name}{shows}", method)
    return Inputs(items, notes, (pool_path, context.pool), context.pack, methods)


def load_once(
    load: Callable[..., _T], path: str | Path, columns: Mapping[str, str] | None = None
) -> _T:
    """Return a file's loaded items, cached so that a run and its Inspect tasks read it once."""
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
"""Clears the cache of `load_once`."""


def system_label(model: str, method: str, shots: int) -> str:
    return f"{model} · {method}" + (f" ({shots})" if shots else "")


def refuse(useless: Iterable[tuple[str, bool, str]]) -> None:
    """Refuse the first option that has no effect, given each one's name, whether set, and why."""
    for option, is_set, why in useless:
        if is_set:
            raise InputError(f"{option} has no effect here: {why}", hint="leave it out")


def require_model(settings: RunSettings, methods: Methods) -> None:
    """Check that there is a model under test; `InputError` if none is named."""
    hint, baselines = "add --model, e.g. --model embedded/smollm2-135m", methods.baseline_names()
    if baselines:
        hint += f", or name a baseline only (--method {' or '.join(baselines)})"
    if not settings.models:
        raise InputError("no model is named", hint=hint)


COST_COLUMNS = ("calls", "tokens", "dollars")
"""Columns of the per-item table with an output's cost, in families that record it."""


def cost_columns(
    sample: "EvalSample", model: str, local: Sequence[tuple[int, int]] = ()
) -> dict[str, Any]:
    """Return the cost of writing a sample's outputs, including ``local`` (`TaskRun.local_calls`).

    The columns are ``calls`` (not of judges), ``tokens`` sent and received, and ``dollars`` at list
    price, NaN if unknown; empty if nothing was written.
    """
    used: dict[str, list[Tokens]] = {}
    for read, written in local:
        used.setdefault(model, []).append(Tokens(read, written))
    for event in answered_calls(sample):
        if event.role not in JUDGING:
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
