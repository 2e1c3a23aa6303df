"""Asynchronous work, much of it under way at once, from a synchronous stage."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

__all__ = ["do_together"]


def do_together(jobs: Iterable[Callable[[], Awaitable[None]]], *, at_once: int) -> None:
    """Do all jobs; when one fails, the others are cancelled and its error is raised.

    Args:
        jobs: The jobs, begun in order.
        at_once: How many may be under way.
    """

    async def all_of_them() -> None:
        free = asyncio.Semaphore(at_once)

        async def one(job: Callable[[], Awaitable[None]]) -> None:
            async with free:
                await job()

        try:
            async with asyncio.TaskGroup() as group:
                for job in jobs:
                    group.create_task(one(job))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    asyncio.run(all_of_them())
