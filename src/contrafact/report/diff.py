"""Compare two runs of one task on the items that both have.

A is the first, older run; B is the second, newer run. Every difference is B minus A. Differences
are computed for the report's measures that are means over rows, with the report's clusters and
paired tests. A system's figures cover the items that it shares with the system that it is compared
with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError, Reason
from contrafact.family import task_named
from contrafact.family.display import count, listed
from contrafact.family.report import Form, Measure, ReportSpec
from contrafact.family.run_facts import ReportMeta
from contrafact.report.changes import changes_between
from contrafact.report.estimates import adjusted, compare_systems, estimate_figures, prepare_items
from contrafact.report.frames import meta_of
from contrafact.report.marks import why_invalid
from contrafact.report.words import sentence
from contrafact.runs.items import RunItems, read_items
from contrafact.stats.replicates import Bootstrap

__all__ = ["RunDiff", "SystemPair"]

SEED = 0
LEVEL = 0.95
"""The seed of the intervals, that of reports, and their confidence level."""

_INVALID = Measure("invalid", "Invalid, %", better="low", forms=("all",), ranked=False)
"""The share of outputs that could not be read, for families without such a measure."""


@dataclass(frozen=True)
class SystemPair:
    """A system of A and the compared system of B, by their names in their runs."""

    before: str
    after: str

    @property
    def labels(self) -> tuple[str, str]:
        """The names of A's and B's system in rows that hold both runs."""
        return f"A · {self.before}", f"B · {self.after}"

    def sides(self, rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
        return (rows[rows["system"].eq(label)] for label in self.labels)

    @property
    def name(self) -> str:
        return self.after if self.before == self.after else f"{self.before} → {self.after}"


@dataclass(frozen=True)
class RunDiff:
    """The differences between two runs.

    Attributes:
        rows: The compared rows, by pair; their systems are named as in `SystemPair.labels`.
        differences: One row per pair, measure and form: ``system_a``, ``system_b``, ``pair``,
            ``before`` and ``after`` with their bounds, ``verdict`` (see `verdict_of`), and the
            columns of `compare_systems`.
        flips: The outputs with a measure that changed from yes to no or from no to yes, the worst
            first: the systems, the columns that identify the row, ``direction`` (worsened if any
            measure worsened, else improved if any improved), ``measures`` (by name the values ``a``
            and ``b``, in words ``state_a`` and ``state_b``, and the direction), and the texts ``a``
            and ``b``; if a text is None, ``invalid_a`` or ``invalid_b`` says why.
        empty: The pairs, by name, that have no item in common.
        flip_counts: One row per pair and measure: ``improved``, ``worsened``, ``changed``,
            ``same``, ``left_out`` (a run has no yes or no).
    """

    runs: tuple[RunItems, RunItems]
    spec: ReportSpec
    meta: ReportMeta
    rows: Mapping[SystemPair, pd.DataFrame]
    only_before: Sequence[str]
    only_after: Sequence[str]
    differences: pd.DataFrame
    flips: Sequence[Mapping[str, Any]]
    flip_counts: pd.DataFrame
    empty: Sequence[str]
    resamples: int = 10_000

    @property
    def task(self) -> str:
        return self.runs[0].manifest.task

    @property
    def names(self) -> list[str]:
        """The names of the runs' folders, or their paths if the names are equal."""
        names = [run.folder.resolve().name for run in self.runs]
        return names if names[0] != names[1] else [str(run.folder) for run in self.runs]

    @cached_property
    def changes(self) -> Mapping[str, Any]:
        return changes_between(*self.runs)

    @cached_property
    def notes(self) -> Sequence[Reason]:
        """Notes to read before the figures."""
        return list(_notes(self))

    @property
    def pairs(self) -> Sequence[SystemPair]:
        return list(self.rows)

    @property
    def items(self) -> pd.DataFrame:
        return pd.concat(self.rows.values(), ignore_index=True)

    def measure(self, name: str) -> Measure:
        return {measure.name: measure for measure in compared_measures(self.spec)}[name]


def compared_measures(spec: ReportSpec) -> tuple[Measure, ...]:
    """Return the report's measures, and the share of invalid outputs if no measure gives it."""
    names = {measure.name for measure in spec.measures}
    return spec.measures if names & {"valid", "invalid"} else (*spec.measures, _INVALID)


def diff_runs(
    before: Path, after: Path, *, systems: Sequence[str] = (), resamples: int = 10_000
) -> RunDiff:
    """Compare two runs of one task by their folders.

    Raises:
        InputError: The runs are of different tasks, no systems can be matched, or the runs have no
            item in common.
    """
    (old,), (new,) = read_items([before]), read_items([after])
    task = old.manifest.task
    if task != new.manifest.task:
        raise InputError(
            f"{before} is a run of {task} and {after} one of {new.manifest.task}",
            hint="compare two runs of one task",
        )
    spec = task_named(task).report.load()
    frames = [prepare_items(run.items, spec) for run in (old, new)]
    pairs, only_before, only_after = match_systems(
        *(frame.drop_duplicates("system") for frame in frames),
        wanted=systems,
        conditions=spec.conditions,
    )
    sides = zip("AB", frames, strict=True)
    rows = pd.concat(
        [frame.assign(system=f"{side} · " + frame["system"]) for side, frame in sides],
        ignore_index=True,
    )
    rows = rows.assign(invalid=1.0 - rows["valid"])
    shared = {}
    for pair in pairs:
        of_pair = rows[rows["system"].isin(pair.labels)]
        in_both = of_pair.groupby("sample_id")["system"].transform("nunique") == 2
        if in_both.any():
            shared[pair] = of_pair[in_both].reset_index(drop=True)
    if not shared:
        raise InputError(
            f"{before} and {after} share no {spec.unit[0]}", hint="compare runs over the same data"
        )
    meta = meta_of((old, new))
    flips, counts = _flips(shared, spec)
    empty = [pair.name for pair in pairs if pair not in shared]
    return RunDiff(
        (old, new), spec, meta, shared, only_before, only_after,
        _differences(shared, spec, meta, resamples), flips, counts, empty, resamples,
    )  # fmt: skip


def match_systems(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    wanted: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> tuple[list[SystemPair], list[str], list[str]]:
    """Return the pairs of systems to compare, and the systems of each run that are left over.

    Systems with the same name are paired. Of the others, two are paired if no other system of
    their runs has their method, number of examples and conditions; then likewise for their model;
    then if they are the only systems left. The ``wanted`` pairs ``A=B``, where A and B are a
    system, model or method, replace this matching.
    """
    if wanted:
        pairs = list(dict.fromkeys(_wanted(text, before, after) for text in wanted))
        only_before = {*before["system"]} - {pair.before for pair in pairs}
        only_after = {*after["system"]} - {pair.after for pair in pairs}
        return pairs, sorted(only_before), sorted(only_after)
    pairs = []
    for columns in (["system"], ["method", "shots", *conditions], ["model"], []):
        old, new = (
            frame.groupby(columns or (lambda _: 0), sort=False)["system"].agg(list).to_dict()
            for frame in (before, after)
        )
        for key, systems in old.items():
            others = new.get(key, [])
            if len(systems) == len(others) == 1:
                pairs.append(SystemPair(systems[0], others[0]))
        before = before[~before["system"].isin([pair.before for pair in pairs])]
        after = after[~after["system"].isin([pair.after for pair in pairs])]
        if before.empty or after.empty:
            break
    if not pairs:
        raise InputError(
            f"no system of the first run ({listed(list(before['system']))}) can be told to belong "
            f"to one of the second ({listed(list(after['system']))})",
            hint="say which with --system A=B",
        )
    return pairs, list(before["system"]), list(after["system"])


def _wanted(text: str, before: pd.DataFrame, after: pd.DataFrame) -> SystemPair:
    if "=" not in text:
        raise InputError(f"--system {text} names one system", hint="write A=B, of A and of B")
    old, new = _named(before), _named(after)
    # A name may itself contain an equals sign, so a split at every sign is tried.
    cuts = [(text[:i].strip(), text[i + 1 :].strip()) for i, sign in enumerate(text) if sign == "="]
    for a, b in cuts:
        if a in old and b in new:
            return SystemPair(old[a], new[b])
    a, b = cuts[0]
    missing, frame, run = (b, after, "second") if a in old else (a, before, "first")
    raise InputError(
        f"--system {text}: '{missing}' is not a system of the {run} run, or is several of them",
        hint=f"it has {'; '.join(frame['system'])}",
    )


def _named(frame: pd.DataFrame) -> dict[str, str]:
    """Return a run's systems by name, and by any method or model that only one system has."""
    named: dict[str, str] = {}
    for column in ("model", "method", "system"):
        alone = frame[~frame[column].duplicated(keep=False)]
        named |= dict(zip(alone[column], alone["system"], strict=True))
    return named


def _differences(
    shared: Mapping[SystemPair, pd.DataFrame], spec: ReportSpec, meta: ReportMeta, resamples: int
) -> pd.DataFrame:
    """Return the differences and the figures compared, with p-values adjusted over all pairs.

    The measures that a report compares are one family of tests, and all others another.
    """
    bootstrap = Bootstrap(rng=np.random.default_rng(SEED), resamples=resamples, level=LEVEL)
    spec = replace(spec, breakdowns=())
    with_invalid = replace(spec, measures=compared_measures(spec))
    parts = []
    for pair, rows in shared.items():
        of_a, of_b = pair.labels
        part = compare_systems(rows, with_invalid, meta, bootstrap, pairs=[(of_b, of_a)])
        if part.empty:
            continue
        figures = estimate_figures(rows, spec, bootstrap)
        if spec.scopes and len(figures):
            figures = figures[figures["scope"].eq(spec.scopes[0])]
        for side, label in (("before", of_a), ("after", of_b)):
            ends = {"estimate": side, "low": f"{side}_low", "high": f"{side}_high"}
            of_side = figures.loc[figures["system"].eq(label), ["measure", "form", *ends]]
            part = part.merge(of_side.rename(columns=ends), on=["measure", "form"], how="left")
        systems = {"system_a": pair.before, "system_b": pair.after, "pair": pair.name}
        parts.append(part.assign(level=LEVEL, **systems))
    if not parts:
        return pd.DataFrame()
    every = pd.concat(parts, ignore_index=True)
    compared = every["measure"].isin([one.name for one in spec.measures if one.compared])
    differences = pd.concat([adjusted(tests) for _, tests in every.groupby(compared)]).sort_index()
    differences = differences.drop(columns=["first", "second", "sums"])
    better = {measure.name: measure.better for measure in with_invalid.measures}
    differences["better"] = differences["measure"].map(better)
    differences["verdict"] = [verdict_of(row) for _, row in differences.iterrows()]
    return differences


def verdict_of(row: "pd.Series[Any]") -> str:
    """Return the verdict on system B from the difference's interval and adjusted test."""
    if pd.isna(row["low"]):
        return "same" if row["difference"] == 0 else "no interval"
    if row["low"] <= 0 <= row["high"]:
        return "not told apart"
    if row["p_adjusted"] > 1 - LEVEL:  # of few clusters an interval is too short
        return "not after Holm"
    if pd.isna(row["better"]):
        return "differs"
    return "better" if (row["difference"] > 0) == (row["better"] == "high") else "worse"


def flip_measures(rows: pd.DataFrame, spec: ReportSpec) -> Iterator[tuple[Measure, Form, str]]:
    """Yield each measure that is yes or no per row, its form that is counted, and its column."""
    for measure in compared_measures(spec):
        form: Form = "strict" if "strict" in measure.forms else measure.forms[0]
        column = measure.column_of(form)
        if measure.units or measure.compute or column not in rows.columns:
            continue
        values = set(pd.to_numeric(rows[column], errors="coerce").dropna().unique())
        if measure.kind == "share" and values and values <= {0.0, 1.0}:
            yield measure, form, column


def _flips(
    shared: Mapping[SystemPair, pd.DataFrame], spec: ReportSpec
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    flips: list[dict[str, Any]] = []
    counts: list[dict[str, object]] = []
    for pair, rows in shared.items():
        key = [*dict.fromkeys(("sample_id", *spec.key)), "draw"]
        old, new = (part.set_index(key).sort_index() for part in pair.sides(rows))
        in_both = old.index.intersection(new.index)
        old, new = old.loc[in_both], new.loc[in_both]
        judges = [{*side.get("judge", pd.Series()).dropna().astype(str)} for side in (old, new)]
        flipped: dict[int, dict[str, dict[str, object]]] = {}  # by row and measure
        for measure, form, column in flip_measures(rows, spec):
            if measure.judged and judges[0] != judges[1]:
                continue
            a, b = old[column].to_numpy(float), new[column].to_numpy(float)
            gain = (b - a) * _SIGNS[measure.better]
            ways = dict.fromkeys(_WORST_FIRST, 0)
            for i in map(int, np.flatnonzero(np.abs(b - a) == 1)):
                way = "changed" if not gain[i] else "improved" if gain[i] > 0 else "worsened"
                ways[way] += 1
                flip = {"a": float(a[i]), "b": float(b[i]), "direction": way}
                states = (_state(measure, form, side.iloc[i]) for side in (old, new))
                flip |= dict(zip(("state_a", "state_b"), states, strict=True))
                flipped.setdefault(i, {})[measure.name] = flip
            of = {"pair": pair.name, "measure": measure.name, "form": form, **ways}
            same, left_out = int((a == b).sum()), int(np.isnan(b - a).sum())
            counts.append({**of, "same": same, "left_out": left_out})
        for i, measures in flipped.items():
            directions = {flip["direction"] for flip in measures.values()}
            output: dict[str, Any] = {"system_a": pair.before, "system_b": pair.after}
            output |= dict(zip(key, in_both[i], strict=True))
            output["direction"] = next(way for way in _WORST_FIRST if way in directions)
            output["measures"] = measures
            for side, row in (("a", old.iloc[i]), ("b", new.iloc[i])):
                output[side] = row[spec.text] if row["valid"] == 1 else None
                output[f"invalid_{side}"] = why_invalid(row)
            flips.append(output)
    flips.sort(key=lambda flip: (_WORST_FIRST.index(flip["direction"]), -len(flip["measures"])))
    return flips, pd.DataFrame(counts)


def _state(measure: Measure, form: Form, row: "pd.Series[Any]") -> str:
    """Return a row's yes or no in a word, or why a strict form counts it as wrong."""
    counted, own = row[measure.column_of(form)], row[measure.column_of("valid")]
    if counted != own:
        return "no answer" if pd.notna(own) else "left open" if row["valid"] == 1 else "invalid"
    if measure.judged:
        return "passed" if (counted == 1) == (measure.better != "low") else "failed"
    return "yes" if counted == 1 else "no"


_WORST_FIRST = ("worsened", "improved", "changed")
_SIGNS = {"high": 1.0, "low": -1.0, None: 0.0}


def _notes(diff: RunDiff) -> Iterator[Reason]:
    yield from _judged_apart(diff.rows)
    data, (one, several) = diff.changes["data"], diff.spec.unit
    if data["added"] or data["removed"]:
        shared = count(diff.items["sample_id"].nunique(), one, several)
        only = {name: len(data[name]) for name in ("added", "removed")}
        yield sentence("diff.notes", "other-data", shared=shared, **only)
    if changed := len(data["changed"]):
        are = "is" if changed == 1 else "are"
        yield sentence("diff.notes", "changed-data", changed=count(changed, "sample"), are=are)
    yield from _on_one_side(diff)
    scored = [measure.column_of("valid") for measure in diff.spec.measures if measure.fluency]
    if not diff.meta.one_fluency_model and diff.items.filter(scored).notna().any(axis=None):
        yield sentence("diff.notes", "fluency-models", models=listed(diff.meta.fluency_models))
    for side, left in (("A", diff.only_before), ("B", diff.only_after)):
        if left:
            yield sentence("diff.notes", "left-over", side=side, systems=listed(left))
    if diff.empty:
        yield sentence("diff.notes", "nothing-shared", unit=one, systems=listed(diff.empty))


def _judged_apart(shared: Mapping[SystemPair, pd.DataFrame]) -> Iterator[Reason]:
    """Yield a note on the pairs whose two systems were not judged by the same judges."""
    pairs_of: dict[tuple[str, ...], list[str]] = {}  # by the judges of A and of B
    for pair, rows in shared.items():
        if "judge" in rows.columns:
            judges = (sorted(part["judge"].dropna().unique()) for part in pair.sides(rows))
            pairs_of.setdefault(tuple(map(" + ".join, judges)), []).append(pair.name)
    for (a, b), systems in pairs_of.items():
        if a and b and a != b:
            who = listed(systems) if len(pairs_of) > 1 else "A and B"
            yield sentence("diff.notes", "other-judges", who=who, a=a, b=b)
        elif a != b:
            side, other = "AB" if a else "BA"
            yield sentence("diff.notes", "judged-once", side=side, other=other, judge=a or b)


def _on_one_side(diff: RunDiff) -> Iterator[Reason]:
    labels: dict[str, dict[str, None]] = {"A": {}, "B": {}}
    for pair, rows in diff.rows.items():
        for measure in compared_measures(diff.spec):
            column = measure.column_of(measure.forms[0])
            if measure.judged or column not in rows.columns:
                continue
            a, b = (part[column].notna().any() for part in pair.sides(rows))
            if a != b:
                labels["A" if a else "B"][measure.name_with_group()] = None
    for side, measures in labels.items():
        if measures:
            yield sentence("diff.notes", "one-side", side=side, measures=listed(list(measures)))
