"""Every figure of the chapter, one row each, with its interval (CoBe, section 4, figures 5 to 9).

Two forms. ``valid`` leaves out what could not be read: invalid responses, and verdicts. ``strict``
counts it as failed. Everything clusters by story: its three phrasings and all few-shot draws are
drawn together.
"""

import numpy as np
import pandas as pd

from contrafact.families.cobe.items import CRITERION_NAMES, PHRASINGS
from contrafact.report.cobe.frame import SCOPES, scope_frame, systems_of
from contrafact.stats.intervals import cluster_bootstrap

__all__ = ["FORMS", "estimate_figures"]

FORMS: dict[str, str] = {"valid": "", "strict": "_strict"}
"""The two forms, and how the columns that they are made from end."""


def estimate_figures(
    items: pd.DataFrame,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Estimate every figure of every system, over all stories and by each of `SCOPES`.

    Args:
        items: As ``prepare_items`` returns them.
        rng: Where randomness comes from.
        resamples: How many resamples the intervals rest on.
        level: Their confidence level.

    Returns:
        One row per figure: ``system``, ``scope`` ("overall" or a key of `SCOPES`), ``group`` (the
        graph, domain, …; None overall), ``measure``, ``form`` ("valid", "strict" or "all"),
        ``estimate``, ``low``, ``high``, ``level``, ``n``, ``stories``, ``method``. Measures are
        accuracy; E1_fails to E5_fails, the share of responses that fail a criterion among those
        it was asked of; accuracy_spread, the standard deviation of the phrasings' accuracies,
        which has no interval; and invalid, the share of responses that are none.
    """
    rows: list[dict[str, object]] = []

    def add(
        where: dict[str, object], part: pd.DataFrame, measure: str, form: str, column: str
    ) -> None:
        held = part[part[column].notna()]
        if held.empty:
            return
        found = cluster_bootstrap(
            held[column].to_numpy(float),
            held["sample_id"].to_numpy(object),
            level=level,
            resamples=resamples,
            rng=rng,
        )
        rows.append(
            {
                **where,
                "measure": measure,
                "form": form,
                "estimate": found.estimate,
                "low": found.low,
                "high": found.high,
                "level": found.level,
                "n": found.n,
                "stories": found.clusters,
                "method": found.method,
            }
        )

    for system in systems_of(items):
        own = items[items["system"].eq(system)].assign(invalid=lambda part: 1.0 - part["valid"])
        where: dict[str, object] = {"system": system, "scope": "overall", "group": None}
        add(where, own, "invalid", "all", "invalid")
        for form, ending in FORMS.items():
            add(where, own, "accuracy", form, f"correct{ending}")
            rows += _spread(where, own, form, f"correct{ending}", level)
            for name in CRITERION_NAMES:
                add(where, own, f"{name}_fails", form, f"{name}_fails{ending}")
        for scope in SCOPES:
            for group, part in scope_frame(own, scope).items():
                where = {"system": system, "scope": scope, "group": group}
                for form, ending in FORMS.items():
                    add(where, part, "accuracy", form, f"correct{ending}")
    return pd.DataFrame(rows)


def _spread(
    where: dict[str, object], own: pd.DataFrame, form: str, column: str, level: float
) -> list[dict[str, object]]:
    """Return the sample standard deviation of the three phrasings' accuracies, if all have one."""
    held = own[own[column].notna()]
    accuracies = held.groupby("phrasing")[column].mean()
    if set(accuracies.index) != set(PHRASINGS):
        return []
    nothing = float("nan")
    figure = {
        "measure": "accuracy_spread",
        "form": form,
        "estimate": float(accuracies.std(ddof=1)),
        "low": nothing,
        "high": nothing,
        "level": level,
        "n": len(held),
        "stories": held["sample_id"].nunique(),
        "method": "standard deviation over phrasings",
    }
    return [{**where, **figure}]
