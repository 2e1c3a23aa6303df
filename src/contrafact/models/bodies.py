"""The HTTP bodies of a service's replies: limited in size, kept for messages, and repaired.

`watch` adds one hook to the HTTP client of a provider. The hook reads every reply and every error,
at most `LONGEST` unpacked bytes, and closes the connection if there are more. It passes on plain
JSON in which malformed fields that the answer does not need, such as an odd ``usage``, are
repaired: they no longer cost an answer that is sound and paid for.
"""

import json
import math
import sys
import zlib
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

LONGEST = 8 * 2**20
"""The most unpacked bytes of a reply that are read: a hundred times those of a long answer."""

_UNPACKED = {"": None, "identity": None, "gzip": 47, "x-gzip": 47, "deflate": 47}
"""The compressions that are accepted, with zlib's window for each (47 detects gzip or zlib)."""

_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens")
_DETAILS = {
    "prompt_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "completion_tokens_details": ("reasoning_tokens",),
    "input_tokens_details": ("cached_tokens",),
    "output_tokens_details": ("reasoning_tokens",),
}


@dataclass(frozen=True)
class Body:
    """The body of a reply, as text, and the reply's status."""

    status: int
    text: str


bodies: ContextVar[list[Body] | None] = ContextVar("bodies", default=None)
"""The replies to the current task's call, one for each request."""


class ReplyTooLongError(RuntimeError):
    """A reply is longer than the limit, or has a compression that was not asked for."""


def watch(http: Any) -> None:
    """Add the hook of this module to an HTTP client (httpx's, or a compatible one)."""
    hooks = http.event_hooks
    if _read not in hooks.get("response", ()):
        http.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _read]}
        http.headers["accept-encoding"] = "gzip, deflate"
        http.max_redirects = 3


async def _read(response: Any) -> None:
    """Read a reply whole; a stream of events is limited, but left to the caller to read."""
    # The classes come from the client's own library: httpx, or httpx2 in newer SDKs.
    library = sys.modules[type(response).__module__.partition(".")[0]]
    parts = _plain(response.stream, response.headers.pop("content-encoding", ""))
    if response.status_code < 400 and "event-stream" in response.headers.get("content-type", ""):
        response.stream = _streamed(library, parts, response.stream)
        return
    body = b"".join([part async for part in parts])
    await response.stream.aclose()
    kept = bodies.get()
    if kept is not None:
        kept.append(Body(response.status_code, body.decode("utf-8", "replace")))
    response.headers.pop("content-length", None)
    response.stream = library.ByteStream(_in_order(body))


def _streamed(library: Any, parts: AsyncIterator[bytes], source: Any) -> Any:
    class Stream(library.AsyncByteStream):  # type: ignore[misc]
        def __aiter__(self) -> AsyncIterator[bytes]:
            return parts

        async def aclose(self) -> None:
            await source.aclose()

    return Stream()


async def _plain(stream: Any, packing: str) -> AsyncIterator[bytes]:
    """Yield a stream's unpacked bytes; raise `ReplyTooLongError` when they exceed the limit."""
    packing = packing.strip().lower()
    if packing not in _UNPACKED:
        raise ReplyTooLongError(f"the service compressed its reply as '{packing[:40]}', unasked")
    window = _UNPACKED[packing]
    packed = None if window is None else zlib.decompressobj(window)
    left = LONGEST
    async for part in stream:
        if packed is not None:
            try:
                part = packed.decompress(part, left + 1)
            except zlib.error:
                if left < LONGEST:
                    raise
                packed = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without its header
                part = packed.decompress(part, left + 1)
        left -= len(part)
        if left < 0:
            raise ReplyTooLongError(f"the service's reply is longer than {LONGEST // 2**20} MB")
        yield part


def _in_order(body: bytes) -> bytes:
    """Return a reply; in a chat completion, fields that its reader cannot take are repaired."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(reply, dict) or not {"choices", "usage", "stop_reason"} & reply.keys():
        return body
    reply["usage"] = _usage(reply.get("usage"), of_anthropic=reply.get("type") == "message")
    choices = reply.get("choices")
    if isinstance(choices, list) and choices:
        reply["model"] = str(reply.get("model") or "")
        for place, choice in enumerate(choices):
            if isinstance(choice, dict):
                _repair_choice(choice, place)
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")


def _repair_choice(choice: dict[str, Any], place: int) -> None:
    choice["index"] = place
    if not _are_scores(choice.get("logprobs")):
        choice["logprobs"] = None
    message = choice.get("message")
    if not isinstance(message, dict):
        return
    content = message.get("content")
    if isinstance(content, dict):
        content = [content]
    if isinstance(content, list):
        message["content"], refusal = _text_in(content)
        message["refusal"] = message.get("refusal") or refusal
    elif content is not None and not isinstance(content, str):
        message["content"] = json.dumps(content)
    message["refusal"] = message.get("refusal") or None  # an empty refusal is no refusal
    if (call := message.pop("function_call", None)) and not message.get("tool_calls"):
        message["tool_calls"] = [{"id": "call", "type": "function", "function": call}]


def _are_scores(logprobs: Any) -> bool:
    """Return whether log-probabilities are absent or have the form that Inspect can read.

    Alternatives to a token that do not have this form are removed.
    """
    if not isinstance(logprobs, dict) or logprobs.get("content") is None:
        return True
    tokens = logprobs["content"]
    if not isinstance(tokens, list) or not all(map(_is_score, tokens)):
        return False
    for token in tokens:
        others = token.get("top_logprobs")
        token["top_logprobs"] = list(filter(_is_score, others)) if isinstance(others, list) else []
    return True


def _is_score(token: Any) -> bool:
    """Return whether a token has a finite log-probability, which can be written to a file."""
    if not isinstance(token, dict) or not isinstance(token.get("token"), str):
        return False
    logprob, spelled = token.get("logprob"), token.get("bytes")
    return (
        isinstance(logprob, int | float)
        and math.isfinite(logprob)
        and (spelled is None or isinstance(spelled, list))
    )


def _text_in(parts: list[Any]) -> tuple[str, str | None]:
    """Return the text and the refusal in a message's parts, without reasoning."""
    texts, refusals = [], []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") in ("text", "output_text", None):
            texts.append(str(part.get("text") or ""))
        elif isinstance(part, dict) and part.get("type") == "refusal":
            refusals.append(str(part.get("refusal") or ""))
    return "\n".join(texts), "\n".join(refusals) or None


def _usage(usage: Any, of_anthropic: bool) -> dict[str, Any] | None:
    """Return the token counts that a service reports, as whole numbers; None if it reports none.

    A missing count of prompt or answer tokens becomes 0, and a missing total their sum.
    Anthropic's client accepts no message without both counts.
    """
    usage = usage if isinstance(usage, dict) else {}
    counted = {name: _count(usage.get(name)) for name in _COUNTS if name in usage}
    kept = {name: value for name, value in counted.items() if value is not None}
    names = next((pair for pair in (_COUNTS[:2], _COUNTS[2:4]) if kept.keys() & {*pair}), None)
    names = _COUNTS[2:4] if of_anthropic else names
    if names is None:
        return None
    kept = {**dict.fromkeys(names, 0), **kept}
    kept.setdefault("total_tokens", sum(kept[name] for name in names))
    details = {
        name: {part: _count(given.get(part)) or 0 for part in parts if part in given}
        for name, parts in _DETAILS.items()
        if isinstance(given := usage.get(name), dict)
    }
    others = {name: value for name, value in usage.items() if name not in {*_COUNTS, *_DETAILS}}
    return {**others, **kept, **details}


def _count(value: Any) -> int | None:
    try:
        return max(0, round(float(value)))
    except (TypeError, ValueError, OverflowError):
        return None
