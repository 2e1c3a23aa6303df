"""Figures of a review as tables: progress, agreement, audits and training.

Agreement equals that of `contrafact agree` on the file that `contrafact review export --what
ratings` writes: the functions and the seed are the same.

RFC-BENCH, section 2.2.3 and table 2; FIN-FORCE, section 3.3.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from math import nan
from pathlib import Path

from contrafact.review.export import rating_rows, write_rows
from contrafact.review.project import OUTCOMES, Stage
from contrafact.review.state import Batch, ReviewItem, ReviewState
from contrafact.review.workflow import audit_rows
from contrafact.stats.intervals import clustered_proportion
from contrafact.study.agreement import Agreement, agreement, ratings_of

__all__ = ["figure_tables", "write_tables"]

ALL = "all"
"""The category of items without one."""
SEED = 0
"""The default seed of `contrafact agree`."""

Cells = tuple[tuple[str, str, str], ...]
"""Item, rater and rating of each answer, in order of time."""
Row = tuple[str, ...]


@dataclass(frozen=True)
class FigureTable:
    """One table: its file name, title, columns, rows, and a sentence that sums it up."""

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    text: str = ""


def figure_tables(state: ReviewState, now: datetime) -> list[FigureTable]:
    tables = [progress_table(review_progress(state, now))]
    tables += map(agreement_table, stage_ratings(state))
    if any(stage.kind == "audit" for stage in state.project.flow):
        tables.append(audits_table(state))
    if any(stage.kind == "training" for stage in state.project.stages):
        tables.append(training_table(state))
    return tables


def write_tables(tables: Sequence[FigureTable], out: Path) -> list[Path]:
    """Write each table to a CSV file in a folder, and return the files."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{table.key}.csv" for table in tables]
    for table, file in zip(tables, files, strict=True):
        write_rows([dict(zip(table.columns, row, strict=True)) for row in table.rows], file)
    return files


@dataclass(frozen=True)
class StageProgress:
    """The present state of one stage.

    Attributes:
        closed: Whether no items are assigned at the stage now.
        votes: The decisions made here that count, including those on items that have moved on.
        places: The decisions still to be made here.
        waiting: The items that wait here for each other (audits, disagreement sets).
        forced: Those of them that are in no batch yet, so that a manager can release them.
    """

    stage: Stage
    closed: bool
    items: int
    by_category: Mapping[str, int]
    votes: int
    places: int
    in_hand: int
    waiting: int
    forced: int


@dataclass(frozen=True)
class ReviewProgress:
    """The present state of a whole review.

    Attributes:
        stages: The stages that items go through, in order.
        outcomes: The number of items by outcome and category.
        by_role: The decisions still to be made, by role; later stages will need more.
    """

    items: int
    ended: int
    categories: tuple[str, ...]
    stages: tuple[StageProgress, ...]
    outcomes: Mapping[str, Mapping[str, int]]
    by_role: Mapping[str, int]

    @property
    def places(self) -> int:
        return sum(stage.places for stage in self.stages)


def review_progress(state: ReviewState, now: datetime) -> ReviewProgress:
    category = {item.id: _category(state, item) for item in state.items.values()}
    votes = Counter(vote.stage for item in state.items.values() for vote in item.votes)
    roles: Counter[str] = Counter()
    stages = []
    for stage in state.project.flow:
        here = [state.items[name] for name in state.at[stage.id]]
        open_ = [slot for item in here for slot in item.slots if not slot.filled]
        roles.update(slot.role for slot in open_)
        waiting = [item for item in here if not item.slots] if stage.barrier else []
        progress = StageProgress(
            stage,
            closed=stage.id in state.closed,
            items=len(here),
            by_category=Counter(category[item.id] for item in here),
            votes=votes[stage.id],
            places=len(open_),
            in_hand=sum(slot.until is not None and slot.until > now for slot in open_),
            waiting=len(waiting),
            forced=sum(item.batch is None for item in waiting),
        )
        stages.append(progress)
    ended = [item for item in state.items.values() if item.outcome is not None]
    outcomes: dict[str, Counter[str]] = {
        outcome: Counter(category[item.id] for item in ended if item.outcome == outcome)
        for outcome in OUTCOMES
    }
    categories = tuple(sorted(set(category.values())))
    return ReviewProgress(len(state.items), len(ended), categories, tuple(stages), outcomes, roles)


def _category(state: ReviewState, item: ReviewItem) -> str:
    field = state.project.category
    return (str(item.fields.get(field) or "").strip() if field else "") or ALL


def progress_table(review: ReviewProgress) -> FigureTable:
    """Return the table of a review's progress, by stage and outcome."""
    split = review.categories if len(review.categories) > 1 else ()

    def cells(counts: Mapping[str, int]) -> Row:
        return tuple(_count(counts.get(category, 0)) for category in split)

    rows: list[Row] = []
    for part in review.stages:
        name = part.stage.title + (" (closed)" if part.closed else "")
        numbers = map(_count, (part.items, part.places, part.in_hand, part.votes))
        rows.append((name, *cells(part.by_category), *numbers))
    for outcome, counts in review.outcomes.items():
        total = _count(sum(counts.values()))
        rows.append((f"ended: {outcome}", *cells(counts), total, "", "", ""))
    columns = ("stage", *split, "items", "decisions open", "in hand", "decisions made")
    outcomes = review.outcomes.items()
    ended = ", ".join(f"{sum(counts.values()):,} {name}" for name, counts in outcomes)
    at = [f"{part.items:,} at {part.stage.title}" for part in review.stages if part.items]
    share = review.ended / review.items if review.items else nan
    text = f"Of {review.items:,} items {review.ended:,} have ended ({_percent(share)}): {ended}."
    if at:
        roles = ", ".join(f"{number:,} for {role}" for role, number in review.by_role.items())
        text += f" Under way: {', '.join(at)}. Decisions open now: {review.places:,}"
        text += f" ({roles})." if roles else "."
    return FigureTable("progress", "Progress", columns, rows, text)


@dataclass(frozen=True)
class StageRatings:
    """The independent answers at one stage to one question (None: the verdict).

    ``why`` says why there is no agreement to compute yet; it is empty if there is.
    """

    stage: str
    title: str
    question: str | None
    cells: Cells
    why: str


def rated_questions(state: ReviewState, stage: str) -> tuple[str | None, ...]:
    """Return what agreement can be computed on at a stage: None (the verdict), then questions."""
    place = state.project.stage(stage)
    asked = [q for q in place.questions if state.project.question(q).options]
    # If one question is the verdict, it would be shown twice.
    return (None, *(q for q in asked if q != place.verdict))


def stage_ratings(state: ReviewState) -> list[StageRatings]:
    """Return the answers at every stage where several people answer independently.

    Until an item has two answers, only the verdict of a stage is included.
    """
    ratings = []
    for stage in state.project.flow:
        if stage.kind != "independent" or len(stage.roles) < 2:
            continue
        for question in rated_questions(state, stage.id):
            rows = rating_rows(state, stages=(stage.id,), question=question)
            cells = tuple((row["item"], row["rater"], row["rating"]) for row in rows)
            why = ""
            if len({rater for _, rater, _ in cells}) < 2:
                why = "fewer than two people have answered here"
            elif len({item for item, _, _ in cells}) == len(cells):
                why = "no item has two answers yet"
            ratings.append(StageRatings(stage.id, stage.title, question, cells, why))
            if why:
                break
    return ratings


def agreement_table(ratings: StageRatings) -> FigureTable:
    """Return the table of a stage's agreement on its verdict or on a question."""
    about = ratings.question or "the verdict"
    title = f"{ratings.title}: agreement on {about}"
    key = f"{ratings.stage}.{ratings.question or 'verdict'}"
    columns = ("coefficient", "raters", "value", "95% interval", "items")
    if ratings.why:
        text = f"None yet: {ratings.why}."
        return FigureTable(f"agreement-{key}", title, columns, [], text)
    result = rated_agreement(ratings.cells)
    rows = [coefficient.cells(len(result.raters)) for coefficient in result.coefficients]
    percent = next(row for row in rows if row[0] == "agreement")
    ac1 = next(row for row in rows if row[0] == "Gwet's AC1")
    text = (
        f"{result.items:,} items, {len(result.raters)} raters, {result.ratings:,} ratings. "
        f"Agreement {percent[2]} ({percent[3] or 'no interval'}), "
        f"Gwet's AC1 {ac1[2]} ({ac1[3] or 'no interval'}); "
        f"rated differently: {sum(pair['count'] for pair in result.disagreements):,} items."
    )
    return FigureTable(f"agreement-{key}", title, columns, rows, text)


# Cached, as the intervals of thousands of items take seconds and pages are opened again and again.
@lru_cache(maxsize=64)
def rated_agreement(cells: Cells) -> Agreement:
    """Return the agreement of answers, as `contrafact agree` computes it."""
    names = ("item", "rater", "rating")
    rows = [(line, dict(zip(names, cell, strict=True))) for line, cell in enumerate(cells, start=2)]
    return agreement(ratings_of(rows, "ratings"), seed=SEED)


def audits_table(state: ReviewState) -> FigureTable:
    """Return the table of audits: pass rates by stratum, as in table 2, and each batch's result.

    Intervals are Wilson intervals at the effective number of items, as items of one cluster (the
    project's ``cluster``) are not independent.
    """
    columns = (
        *("batch", "stratum", "in the batch", "judged", "passed"),
        *("rate", "95% interval", "result"),
    )
    rows = [row for batch in state.batches.values() for row in _audit_rows(state, batch)]
    return FigureTable("audits", "Audits", columns, rows)


def _audit_rows(state: ReviewState, batch: Batch) -> Iterator[Row]:
    stage, field = state.project.stage(batch.stage), state.project.cluster
    verdicts = {
        name: vote.ballot.verdict
        for name in batch.drawn
        for vote in state.items[name].votes
        if vote.batch == batch.id
    }
    result = batch.result or f"under way, {len(verdicts)} of {len(batch.drawn)} judged"
    for row in audit_rows(stage, batch.strata, verdicts):
        group = [
            name for name, stratum in batch.strata.items() if row.stratum in (stratum, "overall")
        ]
        seen = [name for name in group if name in verdicts]
        clusters = [
            str(state.items[name].fields.get(field) or name) if field else name for name in seen
        ]
        share = clustered_proportion([verdicts[name] in stage.passes for name in seen], clusters)
        numbers = map(_count, (row.size, row.sample, row.passed))
        rate = (_percent(row.rate), _bounds(share.low, share.high))
        yield (batch.id, row.stratum, *numbers, *rate, result)


def training_table(state: ReviewState) -> FigureTable:
    columns = (
        *("person", "round", "answered", "right", "accuracy"),
        *("95% interval", "threshold", "result"),
    )
    rows = []
    for (person, name), trainee in sorted(state.trainees.items()):
        threshold = state.project.stage(name).threshold
        for number, answers in enumerate(trainee.rounds, start=1):
            answered = [right for right in answers.values() if right is not None]
            share = clustered_proportion(answered)
            result = "passed" if share.estimate >= threshold else "not passed"
            whole = f"{len(answered):,} of {len(answers):,}"
            rate = (_percent(share.estimate), _bounds(share.low, share.high), _percent(threshold))
            result = result if len(answered) == len(answers) else "under way"
            rows.append((person, _count(number), whole, _count(sum(answered)), *rate, result))
    return FigureTable("training", "Training", columns, rows)


def _count(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    return "undefined" if math.isnan(share) else f"{100 * share:.1f}%"


def _bounds(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{_percent(low)} to {_percent(high)}"
