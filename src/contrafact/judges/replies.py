"""Reads verdicts, JSON objects and texts from models' replies, without guessing.

A verdict is true or false, T or F, or a label. It may be in a JSON object, under its name; after a
name of the answer ("Verdict: …", "the answer is …"); at the start of a line or sentence; in a
clause that only states the verdict ("so it is false"); or after another name ("Figures: true").

The rules:

1. Marked reasoning, text that is struck out, quotations, and repetitions of the graded texts (some
   eight words in a row) do not count. Nor does text that the reply only reports ("it ends with …").
2. After the last mark of a final answer ("Final answer: …", ``<answer>``, ``\\boxed``) only the
   text that follows counts; everything before it is a draft.
3. A verdict after another name counts only if there is no other verdict.

A reply is invalid, with the reason, if its verdicts differ, if the text after the last one denies
it or names another, or if there is none. Text after a verdict may explain it. A reply that was cut
off or refused is invalid; `contrafact.models.asking.no_answer` tells if the provider reports so.

Errors of form (fences, bold, Python's constants, a trailing comma) are repaired, and the repairs
are returned.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from contrafact.judges.own_words import (
    EDGE,
    FINAL,
    FINAL_ENDS,
    NAME,
    UNSEEN,
    bare,
    objects_in,
    own_words,
    reasoning,
    reported,
    reported_until,
    seen,
    tries,
    without,
)
from contrafact.judges.statements import DENIED, rank_of, taken_back, verdict_words, words_of
from contrafact.text.delimit import replace_surrogates, shorten

__all__ = [
    "MAX_CHARACTERS",
    "NO_ANSWER",
    "Answer",
    "Reading",
    "Reply",
    "answer_in",
    "answer_text",
    "as_bool",
    "read_bool",
    "read_json_object",
    "read_label",
    "read_letter",
]

MAX_CHARACTERS = 20_000
"""A longer reply is not an edit of a short text, and is not given to a judge."""

_V = TypeVar("_V", bound=bool | str)

_MOST = 500  # times that a reply may name its verdict; with more, it is repeating itself

NO_ANSWER = "(no answer)"
"""The text that replaces a model's empty turn in a conversation; some services refuse those."""

_SECOND_THOUGHT = re.compile(
    r"\n[^\S\n]*\n[ \t*_]*(?:(?:wait|hmm+|no), |scratch that|correction:"
    r"|(?:wait, )?on (?:second thoughts?|reflection),"
    r"|let me (?:rewrite|redo|revise|correct|try) (?:that|this|it|again)\b)",
    re.IGNORECASE,
)
_TRUTH = {"true": True, "false": False}
_LETTERS = {**_TRUTH, "t": True, "f": False}


@dataclass(frozen=True)
class Answer:
    """The part of a reply that may hold its answer; ``removed`` names the parts left out."""

    text: str
    invalid: str | None = None
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """The JSON object read from a reply and its repairs, or why there is none (``invalid``)."""

    value: dict[str, Any] | None
    repairs: tuple[str, ...] = ()
    invalid: str | None = None


@dataclass(frozen=True)
class Reading(Generic[_V]):
    """The verdict read from a reply, or why there is none (``invalid``).

    Attributes:
        at: The position of the verdict in the visible text of the reply (`seen`).
        rationale: The text before the verdict, if reasons were asked for.
    """

    value: _V | None
    invalid: str | None = None
    at: int | None = None
    rationale: str | None = None


def answer_in(reply: str, graded: Sequence[str] = ()) -> Answer:
    """Return a reply without its reasoning and without the text before an answer marked as final.

    A mark inside a JSON object, a quotation, or a repetition of the ``graded`` texts is ignored.
    """
    spans, invalid = reasoning(reply)
    removed: tuple[str, ...] = ("reasoning",) if spans else ()
    if invalid:
        return Answer("", invalid, removed)
    text, marked = own_words(without(reply, spans), graded, {})
    if marked:
        removed += ("text before the final answer",)
    text = text.strip(UNSEEN)
    return Answer(text, None if text else "empty reply", removed)


def answer_text(reply: str, max_characters: int = MAX_CHARACTERS) -> Answer:
    """Return a reply that is free text: an edit, a headline, a phrasing.

    As `answer_in`, but invisible characters within the text stay, and a mark counts only at the
    start of a line. A fence around the whole text is removed. A text that a later paragraph takes
    back ("wait, …"), one of dots only, and one that is too long are invalid.
    """
    reply = replace_surrogates(reply)
    spans, invalid = reasoning(reply)
    if invalid:
        return Answer("", invalid)
    at, parts = 0, []
    for start, end in spans:
        parts.append(reply[at:start])
        at = end
    text = " ".join((*parts, reply[at:])).strip()
    marks = [
        mark
        for mark in FINAL.finditer(text)
        if not text[: mark.start()].rpartition("\n")[2].strip(EDGE)
        and reported_until(text, mark) is None
    ]
    if marks:
        text = FINAL_ENDS.split(text[marks[-1].end() :])[0]
    text = text.strip(UNSEEN)
    if fenced := re.fullmatch(r"```\w*[ \t]*\n(.*?)\n?```", text, re.DOTALL):
        text = fenced[1].strip()
    if _SECOND_THOUGHT.search(text):
        return Answer("", "a text that is taken back")
    if len(text) > max_characters:
        return Answer(text, f"the reply is over {max_characters:,} characters")
    return Answer(text, None if text.strip(" .…") else "empty reply")


def read_json_object(reply: str, graded: Sequence[str] = ()) -> Reply:
    """Return the JSON object in a reply.

    Repaired, and named: reasoning, a code fence, words around the object, a trailing comma,
    Python's constants, raw line breaks inside strings, typographic quotes as delimiters, and an
    object that is repeated. Not repaired: an object that was cut off, and objects that differ.
    """
    if (value := _loads(reply)) is not None:
        return Reply(value)
    answer = answer_in(reply, graded)
    if answer.invalid:
        return Reply(None, answer.removed, answer.invalid)
    text, repairs = answer.text, list(answer.removed)
    if (value := _loads(text)) is not None:
        return Reply(value, answer.removed)
    if "```" in text:
        repairs.append("code fence")
    spans, open_end = objects_in(text)
    tried = [one for start, end in spans if tries(one := text[start:end])]
    if open_end:
        return Reply(None, tuple(repairs), "cut off inside the JSON object")
    if not tried:
        return Reply(None, tuple(repairs), "no JSON object")
    if text.replace("```json", "").replace("```", "").strip() != tried[0]:
        repairs.append("text around the object")
    read = [_repaired(one) for one in tried]
    if any(one is None for one in read):
        return Reply(None, tuple(repairs), "not JSON")
    if any(DENIED.search(text[max(0, start - 80) : start]) for start, _ in spans):
        return Reply(None, tuple(repairs), "a denied JSON object")
    (first, needed), *others = [one for one in read if one is not None]
    for other, _ in others:
        if other != first:
            both = " and ".join(shorten(json.dumps(one), 60)[0] for one in (first, other))
            return Reply(None, tuple(repairs), f"several different JSON objects: {both}")
    return Reply(first, (*repairs, *needed))


def read_bool(reply: str, key: str, graded: Sequence[str] = ()) -> Reading[bool]:
    """Return a judge's true or false for one criterion, or why there is none.

    In JSON it is ``{key: {"value": true}}``, ``{key: true}`` or ``{"value": true}``.

    Args:
        graded: The texts that it judges; repetitions of them do not count.
    """
    return _read(reply, _TRUTH, "verdict", graded, key=key)


def read_letter(reply: str, graded: Sequence[str] = ()) -> Reading[bool]:
    """Return the T or F in a reply, or why there is none; true and false are read, too."""
    found = _read(reply, _LETTERS, "verdict", graded)
    if found.invalid in ("no verdict", "empty reply"):
        words = " ".join(reply.split())
        shown = f"'{shorten(words, 40)[0]}'" if words else "nothing"
        return Reading(None, f"neither T nor F: {shown}")
    return found


def read_label(
    reply: str, labels: Sequence[str], graded: Sequence[str] = (), *, reasons: bool = False
) -> Reading[str]:
    """Return the label that a reply gives, in upper or lower case.

    Args:
        graded: The texts that it is about; repetitions of them do not count.
        reasons: Whether reasons were asked for, with the label on the last line: then only that
            line is read, and the text before it is the rationale.
    """
    words = {label.casefold(): label for label in labels}
    found = _read(reply, words, "label", graded, last_line=reasons)
    if reasons and found.invalid == "no label":
        return replace(found, invalid="no label on the last line")
    return found


def as_bool(value: object) -> bool | None:
    """Return a value that is true or false, or one of these words, as a bool; otherwise None."""
    if isinstance(value, bool):
        return value
    return _TRUTH.get(bare(value)) if isinstance(value, str) else None


def _read(
    reply: str,
    words: Mapping[str, _V],
    noun: str,
    graded: Sequence[str],
    *,
    key: str | None = None,
    last_line: bool = False,
) -> Reading[_V]:
    """Return the verdict of a reply, or why there is none; without a key, under any name."""
    text = seen(reply)
    spans, invalid = reasoning(text)
    if invalid:
        return Reading(None, invalid)
    text, start, rationale = without(text, spans), 0, None
    if last_line:
        # A fence or a rule below the label is not the answer.
        last = max((one.start() for one in re.finditer(r"\w", text)), default=0)
        start = text.rfind("\n", 0, last) + 1
        rationale = text[:start].strip() or None
    if not text.strip(UNSEEN):
        return Reading(None, "empty reply")
    text, _ = own_words(text, graded, words, start)
    found = _verdict(text, words, noun, key)
    return replace(found, rationale=rationale)


def _verdict(text: str, words: Mapping[str, _V], noun: str, key: str | None) -> Reading[_V]:
    """Return the verdict that a reply states; ``text`` is the reply without what it quotes."""
    if (whole := words.get(bare(text))) is not None:
        return Reading(whole, at=re.search(r"\w", text).start())  # type: ignore[union-attr]
    spans, open_end = objects_in(text)
    spans = [span for span in spans if tries(text[slice(*span)]) and not reported(text, span[0])]
    if open_end:
        return Reading(None, "cut off inside the JSON object")
    pattern = verdict_words(tuple(words))
    verdicts: list[tuple[int, int, int, _V]] = []  # rank, start, end, verdict
    for start, end in spans:
        if (read := _repaired(text[start:end])) is None:
            return Reading(None, "not JSON")
        if DENIED.search(text[max(0, start - 80) : start]):
            return Reading(None, f"a denied {noun}")
        value = _under(read[0], key, words)
        if value is not None:
            places = pattern.finditer(text, start, end)
            same = [place for place in places if words[place[0].casefold()] == value]
            verdicts.append((0, same[-1].start() if same else start, end, value))
        elif key is None or _holds_truth(read[0]):
            where = f"under '{key}'" if key else "in the JSON object"
            return Reading(None, f"no {noun} {where}")
    outside = without(text, spans)
    named = list(pattern.finditer(outside))
    if len(named) > _MOST:
        return Reading(None, f"a {noun} {len(named):,} times")
    framed = {*words_of(key or "")}
    for one in named:
        if (rank := rank_of(outside, one.start(), one.end(), framed)) is not None:
            verdicts.append((rank, one.start(), one.end(), words[one[0].casefold()]))
    best = min(verdicts)[0] if verdicts else 0
    chosen = sorted((at, value) for rank, at, _, value in verdicts if rank == best)
    stated = [one[1] for one in chosen] or [words[one[0].casefold()] for one in named]
    if len({*stated}) > 1:
        names = ", ".join(str(verdict).lower() for verdict in dict.fromkeys(stated))
        return Reading(None, f"several {noun}s: {names}")
    if not chosen and named:
        around = outside[max(0, named[0].start() - 40) : named[0].end() + 40]
        return Reading(None, f"a {noun} in another statement: '{' '.join(around.split())}'")
    if not chosen:
        return Reading(None, f"no {noun}" + (f" under '{key}'" if spans and key else ""))
    at, verdict = chosen[0]
    last = max(one[2] for one in verdicts if one[3] == verdict)
    if taken_back(outside, last, verdict, words):
        return Reading(None, f"a {noun} that is taken back: {str(verdict).lower()}")
    return Reading(verdict, at=at)


def _under(found: Mapping[str, Any], key: str | None, words: Mapping[str, _V]) -> _V | None:
    """Return the verdict under the key of a JSON object; without a key, under an answer's name."""
    if key is not None:
        names = (key.casefold(), "value")
        given = [value for name, value in found.items() if name.casefold() in names]
    else:
        given = [value for name, value in found.items() if re.fullmatch(NAME, name, re.IGNORECASE)]
        if not given and len(found) == 1 and not {name.casefold() for name in found} & {*words}:
            given = [*found.values()]
    read = [one.get("value") if isinstance(one, dict) else one for one in given]
    verdicts = {words.get(bare(str(one))) if isinstance(one, (bool, str)) else None for one in read}
    return verdicts.pop() if len(verdicts) == 1 else None


def _holds_truth(value: object) -> bool:
    """Return whether any value in a JSON value is true or false."""
    if isinstance(value, Mapping):
        return any(map(_holds_truth, value.values()))
    if isinstance(value, list):
        return any(map(_holds_truth, value))
    return as_bool(value) is not None


_REPAIRS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("trailing comma", re.compile(r",(\s*[}\]])"), r"\1"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])True(?=\s*[,}\]])"), "true"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])False(?=\s*[,}\]])"), "false"),
    ("Python constant", re.compile(r"(?<=[:\[,\s])None(?=\s*[,}\]])"), "null"),
    ("line break in a string", re.compile(r"[\r\n\t]+"), " "),
    ("typographic quotes", re.compile("[“”]"), '"'),
)


def _one_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if any(found[name] != value for name, value in pairs):
        raise ValueError("a name with two values")
    return found


def _loads(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, object_pairs_hook=_one_each)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _repaired(text: str) -> tuple[dict[str, Any], list[str]] | None:
    if (value := _loads(text)) is not None:
        return value, []
    repairs: list[str] = []
    for name, pattern, replacement in _REPAIRS:
        changed = pattern.sub(replacement, text)
        if changed != text:
            text = changed
            repairs.append(name)
            if (value := _loads(text)) is not None:
                return value, repairs
    return None
