"""Several criteria in one call, each decided by words that the judge must quote.

The reply is one JSON object that gives, for each criterion, first the words that decide it and
then true or false: ``{"coherent": {"words": "fell on strong demand", "value": false}, …}``.

A verdict is invalid if its words are in none of the texts. The comparison ignores case, spaces,
invisible characters, the shapes of quotation marks and dashes, signs at either end, and the words
that an ellipsis leaves out. A verdict of true may come without words (an absence cannot be quoted),
a verdict of false may not.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from inspect_ai.model import CachePolicy, Model, ResponseSchema
from inspect_ai.util import JSONSchema
from pydantic import Field

from contrafact.judges.judge import JUDGE_CONFIG
from contrafact.judges.replies import as_bool, read_json_object
from contrafact.models.asking import answer, no_answer
from contrafact.models.requests import SharedSchema, closed_object
from contrafact.records import Verdict
from contrafact.text.delimit import Characters, printable, shorten

__all__ = ["QuotedVerdict", "find_words", "judge_quoted"]

_SAME = str.maketrans(
    dict.fromkeys("‘’‚‛′`´", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | {"‹": "<"}
)
_ENDS = " .,;:!?\"'()[]"


class QuotedVerdict(Verdict):
    """A verdict with the words that decide it."""

    words: str = Field(default="", description="The quoted words; empty if none.")


@cache
def quoted_schema(criteria: tuple[str, ...]) -> ResponseSchema:
    """Return the schema of a reply about these criteria: words first, then the value."""
    verdict = closed_object(
        {"words": JSONSchema(type="string"), "value": JSONSchema(type="boolean")}
    )
    schema = closed_object(dict.fromkeys(criteria, verdict))
    return SharedSchema(name="verdicts", json_schema=schema, strict=True)


async def judge_quoted(
    model: Model,
    prompt: str,
    criteria: Sequence[str],
    texts: Sequence[str],
    *,
    structured: bool,
    cache: bool | CachePolicy = False,
) -> list[QuotedVerdict]:
    """Ask one judge several criteria about one text in one call; return a verdict on each.

    Args:
        criteria: The criteria's names, the keys of the reply.
        texts: The texts that may be quoted.
        structured: Whether to ask the provider to enforce the schema of the reply.
    """
    config = JUDGE_CONFIG
    if structured:
        config = config.model_copy(update={"response_schema": quoted_schema(tuple(criteria))})
    output = await answer(model, prompt, config, cache)
    invalid = no_answer(output)
    return read_quoted(output.completion, criteria, texts, judge=str(model), invalid=invalid)


def read_quoted(
    reply: str,
    criteria: Sequence[str],
    texts: Sequence[str],
    *,
    judge: str,
    invalid: str | None = None,
) -> list[QuotedVerdict]:
    """Return the verdicts in a reply, one for each criterion, each with words from the texts.

    ``invalid`` says why the reply holds no answer, if that is already known.
    """
    read = read_json_object(reply, texts)
    invalid = invalid or read.invalid
    verdicts = []
    for name in criteria:
        passed, words, reason = None, "", invalid
        if invalid is None:
            passed, words, reason = _one((read.value or {}).get(name), texts)
        verdict = {"passed": passed, "words": words, "invalid": reason}
        verdicts.append(QuotedVerdict(criterion=name, judge=judge, reply=reply, **verdict))
    return verdicts


def _one(given: object, texts: Sequence[str]) -> tuple[bool | None, str, str | None]:
    """Return the verdict on a criterion, its words, and why it is invalid, if it is."""
    if not isinstance(given, dict):
        return None, "", "the reply has no words and value under its name"
    words, value = given.get("words"), as_bool(given.get("value"))
    if value is None:
        return None, "", "its value is neither true nor false"
    if not isinstance(words, str):
        return None, "", "it has no words"
    blank = not any(character.isalnum() for character in words)
    if blank and not value:
        return None, "", "it is false, but no words are quoted"
    if not blank and all(find_words(words, text) is None for text in texts):
        return None, words, f"quotes words that are in no text: '{shorten(words, 60)[0]}'"
    return value, "" if blank else words, None


def find_words(words: str, text: str) -> tuple[int, int] | None:
    """Return the span of quoted words in a text, ``(start, end)`` in characters, or None.

    Only whole words match. With an ellipsis, the parts around it must occur in this order; the
    span then reaches from the first part to the last.
    """
    folded, places = _folded(text)
    quote = _folded(words)[0].strip(_ENDS)
    span = _find(quote, folded, 0)
    if span is None and "..." in quote:
        first, last = len(folded), 0
        for part in filter(None, (one.strip(_ENDS) for one in quote.split("..."))):
            if (found := _find(part, folded, last)) is None:
                return None
            first, last = min(first, found[0]), found[1]
        span = first, last
    if span is None or span[0] >= span[1]:
        return None
    return places[span[0]], places[span[1] - 1] + 1


def _find(quote: str, folded: str, start: int) -> tuple[int, int] | None:
    if not quote:
        return None
    found = re.compile(rf"(?<![a-z0-9]){re.escape(quote)}(?![a-z0-9])").search(folded, start)
    return found and found.span()


def _folded(text: str) -> tuple[str, list[int]]:
    """Return a text in its form for comparison, and the original position of each character."""
    characters: list[str] = []
    places: list[int] = []
    last = ""
    for place, character in enumerate(text):
        shown = _FOLDED[ord(character)]
        if shown == " " == last:
            continue
        characters.append(shown)
        if len(shown) == 1:
            places.append(place)
        else:
            places += [place] * len(shown)
        last = shown[-1:] or last
    return "".join(characters), places


def _compared(character: str) -> str:
    shown = printable(character)
    shown = " " if shown.isspace() else shown.translate(_SAME)
    return unicodedata.normalize("NFKD", shown).casefold()


_FOLDED = Characters(_compared)
