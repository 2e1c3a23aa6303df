"""How the comparison of two runs is shown: sentences, tables and JSON."""

from collections.abc import Sequence

import pandas as pd

from contrafact.family.display import Column, Table, count
from contrafact.family.report import Measure
from contrafact.report.diff import LEVEL, SEED, Flip, RunDiff, measure_label
from contrafact.report.regression import Finding

__all__ = [
    "diff_json",
    "differences_table",
    "flips_table",
    "item_name",
    "state",
    "summary",
]

_VERSION = 1
_FOUND = ("system_a", "system_b", "difference", "low", "high", "n", "regressed", "text")


def state(measure: Measure, value: float) -> str:
    """Return what a yes or no of a measure is called."""
    passed = value == 1.0
    return ("passed" if passed else "failed") if measure.judged else ("yes" if passed else "no")


def item_name(flip: Flip) -> str:
    """Return which output it is: its sample, its part, its draw where there are several."""
    parts = [str(value) for name, value in flip.item.items() if name != "draw"]
    draw = flip.item["draw"]
    return " · ".join([*dict.fromkeys(parts), *([f"draw {draw}"] if draw != 1 else [])])


def summary(diff: RunDiff) -> list[str]:
    """Return the comparison in sentences: what was compared, what flipped, what can be told."""
    unit, output = diff.spec.unit, diff.spec.output
    samples = diff.items["sample_id"].nunique()
    outputs = len(diff.items) // 2
    ways = [flip.direction for flip in diff.flips]
    found = [
        f"{count(len(diff.pairs), 'system')} {'is' if len(diff.pairs) == 1 else 'are'} compared on "
        f"{count(samples, *unit)} ({count(outputs, *output)} in each run)."
    ]
    if not ways:
        found.append("No verdict and no answer flipped.")
    else:
        found.append(
            f"{count(len(ways), *output)} flipped: {ways.count('worsened'):,} for the worse, "
            f"{ways.count('improved'):,} for the better"
            + (f", {ways.count('changed'):,} neither." if "changed" in ways else ".")
        )
        alike = sum(flip.unchanged_text for flip in diff.flips)
        if alike:
            have = "has" if alike == 1 else "have"
            found.append(
                f"Of these, {alike:,} {have} the same text in both runs, word for word: what "
                "changed is what was said of it."
            )
    differences = diff.differences
    for way in ("worse", "better") if len(differences) else ():
        names = [
            measure_label(diff.measure(row["measure"]), row["form"])
            + (f" of {row['system_b']}" if len(diff.pairs) > 1 else "")
            for _, row in differences[differences["verdict"].eq(way)].iterrows()
        ]
        if names:
            found.append(
                f"B is {way}, by the interval of the difference and, where there is one, the "
                f"adjusted test: {'; '.join(names)}."
            )
    if len(differences) and differences["low"].isna().all():
        found.append(
            f"No interval can be given, with so few {diff.spec.clusters} or so little that "
            "differs: take the differences as they are, and for no more."
        )
    elif len(differences) and not differences["verdict"].isin(("worse", "better")).any():
        found.append("No measure tells A and B apart, by its interval and its adjusted test.")
    return found


def differences_table(diff: RunDiff) -> Table | None:
    """Return the differences as a table, or None where nothing could be compared."""
    if diff.differences.empty:
        return None
    lines = []
    for _, row in diff.differences.iterrows():
        measure = diff.measure(row["measure"])
        label = measure_label(measure, row["form"])
        line: dict[str, object] = {
            "pair": row["pair"],
            "measure": Column("", label, "text", better=measure.better).heading,
            "direction": row["verdict"],
            "p_adjusted": row["p_adjusted"],
            "n": row["n"],
        }
        for side in ("before", "after"):
            for end in ("", "_low", "_high"):
                line[f"{side}{end}"] = row.get(f"{side}{end}", float("nan")) * measure.scale
        for end, name in (("", "difference"), ("_low", "low"), ("_high", "high")):
            line[f"difference{end}"] = row[name] * measure.scale
        lines.append(line)
    columns = (
        Column("measure", "Measure", "text"),
        Column("before", "A", "number"),
        Column("after", "B", "number"),
        Column("difference", "B minus A", "signed"),
        Column("direction", "B is", "text"),
        Column("p_adjusted", "p, Holm", "p"),
        Column("n", "Items", "count"),
    )
    frame = pd.DataFrame(lines)
    return Table("differences", "B minus A, by measure", "", columns, frame, (), "pair")


def flips_table(diff: RunDiff) -> Table | None:
    """Return how often each measure flipped, or None where none is a yes or no."""
    counts = diff.flip_counts
    if counts.empty:
        return None
    labels = [
        measure_label(diff.measure(row["measure"]), row["form"]) for _, row in counts.iterrows()
    ]
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
    """Return the comparison for machines: shares are 0 to 1, what is missing is null."""
    data = diff.changes["data"]
    return {
        "format": "contrafact-diff",
        "version": _VERSION,
        "task": diff.task,
        "runs": [
            {"name": name, "identity": identity}
            for name, identity in zip(diff.names, diff.identities, strict=True)
        ],
        "settings": {"seed": SEED, "resamples": diff.resamples, "level": LEVEL},
        "changes": {
            **diff.changes,
            "data": data | {name: list(data[name]) for name in ("added", "removed")},
        },
        "systems": [{"a": pair.before, "b": pair.after} for pair in diff.pairs],
        "only_in_a": list(diff.only_before),
        "only_in_b": list(diff.only_after),
        "notes": list(diff.notes),
        "differences": diff.differences.drop(columns="pair", errors="ignore"),
        "flip_counts": diff.flip_counts,
        "flips": [_flip_json(flip) for flip in diff.flips],
        "regressions": [
            {
                "measure": one.check.measure.name,
                "form": one.check.form,
                "margin": one.check.margin,
                "rule": rule,
                **{name: getattr(one, name) for name in _FOUND},
            }
            for one in findings
        ],
    }


def _flip_json(flip: Flip) -> dict[str, object]:
    return {
        "system_a": flip.pair.before,
        "system_b": flip.pair.after,
        **flip.item,
        "direction": flip.direction,
        "measures": {
            name: {"a": before, "b": after, "direction": way}
            for name, (before, after, way) in flip.measures.items()
        },
        "a": flip.before,
        "b": flip.after,
        "invalid_a": flip.invalid_before,
        "invalid_b": flip.invalid_after,
    }
