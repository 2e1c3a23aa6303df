"""How far judges agree: with each other in a panel, and with people in a study."""

import numpy as np
import pandas as pd

from contrafact.families.finforce.published import published_facts
from contrafact.records import CRITERIA
from contrafact.report.table import OWN, PUBLISHED, Column, Table
from contrafact.stats.agreement import (
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    with_interval,
)
from contrafact.stats.intervals import cluster_bootstrap

__all__ = ["CRITERION_NAMES", "member_table", "panel_agreement", "panel_table", "study_table"]

CRITERION_NAMES = {
    "forward_compatibility": "Forward-compatibility",
    "directionality": "Directionality",
}
_COEFFICIENTS = (
    ("Agreement of pairs", percent_agreement),
    ("Gwet's AC1", gwet_ac1),
    ("Fleiss' kappa", fleiss_kappa),
    ("Krippendorff's alpha", krippendorff_alpha),
)
_UNIT = ["system", "draw", "sample_id", "side"]


def panel_agreement(
    panel: pd.DataFrame,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return the agreement of a panel's members, by criterion and coefficient.

    Args:
        panel: Members' verdicts, as ``ReportMeta.panel`` has them.
        rng: Where randomness comes from.
        resamples: How many times headlines are drawn.
        level: Confidence level.

    Returns:
        One row per criterion and coefficient: ``criterion``, ``coefficient``, ``estimate``,
        ``low``, ``high``, ``n`` (texts with two readable verdicts), ``judges``, ``method``.
    """
    rows: list[dict[str, object]] = []
    for criterion in CRITERIA:
        part = panel[panel["criterion"].eq(criterion)]
        judges = sorted(part["judge"].unique())
        if len(judges) < 2:
            continue
        wide = part.pivot_table(index=_UNIT, columns="judge", values="passed", aggfunc="first")
        ratings = wide.to_numpy(object, copy=True)
        ratings[wide.isna().to_numpy()] = None
        labels = wide.index.get_level_values("sample_id").to_numpy(object)
        for name, function in _COEFFICIENTS:
            interval = with_interval(
                function, ratings, clusters=labels, level=level, resamples=resamples, rng=rng
            )
            rows.append(
                {
                    "criterion": criterion,
                    "coefficient": name,
                    "estimate": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "n": interval.n,
                    "judges": len(judges),
                    "method": interval.method,
                }
            )
    return pd.DataFrame(rows)


def panel_table(agreement: pd.DataFrame) -> Table | None:
    """Return the panel's agreement as a table, or None without one."""
    if agreement.empty:
        return None
    names = agreement["criterion"].map(CRITERION_NAMES)
    frame = _bounded(agreement).assign(criterion=names)
    columns = (
        Column("coefficient", "Coefficient", "text"),
        Column("estimate", "Value", "coefficient"),
        Column("n", "Texts", "count"),
        Column("judges", "Judges", "count"),
    )
    caption = (
        "How far the panel's members agree, 95% interval by headline. Where nearly all verdicts "
        "are the same, kappa and alpha sink although the members agree; AC1 does not."
    )
    return Table("panel", "Agreement of the panel", caption, columns, frame, (), "criterion")


def member_table(
    panel: pd.DataFrame,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Table:
    """Return how often each member of the panel says true, and how often it cannot be read.

    Arguments are those of ``panel_agreement``.
    """
    lines: list[dict[str, object]] = []
    for judge, own in panel.groupby("judge", sort=True):
        line: dict[str, object] = {"judge": judge}
        for criterion in CRITERIA:
            part = own[own["criterion"].eq(criterion)]
            read = part[part["passed"].notna()]
            name = f"{criterion}_true"
            interval = cluster_bootstrap(
                read["passed"].to_numpy(float),
                read["sample_id"].to_numpy(object),
                level=level,
                resamples=resamples,
                rng=rng,
            )
            line[name] = interval.estimate
            line[f"{name}_low"], line[f"{name}_high"] = interval.low, interval.high
            line[f"{criterion}_unread"] = int(part["passed"].isna().sum())
        lines.append(line)
    columns = [Column("judge", "Judge", "text")]
    for criterion in CRITERIA:
        name = CRITERION_NAMES[criterion]
        columns.append(Column(f"{criterion}_true", "True, %", "share", group=name))
        columns.append(Column(f"{criterion}_unread", "Unread", "count", group=name))
    caption = (
        "The share of readable verdicts that are true, over all systems, with its 95% interval by "
        "headline, and replies unread."
    )
    return Table("members", "Members of the panel", caption, tuple(columns), pd.DataFrame(lines))


def study_table(agreement: pd.DataFrame | None, *, with_published: bool) -> Table | None:
    """Return the judge's agreement with people, own study and published one; None without any."""
    parts: list[pd.DataFrame] = []
    if agreement is not None and len(agreement):
        names = agreement["criterion"].map(lambda name: CRITERION_NAMES.get(name, str(name)))
        parts.append(_bounded(agreement).assign(criterion=names, source=OWN))
    facts = published_facts()
    if with_published:
        parts.append(
            pd.DataFrame(
                {
                    "criterion": [CRITERION_NAMES[name] for name in facts.study_agreement],
                    "coefficient": "Agreement, average over annotators",
                    "estimate": [value / 100 for value in facts.study_agreement.values()],
                    "n": facts.study_samples,
                    "source": PUBLISHED,
                }
            )
        )
    if not parts:
        return None
    frame = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    for column in ("estimate", "estimate_low", "estimate_high", "n"):
        if column in frame.columns:
            frame[column] = pd.to_numeric(frame[column])
    columns = (
        Column("criterion", "Criterion", "text"),
        Column("coefficient", "Coefficient", "text"),
        Column("estimate", "Value", "coefficient"),
        Column("n", "Samples", "count"),
    )
    label = f"Published · {facts.paper}, section 3.5 · judge {facts.judge}"
    caption = "How far the judge's labels agree with people's on the same counterfactuals."
    return Table(
        "study",
        "Agreement with people",
        caption,
        columns,
        frame,
        published_label=label,
    )


def _bounded(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"low": "estimate_low", "high": "estimate_high"})
