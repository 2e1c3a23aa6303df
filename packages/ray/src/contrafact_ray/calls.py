"""Calls of models in bulk: under limits that the whole cluster shares, each answer paid for once.

A model is called through Inspect's interface, as everywhere. This module adds three things that an
evaluation would otherwise provide. *Limits*: one actor counts the requests and tokens per minute of
all processes. *Retries*: a call that waits for its next try holds no connection; the provider's
verdict on the error (Inspect's `RetryDecision`) decides whether and when to retry. *A journal*:
every answer is kept under its question, so that a partition that is processed again asks only the
open questions.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

from contrafact.models.calls import Calls
from contrafact.models.kept import KeptModel
from contrafact.models.opening import TRANSPORT

WINDOW = 5.0
"""Seconds over which refused calls (429) are counted."""

REFUSED_SHARE = 0.1
"""The share of refused calls in that time from which every process pauses. A single refused call
waits by itself: if one in forty is refused, pausing all would make the work many times as long."""

SYNC = 0.2
"""Seconds between two messages of a process to the actor that counts."""

_MEASURED = 64
"""The number of calls over which the processor time per call is averaged."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


class Limits:
    """An actor that counts requests and tokens for the whole cluster; every process asks it.

    Args:
        requests: The most requests per minute; None means no limit.
        tokens: The most tokens per minute, sent and received; None means no limit.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        self.requests, self.tokens = requests, tokens
        # Buckets hold a second's worth, so that no minute gets much more than its share.
        self._requests = 0.0 if requests is None else max(1.0, requests / 60)
        self._tokens = 0.0 if tokens is None else max(1.0, tokens / 60)
        self._filled = time.monotonic()
        self._recent: deque[tuple[float, int, int]] = deque()
        self._paused_until = 0.0
        self._begun: deque[float] = deque()

    def sync(
        self, wanted: int, done: int, refused: int, retry_after: float, tokens: int
    ) -> tuple[int, float]:
        """Return how many calls a process may begin, and for how many seconds all pause.

        Args:
            wanted: The number of calls that wait to begin.
            done: Calls that ended since the process last asked, including refused ones.
            refused: How many of these calls were refused.
            retry_after: The longest wait that the service asked for; 0 for none.
            tokens: Tokens of the process's calls since it last asked. They are known only
                afterwards, so the first calls may take more than their share; later calls wait.
        """
        now = time.monotonic()
        self._fill(now)
        self._tokens -= tokens
        self._recent.append((now, done, refused))
        while self._recent and self._recent[0][0] < now - WINDOW:
            self._recent.popleft()
        ended = sum(ended_then for _, ended_then, _ in self._recent)
        turned = sum(refused_then for _, _, refused_then in self._recent)
        if refused and turned >= max(2, REFUSED_SHARE * ended):
            self._paused_until = max(self._paused_until, now + (retry_after or 1.0))
        pause = max(0.0, self._paused_until - now)
        if pause or (self.tokens is not None and self._tokens <= 0):
            return 0, pause
        if self.requests is None:
            return wanted, 0.0
        granted = min(wanted, int(self._requests))
        self._requests -= granted
        return granted, 0.0

    def _fill(self, now: float) -> None:
        passed, self._filled = now - self._filled, now
        if self.requests is not None:
            rate = self.requests / 60
            self._requests = min(max(1.0, rate), self._requests + rate * passed)
        if self.tokens is not None:
            rate = self.tokens / 60
            self._tokens = min(max(1.0, rate), self._tokens + rate * passed)


class Gate:
    """A process's access to the cluster's limits. Use it in one event loop.

    Args:
        limits: The handle of the `Limits` actor; None means no limits.
        bounded: Whether requests or tokens are limited, so that each call waits for permission.
    """

    def __init__(self, limits: Any, *, bounded: bool) -> None:
        self._limits, self._bounded = limits, bounded
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._done = self._refused = self._tokens = 0
        self._retry_after = 0.0
        self._open = asyncio.Event()
        self._open.set()
        self._talking: asyncio.Task[None] | None = None

    async def enter(self) -> None:
        """Wait until a call may begin."""
        if self._limits is None:
            return
        if self._talking is None or self._talking.done():
            self._talking = asyncio.create_task(self._talk())
        if self._bounded:
            leave = asyncio.get_running_loop().create_future()
            self._waiting.append(leave)
            await leave
        await self._open.wait()

    def leave(self, tokens: int, *, refused: bool = False, retry_after: float = 0.0) -> None:
        """Count a call that ended; the service may have asked to wait ``retry_after`` seconds."""
        self._done += 1
        self._tokens += tokens
        self._refused += refused
        self._retry_after = max(self._retry_after, retry_after)

    async def _talk(self) -> None:
        idle = 0
        while idle < 50:  # a process without calls stops sending messages
            wanted = sum(not leave.done() for leave in self._waiting)
            idle = 0 if wanted or self._done else idle + 1
            usage = (wanted, self._done, self._refused, self._retry_after, self._tokens)
            self._done = self._refused = self._tokens = 0
            self._retry_after = 0.0
            granted, pause = await self._limits.sync.remote(*usage)
            if pause:
                self._open.clear()
            else:
                self._open.set()
            while granted and self._waiting:
                leave = self._waiting.popleft()
                if not leave.done():
                    leave.set_result(None)
                    granted -= 1
            await asyncio.sleep(min(pause, SYNC) if pause else SYNC)


class Connections:
    """The calls that a process may have under way at once. Use it in one event loop.

    A free connection goes to the call whose partition comes first, so that partitions end one after
    the other: if all ended together, each would idle while it waits for its last answers.

    Calls begin at intervals, as long as a call keeps the processor busy. Otherwise answers that
    arrive together would be followed by calls that begin together, whose answers arrive together
    again, and connections would idle while each burst is processed.
    """

    def __init__(self, number: int) -> None:
        self._free, self._count = number, count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._next = self._apart = self._busy = 0.0
        self._begun = 0

    @asynccontextmanager
    async def held(self, rank: int = 0) -> AsyncIterator[None]:
        """Hold a connection, once it is free and the call may begin."""
        await self._take(rank)
        try:
            if (wait := self._until_turn()) > 0:
                await asyncio.sleep(wait)
            yield
        finally:
            self._give_back()

    async def _take(self, rank: int) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (rank, next(self._count), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            raise

    def _give_back(self) -> None:
        while self._waiting:
            turn = heappop(self._waiting)[-1]
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _until_turn(self) -> float:
        """Return the seconds until the next call may begin, and count that call as begun."""
        if self._begun % _MEASURED == 0:
            busy = time.thread_time()
            self._apart = (busy - self._busy) / _MEASURED if self._begun else 0.0
            self._busy = busy
        self._begun += 1
        now = time.monotonic()
        self._next = max(now, self._next + self._apart)
        return self._next - now


class BulkModel(KeptModel):
    """A model under the cluster's limits and the partition's journal."""

    def __init__(self, model: Model, gate: Gate, connections: Connections) -> None:
        super().__init__(model)
        self._gate, self._connections = gate, connections

    async def ask(
        self, calls: Calls, input: str | list[ChatMessage], config: GenerateConfig
    ) -> ModelOutput:
        """Return the model's output, with as many tries as are allowed, and count its tokens."""
        once = config.model_copy(update={"max_retries": 0})
        tries = self.config.max_retries if config.max_retries is None else config.max_retries
        tries = TRANSPORT["max_retries"] if tries is None else tries
        for attempt in range(tries + 1):
            await self._gate.enter()
            try:
                async with self._connections.held(calls.rank):
                    output = await Model.generate(self, input, config=once)
            except Exception as error:
                wait = self._wait(error, attempt)
                if wait is None or attempt == tries:
                    raise
                await asyncio.sleep(wait)
            else:
                self._gate.leave(calls.count(self._named, output))
                return output
        raise AssertionError("the last try returns or raises")

    def _wait(self, error: BaseException, attempt: int) -> float | None:
        """Return how many seconds to wait before the next try; None if there is no next try."""
        causes = [error]
        while (inner := causes[-1].__cause__ or causes[-1].__context__) and inner not in causes:
            causes.append(inner)
        waits = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0**attempt) * random.uniform(0.5, 1)
        for cause in causes:
            if type(cause).__name__ == "RetryError" or not isinstance(cause, Exception):
                continue
            decision = self.api.should_retry(cause)
            refused = getattr(decision, "kind", "") == "rate_limit"
            after = float(getattr(decision, "retry_after", None) or 0.0)
            if decision or self.should_retry(cause):
                self._gate.leave(0, refused=refused, retry_after=after)
                return max(waits, after)
        self._gate.leave(0)
        return None
