"""What cannot be true at once: lowered from $90 to $96, missed with more than was expected.

RFC-BENCH, appendix R.1: logical or financial contradictions fail.
"""

import re
from collections.abc import Iterator

from contrafact.families.rfc.contracts.comparatives import comparatives
from contrafact.families.rfc.contracts.findings import Span, Violation, fail
from contrafact.families.rfc.contracts.lists import words
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.ratings import is_rating, rating_calls
from contrafact.families.rfc.contracts.relations import comparisons, expected_figures
from contrafact.families.rfc.contracts.signals import Signal, signals

__all__ = ["Contradiction", "contradictions", "contradictions_of"]

Contradiction = tuple[str, Span]
"""What is contradicted, in words, and where."""

_DOWN = (
    r"(?:fell|falls?|falling|fallen|drop(?:s|ped|ping)?|declin\w+|slump\w*|tumbl\w+|plung\w+"
    r"|slid|slides?|sliding|sank|sinks?|dip(?:s|ped)?|lost|down|lower|retreat\w*|plummet\w*"
    r"|slip(?:s|ped)?)"
)
_UP = (
    r"(?:rose|ris(?:es?|ing|en)|climb\w*|jump\w*|soar\w*|surg\w+|gain\w*|rall(?:y|ied|ies)"
    r"|advanc\w+|up|higher|increas\w+|grew|leap\w*|spik\w+)"
)
_SPAN = r"(?:all-time|record|multi-\w+|new|fresh|[\w-]+-(?:year|month|week|day)|historic|\w+ly)"
_WORST = (
    r"(?:biggest|largest|worst|best|steepest|sharpest|strongest|weakest|first|second|third|fourth"
    r"|fifth|\w+th)\s"
    r"(?:[\w-]+\s){0,3}"
)
_EXTREMES = re.compile(
    rf"\b{_DOWN}\b[^.;]{{0,40}}?\bto\s(?:a|an|its|their)\s(?:\w+\s)?{_SPAN}[\s-](?P<a>highs?)\b"
    rf"|\b{_UP}\b[^.;]{{0,40}}?\bto\s(?:a|an|its|their)\s(?:\w+\s)?{_SPAN}[\s-](?P<b>lows?)\b"
    rf"|\b{_UP}\b[^.;,]{{0,25}},\s(?:its|their|the)\s{_WORST}(?:loss|losses|fall|drop|decline"
    rf"|slide|slump|plunge)\b"
    rf"|\b{_DOWN}\b[^.;,]{{0,25}},\s(?:its|their|the)\s{_WORST}(?:gains?|rise|rally|jump|advance"
    rf"|surge|increase)\b",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"\s(?:profit|profitability|loss|losses|the\s(?:black|red))\Z", re.IGNORECASE)
_EXPECTATION = re.compile(
    r"\b(?:(?P<beat>beat\w*|top(?:s|ped|ping)?|exceed\w*|surpass\w*|above|ahead\sof|better\sthan"
    r"|higher\sthan|outpac\w+)"
    r"|(?P<miss>miss(?:ed|es|ing)?|lag(?:s|ged|ging)?|below|short\sof|trail\w*|worse\sthan"
    r"|lower\sthan|under|behind))\b",
    re.IGNORECASE,
)


def contradictions(pair: Pair) -> Iterator[Violation]:
    """The rewrite is consistent with itself, as far as its original is."""
    had = len(contradictions_of(pair.original))
    for what, span in contradictions_of(pair.rewritten)[had:]:
        yield fail("contradiction", what, None, span)


def contradictions_of(side: Side) -> list[Contradiction]:
    """Return what a single text contradicts itself in, in order.

    Directions against the figures they lead between, results against what was expected of them,
    figures against each other, falls to a high and rises to a low, upgrades to a lower rating.
    """
    found = [*_moves(side), *_results(side), *_extremes(side), *_ratings(side)]
    said = [span for _, span in found]
    found += [
        (what, span)
        for what, span in _compared(side)
        if not any(start < span[1] and span[0] < end for start, end in said)
    ]
    return found


def _compared(side: Side) -> Iterator[Contradiction]:
    """Yield "fewer than the 165,000 expected" of a figure that is larger."""
    for c in comparatives(side):
        a, b = side.quantities[c.this], side.quantities[c.that]
        if a.is_loss or b.is_loss:
            continue
        if c.sign * (abs(a.value or 0.0) - abs(b.value or 0.0)) < 0:
            words = side.text[slice(*c.words)]
            yield f"'{words}' contradicts '{a.text}'", (min(a.start, c.words[0]), c.words[1])


def _moves(side: Side) -> Iterator[Contradiction]:
    found, asserted = side.quantities, signals(side)
    for old, new in comparisons(side):
        a, b = found[old], found[new]
        if a.value is None or b.value is None or a.value == b.value:
            continue
        if a.is_estimate or b.is_estimate:
            continue
        signal = _mover(side, asserted, min(a.start, b.start), max(a.end, b.end))
        if signal is None:
            continue
        rising = abs(b.value) > abs(a.value)
        # "losses widened" is bad, and yet the figure grows: what counts is the verb's own sign.
        grows = signal.sign * signal.bare if len(signal.parts) > 1 else signal.sign
        if (grows > 0) != rising:
            start, end = signal.start, max(a.end, b.end)
            yield (
                f"'{signal.text}' contradicts '{a.text}' to '{b.text}'",
                (min(start, a.start), end),
            )


def _mover(side: Side, asserted: list[Signal], start: int, end: int) -> Signal | None:
    """Return the direction that leads to a pair of figures: the one nearest before or between."""
    sentence = side.sentence_of(start)
    near: Signal | None = None
    for signal in asserted:
        if signal.tier == "soft" or (len(signal.parts) > 1 and not signal.scaled):
            continue
        if not sentence.start <= signal.start < end:
            continue
        if is_rating(signal.text) or _VERDICT.search(signal.text):
            continue
        if not signal.scaled and signal.text.casefold().split()[0] in words("no_moves"):
            continue
        if signal.end <= start and re.search(
            r"[;]|,\s(?:and|but|while|as)\s|\b(?:as|after|while|but)\b",
            side.text[signal.end : start],
        ):
            continue
        near = signal
    return near


def _results(side: Side) -> Iterator[Contradiction]:
    found = side.quantities
    for expected, actual in expected_figures(side):
        a, b = found[expected], found[actual]
        if a.value is None or b.value is None or a.value == b.value or a.is_loss or b.is_loss:
            continue
        low, high = min(a.start, b.start), max(a.end, b.end)
        word = None
        for match in _EXPECTATION.finditer(side.text, side.sentence_of(low).start, high):
            word = match
        if word is None:
            continue
        beat = bool(word["beat"])
        if b.start > a.start:
            continue  # "expected $1.10; it earned $1.20 and beat …": the word may be elsewhere
        if _denied(side.text[: word.start()]):
            beat = not beat
        if beat != (b.value > a.value):
            yield f"'{word[0]}' contradicts '{b.text}' against '{a.text}' expected", (low, high)


def _denied(before: str) -> bool:
    return bool(
        re.search(r"\b(?:not|never|failed to|fails to|failing to|unable to)\s\Z|n['’]t\s\Z", before)
    )


def _extremes(side: Side) -> Iterator[Contradiction]:
    for match in _EXTREMES.finditer(side.text):
        yield f"'{' '.join(match[0].split())}' contradicts itself", match.span()


def _ratings(side: Side) -> Iterator[Contradiction]:
    for call in rating_calls(side):
        if call.contradiction:
            yield f"'{call.text}' contradicts itself", (call.start, call.end)
