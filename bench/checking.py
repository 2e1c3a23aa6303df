"""Pairs checked against their contract: per second, against reading their names by spaCy alone.

The pairs are the bundled ones, which a person labelled: the same in every run, so that versions of
the rules compare. They are checked as they are, and as headlines, the first sentence of each. The
baseline only reads the named entities of both texts, in batches, which is the least that a checker
on spaCy would do for every pair; ours applies every rule of the contract, and asks spaCy only who a
new name is.
"""

import json
from functools import partial
from importlib.resources import files
from pathlib import Path

from bench import BenchResult, Timing
from bench._clock import added, timed
from contrafact.families.rfc.contracts import check_pairs
from contrafact.text.parsing import entities_many
from contrafact.text.tokens import sentence_spans

TARGET = 1.0
_SLICES = 4
_SAMPLES = files("contrafact.families.rfc") / "samples"
_QUICK = 200


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time both ways in turns, a slice of the pairs each, and the headlines alone."""
    pairs = [
        json.loads(line)
        for half in ("held_out", "tuning")
        for line in (_SAMPLES / f"contract_pairs_{half}.jsonl").read_text("utf-8").splitlines()
    ]
    pairs = pairs[:_QUICK] if quick else pairs
    heads = [row | {side: _headline(row[side]) for side in _SIDES} for row in pairs]
    heads = [row for row in heads if row["original"] != row["rewritten"]]
    list(check_pairs(pairs[:20]))  # loads word lists, tokenizer and spaCy for both ways
    entities_many([pairs[0]["original"]])
    ours: list[Timing] = []
    baseline: list[Timing] = []
    failed = 0
    for number in range(_SLICES):
        part = pairs[number::_SLICES]
        checks, timing = timed("contracts, in batches", len(part), partial(_failed, part))
        failed += checks
        ours.append(timing)
        both = [row[side] for row in part for side in _SIDES]
        _, timing = timed("spaCy's names of both texts", len(part), partial(entities_many, both))
        baseline.append(timing)
    _, head = timed("headlines", len(heads), partial(_failed, heads))
    cpu = head.cpu_seconds or head.seconds
    return BenchResult(
        name="checking",
        unit="pairs",
        total_items=len(pairs),
        ours=added(ours),
        baseline=added(baseline),
        target=TARGET,
        data=f"{len(pairs):,} bundled pairs",
        notes=[
            f"{failed:,} of {len(pairs):,} pairs fail",
            f"headlines alone: {len(heads) / cpu:,.0f} pairs in a second of the processor, "
            f"{len(heads):,} that changed",
        ],
    )


_SIDES = ("original", "rewritten")


def _headline(text: str) -> str:
    return text[slice(*sentence_spans(text)[0])].strip()


def _failed(rows: list[dict[str, str]]) -> int:
    return sum(check.passed is False for check in check_pairs(rows))
