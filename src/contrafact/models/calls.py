"""The calls of one piece of work: counted, and marked on the disk while they are under way.

A command says what its calls belong to (`counted_calls`). From there models know where answers are
kept (`contrafact.models.kept`), and services mark each try as begun and as ended, a byte each
(`contrafact.models.service`). What was begun and never ended was under way when the command was
killed, and is asked again by whoever goes on.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.files.journal import Journal, hash_of
from contrafact.models.prices import Tokens, dollars
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    import asyncio

    from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput

__all__ = [
    "TRANSPORT",
    "Calls",
    "Tries",
    "asked_for",
    "asked_key",
    "counted_calls",
    "current_calls",
    "current_tries",
    "decisive",
    "is_cut",
    "is_empty",
    "keep_answer",
    "question_key",
    "under_way",
]

TRANSPORT = {"max_retries": 5, "timeout": 900, "attempt_timeout": 300}
"""How a call is bounded by default. Inspect retries without end; bounded, a failure is shown, and
a rerun takes it up again."""

_BEGUN, _ENDED = b"+", b"-"


@dataclass
class Calls:
    """The calls of one piece of work.

    Attributes:
        journal: Where answers are kept; None keeps none.
        rank: The place of the work among others that share connections; the first goes first.
        made: How many were made, each try counted once it is answered.
        again: How many answers came from the journal.
        cost: US dollars at list price, of models whose price is known.
        unpriced: Models that cost money and whose price is not known.
        answering: By its key, the question that is being answered.
        failed: By its key, why a service gave a question no answer in all its tries. A sample that
            starts again asks it no more.
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
    marks: FileIO | None = None

    def count(self, model: str, output: "ModelOutput") -> int:
        """Count an answer, and return how many tokens it took."""
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

    def repeated(self) -> int:
        """Return how many were under way when an earlier start was stopped: they are made again."""
        if self.marks is None:
            return 0
        marks = Path(str(self.marks.name)).read_bytes()
        return marks.count(_BEGUN) - marks.count(_ENDED)

    def as_row(self) -> dict[str, Any]:
        """Return them as a manifest has them."""
        return {
            "calls": self.made,
            "calls kept before": self.again,
            "calls repeated": self.repeated(),
            "tokens read": self.read,
            "tokens written": self.written,
            "dollars": float(self.cost),
            "price unknown": sorted(self.unpriced),
        }


current_calls: ContextVar[Calls | None] = ContextVar("current_calls", default=None)
"""What the calls of a task belong to, and of the tasks that it begins."""

asked_for: ContextVar[str] = ContextVar("asked_for", default="")
"""What a task asks for, such as a draw of an item: others may get an answer where it got none."""

asked_key: ContextVar[str | None] = ContextVar("asked_key", default=None)
"""The key under which the answer is kept to what a task asks."""


@dataclass
class Tries:
    """The requests of one call so far, those after an empty reply included.

    Attributes:
        made: How many; one more without what a service lacks counts as the same.
    """

    made: int = 0
    _began: float | None = None

    def begin(self) -> None:
        """Count one."""
        self.made += 1
        self._began = self._began or time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the first began."""
        return 0.0 if self._began is None else time.monotonic() - self._began


current_tries: ContextVar[Tries | None] = ContextVar("current_tries", default=None)
"""The requests of the call that a task waits for."""


def decisive(config: "GenerateConfig") -> dict[str, Any]:
    """Return the settings of a call that may change its answer."""
    excluded = {"max_connections", *TRANSPORT}
    found: dict[str, Any] = config.model_dump(mode="json", exclude_none=True, exclude=excluded)
    return found


def question_key(model: str, input: "str | Sequence[ChatMessage]", settings: dict[str, Any]) -> str:
    """Return what tells a question to a model from others."""
    asked: Any = input
    if not isinstance(input, str):
        asked = [[message.role, message.text, message.metadata] for message in input]
    return hash_of([model, asked, settings])


_LEAST_COUNTED, _LEAST_SENT = 16, 100
"""What counts fewer tokens does not count; and of fewer words it is not known what was cut."""


def is_cut(messages: "Sequence[ChatMessage]", output: "ModelOutput") -> bool:
    """Tell whether a service cut a prompt: it counts far fewer tokens than there are words.

    A word takes a token or more of any tokenizer in use; so do 24 bytes of a script without spaces.
    """
    counted = Tokens.of(output.usage).sent
    if counted < _LEAST_COUNTED:
        return False
    texts = [message.text for message in messages]
    least = sum(max(len(text.split()), len(text.encode(errors="replace")) // 24) for text in texts)
    return least >= _LEAST_SENT and counted < 0.75 * least


def is_empty(output: "ModelOutput") -> bool:
    """Tell whether an answer ended without a sign that can be seen, without reasoning or a call.

    An empty reply of a service is asked for again and not kept.
    """
    if output.stop_reason not in ("stop", "unknown") or printable(output.completion).strip():
        return False
    if output.message.tool_calls:
        return False
    parts = output.message.content
    return isinstance(parts, str) or all(part.type != "reasoning" for part in parts)


def keep_answer(output: "ModelOutput") -> None:
    """Keep what was answered, once, where the current work keeps answers.

    A service does it while the call still holds its connection: so no more answers are lost to a
    kill than there are connections.
    """
    calls, key = current_calls.get(), asked_key.get()
    if calls is None or calls.journal is None or key is None or key in calls.journal.known:
        return
    if not is_empty(output):
        # As text, which takes a tenth of the memory.
        calls.journal.keep(key, output.model_dump_json(exclude_none=True))


@contextmanager
def counted_calls(
    journal: Journal | None = None, *, marks: Path | None = None, rank: int = 0
) -> Iterator[Calls]:
    """Let the calls of a block belong together.

    Args:
        journal: Where `contrafact.models.kept.KeptModel` keeps answers.
        marks: Where calls are marked, next to the journal if nowhere else; gone when the block ends
            well, there if it is stopped.
    """
    if marks is None and journal is not None:
        marks = journal.path.with_name(f".{journal.path.name.lstrip('.')}.calls")
    calls = Calls(journal, rank)
    token = current_calls.set(calls)
    try:
        if marks is None:
            yield calls
            return
        marks.parent.mkdir(parents=True, exist_ok=True)
        with marks.open("ab", buffering=0) as calls.marks:
            yield calls
        marks.unlink(missing_ok=True)
    finally:
        current_calls.reset(token)


@contextmanager
def under_way() -> Iterator[None]:
    """Mark a try as under way. One that is cancelled is not marked as ended: it is made again.

    So is one whose answer came when its time was over, which Inspect does not take.
    """
    calls = current_calls.get()
    marks = None if calls is None else calls.marks
    if marks is None:
        yield
        return
    marks.write(_BEGUN)
    try:
        yield
    except Exception:
        marks.write(_ENDED)
        raise
    from anyio import current_effective_deadline

    if current_effective_deadline() > -math.inf:
        marks.write(_ENDED)
