"""The check of a pair against the contract of its manipulation.

A contract is made of the rules that declare themselves part of it, in the order of their topics.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.pair import Pair, Polarity, Side
from contrafact.families.rfc.contracts.polarity import load_polarity_model
from contrafact.families.rfc.contracts.rules import TOPICS, Check, Finding, Rule, checked, rules_in
from contrafact.families.rfc.labels import Bands, load_bands
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.family import DraftFinding

__all__ = [
    "CONTRACTS",
    "LONGEST",
    "NO_VERDICT",
    "Options",
    "check_draft",
    "check_pair",
    "check_pairs",
    "contract",
]

LONGEST = 20_000
"""Characters of a text beyond which a pair is not checked; a news paragraph has a few hundred."""

NO_VERDICT = "meaning-undecided"
"""The id of a finding that says why a judge's verdict is missing."""

BATCH = 64
"""Pairs in a batch, within which a text that several rows share is read once."""

_PACKAGE = "contrafact.families.rfc.contracts"
_MODULES = (
    *("prose", "names", "assets", "numbers", "numerical", "times", "contradictions", "polarity"),
    "content",
)
"""The modules with rules; importing a module declares its rules."""


@dataclass(frozen=True)
class Options:
    """A user's choices for a check: a model of tone, length bands."""

    polarity: Polarity | None = None
    bands: Bands | None = None


def open_options(
    polarity_model: str | Path | None = None, bands: str | Path | None = None
) -> Options:
    """Return the options of a check: a model of tone, length bands."""
    return Options(
        None if polarity_model is None else load_polarity_model(Path(polarity_model)),
        None if bands is None else load_bands(bands),
    )


def contract(manipulation: Manipulation) -> tuple[Rule, ...]:
    """Return the rules of a manipulation, in the order in which their findings are listed."""
    for name in _MODULES:
        import_module(f"{_PACKAGE}.{name}")
    rules = [found for name in _MODULES for found in rules_in(f"{_PACKAGE}.{name}")]
    rules = [rule for rule in rules if manipulation in rule.manipulations]
    return tuple(sorted(rules, key=lambda found: TOPICS.index(found.about)))


CONTRACTS: Mapping[Manipulation, tuple[Rule, ...]] = {
    name: contract(name) for name in MANIPULATIONS
}
"""The rules of each manipulation, in the order in which their findings are listed."""


def check_pair(
    manipulation: Manipulation,
    original: str,
    rewritten: str,
    *,
    title: str = "",
    options: Options | None = None,
) -> Check:
    """Check a pair by the contract of its manipulation; its original may begin with a title."""
    row = {"manipulation": manipulation, "original": original, "rewritten": rewritten}
    row |= {"title": title}
    return next(check_pairs([row], options=options))


def check_draft(fields: Mapping[str, Any]) -> list[DraftFinding]:
    """Return the contract's findings on a rewrite that somebody is writing in a review."""
    texts = {name: str(fields.get(name) or "") for name in ("original", "rewritten")}
    manipulation = str(fields.get("manipulation") or "").strip().casefold()
    if manipulation not in MANIPULATIONS or not texts["original"].strip():
        raise InputError("the item has no original, or no manipulation that has a contract")
    if max(map(len, texts.values())) > LONGEST:
        raise InputError(f"texts of more than {LONGEST:,} characters are not checked")
    found = check_pair(manipulation, texts["original"], texts["rewritten"])
    return [
        DraftFinding(
            finding.rule,
            finding.message,
            not finding.for_review,
            texts["rewritten"][slice(*finding.rewritten_span)] if finding.rewritten_span else "",
        )
        for finding in (*found.violations, *found.review)
    ]


def check_pairs(
    rows: Iterable[Mapping[str, Any]], *, options: Options | None = None
) -> Iterator[Check]:
    """Yield the check of each row, in order."""
    options = options or Options()
    source = iter(rows)
    while batch := list(islice(source, BATCH)):
        # A text that rows share is read once.
        sides = {text: Side(text) for row in batch for text in (row["original"], row["rewritten"])}
        for row in batch:
            manipulation = row["manipulation"]
            if manipulation not in MANIPULATIONS:
                raise ValueError(f"there is no manipulation {manipulation!r}")
            original, rewritten = sides[row["original"]], sides[row["rewritten"]]
            title = row.get("title")
            title = title if isinstance(title, str) else ""
            pair = Pair(manipulation, original, rewritten, options.polarity, options.bands, title)
            yield checked(pair.manipulation, _findings(pair, CONTRACTS[pair.manipulation]))


def _findings(pair: Pair, rules: Iterable[Rule]) -> Iterator[Finding]:
    found = False
    for rule in rules:
        if found and rule.about != "presence":
            return
        for finding in rule.findings(pair):
            found = found or rule.about == "presence"
            yield finding
