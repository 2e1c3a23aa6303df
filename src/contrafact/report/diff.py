"""Two runs of one task, compared on the items that both have.

The first run is A, what was; the second is B, what is. Every difference is B minus A, by the
report's own measures that are means over rows, its clusters and paired tests, and every figure of a
system is over the items that it shares with the system it is compared with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.family import task_named
from contrafact.family.display import count, listed
from contrafact.family.report import Form, Measure, ReportSpec
from contrafact.family.run_facts import ReportMeta
from contrafact.report.changes import changes_between
from contrafact.report.estimates import compare_systems, estimate_figures, prepare_items
from contrafact.report.examples import why_invalid
from contrafact.report.frames import read_tasks
from contrafact.runs.items import read_items
from contrafact.stats.paired import holm
from contrafact.stats.replicates import Bootstrap

__all__ = ["LEVEL", "SEED", "Flip", "RunDiff", "compared_measures", "diff_runs", "measure_label"]

SEED = 0
LEVEL = 0.95
"""Of the randomness of intervals, and what their confidence is."""

Direction = Literal["improved", "worsened", "changed"]

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

    @property
    def name(self) -> str:
        return self.after if self.before == self.after else f"{self.before} → {self.after}"


@dataclass(frozen=True)
class Flip:
    """An output of which a yes became a no, or a no a yes.

    ``item`` has the columns that name the row, with the draw. ``measures`` say by measure what it
    was and what it is, 1.0 or 0.0, and which way that goes. A run's text is None where it was
    invalid.
    """

    pair: SystemPair
    item: Mapping[str, object]
    measures: Mapping[str, tuple[float, float, Direction]]
    before: str | None
    after: str | None
    invalid_before: str | None
    invalid_after: str | None

    @property
    def unchanged_text(self) -> bool:
        """Whether both runs wrote the same text, so that only what is said of it flipped."""
        return self.before is not None and self.before == self.after

    @property
    def direction(self) -> Direction:
        """Worsened where any measure did, else improved where any did."""
        ways = {way for _, _, way in self.measures.values()}
        if "worsened" in ways:
            return "worsened"
        return "improved" if "improved" in ways else "changed"


@dataclass(frozen=True)
class RunDiff:
    """All that two runs differ in.

    ``rows`` are what is compared, ``A ·`` and ``B ·`` before the runs' systems.

    ``differences`` has one row per pair, measure and form: ``system_a``, ``system_b``, ``pair``,
    ``measure``, ``form``, ``before``, ``after``, each with its bounds, ``difference``, ``low``,
    ``high``, ``level``, ``p_value``, ``p_adjusted``, ``n``, the number of clusters, ``method``, and
    ``verdict``: what interval and adjusted test say of B.

    ``flips`` has the worst first, ``flip_counts`` one row per pair and measure: ``improved``,
    ``worsened``, ``changed``, ``same``, ``left_out`` (no yes or no on both sides).
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
    flips: Sequence[Flip]
    flip_counts: pd.DataFrame
    notes: Sequence[str] = field(default_factory=tuple)
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
) -> tuple[list[Flip], pd.DataFrame]:
    flips: list[Flip] = []
    counts: list[dict[str, object]] = []
    for pair, rows in shared.items():
        key = [*dict.fromkeys(("sample_id", *spec.key)), "draw"]
        sides = [
            rows[rows["system"].eq(name)].set_index(key).sort_index()
            for name in (pair.second, pair.first)
        ]
        places = sides[0].index.intersection(sides[1].index)
        old, new = (side.loc[places] for side in sides)
        found: dict[int, dict[str, tuple[float, float, Direction]]] = {}
        judges = [{*side.get("judge", pd.Series()).dropna().astype(str)} for side in (old, new)]
        for measure, form, column in flip_measures(rows, spec):
            if measure.judged and judges[0] != judges[1]:
                continue
            a, b = old[column].to_numpy(float), new[column].to_numpy(float)
            known = ~np.isnan(a) & ~np.isnan(b)
            ways = {"improved": 0, "worsened": 0, "changed": 0}
            for i in np.flatnonzero(known & (a != b)):
                way = _way(measure, a[i], b[i])
                ways[way] += 1
                found.setdefault(int(i), {})[measure.name] = (float(a[i]), float(b[i]), way)
            counts.append(
                {
                    "pair": pair.name,
                    "measure": measure.name,
                    "form": form,
                    **ways,
                    "same": int((known & (a == b)).sum()),
                    "left_out": int((~known).sum()),
                }
            )
        for place, measures in found.items():
            a_row, b_row = old.iloc[place], new.iloc[place]
            item = dict(zip(key, places[place], strict=True))
            texts = [str(row[spec.text]) if row["valid"] == 1 else None for row in (a_row, b_row)]
            reasons = [why_invalid(row) for row in (a_row, b_row)]
            flips.append(Flip(pair, item, measures, *texts, *reasons))
    rank = {"worsened": 0, "improved": 1, "changed": 2}
    flips.sort(key=lambda flip: (rank[flip.direction], -len(flip.measures)))
    return flips, pd.DataFrame(counts)


def _way(measure: Measure, before: float, after: float) -> Direction:
    if measure.better is None:
        return "changed"
    return "improved" if (after > before) == (measure.better == "high") else "worsened"


def _notes(diff: RunDiff, empty: Sequence[str]) -> Iterator[str]:
    yield from _rulers(diff.rows)
    data, (one, several) = diff.changes["data"], diff.spec.unit
    used = {str(sample) for sample in diff.items["sample_id"]}
    if data["added"] or data["removed"]:
        yield (
            f"The runs are over different data: the figures are over the "
            f"{count(len(used), one, several)} that both have; {len(data['removed']):,} samples "
            f"are in A alone and {len(data['added']):,} in B alone."
        )
    if changed := len(data["changed"]):
        are = "is" if changed == 1 else "are"
        yield (
            f"{count(changed, 'sample')} of one id {are} not the same in both runs: "
            "differences may come from the data."
        )
    yield from _on_one_side(diff)
    scored = [measure.column_of("valid") for measure in diff.spec.measures if measure.fluency]
    if not diff.meta.one_fluency_model and diff.items.filter(scored).notna().any(axis=None):
        models = listed(diff.meta.fluency_models)
        yield f"Perplexities come from different models ({models}), and are not compared."
    for side, left in (("A", diff.only_before), ("B", diff.only_after)):
        if left:
            yield f"Only in {side}: {listed(list(left))}."
    if empty:
        yield f"No {one} in common: {listed(list(empty))}."


def _rulers(shared: Mapping[SystemPair, pd.DataFrame]) -> Iterator[str]:
    """Yield what is to be said of systems that different judges have judged."""
    names: dict[tuple[str, str], list[str]] = {}
    for pair, rows in shared.items():
        if "judge" in rows.columns:
            of_each = rows.groupby("system")["judge"]
            judges = {str(system): own.dropna().unique() for system, own in of_each}
            both = (" + ".join(sorted(judges[name])) for name in (pair.second, pair.first))
            names.setdefault(cast(tuple[str, str], tuple(both)), []).append(pair.name)
    for (a, b), systems in names.items():
        if a == b:
            continue
        who = listed(systems) if len(names) > 1 else "A and B"
        if a and b:
            yield (
                f"Different rulers: {who} were judged by {a} in A and by {b} in B. What is judged "
                "is left out, since its difference would be the judges' as well; to compare it, "
                "judge one of the runs by the other's judge: contrafact score RUN --judge J."
            )
        else:
            yield (
                f"Only {'A' if a else 'B'} was judged, by {a or b}: what is judged is left out; to "
                f"compare it, judge {'B' if a else 'A'} as well: contrafact score RUN --judge J."
            )


def _on_one_side(diff: RunDiff) -> Iterator[str]:
    found: dict[str, dict[str, None]] = {"A": {}, "B": {}}
    for pair, rows in diff.rows.items():
        for measure in compared_measures(diff.spec):
            column = measure.column_of(measure.forms[0])
            if measure.judged or column not in rows.columns:
                continue
            has = [
                rows.loc[rows["system"].eq(name), column].notna().any()
                for name in (pair.second, pair.first)
            ]
            if has[0] != has[1]:
                found["A" if has[0] else "B"][measure_label(measure)] = None
    for side, labels in found.items():
        if labels:
            yield f"Only {side} has {listed(list(labels))}: there is nothing to compare it with."
