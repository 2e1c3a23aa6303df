"""Every figure of the report, one row each, with its interval (FIN-FORCE, sections 3.5 and B.4).

Two forms. ``valid`` is the paper's: the mean over outputs that could be read and, for judged
scores, verdicts that could be read. ``strict`` counts what is invalid as wrong: an output that
could not be read, and a verdict that could not, are a 0. Perplexity has only the first form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contrafact.families.finforce.derived import average, change, delta_perplexity, overall
from contrafact.records import CRITERIA, SIDES
from contrafact.report.finforce.items import ERROR_CLASSES
from contrafact.report.replicates import Replicates, Sampler, mean_over
from contrafact.stats.intervals import Interval

__all__ = ["SCOPES", "SamplerPool", "estimate_figures", "figure_replicates"]

SCOPES = ("overall", *SIDES, "risk-opportunity")
"""What a figure is about; the last is risk minus opportunity (figure 2)."""

Key = tuple[str, str]
"""A measure and its form."""

_COLUMNS: dict[Key, str] = {
    ("valid", "all"): "valid",
    ("perplexity", "valid"): "perplexity",
    **{(criterion, "valid"): criterion for criterion in CRITERIA},
    **{(criterion, "strict"): f"{criterion}_strict" for criterion in CRITERIA},
    **{(name, "valid"): name for name in ERROR_CLASSES},
    ("base_distance", "valid"): "base_distance",
}


@dataclass(frozen=True)
class _Figure:
    """A figure, draw by draw, and what it rests on."""

    draws: tuple[Replicates, ...]
    n: int
    headlines: int
    values: NDArray[np.float64] | None = None
    labels: NDArray[np.object_] | None = None


class SamplerPool:
    """One sampler for each set of headlines, so that systems share their resamples."""

    def __init__(
        self, *, rng: np.random.Generator, resamples: int = 10_000, level: float = 0.95
    ) -> None:
        self.rng = rng
        self.resamples = resamples
        self.level = level
        self._samplers: dict[tuple[str, ...], Sampler] = {}

    def of(self, clusters: "pd.Series[str]") -> Sampler:
        """Return the sampler of these headlines."""
        key = tuple(sorted(set(clusters)))
        if key not in self._samplers:
            self._samplers[key] = Sampler(
                key, rng=self.rng, resamples=self.resamples, level=self.level
            )
        return self._samplers[key]


def estimate_figures(items: pd.DataFrame, pool: SamplerPool) -> pd.DataFrame:
    """Estimate every figure of every system, over all headlines and by category.

    Args:
        items: As ``prepare_items`` returns them.
        pool: Where resamples come from.

    Returns:
        One row per figure: ``system``, ``category`` (None: all headlines), ``scope`` (one of
        ``SCOPES``), ``measure``, ``form`` ("valid", "strict" or "all"), ``estimate``, ``low``,
        ``high``, ``level``, ``n`` (values it rests on; of an average, the fewer), ``headlines``,
        ``draws``, ``sd_over_draws`` (NaN for one draw), ``method``. Shares are in 0 to 1;
        ``perplexity_median`` pools the draws. A figure without values has no row.
    """
    rows: list[dict[str, object]] = []
    for system, own in items.groupby("system", sort=False):
        rows += _scope_rows(own, pool.of(own["sample_id"]), str(system), None)
        for category, part in own.groupby("category", sort=True):
            rows += _scope_rows(part, pool.of(part["sample_id"]), str(system), str(category))
    return pd.DataFrame(rows)


def figure_replicates(rows: pd.DataFrame, sampler: Sampler) -> dict[str, dict[Key, Replicates]]:
    """Return the replicates of one system's figures by scope, measure and form.

    Draws are averaged. Figures of two systems from one sampler can be subtracted.
    """
    return {
        scope: {key: mean_over(figure.draws) for key, figure in figures.items()}
        for scope, figures in _figures(rows, sampler).items()
    }


def _scope_rows(
    rows: pd.DataFrame, sampler: Sampler, system: str, category: str | None
) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    draws = int(rows["draw"].nunique())

    def note(scope: str, key: Key, interval: Interval, spread: float) -> None:
        found.append(
            {
                "system": system,
                "category": category,
                "scope": scope,
                "measure": key[0],
                "form": key[1],
                "estimate": interval.estimate,
                "low": interval.low,
                "high": interval.high,
                "level": interval.level,
                "n": interval.n,
                "headlines": interval.clusters,
                "draws": draws,
                "sd_over_draws": spread,
                "method": interval.method,
            }
        )

    for scope, figures in _figures(rows, sampler).items():
        for key, figure in figures.items():
            replicates = mean_over(figure.draws)
            if np.isnan(replicates[0]):
                continue
            note(scope, key, _interval(figure, replicates, sampler), _spread(figure.draws))
        if scope != "risk-opportunity":
            scored = rows[rows["perplexity"].notna()]
            if scope != "overall":
                scored = scored[scored["side"] == scope]
            if len(scored):
                values = scored["perplexity"].to_numpy(float)
                median = sampler.median(values, scored["sample_id"].to_numpy(object))
                note(scope, ("perplexity_median", "valid"), median, float("nan"))
    return found


def _interval(figure: _Figure, replicates: Replicates, sampler: Sampler) -> Interval:
    values, labels = figure.values, figure.labels
    if values is not None and labels is not None and replicates[0] in (0.0, 1.0):
        return sampler.share(values, labels)
    return sampler.interval(replicates, n=figure.n, clusters=figure.headlines)


def _spread(draws: Sequence[Replicates]) -> float:
    """Return the standard deviation over draws of the figure itself."""
    figures = np.array([draw[0] for draw in draws])
    figures = figures[~np.isnan(figures)]
    return float(figures.std(ddof=1)) if len(figures) > 1 else float("nan")


def _figures(rows: pd.DataFrame, sampler: Sampler) -> dict[str, dict[Key, _Figure]]:
    """Return the figures of one system by scope and key, draw by draw."""
    sides = _by_side(rows, sampler)
    headline = _headline(rows, sampler)
    for figures in sides.values():
        for form in ("valid", "strict"):
            pair = [figures.get((criterion, form)) for criterion in CRITERIA]
            if pair[0] is not None and pair[1] is not None:
                figures[("average", form)] = _Figure(
                    tuple(map(average, pair[0].draws, pair[1].draws)),
                    min(pair[0].n, pair[1].n),
                    min(pair[0].headlines, pair[1].headlines),
                )
        perplexity = figures.get(("perplexity", "valid"))
        if headline is not None and perplexity is not None:
            figures[("delta_perplexity", "valid")] = _Figure(
                tuple(delta_perplexity(draw, headline.draws[0]) for draw in perplexity.draws),
                perplexity.n,
                perplexity.headlines,
            )
    risk, opportunity = (sides[side] for side in SIDES)
    shared = [key for key in risk if key in opportunity]
    both = {key: _both(risk[key], opportunity[key], rows) for key in shared}
    if headline is not None:
        for figures in (both, *sides.values()):
            figures[("headline_perplexity", "valid")] = headline
    difference = {
        key: _Figure(
            tuple(map(change, risk[key].draws, opportunity[key].draws)),
            risk[key].n + opportunity[key].n,
            max(risk[key].headlines, opportunity[key].headlines),
        )
        for key in shared
    }
    return {"overall": both, **sides, "risk-opportunity": difference}


def _both(risk: _Figure, opportunity: _Figure, rows: pd.DataFrame) -> _Figure:
    values = labels = None
    if risk.values is not None and opportunity.values is not None:
        values = np.concatenate([risk.values, opportunity.values])
    if risk.labels is not None and opportunity.labels is not None:
        labels = np.concatenate([risk.labels, opportunity.labels])
    headlines = max(risk.headlines, opportunity.headlines)
    if labels is not None:
        headlines = len(set(labels))
    return _Figure(
        tuple(map(overall, risk.draws, opportunity.draws)),
        risk.n + opportunity.n,
        headlines,
        values,
        labels,
    )


def _headline(rows: pd.DataFrame, sampler: Sampler) -> _Figure | None:
    """Return the mean perplexity of the headlines, each counted once (section 3.5)."""
    scored = rows[rows["headline_perplexity"].notna()].drop_duplicates("sample_id")
    if scored.empty:
        return None
    values = scored["headline_perplexity"].to_numpy(float)
    labels = scored["sample_id"].to_numpy(object)
    return _Figure(tuple(sampler.means([(values, labels)])), len(values), len(values))


def _by_side(rows: pd.DataFrame, sampler: Sampler) -> Mapping[str, dict[Key, _Figure]]:
    """Return each side's means, draw by draw, all from one matrix product."""
    draws = sorted(int(draw) for draw in rows["draw"].unique())
    parts = {
        (str(side), int(str(draw))): part
        for (side, draw), part in rows.groupby(["side", "draw"], sort=False)
    }
    columns: dict[tuple[str, Key, int], tuple[NDArray[np.float64], NDArray[np.object_]]] = {}
    for (side, draw), part in parts.items():
        labels = part["sample_id"].to_numpy(object)
        for key, column in _COLUMNS.items():
            values = part[column].to_numpy(float)
            held = ~np.isnan(values)
            if held.any():
                columns[side, key, draw] = (values[held], labels[held])
    means = dict(zip(columns, sampler.means(list(columns.values())), strict=True))
    missing = np.full(1 + sampler.resamples, np.nan)
    sides: dict[str, dict[Key, _Figure]] = {side: {} for side in SIDES}
    for side in SIDES:
        for key in _COLUMNS:
            held_draws = [draw for draw in draws if (side, key, draw) in columns]
            if not held_draws:
                continue
            values = np.concatenate([columns[side, key, draw][0] for draw in held_draws])
            labels = np.concatenate([columns[side, key, draw][1] for draw in held_draws])
            sides[side][key] = _Figure(
                # A draw without values keeps its place, so that measures combine draw by draw.
                tuple(means.get((side, key, draw), missing) for draw in draws),
                len(values),
                len(set(labels)),
                values if key[0] != "perplexity" else None,
                labels,
            )
    return sides
