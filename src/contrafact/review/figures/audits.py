"""Audits and training: pass rates with their intervals, batches returned, who has passed.

RFC-BENCH, section 2.2.3 and table 2; FIN-FORCE, section 3.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contrafact.review.state import Batch, ReviewState
from contrafact.review.workflow import AuditRow, audit_rows
from contrafact.stats.intervals import clustered_proportion

__all__ = ["AuditFigures", "TrainingRound", "audits", "training"]


@dataclass(frozen=True)
class StratumRate(AuditRow):
    """A line of table 2, with the bounds (95%) of its rate; NaN with fewer than five clusters."""

    low: float
    high: float


@dataclass(frozen=True)
class AuditFigures:
    """One audit of one batch: the strata in order of names, and all together.

    ``result`` is ``passed``, ``returned``, or None while it is under way.
    """

    batch: str
    size: int
    drawn: int
    judged: int
    result: str | None
    rows: tuple[StratumRate, ...]


@dataclass(frozen=True)
class TrainingRound:
    """One person's round of training.

    Attributes:
        round: Which round, from 1.
        accuracy: The share of answered items that is right; NaN without any.
        low: Lower bound (95%); NaN with fewer than five answers.
        high: Upper bound; NaN with fewer than five answers.
        passed: Whether it did; None while the round is under way.
    """

    person: str
    stage: str
    round: int
    items: int
    answered: int
    right: int
    accuracy: float
    low: float
    high: float
    threshold: float
    passed: bool | None


def audits(state: ReviewState) -> list[AuditFigures]:
    """Return every audit that was drawn, in order.

    A rate's interval is a Wilson interval at the effective number of items; items of one cluster
    (the project's ``cluster``) resemble each other.
    """
    judged: dict[str, dict[str, str]] = {}
    for item in state.items.values():
        for vote in item.votes:
            if vote.batch is not None:
                judged.setdefault(vote.batch, {})[item.id] = vote.ballot.verdict
    return [
        audit_figures(state, batch, judged.get(batch.id, {})) for batch in state.batches.values()
    ]


def training(state: ReviewState) -> list[TrainingRound]:
    """Return every round of training of everybody, in order of people."""
    rows = []
    for (person, name), trainee in sorted(state.trainees.items()):
        stage = state.project.stage(name)
        for number, answers in enumerate(trainee.rounds, start=1):
            given = [right for right in answers.values() if right is not None]
            complete = len(given) == len(answers)
            share = clustered_proportion(given)
            rows.append(
                TrainingRound(
                    person,
                    name,
                    number,
                    len(answers),
                    len(given),
                    sum(given),
                    share.estimate,
                    share.low,
                    share.high,
                    stage.threshold,
                    share.estimate >= stage.threshold if complete else None,
                )
            )
    return rows


def audit_figures(state: ReviewState, batch: Batch, verdicts: Mapping[str, str]) -> AuditFigures:
    """Return one audit's figures.

    Args:
        verdicts: By item that is judged already, the auditor's verdict.
    """
    stage, field = state.project.stage(batch.stage), state.project.cluster
    rows = []
    for row in audit_rows(stage, batch.strata, verdicts):
        own = [i for i, s in batch.strata.items() if row.stratum in (s, "overall")]
        seen = [name for name in own if name in verdicts]
        passed = [verdicts[name] in stage.passes for name in seen]
        clusters = [
            str(state.items[name].fields.get(field) or name) if field else name for name in seen
        ]
        share = clustered_proportion(passed, clusters)
        bounds = (share.low, share.high)
        rows.append(StratumRate(row.stratum, row.size, row.sample, row.passed, *bounds))
    return AuditFigures(
        batch.id, len(batch.members), len(batch.drawn), len(verdicts), batch.result, tuple(rows)
    )
