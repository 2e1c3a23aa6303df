"""Two runs of one task, compared on the items that both have.

The first run is A, what was; the second is B, what is. Every difference is B minus A, by the
report's own measures that are means over rows, its clusters and paired tests, and every figure of a
system is over the items that it shares with the system it is compared with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from contrafact.report.estimates import compare_systems, estimate_figures, prepare_items
from contrafact.report.examples import why_invalid
from contrafact.report.frames import read_tasks
from contrafact.report.words import sentence
from contrafact.runs.items import read_items
from contrafact.stats.paired import holm
from contrafact.stats.replicates import Bootstrap

__all__ = [
    "LEVEL",
    "SEED",
    "RunDiff",
    "SystemPair",
    "compared_measures",
    "diff_runs",
    "measure_label",
]

SEED = 0
LEVEL = 0.95
"""Of the randomness of intervals, and what their confidence is."""

_INVALID = Measure("invalid", "Invalid, %", better="low", forms=("all",), ranked=False)
"""The share of outputs that could not be read, of families that have no measure of it."""


@dataclass(frozen=True)
class SystemPair:
    """Two systems that are compared: the first run's, and the second's, by their names there."""

    before: str
    after: str

    @property
    def first(self) -> str:
        """The second run's system, as the comparisons call it: differences are it minus other."""
        return f"B · {self.after}"

    @property
    def second(self) -> str:
        """The first run's system, as the comparisons call it."""
        return f"A · {self.before}"

    def sides(self, rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """Yield the first run's rows, then the second's."""
        return (rows[rows["system"].eq(name)] for name in (self.second, self.first))

    @property
    def name(self) -> str:
        """What the two are called as one."""
        return self.after if self.before == self.after else f"{self.before} → {self.after}"


@dataclass(frozen=True)
class RunDiff:
    """All that two runs differ in.

    ``rows`` are what is compared, ``A ·`` and ``B ·`` before the runs' systems.

    ``differences`` has one row per pair, measure and form: ``system_a``, ``system_b``, ``pair``,
    ``measure``, ``form``, ``before``, ``after``, each with its bounds, ``difference``, ``low``,
    ``high``, ``level``, ``p_value``, ``p_adjusted``, ``n``, the number of clusters, ``method``, and
    ``verdict``: what interval and adjusted test say of B.

    ``flips`` are the outputs of which a yes became a no, or a no a yes, the worst first: the
    systems, the columns that name the row, ``direction`` (worsened where any measure did, else
    improved where any did), by ``measures`` what each was (``a``), is (``b``) and which way that
    goes, the texts ``a`` and ``b``, None where ``invalid_a`` or ``invalid_b`` says why there is
    none. ``flip_counts`` has one row per pair and measure: ``improved``, ``worsened``, ``changed``,
    ``same``, ``left_out`` (no yes or no on both sides).
    """

    task: str
    spec: ReportSpec
    names: tuple[str, str]
    identities: tuple[str, str]
    meta: ReportMeta
    changes: Mapping[str, Any]
    rows: Mapping[SystemPair, pd.DataFrame]
    only_before: Sequence[str]
    only_after: Sequence[str]
    differences: pd.DataFrame
    flips: Sequence[Mapping[str, Any]]
    flip_counts: pd.DataFrame
    notes: Sequence[Reason] = ()
    resamples: int = 10_000

    @property
    def pairs(self) -> Sequence[SystemPair]:
        """The systems that are compared."""
        return list(self.rows)

    @property
    def items(self) -> pd.DataFrame:
        """The rows of all pairs."""
        return pd.concat(self.rows.values(), ignore_index=True)

    def measure(self, name: str) -> Measure:
        """Return a measure by its name, the share of invalid outputs among them."""
        return {one.name: one for one in compared_measures(self.spec)}[name]


def compared_measures(spec: ReportSpec) -> tuple[Measure, ...]:
    """Return the measures that two runs are compared by: the report's, and what was invalid."""
    known = {measure.name for measure in spec.measures}
    return spec.measures if known & {"valid", "invalid"} else (*spec.measures, _INVALID)


def diff_runs(
    before: Path,
    after: Path,
    *,
    systems: Sequence[str] = (),
    resamples: int = 10_000,
) -> RunDiff:
    """Compare two runs of one task, A and B, by their folders."""
    (old,), (new,) = read_items([before]), read_items([after])
    task = old.manifest.task
    if task != new.manifest.task:
        raise InputError(
            f"{before} is a run of {task} and {after} one of {new.manifest.task}",
            hint="compare two runs of one task",
        )
    spec = task_named(task).report.load()
    frames = [prepare_items(run.items, spec) for run in (old, new)]
    pairs, only_before, only_after = match_systems(*map(_facts, frames), wanted=systems)
    sides = zip("AB", frames, strict=True)
    named = [frame.assign(system=side + " · " + frame["system"]) for side, frame in sides]
    rows = pd.concat(named, ignore_index=True)
    rows = rows.assign(invalid=1.0 - rows["valid"])
    every = {pair: _shared(rows, pair) for pair in pairs}
    shared = {pair: own for pair, own in every.items() if len(own)}
    if not shared:
        raise InputError(
            f"{before} and {after} share no {spec.unit[0]}", hint="compare runs over the same data"
        )
    meta = _meta(before, after)
    streams = [np.random.default_rng(one) for one in np.random.SeedSequence(SEED).spawn(3)[::2]]
    how: dict[str, Any] = {"resamples": resamples, "level": LEVEL}
    parts = [_compared(own, spec, meta, pair, streams, how) for pair, own in shared.items()]
    differences = pd.concat(parts, ignore_index=True)
    if len(differences):
        differences["p_adjusted"] = differences.groupby("form")["p_value"].transform(holm)
        better = {measure.name: measure.better for measure in compared_measures(spec)}
        differences["better"] = differences["measure"].map(better)
        differences["verdict"] = [told(row) for _, row in differences.iterrows()]
    flips, counts = _flips(shared, spec)
    names = tuple(run.folder.resolve().name for run in (old, new))
    found = RunDiff(
        task=task,
        spec=spec,
        names=(names[0], names[1]) if names[0] != names[1] else (str(before), str(after)),
        identities=(old.manifest.identity, new.manifest.identity),
        meta=meta,
        changes=changes_between(old, new),
        rows=shared,
        only_before=only_before,
        only_after=only_after,
        differences=differences,
        flips=flips,
        flip_counts=counts,
        resamples=resamples,
    )
    empty = [pair.name for pair in pairs if pair not in shared]
    return replace(found, notes=list(_notes(found, empty)))


def measure_label(measure: Measure, form: str = "") -> str:
    """Return what a measure is called in a line: its group, its label, its form."""
    parts = [part.removesuffix(", %") for part in (measure.group, measure.label) if part]
    name = ": ".join(parts)
    return f"{name} (strict)" if form == "strict" else name


def match_systems(
    before: pd.DataFrame, after: pd.DataFrame, *, wanted: Sequence[str] = ()
) -> tuple[list[SystemPair], list[str], list[str]]:
    """Return which systems of two runs are compared, and those that are left over.

    Systems of the same name belong together; of the others those that have the same method and
    number of examples, if there is one on each side; then those of the same model likewise; and
    then the last ones, if there is one on each side. Where pairs ``A=B`` are wanted these alone are
    compared, named as systems, models or methods.
    """
    if wanted:
        pairs = list(dict.fromkeys(_wanted(text, before, after) for text in wanted))
        left = [set(frame["system"]) for frame in (before, after)]
        left[0] -= {pair.before for pair in pairs}
        left[1] -= {pair.after for pair in pairs}
        return pairs, sorted(left[0]), sorted(left[1])
    pairs = []
    for columns in (["system"], ["method", "shots"], ["model"], []):
        by = [frame.groupby(columns or (lambda _: 0), sort=False) for frame in (before, after)]
        groups = [{key: list(part["system"]) for key, part in one} for one in by]
        for key, systems in groups[0].items():
            others = groups[1].get(key, [])
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
    # A name may itself have an equals sign: every one is tried.
    cuts = [i for i, sign in enumerate(text) if sign == "="]
    found = [(_named(text[:i], before), _named(text[i + 1 :], after)) for i in cuts]
    for a, b in found:
        if a is not None and b is not None:
            return SystemPair(a, b)
    missing, frame = (text[cuts[0] + 1 :], after) if found[0][0] else (text[: cuts[0]], before)
    run = "second" if found[0][0] else "first"
    known = "; ".join(frame["system"])
    raise InputError(
        f"--system {text}: '{missing}' is no system of the {run} run, or more than one",
        hint=f"it has {known}",
    )


def _named(text: str, frame: pd.DataFrame) -> str | None:
    for column in ("system", "method", "model"):
        matching = frame.loc[frame[column].eq(text.strip()), "system"]
        if len(matching) == 1:
            return str(matching.iloc[0])
    return None


def _facts(items: pd.DataFrame) -> pd.DataFrame:
    distinct = items.drop_duplicates("system")
    return distinct[["system", "model", "method", "shots"]].reset_index(drop=True)


def _meta(before: Path, after: Path) -> ReportMeta:
    metas = [read_tasks([folder])[0].meta for folder in (before, after)]
    runs = tuple(run for meta in metas for run in meta.runs)
    judged = any(meta.embedded_judge for meta in metas)
    return ReportMeta(created=metas[1].created, runs=runs, embedded_judge=judged)


def _shared(rows: pd.DataFrame, pair: SystemPair) -> pd.DataFrame:
    own = rows[rows["system"].isin((pair.first, pair.second))]
    both = own.groupby("sample_id")["system"].transform("nunique") == 2
    return own[both].reset_index(drop=True)


def _compared(
    rows: pd.DataFrame,
    spec: ReportSpec,
    meta: ReportMeta,
    pair: SystemPair,
    streams: Sequence[np.random.Generator],
    how: Mapping[str, Any],
) -> pd.DataFrame:
    whole = replace(spec, breakdowns=(), measures=compared_measures(spec))
    found = compare_systems(
        rows, whole, meta, rng=streams[0], pairs=[(pair.first, pair.second)], **how
    )
    if found.empty:
        return found
    bootstrap = Bootstrap(rng=streams[1], **how)
    plain = replace(spec, breakdowns=())
    figures = estimate_figures(rows, plain, bootstrap)
    if spec.scopes and len(figures):
        figures = figures[figures["scope"].eq(spec.scopes[0])]
    for side, name in (("before", pair.second), ("after", pair.first)):
        own = figures[figures["system"].eq(name)]
        ends = {"estimate": side, "low": f"{side}_low", "high": f"{side}_high"}
        part = own[["measure", "form", *ends]].rename(columns=ends)
        found = found.merge(part, on=["measure", "form"], how="left")
    systems = {"system_a": pair.before, "system_b": pair.after, "pair": pair.name}
    return found.drop(columns=["first", "second"]).assign(level=LEVEL, **systems)


def told(row: "pd.Series[Any]") -> str:
    """Return what the interval and the adjusted test of a difference say of B."""
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
    """Yield the measures that are yes or no of a row, the form that counts, and its column."""
    for measure in compared_measures(spec):
        form: Form = "strict" if "strict" in measure.forms else measure.forms[0]
        column = measure.column_of(form)
        if measure.units or measure.compute or column not in rows.columns:
            continue
        values = set(pd.to_numeric(rows[column], errors="coerce").dropna().unique())
        if values and values <= {0.0, 1.0}:
            yield measure, form, column


def _flips(
    shared: Mapping[SystemPair, pd.DataFrame], spec: ReportSpec
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    flips: list[dict[str, Any]] = []
    counts: list[dict[str, object]] = []
    for pair, rows in shared.items():
        key = [*dict.fromkeys(("sample_id", *spec.key)), "draw"]
        old, new = (part.set_index(key).sort_index() for part in pair.sides(rows))
        places = old.index.intersection(new.index)
        old, new = old.loc[places], new.loc[places]
        judges = [{*side.get("judge", pd.Series()).dropna().astype(str)} for side in (old, new)]
        found: dict[int, dict[str, dict[str, object]]] = {}
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
                found.setdefault(i, {})[measure.name] = flip
            same, left_out = int((a == b).sum()), int(np.isnan(b - a).sum())
            of = {"pair": pair.name, "measure": measure.name, "form": form}
            counts.append({**of, **ways, "same": same, "left_out": left_out})
        for place, measures in found.items():
            ways_met = {one["direction"] for one in measures.values()}
            both = {"a": old.iloc[place], "b": new.iloc[place]}
            flips.append(
                {
                    "system_a": pair.before,
                    "system_b": pair.after,
                    **dict(zip(key, places[place], strict=True)),
                    "direction": next(way for way in _WORST_FIRST if way in ways_met),
                    "measures": measures,
                    **{
                        one: row[spec.text] if row["valid"] == 1 else None
                        for one, row in both.items()
                    },
                    **{f"invalid_{one}": why_invalid(row) for one, row in both.items()},
                }
            )
    flips.sort(key=lambda one: (_WORST_FIRST.index(one["direction"]), -len(one["measures"])))
    return flips, pd.DataFrame(counts)


_WORST_FIRST = ("worsened", "improved", "changed")
_SIGNS = {"high": 1.0, "low": -1.0, None: 0.0}


def _notes(diff: RunDiff, empty: Sequence[str]) -> Iterator[Reason]:
    yield from _rulers(diff.rows)
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
    if empty:
        yield sentence("diff.notes", "nothing-shared", unit=one, systems=listed(empty))


def _rulers(shared: Mapping[SystemPair, pd.DataFrame]) -> Iterator[Reason]:
    """Yield what is to be said of systems that different judges have judged."""
    names: dict[tuple[str, ...], list[str]] = {}
    for pair, rows in shared.items():
        if "judge" in rows.columns:
            judges = (part["judge"].dropna().unique() for part in pair.sides(rows))
            names.setdefault(tuple(" + ".join(sorted(one)) for one in judges), []).append(pair.name)
    for (a, b), systems in names.items():
        if a and b and a != b:
            who = listed(systems) if len(names) > 1 else "A and B"
            yield sentence("diff.notes", "other-judges", who=who, a=a, b=b)
        elif a != b:
            side, other = "AB" if a else "BA"
            yield sentence("diff.notes", "judged-once", side=side, other=other, judge=a or b)


def _on_one_side(diff: RunDiff) -> Iterator[Reason]:
    found: dict[str, dict[str, None]] = {"A": {}, "B": {}}
    for pair, rows in diff.rows.items():
        for measure in compared_measures(diff.spec):
            column = measure.column_of(measure.forms[0])
            if measure.judged or column not in rows.columns:
                continue
            a, b = (part[column].notna().any() for part in pair.sides(rows))
            if a != b:
                found["A" if a else "B"][measure_label(measure)] = None
    for side, labels in found.items():
        if labels:
            yield sentence("diff.notes", "one-side", side=side, measures=listed(list(labels)))
