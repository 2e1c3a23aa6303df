"""The page that looks back: what was borne out, by side and stated likelihood, by which news."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from contrafact.families.finforce.hindsight import OUTCOMES, Looked, Rate
from contrafact.stats.intervals import Interval
from contrafact.text.delimit import visible_html

__all__ = ["calibration_points", "csv_rows", "hindsight_page", "results"]

_SHOWN = 200


@dataclass(frozen=True)
class Point:
    """A point of the calibration plot, in its coordinates from 0 to 1.

    Attributes:
        name: The stated likelihood.
        low: The lowest probability that it stands for.
        high: The highest.
        stated: The mean of what was stated.
        hits: The share that was borne out.
        hits_low: Its interval's lower bound; NaN without one.
        hits_high: The upper bound.
        decided: Of how many scenarios.
    """

    name: str
    low: float
    high: float
    stated: float
    hits: float
    hits_low: float
    hits_high: float
    decided: int


def calibration_points(rates: Sequence[Rate]) -> list[Point]:
    """Return the points of the calibration plot: one for each stated likelihood."""
    return [
        Point(
            one.name,
            one.low,
            one.high,
            one.stated,
            one.hits.estimate,
            one.hits.low,
            one.hits.high,
            one.decided,
        )
        for one in rates
        if one.group == "likelihood" and one.decided
    ]


def results(
    looked: Sequence[Looked], rates: Sequence[Rate], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what ``hindsight.json`` holds: settings, counts, rates, and every scenario."""
    return {
        "settings": dict(facts),
        "outcomes": _outcomes(looked),
        "rates": [
            {
                "group": one.group,
                "name": one.name,
                "borne_out": one.borne_out,
                "decided": one.decided,
                "undecided": one.undecided,
                "hit_rate": _interval(one.hits),
                "hit_rate_strict": _interval(one.strict),
                "control_rate": None if one.control is None else _interval(one.control),
                "stated": _number(one.stated),
                "stated_low": _number(one.low),
                "stated_high": _number(one.high),
            }
            for one in rates
        ],
        "scenarios": [
            {
                **row,
                "matches": [
                    {
                        "date": match.news.date,
                        "title": match.news.title,
                        "url": match.news.url,
                        "borne_out": verdict.passed,
                        "invalid": verdict.invalid,
                        "control": match.control,
                    }
                    for match, verdict in (*one.matches, *one.control)
                ],
            }
            for row, one in zip(csv_rows(looked), looked, strict=True)
        ],
    }


def csv_rows(looked: Sequence[Looked]) -> list[dict[str, Any]]:
    """Return what ``hindsight.csv`` holds: a row for each scenario."""
    rows = []
    for one in looked:
        news = one.borne_out_by
        rows.append(
            {
                "id": one.scenario.id,
                "line": one.scenario.line,
                "headline": one.scenario.headline,
                "date": one.scenario.moment.day,
                "side": one.scenario.side,
                "text": one.scenario.text,
                "likelihood": one.scenario.stated,
                "outcome": one.outcome,
                "matches": len(one.matches),
                "news_date": None if news is None else news.date,
                "news_title": None if news is None else news.title,
                "news_url": None if news is None else news.url,
            }
        )
    return rows


def hindsight_page(
    looked: Sequence[Looked], rates: Sequence[Rate], facts: Mapping[str, Any]
) -> str:
    """Return the page; it needs nothing from anywhere else."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"visible": visible_html, "percent": _percent, "between": _between}
    folder = resources.files("contrafact.families.finforce") / "templates"
    template = environment.from_string((folder / "hindsight.html").read_text(encoding="utf-8"))
    hits = [one for one in looked if one.outcome == "borne out"]
    return template.render(
        facts=facts,
        outcomes=_outcomes(looked),
        rates=rates,
        control=any(one.control is not None for one in rates),
        plot=Markup(_plot(calibration_points(rates))),
        points=calibration_points(rates),
        hits=hits[:_SHOWN],
        left=len(hits) - len(hits[:_SHOWN]),
    )


def _outcomes(looked: Sequence[Looked]) -> dict[str, int]:
    counted = Counter(one.outcome for one in looked)
    return {name: counted[name] for name in OUTCOMES}


def _interval(one: Interval) -> dict[str, Any]:
    return {
        "estimate": _number(one.estimate),
        "low": _number(one.low),
        "high": _number(one.high),
        "n": one.n,
        "headlines": one.clusters,
        "method": one.method,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}%"


def _between(one: Interval) -> str:
    if math.isnan(one.low):
        return ""
    return f"{100 * one.low:.1f} to {100 * one.high:.1f}%"


def _plot(points: Sequence[Point]) -> str:
    """Return the calibration plot as SVG; what it says in words stands in the table below it."""
    if not points:
        return ""
    size, edge = 300, 44

    def x(value: float) -> str:
        return f"{edge + size * value:.1f}"

    def y(value: float) -> str:
        return f"{8 + size * (1 - value):.1f}"

    parts = [
        f'<svg viewBox="0 0 {size + edge + 12} {size + edge + 8}" role="img" '
        'aria-label="Stated likelihood against the share that was borne out">'
    ]
    for at in (0, 0.25, 0.5, 0.75, 1):
        parts.append(
            f'<path class="grid" d="M{x(0)} {y(at)}H{x(1)}M{x(at)} {y(0)}V{y(1)}"/>'
            f'<text x="{edge - 6}" y="{y(at)}" text-anchor="end" dy="4">{at:.0%}</text>'
            f'<text x="{x(at)}" y="{size + 24}" text-anchor="middle">{at:.0%}</text>'
        )
    parts.append(f'<path class="even" d="M{x(0)} {y(0)}L{x(1)} {y(1)}"/>')
    for one in points:
        parts.append(
            f'<path class="range" d="M{x(one.low)} {y(one.hits)}H{x(one.high)}"/>'
            + (
                ""
                if math.isnan(one.hits_low)
                else f'<path class="interval" d="M{x(one.stated)} {y(one.hits_low)}'
                f'V{y(one.hits_high)}"/>'
            )
            + f'<circle cx="{x(one.stated)}" cy="{y(one.hits)}" r="4"/>'
        )
    parts.append(
        f'<text x="{x(0.5)}" y="{size + edge + 2}" text-anchor="middle">stated likelihood</text>'
    )
    return "".join((*parts, "</svg>"))
