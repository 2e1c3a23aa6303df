"""Panels: each figure as a manager sees it, a plot with its description and its table.

The description says what the plot shows, for a reader who cannot see it. Agreement is written as
`contrafact agree` prints it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from contrafact.errors import InputError
from contrafact.review.figures import plots
from contrafact.review.figures.agreement import (
    AgreementFigures,
    agreement_figures,
    rated_questions,
)
from contrafact.review.figures.audits import AuditFigures, TrainingRound, audits, training
from contrafact.review.figures.progress import (
    ReviewProgress,
    Throughput,
    agreement_by_person,
    review_progress,
    throughput,
)
from contrafact.review.residual import COLUMNS, residual_cells, residual_error, residual_notes
from contrafact.review.events import Event
from contrafact.review.state import ReviewState
from contrafact.review.suggestions import Influence, influence

__all__ = [
    "Panel",
    "agreement_panel",
    "agreement_panels",
    "audits_panel",
    "influence_panel",
    "matrix_panel",
    "panels_of",
    "progress_panel",
    "residual_panel",
    "throughput_panel",
    "training_panel",
]

_SHOWN_AUDITS = 4


@dataclass(frozen=True)
class Panel:
    """One figure.

    Attributes:
        key: Its name in addresses.
        title: What it shows.
        description: What it shows, in words and numbers.
        columns: The heads of its table.
        rows: The table's cells, as texts.
        draw: How it is drawn; None where there is nothing to draw yet.
        height: Of the drawing, in inches.
    """

    key: str
    title: str
    description: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    draw: plots.Draw | None
    height: float = 3.0

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Which columns hold numbers, from 0."""

        def numeric(cell: str) -> bool:
            return cell[:1].isdigit() or cell[:1] == "-" or cell in ("", "undefined", "–")

        places = range(1, len(self.columns)) if self.rows else ()
        return frozenset(at for at in places if all(numeric(row[at]) for row in self.rows))


def panels_of(state: ReviewState, events: Iterable[Event], now: datetime) -> list[Panel]:
    """Return every panel of a review: progress, throughput, agreement, audits, errors, training.

    Args:
        state: The review.
        events: Its history, for who took how long.
        now: The time.
    """
    found = [
        progress_panel(review_progress(state, now)),
        throughput_panel(throughput(events), agreement_by_person(state)),
    ]
    for stage in state.project.flow:
        if stage.kind == "independent" and len(stage.roles) > 1:
            found += agreement_panels(state, stage.id)
    if state.suggestions and any(s.suggestions != "none" for s in state.project.flow):
        found.append(influence_panel(influence(state, np.random.default_rng(0))))
    if any(stage.kind == "audit" for stage in state.project.flow):
        found.append(audits_panel(audits(state)))
    if (residual := residual_panel(state)) is not None:
        found.append(residual)
    if any(stage.kind == "training" for stage in state.project.stages):
        found.append(training_panel(training(state)))
    return found


def agreement_panels(state: ReviewState, stage: str) -> list[Panel]:
    """Return a stage's agreement on its verdict and on each question, each with its matrix."""
    found = []
    for question in rated_questions(state, stage):
        figures = agreement_figures(state, stage, question)
        about = "the verdict" if question is None else question
        title = f"{state.project.stage(stage).title}: agreement on {about}"
        key = f"{stage}.{question or 'verdict'}"
        found.append(agreement_panel(figures, key, title))
        if figures.found is None:
            break  # who has not answered has not answered any of the questions either
        found.append(matrix_panel(figures, key, title.replace("agreement on", "who says what on")))
    return found


def progress_panel(found: ReviewProgress) -> Panel:
    """Return how far a review has come, by stage and outcome."""
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
                *([_count(parts[c][len(rows)]) for c in found.categories] if several else []),
                *map(_count, (stage.items, stage.places, stage.held, stage.votes)),
            )
        )
    for outcome, name in zip(found.outcomes, names[len(found.stages) :], strict=True):
        own = found.outcomes[outcome]
        by = [_count(own.get(c, 0)) for c in found.categories] if several else []
        rows.append((name, *by, _count(sum(own.values())), "", "", ""))
    heads = ("items", "decisions open", "in hand", "decisions made")
    columns = ("stage", *(found.categories if several else ()), *heads)
    ended = ", ".join(f"{sum(own.values()):,} {name}" for name, own in found.outcomes.items())
    at = [f"{stage.items:,} at {stage.title}" for stage in found.stages if stage.items]
    text = (
        f"Of {found.items:,} items {found.ended:,} have ended ({_percent(found.share)}): {ended}."
    )
    if at:
        roles = ", ".join(f"{number:,} for {role}" for role, number in found.by_role.items())
        text += f" Under way: {', '.join(at)}. Decisions open now: {found.places:,}"
        text += f" ({roles})." if roles else "."
    draw = plots.bars(names, parts, "items") if found.items else None
    return Panel("progress", "Progress", text, columns, rows, draw, 1.0 + 0.32 * len(names))


def influence_panel(found: Sequence[Influence]) -> Panel:
    """Return how far people go along with a model's suggestions."""
    columns = (
        *("person", "shown", "agree", "not shown", "agree without"),
        *("difference", "95% interval"),
    )
    rows = []
    for one in found:
        gap = one.difference
        rows.append(
            (
                one.person,
                _count(one.shown[0]),
                _percent(one.shown[1] / one.shown[0]) if one.shown[0] else "–",
                _count(one.hidden[0]),
                _percent(one.hidden[1] / one.hidden[0]) if one.hidden[0] else "–",
                "–" if gap is None else f"{100 * gap[0]:.1f} points",
                "–" if gap is None else f"{100 * gap[1]:.1f} to {100 * gap[2]:.1f}",
            )
        )
    text = "No decision on an item with a suggestion yet."
    if found:
        text = (
            "Each person sees the model's answers on a share of the items that is drawn for them. "
            "What they agree with more often there than elsewhere is the suggestion's doing."
        )
    return Panel("influence", "Influence of suggestions", text, columns, rows, None)


def throughput_panel(
    found: Sequence[Throughput], agreement: Mapping[str, tuple[int, int]] | None = None
) -> Panel:
    """Return everybody's throughput, and how often they agree with others on one item.

    Args:
        found: The throughput.
        agreement: See `agreement_by_person`.
    """
    agrees = agreement or {}
    rows = [
        (
            one.person,
            _count(one.decisions),
            _decimal(one.hours, 1),
            _decimal(one.per_hour, 1),
            _decimal(one.seconds, 0),
            _agreeing(agrees.get(one.person, (0, 0))),
        )
        for one in found
    ]
    columns = (
        *("person", "decisions", "hours worked", "decisions per hour", "median seconds each"),
        "agrees with others",
    )
    total = sum(one.decisions for one in found)
    text = f"{total:,} decisions by {len(found):,} people, imported ones apart."
    if known := [one for one in found if not math.isnan(one.per_hour)]:
        fastest = max(known, key=lambda one: one.per_hour)
        slowest = min(known, key=lambda one: one.per_hour)
        text += (
            f" From {_decimal(slowest.per_hour, 1)} an hour ({slowest.person}) to "
            f"{_decimal(fastest.per_hour, 1)} ({fastest.person}); pauses are left out."
        )
    draw = plots.cumulative({one.person: one.times for one in found}) if total else None
    return Panel("pace", "Throughput", text, columns, rows, draw)


def _agreeing(pairs: tuple[int, int]) -> str:
    same, all_ = pairs
    return f"{_percent(same / all_)} of {all_:,}" if all_ else "–"


def agreement_panel(figures: AgreementFigures, key: str, title: str) -> Panel:
    """Return agreement at a stage on a question, as `contrafact agree` prints it."""
    columns = ("coefficient", "raters", "value", "95% interval", "items")
    if figures.found is None:
        return Panel(f"agreement-{key}", title, f"None yet: {figures.why}.", columns, [], None)
    found = figures.found
    rows = [one.cells(len(found.raters)) for one in found.coefficients]
    percent = next(row for row in rows if row[0] == "agreement")
    ac1 = next(row for row in rows if row[0] == "Gwet's AC1")
    text = (
        f"{found.items:,} items, {len(found.raters)} raters, {found.ratings:,} ratings. "
        f"Agreement {percent[2]} ({percent[3] or 'no interval'}), "
        f"Gwet's AC1 {ac1[2]} ({ac1[3] or 'no interval'}); "
        f"rated differently: {sum(one.count for one in found.disagreements):,} items."
    )
    return Panel(f"agreement-{key}", title, text, columns, rows, plots.growth_lines(figures.growth))


def matrix_panel(figures: AgreementFigures, key: str, title: str) -> Panel:
    """Return how often two people give which answers to one item."""
    matrix = figures.matrix
    assert matrix is not None, "a matrix is made wherever agreement is"
    counts = matrix.shown
    rows = [
        (name, *(_count(int(value)) for value in own))
        for name, own in zip(matrix.categories, counts, strict=True)
    ]
    corner = f"{matrix.raters[0]} \\ {matrix.raters[1]}" if matrix.raters else "one \\ another"
    differing = [
        (int(matrix.counts[one, other]), matrix.categories[one], matrix.categories[other])
        for one in range(len(matrix.categories))
        for other in range(one + 1, len(matrix.categories))
        if matrix.counts[one, other]
    ]
    pairs = ", ".join(
        f"{first} and {second}: {n:,}" for n, first, second in sorted(differing)[::-1]
    )
    text = f"Pairs of people who differ on an item: {pairs or 'none'}."
    height = 1.6 + 0.5 * len(rows)
    columns = (corner, *matrix.categories)
    return Panel(f"matrix-{key}", title, text, columns, rows, plots.heat(matrix), height)


def audits_panel(found: Sequence[AuditFigures]) -> Panel:
    """Return audits' pass rates by stratum."""
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
            *map(_count, (row.size, row.sample, row.passed)),
            _percent(row.rate),
            _bounds(row.low, row.high),
            audit.result or f"under way, {audit.judged} of {audit.drawn} judged",
        )
        for audit in found
        for row in audit.rows
    ]
    results = []
    for audit in found:
        row = audit.rows[-1]
        result = audit.result or f"under way with {audit.judged} of {audit.drawn} judged"
        results.append(f"{audit.batch}: {row.passed:,} of {row.sample:,} passed, {result}")
    text = "; ".join(results) + "." if results else "No audit was drawn yet."
    last = [audit for audit in found[-_SHOWN_AUDITS:] if audit.judged]
    lines = sum(bool(row.sample) for audit in last for row in audit.rows)
    draw = plots.intervals(last) if lines else None
    return Panel("audits", "Audits", text, columns, rows, draw, 1.0 + 0.3 * lines)


def residual_panel(state: ReviewState) -> Panel | None:
    """Return what share of the final items is wrong, as a recheck measured it, or at most.

    There is none until an item is final, and where no verdict of several people makes one so.
    """
    try:
        found = residual_error(state)
    except InputError:
        return None
    rows = [residual_cells(one) for one in (found.wrong, *found.by_stage)]
    text = " ".join(residual_notes(found))
    return Panel("residual", "Wrong, of final items", text, COLUMNS, rows, None)


def training_panel(found: Sequence[TrainingRound]) -> Panel:
    """Return everybody's rounds of training."""
    columns = ("person", "round", "answered", "right", "accuracy", "95% interval", "threshold", "")
    words = {True: "passed", False: "not passed", None: "under way"}
    rows = [
        (
            one.person,
            _count(one.round),
            f"{one.answered:,} of {one.items:,}",
            _count(one.right),
            _percent(one.accuracy),
            _bounds(one.low, one.high),
            _percent(one.threshold),
            words[one.passed],
        )
        for one in found
    ]
    latest = {one.person: one for one in found}
    results = [
        f"{who}: round {one.round}, {_percent(one.accuracy)}, {words[one.passed]}"
        for who, one in latest.items()
    ]
    text = "; ".join(results) + "." if results else "Nobody has trained yet."
    draw = plots.rounds(found) if any(one.answered for one in found) else None
    return Panel("training", "Training", text, columns, rows, draw)


def _count(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    return "undefined" if share != share else f"{100 * share:.1f}%"


def _decimal(value: float, digits: int = 2) -> str:
    return "undefined" if value != value else f"{value:.{digits}f}"


def _bounds(low: float, high: float) -> str:
    return "–" if low != low else f"{_percent(low)} to {_percent(high)}"
