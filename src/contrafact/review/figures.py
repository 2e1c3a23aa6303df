"""Figures of a review as tables: how far it is, agreement, audits, training.

Agreement is that of `contrafact agree`: of the ratings that `contrafact review export --what
ratings` writes, by the same functions with the same seed.

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
"""What stands for the category where a project has none."""
SEED = 0
"""The seed that `contrafact agree` takes where none is given."""

Cells = tuple[tuple[str, str, str], ...]
"""Item, rater and rating of each answer, in order of time."""
Row = tuple[str, ...]


@dataclass(frozen=True)
class FigureTable:
    """One figure: its name in files, its title, its cells, and what it comes to in a sentence."""

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    text: str = ""


def figure_tables(state: ReviewState, now: datetime) -> list[FigureTable]:
    """Return every figure of a review."""
    found = [progress_table(review_progress(state, now))]
    found += map(agreement_table, stage_ratings(state))
    if any(stage.kind == "audit" for stage in state.project.flow):
        found.append(audits_table(state))
    if any(stage.kind == "training" for stage in state.project.stages):
        found.append(training_table(state))
    return found


def write_tables(tables: Sequence[FigureTable], out: Path) -> list[Path]:
    """Write each table into a folder, as CSV under its name, and return the files."""
    out.mkdir(parents=True, exist_ok=True)
    files = [out / f"{table.key}.csv" for table in tables]
    for table, file in zip(tables, files, strict=True):
        write_rows([dict(zip(table.columns, row, strict=True)) for row in table.rows], file)
    return files


@dataclass(frozen=True)
class StageProgress:
    """One stage, as it is now.

    Attributes:
        closed: Whether nothing is given out there at present.
        votes: Decisions made here that stand, also those on items that have gone on.
        places: Decisions that are open here.
        waiting: Items that wait here for each other (audits, disagreement sets).
        forced: Of these, those that a manager can let go on now: they are in no batch yet.
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
    """A whole review, as it is now.

    Attributes:
        stages: The stages that items go through, in order.
        outcomes: By outcome and category, how many items ended so.
        by_role: Decisions that are open now; items that go on to later stages will need more.
    """

    items: int
    ended: int
    categories: tuple[str, ...]
    stages: tuple[StageProgress, ...]
    outcomes: Mapping[str, Mapping[str, int]]
    by_role: Mapping[str, int]

    @property
    def places(self) -> int:
        """How many decisions are open now."""
        return sum(stage.places for stage in self.stages)


def review_progress(state: ReviewState, now: datetime) -> ReviewProgress:
    """Return how far a review has come; at the time given, an item is in hand or abandoned."""
    category = {item.id: _category(state, item) for item in state.items.values()}
    votes = Counter(vote.stage for item in state.items.values() for vote in item.votes)
    roles: Counter[str] = Counter()
    stages = []
    for stage in state.project.flow:
        here = [state.items[name] for name in state.at[stage.id]]
        open_ = [slot for item in here for slot in item.slots if not slot.filled]
        roles.update(slot.role for slot in open_)
        waiting = [item for item in here if not item.slots] if stage.barrier else []
        found = StageProgress(
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
        stages.append(found)
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


def progress_table(found: ReviewProgress) -> FigureTable:
    """Return how far a review has come, by stage and outcome."""
    split = found.categories if len(found.categories) > 1 else ()

    def cells(counts: Mapping[str, int]) -> Row:
        return tuple(_count(counts.get(category, 0)) for category in split)

    rows: list[Row] = []
    for one in found.stages:
        name = one.stage.title + (" (closed)" if one.closed else "")
        numbers = map(_count, (one.items, one.places, one.in_hand, one.votes))
        rows.append((name, *cells(one.by_category), *numbers))
    for outcome, counts in found.outcomes.items():
        total = _count(sum(counts.values()))
        rows.append((f"ended: {outcome}", *cells(counts), total, "", "", ""))
    columns = ("stage", *split, "items", "decisions open", "in hand", "decisions made")
    ended = ", ".join(f"{sum(counts.values()):,} {name}" for name, counts in found.outcomes.items())
    at = [f"{one.items:,} at {one.stage.title}" for one in found.stages if one.items]
    share = found.ended / found.items if found.items else nan
    text = f"Of {found.items:,} items {found.ended:,} have ended ({_percent(share)}): {ended}."
    if at:
        roles = ", ".join(f"{number:,} for {role}" for role, number in found.by_role.items())
        text += f" Under way: {', '.join(at)}. Decisions open now: {found.places:,}"
        text += f" ({roles})." if roles else "."
    return FigureTable("progress", "Progress", columns, rows, text)


@dataclass(frozen=True)
class StageRatings:
    """The independent answers at one stage to one question; None for the verdict.

    ``why`` says why nobody can agree yet; it is empty where two people have answered on one item.
    """

    stage: str
    title: str
    question: str | None
    cells: Cells
    why: str


def rated_questions(state: ReviewState, stage: str) -> tuple[str | None, ...]:
    """Return what agreement can be asked about at a stage: the verdict, then its questions."""
    place = state.project.stage(stage)
    asked = [q for q in place.questions if state.project.question(q).options]
    # Where one question is the verdict, it would be shown twice.
    return (None, *(q for q in asked if q != place.verdict))


def stage_ratings(state: ReviewState) -> list[StageRatings]:
    """Return the answers at every stage where several people answer apart from each other.

    A stage where nobody has answered twice on an item yet has its verdict alone.
    """
    found = []
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
            found.append(StageRatings(stage.id, stage.title, question, cells, why))
            if why:
                break
    return found


def agreement_table(ratings: StageRatings) -> FigureTable:
    """Return a stage's agreement on its verdict or on a question."""
    about = ratings.question or "the verdict"
    title = f"{ratings.title}: agreement on {about}"
    key = f"{ratings.stage}.{ratings.question or 'verdict'}"
    columns = ("coefficient", "raters", "value", "95% interval", "items")
    if ratings.why:
        text = f"None yet: {ratings.why}."
        return FigureTable(f"agreement-{key}", title, columns, [], text)
    found = rated_agreement(ratings.cells)
    rows = [one.cells(len(found.raters)) for one in found.coefficients]
    percent = next(row for row in rows if row[0] == "agreement")
    ac1 = next(row for row in rows if row[0] == "Gwet's AC1")
    text = (
        f"{found.items:,} items, {len(found.raters)} raters, {found.ratings:,} ratings. "
        f"Agreement {percent[2]} ({percent[3] or 'no interval'}), "
        f"Gwet's AC1 {ac1[2]} ({ac1[3] or 'no interval'}); "
        f"rated differently: {sum(one['count'] for one in found.disagreements):,} items."
    )
    return FigureTable(f"agreement-{key}", title, columns, rows, text)


# The intervals of thousands of items take seconds, and a page is looked at again and again.
@lru_cache(maxsize=64)
def rated_agreement(cells: Cells) -> Agreement:
    """Return what `contrafact agree` says of answers."""
    names = ("item", "rater", "rating")
    rows = [(line, dict(zip(names, one, strict=True))) for line, one in enumerate(cells, start=2)]
    return agreement(ratings_of(rows, "ratings"), seed=SEED)


def audits_table(state: ReviewState) -> FigureTable:
    """Return audits' pass rates by stratum, as table 2 has them, and what came of each batch.

    A rate's interval is a Wilson interval at the effective number of items; items of one cluster
    (the project's ``cluster``) resemble each other.
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
    """Return every round of training of everybody, in order of people."""
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
            rows.append(
                (
                    *(person, _count(number), f"{len(answered):,} of {len(answers):,}"),
                    *(
                        _count(sum(answered)),
                        _percent(share.estimate),
                        _bounds(share.low, share.high),
                    ),
                    _percent(threshold),
                    result if len(answered) == len(answers) else "under way",
                )
            )
    return FigureTable("training", "Training", columns, rows)


def _count(number: int) -> str:
    return f"{number:,}"


def _percent(share: float) -> str:
    return "undefined" if math.isnan(share) else f"{100 * share:.1f}%"


def _bounds(low: float, high: float) -> str:
    return "–" if math.isnan(low) else f"{_percent(low)} to {_percent(high)}"
