"""The chapter's tables: table 5, the numbers of figures 5 to 9, suggested failure modes."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from contrafact.families.cobe.failure_modes import failure_modes
from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.report.cobe.frame import SCOPES, systems_of
from contrafact.report.table import OWN, Column, Table

__all__ = [
    "CRITERION_LABELS",
    "criteria_table",
    "overall_table",
    "scope_tables",
    "suggestion_table",
]

CRITERION_LABELS: Mapping[str, str] = {
    "E1": "E1 unchanged stays",
    "E2": "E2 effects change",
    "E3": "E3 connectors",
    "E4": "E4 quantities",
    "E5": "E5 latent facts stay",
}
_GROUPS = {"valid": "Over valid outputs, %", "strict": "Strict, %"}
_HOW = (
    "Small figures under a number are its 95% interval, clustered by story. Strict counts invalid "
    "responses and verdicts as failed."
)
_NO_JUDGE = (
    "No judge was named (--judge), so the five criteria, and with them accuracy, are left out."
)
_JUDGES_DIFFER = (
    "These systems were not all judged by the same judge, so their scores are not comparable and "
    "none is marked as best."
)
_STORIES_DIFFER = (
    "The systems were not all asked about the same stories; the paired comparisons use those that "
    "two systems share."
)


def overall_table(items: pd.DataFrame, figures: pd.DataFrame) -> Table:
    """Return accuracy over the three phrasings (table 5 of the paper).

    Args:
        items: As ``prepare_items`` returns them.
        figures: As ``estimate_figures`` returns them.
    """
    ranked = _one_judge(items)
    columns = (
        Column("system", "System", "text"),
        Column("judge", "Judge", "text"),
        Column("stories", "Stories", "count"),
        Column("asked", "Responses", "count"),
        Column("invalid", "Inv.", "count"),
        *(
            column
            for form, group in _GROUPS.items()
            for column in (
                Column(f"accuracy_{form}", "Acc.", "share", group, "high", ranked),
                Column(f"accuracy_spread_{form}", "± phrasings", "share", group),
            )
        ),
    )
    wanted = [(measure, form) for form in _GROUPS for measure in ("accuracy", "accuracy_spread")]
    frame = _spread_out(_counted(items), _of(figures, "overall"), wanted)
    caption = (
        "A response is correct where it passes all criteria that its story has; accuracy is over "
        "the responses to all three phrasings, and ± is the standard deviation of the phrasings' "
        f"accuracies. {_HOW}"
    )
    return _table("overall", "Accuracy", caption, columns, frame, _notes(items))


def criteria_table(items: pd.DataFrame, figures: pd.DataFrame) -> Table | None:
    """Return failure rates by criterion (figure 5), or None where nobody judged."""
    wanted = [(f"{name}_fails", form) for form in _GROUPS for name in CRITERION_NAMES]
    own = _of(figures, "overall")
    if not own["measure"].isin([measure for measure, _ in wanted]).any():
        return None
    frame = _spread_out(pd.DataFrame({"system": systems_of(items)}), own, wanted)
    columns = (
        Column("system", "System", "text"),
        *(
            Column(
                f"{name}_fails_{form}",
                CRITERION_LABELS[name],
                "share",
                group.replace(", %", ", % failed"),
                "low",
                _one_judge(items),
            )
            for form, group in _GROUPS.items()
            for name in CRITERION_NAMES
        ),
    )
    caption = (
        "The share of responses that fail a criterion, among those it was asked of: a criterion "
        f"that a story lacks is not asked. {_HOW}"
    )
    title = "Failure rates by criterion"
    return _table("criteria", title, caption, columns, frame, _notes(items, stories=False))


def scope_tables(items: pd.DataFrame, figures: pd.DataFrame) -> list[Table]:
    """Return accuracy by type of graph, phrasing, domain and failure mode (figures 6 to 9)."""
    found: list[Table] = []
    for scope, label in SCOPES.items():
        part = figures[figures["scope"].eq(scope) & figures["measure"].eq("accuracy")]
        if part.empty:
            continue
        strict = part[part["form"].eq("strict")]
        frame = strict[["group", "system", "stories", "n"]].rename(columns={"n": "asked"})
        on = ["group", "system"]
        frame = _spread_out(frame, part, [("accuracy", form) for form in _GROUPS], on=on)
        place = {name: i for i, name in enumerate(dict.fromkeys(part["group"]))}
        order = frame["group"].map(place).sort_values(kind="stable").index
        columns = (
            Column("system", "System", "text"),
            Column("stories", "Stories", "count"),
            Column("asked", "Responses", "count"),
            *(
                Column(f"accuracy_{form}", "Acc.", "share", group, "high", _one_judge(items))
                for form, group in _GROUPS.items()
            ),
        )
        caption = _HOW
        if scope == "failure_mode":
            caption = (
                "Stories labelled with a failure mode, which they were written to probe; a story "
                f"with several counts under each. {_HOW}"
            )
        found.append(
            replace(
                _table(
                    f"by_{scope}",
                    f"Accuracy by {label.lower()}",
                    caption,
                    columns,
                    frame.loc[order].reset_index(drop=True),
                    (),
                ),
                group_by="group",
            )
        )
    return found


def suggestion_table(items: pd.DataFrame) -> Table | None:
    """Return how often each failure mode is suggested, or None where no response failed."""
    failed = items[items["suggested_failure_mode"].notna()]
    if failed.empty:
        return None
    modes = failure_modes()
    lines: list[dict[str, object]] = []
    for system in systems_of(items):
        own = failed.loc[failed["system"].eq(system), "suggested_failure_mode"]
        line: dict[str, object] = {"system": system, "failed": len(own)}
        lines.append(line | {f"mode_{number}": int(own.eq(number).sum()) for number in modes})
    columns = (
        Column("system", "System", "text"),
        Column("failed", "Failed", "count"),
        *(Column(f"mode_{number}", str(number), "count", "Suggested mode") for number in modes),
    )
    caption = (
        "Failed responses by the failure mode that a rule suggests from which criteria failed and "
        "from the story's labels and graph: a place to start reading, not a finding. "
        + "; ".join(f"{number}: {mode.name}" for number, mode in modes.items())
        + "."
    )
    title = "Suggested failure modes"
    return Table("suggested_modes", title, caption, columns, pd.DataFrame(lines))


def _counted(items: pd.DataFrame) -> pd.DataFrame:
    grouped = items.groupby("system", sort=False)
    frame = grouped.agg(
        judge=("judge", "first"),
        stories=("sample_id", "nunique"),
        asked=("valid", "size"),
        valid=("valid", "sum"),
    ).reset_index()
    return frame.assign(invalid=(frame["asked"] - frame["valid"]).astype(int)).drop(columns="valid")


def _spread_out(
    frame: pd.DataFrame,
    figures: pd.DataFrame,
    wanted: list[tuple[str, str]],
    on: list[str] | None = None,
) -> pd.DataFrame:
    """Add a column with bounds for each measure and form."""
    by = on or ["system"]
    for measure, form in wanted:
        part = figures[figures["measure"].eq(measure) & figures["form"].eq(form)]
        key = f"{measure}_{form}"
        names = {"estimate": key, "low": f"{key}_low", "high": f"{key}_high"}
        frame = frame.merge(part[[*by, *names]].rename(columns=names), on=by, how="left")
    return frame


def _of(figures: pd.DataFrame, scope: str) -> pd.DataFrame:
    return figures[figures["scope"].eq(scope)]


def _one_judge(items: pd.DataFrame) -> bool:
    return bool(items["judge"].nunique(dropna=False) == 1)


def _notes(items: pd.DataFrame, *, stories: bool = True) -> tuple[str, ...]:
    said: list[str] = []
    if not items["judged"].any():
        said.append(_NO_JUDGE)
    elif not _one_judge(items):
        said.append(_JUDGES_DIFFER)
    if stories and len({frozenset(own) for _, own in items.groupby("system")["sample_id"]}) > 1:
        said.append(_STORIES_DIFFER)
    return tuple(said)


def _table(
    key: str,
    title: str,
    caption: str,
    columns: tuple[Column, ...],
    frame: pd.DataFrame,
    notes: tuple[str, ...],
) -> Table:
    own = frame.assign(source=OWN)
    return Table(key, title, caption, columns, own, notes).without_empty_columns()
