"""A manager's figures, computed once for a state of a review, while others work on."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from time import monotonic

from contrafact.review.assignment import staffing_problems
from contrafact.review.figures.panels import Panel, panels_of
from contrafact.review.figures.plots import PlotFormat, draw_plot
from contrafact.review.figures.progress import ReviewProgress, review_progress
from contrafact.review.events import Event
from contrafact.review.state import ReviewState, snapshot
from contrafact.review.store.store import Store

__all__ = ["Figures", "FiguresCache"]


_KEPT = 3
"""States of a review that are kept, so that a page's plots are those of its tables."""
_REST = 5.0
"""Seconds for which figures are shown again although the review has gone on."""
_TIMED = ("assigned", "answered", "undone", "reopened", "edited", "retracted")
_TIMING = ("answer", "origin", "set_aside")


@dataclass(frozen=True)
class Figures:
    """All figures of a review after one of its events.

    Attributes:
        seq: The event's number.
        when: When they were computed.
        state: The review then.
        progress: How far it had come.
        panels: The figures.
        problems: What keeps items from being done by the people there are.
    """

    seq: int
    when: datetime
    state: ReviewState
    progress: ReviewProgress
    panels: Sequence[Panel]
    problems: Sequence[str]
    drawn: dict[tuple[str, str], bytes] = field(default_factory=dict, repr=False)


@dataclass
class _Review:
    lock: Lock = field(default_factory=Lock)
    events: list[Event] = field(default_factory=list)
    seq: int = 0
    readings: int = 0
    made: float = float("-inf")
    figures: "OrderedDict[int, Figures]" = field(default_factory=OrderedDict)


class FiguresCache:
    """Computes figures when they are asked for, and keeps the latest.

    Args:
        store: The reviews.
        rest: Seconds for which figures are shown again although the review has gone on.
    """

    def __init__(self, store: Store, *, rest: float = _REST) -> None:
        self._store = store
        self._rest = rest
        self._reviews: dict[str, _Review] = {}
        self._guard = Lock()

    def figures(self, review: str, seq: int | None = None) -> Figures:
        """Return a review's figures: those after an event, if they are kept, or the present ones.

        Raises:
            InputError: There is no such review.
        """
        with self._guard:
            own = self._reviews.setdefault(review, _Review())
        with own.lock:
            if seq is not None and seq in own.figures:
                return own.figures[seq]
            latest = next(reversed(own.figures.values()), None)
            if latest is not None and monotonic() - own.made < self._rest:
                return latest
            # Only the copy is made while others wait; what takes long is computed on it.
            state, readings = self._store.read(
                review, lambda state: (snapshot(state), self._store.readings(review))
            )
            if readings != own.readings:  # it was made anew, or put back
                own.events, own.seq, own.readings, latest = [], 0, readings, None
                own.figures.clear()
            if latest is None or latest.seq != state.seq:
                latest = self._compute(review, own, state)
                own.figures[latest.seq] = latest
                while len(own.figures) > _KEPT:
                    own.figures.popitem(last=False)
            own.made = monotonic()
            return latest

    def invalidate(self, review: str) -> None:
        """Compute a review's figures anew at the next request: its manager has just changed it."""
        with self._guard:
            own = self._reviews.get(review)
        if own is not None:
            with own.lock:
                own.made = float("-inf")

    def plot(self, review: str, key: str, form: PlotFormat, seq: int | None = None) -> bytes | None:
        """Return a panel's drawing; None where there is no such panel, or nothing to draw."""
        figures = self.figures(review, seq)
        panel = next((one for one in figures.panels if one.key == key), None)
        if panel is None or panel.draw is None:
            return None
        if (key, form) not in figures.drawn:
            figures.drawn[key, form] = draw_plot(panel.draw, form, height=panel.height)
        return figures.drawn[key, form]

    def _compute(self, review: str, own: _Review, state: ReviewState) -> Figures:
        now = datetime.now(UTC)
        for event in self._store.history(review, after=own.seq):
            own.seq = event.seq
            if event.kind in _TIMED:
                # No more of its body than throughput needs.
                body = {key: event.body[key] for key in _TIMING if key in event.body}
                own.events.append(
                    replace(event, body=body, text_version=None, guidelines_version=None)
                )
        past = [event for event in own.events if event.seq <= state.seq]
        return Figures(
            state.seq,
            now,
            state,
            review_progress(state, now),
            panels_of(state, past, now),
            staffing_problems(state),
        )
