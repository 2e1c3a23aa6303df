"""What a review has let through: the share of its final items that are wrong after all.

Two annotators who pass a wrong item agree, so that no disagreement shows it. How often that
happens follows from how often they disagree, who is found to be right where somebody else looks
again (the audit's random sample, the adjudication), and how many items are wrong to begin with:
`contrafact.stats.votes` draws all of that together.

What it takes for granted:

- people err independently of each other given the truth. Where items are hard for everybody alike,
  more is wrong than this says; only an audit of final items finds that
  (``contrafact review plan --figure residual`` plans one);
- an adjudicator who has seen the votes is taken to judge independently of them;
- within a category, rewritten items apart, every item is as likely to be wrong as any other.

RFC-BENCH, sections 2.2.3 and 2.2.4.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.review.project import Project
from contrafact.review.state import ReviewItem, ReviewState
from contrafact.stats.votes import latent_truth

__all__ = [
    "RaterAccuracy",
    "Residual",
    "Share",
    "judging_votes",
    "passing_verdicts",
    "residual_error",
]

_JUDGING = ("independent", "audit", "adjudication", "arbitration", "discussion")


@dataclass(frozen=True)
class Share:
    """A share of items, as drawn.

    Attributes:
        name: What it is the share of.
        items: How many items there are.
        estimate: The median of the draws, 0 to 1.
        low: Lower bound.
        high: Upper bound.
    """

    name: str
    items: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class RaterAccuracy:
    """How accurate somebody is found to be at one kind of work.

    Attributes:
        name: Who.
        work: The kind of stage.
        votes: How many of their votes count.
        passes_right: The share of right items that they pass.
        fails_wrong: The share of wrong items that they fail.
    """

    name: str
    work: str
    votes: int
    passes_right: Share
    fails_wrong: Share


@dataclass(frozen=True)
class Residual:
    """What a review has let through.

    Attributes:
        wrong: The share of final items that are wrong.
        by_way: The same for each way in which items became final.
        lost: The share of removed items and hard cases that were right, of those that were
            voted on: what a first reviewer alone removed is not known.
        people: How accurate everybody is found to be.
        risk: By final item, the chance that it is wrong.
        way: By final item, how it became final: the rule's reason.
        level: The level of all intervals.
        rhat: How far the chains differ; above 1.05 there are too few draws, or too few votes to
            decide between explanations.
    """

    wrong: Share
    by_way: tuple[Share, ...]
    lost: Share | None
    people: tuple[RaterAccuracy, ...]
    risk: dict[str, float]
    way: dict[str, str]
    level: float
    rhat: float


def residual_error(
    state: ReviewState, *, level: float = 0.95, draws: int = 1_000, rng: np.random.Generator
) -> Residual:
    """Return what share of a review's final items is wrong, estimated from its votes.

    Only votes on an item's present text count, and of each person at each kind of stage the last.

    Args:
        state: The review; it need not be finished.
        level: The level of the intervals (equal-tailed, of the posterior).
        draws: How many draws each of four chains keeps.
        rng: Where randomness comes from.

    Raises:
        InputError: The project makes items final on no verdict of all voters, or nothing is final.
    """
    project = state.project
    good = passing_verdicts(project)
    votes_of = {item.id: judging_votes(project, item, good) for item in state.items.values()}
    judged = [item for item in state.items.values() if votes_of[item.id]]
    finals = np.array([item.outcome == "final" for item in judged], dtype=bool)
    if not finals.any():
        raise InputError("no item is final yet", hint="estimate it once the review is further on")
    people = sorted({person for item in judged for person in votes_of[item.id]})
    votes = np.array(
        [[int(votes_of[item.id].get(person, -1)) for person in people] for item in judged],
        dtype=np.int8,
    )

    def group(item: ReviewItem) -> str:
        if any(vote.ballot.correction is not None for vote in item.votes):
            return "rewritten"
        return f"as imported, {item.fields.get(project.category, '') if project.category else ''}"

    groups = np.array([group(item) for item in judged], dtype=object)
    ended = np.array([f"{item.outcome} {item.why}" for item in judged], dtype=object)
    found = latent_truth(
        votes,
        np.unique(groups, return_inverse=True)[1],
        np.unique(ended, return_inverse=True)[1],
        draws=draws,
        rng=rng,
    )

    def share(name: str, wrong: bool, items: NDArray[np.bool_]) -> Share:
        count = int(items.sum())
        drawn = found.wrong(items) / count
        return _share(name, drawn if wrong else 1.0 - drawn, count, level)

    ways = np.array([item.why for item in judged], dtype=object)
    gone = np.array([item.outcome in ("removed", "hard case") for item in judged], dtype=bool)
    risk = found.risk()
    return Residual(
        wrong=share("final items", True, finals),
        by_way=tuple(
            share(str(way), True, finals & (ways == way))
            for way in dict.fromkeys(ways[finals].tolist())
        ),
        lost=share("removed after votes", False, gone) if gone.any() else None,
        people=tuple(
            RaterAccuracy(
                name,
                work,
                int((votes[:, at] >= 0).sum()),
                _share("right items", found.sensitivity[:, at], 0, level),
                _share("wrong items", found.specificity[:, at], 0, level),
            )
            for at, (name, work) in enumerate(people)
        ),
        risk={item.id: float(risk[at]) for at, item in enumerate(judged) if finals[at]},
        way={item.id: item.why for at, item in enumerate(judged) if finals[at]},
        level=level,
        rhat=found.rhat,
    )


def passing_verdicts(project: Project) -> frozenset[str]:
    """Return the verdicts that make an item final where all who judge it apart give them.

    Raises:
        InputError: There are none: no verdict of several people tells right items from wrong ones.
    """
    good = {
        verdict
        for stage in project.flow
        if stage.kind == "independent" and len(stage.roles) > 1
        for rule in stage.rules
        if rule.to == "final"
        for verdict in (*rule.all, *rule.majority)
    }
    if not good:
        raise InputError(
            f"in '{project.name}' no verdict of several people tells right items from wrong ones",
            hint="audit a sample of its final items instead",
        )
    return frozenset(good)


def judging_votes(
    project: Project, item: ReviewItem, good: frozenset[str]
) -> dict[tuple[str, str], bool]:
    """Return who passed an item and who failed it, by person and kind of stage.

    Args:
        project: The project.
        item: The item; votes on earlier texts of it do not count.
        good: The verdicts that pass an item.
    """
    found: dict[tuple[str, str], bool] = {}
    for vote in item.votes:
        stage = project.stage(vote.stage)
        if vote.text_version != item.text_version or stage.kind not in _JUDGING:
            continue
        # A vote that does not pass an item may not fail it either: 'unresolved' does neither.
        if stage.kind == "independent":
            fails = True
        elif stage.kind == "audit":
            fails = set(stage.passes) <= good
        else:
            ruled = {v for rule in stage.rules for v in (*rule.all, *rule.some, *rule.majority)}
            fails = vote.ballot.verdict in ruled
        passed = vote.ballot.verdict in good
        if passed or fails:
            found[vote.who, stage.kind] = passed
    return found


def _share(name: str, draws: NDArray[np.float64], items: int, level: float) -> Share:
    tail = (1.0 - level) / 2.0
    low, middle, high = (float(one) for one in np.quantile(draws, [tail, 0.5, 1.0 - tail]))
    return Share(name, items, middle, low, high)
