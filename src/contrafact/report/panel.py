"""Several judges in one report: how far they agree, and what each of them says, in any family."""

from typing import Any

import numpy as np
import pandas as pd

from contrafact.family.display import Chart, Column, GridChart, Panel, Table, listed
from contrafact.family.report import ChapterData
from contrafact.runs.items import agreement, cluster_labels
from contrafact.stats.intervals import cluster_bootstrap

__all__ = ["member_table", "panel"]


def panel(data: ChapterData) -> tuple[list[Table | Chart], dict[str, object]]:
    """Return how far several judges agree, how often each says true, and that for machines.

    The chart ``panel_agreement``, the tables ``panel`` and ``members``; nothing where one judged.
    """
    verdicts = data.meta.panel
    if verdicts is None:
        return [], {}
    rng, spec = data.streams["panel"], data.spec
    clusters = cluster_labels(data.items, spec.cluster)
    panels = _panels(verdicts)
    how: dict[str, Any] = {"rng": rng, "resamples": data.resamples, "level": data.level}
    agreed = [agreement(own, clusters, **how).assign(panel=one) for one, own in panels.items()]
    found = pd.concat(agreed, ignore_index=True)
    if len(panels) < 2:
        found = found.drop(columns="panel")
    members = member_table(data, rng=rng)
    results = found.rename(columns={"estimate_low": "low", "estimate_high": "high"})
    if found.empty:
        return [members], {"panel": results}
    columns = (
        Column("coefficient", "Coefficient", "text"),
        Column("estimate", "Value", "coefficient"),
        Column("n", spec.output[1].capitalize(), "count"),
        Column("judges", "Judges", "count"),
    )
    caption = (
        f"How far the judges agree, {data.percent_level} interval by {spec.cluster_noun}. Where "
        "nearly all verdicts are the same, kappa and alpha sink although the judges agree; AC1 "
        "does not."
    )
    frame = found.assign(criterion=found["criterion"].map(_names(data, verdicts)))
    title = "Agreement of the panel"
    if len(panels) > 1:
        frame["criterion"] += ", of " + frame["panel"]
        title = "Agreement of each panel"
    table = Table("panel", title, caption, columns, frame, (), "criterion")
    charts = [] if found["estimate"].isna().all() else [_chart(frame, title, data)]
    return [*charts, table, members], {"panel": results}


def member_table(data: ChapterData, *, rng: np.random.Generator) -> Table:
    """Return how often each judge says true, and how often its reply cannot be read."""
    verdicts = data.meta.panel
    assert verdicts is not None
    clusters = cluster_labels(data.items, data.spec.cluster)
    names = _names(data, verdicts)
    lines: list[dict[str, object]] = []
    for judge, own in verdicts.groupby("judge", sort=True):
        line: dict[str, object] = {"judge": judge}
        for criterion in names:
            part = own[own["criterion"].eq(criterion)]
            read = part[part["passed"].notna()]
            interval = cluster_bootstrap(
                read["passed"].to_numpy(float),
                clusters(read["sample_id"]),
                level=data.level,
                resamples=data.resamples,
                rng=rng,
            )
            line |= interval.columns(f"{criterion}_true")
            line[f"{criterion}_unread"] = int(part["passed"].isna().sum())
        lines.append(line)
    columns = [Column("judge", "Judge", "text")]
    for criterion, name in names.items():
        columns.append(Column(f"{criterion}_true", "True, %", "share", group=name))
        columns.append(Column(f"{criterion}_unread", "Unread", "count", group=name))
    caption = (
        "The share of readable verdicts that are true, over all systems, with its "
        f"{data.percent_level} interval by {data.spec.cluster_noun}, and replies unread."
    )
    title = "Members of the panel" + ("s" if len(_panels(verdicts)) > 1 else "")
    return Table("members", title, caption, tuple(columns), pd.DataFrame(lines))


def _names(data: ChapterData, verdicts: pd.DataFrame) -> dict[str, str]:
    """Return what a reader calls each criterion that was judged, in the order of the spec."""
    judged = list(dict.fromkeys(verdicts["criterion"]))
    known = {one.column: one.label for one in data.spec.criteria if one.column in judged}
    return known | {name: str(name) for name in judged if name not in known}


def _panels(verdicts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the verdicts of each panel by its members' names: judges of two runs are not one."""
    by_system = verdicts.groupby("system", sort=False)["judge"]
    members = by_system.agg(lambda judges: listed(sorted(set(judges))))
    of = verdicts["system"].map(members)
    return {names: verdicts[of.eq(names)] for names in dict.fromkeys(members)}


def _chart(found: pd.DataFrame, title: str, data: ChapterData) -> GridChart:
    names = list(dict.fromkeys(found["coefficient"]))
    criteria = list(dict.fromkeys(found["criterion"]))
    values, lows, highs = (
        found.pivot(index="coefficient", columns="criterion", values=end)
        .reindex(index=names, columns=criteria)
        .to_numpy(float)
        for end in ("estimate", "estimate_low", "estimate_high")
    )
    return GridChart(
        "panel_agreement",
        title,
        f"How far the judges agree, with {data.percent_level} intervals by "
        f"{data.spec.cluster_noun}; 1 is full agreement, and for the last three 0 is what chance "
        "would give.",
        "points",
        names,
        criteria,
        [Panel("", values, lows, highs, "coefficient")],
        colours=("opportunity", "third", "risk", "headline"),
    )
