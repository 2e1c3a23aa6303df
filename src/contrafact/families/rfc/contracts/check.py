"""The contract of each manipulation: its rules, in order, and the check of a pair against them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from contrafact.families.rfc.contracts import (
    causal,
    contradictions,
    facts,
    flipping,
    numbers,
    numerical,
    outcomes,
    sentiment,
    shared,
    together,
)
from contrafact.families.rfc.contracts.findings import Check, Violation, sorted_check
from contrafact.families.rfc.contracts.options import Options
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.records import MANIPULATIONS, Manipulation
from contrafact.text.words import lexicon

__all__ = ["CONTRACTS", "LONGEST", "Rule", "check_pair", "check_pairs"]

Rule = Callable[[Pair], Iterable[Violation]]

LONGEST = 20_000
"""Characters of a text beyond which a pair is not checked; a news paragraph has a few hundred."""

_BATCH = 64

_ALL: tuple[Rule, ...] = (
    shared.length_band,
    shared.list_or_markup,
    shared.one_paragraph,
    shared.chatter,
    shared.accusation,
    shared.names_swapped,
    shared.names_lost,
    shared.names_added,
    facts.things_kept,
)
_WORDS: tuple[Rule, ...] = (
    outcomes.acts_added,
    facts.events_added,
    facts.setbacks_added,
    facts.metrics_kept,
    facts.paraphrased,
)
_SAME_NUMBERS: tuple[Rule, ...] = (
    numbers.numbers_kept,
    numbers.times_kept,
    numbers.identifiers_kept,
)

CONTRACTS: Mapping[Manipulation, tuple[Rule, ...]] = {
    "numerical": (
        *_ALL,
        numerical.no_number,
        numerical.quantity_lost,
        numerical.quantity_added,
        numerical.quantity_unchanged,
        numerical.sign_kept,
        together.comparisons_kept,
        numerical.impossible_value,
        numerical.limits,
        together.rate_decisions,
        together.equal_quantities,
        together.related_quantities,
        numerical.versions_kept,
        numbers.times_kept,
        numbers.identifiers_kept,
        facts.directions_kept,
        facts.denied,
        facts.expectations_kept,
        outcomes.outcomes_kept,
        outcomes.acts_kept,
        outcomes.ratings_kept,
        facts.causes_added,
        *_WORDS,
    ),
    "flipping": (
        *_ALL,
        flipping.numbers_kept,
        numbers.times_kept,
        flipping.identifiers_kept,
        flipping.nothing_reversed,
        flipping.left_standing,
        flipping.ratings_reversed,
        contradictions.contradictions,
        facts.causes_added,
        *_WORDS,
    ),
    "sentiment": (
        *_ALL,
        *_SAME_NUMBERS,
        facts.directions_kept,
        facts.denied,
        facts.expectations_kept,
        outcomes.outcomes_kept,
        outcomes.acts_kept,
        outcomes.ratings_kept,
        contradictions.contradictions,
        sentiment.sign_kept,
        sentiment.stronger,
        sentiment.too_many_stronger_words,
        sentiment.over_amplified,
        sentiment.hedges,
        sentiment.reactions_added,
        facts.causes_added,
        *_WORDS,
    ),
    "causal": (
        shared.length_band,
        shared.list_or_markup,
        shared.one_paragraph,
        shared.chatter,
        shared.accusation,
        shared.names_swapped,
        causal.lenient_in_cause(shared.names_lost),
        shared.names_added,
        causal.outside_cause(facts.things_kept),
        causal.lenient_in_cause(numbers.numbers_kept),
        causal.lenient_in_cause(numbers.times_kept),
        causal.lenient_in_cause(numbers.identifiers_kept),
        causal.chain,
        causal.cause_changed,
        causal.effect_kept,
        causal.marker_kept,
        causal.outside_cause(facts.denied),
        causal.outside_cause(facts.expectations_kept),
        causal.outside_cause(outcomes.outcomes_kept),
        causal.outside_cause(outcomes.acts_kept),
        causal.outside_cause(outcomes.ratings_kept),
        contradictions.contradictions,
        causal.cause_stated,
        causal.plausible,
        facts.events_added,
        facts.setbacks_added,
        causal.outside_cause(facts.metrics_kept),
        facts.paraphrased,
    ),
}
"""The rules of each manipulation, in the order in which their findings are told."""

_FIRST: tuple[Rule, ...] = (shared.blank, shared.identical)


def check_pair(
    manipulation: Manipulation,
    original: str,
    rewritten: str,
    *,
    options: Options | None = None,
) -> Check:
    """Return what a pair's contract says of it.

    Args:
        manipulation: Which contract: ``numerical``, ``flipping``, ``sentiment`` or ``causal``.
        original: The paragraph as published.
        rewritten: Its manipulated version.
        options: What a user chose; the lexicons alone if nothing.

    Raises:
        ValueError: There is no such manipulation.
    """
    pair = Pair(manipulation, original, rewritten)
    pair.options = options or Options()
    return _checked(pair)


def check_pairs(
    rows: Iterable[Mapping[str, Any]], *, options: Options | None = None
) -> Iterator[Check]:
    """Yield the check of each row, in order.

    Args:
        rows: Rows with ``manipulation``, ``original`` and ``rewritten``.
        options: What a user chose.
    """
    source = iter(rows)
    while batch := list(islice(source, _BATCH)):
        # Word lists are matched over many texts at once; an original shared by rows is read once.
        texts = list(dict.fromkeys(str(row[k]) for row in batch for k in ("original", "rewritten")))
        found = lexicon().find_many(texts)
        sides = {text: Side(text, matches) for text, matches in zip(texts, found, strict=True)}
        for row in batch:
            original, rewritten = (sides[str(row[k])] for k in ("original", "rewritten"))
            pair = Pair(row["manipulation"], original, rewritten)
            pair.options = options or Options()
            yield _checked(pair)


def _checked(pair: Pair) -> Check:
    if pair.manipulation not in MANIPULATIONS:
        raise ValueError(f"there is no manipulation {pair.manipulation!r}")
    findings = [finding for rule in _FIRST for finding in rule(pair)]
    if not findings:
        findings = [finding for rule in CONTRACTS[pair.manipulation] for finding in rule(pair)]
    return sorted_check(findings)
