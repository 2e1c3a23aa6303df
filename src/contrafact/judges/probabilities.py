"""The probability of an answer: that of the token where it begins, behind all reasoning."""

import math
import re
from collections.abc import Iterator, Sequence

from inspect_ai.model import Logprob, ModelOutput

from contrafact.judges.own_words import seen

__all__ = ["answer_masses"]

# How vocabularies write a space, a line break and a byte, where a server shows them as they are.
_SPELLED = re.compile(r"<0x([0-9A-Fa-f]{2})>|[Ġ▁]|[Ċ]")


def answer_masses(
    output: ModelOutput, at: int | None, answers: Sequence[str]
) -> dict[str, float] | None:
    """Return how probable each answer was where one begins; None where that is not known.

    Alternatives that begin an answer, in any case, are added up by answer: no two begin alike. One
    that the server calls all but impossible (-9999) adds nothing; where none adds anything, no
    probability is known.

    Args:
        at: Where the answer stands in what of the reply is seen.
    """
    logprobs = output.choices[0].logprobs if output.choices else None
    if at is None or logprobs is None:
        return None
    token, before = _token_at(logprobs.content, seen(output.completion), at)
    if token is None or not token.top_logprobs:
        return None
    alternatives = {one.token: one.logprob for one in token.top_logprobs}
    alternatives.setdefault(token.token, token.logprob)
    masses = dict.fromkeys(answers, 0.0)
    for text, logprob in alternatives.items():
        begun = _spelled(text).lstrip().removeprefix(before).strip().casefold()
        answer = begun and next((one for one in answers if one.casefold().startswith(begun)), None)
        if answer:
            masses[answer] += math.exp(min(logprob, 0.0))
    return masses if sum(masses.values()) > 0 else None


def _token_at(tokens: Sequence[Logprob], reply: str, at: int) -> tuple[Logprob | None, str]:
    """Return the token that a place in a reply falls into, and what of it stands before.

    Tokens of reasoning may come first, and marks of the reply's end last.
    """
    for spelled in (False, True):
        parts = list(_bytes(tokens, spelled))
        start = b"".join(parts).rfind(reply.strip().encode("utf-8", "replace"))
        if start < 0:
            continue
        lead = len(reply) - len(reply.lstrip())
        left = start + len(reply[lead:at].encode("utf-8", "replace"))
        for token, part in zip(tokens, parts, strict=True):
            if left < len(part):
                return token, part[:left].decode("utf-8", "replace").lstrip()
            left -= len(part)
    return None, ""


def _bytes(tokens: Sequence[Logprob], spelled: bool) -> Iterator[bytes]:
    for token in tokens:
        if token.bytes and not spelled:
            yield bytes(token.bytes)
        else:
            text = _spelled(token.token) if spelled else token.token
            yield seen(text).encode("utf-8", "replace")


def _spelled(token: str) -> str:
    def plain(mark: re.Match[str]) -> str:
        if mark[1]:
            return chr(int(mark[1], 16))
        return "\n" if mark[0] == "Ċ" else " "

    return _SPELLED.sub(plain, token)
