"""The store: it runs actions on a database, for many people and processes at a time.

A change locks its review, brings the state up to date, runs an action, and writes the events and
the present state in one transaction: acknowledged changes are in the database, failed ones leave no
trace. `verify` checks that the present state follows from the events.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from threading import RLock
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from contrafact.errors import InputError
from contrafact.review import setup, workflow
from contrafact.review.answers import Assignment, Decision
from contrafact.review.assignment import answer_training, assign
from contrafact.review.corrections import set_aside_by
from contrafact.review.events import Event, NotAllowed, current_definition
from contrafact.review.project import Project
from contrafact.review.state import Change, ReviewState, replay
from contrafact.review.store.database import (
    connect,
    database_problem,
    event_of,
    event_row,
    item_row,
    items,
    reading,
    reviews,
    votes,
)
from contrafact.review.store.database import events as events_table

__all__ = ["Store", "UnknownReview", "verify"]

T = TypeVar("T")
P = ParamSpec("P")


class UnknownReview(InputError):
    """The database has no review of that name."""


class Store:
    """The reviews in a database.

    A ``seed`` makes random draws reproducible; every draw is recorded in any case.

    Raises:
        InputError: The database cannot be used.
    """

    def __init__(
        self,
        database: str,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        seed: int | None = None,
    ) -> None:
        self.engine = connect(database)
        self._reading = reading(self.engine)
        self._clock = clock
        self._seed = seed
        # By review, its state and the time of the last event that was applied to it.
        self._states: dict[str, tuple[ReviewState, str]] = {}
        self._locks: dict[str, RLock] = {}
        self._guard = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: object, __: object) -> None:
        self.close()
        if isinstance(error, SQLAlchemyError):
            raise database_problem(error, self.engine.url) from error

    def close(self) -> None:
        self.engine.dispose()

    def reviews(self) -> list[str]:
        with self._reading.begin() as connection:
            return list(connection.scalars(select(reviews.c.name).order_by(reviews.c.name)))

    def define(self, review: str, project: Project, who: str) -> None:
        """Open a review, or change its wording; see `setup.define_project`."""
        named = NotAllowed(
            f"{review[:40]!a} cannot be a review's name", hint="use letters and digits"
        )
        if not setup.is_valid_name(review):
            raise named
        with self._lock(review), self.engine.begin() as connection:
            if self.engine.dialect.name == "postgresql":
                # A new review has no row to lock yet, so two people who open it at once lock this.
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(review))))
            new = not connection.scalar(select(reviews.c.name).where(reviews.c.name == review))
            if new:
                # The name is part of pages' addresses, which some servers decode twice.
                if set("/%") & set(review) or not review.strip("."):
                    raise named
                change = Change(ReviewState(project), self._clock(), np.random.default_rng())
                setup.define_project(change, who, project)
                connection.execute(insert(reviews).values(name=review, seq=0))
                self._write(connection, review, change)
        if not new:
            self.act(review, setup.define_project, who, project)

    def act(
        self,
        review: str,
        action: Callable[Concatenate[Change, P], T],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run an action on a review, and return its result.

        Raises:
            InputError: There is no such review, or the action refuses; nothing was changed.
        """
        with self._lock(review):
            try:
                with self.engine.begin() as connection:
                    state = self._state(connection, review)
                    seed = None if self._seed is None else [self._seed, state.seq]
                    change = Change(state, self._clock(), np.random.default_rng(seed))
                    result = action(change, *arguments, **options)
                    self._write(connection, review, change)
            except InputError:
                raise  # actions refuse before they change anything
            except BaseException:
                # The state may be ahead of the database, so it is read again next time.
                self._states.pop(review, None)
                raise
            return result

    def next(self, review: str, who: str) -> Assignment | None:
        return self.act(review, assign, who)

    def work(
        self, review: str, who: str, reader: Callable[[ReviewState, Assignment | None], T]
    ) -> T:
        """Assign the next item, and return what ``reader`` returns for the state and the item.

        ``reader`` is called before anybody else can change the state; it must not change it itself.
        """
        return self.act(review, lambda c: reader(c.state, assign(c, who)))

    def answer(self, review: str, who: str, place: Assignment, decision: Decision) -> bool:
        """Record a decision, in training or not, and return whether it is new.

        `contrafact.review.workflow.answer` and `contrafact.review.assignment.answer_training` say
        what is raised.
        """
        if decision.request is not None and not setup.is_valid_name(decision.request):
            raise NotAllowed("the request's key is not a short plain text")
        take = answer_training if place.training else workflow.answer

        def action(change: Change) -> bool:
            take(change, who, place, decision)
            return bool(change.events)

        return self.act(review, action)

    def read(self, review: str, reader: Callable[[ReviewState], T]) -> T:
        """Return what ``reader`` returns for the present state, which it must not change."""
        with self._lock(review), self._reading.begin() as connection:
            return reader(self._state(connection, review, lock=False))

    def history(self, review: str) -> list[Event]:
        """Return every event of a review in order; an `InputError` if there is no such review."""
        with self._reading.begin() as connection:
            self._last_event(connection, review, lock=False)
            return list(_events(connection, review, 0))

    def item_history(self, review: str, item: str) -> list[Event]:
        """Return the events of one item in order, without draws of whole batches."""
        matching = (events_table.c.review == review) & (events_table.c.item == item)
        with self._reading.begin() as connection:
            rows = connection.execute(
                select(events_table).where(matching).order_by(events_table.c.seq)
            )
            return [event_of(row._asdict()) for row in rows]

    def _state(self, connection: Connection, review: str, *, lock: bool = True) -> ReviewState:
        """Return the state including other processes' events; with ``lock``, the review is locked.

        If the history differs from the one applied before, because a copy of the database was
        restored, it is read from the beginning.
        """
        seq, time = self._last_event(connection, review, lock=lock)
        state, known = self._states.get(review, (None, ""))
        if state is not None and state.seq < seq:
            matching = (events_table.c.review == review) & (events_table.c.seq == state.seq)
            same = connection.scalar(select(events_table.c.at).where(matching)) == known
        else:
            same = state is not None and (state.seq, known) == (seq, time)
        state = state if same else None
        if state is None or state.seq < seq:
            for event in _events(connection, review, 0 if state is None else state.seq):
                if state is None:
                    state = ReviewState(Project.model_validate(current_definition(event)))
                state.apply(event)
        assert state is not None, "a review is created with its first event"
        self._states[review] = (state, time)
        return state

    def _last_event(
        self, connection: Connection, review: str, *, lock: bool = True
    ) -> tuple[int, str]:
        """Return the number and time of a review's last event; with ``lock``, lock the review."""
        chosen = select(reviews.c.seq).where(reviews.c.name == review)
        seq = connection.scalar(chosen.with_for_update() if lock else chosen)
        if seq is None:
            raise UnknownReview(
                f"there is no review '{review[:40]}' in this database",
                hint="import items into it first: contrafact review import",
            )
        matching = (events_table.c.review == review) & (events_table.c.seq == seq)
        return int(seq), str(connection.scalar(select(events_table.c.at).where(matching)))

    def _write(self, connection: Connection, review: str, change: Change) -> None:
        state, events = change.state, change.events
        if not events:
            return
        connection.execute(insert(events_table), [event_row(review, event) for event in events])
        for seq in (seq for event in events for seq in set_aside_by(event)):
            connection.execute(delete(votes).where(votes.c.review == review, votes.c.seq == seq))
        columns = ("item", "stage", "round", "slot", "seq")
        cast_votes = [
            {"review": review, "person": event.who} | {c: getattr(event, c) for c in columns}
            for event in events
            if event.kind == "answered"
        ]
        if cast_votes:
            connection.execute(insert(votes), cast_votes)
        named = (name for event in events for name in (event.item, *event.body.get("members", ())))
        touched = [name for name in dict.fromkeys(named) if name in state.items]
        new = {event.item for event in events if event.kind == "imported"}
        rows = [item_row(review, state.items[name]) for name in touched]
        if added := [row for row in rows if row["id"] in new]:
            connection.execute(insert(items), added)
        for row in (row for row in rows if row["id"] not in new):
            matching = (items.c.review == review) & (items.c.id == row["id"])
            connection.execute(update(items).where(matching).values(**row))
        last = update(reviews).where(reviews.c.name == review)
        connection.execute(last.values(seq=state.seq))
        self._states[review] = (state, events[-1].when.isoformat())

    def _lock(self, review: str) -> RLock:
        with self._guard:
            return self._locks.setdefault(review, RLock())


def _events(connection: Connection, review: str, after: int) -> Iterable[Event]:
    matching = (events_table.c.review == review) & (events_table.c.seq > after)
    chosen = select(events_table).where(matching).order_by(events_table.c.seq)
    return (event_of(row._asdict()) for row in connection.execute(chosen))


def verify(store: Store, review: str) -> list[str]:
    """Return all differences between a review's stored state and a replay of its history.

    An empty list proves that the stored state and the history agree.

    Raises:
        InputError: There is no such review.
    """
    history = store.history(review)
    try:
        state = replay(history)
    except ValueError as error:
        return [f"the history is damaged: {error}"]
    problems = []
    with store.engine.begin() as connection:
        chosen = select(items).where(items.c.review == review)
        kept = {row["id"]: dict(row) for row in connection.execute(chosen).mappings()}
        last = connection.scalar(select(reviews.c.seq).where(reviews.c.name == review))
        places = select(votes.c.item, votes.c.stage, votes.c.round, votes.c.slot, votes.c.person)
        filled = {tuple(row) for row in connection.execute(places.where(votes.c.review == review))}
    if last != state.seq:
        problems.append(f"the last event is {state.seq}, but the review's row says {last}")
    for name, item in state.items.items():
        row = item_row(review, item)
        if name not in kept:
            problems.append(f"item {name} is in the history but not in the state")
        else:
            problems += [
                f"item {name}: '{column}' differs from the history"
                for column in row
                if row[column] != kept[name][column]
            ]
    problems += [f"item {name} has no history" for name in kept if name not in state.items]
    cast_votes = {
        (item.id, vote.stage, vote.round, vote.slot, vote.who)
        for item in state.items.values()
        for vote in item.votes
    }
    problems += [f"a vote has no event: {' '.join(map(str, row))}" for row in filled - cast_votes]
    problems += [f"a vote is lost: {' '.join(map(str, row))}" for row in cast_votes - filled]
    return problems
