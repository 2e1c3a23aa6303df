"""Every figure of a review as a table: how far it is, agreement, audits, errors left, training.

Agreement is written as `contrafact agree` prints it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from contrafact.errors import InputError
from contrafact.review.events import Event
from contrafact.review.export import write_rows
from contrafact.review.figures.agreement import (
    StageRatings,
    disagreement_matrix,
    rated_agreement,
    stage_ratings,
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
from contrafact.review.state import ReviewState

__all__ = ["agreement_tables", "figure_tables", "progress_table", "write_tables"]


@dataclass(frozen=True)
class FigureTable:
    """One figure: its name in files, its title, what it comes to in a sentence, and its cells."""

    key: str
    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, ...]]

    @cached_property
    def numbers(self) -> frozenset[int]:
        """Which columns hold numbers, from 0."""

        def numeric(cell: str) -> bool:
            return cell[:1].isdigit() or cell[:1] == "-" or cell in ("", "undefined", "–")

        places = range(1, len(self.columns)) if self.rows else ()
        return frozenset(at for at in places if all(numeric(row[at]) for row in self.rows))


def figure_tables(state: ReviewState, events: Iterable[Event], now: datetime) -> list[FigureTable]:
    """Return every figure of a review."""
    found = [
        progress_table(review_progress(state, now)),
        throughput_table(throughput(events), agreement_by_person(state)),
    ]
    found += [table for one in stage_ratings(state) for table in agreement_tables(one)]
    if any(stage.kind == "audit" for stage in state.project.flow):
        found.append(audits_table(audits(state)))
    if (residual := residual_table(state)) is not None:
        found.append(residual)
    if any(stage.kind == "training" for stage in state.project.stages):
        found.append(training_table(training(state)))
    return found


def write_tables(tables: Sequence[FigureTable], out: Path) -> list[Path]:
    """Write each table into a folder, as CSV under its name, and return the files."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{table.key}.csv" for table in tables]
    for table, file in zip(tables, files, strict=True):
        write_rows([dict(zip(table.columns, row, strict=True)) for row in table.rows], file)
    return files


def agreement_tables(ratings: StageRatings) -> list[FigureTable]:
    """Return a stage's agreement on its verdict or on a question, and who says what."""
    about = ratings.question or "the verdict"
    title = f"{ratings.title}: agreement on {about}"
    key = f"{ratings.stage}.{ratings.question or 'verdict'}"
    columns = ("coefficient", "raters", "value", "95% interval", "items")
    if ratings.why:
        text = f"None yet: {ratings.why}."
        return [FigureTable(f"agreement-{key}", title, text, columns, [])]
    found = rated_agreement(ratings.cells)
    rows = [one.cells(len(found.raters)) for one in found.coefficients]
    percent = next(row for row in rows if row[0] == "agreement")
    ac1 = next(row for row in rows if row[0] == "Gwet's AC1")
    text = (
        f"{found.items:,} items, {len(found.raters)} raters, {found.ratings:,} ratings. "
        f"Agreement {percent[2]} ({percent[3] or 'no interval'}), "
        f"Gwet's AC1 {ac1[2]} ({ac1[3] or 'no interval'}); "
        f"rated differently: {sum(one.count for one in found.disagreements):,} items."
    )
    agreement = FigureTable(f"agreement-{key}", title, text, columns, rows)
    return [agreement, _matrix_table(ratings, key, f"{ratings.title}: who says what on {about}")]


def progress_table(found: ReviewProgress) -> FigureTable:
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
    return FigureTable("progress", "Progress", text, columns, rows)


def throughput_table(
    found: Sequence[Throughput], agreement: Mapping[str, tuple[int, int]] | None = None
) -> FigureTable:
    """Return everybody's throughput, and how often they agree with others on one item.

    Args:
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
    return FigureTable("throughput", "Throughput", text, columns, rows)


def _agreeing(pairs: tuple[int, int]) -> str:
    same, all_ = pairs
    return f"{_percent(same / all_)} of {all_:,}" if all_ else "–"


def _matrix_table(ratings: StageRatings, key: str, title: str) -> FigureTable:
    """Return how often two people give which answers to one item."""
    matrix = disagreement_matrix(ratings.cells)
    rows = [
        (name, *(_count(int(value)) for value in own))
        for name, own in zip(matrix.categories, matrix.shown, strict=True)
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
    return FigureTable(f"matrix-{key}", title, text, (corner, *matrix.categories), rows)


def audits_table(found: Sequence[AuditFigures]) -> FigureTable:
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
    return FigureTable("audits", "Audits", text, columns, rows)


def residual_table(state: ReviewState) -> FigureTable | None:
    """Return what share of the final items is wrong, as a recheck measured it, or at most.

    There is none until an item is final, and where no verdict of several people makes one so.
    """
    try:
        found = residual_error(state)
    except InputError:
        return None
    rows = [residual_cells(one) for one in (found.wrong, *found.by_stage)]
    text = " ".join(residual_notes(found))
    return FigureTable("residual", "Wrong, of final items", text, ("stage", *COLUMNS[1:]), rows)


def training_table(found: Sequence[TrainingRound]) -> FigureTable:
    """Return everybody's rounds of training."""
    columns = (
        *("person", "round", "answered", "right", "accuracy"),
        *("95% interval", "threshold", "result"),
    )
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
    return FigureTable("training", "Training", text, columns, rows)


def _count(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    return "undefined" if share != share else f"{100 * share:.1f}%"


def _decimal(value: float, digits: int = 2) -> str:
    return "undefined" if value != value else f"{value:.{digits}f}"


def _bounds(low: float, high: float) -> str:
    return "–" if low != low else f"{_percent(low)} to {_percent(high)}"
