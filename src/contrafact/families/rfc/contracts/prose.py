"""What every rewrite is, whatever it manipulates: one paragraph of news prose, of like length.

RFC-BENCH, section 2.2.2, Ethical Considerations, and appendices Q and R.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import pattern_at_words, pattern_in_small
from contrafact.families.rfc.labels import LENGTH_BANDS
from contrafact.records import Manipulation
from contrafact.text.diff import token_count

__all__ = [
    "accusation",
    "blank",
    "chatter",
    "identical",
    "length_band",
    "list_or_markup",
    "one_paragraph",
]

SHORTENED = 60
"""Characters of the rewrite that a message quotes at most."""


@rule("blank", about="presence", paper="Q.1, 4")
def blank(pair: Pair) -> Iterator[Finding]:
    """The rewrite has words in it."""
    if not any(character.isalnum() for character in pair.rewritten.text):
        yield fail("blank", "the rewrite is blank")


@rule("identical", about="presence", paper="Q.1, 4")
def identical(pair: Pair) -> Iterator[Finding]:
    """The rewrite differs from its original in more than case and spaces."""

    def folded(text: str) -> str:
        parts = re.findall(r"[\w%$€£¥.+-]+", text.casefold().replace("’", "'"))
        return " ".join(parts).strip(". ")

    original = folded(pair.original.text)
    if original and original == folded(pair.rewritten.text):
        yield fail("identical", "the rewrite says the same, word for word")


@rule("length-band", about="text", paper="2.2.2")
def length_band(
    pair: Pair,
    *,
    bands: Annotated[Mapping[Manipulation, tuple[float, float]], "2.2.2"] = LENGTH_BANDS,
) -> Iterator[Finding]:
    """The rewrite's tokens (cl100k) over the original's are in the band of the manipulation,
    ends included.
    """
    before, after = _tokens(pair.original), _tokens(pair.rewritten)
    low, high = (pair.bands or bands)[pair.manipulation]
    if not before or not after:
        return
    ratio = after / before
    if not low - 1e-9 <= ratio <= high + 1e-9:
        yield fail(
            "length-band",
            f"the rewrite has {after:,} tokens and the original {before:,}: a ratio of "
            f"{ratio:.2f}, outside {low:.2f} to {high:.2f}",
        )


@read_once
def _tokens(side: Side) -> int:
    return token_count(side.text)


_MARKUP = re.compile(
    r"(?m)^\s*(?:[-*•‣▪·–]\s+\S|\(?\d{1,2}[.)]\s+\S|[a-z]\)\s+\S|#{1,6}\s|>\s|\|.*\||```|~~~"
    r"|={3,}|-{3,})"
    r"|</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|\*\*[^*\n]+\*\*|(?<!\w)__[^_\n]+__(?!\w)"
    r"|\[[^\]\n]+\]\(https?:"
    r"|&(?:nbsp|amp|lt|gt);|```|\\begin\{"
)
_INLINE_LIST = re.compile(r"(?:[•‣▪]\s*\S[^•‣▪]*){2,}|(?:(?<=[\s:;(])\(?[1-9][.)]\s+\S[^;]*?){3,}")


@rule("list-or-markup", about="text", paper="Q.1, 4; R.1")
def list_or_markup(pair: Pair) -> Iterator[Finding]:
    """The rewrite is prose: no bullets, no numbering, no markup that its original lacks."""
    for markup in (_MARKUP, _INLINE_LIST):
        found = list(markup.finditer(pair.rewritten.text))
        had = len(markup.findall(pair.original.text)) if found else 0
        if len(found) > had:
            yield fail(
                "list-or-markup",
                f"the rewrite is a list or has markup in it: '{_shortened(found[had][0])}'",
                None,
                found[had].span(),
            )
            return


@rule("one-paragraph", about="text", paper="Q.1, 4; R.1", to_review="one new line break")
def one_paragraph(
    pair: Pair, *, breaks_to_review: Annotated[int, "ours: a line may wrap"] = 1
) -> Iterator[Finding]:
    """The rewrite is one paragraph where its original is."""
    breaks = [
        len(re.findall(r"\S\s*\n\s*\S", side.text.strip()))
        for side in (pair.original, pair.rewritten)
    ]
    if breaks[1] <= breaks[0]:
        return
    gap = re.search(r"\n\s*\n", pair.rewritten.text.strip())
    if gap or breaks[1] > breaks[0] + breaks_to_review:
        yield fail("one-paragraph", "the rewrite is in several paragraphs, the original is not")
    else:
        yield review("one-paragraph", "the rewrite breaks a line that the original does not")


@rule("chatter", about="text", paper="Q.4, output requirements")
def chatter(pair: Pair) -> Iterator[Finding]:
    """The rewrite is the news alone: no label, no disclaimer, no word to the person who asked."""
    found, had = (
        next(pattern_in_small("chatter").finditer(side.text, side.small), None)
        for side in (pair.rewritten, pair.original)
    )
    if found and not had:
        yield fail(
            "chatter",
            f"the rewrite talks about itself: '{_shortened(pair.rewritten.excerpt(found.span()))}'",
            None,
            found.span(),
        )


@rule("accusation", about="text", paper="Ethical Considerations")
def accusation(pair: Pair) -> Iterator[Finding]:
    """The rewrite accuses nobody of a crime that its original does not speak of."""

    def root(word: str) -> str:
        return word.casefold().removeprefix("de")[:5]

    crimes = pattern_at_words("crimes")
    before = {root(m[0]) for m in pair.original.at_words(crimes)}
    for found in pair.rewritten.at_words(crimes):
        if root(found[0]) not in before:
            yield fail(
                "accusation",
                f"the rewrite speaks of a crime that the original does not: '{found[0]}'",
                None,
                found.span(),
            )
            return


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHORTENED else f"{text[: SHORTENED - 3]}…"
