"""Edit logs: which words were replaced by which, so that anyone can replay a rewrite.

An edit's span indexes the original. A log is in order and its spans do not overlap; an insertion
has an empty span. Everything between the spans is, by construction, unchanged.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import Any

from contrafact.families.rfc.records import Edit
from contrafact.text.diff import word_diff

_SILENT_H = ("hour", "honest", "honour", "honor", "heir")
# Words that begin with a vowel in writing, but with the sound of "you" or "w".
_CONSONANT_SOUND = re.compile(r"(?:uni(?!n|m)|use|usu|usag|util|eu|one(?!r)|once|ura|ufo)", re.I)
# Letters whose names begin with a vowel: an S&P rise, an IPO.
_VOWEL_NAMES = frozenset("AEFHILMNORSX")
_SPOKEN_NUMBER = re.compile(r"[^\w\s]{0,2}(?:US|C|A)?[$€£¥]?\s?(?P<digits>\d[\d,]*)")
_LETTERS = re.compile(r"[A-Za-z&.]+")
_ARTICLE_BEFORE = re.compile(r"\b(an?)(\s+[\"'“‘(]?)\Z", re.IGNORECASE)


@dataclass(frozen=True)
class RewriteOutcome:
    """The outcome of rewriting one row.

    ``violations`` are those of the best rejected proposal. ``undecided`` says why it is not yet
    known whether the rewrite means what it should; it is empty if facts or judges have decided.
    """

    rewritten: str | None = None
    edits: tuple[Edit, ...] = ()
    attempts: int = 1
    reason: str = ""
    violations: tuple[Mapping[str, Any], ...] = ()
    undecided: str = ""


def replace_at(text: str, start: int, end: int, after: str, why: str) -> Edit:
    """Return the edit that puts ``after`` in the place of ``text[start:end]``."""
    return Edit(start=start, end=end, before=text[start:end], after=after, why=why)


def apply(original: str, edits: Iterable[Edit]) -> str:
    """Return the original with a log's edits applied; a log of another text is a ValueError."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        if edit.start < at or edit.end < edit.start or edit.end > len(original):
            raise ValueError(f"edit {edit.start}–{edit.end} overlaps, or is out of the text")
        if original[edit.start : edit.end] != edit.before:
            raise ValueError(f"'{edit.before}' does not stand at {edit.start}–{edit.end}")
        parts += original[at : edit.start], edit.after
        at = edit.end
    return "".join([*parts, original[at:]])


def compose(*logs: Iterable[Edit]) -> tuple[Edit, ...]:
    """Return several logs as one; if two touch the same words, the earlier log's edit is kept."""
    kept: list[Edit] = []
    for log in logs:
        kept.sort(key=_place)
        ends = list(accumulate((edit.end for edit in kept), max))
        new = []
        for edit in log:
            near = bisect_left(ends, edit.start), bisect_right(kept, edit.end, key=_start)
            if not any(_touch(edit, other) for other in kept[slice(*near)]):
                new.append(edit)
        kept += new
    return tuple(sorted((e for e in kept if e.before != e.after), key=_place))


_start = attrgetter("start")
_place = attrgetter("start", "end")


def _touch(edit: Edit, other: Edit) -> bool:
    if edit.start == edit.end or other.start == other.end:
        return edit.start <= other.end and other.start <= edit.end
    return edit.start < other.end and other.start < edit.end


def with_articles(text: str, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return the log with "a" and "an" made to agree with the next word, if they did before."""
    repairs: list[Edit] = []
    for edit in edits:
        article = _ARTICLE_BEFORE.search(text, max(0, edit.start - 6), edit.start)
        if not article or not edit.after[:1].strip():
            continue
        written = article[1]
        rest = text[edit.end : edit.end + 24]
        needed = article_for(edit.after + rest)
        if written.casefold() != article_for(text[edit.start : edit.end + 24]):
            continue
        if written.casefold() != needed:
            after = needed.capitalize() if written[0].isupper() else needed
            repairs.append(
                replace_at(text, *article.span(1), after, "a or an, as the next word needs")
            )
    return compose(edits, repairs)


def article_for(text: str) -> str:
    """Return "a" or "an" as spoken: an 8% rise, an $11 billion deal."""
    text = text.lstrip("\"'“‘( ")
    if number := _SPOKEN_NUMBER.match(text):
        digits = number["digits"].replace(",", "")
        leading = len(digits) % 3 or 3
        return "an" if digits[0] == "8" or digits[:leading] in ("11", "18") else "a"
    word = _LETTERS.match(text)
    if word is None:
        return "a"
    letters = word[0]
    if len(letters) <= 5 and letters.replace("&", "").replace(".", "").isupper():
        return "an" if letters[0] in _VOWEL_NAMES else "a"
    plain = letters.casefold()
    if plain.startswith(_SILENT_H):
        return "an"
    if plain[0] not in "aeiou" or _CONSONANT_SOUND.match(plain):
        return "a"
    return "an"


def between(original: str, rewritten: str) -> tuple[Edit, ...]:
    """Return the edits, by a diff of words, that turn an original into a model's rewrite of it."""
    edits: list[Edit] = []
    at, before, after = 0, "", ""
    for part in (*word_diff(original, rewritten), None):
        if part is not None and part.kind == "removed":
            before += part.text
        elif part is not None and part.kind == "added":
            after += part.text
        else:
            if before or after:
                end = at + len(before)
                edits.append(replace_at(original, at, end, after, "as the model wrote it"))
                at, before, after = end, "", ""
            at += len(part.text) if part is not None else 0
    return tuple(edits)
