"""Content that a rewrite puts in or takes out beyond what its manipulation permits.

RFC-BENCH, appendices R.1–R.4 (no new facts, events, explanations, actors) and S.1–S.3. The texts
are compared sentence by sentence: which words of content are new in a sentence and which are gone,
when numbers, words of degree (sentiment), words that reverse (flipping) and the replaced cause
(causal) are taken off, and synonyms are paired.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from contrafact.families.rfc.contracts.causal_places import CausalPlaces, causal_places
from contrafact.families.rfc.contracts.directional_cues import direction_alignment
from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Token, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.sentiment import tone
from contrafact.families.rfc.contracts.vocabulary import (
    groups,
    is_common,
    is_function_word,
    is_modifier,
    is_noun,
    may_name,
    pattern,
    words,
)
from contrafact.text.tokens import same_root, stem

__all__ = [
    "Difference",
    "are_synonyms",
    "content_added",
    "differences",
    "institutions_kept",
    "matter_kept",
    "wording_changed",
]


LONG_CLAUSE = 3
"""Words after "and" that make a clause of what is put in (ours)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a sentence of the rewrite says in other words than its original.

    Attributes:
        new: The words of content that are new, synonyms of lost ones apart.
        lost: The words of content that are gone.
        opened: The word that opens a new clause or phrase, if one does.
        changes: The changes that the words are in.
    """

    new: tuple[Token, ...]
    lost: tuple[Token, ...]
    opened: Token | None
    changes: tuple[Change, ...]


@cache
def _groups_of() -> dict[str, frozenset[str]]:
    """Return the groups of meaning that each stem is in."""
    found: dict[str, set[str]] = {}
    for name in ("meanings", "paraphrases"):
        for key, members in groups(name).items():
            for member in members:
                found.setdefault(stem(member), set()).add(f"{name} {key}")
    return {word: frozenset(keys) for word, keys in found.items()}


def are_synonyms(one: str, two: str) -> bool:
    """Return whether two words, in small letters, say the same in financial prose."""
    a, b = stem(one), stem(two)
    if a == b:
        return True
    known = _groups_of()
    return bool(known.get(a, frozenset()) & known.get(b, frozenset()))


@cache
def _polar() -> frozenset[str]:
    """Return the stems of words that stand on one side of an opposition."""
    values = tone().valence
    return frozenset(stem(word) for word in (*words("polar"), *values))


@cache
def _degrees() -> frozenset[str]:
    found = tone()
    return frozenset((*found.amplifiers, *found.downtoners, *found.valence, *found.grades))


def _is_permitted(pair: Pair, token: Token) -> bool:
    """Whether a manipulation may put in or take out a word, whatever stood there."""
    if pair.manipulation == "flipping":
        # Verbs and adjectives are what is turned round; nouns and names are what it is said of.
        return (
            not is_noun(token.key)
            or bool(_polar() & {stem(part) for part in (token.key, *token.key.split("-"))})
            or any(
                match.list == "directional"
                for side in (pair.original, pair.rewritten)
                if side.text[token.start : token.end] == token.text
                for match in side.terms_at(token.start, token.end)
            )
        )
    if pair.manipulation == "sentiment":
        parts = token.key.split("-")
        return (
            bool(_degrees() & {token.key, *parts})
            or is_modifier(token.key)
            or any(is_modifier(part) for part in parts)
            or token.key in words("framing")
        )
    return False


@read_once
def differences(pair: Pair) -> list[Difference]:
    """Return what each sentence of the rewrite says in other words, in order."""
    a, b = pair.original, pair.rewritten
    had = {stem(token.key) for token in a.tokens}
    has = {stem(token.key) for token in b.tokens}
    inside = causal_places(pair) if pair.manipulation == "causal" else None
    directional = _directional(pair)
    grouped: dict[int, list[Change]] = {}
    for change in pair.changes:
        first = min(change.rewritten[0], len(b.tokens) - 1)
        if first >= 0:
            grouped.setdefault(b.sentence_of(b.tokens[first].start).start, []).append(change)
    found = []
    for changes in grouped.values():
        new: list[Token] = []
        lost: list[Token] = []
        opened: Token | None = None
        touched: list[Change] = []
        for change in changes:
            before, after = pair.tokens(change)
            if inside is not None and _goes_on(pair, change, inside):
                before, after = [], []  # ", which squeezed margins": of the new cause
            if inside is not None:
                before = [t for t in before if not inside.in_original(t)]
                after = [t for t in after if not inside.in_rewritten(t)]
            if pair.manipulation == "flipping" and change in directional:
                before = [t for t in before if not _is_light(t)]
                after = [t for t in after if not _is_light(t)]
            fresh = [t for t in after if _is_content(t) and stem(t.key) not in had]
            gone = [t for t in before if _is_content(t) and stem(t.key) not in has]
            fresh = [t for t in fresh if not _is_permitted(pair, t)]
            gone = [t for t in gone if not _is_permitted(pair, t)]
            if fresh or gone:
                touched.append(change)
            new += fresh
            lost += gone
            if opened is None:
                opened = _opener(b, before, after)
        new, lost = _unpaired(new, lost)
        if new or lost:
            found.append(Difference(tuple(new), tuple(lost), opened, tuple(touched)))
    return found


def _goes_on(pair: Pair, change: Change, places: CausalPlaces) -> bool:
    """Whether a change that begins in a new cause goes on with a clause about it."""
    span = pair.spans(change)[1]
    return (
        span is not None
        and any(start <= span[0] < end for start, end in places.rewritten)
        and re.search(r",\s(?:which|that)\s", pair.rewritten.text[slice(*span)]) is not None
    )


def _directional(pair: Pair) -> set[Change]:
    """Return the changes that hold a direction of either text."""
    found = direction_alignment(pair)
    aligned, result = pair.alignment, set()
    for side, cues, change_of in (
        (pair.original, found.original, aligned.change_in_original),
        (pair.rewritten, found.rewritten, aligned.change_in_rewritten),
    ):
        for cue in cues:
            for start, end in cue.parts:
                for i in side.span_tokens(start, end):
                    change = change_of(i)
                    if change is not None:
                        result.add(change)
    return result


def _is_content(token: Token) -> bool:
    return token.is_word and len(token.key) > 1 and not is_function_word(token.key)


def _is_light(token: Token) -> bool:
    """Whether a word goes with any direction: "made a gain", "take a hit", "more than hoped"."""
    return token.key in words("light")


def _opener(side: Side, before: Iterable[Token], after: list[Token]) -> Token | None:
    """Return the word with which a change opens a clause that was not there."""
    had = {token.key for token in before}
    for place, token in enumerate(after):
        if token.key in had:
            continue
        if token.key in words("event_openers"):
            return token
        if place == 0 and token.key in ("and", "but") and not had and len(after) > LONG_CLAUSE:
            return token
        rest = after[place + 1 :]
        joins = place > 0 and token.key == "and" and len(rest) > 1
        if joins and may_name(rest[0].key) and not is_modifier(rest[0].key):
            return token  # "dry up and lenders circle"
        comma = side.text[max(0, token.start - 2) : token.start].startswith(",")
        if place == 0 and comma and token.key.endswith("ing"):
            return token
        if place == 0 and comma and not had and token.key in ("a", "an", "which", "the"):
            return token  # ", a move set to lift bonds"
    return None


def _unpaired(new: list[Token], lost: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return the words of either list without their synonyms in the other."""
    rest, fresh = list(lost), []
    for token in new:
        same = next((other for other in rest if are_synonyms(token.key, other.key)), None)
        if same is None:
            fresh.append(token)
        else:
            rest.remove(same)
    return fresh, rest


# Rules


@rule(
    "content-added",
    about="events",
    paper="R.1–R.4; S.1, step 2; S.2, 8; S.3, 5",
    to_review="in sentiment and causal, words that open no clause",
)
def content_added(
    pair: Pair,
    *,
    run: Annotated[int, "ours: new words of content without counterpart that are a fact"] = 2,
) -> Iterator[Finding]:
    """No event, cause, reaction or actor is put in: no run of new words of content without
    counterpart in the original.
    """
    strict = pair.manipulation in ("numerical", "flipping")
    if strict:
        yield from _clauses_put_in(pair, run)
    for found in differences(pair):
        extra = len(found.new) - len(found.lost)
        if extra < 1 or not found.new:
            continue
        span = (found.new[0].start, found.new[-1].end)
        what = " ".join(token.text for token in found.new)
        actor = any(pattern("stakeholders").fullmatch(t.text) for t in found.new)
        clause = found.opened is not None or (actor and not strict)
        if (extra >= run and (strict or clause)) or (clause and (actor or strict)):
            yield fail("content-added", f"'{what}' has no counterpart", None, span)
        elif extra >= run:
            yield review("content-added", f"'{what}' has no counterpart", None, span)


def _clauses_put_in(pair: Pair, least: int) -> Iterator[Finding]:
    """Yield what is put in where nothing stood, from a word that opens a cause or a clause on."""
    for change in pair.changes:
        before, after = pair.tokens(change)
        if before or not after or after[0].key not in words("put_in_openers"):
            continue
        if sum(_is_content(token) for token in after[1:]) >= least:
            yield fail(
                "content-added",
                f"'{pair.texts(change)[1]}' has no counterpart",
                None,
                pair.spans(change)[1],
            )


@rule(
    "wording-changed",
    about="wording",
    paper='R, "clear, major"',
    to_review="other words of content, where they are no part of the manipulation",
)
def wording_changed(pair: Pair) -> Iterator[Finding]:
    """Other words that may be other facts go to a person, all in one finding; what the
    manipulation permits and plain synonyms do not.
    """
    found = differences(pair)
    if not found:
        return
    first = found[0]
    change = first.changes[0] if first.changes else pair.changes[0]
    before, after = pair.texts(change)
    yield review(
        "wording-changed",
        f"other words in {len(found)} sentence{'s' * (len(found) > 1)}, first "
        f"'{before}' → '{after}'",
        *pair.spans(change),
    )


@rule(
    "content-changed",
    about="events",
    paper="R.1; R.2; R.3; S.3, 1",
    manipulations=("numerical", "flipping", "sentiment"),
)
def matter_kept(
    pair: Pair, *, most: Annotated[int, "ours: words of a change that swaps its matter"] = 3
) -> Iterator[Finding]:
    """No thing stands for another: a shortage of water is none of power."""
    # What is turned round may be a word that is a noun as well: "likes", "dislikes".
    named = is_noun if pair.manipulation == "flipping" else may_name
    for change in pair.changes:
        before, after = pair.tokens(change)
        if not 1 <= len(before) <= most or not 1 <= len(after) <= most:
            continue
        old, new = (
            [
                t
                for t in tokens
                if _is_content(t) and named(t.key) and _is_plain(side, t) and not _is_toned(pair, t)
            ]
            for side, tokens in ((pair.original, before), (pair.rewritten, after))
        )
        rest = [t for t in after if _is_content(t) and t not in new and not _is_permitted(pair, t)]
        if len(old) != 1 or len(new) != 1 or rest or are_synonyms(old[0].key, new[0].key):
            continue
        if same_root(old[0].key, new[0].key):
            continue
        yield fail(
            "content-changed", f"'{old[0].text}' became '{new[0].text}'", *pair.spans(change)
        )


def _is_plain(side: Side, token: Token) -> bool:
    """Whether a word is no name: in small letters, or the first of a sentence and a common one."""
    return token.text.islower() or (
        token.start == side.sentence_of(token.start).start and is_common(token.key)
    )


def _is_toned(pair: Pair, token: Token) -> bool:
    """Whether a word is one of degree, of tone or of a side, which may be exchanged."""
    if pair.manipulation == "flipping" and _is_permitted(pair, token):
        return True
    parts = (token.key, *token.key.split("-"))
    return any(
        part in _degrees()
        or stem(part) in _polar()
        or part in words("framing")
        or part in words("light")
        or is_modifier(part)
        for part in parts
    )


_HEADS = re.compile(
    r"(?:ministr(?:y|ies)|ministers?|department|courts?|agenc(?:y|ies)|commission|commissioner"
    r"|unions?|council|regulators?|watchdog|authorit(?:y|ies)|parliament|bank|union|makers?|growers?"
    r"|producers?|miners?|industry|sector|plant|mine|factory|arm|unit|division)\Z",
    re.IGNORECASE,
)


@rule(
    "entity-changed",
    about="names",
    paper="Q.1, 2; R.1–R.4",
    in_cause="ignored",
)
def institutions_kept(pair: Pair) -> Iterator[Finding]:
    """The health ministry does not become the defence ministry."""
    for change in pair.changes:
        before, after = (
            [token for token in tokens if token.key not in ("a", "an", "the")]
            for tokens in pair.tokens(change)
        )
        if len(before) != 1 or len(after) != 1:
            continue
        old, new = before[0], after[0]
        if not (_is_content(old) and _is_content(new)) or are_synonyms(old.key, new.key):
            continue
        if is_modifier(old.key) or is_modifier(new.key) or {old.key, new.key} & words("polar"):
            continue
        i = change.rewritten[1]
        tokens = pair.rewritten.tokens
        if i >= len(tokens) or pair.rewritten.text[new.end : tokens[i].start] != " ":
            continue
        if _HEADS.match(tokens[i].text) and not pair.rewritten.terms_at(new.start, new.end):
            yield fail("entity-changed", f"'{old.text}' became '{new.text}'", *pair.spans(change))
