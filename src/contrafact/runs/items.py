"""Make a run's tables, failures and usage from Inspect's logs, and read them back."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from contrafact.errors import InputError
from contrafact.family.run import COST_COLUMNS, Prepared, TaskRun
from contrafact.family.task import number
from contrafact.files.journal import hash_of
from contrafact.files.tables import write_frame
from contrafact.judges.verifier import JUDGING, is_verifier
from contrafact.models.asking import answered_calls, cause_of
from contrafact.models.calls import is_cut
from contrafact.models.fluency import FLUENCY
from contrafact.models.prices import FREE, Tokens, dollars, price_note
from contrafact.redaction import redacted
from contrafact.runs.folder import Manifest, read_manifest
from contrafact.stages.stage import INDEX, KEPT
from contrafact.stats import agreement as coefficients

if TYPE_CHECKING:
    import pandas as pd
    from inspect_ai.event import ModelEvent
    from numpy.typing import NDArray

    from contrafact.family.outputs import RecordedOutputs, RecordedSystem
    from contrafact.models.whitebox.weights import CausalModel
    from contrafact.runs.judging import RecordedSample

__all__ = [
    "AGREEMENT",
    "FAILURES",
    "FLUENCY_ROLE",
    "ITEMS",
    "USAGE",
    "RunItems",
    "agreement",
    "cluster_labels",
    "read_items",
    "repeated_judges",
]

ITEMS = "items.parquet"
VERDICTS = "verdicts.parquet"
AGREEMENT = "agreement.csv"
CALLS = "calls.parquet"
FAILURES = "failures.csv"
USAGE = "usage.csv"

PARTS = "parts"
"""The folder of finished parts while a run without a log is under way."""

VOTES = "verdicts"
"""The table of verdicts among a part's, whose items are in the table `KEPT`."""

SUBJECT = "subject"
JUDGE = "judge"
FLUENCY_ROLE = "fluency"
"""The roles of models in a run's usage: writer, judge, fluency scorer; and a judge's `READER`."""


@dataclass(frozen=True)
class Failure:
    """A sample that ended in an error."""

    system: str
    sample_id: str
    draw: int
    cause: str


@dataclass(frozen=True)
class RunTables:
    """The results of a run, before its tables are written.

    Attributes:
        rows: The rows of the per-item table, with further columns that samples have.
        verdicts: Every judge's verdicts, in the form of `verdict_rows`.
        usage: Rows of each model's usage.
        failures: The samples that have no row.
        calls: Rows in the form of `RunItems.calls`; empty if no model wrote.
    """

    rows: "pd.DataFrame"
    verdicts: "pd.DataFrame"
    usage: Sequence[dict[str, Any]]
    failures: Sequence[Failure]
    calls: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class RunItems:
    """The items of a run that has ended.

    Attributes:
        renamed: The new names of systems that are renamed here, by their names in the run.
    """

    folder: Path
    manifest: Manifest
    items: "pd.DataFrame"
    renamed: Mapping[str, str]

    @cached_property
    def verdicts(self) -> "pd.DataFrame | None":
        """Every judge's own verdicts; None if there are none."""
        return self._table(VERDICTS)

    @cached_property
    def calls(self) -> "pd.DataFrame | None":
        """The prompts and replies of the models that wrote; None if they were not kept.

        One row per call, in order: ``system``, ``draw``, further columns that identify the rows
        made from it, ``prompt``, ``reply``.
        """
        return self._table(CALLS)

    @property
    def judges(self) -> int:
        verdicts = self._table(VERDICTS, ["judge"])
        return 0 if verdicts is None else verdicts["judge"].nunique()

    def _table(self, name: str, columns: list[str] | None = None) -> "pd.DataFrame | None":
        import pandas as pd

        if not (self.folder / name).exists():
            return None
        return _renamed(pd.read_parquet(self.folder / name, columns=columns), self.renamed)


def read_items(folders: Iterable[Path]) -> list[RunItems]:
    """Return the items of runs, each folder once.

    If two runs of a task share a system, the second run's system gets the name of its prompt pack,
    if that is a bundled one, or else of its folder.
    """
    import pandas as pd

    from contrafact.prompts import bundled_packs

    runs: list[RunItems] = []
    taken: dict[str, set[str]] = {}
    for folder in dict.fromkeys(Path(folder) for folder in folders):
        manifest = read_manifest(folder)
        if not (folder / ITEMS).exists():
            hint = "run the same command again: it goes on where it stopped"
            raise InputError(f"this run is {manifest.status}", file=folder, hint=hint)
        items = pd.read_parquet(folder / ITEMS)
        systems = [str(name) for name in items["system"].unique()]
        names_taken = taken.setdefault(manifest.task, set())
        pack, own = manifest.pack.name, folder.resolve().name
        labels = {f"{name} [{pack}]" for name in systems}
        if pack in bundled_packs() and names_taken.isdisjoint(labels):
            own = pack
        names = {name: f"{name} [{own}]" for name in systems if name in names_taken}
        names_taken |= {names.get(name, name) for name in systems}
        runs.append(RunItems(folder, manifest, _renamed(items, names), names))
    return runs


def _renamed(table: "pd.DataFrame", names: Mapping[str, str]) -> "pd.DataFrame":
    if names and "system" in table.columns:
        table["system"] = table["system"].replace(names)
    return table


def verdict_rows(
    run: TaskRun[Any, Any], label: str, samples: Iterable[EvalSample]
) -> Iterator[dict[str, Any]]:
    """Yield every judge's own verdicts: system, draw, sample_id, criterion, passed, …"""
    for sample in samples:
        for part, verdicts in run.verdicts(sample):
            for name, both in verdicts.items():
                for vote in both["members"]:
                    yield {
                        "system": label,
                        "draw": sample.epoch,
                        "sample_id": str(sample.id),
                        **part,
                        "criterion": name,
                        "judge": vote["judge"],
                        "passed": number(vote["passed"]),
                        "invalid": vote["invalid"],
                        **({"read": vote["read"]} if vote.get("read") else {}),
                        **{n: number(vote[n]) for n in ("probability", "mass") if n in vote},
                    }


def tables_of(prepared: Prepared, logs: Iterable[EvalLog]) -> RunTables:
    """Return the results of a run, given the headers of its logs."""
    import pandas as pd

    run, settings = prepared.run, prepared.settings
    places = {str(unit.id): position for position, unit in enumerate(prepared.units)}
    evaluated: list[tuple[dict[str, Any], list[EvalSample]]] = []
    failures: list[Failure] = []
    usage: list[dict[str, Any]] = []
    for header in logs:
        # A log stores long texts separately, so it is read whole for prompts and replies.
        log = read_eval_log(header.location, resolve_attachments=True)
        usage += _usage(prepared, log)
        of_system = run.system_of(log.eval.model, log.eval.metadata or {}, settings)
        scored: list[EvalSample] = []
        for sample in sorted(log.samples or [], key=lambda s: (s.epoch, places[str(s.id)])):
            if sample.error is not None or not sample.scores:
                failures.append(failure_of(of_system["system"], sample))
            else:
                scored.append(sample)
        evaluated.append(({**of_system, "judge": prepared.judge}, scored))
    evaluated.sort(key=lambda one: one[0]["method"] in prepared.baselines)
    rows: list[Mapping[str, Any]] = []
    verdicts: list[Mapping[str, Any]] = []
    calls: list[dict[str, Any]] = []
    key = prepared.report.load().key
    for of_all, samples in evaluated:
        rows += run.rows(samples, of_all)
        verdicts += verdict_rows(run, of_all["system"], samples)
        calls += _calls(run, samples, of_all, key)
    return RunTables(pd.DataFrame(rows), pd.DataFrame(verdicts), usage, failures, calls)


def finished_parts(folder: Path) -> set[int]:
    """Return the numbers of the samples whose rows are in the parts of an earlier start."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    numbers: set[int] = set()
    for part in _parts(folder, KEPT):
        numbers.update(parquet.read_table(part, columns=[INDEX])[INDEX].to_pylist())
    return numbers


def tables_of_parts(
    prepared: Prepared,
    folder: Path,
    judged: "Iterable[Sequence[tuple[RecordedSample, EvalSample]]]",
) -> RunTables:
    """Return the results of a run that is judged part by part, without a log.

    The rows of each part are written at once, so that a killed run continues after the last part.
    """
    import pandas as pd

    failures: list[Failure] = []
    for place, part in enumerate(judged, start=len(_parts(folder, KEPT))):
        tables: dict[str, list[Mapping[str, Any]]] = {VOTES: [], KEPT: []}
        for asked, sample in part:
            if sample.error is not None:
                failures.append(failure_of(asked.system.name, sample))
                continue
            for name, rows in sample_rows(prepared, asked.system, sample).items():
                tables[name] += ({INDEX: asked.number, **row} for row in rows)
        for name, rows in tables.items():  # a part is finished when its items are written
            frame = pd.DataFrame(rows, columns=None if rows else [INDEX])
            write_frame(frame, folder / PARTS / name / f"{place:06}.parquet")
    verdicts, items = (_whole(_parts(folder, name)) for name in (VOTES, KEPT))
    assert prepared.recorded is not None
    usage = _verifier_usage(prepared.recorded, verdicts)
    return RunTables(items, verdicts, usage, failures)


def sample_rows(
    prepared: Prepared, system: "RecordedSystem", sample: EvalSample
) -> dict[str, list[Mapping[str, Any]]]:
    """Return a judged sample's rows for the tables of verdicts and items."""
    facts = {**system.columns, "judge": prepared.judge}
    return {
        VOTES: [*verdict_rows(prepared.run, system.name, [sample])],
        KEPT: [*prepared.run.rows([sample], facts)],
    }


def _parts(folder: Path, table: str) -> list[Path]:
    return sorted((folder / PARTS / table).glob("*.parquet"))


def _whole(parts: Sequence[Path]) -> "pd.DataFrame":
    """Return the whole table made from its parts, in the order of the samples."""
    from pyarrow import concat_tables, parquet

    table = concat_tables(
        [parquet.read_table(path) for path in parts], promote_options="permissive"
    )
    whole: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
    numbers = whole.pop(INDEX)
    if numbers.is_monotonic_increasing:  # not so if some failed and were judged later
        return whole
    return whole.iloc[numbers.argsort(kind="stable")].reset_index(drop=True)


def write_tables(
    folder: Path, prepared: Prepared, made: RunTables, scorer: "CausalModel | None"
) -> None:
    """Write a run's tables: items, judges' verdicts, models' usage, and failures."""
    import pandas as pd

    spec, run, verdicts = prepared.report.load(), prepared.run, made.verdicts
    columns = [*dict.fromkeys((*run.columns, *made.rows.columns))]
    items = run.finish(made.rows.reindex(columns=columns), scorer, folder)
    items = run.check_across(items)
    if prepared.recorded is not None:
        earlier = [row for one in prepared.recorded.systems.values() for row in one.verdicts]
        if earlier:
            verdicts = pd.concat([pd.DataFrame(earlier), verdicts], ignore_index=True)
        if any(one.column_of("all") in COST_COLUMNS for one in spec.measures):
            items = with_recorded_costs(items, prepared.recorded.systems)
    items = with_verdicts(items, verdicts)
    labels, rng = cluster_labels(items, spec.cluster), np.random.default_rng(0)
    agreed = agreement(verdicts, labels, rng=rng, criteria=spec.labels)
    used = pd.DataFrame([*made.usage, *_fluency(folder, scorer)], columns=list(_USAGE))
    tables = {
        CALLS: pd.DataFrame(made.calls),
        VERDICTS: verdicts,
        AGREEMENT: agreed.drop(columns="method", errors="ignore"),
        USAGE: used.astype(dict.fromkeys(_COUNTS, "Int64")),
        FAILURES: pd.DataFrame([vars(failure) for failure in made.failures]),
        ITEMS: items,
    }
    for name, table in tables.items():
        if len(table) or name in (ITEMS, USAGE):
            write_frame(table, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)


def with_recorded_costs(
    items: "pd.DataFrame", systems: "Mapping[str, RecordedSystem]"
) -> "pd.DataFrame":
    """Return the items with the costs of writing them, if any are known."""
    if not any(one.costs for one in systems.values()):
        return items
    keys = zip(items["system"], items["sample_id"], items["draw"], strict=True)
    costs = [systems[system].costs.get((str(id), int(draw)), {}) for system, id, draw in keys]
    names = [name for name in COST_COLUMNS if any(name in one for one in costs)]
    return items.assign(**{name: [one.get(name, math.nan) for one in costs] for name in names})


def with_verdicts(items: "pd.DataFrame", verdicts: "pd.DataFrame") -> "pd.DataFrame":
    """Return the items with columns ``invalid`` and ``invalid_cause`` and each judge's verdicts.

    The verdicts are added only if there are several judges. Their columns are called
    ``<criterion> · <judge>`` and hold 1.0, 0.0, or NaN where that judge gave no valid verdict.
    """
    import pandas as pd

    table = items.drop(columns=["invalid", "invalid_cause"], errors="ignore")
    at = list(table.columns).index("invalid_reason")
    reasons = table["invalid_reason"]
    table.insert(at, "invalid_cause", [None if pd.isna(one) else cause_of(one) for one in reasons])
    table.insert(at, "invalid", reasons.notna())
    if not len(verdicts) or verdicts["judge"].nunique() < 2:
        return table
    reserved = {"criterion", "judge", "passed", "invalid"}
    key = [name for name in verdicts.columns if name in items.columns and name not in reserved]
    rows = pd.MultiIndex.from_frame(items[key])
    for (criterion, judge), of_both in verdicts.groupby(["criterion", "judge"], sort=False):
        passed = pd.to_numeric(of_both.set_index(key)["passed"], errors="coerce").astype(float)
        table[f"{criterion} · {judge}"] = passed.reindex(rows).to_numpy()
    return table


def cluster_labels(
    items: "pd.DataFrame", cluster: str
) -> "Callable[[Iterable[object]], NDArray[np.object_]]":
    """Return a function from samples' ids to their clusters; by default each is its own cluster."""
    column = cluster if cluster in items.columns else "sample_id"
    cluster_of = dict(zip(items["sample_id"], items[column], strict=True))

    def labels(samples: Iterable[object]) -> "NDArray[np.object_]":
        return np.array([cluster_of.get(one, one) for one in samples], object)

    return labels


def repeated_judges(judges: Iterable[object]) -> dict[str, str]:
    """Return the judges that were asked again, by the names of their earlier verdicts.

    An earlier verdict's judge has the name of its run in brackets added (`runs.score`).
    """
    names = {str(judge) for judge in judges}
    return {name: base for name in names if (base := name.rpartition(" [")[0]) in names}


def agreement(
    verdicts: "pd.DataFrame",
    clusters: "Callable[[Iterable[object]], NDArray[np.object_]]",
    *,
    rng: "np.random.Generator",
    criteria: Iterable[str] = (),
    resamples: int = 10_000,
    level: float = 0.95,
) -> "pd.DataFrame":
    """Return how far several judges agree, by criterion; empty for a single judge.

    It covers what at least two judges decided. A judge that was asked again counts once. Rows are
    in the order of ``criteria``, others behind them.

    Returns:
        One row per criterion and coefficient: ``criterion``, ``coefficient``, ``estimate`` with its
        bounds, ``n`` (outputs with two valid verdicts), ``failed`` (those of them that a judge
        failed), ``judges``, ``method`` of the interval.
    """
    import pandas as pd

    functions: dict[str, Callable[..., float]] = {
        "Agreement of pairs": coefficients.percent_agreement,
        "Gwet's AC1": partial(coefficients.gwet_ac1, categories=(0.0, 1.0)),
        "Fleiss' kappa": coefficients.fleiss_kappa,
        "Krippendorff's alpha": coefficients.krippendorff_alpha,
    }
    rows = []
    reserved = {"criterion", "judge", "passed", "invalid", "read", "probability", "mass"}
    unit = [name for name in verdicts.columns if name not in reserved]
    if len(verdicts):
        verdicts = verdicts[~verdicts["judge"].isin(repeated_judges(verdicts["judge"].unique()))]
    several = len(verdicts) and verdicts["judge"].nunique() > 1
    parts = dict(iter(verdicts.groupby("criterion", sort=False))) if several else {}
    for criterion in sorted(parts, key=[*criteria, *parts].index):
        votes = pd.to_numeric(parts[criterion]["passed"], errors="coerce")
        passed = parts[criterion].assign(passed=votes)
        wide = passed.groupby([*unit, "judge"])["passed"].first().unstack("judge")
        wide = wide[wide.notna().sum(axis="columns") >= 2]
        if wide.shape[1] < 2 or wide.empty:
            continue
        ratings = wide.astype(object).where(wide.notna(), None).to_numpy(object)
        labels = clusters(wide.index.get_level_values("sample_id"))
        for name, function in functions.items():
            estimate = coefficients.with_interval(
                function, ratings, clusters=labels, resamples=resamples, level=level, rng=rng
            )
            rows.append(
                {
                    "criterion": criterion,
                    "coefficient": name,
                    **estimate.columns("estimate"),
                    "n": estimate.n,
                    "failed": int(wide.eq(0.0).any(axis="columns").sum()),
                    "judges": wide.shape[1],
                    "method": estimate.method,
                }
            )
    return pd.DataFrame(rows)


_ERROR_LINE = re.compile(
    r"^(?:\w{1,60}\.){0,9}(\w{0,60}(?:Error|Exception|Timeout|NoAnswer)\w{0,30}: .+)$", re.MULTILINE
)
_COUNTS = (
    *("calls", "input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens"),
    "prompts_cut",
)
_USAGE = ("model", "method", "role", *_COUNTS, "dollars", "price")


@dataclass
class _Used:
    """The usage of one model in one role."""

    calls: list[Tokens]
    reasoning: int = 0
    cut: int = 0

    def row(self, model: str, method: str, role: str) -> dict[str, Any]:
        cost = dollars(model, self.calls)
        return {
            "model": model,
            "method": method,
            "role": role,
            "calls": len(self.calls),
            "input_tokens": sum(call.read + call.cache_read for call in self.calls),
            "output_tokens": sum(call.written for call in self.calls),
            "reasoning_tokens": self.reasoning,
            "cached_tokens": sum(call.cache_read for call in self.calls),
            "prompts_cut": self.cut,
            "dollars": None if cost is None else round(float(cost), 6),
            "price": price_note(model),
        }


def _usage(prepared: Prepared, log: EvalLog) -> list[dict[str, Any]]:
    """Return each model's usage in each role in a log: calls, tokens sent and received, costs.

    A text that was written here, with no call in the log, counts as one call. Equal calls that the
    cache answered count once if the log has no such call that was made, since an earlier start made
    it.
    """
    made = {_request_key(e) for s in log.samples or [] for e in answered_calls(s) if not _read(e)}
    used: dict[tuple[str, str], _Used] = {}

    def of(model: str, role: str) -> _Used:
        return used.setdefault((model, role), _Used([]))

    for sample in log.samples or []:
        # Outputs made elsewhere were not written here.
        for read, written in () if prepared.recorded else prepared.run.local_calls(sample):
            of(log.eval.model, SUBJECT).calls.append(Tokens(read, written))
        for event in answered_calls(sample):
            if _read(event):
                if (key := _request_key(event)) in made:
                    continue
                made.add(key)
            role = JUDGE if event.role == "grader" else event.role or SUBJECT
            of_model = of(event.model, role)
            counted = event.output.usage
            of_model.calls.append(Tokens.of(counted))
            of_model.reasoning += (counted.reasoning_tokens or 0) if counted else 0
            of_model.cut += is_cut(event.input, event.output)
    method = str((log.eval.metadata or {})["method"])
    return [of_model.row(model, method, role) for (model, role), of_model in used.items()]


def _verifier_usage(recorded: "RecordedOutputs", verdicts: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return verifiers' usage for outputs that no model judges: one call per verdict."""
    if not len(verdicts):
        return []
    methods = {name: one.method for name, one in recorded.systems.items()}
    asked = Counter(zip(verdicts["system"], verdicts["judge"], strict=True))
    return [
        _Used([Tokens(0, 0)] * n).row(judge, methods[system], JUDGE)
        for (system, judge), n in asked.items()
    ]


def _read(event: "ModelEvent") -> bool:
    """Return whether the cache answered a call of a model; verifiers' calls cost nothing."""
    return event.cache == "read" and not is_verifier(event.model)


def _request_key(event: "ModelEvent") -> str:
    messages = [(message.role, message.text) for message in event.input]
    return hash_of([event.model, event.config.model_dump(mode="json"), messages])


def _calls(
    run: TaskRun[Any, Any],
    samples: Iterable[EvalSample],
    facts: Mapping[str, Any],
    key: Iterable[str],
) -> Iterator[dict[str, Any]]:
    """Yield the prompts and replies of the models that wrote, in order.

    A call is identified by the key columns in which all rows of its sample agree.
    """
    names = ("system", "draw", *key)
    for sample in samples:
        rows = list(run.rows([sample], facts))
        shared = {n: rows[0][n] for n in names if rows and len({row[n] for row in rows}) == 1}
        for event in answered_calls(sample) if rows else ():
            if event.role in JUDGING:
                continue
            several = len(event.input) > 1
            prompt = "\n\n".join(
                f"[{message.role}]\n{message.text}" if several else message.text
                for message in event.input
            )
            reply = redacted(event.output.completion)
            yield {**shared, "prompt": redacted(prompt), "reply": reply}


def _fluency(folder: Path, scorer: "CausalModel | None") -> list[dict[str, Any]]:
    import pandas as pd

    if scorer is None or not (folder / FLUENCY).exists():
        return []
    row = dict.fromkeys(_USAGE) | {"model": scorer.name, "role": FLUENCY_ROLE}
    texts = len(pd.read_parquet(folder / FLUENCY, columns=["text"]))
    return [{**row, "calls": texts, "dollars": 0.0, "price": FREE}]


def failure_of(label: str, sample: EvalSample) -> Failure:
    """Return the failure with which a system's sample ended."""
    message = sample.error.message if sample.error else "ended without a score"
    # Retries wrap the original error; a chained traceback names the cause first. Our own message
    # about a service's reply is more specific.
    causes = _ERROR_LINE.findall(sample.error.traceback) if sample.error else []
    causes.sort(key=lambda line: not line.startswith("NoAnswer"))
    cause = redacted(" ".join((causes or [message])[0].split()))
    return Failure(label, str(sample.id), sample.epoch, cause[:300])
