"""What a connection may send, and for how long, before any of it reaches the app.

uvicorn reads headers without end and waits for them for ever. Here a connection has to have sent
its headers, and then its body, within a time; both have a size; and there are only so many
connections, in all and from one address.
"""

from asyncio import TimerHandle, Transport
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


@dataclass(frozen=True)
class ConnectionLimits:
    """What a connection may send, and how many there may be.

    Attributes:
        header_bytes: Bytes of a request's first line and headers.
        header_seconds: Seconds until the headers are there, from the connection's or the last
            request's end of silence.
        body_seconds: Seconds until the body is there: 64 MiB at some 110 KB a second.
        per_address: Connections from one address at a time; None where a proxy's is the only one.
    """

    headers: int = 100
    header_bytes: int = 32 * 1024
    header_seconds: float = 20.0
    body_seconds: float = 600.0
    connections: int = 1000
    per_address: int | None = 200


class _TooMuch(Exception):
    """More was sent than is allowed; the parser hands it on as a bad request."""


class _LimitedProtocol(HttpToolsProtocol):
    limits: ClassVar[ConnectionLimits]
    present: ClassVar[Counter[str]]
    deadline: TimerHandle | None = None
    reading_head = True
    head = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.present[self._address] += 1
        most = self.limits.per_address
        if len(self.connections) > self.limits.connections or (
            most is not None and self.present[self._address] > most
        ):
            transport.abort()
            return
        self._wait(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self.present[self._address] -= 1
        if not self.present[self._address]:
            del self.present[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.reading_head:
            self.head += len(data)
            if self.deadline is None:  # the first bytes after a silence
                self._wait(self.limits.header_seconds)
        super().data_received(data)
        if self.reading_head and self.head > self.limits.header_bytes and self.parser:
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        self.reading_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        size = sum(len(key) + len(text) for key, text in self.headers) + len(self.url)
        if len(self.headers) > self.limits.headers or size > self.limits.header_bytes:
            raise _TooMuch

    def on_headers_complete(self) -> None:
        if len(self.url) > self.limits.header_bytes:
            raise _TooMuch
        self.reading_head, self.head = False, 0
        self._wait(self.limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.reading_head = True
        self._wait(None)
        super().on_message_complete()

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _wait(self, seconds: float | None) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
        if seconds is not None:
            self.deadline = self.loop.call_later(seconds, self.transport.abort)


def limited_protocol(limits: ConnectionLimits) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with limits, for ``uvicorn.Config(http=…)``."""
    return type("LimitedProtocol", (_LimitedProtocol,), {"limits": limits, "present": Counter()})
