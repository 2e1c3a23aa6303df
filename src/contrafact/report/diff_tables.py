"""The comparison of two runs as sentences, tables and JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from contrafact.errors import Reason
from contrafact.family.display import Column, Kind, Table, count
from contrafact.report.diff import LEVEL, SEED, RunDiff
from contrafact.report.regression import Finding
from contrafact.report.words import sentence

__all__ = [
    "diff_json",
    "differences_table",
    "flips_table",
    "item_name",
    "same_text",
    "summary",
]

_VERSION = 1


def item_name(diff: RunDiff, flip: Mapping[str, Any]) -> str:
    """Return the name of an output that flipped: sample, part, and draw unless it is the first."""
    parts = dict.fromkeys(str(flip[name]) for name in ("sample_id", *diff.spec.key))
    return " · ".join([*parts, *([f"draw {flip['draw']}"] if flip["draw"] != 1 else [])])


def same_text(flip: Mapping[str, Any]) -> bool:
    """Return whether both runs wrote the same text, so that only its verdict flipped."""
    return flip["a"] is not None and flip["a"] == flip["b"]


def summary(diff: RunDiff) -> Iterator[Reason]:
    """Yield the comparison in sentences: what was compared, what flipped, what is significant."""
    output, several = diff.spec.output, len(diff.pairs) > 1
    yield sentence(
        "diff.summary",
        "compared",
        systems=count(len(diff.pairs), "system"),
        are="are" if several else "is",
        units=count(diff.items["sample_id"].nunique(), *diff.spec.unit),
        outputs=count(len(diff.items) // 2, *output),
    )
    ways = Counter({"worsened": 0, "improved": 0, "changed": 0})
    ways.update(flip["direction"] for flip in diff.flips)
    if not diff.flips:
        yield sentence("diff.summary", "no-flips")
    else:
        more = f", {ways['changed']:,} neither" if ways["changed"] else ""
        outputs = count(len(diff.flips), *output)
        yield sentence("diff.summary", "flips", outputs=outputs, more=more, **ways)
    if alike := sum(map(same_text, diff.flips)):
        have = "has" if alike == 1 else "have"
        yield sentence("diff.summary", "same-text", alike=alike, have=have)
    measures: dict[str, list[str]] = {"worse": [], "better": []}  # by verdict
    for _, row in diff.differences.iterrows():
        of = f" of {row['system_b']}" if several else ""
        label = diff.measure(row["measure"]).name_with_group(row["form"])
        measures.setdefault(row["verdict"], []).append(f"{label}{of}")
    for way in ("worse", "better"):
        if measures[way]:
            yield sentence("diff.summary", "verdict", way=way, measures="; ".join(measures[way]))
    if len(diff.differences) and diff.differences["low"].isna().all():
        yield sentence("diff.summary", "no-interval", clusters=diff.spec.clusters)
    elif len(diff.differences) and not (measures["worse"] or measures["better"]):
        yield sentence("diff.summary", "not-apart")


def differences_table(diff: RunDiff) -> Table | None:
    """Return the differences as a table, or None if nothing could be compared."""
    rows = diff.differences
    if rows.empty:
        return None
    measures = [diff.measure(name) for name in rows["measure"]]
    labels = [
        Column("", measure.name_with_group(form), "text", better=measure.better).heading
        for measure, form in zip(measures, rows["form"], strict=True)
    ]
    kinds = [measure.kind for measure in measures]
    signed: dict[Kind, Kind] = {"share": "points", "number": "signed"}
    # A cell shows the bounds from the columns named like its own with "_low" or "_high" added.
    frame = rows.rename(columns={"low": "difference_low", "high": "difference_high"})
    frame = frame.assign(measure=labels, before_kind=kinds, after_kind=kinds)
    frame["difference_kind"] = [signed.get(kind, kind) for kind in kinds]
    columns = (
        Column("measure", "Measure", "text"),
        Column("before", "A", "number"),
        Column("after", "B", "number"),
        Column("difference", "B minus A", "signed"),
        Column("verdict", "B is", "text"),
        Column("p_adjusted", "p, Holm", "p"),
        Column("n", "Items", "count"),
    )
    return Table("differences", "B minus A, by measure", "", columns, frame, (), "pair")


def flips_table(diff: RunDiff) -> Table | None:
    counts = diff.flip_counts
    if counts.empty:
        return None
    forms = zip(counts["measure"], counts["form"], strict=True)
    labels = [diff.measure(name).name_with_group(form) for name, form in forms]
    columns = (
        Column("label", "Measure", "text"),
        Column("worsened", "Worse", "count"),
        Column("improved", "Better", "count"),
        Column("changed", "Neither", "count"),
        Column("same", "Same", "count"),
        Column("left_out", "Left out", "count"),
    )
    frame = counts.assign(label=labels)
    return Table("flips", "Flips by measure", "", columns, frame, (), "pair")


def diff_json(diff: RunDiff, findings: Sequence[Finding] = (), rule: str = "") -> dict[str, object]:
    """Return the comparison for JSON: shares from 0 to 1, null for missing values."""
    data = diff.changes["data"]
    return {
        "format": "contrafact-diff",
        "version": _VERSION,
        "task": diff.task,
        "runs": [
            {"name": name, "identity": run.manifest.identity}
            for name, run in zip(diff.names, diff.runs, strict=True)
        ],
        "settings": {"seed": SEED, "resamples": diff.resamples, "level": LEVEL},
        "changes": {
            **diff.changes,
            "data": data | {name: list(data[name]) for name in ("added", "removed")},
        },
        "systems": [{"a": pair.before, "b": pair.after} for pair in diff.pairs],
        "only_in_a": list(diff.only_before),
        "only_in_b": list(diff.only_after),
        "notes": [*map(str, diff.notes)],
        "differences": diff.differences.drop(columns="pair", errors="ignore"),
        "flip_counts": diff.flip_counts,
        "flips": diff.flips,
        "regressions": [
            {
                "measure": finding.check.measure.name,
                "form": finding.check.form,
                "margin": finding.check.margin,
                "rule": rule,
                **{name: value for name, value in vars(finding).items() if name != "check"},
            }
            for finding in findings
        ],
    }
