"""Throughput: how many decisions people make in an hour, and how long one takes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from contrafact.review.events import Event

__all__ = ["PAUSE", "Pace", "pace"]

PAUSE = timedelta(minutes=10)
"""Who does nothing for so long has paused, and the time counts as no work."""

_ACTS = ("assigned", "answered", "undone")


@dataclass(frozen=True)
class Pace:
    """One person's work, training and decisions imported from elsewhere apart.

    Attributes:
        person: Who.
        decisions: How many decisions they made that stand.
        hours: How long they worked, in hours, pauses left out.
        per_hour: Decisions per hour of work; NaN where there is no telling.
        seconds: Median seconds from being given an item to deciding; NaN where there is no telling.
        times: When each of the decisions was made, in order.
    """

    person: str
    decisions: int
    hours: float
    per_hour: float
    seconds: float
    times: tuple[datetime, ...]


def pace(events: Iterable[Event], *, pause: timedelta = PAUSE) -> list[Pace]:
    """Return everybody's throughput, in order of their first act.

    Time worked is the time between one act and the next of the same person, where it is no longer
    than a pause. A decision that took longer than that says how long the pause was, and does not
    enter the median.

    Args:
        events: The history, in order.
        pause: From when on a gap is no work.
    """
    acts: dict[str, list[datetime]] = {}
    given: dict[tuple[str, str, str | None, int], datetime] = {}
    answers: dict[str, dict[int, tuple[datetime, float | None]]] = {}
    for event in events:
        if event.kind not in _ACTS or event.item is None or "origin" in event.body:
            continue
        acts.setdefault(event.who, []).append(event.when)
        key = (event.who, event.item, event.stage, event.round)
        own = answers.setdefault(event.who, {})
        if event.kind == "answered":
            began = given.pop(key, None)
            took = None if began is None else (event.when - began).total_seconds()
            own[event.seq] = (event.when, took)
            continue
        given[key] = event.when
        if event.kind == "undone":
            own.pop(int(event.body["answer"]), None)
    return [_pace(who, own, answers[who], pause) for who, own in acts.items()]


def _pace(
    who: str,
    acts: list[datetime],
    answers: dict[int, tuple[datetime, float | None]],
    pause: timedelta,
) -> Pace:
    gaps = [later - earlier for earlier, later in pairwise(acts)]
    worked = sum((gap for gap in gaps if gap <= pause), timedelta())
    hours = worked.total_seconds() / 3600.0
    took = [t for _, t in answers.values() if t is not None and t <= pause.total_seconds()]
    nan = float("nan")
    return Pace(
        who,
        len(answers),
        hours,
        len(answers) / hours if hours > 0 else nan,
        median(took) if took else nan,
        tuple(when for when, _ in answers.values()),
    )
