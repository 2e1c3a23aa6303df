"""Companies, people, places and tickers: which a rewrite keeps, loses, adds or swaps.

RFC-BENCH, appendices Q.1, Q.3 and R. spaCy's recogniser alone misses and invents too many in
headlines. Here a name is a capitalised word; where capitals mean nothing (headlines in title case,
the first word of a sentence), it is a word that is not common English. The recogniser only says who
is a person.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Annotated

from contrafact.families.rfc.contracts.pair import Pair, Side, Token, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, rule
from contrafact.families.rfc.contracts.vocabulary import groups, is_common, is_known_name, words
from contrafact.text.tokens import normal

SHOUTED_SHARE = 0.7
"""The share of capital letters above which a sentence is in capitals, which then mean nothing
(ours)."""

SHOUTED_LETTERS = 20
"""The number of letters above which a sentence can be in capitals: a ticker alone is not (ours)."""

SAME_BEGINNING = 4
"""How many first letters two spellings of a name share: "German", "Germany" (ours)."""

ACRONYM_LETTERS = range(2, 6)
"""How many letters an acronym of several words has: "ECB", "OPEC" (ours)."""


# Rules


@rule(
    "entity-changed",
    about="names",
    paper="Q.1, 2; R.1–R.4",
    to_review="in causal distortion, where it went with the cause",
)
def names_swapped(
    pair: Pair, *, longest: Annotated[int, "ours: words of a name, at most"] = 4
) -> Iterator[Finding]:
    """No name is replaced by another."""
    for change in pair.changes:
        before, after = pair.tokens(change)
        if not before or not after or len(before) > longest or len(after) > longest:
            continue
        if not all(is_name(pair.original, t) for t in before):
            continue
        if not all(is_name(pair.rewritten, t) for t in after):
            continue
        keys, others = {t.key for t in before}, {t.key for t in after}
        if keys & others or any(_is_related(a, b) for a in keys for b in others):
            continue
        first, end = change.original
        around = pair.original.tokens[max(0, first - 1) : end + 1]
        if any(token.key in ("and", "or") for token in (around[0], around[-1])):
            continue  # "A and B" may become "B and A"; `names_added` finds who is new
        message = f"'{pair.texts(change)[0]}' became '{pair.texts(change)[1]}'"
        lenient = pair.goes_with_cause(before[0].start, before[-1].end)
        yield Finding("entity-changed", message, *pair.spans(change), for_review=lenient)


@rule("entity-lost", about="names", paper="Q.1, 2; R.1–R.4")
def names_lost(pair: Pair) -> Iterator[Finding]:
    """Every company, person, place and ticker of the original is in the rewrite; in causal
    distortion, except those that belong to the replaced cause.
    """
    side = pair.original
    missing = missing_words(side, pair.rewritten)

    def joined(i: int) -> bool:
        return side.text[side.tokens[i].end : side.tokens[i + 1].start].strip(" &") == ""

    done = -1
    for i in missing:
        if i <= done:
            continue
        # The whole name that the word is part of: it is lost where none of its words is left.
        first, last = i, i
        while first > 0 and joined(first - 1) and is_name(side, side.tokens[first - 1]):
            first -= 1
        while last + 1 < len(side.tokens) and joined(last) and is_name(side, side.tokens[last + 1]):
            last += 1
        done = last
        if all(
            k in missing
            for k in range(first, last + 1)
            if normal(side.tokens[k].text) not in words("no_names")
            and is_name(side, side.tokens[k])
        ):
            span = (side.tokens[first].start, side.tokens[last].end)
            if not pair.goes_with_cause(*span):
                message = f"'{side.excerpt(span)}' is in the original and not in the rewrite"
                yield fail("entity-lost", message, span)


@rule(
    "entity-added",
    "private-person",
    about="names",
    paper="Q.1, 2; Q.3; R.2; R.4",
    to_review="in causal distortion, a region of the world",
)
def names_added(pair: Pair) -> Iterator[Finding]:
    """The rewrite has no name that the original lacks, and above all no person's."""
    side = pair.rewritten
    runs: list[list[Token]] = []
    for i in missing_words(side, pair.original):
        token = side.tokens[i]
        if runs and side.text[runs[-1][-1].end : token.start].strip(" &") == "":
            runs[-1].append(token)
        else:
            runs.append([token])
    for run in runs:
        span = (run[0].start, run[-1].end)
        name = side.excerpt(span)
        if any(
            e.label == "PERSON" and e.start < span[1] and span[0] < e.end for e in side.entities
        ):
            yield fail("private-person", f"the rewrite names a person, '{name}'", None, span)
            continue
        region = all(normal(word) in words("regions") for word in name.split())
        message = f"'{name}' is in the rewrite and not in the original"
        lenient = region and pair.manipulation == "causal"
        yield Finding("entity-added", message, None, span, for_review=lenient)


# What is a name


_INITIAL_END = re.compile(r"(?:\A|[.!?:;…\n]|[-–—|])[\s\"'“‘(]{0,20}\Z")


def is_name(side: Side, token: Token) -> bool:
    """Return whether a word is part of a name, by its capitals and where it stands."""
    word = token.text
    if not token.is_word or not any(c.isupper() for c in word):
        return False
    bare = normal(word)
    if bare in words("no_names") or bare.rstrip("s") in words("no_names") or bare.isdigit():
        return False
    if len(bare) == 1:
        return False
    sentence = side.sentence_of(token.start)
    if word.isupper() and not _is_shouted(side.excerpt((sentence.start, sentence.end))):
        return True
    if any(c.isupper() for c in word[1:]) and not word.isupper() and "-" not in word:
        return True  # iPhone, McKinsey, eBay
    if not word[0].isupper():
        return any(part[:1].isupper() and len(part) > 2 for part in word.split("-")[1:])
    initial = bool(_INITIAL_END.search(side.text[max(0, token.start - 6) : token.start]))
    if not (
        initial or sentence.titled or _is_shouted(side.excerpt((sentence.start, sentence.end)))
    ):
        # A small word capitalised amid a sentence is emphasised, or follows a colon.
        return bare not in ("the", "a", "an", "and", "of", "in", "for", "on", "to", "by", "with")
    # Capitals mean nothing here: a word that is not common English is a name.
    parts = [part for part in re.split(r"[-/]", bare) if part]
    return any(is_known_name(part) or not is_common(part) for part in parts)


def _is_shouted(sentence: str) -> bool:
    letters = [c for c in sentence if c.isalpha()]
    capitals = sum(c.isupper() for c in letters)
    return len(letters) > SHOUTED_LETTERS and capitals > SHOUTED_SHARE * len(letters)


# Whether a name is in the other text

_PARTS = re.compile(r"[-/&]")
_WORDS = re.compile(r"[\s\-/&]")


def missing_words(side: Side, other: Side) -> list[int]:
    """Return the indices of name words that the other text lacks in every spelling."""
    # Cheap tests first: few words are missing, and `is_name` costs most.
    return [
        i
        for i, token in enumerate(side.tokens)
        if not token.text.islower()
        and any(map(str.isupper, token.text))
        and not all(
            _appears(word, other)
            for word in [part for part in _PARTS.split(token.key) if len(part) > 1] or [token.key]
        )
        and is_name(side, token)
    ]


@read_once
def _spellings(side: Side) -> frozenset[str]:
    """Return the spellings of all words of a text that count as the same word."""
    return frozenset().union(*(_spellings_of(token.text) for token in side.tokens))


@lru_cache(maxsize=20_000)
def _spellings_of(text: str) -> frozenset[str]:
    spelled = [normal(word) for word in {text, *_WORDS.split(text)}]
    return frozenset((*spelled, *(word.rstrip("s") for word in spelled)))


def _appears(word: str, side: Side) -> bool:
    """Return whether a text has a word, an inflection of it, its acronym or a usual alias."""
    known = _spellings(side)
    if word in known or word.rstrip("s") in known or word in words("name_particles"):
        return True
    if word in _aliases():
        return bool(_aliases()[word].search(side.casefolded))
    if len(word) > SAME_BEGINNING and any(
        _is_related(word, other) for other in _by_beginning(side).get(word[:SAME_BEGINNING], ())
    ):
        return True
    # The first letters of several words in a row spell an acronym.
    if len(word) not in ACRONYM_LETTERS:
        return False
    spelled = r"\b" + r"[\w.&]*[\s-](?:of\s|the\s|and\s)*".join(map(re.escape, word))
    return bool(re.search(spelled, side.casefolded))


@read_once
def _by_beginning(side: Side) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for spelling in _spellings(side):
        if len(spelling) >= SAME_BEGINNING:
            found.setdefault(spelling[:SAME_BEGINNING], []).append(spelling)
    return found


@cache
def _aliases() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {}
    for names in groups("aliases").values():
        every = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})")
        for name in sorted(names):
            found.setdefault(name, every)
            found.setdefault(name.replace(".", ""), every)
    return found


_DEMONYM = re.compile(r"(?:n|an|ian|ese|ish|i|ic|ean|ers?|s|es|-based)\Z")


def _is_related(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    common = next((i for i in range(len(short)) if short[i] != long[i]), len(short))
    return (
        common >= SAME_BEGINNING
        and len(short) - common <= 2
        and bool(_DEMONYM.fullmatch(long[common:]))
        and (common == len(short) or short[common:] in ("a", "e", "y", "ia"))
    )
