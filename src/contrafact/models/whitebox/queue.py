"""A queue in which concurrent callers meet: what they ask for is worked off in batches.

A model gives more when it is asked for much at once, and the samples of a run ask for little each.
One thread works; the event loop of the callers stays free.
"""

import asyncio
import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["BatchQueue", "QueueClosed"]

_Asked = TypeVar("_Asked")
_Given = TypeVar("_Given")


class QueueClosed(Exception):
    """The queue was closed before it gave an answer."""


class _Nobody(Exception):
    """Nobody waits for the batch any more."""


@dataclass(eq=False)
class _Entry(Generic[_Asked, _Given]):
    request: _Asked
    future: "Future[_Given]" = field(default_factory=Future)
    abandoned: bool = False


class BatchQueue(Generic[_Asked, _Given]):
    """Requests of concurrent callers, worked off in batches by one thread.

    A batch begins with the request that has waited longest, and takes others like it, up to
    ``most``. While one is worked on, the next gathers; when the thread was idle it waits until no
    request has come for ``quiet`` seconds, since callers rarely come alone.

    Args:
        work: Answers a batch: one answer per request, in order; an exception among them is raised
            to that request's caller alone, one that is raised goes to all callers of the batch.
            It is given a function besides, to be called now and then, which raises when the work
            is no longer wanted: all its callers were cancelled, or the queue was closed.
        alike: Requests with equal keys may share a batch; all may, if not given.
        most: The most requests in one batch.
        quiet: Seconds.
        name: The thread's name.
    """

    def __init__(
        self,
        work: Callable[[Sequence[_Asked], Callable[[], None]], Sequence[_Given | Exception]],
        *,
        alike: Callable[[_Asked], Hashable] | None = None,
        most: int = 16,
        quiet: float = 0.1,
        name: str = "batches",
    ):
        if most < 1:
            raise ValueError(f"a batch holds at least one request, not {most}")
        self._work = work
        self._alike = alike
        self._most = most
        self._quiet = quiet
        self._name = name
        self._waiting: deque[_Entry[_Asked, _Given]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def ask(self, request: _Asked) -> _Given:
        """Return the answer to a request.

        Raises:
            QueueClosed: If the queue is closed before the answer is there.
            Exception: What the work raised for this request or its batch.
        """
        entry: _Entry[_Asked, _Given] = _Entry(request)
        with self._changed:
            if self._closed:
                raise QueueClosed(f"{self._name}: closed")
            self._waiting.append(entry)
            self._start()
            self._changed.notify_all()
        try:
            return await asyncio.wrap_future(entry.future)
        finally:
            # Of no account where the answer came; otherwise this caller was cancelled.
            entry.abandoned = True

    def close(self) -> None:
        """Let the callers that wait know, stop the work at its next check, and end the thread."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = list(self._waiting), deque()
            self._changed.notify_all()
        for entry in waiting:
            if entry.future.set_running_or_notify_cancel():
                entry.future.set_exception(QueueClosed(f"{self._name}: closed"))
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _start(self) -> None:
        if self._thread is None:
            # The interpreter waits for threads before it calls what is registered with atexit; a
            # daemon it does not wait for, and atexit ends it in good order.
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
            atexit.register(_close, weakref.ref(self))

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            if batch:
                self._answer(batch)

    def _next(self) -> list[_Entry[_Asked, _Given]] | None:
        """Return the next batch, which is empty if its callers all went away; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            seen = 0
            while not self._closed and seen < len(self._waiting) < self._most:
                seen = len(self._waiting)
                self._changed.wait(self._quiet)
            if self._closed:
                return None
            chosen = self._chosen()
            for entry in chosen:
                self._waiting.remove(entry)
        return [entry for entry in chosen if entry.future.set_running_or_notify_cancel()]

    def _chosen(self) -> list[_Entry[_Asked, _Given]]:
        if self._alike is None:
            return list(self._waiting)[: self._most]
        key = self._alike(self._waiting[0].request)
        like = [entry for entry in self._waiting if self._alike(entry.request) == key]
        return like[: self._most]

    def _answer(self, batch: list[_Entry[_Asked, _Given]]) -> None:
        def check() -> None:
            if self._closed:
                raise QueueClosed(f"{self._name}: closed")
            if all(entry.abandoned for entry in batch):
                raise _Nobody

        try:
            answers = self._work([entry.request for entry in batch], check)
            told = list(zip(batch, answers, strict=True))
        except Exception as error:  # noqa: BLE001 - every caller of the batch is told
            told = [(entry, error) for entry in batch]
        for entry, answer in told:
            if isinstance(answer, Exception):
                entry.future.set_exception(answer)
            else:
                entry.future.set_result(answer)


def _close(queue: "weakref.ref[BatchQueue[_Asked, _Given]]") -> None:
    there = queue()
    if there is not None:
        there.close()
