"""The paper's tables, from the figures: 6 and 9, by manipulation, pairwise, confusion, shots."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from contrafact.records import MANIPULATIONS
from contrafact.report.rfc.surface import MEDIAN
from contrafact.report.table import OWN, Column, Table

__all__ = [
    "MEASURE_LABELS",
    "confusion_table",
    "manipulation_table",
    "overall_table",
    "pairwise_table",
    "shots_table",
    "surface_table",
]

MEASURE_LABELS: Mapping[str, str] = {
    "accuracy": "Acc.",
    "precision": "Pre.",
    "recall": "Rec.",
    "f1": "Macro-F1",
    "mcc": "MCC",
    "auroc": "AUROC",
    "pairwise_accuracy": "Pairwise",
}
_MEASURES = ("accuracy", "precision", "recall", "f1", "mcc")
_GROUPS = {"valid": "Over valid outputs", "strict": "Strict"}
_HOW = (
    "Small figures under a number are its 95% interval, clustered by source article. Inv. counts "
    "replies that are no label; strict counts them as wrong."
)
_OTHER_ITEMS = (
    "The systems were not all asked about the same items; the paired comparisons use the items "
    "that two systems share."
)
_AUROC = ("auroc", "valid")
_AUROC_OF = {
    "rfc-detect": "of the probability of true",
    "rfc-diagnose": "of each manipulation's probability against the other three, averaged over the "
    "manipulations",
}


def _spread(
    figures: pd.DataFrame, frame: pd.DataFrame, wanted: Sequence[tuple[str, str]], on: list[str]
) -> pd.DataFrame:
    """Add a column with bounds for each measure and form to a frame of systems."""
    for measure, form in wanted:
        part = figures[figures["measure"].eq(measure) & figures["form"].eq(form)]
        key = f"{measure}_{form}"
        names = {"estimate": key, "low": f"{key}_low", "high": f"{key}_high"}
        chosen = part[[*on, *names]].rename(columns=names)
        frame = frame.merge(chosen, on=on, how="left")
    return frame


def _column(measure: str, form: str, *, labels: Mapping[str, str] = MEASURE_LABELS) -> Column:
    return Column(
        f"{measure}_{form}", labels[measure], "coefficient", group=_GROUPS[form], better="high"
    )


def _counts(items: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return how many items each system was asked about, and how many replies were invalid."""
    grouped = items.groupby(by, sort=False)
    return grouped.agg(
        asked=("gold", "size"), articles=("article_id", "nunique"), valid=("valid", "sum")
    ).reset_index()


def _counted(items: pd.DataFrame, systems: Sequence[str], by: list[str]) -> pd.DataFrame:
    place = {system: i for i, system in enumerate(systems)}
    kinds = {name: i for i, name in enumerate(MANIPULATIONS)}
    counts = _counts(items, by)
    counts = counts.assign(
        invalid=(counts["asked"] - counts["valid"]).astype(int),
        place=counts["system"].map(place),
        kind=counts["manipulation"].map(kinds) if "manipulation" in by else 0,
    )
    ordered = counts.sort_values(["kind", "place"], kind="stable").reset_index(drop=True)
    return ordered.drop(columns=["place", "kind", "valid"])


def overall_table(
    items: pd.DataFrame, figures: pd.DataFrame, task: str, systems: Sequence[str]
) -> Table:
    """Return the table of all items (tables 6 and 9 of the paper).

    Args:
        items: As ``prepare_items`` returns them.
        figures: As ``estimate_figures`` returns them.
        task: The task.
        systems: The systems, in order.
    """
    wanted = [(measure, form) for form in _GROUPS for measure in _MEASURES]
    wanted.insert(len(_MEASURES), _AUROC)
    whole = figures[figures["manipulation"].isna()]
    frame = _spread(whole, _counted(items, systems, ["system"]), wanted, ["system"])
    columns = (
        Column("system", "System", "text"),
        Column("asked", "Items", "count"),
        Column("invalid", "Inv.", "count"),
        *(_column(measure, form) for measure, form in wanted),
    )
    caption = (
        f"{_HOW} Precision, recall and F1 are averaged over the classes; MCC is Matthews' "
        "coefficient."
    )
    if whole["measure"].eq("auroc").any():
        caption += f" AUROC, {_AUROC_OF[task]}, is there where the model gave probabilities."
    table = _finish("overall", "Overall", caption, columns, frame)
    sets = {frozenset(part) for _, part in items.groupby("system")["sample_id"]}
    if len(sets) > 1:
        table = replace(table, notes=(_OTHER_ITEMS,))
    return table


def manipulation_table(
    items: pd.DataFrame, figures: pd.DataFrame, task: str, systems: Sequence[str]
) -> Table:
    """Return the figures by manipulation. Arguments are those of ``overall_table``."""
    detects = task == "rfc-detect"
    measures = ("accuracy", "f1", "mcc") if detects else ("precision", "recall", "f1")
    labels = MEASURE_LABELS if detects else {**MEASURE_LABELS, "f1": "F1"}
    wanted = [(measure, form) for form in _GROUPS for measure in measures]
    if not detects:
        wanted.remove(("precision", "strict"))  # the same: what is invalid names no class
    wanted.insert(len(measures), _AUROC)
    parts = figures[figures["manipulation"].notna()]
    by = ["system", "manipulation"]
    frame = _spread(parts, _counted(items, systems, by), wanted, by)
    columns = (
        Column("system", "System", "text"),
        Column("asked", "Items", "count"),
        Column("invalid", "Inv.", "count"),
        *(_column(measure, form, labels=labels) for measure, form in wanted),
    )
    which = (
        "Both members of the pairs of each manipulation."
        if detects
        else "Each manipulation against the other three; recall is accuracy on its own pairs."
    )
    return _finish(
        "by_manipulation",
        "By manipulation",
        f"{which} {_HOW}",
        columns,
        frame,
        group_by="manipulation",
    )


def pairwise_table(
    items: pd.DataFrame, figures: pd.DataFrame, systems: Sequence[str]
) -> Table | None:
    """Return pairwise accuracy and what it exposes, for detection; None without whole pairs."""
    whole = figures[figures["manipulation"].isna()]
    if not whole["measure"].eq("pairwise_accuracy").any():
        return None
    wanted = [
        ("pairwise_accuracy", "valid"),
        ("pairwise_accuracy", "strict"),
        ("says_true", "valid"),
        ("right_on_true", "valid"),
        ("right_on_false", "valid"),
    ]
    frame = pd.DataFrame({"system": list(systems)})
    frame = _spread(whole, frame, wanted, ["system"])
    strict = whole[whole["measure"].eq("pairwise_accuracy") & whole["form"].eq("strict")]
    frame = frame.merge(strict[["system", "n"]].rename(columns={"n": "pairs"}), how="left")
    columns = [
        Column("system", "System", "text"),
        Column("pairs", "Pairs", "count"),
        Column(
            "pairwise_accuracy_valid", "Over valid outputs", "coefficient", "Both right", "high"
        ),
        Column("pairwise_accuracy_strict", "Strict", "coefficient", "Both right", "high"),
        Column("says_true_valid", "Answers true", "coefficient", "Over valid outputs"),
        Column("right_on_true_valid", "Right on published", "coefficient", "Over valid outputs"),
        Column("right_on_false_valid", "Right on manipulated", "coefficient", "Over valid outputs"),
    ]
    for manipulation in MANIPULATIONS:
        part = figures[figures["manipulation"].eq(manipulation)]
        if part.empty:
            continue
        named = _spread(part, frame[["system"]], wanted[1:2], ["system"])
        ends = ("", "_low", "_high")
        names = {f"pairwise_accuracy_strict{end}": f"{manipulation}{end}" for end in ends}
        frame = frame.merge(named.rename(columns=names), on="system", how="left")
        columns.append(
            Column(manipulation, manipulation.title(), "coefficient", "Both right, strict", "high")
        )
    caption = (
        "Both members of a pair right: the published paragraph called true and the manipulated one "
        "false. A system that always says the same is right on half of the items and has 0 here; "
        "answers by chance have a quarter. 95% intervals by source article."
    )
    return _finish("pairwise", "Pairwise accuracy", caption, tuple(columns), frame)


def confusion_table(confusion: pd.DataFrame) -> Table:
    """Return the confusion matrices, a group of lines for each system."""
    labels = [name for name in confusion.columns if name not in ("system", "gold", "invalid")]
    columns = (
        Column("gold", "Gold", "text"),
        *(Column(label, label, "count", "Answered") for label in labels),
        Column("invalid", "no label", "count", "Answered"),
    )
    caption = "How often each gold label was answered with which; all draws."
    return Table("confusion", "Confusion matrices", caption, columns, confusion, group_by="system")


def shots_table(items: pd.DataFrame, figures: pd.DataFrame) -> Table | None:
    """Return accuracy by number of examples (figure 3), or None where no model has two numbers."""
    asked = items[~items["baseline"]].drop_duplicates("system")
    asked = asked.assign(name=asked["model"] + " · " + asked["method"])
    several = asked.groupby("name")["shots"].transform("nunique") > 1
    chosen = asked[several].sort_values(["name", "shots"], kind="stable")
    chosen = chosen.drop_duplicates(["name", "shots"])
    if chosen.empty:
        return None
    whole = figures[figures["manipulation"].isna() & figures["measure"].eq("accuracy")]
    shots = sorted(int(n) for n in chosen["shots"].unique())
    lines: list[dict[str, object]] = []
    for name, part in chosen.groupby("name", sort=False):
        line: dict[str, object] = {"system": name}
        for system, count in zip(part["system"], part["shots"], strict=True):
            for _, row in whole[whole["system"].eq(system)].iterrows():
                key = f"{row['form']}_{int(count)}"
                line[key] = row["estimate"]
                line[f"{key}_low"], line[f"{key}_high"] = row["low"], row["high"]
        lines.append(line)
    columns = (
        Column("system", "Model and solver", "text"),
        *(
            Column(f"{form}_{n}", f"{n} shots", "coefficient", f"Acc., {group.lower()}", "high")
            for form, group in _GROUPS.items()
            for n in shots
        ),
    )
    caption = "Accuracy by the number of worked examples, with 95% intervals by source article."
    return _finish("shots", "Worked examples", caption, columns, pd.DataFrame(lines))


def surface_table(figures: pd.DataFrame) -> Table | None:
    """Return figure 4's numbers as a table, or None without them."""
    if figures.empty:
        return None
    models = int(figures["models"].iloc[0])
    lines: list[dict[str, object]] = []
    for what, part in figures.groupby("what", sort=False):
        name = f"{MEDIAN} ({models})" if what == MEDIAN else str(what)
        line: dict[str, object] = {
            "system": "median minus baseline" if what == "difference" else name
        }
        for _, row in part.iterrows():
            key = str(row["measure"])
            line[key], line[f"{key}_low"], line[f"{key}_high"] = (
                row[name] for name in ("estimate", "low", "high")
            )
        lines.append(line)
    columns = (
        Column("system", "", "text"),
        Column("accuracy", "Acc.", "coefficient", "Over valid outputs", "high", ranked=False),
        Column("f1", "Macro-F1", "coefficient", "Over valid outputs", "high", ranked=False),
    )
    caption = (
        "A logistic regression on surface features alone, cross-validated by article, beside the "
        "median of the models run; where the models do no better, the figures above may rest on "
        "artefacts of the rewriting. 95% intervals by source article, drawn together."
    )
    frame = pd.DataFrame(lines)
    return Table("surface", "Surface features and models", caption, columns, frame)


def _finish(
    key: str,
    title: str,
    caption: str,
    columns: tuple[Column, ...],
    frame: pd.DataFrame,
    *,
    group_by: str | None = None,
) -> Table:
    own = frame.assign(source=OWN)
    return Table(key, title, caption, columns, own, group_by=group_by).without_empty_columns()
