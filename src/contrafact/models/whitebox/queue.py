"""A queue in which concurrent callers meet: their requests are answered in batches.

A model does more when it is given much at once, and the samples of a run ask for little each.
One thread works; the event loop of the callers stays free.
"""

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class QueueClosed(Exception):
    """The queue was closed before it gave an answer."""


class _Abandoned(Exception):
    """No caller waits for the batch any more."""


@dataclass(eq=False)
class _Entry(Generic[_Request, _Response]):
    request: _Request
    future: "Future[_Response]" = field(default_factory=Future)
    abandoned: bool = False


class BatchQueue(Generic[_Request, _Response]):
    """Requests of concurrent callers, worked off in batches by one thread.

    A batch begins with the request that has waited longest, and takes others with the same
    ``batch_key``, up to ``max_batch``. While one is worked on, the next gathers; a thread that was
    idle waits until no request has come for ``linger`` seconds: callers rarely come alone.

    Args:
        work: Answers a batch: one answer per request, in order; what it raises goes to all callers
            of the batch. Its second argument is a function to be called now and then, which raises
            when the work is no longer wanted: all its callers were cancelled, or the queue was
            closed.
    """

    def __init__(
        self,
        work: Callable[[Sequence[_Request], Callable[[], None]], Sequence[_Response]],
        *,
        batch_key: Callable[[_Request], Hashable] = lambda _: None,
        max_batch: int = 16,
        linger: float = 0.1,
        name: str = "batches",
    ):
        self._work = work
        self._batch_key = batch_key
        self._max_batch = max_batch
        self._linger = linger
        self._name = name
        self._waiting: deque[_Entry[_Request, _Response]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def submit(self, request: _Request) -> _Response:
        """Return the answer; `QueueClosed` if closed before, else what the work raised for it."""
        entry: _Entry[_Request, _Response] = _Entry(request)
        with self._changed:
            if self._closed:
                raise QueueClosed(f"{self._name}: closed")
            self._waiting.append(entry)
            if self._thread is None:
                # A daemon, for which the interpreter does not wait: `Engine` closes the queue.
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()
        try:
            return await asyncio.wrap_future(entry.future)
        finally:
            # Of no account where the answer came; otherwise this caller was cancelled.
            entry.abandoned = True

    def close(self) -> None:
        """Fail the callers that wait, stop the work at its next check, and end the thread."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = list(self._waiting), deque()
            self._changed.notify_all()
        for entry in waiting:
            if entry.future.set_running_or_notify_cancel():
                entry.future.set_exception(QueueClosed(f"{self._name}: closed"))
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            if batch:
                self._answer(batch)

    def _next(self) -> list[_Entry[_Request, _Response]] | None:
        """Return the next batch, which is empty if its callers all went away; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            seen = 0
            while not self._closed and seen < len(self._waiting) < self._max_batch:
                seen = len(self._waiting)
                self._changed.wait(self._linger)
            if self._closed:
                return None
            key = self._batch_key(self._waiting[0].request)
            alike = (one for one in self._waiting if self._batch_key(one.request) == key)
            chosen = list(itertools.islice(alike, self._max_batch))
            for entry in chosen:
                self._waiting.remove(entry)
        return [entry for entry in chosen if entry.future.set_running_or_notify_cancel()]

    def _answer(self, batch: list[_Entry[_Request, _Response]]) -> None:
        def check() -> None:
            if self._closed:
                raise QueueClosed(f"{self._name}: closed")
            if all(entry.abandoned for entry in batch):
                raise _Abandoned

        try:
            answers = self._work([entry.request for entry in batch], check)
            results = list(zip(batch, answers, strict=True))
        except Exception as error:  # noqa: BLE001 - every caller of the batch gets it
            for entry in batch:
                entry.future.set_exception(error)
            return
        for entry, answer in results:
            entry.future.set_result(answer)
