"""A time limit on requests: uvicorn limits their size and number, but not their duration."""

from asyncio import TimerHandle, Transport
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, with a time limit for the headers and the body of a request."""

    seconds: ClassVar[dict[Any, float]] = {
        h11.IDLE: 20.0,  # for the headers, from the first byte
        h11.SEND_BODY: 600.0,  # for the body: 64 MiB at some 110 KB a second
    }
    _timed: Any = None  # the state of h11 that the timer limits
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._time(h11.IDLE)

    def data_received(self, data: bytes) -> None:
        if self._timed is None:  # the first bytes of a further request
            self._time(h11.IDLE)
        super().data_received(data)
        state = self.conn.their_state
        if state is not self._timed:
            self._time(state)

    def connection_lost(self, exc: Exception | None) -> None:
        self._time(None)
        super().connection_lost(exc)

    def _time(self, state: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timed = state if state in self.seconds else None
        self._timer = None
        if self._timed is not None:
            self._timer = self.loop.call_later(self.seconds[self._timed], self.transport.abort)
