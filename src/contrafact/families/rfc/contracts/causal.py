"""The contract of causal distortion: another cause for the same effect.

RFC-BENCH, section 2.2.2 and appendices Q.4, R.4 and S.4.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from contrafact.families.rfc.contracts.chains import Chain, chains
from contrafact.families.rfc.contracts.counterparts import directions
from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.lists import groups, pattern
from contrafact.families.rfc.contracts.pair import Pair
from contrafact.families.rfc.contracts.signals import is_result, signals
from contrafact.families.rfc.contracts.tokens import Token, stem
from contrafact.families.rfc.contracts.vocabulary import is_function_word

__all__ = [
    "cause_changed",
    "cause_stated",
    "chain",
    "effect_kept",
    "lenient_in_cause",
    "marker_kept",
    "outside_cause",
    "plausible",
]


def _realised(pair: Pair) -> list[Chain]:
    """Return the reported chains of the original, those with an outright marker if there are."""
    known = pair.memo.get("chains")
    if not isinstance(known, list):
        found = [c for c in chains(pair.original) if c.realised]
        known = pair.memo["chains"] = found
    return known


def _changed_chains(pair: Pair) -> list[Chain]:
    """Return the reported chains whose cause has a changed word."""
    return [c for c in _realised(pair) if _changed_words(pair, c.cause)]


def _changed_words(pair: Pair, span: Span) -> list[Token]:
    tokens = pair.original.span_tokens(*span)
    return [pair.original.tokens[i] for i in tokens if pair.alignment.change_at(i)]


def chain(pair: Pair) -> Iterator[Violation]:
    """The original states a cause of something that happened (conditions A and B)."""
    every = chains(pair.original)
    realised = _realised(pair)
    if not every:
        yield fail("no-causal-chain", "the original states no cause and effect")
    elif not realised:
        marker = every[0].marker
        yield fail(
            "hypothetical-chain",
            f"'{pair.original.text[slice(*marker)]}' links what may happen, not what did",
            marker,
        )
    elif not any(c.strong for c in realised):
        marker = realised[0].marker
        yield review(
            "weak-marker",
            f"only '{pair.original.text[slice(*marker)]}' links cause and effect",
            marker,
        )


@cache
def _meanings() -> tuple[frozenset[str], ...]:
    """Return the stems of words that mean the same in a cause."""
    return tuple(frozenset(map(stem, members)) for members in groups("meanings").values())


def _same_meaning(word: str, others: Iterable[str]) -> bool:
    root = stem(word)
    rest = {stem(other) for other in others}
    if root in rest or any(root[:5] == other[:5] and len(root) >= 5 for other in rest):
        return True
    return any(root in group and group & rest for group in _meanings())


def _content(tokens: Iterable[Token]) -> list[str]:
    return [t.key for t in tokens if t.key not in ("#", "@", "@t") and not is_function_word(t.key)]


def cause_changed(pair: Pair) -> Iterator[Violation]:
    """A stated cause is another one, not the same in other words."""
    realised = _realised(pair)
    if not realised:
        return
    if not _changed_chains(pair) and not _inserted_in_cause(pair):
        cause = realised[0].cause
        yield fail(
            "cause-unchanged", f"the cause still is '{pair.original.text[slice(*cause)]}'", cause
        )
        return
    for c in _changed_chains(pair) or realised:
        before, after = _replaced(pair, c)
        new = [word for word in after if not _same_meaning(word, before)]
        turned = _turned(pair, c)
        if not new and not turned:
            continue
        if not before and new:
            yield review(
                "cause-extended", f"the cause gained '{' '.join(new)}' and lost nothing", c.cause
            )
        return
    if _moved(pair):
        return
    cause = (_changed_chains(pair) or realised)[0].cause
    yield fail(
        "cause-unchanged",
        f"the cause '{pair.original.text[slice(*cause)]}' is only put in other words",
        cause,
    )


def _moved(pair: Pair) -> bool:
    """Whether a new cause stands elsewhere: "Thanks to X, Y rose" became "Y rose, citing Z"."""
    lost = [word for c in _realised(pair) for word in _content(_changed_words(pair, c.cause))]
    had = [token.key for token in pair.original.tokens]
    return any(
        bool(lost) and not _same_meaning(word, had)
        for c in chains(pair.rewritten)
        if c.strong and c.realised
        for word in _content(pair.rewritten.tokens[i] for i in pair.rewritten.span_tokens(*c.cause))
    )


def _inserted_in_cause(pair: Pair) -> bool:
    return any(_replaced(pair, c)[1] for c in _realised(pair))


def _replaced(pair: Pair, c: Chain) -> tuple[list[str], list[str]]:
    """Return the content words that a cause lost, and those that came in their place."""
    tokens = pair.original.span_tokens(*c.cause)
    if not tokens:
        return [], []
    lost, new = [], []
    for change in pair.alignment.changes:
        a, b = change.before
        if (a < tokens[-1] + 1 and tokens[0] < b) or (a == b and tokens[0] <= a <= tokens[-1] + 1):
            low, high = max(a, tokens[0]), min(b, tokens[-1] + 1)
            lost += _content(pair.original.tokens[low:high])
            new += _content(pair.rewritten.tokens[slice(*change.after)])
    return lost, new


def _turned(pair: Pair, c: Chain) -> bool:
    """Whether a direction within the cause is the opposite now: weak demand, strong demand."""
    found = directions(pair)
    return any(
        c.cause[0] <= signal.start < c.cause[1] and any(o.sign == -signal.sign for o in met)
        for signal, met in zip(found.before, found.met, strict=True)
    )


def _inside(span: Span, spans: Iterable[Span]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def effect_kept(pair: Pair) -> Iterator[Violation]:
    """The effect and all else stay: same directions, same outcome."""
    causes = _cause_only(pair)
    found = directions(pair)
    for signal, met in zip(found.before, found.met, strict=True):
        if _inside((signal.start, signal.end), causes):
            continue
        if met and all(o.sign == -signal.sign for o in met):
            told = review if signal.tier == "soft" and not is_result(signal, met[0]) else fail
            yield told(
                "effect-changed",
                f"'{signal.text}' became '{met[0].text}'",
                (signal.start, signal.end),
                (met[0].start, met[0].end),
            )


def _cause_only(pair: Pair) -> list[Span]:
    """Return the causes without what is an effect of another cause."""
    strong = [c for c in _realised(pair) if c.strong]
    weak = [c for c in _realised(pair) if not c.strong]
    for some in (strong, weak):
        changed = [c.cause for c in some if _changed_words(pair, c.cause)]
        if changed:
            return changed
    return [c.cause for c in strong or weak]


_WORSE = re.compile(
    r"\b(?:squeez|hurt|dent|erod|weigh|dragg|pressur|hit\b|batter|hamper|undermin|knock|depress"
    r"|shr[aiu]nk)"
    r"|\bcut\b|\blower",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\b(?:boost|lift|help|bolster|support|propell|buoy|aid|underpin|rais|widen|improv|expand)",
    re.IGNORECASE,
)


def marker_kept(pair: Pair) -> Iterator[Violation]:
    """What a cause does to its effect stays: what squeezed margins does not lift them."""
    for c in _realised(pair):
        words = pair.original.text[slice(*c.marker)]
        worse, better = bool(_WORSE.match(words)), bool(_BETTER.match(words))
        if worse == better:
            continue
        for i in pair.original.span_tokens(*c.marker):
            change = pair.alignment.change_at(i)
            span = None if change is None else pair.alignment.after_span(change)
            if span is None:
                continue
            now = pair.rewritten.text[slice(*span)]
            if (_BETTER if worse else _WORSE).search(now):
                yield fail("effect-changed", f"'{words}' became '{now}'", c.marker, span)
                break


def outside_cause(
    rule: Callable[[Pair], Iterable[Violation]],
) -> Callable[[Pair], Iterator[Violation]]:
    """Return the rule for all but the stated causes, which may change."""

    def outside(pair: Pair) -> Iterator[Violation]:
        causes = _cause_only(pair)
        for finding in rule(pair):
            if finding.original_span is None or not _inside(finding.original_span, causes):
                yield finding

    outside.__doc__ = rule.__doc__
    outside.__name__ = getattr(rule, "__name__", "outside")
    return outside


def lenient_in_cause(
    rule: Callable[[Pair], Iterable[Violation]],
) -> Callable[[Pair], Iterator[Violation]]:
    """Return the rule with what goes with the replaced cause, and is only gone, for review."""

    def lenient(pair: Pair) -> Iterator[Violation]:
        causes = _cause_only(pair)
        for finding in rule(pair):
            span = finding.original_span
            if (
                not finding.for_review
                and finding.rewritten_span is None
                and span is not None
                and _inside(span, causes)
            ):
                yield review(finding.rule, finding.message, span)
            else:
                yield finding

    lenient.__doc__ = rule.__doc__
    lenient.__name__ = getattr(rule, "__name__", "lenient")
    return lenient


def cause_stated(pair: Pair) -> Iterator[Violation]:
    """The rewrite states its cause outright, as one that was reported."""
    if not _realised(pair):
        return
    every = chains(pair.rewritten)
    if not every:
        # The marker that is still there links what it linked, whatever the cause is called now.
        if not any(pair.kept(*c.marker) for c in _realised(pair)):
            yield fail("cause-not-stated", "the rewrite states no cause")
        return
    if not any(c.realised for c in every):
        yield fail(
            "cause-hypothetical",
            "the rewrite links cause and effect only as a possibility",
            None,
            every[0].marker,
        )
        return
    for change in pair.alignment.changes:
        span = pair.alignment.after_span(change)
        before = pair.alignment.before_span(change)
        if span is None:
            continue
        guess = pattern("guesses").search(pair.rewritten.text, *span)
        if guess is None or guess[0] == "May":
            continue
        if before is not None and pattern("guesses").search(pair.original.text, *before):
            continue
        near = any(
            c.marker[0] - 30 <= guess.start() <= c.cause[1] for c in every if c.cause > c.effect
        )
        told = fail if near else review
        yield told(
            "cause-hypothetical", f"'{guess[0]}' makes a guess of the cause", None, guess.span()
        )


_GOOD_FOR = re.compile(
    r"\b(?:strong(?:er)?|robust|solid|record|booming|surging|soaring|better-than-expected|stellar"
    r"|blockbuster)\s"
    r"(?:\w+\s)?(?:demand|sales|earnings|profits?|results|orders|revenue|growth|bookings)\b",
    re.IGNORECASE,
)
_BAD_FOR = re.compile(
    r"\b(?:weak(?:er|ening)?|slumping|falling|sluggish|disappointing|worse-than-expected"
    r"|collapsing|plunging|poor)\s"
    r"(?:\w+\s)?(?:demand|sales|earnings|profits?|results|orders|revenue|growth|bookings)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:shares?|stock|profits?|sales|revenue|earnings|income|margins?|results)\b", re.IGNORECASE
)


def plausible(pair: Pair) -> Iterator[Violation]:
    """The new cause does not contradict common sense: no profit falls because demand is strong."""
    before = {(_sign(pair, c)) for c in chains(pair.original)}
    for c in chains(pair.rewritten):
        if not c.strong or not c.realised:
            continue
        sign = _sign(pair, c, rewritten=True)
        if sign is None or sign in before or sign[0] == sign[1]:
            continue
        yield fail(
            "implausible-cause",
            f"'{pair.rewritten.text[slice(*c.cause)]}' would work the other way",
            None,
            c.cause,
        )


def _sign(pair: Pair, c: Chain, *, rewritten: bool = False) -> tuple[int, int] | None:
    """Return the signs of a cause and of its effect, where both are beyond doubt."""
    side = pair.rewritten if rewritten else pair.original
    cause, effect = side.text[slice(*c.cause)], side.text[slice(*c.effect)]
    good, bad = bool(_GOOD_FOR.search(cause)), bool(_BAD_FOR.search(cause))
    if good == bad or not _OWN.search(effect):
        return None
    signs = {
        s.sign for s in signals(side) if c.effect[0] <= s.start < c.effect[1] and s.tier == "firm"
    }
    if len(signs) != 1:
        return None
    return (1 if good else -1), signs.pop()
