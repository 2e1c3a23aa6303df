"""The store: actions on a database, many people and processes at a time.

A change locks its review, brings the state up to date with what others did, lets an action decide,
and writes the events and the present state in one transaction. What was acknowledged is in the
database; what failed half way never happened. `verify` proves that the present state is what the
events say.
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
    """There is no review of that name."""


class Store:
    """Reviews in a database.

    A seed makes samples reproducible; every draw is recorded in any case.

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
        # With the time of the last event that each of them has taken in.
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
        """Close the connections to the database."""
        self.engine.dispose()

    def reviews(self) -> list[str]:
        """Return the names of the reviews, in order."""
        with self._reading.begin() as connection:
            return list(connection.scalars(select(reviews.c.name).order_by(reviews.c.name)))

    def define(self, review: str, project: Project, who: str) -> None:
        """Open a review, or change its guidelines; `NotAllowed` as `setup.define_project`."""
        named = NotAllowed(f"{review[:40]!a} is no name for a review")
        if not setup.is_valid_name(review):
            raise named
        with self._lock(review), self.engine.begin() as connection:
            if self.engine.dialect.name == "postgresql":
                # There is no row yet that two who open one review at once could take turns on.
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(review))))
            new = not connection.scalar(select(reviews.c.name).where(reviews.c.name == review))
            if new:
                # It is a part of pages' addresses, which some servers read twice.
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
        """Let an action change a review, and return what it returns.

        What an action refuses, it refuses before it changes anything.

        Raises:
            InputError: There is no such review, or as the action does.
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
                raise  # refused before anything was changed
            except BaseException:
                # The state may be ahead of the database: read it again next time.
                self._states.pop(review, None)
                raise
            return result

    def next(self, review: str, who: str) -> Assignment | None:
        """Give somebody the next item; see `contrafact.review.assignment.assign`."""
        return self.act(review, assign, who)

    def work(
        self, review: str, who: str, reader: Callable[[ReviewState, Assignment | None], T]
    ) -> T:
        """Give somebody the next item as `next` does, and return what ``reader`` makes of it.

        ``reader`` sees the state with the item given out, before anybody else changes it; it may
        not change the state itself.
        """
        return self.act(review, lambda c: reader(c.state, assign(c, who)))

    def answer(self, review: str, who: str, place: Assignment, decision: Decision) -> bool:
        """Take a decision, in training or not, and return whether it is new.

        Raises:
            NotAllowed: As `contrafact.review.workflow.answer` and
                `contrafact.review.assignment.answer_training`.
            InputError: The answers are not whole.
        """
        if decision.request is not None and not setup.is_valid_name(decision.request):
            raise NotAllowed("the request's key is no short plain text")
        take = answer_training if place.training else workflow.answer

        def action(change: Change) -> bool:
            take(change, who, place, decision)
            return bool(change.events)

        return self.act(review, action)

    def read(self, review: str, reader: Callable[[ReviewState], T]) -> T:
        """Return what ``reader`` finds on the state as it is now; it may not change the state."""
        with self._lock(review), self._reading.begin() as connection:
            return reader(self._state(connection, review, lock=False))

    def history(self, review: str) -> list[Event]:
        """Return every event in order; `InputError` if there is no such review."""
        with self._reading.begin() as connection:
            self._last_event(connection, review, lock=False)
            return list(_events(connection, review, 0))

    def item_history(self, review: str, item: str) -> list[Event]:
        """Return what happened to one item, in order; its being drawn with others apart."""
        matching = (events_table.c.review == review) & (events_table.c.item == item)
        with self._reading.begin() as connection:
            rows = connection.execute(
                select(events_table).where(matching).order_by(events_table.c.seq)
            )
            return [event_of(row._asdict()) for row in rows]

    def _state(self, connection: Connection, review: str, *, lock: bool = True) -> ReviewState:
        """Return the state with what other processes did, and the review locked or not.

        Where the history is not the one that was taken in before, because a copy of the database
        was put back, it is read from its beginning.
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
        assert state is not None, "a review is written with its first event"
        self._states[review] = (state, time)
        return state

    def _last_event(
        self, connection: Connection, review: str, *, lock: bool = True
    ) -> tuple[int, str]:
        """Return the number and time of a review's last event, and lock the review or not."""
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
        state, made = change.state, change.events
        if not made:
            return
        connection.execute(insert(events_table), [event_row(review, event) for event in made])
        for seq in (seq for event in made for seq in set_aside_by(event)):
            connection.execute(delete(votes).where(votes.c.review == review, votes.c.seq == seq))
        places = ("item", "stage", "round", "slot", "seq")
        cast_votes = [
            {"review": review, "person": one.who, **{name: getattr(one, name) for name in places}}
            for one in made
            if one.kind == "answered"
        ]
        if cast_votes:
            connection.execute(insert(votes), cast_votes)
        named = (name for event in made for name in (event.item, *event.body.get("members", ())))
        touched = [name for name in dict.fromkeys(named) if name in state.items]
        new = {e.item for e in made if e.kind == "imported"}
        rows = [item_row(review, state.items[name]) for name in touched]
        if added := [row for row in rows if row["id"] in new]:
            connection.execute(insert(items), added)
        for row in (row for row in rows if row["id"] not in new):
            matching = (items.c.review == review) & (items.c.id == row["id"])
            connection.execute(update(items).where(matching).values(**row))
        last = update(reviews).where(reviews.c.name == review)
        connection.execute(last.values(seq=state.seq))
        self._states[review] = (state, made[-1].when.isoformat())

    def _lock(self, review: str) -> RLock:
        with self._guard:
            return self._locks.setdefault(review, RLock())


def _events(connection: Connection, review: str, after: int) -> Iterable[Event]:
    matching = (events_table.c.review == review) & (events_table.c.seq > after)
    chosen = select(events_table).where(matching).order_by(events_table.c.seq)
    return (event_of(row._asdict()) for row in connection.execute(chosen))


def verify(store: Store, review: str) -> list[str]:
    """Return every difference between a review's state and what a replay of its history leads to.

    An empty list is the proof that nothing of the state is there without an event, and nothing of
    the history is lost.

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
        problems.append(f"the last event is {state.seq}, and {last} were written")
    for name, item in state.items.items():
        row = item_row(review, item)
        if name not in kept:
            problems.append(f"item {name} is in the history, and not in the state")
        else:
            problems += [
                f"item {name}: '{column}' is not what the history says"
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
