"""What a review has let through: the share of its final items that are wrong after all.

Two annotators who pass a wrong item agree, and those who overlook the same hard items agree most:
no disagreement shows that, and no figure that takes people's errors for independent holds then. So
the share is measured, or bounded, for each stage that made items final:

- *recheck*: where an expert judged a random sample of what the stage's voters all passed, without
  seeing their votes (an audit of a built-in project, before or after them), the share that the
  expert failed, each item weighed by one over its probability of being drawn. How voters' errors
  depend on each other does not matter; where the expert errs, so does the figure.
- *bound*: without one, how many wrong items all voters can have passed at most, if each of them
  finds at least a given share of what is wrong, however much they overlook together. It has no
  estimate.

``contrafact review plan --figure residual`` draws a further sample of final items for an expert.

RFC-BENCH, sections 2.2.3 and 2.2.4.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from contrafact.errors import InputError
from contrafact.review.project import DELIBERATING, Project, Stage
from contrafact.review.state import ReviewItem, ReviewState, Vote
from contrafact.stats.sampling import stratified_share
from contrafact.stats.votes import missed_at_most

__all__ = ["COLUMNS", "Share", "residual_cells", "residual_error", "residual_notes"]

FINDS = 1 / 3
"""The share of wrong items that every voter is taken to find, where no recheck measures it."""

LEVEL = 0.95
_JUDGING = ("independent", *DELIBERATING)


@dataclass(frozen=True)
class Share:
    """The share of some final items that are wrong.

    Attributes:
        name: The stage that made them final; ``final items`` for all.
        rechecked: How many items of the random sample an expert judged.
        estimate: The share, 0 to 1; None where there is only a bound.
    """

    name: str
    items: int
    basis: Literal["recheck", "bound", "recheck and bound"]
    rechecked: int
    failed: int
    estimate: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Residual:
    """What a review has let through: the share of final items that are wrong, and by stage."""

    wrong: Share
    by_stage: tuple[Share, ...]
    finds: float
    level: float


def residual_error(state: ReviewState, *, finds: float = FINDS) -> Residual:
    """Return what share of a review's final items is wrong.

    Only votes on an item's present text count. Bounds rest on ``finds``, the share of wrong items
    that every voter finds at least.

    Raises:
        InputError: The project makes items final on no verdict of all voters, or nothing is final.
    """
    if not 0.0 < finds < 1.0:
        raise InputError(f"people cannot find {finds:g} of what is wrong", hint="0 < share < 1")
    project = state.project
    good = passing_verdicts(project)
    made: dict[str, list[ReviewItem]] = defaultdict(list)
    for item in state.items.values():
        if item.outcome == "final" and (last := _deciding(project, item)):
            made[last[0].stage].append(item)
    if not made:
        raise InputError("no item is final yet", hint="estimate it once the review is further on")
    shares = tuple(
        _stage_share(state, stage, made[stage.id], good, finds)
        for stage in project.flow
        if stage.id in made
    )
    return Residual(_together(shares), shares, finds, LEVEL)


COLUMNS = ("items", "n", "from", "rechecked", "failed", "share", "95% interval")


def residual_cells(one: Share) -> tuple[str, ...]:
    """Return a share as a row of a table."""
    most = f"{100 * one.high:.1f}%"
    share = ("–", f"at most {most}")
    if one.estimate is not None:
        share = (f"{100 * one.estimate:.1f}%", f"{100 * one.low:.1f}% to {most}")
    seen = (f"{one.rechecked:,}", f"{one.failed:,}") if one.rechecked else ("–", "–")
    return (one.name, f"{one.items:,}", one.basis, *seen, *share)


def residual_notes(found: Residual) -> list[str]:
    """Return what the figures rest on, in a sentence for each basis."""
    basis, notes = found.wrong.basis, []
    if "recheck" in basis:
        notes.append(
            "recheck: an expert judged a random sample of what all voters passed, without their "
            "votes; wrong is what the expert fails."
        )
    if "bound" in basis:
        notes.append(
            f"bound: nobody rechecked a random sample; this holds if each voter finds at least "
            f"{100 * found.finds:.0f}% of what is wrong, however much they overlook together."
        )
    return notes


def _together(shares: tuple[Share, ...]) -> Share:
    """Return the share of all items: bounds of the parts are added, which is cautious."""
    items = sum(one.items for one in shares)
    known = [one.estimate * one.items for one in shares if one.estimate is not None]
    estimate = sum(known) / items if len(known) == len(shares) else None
    bases = {one.basis for one in shares}
    return Share(
        "final items",
        items,
        bases.pop() if len(bases) == 1 else "recheck and bound",
        sum(one.rechecked for one in shares),
        sum(one.failed for one in shares),
        estimate,
        sum(one.low * one.items for one in shares) / items,
        sum(one.high * one.items for one in shares) / items,
    )


def _stage_share(
    state: ReviewState,
    stage: Stage,
    finals: list[ReviewItem],
    good: frozenset[str],
    finds: float,
) -> Share:
    outcomes, weights, strata = [], [], []
    for item in state.items.values():
        votes = _deciding(state.project, item, stage.id)
        if not votes or any(v.ballot.flagged or v.ballot.verdict not in good for v in votes):
            continue
        if check := _recheck(state.project, item, stage):
            batch = state.batches[str(check.batch)]
            outcomes.append(check.ballot.verdict not in good)
            weights.append(1.0 / batch.drawn[item.id])
            strata.append(batch.strata[item.id])
    n, failed = len(finals), sum(outcomes)
    if outcomes:
        # A final item that the expert looked at and passed is right, as far as the expert knows;
        # of the others the sample tells as of new items, so that both numbers make the spread.
        unseen = sum(_recheck(state.project, item, stage) is None for item in finals)
        found = stratified_share(outcomes, weights, strata, level=LEVEL)
        spread = math.sqrt(1.0 + len(outcomes) / unseen) if unseen else 0.0
        low = max(0.0, found.estimate - spread * (found.estimate - found.low))
        high = min(1.0, found.estimate + spread * (found.high - found.estimate))
        bounds = (share * unseen / n for share in (found.estimate, low, high))
        return Share(stage.title, n, "recheck", len(outcomes), failed, *bounds)
    fails: dict[int, int] = {}
    for item in state.items.values():
        for vote in item.votes:
            if vote.stage == stage.id:
                fails[vote.slot] = fails.get(vote.slot, 0) + (vote.ballot.verdict not in good)
    # Each voter alone bounds what all of them have passed; the least of the bounds holds.
    miss = (1.0 - LEVEL) / max(1, len(fails))
    most = min(missed_at_most(count, finds, miss) for count in fails.values())
    return Share(stage.title, n, "bound", 0, 0, None, 0.0, min(1.0, most / n))


def _deciding(project: Project, item: ReviewItem, stage: str | None = None) -> tuple[Vote, ...]:
    """Return an item's last votes on its present text, audits apart; those of a stage if named."""
    own = [
        vote
        for vote in item.votes
        if vote.text_version == item.text_version
        and project.stage(vote.stage).kind in _JUDGING
        and stage in (None, vote.stage)
    ]
    return tuple(v for v in own if (v.stage, v.round) == (own[-1].stage, own[-1].round))


def _recheck(project: Project, item: ReviewItem, stage: Stage) -> Vote | None:
    """Return an expert's last vote in a random sample, blind to a stage's votes; None if none."""
    for vote in reversed(item.votes):
        audit = project.stage(vote.stage)
        if (
            audit.kind == "audit"
            and vote.batch is not None
            and vote.text_version == item.text_version
            and stage.kind == "independent"
            and stage.id not in audit.shows
        ):
            return vote
    return None


def passing_verdicts(project: Project) -> frozenset[str]:
    """Return the verdicts that make an item final if all voters give them; else `InputError`."""
    audits = {stage.id for stage in project.flow if stage.kind == "audit"}
    good = {
        verdict
        for stage in project.flow
        if stage.kind == "independent" and len(stage.roles) > 1
        for rule in stage.rules
        if rule.to == "final" or rule.to in audits
        for verdict in (*rule.all, *rule.majority)
    }
    if not good:
        raise InputError(
            f"in '{project.name}' no verdict of several people tells right items from wrong ones",
            hint="audit a sample of its final items instead",
        )
    return frozenset(good)
