"""What every rewrite must keep, whatever it manipulates (RFC-BENCH, section 2.2.2, R and S)."""

import re
from collections.abc import Iterator

from contrafact.families.rfc.contracts.findings import Violation, fail, review
from contrafact.families.rfc.contracts.lists import pattern
from contrafact.families.rfc.contracts.names import Names, person_among
from contrafact.families.rfc.contracts.pair import Pair
from contrafact.families.rfc.labels import LENGTH_BANDS
from contrafact.text.diff import token_count

__all__ = [
    "accusation",
    "blank",
    "chatter",
    "identical",
    "length_band",
    "list_or_markup",
    "names_added",
    "names_lost",
    "names_swapped",
    "one_paragraph",
]


def blank(pair: Pair) -> Iterator[Violation]:
    """A rewrite has words in it."""
    if not any(character.isalnum() for character in pair.rewritten.text):
        yield fail("blank", "the rewrite is blank")


def identical(pair: Pair) -> Iterator[Violation]:
    """A rewrite differs from its original in more than case and spaces."""
    a, b = (_folded(side.text) for side in (pair.original, pair.rewritten))
    if a == b and b:
        yield fail("identical", "the rewrite says the same, word for word")


def _folded(text: str) -> str:
    return " ".join(re.findall(r"[\w%$€£¥.+-]+", text.casefold().replace("’", "'"))).strip(". ")


def length_band(pair: Pair) -> Iterator[Violation]:
    """The rewrite's tokens over the original's are in the category's band, ends included."""
    before, after = token_count(pair.original.text), token_count(pair.rewritten.text)
    low, high = LENGTH_BANDS[pair.manipulation]
    if not before or not after:
        return
    ratio = after / before
    if not low - 1e-9 <= ratio <= high + 1e-9:
        yield fail(
            "length-band",
            f"the rewrite has {after:,} tokens and the original {before:,}: a ratio of "
            f"{ratio:.2f}, outside {low:.2f} to {high:.2f}",
        )


_MARKUP = re.compile(
    r"(?m)^\s*(?:[-*•‣▪·–]\s+\S|\(?\d{1,2}[.)]\s+\S|[a-z]\)\s+\S|#{1,6}\s|>\s|\|.*\||```|~~~"
    r"|={3,}|-{3,})"
    r"|</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|\*\*[^*\n]+\*\*|(?<!\w)__[^_\n]+__(?!\w)"
    r"|\[[^\]\n]+\]\(https?:"
    r"|&(?:nbsp|amp|lt|gt);|```|\\begin\{"
)
_INLINE_LIST = re.compile(r"(?:[•‣▪]\s*\S[^•‣▪]*){2,}|(?:(?<=[\s:;(])\(?[1-9][.)]\s+\S[^;]*?){3,}")


def list_or_markup(pair: Pair) -> Iterator[Violation]:
    """A rewrite is prose: no bullets, no numbering, no markup that its original lacks."""
    text = pair.rewritten.text
    for markup in (_MARKUP, _INLINE_LIST):
        had = len(markup.findall(pair.original.text))
        found = list(markup.finditer(text))
        if len(found) > had:
            at = found[had]
            yield fail(
                "list-or-markup",
                f"the rewrite is a list or has markup in it: '{_short(at[0])}'",
                None,
                at.span(),
            )
            return


def one_paragraph(pair: Pair) -> Iterator[Violation]:
    """A rewrite is one paragraph where its original is."""
    breaks = [
        len(re.findall(r"\S\s*\n\s*\S", side.text.strip()))
        for side in (pair.original, pair.rewritten)
    ]
    if breaks[1] <= breaks[0]:
        return
    gap = re.search(r"\n\s*\n", pair.rewritten.text.strip())
    if gap or breaks[1] > breaks[0] + 1:
        yield fail("one-paragraph", "the rewrite is in several paragraphs, the original is not")
    else:
        yield review("one-paragraph", "the rewrite breaks a line that the original does not")


def chatter(pair: Pair) -> Iterator[Violation]:
    """A rewrite is the news alone: no label, no disclaimer, no word to the person who asked."""
    found = pattern("chatter").search(pair.rewritten.text)
    if found and not pattern("chatter").search(pair.original.text):
        yield fail(
            "chatter",
            f"the rewrite talks about itself: '{_short(found[0])}'",
            None,
            found.span(),
        )


def accusation(pair: Pair) -> Iterator[Violation]:
    """A rewrite accuses nobody of a crime that its original does not speak of."""
    before = {_root(m[0]) for m in pattern("crimes").finditer(pair.original.text)}
    for found in pattern("crimes").finditer(pair.rewritten.text):
        if _root(found[0]) not in before:
            yield fail(
                "accusation",
                f"the rewrite speaks of a crime that the original does not: '{found[0]}'",
                None,
                found.span(),
            )
            return


def _root(word: str) -> str:
    return word.casefold().removeprefix("de")[:5]


def names_lost(pair: Pair) -> Iterator[Violation]:
    """Every company, person, place and ticker of the original is in the rewrite."""
    for name in Names(pair).lost:
        yield fail(
            "entity-lost",
            f"'{name.text}' is in the original and not in the rewrite",
            (name.start, name.end),
        )


def names_added(pair: Pair) -> Iterator[Violation]:
    """The rewrite names nobody and nothing that the original does not; least of all a person."""
    for name in Names(pair).added:
        span = (name.start, name.end)
        if person_among(pair.rewritten, name):
            yield fail("private-person", f"the rewrite names a person, '{name.text}'", None, span)
        else:
            yield fail(
                "entity-added",
                f"'{name.text}' is in the rewrite and not in the original",
                None,
                span,
            )


def names_swapped(pair: Pair) -> Iterator[Violation]:
    """No name stands where another stood."""
    for before, after in Names(pair).swapped:
        yield fail(
            "entity-changed",
            f"'{before.text}' became '{after.text}'",
            (before.start, before.end),
            (after.start, after.end),
        )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}…"
