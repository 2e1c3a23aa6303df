"""Probabilities of a judge's answers, at the token where the answer begins after any reasoning."""

import math
import re
from collections.abc import Iterator, Sequence

from inspect_ai.model import Logprob, ModelOutput

from contrafact.judges.own_words import seen

__all__ = ["answer_masses"]

# How vocabularies write a space, a line break and a byte; some servers return them like this.
_SPELLED = re.compile(r"<0x([0-9A-Fa-f]{2})>|[Ġ▁]|[Ċ]")


def answer_masses(
    output: ModelOutput, at: int | None, answers: Sequence[str]
) -> dict[str, float] | None:
    """Return the probability of each answer at the reply's answer; None if it is not known.

    The probabilities of all alternative tokens that begin an answer, in upper or lower case, are
    added up; no two answers begin alike. An alternative with -9999 adds nothing; if all add
    nothing, the result is None.

    Args:
        at: The position of the answer in the visible text of the reply.
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
    """Return the token at a position in a reply, and the part of it before that position.

    The tokens may begin with reasoning and end with special tokens.
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
