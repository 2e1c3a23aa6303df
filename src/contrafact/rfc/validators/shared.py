"""What every rewrite must keep, whatever it manipulates (RFC-BENCH, section 2.2.2, R and S)."""

import re
from collections.abc import Iterator

from contrafact.rfc.bands import LENGTH_BANDS
from contrafact.rfc.validators.findings import Violation, fail, review
from contrafact.rfc.validators.names import Names, person_among
from contrafact.rfc.validators.pair import Pair
from contrafact.text.surface import token_count

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
    r"(?m)^\s*(?:[-*•‣▪·–]\s+\S|\(?\d{1,2}[.)]\s+\S|[a-z]\)\s+\S|#{1,6}\s|>\s|\|.*\||```|~~~|={3,}|-{3,})"
    r"|</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>|\*\*[^*\n]+\*\*|(?<!\w)__[^_\n]+__(?!\w)|\[[^\]\n]+\]\(https?:"
    r"|&(?:nbsp|amp|lt|gt);|```|\\begin\{"
)
_INLINE_LIST = re.compile(r"(?:[•‣▪]\s*\S[^•‣▪]*){2,}|(?:(?<=[\s:;(])\(?[1-9][.)]\s+\S[^;]*?){3,}")


def list_or_markup(pair: Pair) -> Iterator[Violation]:
    """A rewrite is prose: no bullets, no numbering, no markup that its original lacks."""
    text = pair.rewritten.text
    for pattern in (_MARKUP, _INLINE_LIST):
        had = len(pattern.findall(pair.original.text))
        found = list(pattern.finditer(text))
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


_CHATTER = re.compile(
    r"\b(?:here(?:['’]s| is| are) (?:the|a|your|my) (?:rewritten|revised|modified|requested|altered|"
    r"rewrite|following|flipped|fabricated)|rewritten (?:version|text|article|news)\s*:|as an ai\b|"
    r"(?:as|i am|i'm) an? (?:ai |large )?language model|i (?:cannot|can't|can not|am unable to) "
    r"(?:help|assist|comply|rewrite|fulfil|generate|provide)|disclaimer\s*:|note\s*:\s*(?:this|the) |"
    r"(?:this|the (?:above|following)) (?:is|article is|text is|news is|story is) (?:a )?(?:false|fictional|"
    r"fabricated|fake|not real)|sure[,!] here|\[(?:rewritten|output|insert|company|date|name)\b|"
    r"fabricated (?:news|version)|\boutput\s*:|^\s*(?:rewrite|answer|false news)\s*:)",
    re.IGNORECASE,
)


def chatter(pair: Pair) -> Iterator[Violation]:
    """A rewrite is the news alone: no label, no disclaimer, no word to the person who asked."""
    found = _CHATTER.search(pair.rewritten.text)
    if found and not _CHATTER.search(pair.original.text):
        yield fail(
            "chatter",
            f"the rewrite talks about itself: '{_short(found[0])}'",
            None,
            found.span(),
        )


_CRIME = re.compile(
    r"\b(?:frauds?|fraudulent(?:ly)?|defraud\w*|embezzl\w+|brib(?:e|es|ed|ery|ing)|launder(?:ed|ing)|"
    r"insider[\s-](?:trading|dealing)|ponzi|pyramid scheme|kickbacks?|racketeer\w*|extort\w*|swindl\w+|"
    r"forg(?:ed|ery|ing) (?:documents|signatures|accounts|records|invoices)|forgery|"
    r"(?:cook|fak|falsif|doctor|fudg)(?:ed|ing|ied|ying|y) (?:its|the|their|his|her)?\s?(?:books|accounts|"
    r"records|figures|results|invoices|sales|revenue|numbers)|falsif\w+|perjury|crimes?|criminal(?:ly|s)?|"
    r"felon(?:y|ies|s)?|indict(?:ed|ment|ments|s)|arrest(?:ed|s|ing)?|convict(?:ed|ion|ions|s)|"
    r"(?:stole|stolen|stealing|theft|thefts|looted|looting|robbed)|tax[\s-](?:evasion|fraud|dodging)|"
    r"evad(?:ed|ing) tax(?:es)?|(?:market|price|stock|share|accounting) manipulat\w+|corrupt(?:ion|ly)?|"
    r"money[\s-]launder\w*|scam(?:s|med|ming|mers?)?|blackmail\w*|collu(?:ded|sion|ding)|"
    r"price[\s-]fixing|bid[\s-]rigging|rigg(?:ed|ing) (?:bids|prices|the market)|terroris\w+|murder\w*|"
    r"accounting (?:irregularities|scandal)|misappropriat\w+|conspir(?:acy|ed|ing)|illegal(?:ly)?|"
    r"unlawful(?:ly)?|imprison\w*|jailed|(?:faces?|facing|face|filed) (?:\w+ )?(?:criminal|fraud) charges)\b",
    re.IGNORECASE,
)


def accusation(pair: Pair) -> Iterator[Violation]:
    """A rewrite accuses nobody of a crime that its original does not speak of."""
    before = {_root(m[0]) for m in _CRIME.finditer(pair.original.text)}
    for found in _CRIME.finditer(pair.rewritten.text):
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
