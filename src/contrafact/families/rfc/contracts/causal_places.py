"""Where the causes of a causal rewrite stand, and what its other rules find outside them.

RFC-BENCH, appendices Q.4 and R.4.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from contrafact.families.rfc.contracts.chains import (
    Chain,
    causes,
    chains,
    changed_words,
)
from contrafact.families.rfc.contracts.directional_cues import directional_cues
from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Span, Token, read_once
from contrafact.families.rfc.contracts.rules import Finding, Rule, review
from contrafact.families.rfc.contracts.vocabulary import (
    groups,
    is_function_word,
    is_known_name,
    named_pattern,
    pattern,
)
from contrafact.text.tokens import same_root, stem
from contrafact.text.words import lexicon

__all__ = [
    "SAME_BEGINNING",
    "CausalPlaces",
    "causal_places",
    "content_words",
    "findings_outside_cause",
    "is_inside",
    "matters",
    "means_one_of",
    "place_of",
    "sign_of",
]

SAME_BEGINNING = 5
"""First letters that words of one meaning share (ours)."""


@dataclass(frozen=True)
class CausalPlaces:
    """Where the causes of a pair stand, so that what is in them is no other fact.

    Attributes:
        original: Where the original's replaced causes are.
        rewritten: Where the rewrite's are.
        stems: The stems of content words of the replaced causes, which a headline may repeat.
        new_stems: Those of the new causes.
    """

    original: tuple[Span, ...]
    rewritten: tuple[Span, ...]
    stems: frozenset[str]
    new_stems: frozenset[str]

    def in_original(self, token: Token) -> bool:
        """Return whether a token of the original is in a replaced cause, or repeats one of it."""
        return stem(token.key) in self.stems or is_inside((token.start, token.end), self.original)

    def in_rewritten(self, token: Token) -> bool:
        """Return whether a token of the rewrite is in a new cause, or repeats a word of it."""
        return stem(token.key) in self.new_stems or is_inside(
            (token.start, token.end), self.rewritten
        )


@read_once
def causal_places(pair: Pair) -> CausalPlaces:
    """Return where the causes stand in both texts: those that changed, and what repeats them."""
    old = [chain.cause for chain in chains(pair.original) if changed_words(pair, chain.cause)]
    new = [
        chain.cause
        for chain in chains(pair.rewritten)
        if any(
            pair.alignment.change_in_rewritten(i) for i in pair.rewritten.span_tokens(*chain.cause)
        )
        and not _is_put_in(pair, chain)
    ]
    for chain in chains(pair.original):
        if changed_words(pair, chain.cause) and chain.cause > chain.marker:
            place = _standing_for(pair, chain)
            if place is not None and not is_inside(place, new):
                new.append(place)

    for change in _headline_changes(pair, old):
        for span, spans in zip(pair.spans(change), (old, new), strict=True):
            if span is not None and not is_inside(span, spans):
                spans.append(span)

    def stems(side: Side, spans: Iterable[Span]) -> frozenset[str]:
        return frozenset(
            stem(word)
            for span in spans
            for word in content_words(side.tokens[i] for i in side.span_tokens(*span))
        )

    return CausalPlaces(
        tuple(old), tuple(new), stems(pair.original, old), stems(pair.rewritten, new)
    )


def _headline_changes(pair: Pair, replaced: list[Span]) -> list[Change]:
    """Return what a headline changed with its story's cause: no move and no figure."""
    if len(pair.original.sentences) < 2 or len(pair.rewritten.sentences) < 2:
        return []
    end = pair.original.sentences[0].end
    if not any(span[0] >= end for span in replaced):
        return []
    found = []
    for change in pair.changes:
        was, now = pair.spans(change)
        if was is None or now is None or was[1] > end:
            continue
        of_effect = any(
            cue.tier == "firm" and cue.start < span[1] and span[0] < cue.end
            for side, span in ((pair.original, was), (pair.rewritten, now))
            for cue in directional_cues(side)
        )
        figures = any(token.key == "#" for token in pair.tokens(change)[0])
        if not of_effect and not figures:
            found.append(change)
    return found


def place_of(pair: Pair, span: Span) -> Span | None:
    """Return where the rewrite has what stands for a stretch of the original, None if nothing."""
    to, tokens = pair.alignment.to_rewritten, pair.original.span_tokens(*span)
    if not tokens:
        return None
    first = next((to[i] + 1 for i in range(tokens[0] - 1, -1, -1) if i in to), 0)
    after = (to[i] for i in range(tokens[-1] + 1, len(pair.original.tokens)) if i in to)
    return pair.rewritten.token_span((first, next(after, len(pair.rewritten.tokens))))


def _standing_for(pair: Pair, chain: Chain) -> Span | None:
    """Return where the rewrite has what stands behind a marker that it kept, or None."""
    linked = pair.original.span_tokens(*chain.marker)
    if not linked or linked[-1] not in pair.alignment.to_rewritten:
        return None
    place = place_of(pair, chain.cause)
    if place is None:
        return None
    return place[0], min(place[1], pair.rewritten.sentence_of(place[0]).end)


def _is_put_in(pair: Pair, chain: Chain) -> bool:
    """Whether a chain of the rewrite is put in, marker and cause, where nothing stood."""
    changes = [
        pair.alignment.change_in_rewritten(i) for i in pair.rewritten.span_tokens(*chain.marker)
    ]
    if not changes or any(change is None for change in changes):
        return False
    if len(pair.original.sentences) and pair.rewritten.sentences[0].end > chain.marker[0]:
        return False  # headlines are put in other words
    return all(
        change is not None and change.original[0] == change.original[1] for change in changes
    )


def is_inside(span: Span, spans: Iterable[Span]) -> bool:
    """Return whether a span lies in one of others."""
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def findings_outside_cause(rule: Rule, pair: Pair) -> Iterator[Finding]:
    """Yield what a rule finds in a causal rewrite, with its leniency within the replaced cause."""
    for finding in rule.findings(pair):
        span = finding.original_span
        places = causal_places(pair)
        inside = span is not None and is_inside(span, (*causes(pair), *places.original))
        if span is None and finding.rewritten_span is not None and rule.in_cause != "counts":
            inside = rule.in_cause == "ignored" and is_inside(
                finding.rewritten_span, places.rewritten
            )
        if span is not None and finding.rule == "entity-lost" and not inside:
            # A headline repeats the cause, and loses the name with it.
            named = list(map(stem, pair.original.excerpt(span).split()))
            inside = bool(places.original) and all(
                any(same_root(word, other) for other in places.stems) for word in named
            )
        if rule.in_cause == "counts" or not inside:
            region = finding.rule in ("entity-added", "entity-changed") and _is_region(
                pair, finding
            )
            if region or (finding.rule == "new-event" and _is_condition(pair, finding)):
                yield review(finding.rule, finding.message, span, finding.rewritten_span)
            else:
                yield finding
        elif rule.in_cause == "lost-to-review":
            if finding.rewritten_span is not None:
                yield finding
            elif not _is_only_place_or_time(pair, finding):
                yield review(finding.rule, finding.message, span)


_REGIONS = re.compile(
    r"(?:Asian?|Europe(?:an)?|African?|(?:Latin|North|South)\s?(?:American?)?|Americas?|Middle(?:\sEast)?"
    r"|Gulf|Western|Eastern|Northern|Southern|UK|Brit(?:ish|ain)|U\.?S\.?A?|American?|Chin(?:a|ese)"
    r"|German[y]?|French|France|Japan(?:ese)?|Indian?|Canad(?:a|ian)|Australian?|Russian?|Italian|Italy"
    r"|Spanish|Spain|Korean?|Brazil(?:ian)?|Mexic(?:o|an)|euro\szone)(?:['’]s)?(?:\s|\Z)"
)


def _is_region(pair: Pair, finding: Finding) -> bool:
    """Whether what is new is only a part of the world, within the new cause."""
    span = finding.rewritten_span
    return (
        span is not None
        and is_inside(span, causal_places(pair).rewritten)
        and bool(_REGIONS.match(pair.rewritten.excerpt(span)))
    )


def _is_condition(pair: Pair, finding: Finding) -> bool:
    """Whether what is new is a state of business within the new cause, and no major event: job
    cuts, profit warnings.
    """
    span = finding.rewritten_span
    return (
        span is not None
        and is_inside(span, causal_places(pair).rewritten)
        and bool(pattern("conditions").fullmatch(pair.rewritten.excerpt(span)))
    )


def _is_only_place_or_time(pair: Pair, finding: Finding) -> bool:
    """Whether what went with the replaced cause is a place or a time, which it brought with it."""
    if finding.rule.startswith("date"):
        return True
    names = pair.original.excerpt(finding.original_span).casefold().split()
    return finding.rule == "entity-lost" and all(is_known_name(name) for name in names)


@cache
def _meanings() -> tuple[frozenset[str], ...]:
    """Return the stems of words that mean the same in a cause."""
    return tuple(frozenset(map(stem, members)) for members in groups("meanings").values())


def means_one_of(word: str, others: Iterable[str]) -> bool:
    """Return whether a word is one of others, or means the same as one in a cause."""
    others = list(others)
    root = stem(word)
    rest = {stem(other) for other in others}
    if root in rest or any(
        root[:SAME_BEGINNING] == other[:SAME_BEGINNING] and len(root) >= SAME_BEGINNING
        for other in rest
    ):
        return True
    if is_known_name(word) and any(is_known_name(o) and same_root(word, o) for o in others):
        return True
    return any(root in group and group & rest for group in _meanings())


_PARTS = re.compile(r"[^\W_]+")


def matters(text: str) -> list[str]:
    """Return what a cause is made of: its words of content, and one name for what news calls by
    many ("rate hikes", "monetary tightening").
    """
    found, last = [], 0
    text = text.casefold()
    for match in (*named_pattern("matters").finditer(text), None):
        between = text[last : match.start() if match else len(text)]
        found += [word for word in _PARTS.findall(between) if not is_function_word(word)]
        if match:
            found.append(f"{match.lastgroup}§")
            last = match.end()
    return found


@cache
def sign_of(word: str) -> int:
    """Return the polarity of a word by itself; 0 where it has none, or two."""
    signs = {m.polarity for m in lexicon().find(word, ["directional"])}
    return signs.pop() if len(signs) == 1 else 0


def content_words(tokens: Iterable[Token]) -> list[str]:
    """Return the words of tokens that are no function words."""
    return [token.key for token in tokens if token.is_word and not is_function_word(token.key)]
