"""Panels: each figure as a manager sees it, a plot with its words and the table beside it.

The words say what the plot shows, for a reader who cannot see it. Agreement is written as
`contrafact agree` prints it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from contrafact.exam.agreement import Coefficient
from contrafact.review.figures import plots
from contrafact.review.figures.agreement import (
    AgreementFigures,
    agreement_figures,
    rated_questions,
)
from contrafact.review.figures.audits import AuditFigures, TrainingRound, audits, training
from contrafact.review.figures.progress import Throughput, Progress, throughput, progress
from contrafact.review.state import ReviewState, Event

__all__ = ["Panel", "agreement_panels", "panels_of"]

_COEFFICIENTS = {
    "percent": "agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "krippendorff_alpha": "Krippendorff's alpha",
    "cohen_kappa": "Cohen's kappa",
}
_SHOWN_AUDITS = 4


@dataclass(frozen=True)
class Panel:
    """One figure.

    Attributes:
        key: Its name in addresses.
        title: What it shows.
        said: What it shows, in words and numbers.
        columns: The heads of its table.
        rows: The table's cells, as texts.
        numbers: Which columns hold numbers, from 0.
        draw: How it is drawn; None where there is nothing to draw yet.
        height: Of the drawing, in inches.
    """

    key: str
    title: str
    said: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int]
    draw: plots.Draw | None
    height: float = 3.0


def panels_of(state: ReviewState, events: Iterable[Event], now: datetime) -> list[Panel]:
    """Return every panel of a review: progress, pace, agreement, audits, training.

    Args:
        state: The review.
        events: Its history, for who took how long.
        now: The time.
    """
    found = [_progress(progress(state, now)), _pace(throughput(events))]
    for stage in state.project.flow:
        if stage.kind == "independent" and len(stage.roles) > 1:
            found += agreement_panels(state, stage.id)
    if any(stage.kind == "audit" for stage in state.project.flow):
        found.append(_audits(audits(state)))
    if any(stage.kind == "training" for stage in state.project.stages):
        found.append(_training(training(state)))
    return found


def agreement_panels(state: ReviewState, stage: str) -> list[Panel]:
    """Return a stage's agreement on its verdict and on each question, each with its matrix."""
    found = []
    for question in rated_questions(state, stage):
        figures = agreement_figures(state, stage, question)
        about = "the verdict" if question is None else question
        title = f"{state.project.stage(stage).title}: agreement on {about}"
        key = f"{stage}.{question or 'verdict'}"
        found.append(_agreement(figures, key, title))
        if figures.found is None:
            break  # who has not answered has not answered any of the questions either
        found.append(_matrix(figures, key, title.replace("agreement on", "who says what on")))
    return found


def _progress(found: Progress) -> Panel:
    names = [stage.title for stage in found.stages] + [f"ended: {o}" for o in found.outcomes]
    counts = [stage.by_category for stage in found.stages] + list(found.outcomes.values())
    parts = {
        category: [count.get(category, 0) for count in counts] for category in found.categories
    }
    several = len(found.categories) > 1
    rows: list[tuple[str, ...]] = []
    for stage, name in zip(found.stages, names, strict=False):
        rows.append(
            (
                name + (" (closed)" if stage.closed else ""),
                *([_n(parts[c][len(rows)]) for c in found.categories] if several else []),
                *map(_n, (stage.items, stage.places, stage.held, stage.votes)),
            )
        )
    for outcome, name in zip(found.outcomes, names[len(found.stages) :], strict=True):
        own = found.outcomes[outcome]
        by = [_n(own.get(c, 0)) for c in found.categories] if several else []
        rows.append((name, *by, _n(sum(own.values())), "", "", ""))
    heads = ("items", "decisions open", "in hand", "decisions made")
    columns = ("stage", *(found.categories if several else ()), *heads)
    ended = ", ".join(f"{sum(own.values()):,} {name}" for name, own in found.outcomes.items())
    at = [f"{stage.items:,} at {stage.title}" for stage in found.stages if stage.items]
    said = (
        f"Of {found.items:,} items {found.ended:,} have ended ({_percent(found.share)}): {ended}."
    )
    if at:
        roles = ", ".join(f"{number:,} for {role}" for role, number in found.by_role.items())
        said += f" Under way: {', '.join(at)}. Decisions open now: {found.places:,}"
        said += f" ({roles})." if roles else "."
    draw = plots.bars(names, parts, "items") if found.items else None
    return _panel("progress", "Progress", said, columns, rows, draw, 1.0 + 0.32 * len(names))


def _pace(found: Sequence[Throughput]) -> Panel:
    rows = [
        (
            one.person,
            _n(one.decisions),
            _decimal(one.hours, 1),
            _decimal(one.per_hour, 1),
            _decimal(one.seconds, 0),
        )
        for one in found
    ]
    columns = ("person", "decisions", "hours worked", "decisions per hour", "median seconds each")
    total = sum(one.decisions for one in found)
    said = f"{total:,} decisions by {len(found):,} people, imported ones apart."
    if known := [one for one in found if not math.isnan(one.per_hour)]:
        fastest = max(known, key=lambda one: one.per_hour)
        slowest = min(known, key=lambda one: one.per_hour)
        said += (
            f" From {_decimal(slowest.per_hour, 1)} an hour ({slowest.person}) to "
            f"{_decimal(fastest.per_hour, 1)} ({fastest.person}); pauses are left out."
        )
    draw = plots.cumulative({one.person: one.times for one in found}) if total else None
    return _panel("pace", "Throughput", said, columns, rows, draw)


def _agreement(figures: AgreementFigures, key: str, title: str) -> Panel:
    columns = ("coefficient", "raters", "value", "95% interval", "items")
    if figures.found is None:
        return _panel(f"agreement-{key}", title, f"None yet: {figures.why}.", columns, [], None)
    found = figures.found
    rows = [_coefficient(one, len(found.raters)) for one in found.coefficients]
    percent = next(row for row in rows if row[0] == "agreement")
    ac1 = next(row for row in rows if row[0] == "Gwet's AC1")
    said = (
        f"{found.items:,} items, {len(found.raters)} raters, {found.ratings:,} ratings. "
        f"Agreement {percent[2]} ({percent[3] or 'no interval'}), "
        f"Gwet's AC1 {ac1[2]} ({ac1[3] or 'no interval'}); "
        f"rated differently: {sum(one.count for one in found.disagreements):,} items."
    )
    return _panel(
        f"agreement-{key}", title, said, columns, rows, plots.growth_lines(figures.growth)
    )


def _matrix(figures: AgreementFigures, key: str, title: str) -> Panel:
    matrix = figures.matrix
    assert matrix is not None, "a matrix is made wherever agreement is"
    counts = matrix.shown
    rows = [
        (name, *(_n(int(value)) for value in own))
        for name, own in zip(matrix.categories, counts, strict=True)
    ]
    corner = f"{matrix.raters[0]} \\ {matrix.raters[1]}" if matrix.raters else "one \\ another"
    told = [
        (int(matrix.counts[one, other]), matrix.categories[one], matrix.categories[other])
        for one in range(len(matrix.categories))
        for other in range(one + 1, len(matrix.categories))
        if matrix.counts[one, other]
    ]
    pairs = ", ".join(f"{first} and {second}: {n:,}" for n, first, second in sorted(told)[::-1])
    said = f"Pairs of people who differ on an item: {pairs or 'none'}."
    height = 1.6 + 0.5 * len(rows)
    return _panel(
        f"matrix-{key}", title, said, (corner, *matrix.categories), rows, plots.heat(matrix), height
    )


def _audits(found: Sequence[AuditFigures]) -> Panel:
    columns = (
        "batch",
        "stratum",
        "in the batch",
        "judged",
        "passed",
        "rate",
        "95% interval",
        "result",
    )
    rows = [
        (
            audit.batch,
            row.stratum,
            *map(_n, (row.size, row.sample, row.passed)),
            _percent(row.rate),
            _bounds(row.low, row.high),
            audit.result or f"under way, {audit.judged} of {audit.drawn} judged",
        )
        for audit in found
        for row in audit.rows
    ]
    told = []
    for audit in found:
        row = audit.rows[-1]
        result = audit.result or f"under way with {audit.judged} of {audit.drawn} judged"
        told.append(f"{audit.batch}: {row.passed:,} of {row.sample:,} passed, {result}")
    said = "; ".join(told) + "." if told else "No audit was drawn yet."
    last = [audit for audit in found[-_SHOWN_AUDITS:] if audit.judged]
    lines = sum(bool(row.sample) for audit in last for row in audit.rows)
    draw = plots.intervals(last) if lines else None
    return _panel("audits", "Audits", said, columns, rows, draw, 1.0 + 0.3 * lines)


def _training(found: Sequence[TrainingRound]) -> Panel:
    columns = ("person", "round", "answered", "right", "accuracy", "95% interval", "threshold", "")
    words = {True: "passed", False: "not passed", None: "under way"}
    rows = [
        (
            one.person,
            _n(one.round),
            f"{one.answered:,} of {one.items:,}",
            _n(one.right),
            _percent(one.accuracy),
            _bounds(one.low, one.high),
            _percent(one.threshold),
            words[one.passed],
        )
        for one in found
    ]
    latest = {one.person: one for one in found}
    told = [
        f"{who}: round {one.round}, {_percent(one.accuracy)}, {words[one.passed]}"
        for who, one in latest.items()
    ]
    said = "; ".join(told) + "." if told else "Nobody has trained yet."
    draw = plots.rounds(found) if any(one.answered for one in found) else None
    return _panel("training", "Training", said, columns, rows, draw)


def _panel(
    key: str,
    title: str,
    said: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    draw: plots.Draw | None,
    height: float = 3.0,
) -> Panel:
    def numeric(cell: str) -> bool:
        return cell[:1].isdigit() or cell in ("", "undefined", "–") or cell[:1] == "-"

    numbers = frozenset(
        place
        for place in range(1, len(columns))
        if rows and all(numeric(row[place]) for row in rows)
    )
    return Panel(key, title, said, columns, tuple(rows), numbers, draw, height)


def _coefficient(one: Coefficient, raters: int) -> tuple[str, ...]:
    value = _percent if one.name == "percent" else _decimal
    if math.isnan(one.low):
        bounds = one.why.removeprefix("undefined: ")
    else:
        bounds = f"{value(one.low)} to {value(one.high)}"
    told = "all" if len(one.raters) == raters > 2 else " and ".join(one.raters)
    return _COEFFICIENTS.get(one.name, one.name), told, value(one.estimate), bounds, str(one.n)


def _n(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    return "undefined" if share != share else f"{100 * share:.1f}%"


def _decimal(value: float, digits: int = 2) -> str:
    return "undefined" if value != value else f"{value:.{digits}f}"


def _bounds(low: float, high: float) -> str:
    return "–" if low != low else f"{_percent(low)} to {_percent(high)}"
