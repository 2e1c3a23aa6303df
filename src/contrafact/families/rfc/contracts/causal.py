"""The contract of causal distortion: another cause for the same effect.

RFC-BENCH, section 2.2.2 and appendices Q.4, R.4 (conditions A and B) and S.4.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated

from contrafact.families.rfc.contracts.causal_places import (
    causal_places,
    content_words,
    matters,
    means_one_of,
    place_of,
    sign_of,
)
from contrafact.families.rfc.contracts.chains import (
    Chain,
    chains,
    changed_chains,
    changed_words,
    realised_chains,
)
from contrafact.families.rfc.contracts.directional_cues import (
    direction_alignment,
)
from contrafact.families.rfc.contracts.pair import Pair, Span
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import (
    is_modifier,
    may_name,
    pattern,
    words,
)
from contrafact.text.tokens import stem

__all__ = [
    "cause_changed",
    "cause_stated",
    "chain_stated",
    "headline_cause_changed",
]

GUESS_NEAR = 6
"""Characters from a guess to the marker that it makes one of: "might have prompted" (ours)."""


@rule("cause-unchanged", about="change", paper="Q.4, 2; R.1", manipulations=("causal",))
def headline_cause_changed(pair: Pair) -> Iterator[Finding]:
    """The headline does not go on stating the cause that the story replaces."""
    places = causal_places(pair)
    if not places.original or len(pair.original.sentences) < 2:
        return
    end = pair.original.sentences[0].end
    spans = [span for span in places.original if span[0] >= end]
    replaced = frozenset(
        stem(word)
        for span in spans
        for word in content_words(pair.original.tokens[i] for i in pair.original.span_tokens(*span))
    )
    stated_words = [word for span in spans for word in content_words(changed_words(pair, span))]
    for chain in chains(pair.original):
        if chain.cause[1] > end:
            continue
        kept = pair.kept(*chain.cause)
        words_of = frozenset(
            stem(word)
            for word in content_words(
                pair.original.tokens[i] for i in pair.original.span_tokens(*chain.cause)
            )
        )
        gone = {stem(token.key) for token in pair.rewritten.tokens if token.start >= end}
        named = [
            token.key
            for token in (pair.original.tokens[i] for i in pair.original.span_tokens(*chain.cause))
            if token.is_word and may_name(token.key) and not sign_of(token.key)
        ]
        same = words_of <= replaced or (
            bool(named)
            and 2 * sum(means_one_of(word, stated_words) for word in named) >= len(named)
        )
        if kept is not None and words_of and same and not words_of <= gone:
            yield fail(
                "cause-unchanged",
                f"the headline still has '{pair.original.excerpt(chain.cause)}' for a cause",
                chain.cause,
                kept,
            )


_GUESSED = re.compile(
    r"\b(?:could|may(?!\s\d)|might|would|if|unless|whether|potentially|possibly|perhaps|likely)\b",
    re.IGNORECASE,
)


_DECIDED = re.compile(
    r"\b(?:announced|decided|ordered|approved|agreed|ruled)\s(?:\w+\s){0,2}?that\s[^.;]*\bwould\b",
    re.IGNORECASE,
)
_PURPOSE = re.compile(
    r"\b(?:in\san?\s(?:effort|bid|attempt|move)\s(?:designed\s|aimed\s)?to|aim(?:ed|ing)?\s(?:at|to)|designed\sto"
    r"|in\sorder\sto|so\sas\sto|to\s(?:combat|curb|tame|fight|rein\sin|support|shore\sup|prevent|avoid|counter|contain"
    r"|encourage|protect|ease|cool|stem|defend|prop\sup|mop\sup|control|tackle))\b",
    re.IGNORECASE,
)
_ONLY_TIME = re.compile(r"(?:amid|after|following|since)", re.IGNORECASE)


@rule(
    "no-causal-chain",
    "hypothetical-chain",
    "weak-marker",
    about="change",
    paper="R.4, conditions A and B",
    manipulations=("causal",),
    to_review='only "amid" or "after" link them; an effect that is planned; a purpose, of which '
    "the rewrite makes a cause",
)
def chain_stated(pair: Pair) -> Iterator[Finding]:
    """The original states cause and effect; the effect is reported, not supposed or predicted."""
    every, realised = chains(pair.original), realised_chains(pair)
    if not every:
        stated = next((c for c in chains(pair.rewritten) if c.strong and c.realised), None)
        yield Finding(
            "no-causal-chain",
            "the original states no cause and effect",
            None,
            None if stated is None else stated.marker,
            for_review=stated is not None and bool(_PURPOSE.search(pair.original.text)),
        )
    elif not realised:
        marker = every[0].marker
        span = (
            min(every[0].cause[0], every[0].effect[0]),
            max(every[0].cause[1], every[0].effect[1]),
        )
        yield Finding(
            "hypothetical-chain",
            f"'{pair.original.excerpt(marker)}' links what may happen, not what did",
            marker,
            # "will cut 300 jobs after …": a plan that is reported.
            for_review=not _GUESSED.search(pair.original.text, *span)
            or bool(_DECIDED.search(pair.original.text, *span)),
        )
    elif not any(chain.strong for chain in realised):
        marker = realised[0].marker
        if _ONLY_TIME.match(pair.original.excerpt(marker)):
            yield review(
                "weak-marker",
                f"only '{pair.original.excerpt(marker)}' links cause and effect",
                marker,
            )


def _in_other_words(before: list[str], after: list[str]) -> bool:
    """Whether every word that a cause lost has its synonym among those it gained."""
    gained = [word for word in after if stem(word) not in _vague()]
    lost = [word for word in before if stem(word) not in _vague()]
    extra = [word for word in gained if not means_one_of(word, before) and not _same(word, before)]
    return (
        bool(lost)
        and len(extra) <= max(1, len(lost) - 1)
        and all(means_one_of(word, after) or _same(word, after) for word in lost)
    )


RENAMED = 0.25
"""Share of a cause's new words that may be others in a cause that only has other names (ours)."""


def _is_renamed(pair: Pair, chain: Chain) -> bool:
    """Whether what stands for a whole cause is the cause by its other names: "sticky inflation and
    rate hikes", "stubborn price pressures and monetary tightening".
    """
    place = place_of(pair, chain.cause)
    before = matters(pair.original.excerpt(chain.cause))
    after = matters(pair.rewritten.excerpt(place))
    if not before or not after:
        return False
    had, has = set(map(stem, before)), set(map(stem, after))
    gone = [word for word in before if stem(word) not in has]
    come = [word for word in after if stem(word) not in had]
    other = [
        word
        for word in come
        if not means_one_of(word, gone) and not pattern("stakeholders").match(word)
    ]
    lost = [word for word in gone if not means_one_of(word, come)]
    ways = [{sign for word in some if (sign := sign_of(word))} for some in (before, after)]
    opposed = all(ways) and ways[0] != ways[1]
    return (
        bool(gone) == bool(come)
        and not opposed
        and len(other) <= RENAMED * len(come)
        and len(lost) <= 2 * RENAMED * len(gone)
    )


def _same(word: str, others: Iterable[str]) -> bool:
    """Whether one of some words goes the same way: "weaker", "lower"."""
    sign = sign_of(word)
    return bool(sign) and any(sign_of(other) == sign for other in others)


@cache
def _vague() -> frozenset[str]:
    """Return the stems of words that add nothing to a cause: "conditions", "the economy"."""
    return frozenset(map(stem, words("vague")))


@rule(
    "cause-unchanged",
    "cause-extended",
    about="change",
    paper="Q.4, 2; R.4",
    manipulations=("causal",),
    to_review="a cause that only gained words, and no second cause by its side",
)
def cause_changed(pair: Pair) -> Iterator[Finding]:
    """A stated cause is another one, not the same in other words."""
    realised, changed = realised_chains(pair), changed_chains(pair)
    if not realised:
        return
    if not changed:  # another cause may be: of what is planned or expected
        changed = [one for one in chains(pair.original) if changed_words(pair, one.cause)]
    if not changed and not any(_replaced(pair, chain)[1] for chain in realised):
        cause = realised[0].cause
        yield fail("cause-unchanged", f"the cause is still '{pair.original.excerpt(cause)}'", cause)
        return
    for chain in changed or realised:
        if _is_renamed(pair, chain):
            continue
        before, after = _replaced(pair, chain)
        new = [word for word in after if not means_one_of(word, before)]
        # A direction within the cause may be the opposite now: weak demand, strong demand.
        turned = any(
            chain.cause[0] <= cue.start < chain.cause[1]
            and any(other.sign == -cue.sign for other in others)
            for cue, others in direction_alignment(pair).counterparts
        )
        if not turned and (not new or _in_other_words(before, after)):
            continue
        if not before and all(is_modifier(word) or stem(word) in _vague() for word in new):
            continue  # "unusually cold weather": the same cause
        if not before and new:
            yield Finding(
                "cause-extended",
                f"the cause gained '{' '.join(new)}' and lost nothing",
                chain.cause,
                for_review=not _is_joined(pair, chain),
            )
        return
    if not any(pair.kept(*chain.marker) for chain in realised) and _is_moved(pair):
        return
    cause = (changed or realised)[0].cause
    yield fail(
        "cause-unchanged",
        f"the cause '{pair.original.excerpt(cause)}' is only put in other words",
        cause,
    )


_JOINED = re.compile(
    r"\W*(?:and|plus|as\swell\sas|along\swith|coupled\swith|combined\swith|together\swith)\b",
    re.IGNORECASE,
)


def _is_joined(pair: Pair, chain: Chain) -> bool:
    """Whether another cause only stands by the first: "the surge in costs and a jump in wages"."""
    tokens = pair.original.span_tokens(*chain.cause)
    return any(
        (span := pair.spans(change)[1]) is not None
        and bool(_JOINED.match(pair.rewritten.text, span[0]))
        for change in pair.changes
        if change.original[0] == change.original[1] and change.original[0] - 1 in tokens
    )


def _is_moved(pair: Pair) -> bool:
    """Whether a new cause stands elsewhere: "Thanks to X, Y rose" became "Y rose, citing Z"."""
    lost = any(content_words(changed_words(pair, chain.cause)) for chain in realised_chains(pair))
    had = [token.key for token in pair.original.tokens]
    return lost and any(
        not means_one_of(word, had)
        for chain in chains(pair.rewritten)
        if chain.strong and chain.realised
        for word in content_words(
            pair.rewritten.tokens[i] for i in pair.rewritten.span_tokens(*chain.cause)
        )
    )


def _replaced(pair: Pair, chain: Chain) -> tuple[list[str], list[str]]:
    """Return the content words that a cause lost, and those that came in their place."""
    tokens = pair.original.span_tokens(*chain.cause)
    if not tokens:
        return [], []
    first, end = tokens[0], tokens[-1] + 1
    lost, new = [], []
    for change in pair.changes:
        a, b = change.original
        if (a < end and first < b) or (a == b and first <= a <= end):
            lost += content_words(pair.original.tokens[max(a, first) : min(b, end)])
            new += content_words(pair.tokens(change)[1])
    return lost, new


@rule(
    "cause-not-stated",
    "cause-hypothetical",
    about="consistency",
    paper="R.4",
    manipulations=("causal",),
    to_review="a guess that is none of a cause",
)
def cause_stated(
    pair: Pair,
    *,
    reach: Annotated[int, "ours: characters before a marker in which a guess is one of it"] = 30,
) -> Iterator[Finding]:
    """The rewrite states its cause outright, as one that was reported."""
    realised, every = realised_chains(pair), chains(pair.rewritten)
    if not realised:
        yield from _supposed_instead(pair)
        return
    if not every:
        # The marker that is still there links what it linked, whatever the cause is called now.
        if not any(pair.kept(*chain.marker) for chain in realised):
            yield fail("cause-not-stated", "the rewrite states no cause")
        return
    if not any(chain.realised for chain in every):
        yield fail(
            "cause-hypothetical",
            "the rewrite links cause and effect only as a possibility",
            None,
            every[0].marker,
        )
        return
    yield from _markers_gone(pair)
    guesses = pattern("guesses")
    for change in pair.changes:
        before, span = pair.spans(change)
        if span is None:
            continue
        guess = guesses.search(pair.rewritten.text, *span)
        if guess is None or guess[0] == "May":
            continue
        if before is not None and guesses.search(pair.original.text, *before):
            continue
        near = any(
            chain.marker[0] - reach <= guess.start() <= chain.cause[1]
            for chain in every
            if chain.cause > chain.effect
        ) or any(0 <= chain.marker[0] - guess.end() <= GUESS_NEAR for chain in every)
        yield Finding(
            "cause-hypothetical",
            f"'{guess[0]}' makes a guess of the cause",
            None,
            guess.span(),
            for_review=not near,
        )


_SUPPOSES = re.compile(
    r"\b(?:may|might|could)\b(?!\s\d)|\bin\sthe\sevent\s(?:that|of)\b|\bif\b", re.IGNORECASE
)


def _supposed_instead(pair: Pair) -> Iterator[Finding]:
    """Yield a possibility that stands where a marker of a planned effect stood."""
    for chain in chains(pair.original):
        for i in pair.original.span_tokens(*chain.marker):
            change = pair.alignment.change_in_original(i)
            span = None if change is None else pair.spans(change)[1]
            guess = None if span is None else _SUPPOSES.search(pair.rewritten.text, *span)
            if guess is not None:
                yield fail(
                    "cause-hypothetical",
                    f"'{guess[0]}' makes a guess of the cause",
                    chain.marker,
                    span,
                )
                return


_CONCESSION = re.compile(
    r"\b(?:despite|in\sspite\sof|although|though|even\sas|notwithstanding|regardless\sof)\b",
    re.IGNORECASE,
)


def _markers_gone(pair: Pair) -> Iterator[Finding]:
    """Yield stated causes that are gone without another: no chain is left in their sentence, or
    "because of" became "despite".
    """
    a, b = pair.original, pair.rewritten
    aligned = len(a.sentences) == len(b.sentences)
    for chain in realised_chains(pair):
        tokens = a.span_tokens(*chain.marker)
        changed = [change for i in tokens if (change := pair.alignment.change_in_original(i))]
        if not changed or _went_with_another(pair, chain) or _still_opens(pair, chain):
            continue
        span = next((s for change in changed if (s := pair.spans(change)[1])), None)
        caused = span is not None and any(span[0] <= c.marker[0] < span[1] for c in chains(b))
        if (
            not caused
            and _CONCESSION.search(b.excerpt(span))
            and not _CONCESSION.search(a.excerpt(chain.marker))
        ):
            yield fail(
                "cause-not-stated", f"'{b.excerpt(span)}' gives no cause", chain.marker, span
            )
            return
        if not chain.strong or not aligned:
            continue
        sentence = a.sentence_of(chain.marker[0])
        place = next(i for i, s in enumerate(a.sentences) if s.start == sentence.start)
        there = b.sentences[place]
        # A weaker link that stood there before is none in its place.
        if not any(
            there.start <= c.marker[0] < there.end and (c.strong or not _is_kept(pair, c.marker))
            for c in chains(b)
        ):
            yield fail(
                "cause-not-stated",
                f"'{a.excerpt(chain.marker)}' is gone, and no other cause is in its place",
                chain.marker,
            )
            return


def _still_opens(pair: Pair, chain: Chain) -> bool:
    """Whether the rewrite still has the word that a marker begins with, in any of its forms: "on
    fears" → "on weak sales", "forces" → "force".
    """
    first = pair.original.span_tokens(*chain.marker)[0]
    change = pair.alignment.change_in_original(first)
    if change is None:
        at = pair.rewritten.tokens[pair.alignment.to_rewritten[first]]
        return not re.match(r"\son\s\w+day\b", pair.rewritten.text[at.start - 1 :], re.IGNORECASE)
    root = stem(pair.original.tokens[first].key)
    return any(stem(token.key) == root for token in pair.tokens(change)[1])


def _went_with_another(pair: Pair, chain: Chain) -> bool:
    """Whether a cause was part of another, which was replaced behind the marker it has still."""
    return any(
        other.cause[0] < chain.marker[0]
        and chain.marker[1] <= other.cause[1]
        and pair.kept(*other.marker) is not None
        and bool(content_words(changed_words(pair, (other.cause[0], chain.marker[0]))))
        for other in realised_chains(pair)
    )


def _is_kept(pair: Pair, span: Span) -> bool:
    """Whether words of the rewrite stand as they stood in the original."""
    tokens = pair.rewritten.span_tokens(*span)
    return not any(pair.alignment.change_in_rewritten(i) for i in tokens)
