"""Pairs checked against their contract: per second, against reading their names by spaCy alone.

The pairs are paragraphs with their directions reversed by the word lists, or their numbers
moved by rule. The baseline only reads the named entities of both texts, in batches, which is the
least that a checker on spaCy would do for every pair; ours applies every rule of the contract, and
asks spaCy where capitals leave a name open.
"""

from functools import partial
from pathlib import Path

from bench import BenchResult, Timing
from bench._clock import added, timed
from bench._paragraphs import paragraphs
from contrafact.families.rfc.contracts import check_pairs
from contrafact.text.parsing import entities_many
from contrafact.text.quantities import quantities, render
from contrafact.text.words import lexicon

TARGET = 1.0
_SLICES = 4
_QUICK = 200


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time both ways in turns, a slice of the pairs each."""
    texts, source = paragraphs(data)
    pairs = _pairs(texts[:_QUICK] if quick else texts)
    list(check_pairs(pairs[:20]))  # loads word lists, tokenizer and spaCy for both ways
    entities_many([pairs[0]["original"]])
    ours: list[Timing] = []
    baseline: list[Timing] = []
    passed = 0
    for number in range(_SLICES):
        part = pairs[number::_SLICES]
        checks, timing = timed("contracts, in batches", len(part), partial(_checked, part))
        passed += checks
        ours.append(timing)
        both = [row[side] for row in part for side in ("original", "rewritten")]
        _, timing = timed("spaCy's names of both texts", len(part), partial(entities_many, both))
        baseline.append(timing)
    return BenchResult(
        name="checking",
        unit="pairs",
        total_items=len(pairs),
        ours=added(ours),
        baseline=added(baseline),
        target=TARGET,
        data=source,
        notes=[f"{passed:,} of {len(pairs):,} pairs pass; they are made without care to"],
    )


def _checked(rows: list[dict[str, str]]) -> int:
    return sum(check.passed for check in check_pairs(rows))


def _pairs(texts: list[str]) -> list[dict[str, str]]:
    rows = []
    for text in texts:
        for manipulation, rewritten in (("flipping", _flipped(text)), ("numerical", _moved(text))):
            if rewritten != text:
                sides = {"original": text, "rewritten": rewritten}
                rows.append({"manipulation": manipulation, **sides})
    return rows


def _flipped(text: str) -> str:
    words = lexicon()
    for match in reversed(words.find(text, ["directional"])):
        text = text[: match.start] + words.opposite(match) + text[match.end :]
    return text


def _moved(text: str) -> str:
    for quantity in reversed(quantities(text)):
        if quantity.value is not None and quantity.kind != "duration":
            moved = render(quantity, quantity.value * 1.6)
            text = text[: quantity.start] + moved + text[quantity.end :]
    return text
