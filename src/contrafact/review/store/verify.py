"""The proof that the present state is what the events say: both are made, and compared."""

from sqlalchemy import select

from contrafact.review.board import replay
from contrafact.review.store.rows import item_row
from contrafact.review.store.store import Store
from contrafact.review.store.tables import items, votes

__all__ = ["verify"]


def verify(store: Store, review: str) -> list[str]:
    """Return every difference between a review's state and what its history leads to.

    The history is replayed from its first event by a board of its own; an empty list is the proof
    that nothing of the state is there without an event, and nothing of the history is lost.

    Raises:
        InputError: There is no such review.
    """
    history = store.history(review)
    try:
        board = replay(history)
    except ValueError as error:
        return [f"the history is damaged: {error}"]
    problems = []
    with store.engine.begin() as connection:
        chosen = select(items).where(items.c.review == review)
        kept = {row["id"]: dict(row) for row in connection.execute(chosen).mappings()}
        places = select(votes.c.item, votes.c.stage, votes.c.round, votes.c.slot, votes.c.person)
        filled = {tuple(row) for row in connection.execute(places.where(votes.c.review == review))}
    for name, item in board.items.items():
        row = item_row(review, item)
        if name not in kept:
            problems.append(f"item {name} is in the history, and not in the state")
        else:
            problems += [
                f"item {name}: '{column}' is not what the history says"
                for column in row
                if row[column] != kept[name][column]
            ]
    problems += [f"item {name} has no history" for name in kept if name not in board.items]
    told = {
        (item.id, vote.stage, vote.round, vote.slot, vote.who)
        for item in board.items.values()
        for vote in item.votes
    }
    problems += [f"a vote has no event: {' '.join(map(str, row))}" for row in filled - told]
    problems += [f"a vote is lost: {' '.join(map(str, row))}" for row in told - filled]
    return problems
