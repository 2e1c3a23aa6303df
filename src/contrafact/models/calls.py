"""The calls of one piece of work, counted; their answers are kept as they arrive.

A command groups its calls by `counted_calls`, which tells models where answers are kept
(`contrafact.models.kept`). A call that was under way when the command was killed is made again by
the next start.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from contrafact.files.journal import Journal, hash_of
from contrafact.models.prices import Tokens, dollars
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    import asyncio

    from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput

__all__ = ["Calls", "asked_for", "counted_calls", "is_cut"]

TRANSPORT = {"max_retries": 5, "timeout": 900, "attempt_timeout": 300}
"""How a call is bounded by default. Inspect retries without end; with bounds, a failure is
shown, and the next run repeats the call."""


@dataclass
class Calls:
    """The calls of one piece of work.

    Attributes:
        journal: The journal that keeps answers; None keeps none.
        rank: The priority of the work among others that share connections; the lowest goes first.
        made: The number of tries that were answered.
        again: The number of answers that came from the journal.
        cost: US dollars at list price, for models whose price is known.
        unpriced: Models that cost money and whose price is not known.
        answering: The questions that are being answered, by their keys.
        failed: The errors of questions that a service did not answer in any try, by their keys; a
            sample that starts again does not ask them again.
    """

    journal: Journal | None = None
    rank: int = 0
    made: int = 0
    again: int = 0
    read: int = 0
    written: int = 0
    cost: Decimal = Decimal(0)
    unpriced: set[str] = field(default_factory=set)
    answering: "dict[str, asyncio.Future[ModelOutput]]" = field(default_factory=dict)
    failed: "dict[str, Exception]" = field(default_factory=dict)

    def count(self, model: str, output: "ModelOutput") -> int:
        """Count an answer, and return the number of its tokens."""
        used = Tokens.of(output.usage)
        self.made += 1
        self.read += used.sent
        self.written += used.written
        price = dollars(model, [used])
        if price is None:
            self.unpriced.add(model)
        else:
            self.cost += price
        return used.sent + used.written

    def as_row(self) -> dict[str, Any]:
        """Return the figures of these calls for a manifest."""
        return {
            "calls": self.made,
            "calls kept before": self.again,
            "tokens read": self.read,
            "tokens written": self.written,
            "dollars": float(self.cost),
            "price unknown": sorted(self.unpriced),
        }


current_calls: ContextVar[Calls | None] = ContextVar("current_calls", default=None)
"""The `Calls` to which the calls of a task and of its subtasks belong."""

asked_for: ContextVar[str] = ContextVar("asked_for", default="")
"""The purpose of a task's calls, such as a draw of an item; a failed call fails for it alone."""

asked_key: ContextVar[str | None] = ContextVar("asked_key", default=None)
"""The key under which the answer to a task's question is kept."""


@dataclass
class Tries:
    """The requests of one call so far, those after an empty reply included.

    Attributes:
        made: The number of requests; a repetition without an unsupported setting is not counted.
    """

    made: int = 0
    _began: float | None = None

    def begin(self) -> None:
        """Count a request."""
        self.made += 1
        self._began = self._began or time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the first request began."""
        return 0.0 if self._began is None else time.monotonic() - self._began


current_tries: ContextVar[Tries | None] = ContextVar("current_tries", default=None)
"""The requests of the call that the current task waits for."""


def decisive(config: "GenerateConfig") -> dict[str, Any]:
    """Return the settings of a call that may change its answer."""
    excluded = {"max_connections", *TRANSPORT}
    found: dict[str, Any] = config.model_dump(mode="json", exclude_none=True, exclude=excluded)
    return found


def question_key(model: str, input: "str | Sequence[ChatMessage]", settings: dict[str, Any]) -> str:
    """Return a hash of a question to a model, of its text and its settings."""
    asked: Any = input
    if not isinstance(input, str):
        asked = [[message.role, message.text, message.metadata] for message in input]
    return hash_of([model, asked, settings])


_LEAST_COUNTED, _LEAST_SENT = 16, 100
"""A service that reports fewer tokens does not count them; shorter prompts are not checked."""


def is_cut(messages: "Sequence[ChatMessage]", output: "ModelOutput") -> bool:
    """Return whether a service cut a prompt: it reports far fewer tokens than there are words.

    In every tokenizer in use a word is at least one token; so are 24 bytes of a script without
    spaces.
    """
    counted = Tokens.of(output.usage).sent
    if counted < _LEAST_COUNTED:
        return False
    texts = [message.text for message in messages]
    least = sum(max(len(text.split()), len(text.encode(errors="replace")) // 24) for text in texts)
    return least >= _LEAST_SENT and counted < 0.75 * least


def is_empty(output: "ModelOutput") -> bool:
    """Return whether an answer has no visible character, no reasoning and no tool call.

    An empty reply of a service is not kept, and the request is repeated.
    """
    if output.stop_reason not in ("stop", "unknown") or printable(output.completion).strip():
        return False
    if output.message.tool_calls:
        return False
    parts = output.message.content
    return isinstance(parts, str) or all(part.type != "reasoning" for part in parts)


def keep_answer(output: "ModelOutput") -> None:
    """Write an answer to the journal of the current work, once.

    A service does so while the call still holds its connection, so that a killed process loses no
    more answers than it has connections.
    """
    calls, key = current_calls.get(), asked_key.get()
    if calls is None or calls.journal is None or key is None or key in calls.journal.known:
        return
    if not is_empty(output):
        # Text takes a tenth of the memory.
        calls.journal.keep(key, output.model_dump_json(exclude_none=True))


@contextmanager
def counted_calls(journal: Journal | None = None, *, rank: int = 0) -> Iterator[Calls]:
    """Count the calls made in a block together.

    Args:
        journal: The journal in which `contrafact.models.kept.KeptModel` keeps answers.
    """
    calls = Calls(journal, rank)
    token = current_calls.set(calls)
    try:
        yield calls
    finally:
        current_calls.reset(token)
