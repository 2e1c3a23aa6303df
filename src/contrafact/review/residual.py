"""What a review has let through: the share of its final items that are wrong after all.

Two annotators who pass a wrong item agree, so that no disagreement tells of it. How often that
happens follows from how often they disagree, who is found to be right where somebody else looks
again (the audit's random sample, the adjudication), and how many items are wrong to begin with:
:mod:`contrafact.stats.votes` draws all of that together.

What it takes for granted:

- people err independently of each other given the truth. Where items are hard for everybody alike,
  more is wrong than this says; only an audit of final items finds that
  (``contrafact review plan --figure residual`` plans one);
- an adjudicator who has seen the votes is taken to judge anew;
- within a category, what was written anew apart, every item is as likely to be wrong as any other.

RFC-BENCH, sections 2.2.3 and 2.2.4.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.review.board import Board, Item, Vote
from contrafact.review.project import Project, Stage
from contrafact.stats.votes import Latent, latent_truth

__all__ = ["Person", "Residual", "Share", "residual_error"]

_JUDGING = ("independent", "audit", "adjudication", "arbitration")
_RULING = ("adjudication", "arbitration")


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
class Person:
    """How good somebody is found to be at one kind of work.

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
        people: How good everybody is found to be.
        risk: By final item, the chance that it is wrong.
        way: By final item, how it became final: the rule's reason.
        level: The level of all intervals.
        rhat: How far the chains differ; above 1.05 the draws are too few, or the votes too few to
            tell one story from another.
    """

    wrong: Share
    by_way: tuple[Share, ...]
    lost: Share | None
    people: tuple[Person, ...]
    risk: dict[str, float]
    way: dict[str, str]
    level: float
    rhat: float


def residual_error(
    board: Board, *, level: float = 0.95, draws: int = 1_000, rng: np.random.Generator
) -> Residual:
    """Return what share of a review's final items is wrong, estimated from its votes.

    Only votes on an item's present text count, and of each person at each kind of stage the last.

    Args:
        board: The review; it need not be finished.
        level: The level of the intervals (equal-tailed, of the posterior).
        draws: How many draws each of four chains keeps.
        rng: Where randomness comes from.

    Raises:
        InputError: The project makes items final on no verdict of all voters, or nothing is final.
    """
    good = _passing(board.project)
    judged = [item for item in board.items.values() if _votes(board.project, item, good)]
    finals = np.array([item.outcome == "final" for item in judged], dtype=bool)
    if not finals.any():
        raise InputError("no item is final yet", hint="estimate it once the review is further on")
    votes, people = _matrix(board.project, judged, good)
    ended = [f"{item.outcome} {item.why}" for item in judged]
    found = latent_truth(
        votes,
        _codes(_group(board.project, item) for item in judged),
        _codes(ended),
        draws=draws,
        rng=rng,
    )
    ways = np.array([item.why for item in judged], dtype=object)
    gone = np.array([item.outcome in ("removed", "hard case") for item in judged], dtype=bool)
    risk = found.risk()
    return Residual(
        wrong=_wrong("final items", found, finals, level),
        by_way=tuple(
            _wrong(str(way), found, finals & (ways == way), level)
            for way in dict.fromkeys(ways[finals].tolist())
        ),
        lost=_right("removed after votes", found, gone, level) if gone.any() else None,
        people=tuple(
            Person(
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


def _passing(project: Project) -> frozenset[str]:
    """Return the verdicts that make an item final where all who judge it apart give them."""
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


def _votes(project: Project, item: Item, good: frozenset[str]) -> dict[tuple[str, str], bool]:
    """Return who passed an item, by person and kind of work."""
    found: dict[tuple[str, str], bool] = {}
    for vote in item.votes:
        stage = project.stage(vote.stage)
        passed = vote.ballot.verdict in good
        if vote.text_version != item.text_version or stage.kind not in _JUDGING:
            continue
        if passed or _fails(stage, vote, good):
            found[vote.who, stage.kind] = passed
    return found


def _fails(stage: Stage, vote: Vote, good: frozenset[str]) -> bool:
    """Return whether a vote that does not pass an item fails it: 'unresolved' does neither."""
    if stage.kind == "independent":
        return True
    if stage.kind == "audit":
        return set(stage.passes) <= good
    told = {v for rule in stage.rules for v in (*rule.all, *rule.some, *rule.majority)}
    return stage.kind in _RULING and vote.ballot.verdict in told


def _matrix(
    project: Project, items: list[Item], good: frozenset[str]
) -> tuple[NDArray[np.int8], list[tuple[str, str]]]:
    cast = [_votes(project, item, good) for item in items]
    people = sorted({person for votes in cast for person in votes})
    table = [[int(votes.get(person, -1)) for person in people] for votes in cast]
    return np.array(table, dtype=np.int8), people


def _group(project: Project, item: Item) -> str:
    if any(vote.ballot.correction is not None for vote in item.votes):
        return "written anew"
    return "as it came, " + (str(item.fields.get(project.category, "")) if project.category else "")


def _codes(names: Iterable[str]) -> NDArray[np.intp]:
    listed = list(names)
    known = {name: code for code, name in enumerate(sorted(set(listed)))}
    return np.array([known[name] for name in listed], dtype=np.intp)


def _wrong(name: str, found: Latent, items: NDArray[np.bool_], level: float) -> Share:
    count = int(items.sum())
    return _share(name, found.wrong(items) / count, count, level)


def _right(name: str, found: Latent, items: NDArray[np.bool_], level: float) -> Share:
    count = int(items.sum())
    return _share(name, 1.0 - found.wrong(items) / count, count, level)


def _share(name: str, draws: NDArray[np.float64], items: int, level: float) -> Share:
    tail = (1.0 - level) / 2.0
    low, middle, high = (float(one) for one in np.quantile(draws, [tail, 0.5, 1.0 - tail]))
    return Share(name, items, middle, low, high)
