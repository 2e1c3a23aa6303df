"""What is due happens by itself: audits are drawn and sets released when their windows run out.

Leases that ran out need nothing done: whoever asks next is given the item.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.to_thread import run_sync
from sqlalchemy.exc import SQLAlchemyError

from contrafact.errors import InputError
from contrafact.review.store.store import Store

__all__ = ["EVERY", "settle_all", "settling"]

_LOG = logging.getLogger("contrafact.review.web.settle")
EVERY = 60.0
"""Seconds between two rounds."""


def settle_all(store: Store) -> None:
    """Let go on what is due in every review; one that fails is logged, and the others go on."""
    try:
        names = store.reviews()
    except SQLAlchemyError:
        _LOG.exception("the database does not answer; tried again next time")
        return
    for review in names:
        try:
            store.settle(review)
        except (InputError, SQLAlchemyError, ValueError):
            _LOG.exception("review %a could not be settled; tried again next time", review)


@asynccontextmanager
async def settling(store: Store, *, every: float = EVERY) -> AsyncIterator[None]:
    """Settle every review again and again while the server runs.

    Args:
        store: The reviews.
        every: Seconds between two rounds.
    """

    async def go_on() -> None:
        while True:
            await anyio.sleep(every)
            await run_sync(settle_all, store)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go_on)
        yield
        tasks.cancel_scope.cancel()
