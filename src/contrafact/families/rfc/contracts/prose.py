"""Rules for every rewrite: one paragraph of news prose, of similar length.

RFC-BENCH, section 2.2.2, Ethical Considerations, and appendices Q, R and S.3.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.families.rfc.contracts.rules import OTHER_LANGUAGE, Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import pattern
from contrafact.families.rfc.labels import LENGTH_BANDS
from contrafact.families.rfc.records import Manipulation
from contrafact.text.diff import token_count
from contrafact.text.numerals import decimal_places

SHORTENED = 60
"""The most characters of the rewrite that a message quotes."""


@rule("blank", about="presence", paper="Q.1, 4")
def blank(pair: Pair) -> Iterator[Finding]:
    """The rewrite has words in it."""
    if not any(character.isalnum() for character in pair.rewritten.text):
        yield fail("blank", "the rewrite is blank")


@rule("identical", about="presence", paper="Q.1, 4")
def identical(pair: Pair) -> Iterator[Finding]:
    """The rewrite differs from its original in more than case, spaces and punctuation."""

    def folded(text: str) -> str:
        parts = re.findall(r"[\w%$€£¥.+-]+", text.casefold().replace("’", "'"))
        return " ".join(parts).strip(". ")

    original = folded(pair.original.text)
    if original and original == folded(pair.rewritten.text):
        yield fail("identical", "the rewrite says the same, word for word")


@rule(OTHER_LANGUAGE, about="presence", to_review="all: other rules are not applied")
def other_language(pair: Pair) -> Iterator[Finding]:
    """The original is in English, which the rules read."""
    if unread := unread_language(pair.original.text):
        yield Finding(OTHER_LANGUAGE, unread, for_review=True, unchecked=True)


def unread_language(text: str) -> str:
    """Return that rules do not read a text's language; empty if it may be English."""
    from contrafact.text.degenerate import foreign_language

    code = foreign_language(text)
    return (
        f"the text is not in English (likeliest language: {code}), and rules read no other"
        if code
        else ""
    )


_POINTED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?![\d.,]*\d)")


@rule(
    "comma-unclear",
    about="numbers",
    manipulations=("numerical",),
    to_review='all: "1,250" beside "12,4"',
)
def comma_unclear(pair: Pair) -> Iterator[Finding]:
    """Beside a number with a decimal comma, none has a comma or a point before three digits,
    which may be a thousand or a fraction.
    """
    side = pair.original
    if any(
        q.form.style == "digits" and decimal_places(q.form.number)[0] == ","
        for q in side.quantities
    ):
        for found in _POINTED.finditer(side.text):
            message = f"'{found[0]}' stands beside decimal commas: its mark may be either"
            yield Finding("comma-unclear", message, found.span(), for_review=True, unchecked=True)


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
    r"(?m)^[^\S\n]{0,40}(?:[-*•‣▪·–]\s{1,40}\S|\(?\d{1,2}[.)]\s{1,40}\S|[a-z]\)\s{1,40}\S|#{1,6}\s|>\s|\|.{0,500}\||```|~~~"
    r"|={3,}|-{3,})"
    r"|</?[a-z][a-z0-9]{0,20}(?:\s[^<>]{0,500})?/?>|\*\*[^*\n]{1,500}\*\*|(?<!\w)__[^_\n]{1,500}__(?!\w)"
    r"|\[[^\]\n]{1,500}\]\(https?:"
    r"|&(?:nbsp|amp|lt|gt);|```|\\begin\{"
)
_INLINE_LIST = re.compile(r"(?:[•‣▪]\s*\S[^•‣▪]*){2,}|(?:(?<=[\s:;(])\(?[1-9][.)]\s+\S[^;]*?){3,}")


@rule("list-or-markup", about="text", paper="Q.1, 4; R.1")
def list_or_markup(pair: Pair) -> Iterator[Finding]:
    """The rewrite is prose: it has no bullets, numbering or markup that its original lacks."""
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
    """The rewrite contains only the news: no label, no disclaimer, no remark to the user."""
    for match in _new(pair, "chatter"):
        quoted = _shortened(pair.rewritten.excerpt(match.span()))
        yield fail("chatter", f"the rewrite talks about itself: '{quoted}'", None, match.span())
        return


@rule("accusation", about="text", paper="Ethical Considerations")
def accusation(pair: Pair) -> Iterator[Finding]:
    """The rewrite mentions no crime that its original does not mention."""

    def root(match: re.Match[str], side: Side) -> str:
        return side.excerpt(match.span()).casefold().removeprefix("de")[:5]

    before = {root(m, pair.original) for m in _matches(pair.original, "crimes")}
    for found in _new(pair, "crimes"):
        if root(found, pair.rewritten) not in before:
            what = pair.rewritten.excerpt(found.span())
            message = f"the rewrite speaks of a crime that the original does not: '{what}'"
            yield fail("accusation", message, None, found.span())
            return


@rule(
    "over-amplified",
    about="text",
    paper="S.3, 3 and 5; Q.4, 5",
    manipulations=("sentiment", "causal"),
)
def sensational(
    pair: Pair, *, shouted: Annotated[int, "ours: letters of a word in capitals, at least"] = 5
) -> Iterator[Finding]:
    """The rewrite has no sensational or promotional word, no exclamation mark and no word in
    capitals that the original lacks.
    """
    a, b = pair.original, pair.rewritten
    for found in _new(pair, "sensational"):
        what = b.excerpt(found.span())
        yield fail("over-amplified", f"'{what}' is sensational", None, found.span())
    if b.text.count("!") > a.text.count("!"):
        mark = b.text.index("!")
        yield fail("over-amplified", "an exclamation mark is new", None, (mark, mark + 1))
    for match in re.finditer(rf"\b[A-Z]{{{shouted},}}\b", b.text):
        if match[0] not in a.text and match[0].casefold() in a.casefolded:
            yield fail("over-amplified", f"'{match[0]}' is shouted", None, match.span())


def _matches(side: Side, name: str) -> list[re.Match[str]]:
    return list(pattern(name).finditer(side.text))


def _new(pair: Pair, name: str) -> list[re.Match[str]]:
    """Return a pattern's matches in the rewrite that the original has in no inflection."""
    found = _matches(pair.rewritten, name)
    if not found:
        return []
    had = {pair.original.excerpt(m.span()).casefold()[:5] for m in _matches(pair.original, name)}
    return [m for m in found if pair.rewritten.excerpt(m.span()).casefold()[:5] not in had]


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHORTENED else f"{text[: SHORTENED - 3]}…"
