"""The check of a pair against the contract of its manipulation, and of a file of pairs.

A contract is made of the rules that declare themselves part of it, in the order of their topics.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.pair import Pair, Polarity, Side
from contrafact.families.rfc.contracts.polarity import load_polarity_model
from contrafact.families.rfc.contracts.rules import (
    TOPICS,
    Check,
    Finding,
    Rule,
    checked,
    fail,
    load_rules,
    rules_in,
)
from contrafact.families.rfc.labels import Bands, load_bands
from contrafact.family import DraftFinding
from contrafact.files.tables import read_rows, source_name
from contrafact.records import MANIPULATIONS, Manipulation

__all__ = [
    "CONTRACTS",
    "LONGEST",
    "NO_VERDICT",
    "Options",
    "PairRow",
    "check_counts",
    "check_draft",
    "check_object",
    "check_pair",
    "check_pairs",
    "check_rows",
    "contract",
    "open_options",
    "pair_problem",
    "read_pairs",
]

LONGEST = 20_000
"""Characters of a text beyond which a pair is not checked; a news paragraph has a few hundred."""

NO_VERDICT = "meaning-undecided"
"""The id of a finding that says why a judge's verdict is missing."""

BATCH = 64
"""Pairs among which a text that rows share is read once."""

_PACKAGE = "contrafact.families.rfc.contracts"
_MODULES = (
    *("prose", "names", "assets", "numbers", "numerical", "times", "contradictions", "polarity"),
    "content",
)
"""The modules with rules, which declare themselves when these are imported."""


@dataclass(frozen=True)
class Options:
    """What a user may choose of a check: a model of tone, rules of other packages, bands."""

    polarity: Polarity | None = None
    rules: tuple[Rule, ...] = ()
    bands: Bands | None = None


def open_options(
    rules: Iterable[str] = (),
    polarity_model: str | Path | None = None,
    bands: str | Path | None = None,
) -> Options:
    """Return what a user chose: paths of rules, a folder with a model of tone, a calibration."""
    return Options(
        None if polarity_model is None else load_polarity_model(Path(polarity_model)),
        tuple(found for path in rules for found in load_rules(path)),
        None if bands is None else load_bands(bands),
    )


def contract(manipulation: Manipulation, others: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """Return the rules of a manipulation, in the order in which their findings are listed."""
    for name in _MODULES:
        import_module(f"{_PACKAGE}.{name}")
    rules = [found for name in _MODULES for found in rules_in(f"{_PACKAGE}.{name}")]
    rules = [r for r in dict.fromkeys((*rules, *others)) if manipulation in r.manipulations]
    return tuple(sorted(rules, key=lambda found: TOPICS.index(found.about)))


CONTRACTS: Mapping[Manipulation, tuple[Rule, ...]] = {
    name: contract(name) for name in MANIPULATIONS
}
"""The rules of each manipulation, in the order in which their findings are listed."""


def check_pair(
    manipulation: Manipulation, original: str, rewritten: str, *, options: Options | None = None
) -> Check:
    """Return what a pair's contract finds in it."""
    row = {"manipulation": manipulation, "original": original, "rewritten": rewritten}
    return next(check_pairs([row], options=options))


def check_draft(fields: Mapping[str, Any]) -> list[DraftFinding]:
    """Return what a pair's contract finds while somebody writes its rewrite in a review."""
    texts = {name: str(fields.get(name) or "") for name in ("original", "rewritten")}
    manipulation = str(fields.get("manipulation") or "").strip().casefold()
    if manipulation not in MANIPULATIONS or not texts["original"].strip():
        raise InputError("the item has no original or no manipulation that a contract is for")
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
    contracts = CONTRACTS
    if options.rules:
        contracts = {name: contract(name, options.rules) for name in MANIPULATIONS}
    source = iter(rows)
    while batch := list(islice(source, BATCH)):
        # An original that rows share is read once.
        sides = {text: Side(text) for row in batch for text in (row["original"], row["rewritten"])}
        for row in batch:
            manipulation = row["manipulation"]
            if manipulation not in MANIPULATIONS:
                raise ValueError(f"there is no manipulation {manipulation!r}")
            original, rewritten = sides[row["original"]], sides[row["rewritten"]]
            pair = Pair(manipulation, original, rewritten, options.polarity, options.bands)
            yield checked(pair.manipulation, _findings(pair, contracts[pair.manipulation]))


def _findings(pair: Pair, rules: Iterable[Rule]) -> Iterator[Finding]:
    found = False
    for rule in rules:
        if found and rule.about != "presence":
            return
        for finding in rule.findings(pair):
            found = found or rule.about == "presence"
            yield finding


# Files of pairs

_FIELDS = ("id", "manipulation", "original", "rewritten")


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of a file of pairs."""

    line: int
    fields: dict[str, Any]
    problem: InputError | None = None


def read_pairs(path: str | Path) -> Iterator[PairRow]:
    """Yield the rows of a file of pairs, in order, the bad ones with their problem.

    A row is bad that lacks a field, has one that is not text, an unknown manipulation, an id that
    came before, a blank original, or a text of more than `LONGEST` characters. A line that cannot
    be read ends the reading.
    """
    name = source_name(path)
    first: dict[str, int] = {}
    empty = True
    for line, fields in read_rows(path):
        empty, row = False, PairRow(line, fields)
        problem = pair_problem(row, name)
        if problem is None:
            identity = fields["id"]
            if (before := first.get(identity)) is not None:
                problem = InputError(
                    f"the id '{identity}' came before, on line {before}",
                    file=name,
                    line=line,
                    hint="give each pair an id of its own",
                )
            first.setdefault(identity, line)
        yield PairRow(line, fields, problem)
    if empty:
        raise InputError("the file holds no rows", file=name, hint="give at least one pair")


def pair_problem(row: PairRow, name: str) -> InputError | None:
    """Return why a row cannot be checked, in itself; None where it can."""

    def bad(problem: str, hint: str) -> InputError:
        return InputError(problem, file=name, line=row.line, hint=hint)

    for field in _FIELDS:
        value = row.fields.get(field)
        if value is None:
            return bad(f"there is no '{field}'", f"give the row {', '.join(_FIELDS)}")
        if not isinstance(value, str):
            return bad(f"'{field}' is not text", "write it in quotes")
        if field in ("original", "rewritten") and len(value) > LONGEST:
            return bad(
                f"'{field}' has {len(value):,} characters, more than {LONGEST:,}",
                "give one paragraph of news",
            )
        if field != "rewritten" and not value.strip():
            return bad(f"'{field}' is blank", "fill it in, or leave the row out")
    if row.fields["manipulation"] not in MANIPULATIONS:
        return bad(
            f"there is no manipulation '{row.fields['manipulation'][:40]}'",
            f"use one of {', '.join(MANIPULATIONS)}",
        )
    return None


def check_rows(
    rows: Iterable[PairRow], name: str, *, options: Options | None = None
) -> Iterator[tuple[PairRow, Check | None]]:
    """Yield each row with its check, in order; a bad one with None."""
    waiting: deque[PairRow] = deque()

    def fields() -> Iterator[Mapping[str, Any]]:
        for row in rows:
            waiting.append(row)
            if row.problem is None:
                yield row.fields

    try:
        for found in check_pairs(fields(), options=options):
            while waiting[0].problem is not None:
                yield waiting.popleft(), None
            yield waiting.popleft(), found
    except InputError as error:
        if error.file is not None:
            raise  # of the file itself
        line = next(row.line for row in waiting if row.problem is None)
        raise error.at(name, line) from error
    yield from ((row, None) for row in waiting)


def check_object(row: PairRow, found: Check | None) -> dict[str, Any]:
    """Return a row of a file of checks; a bad row has its problem as its only violation."""
    violations = (fail("bad-row", str(row.problem)),) if found is None else found.violations
    return {
        "id": row.fields.get("id"),
        "manipulation": row.fields.get("manipulation"),
        "passed": False if found is None else found.passed,
        "violations": [finding.as_row() for finding in violations],
        "review": [finding.as_row() for finding in (() if found is None else found.review)],
    }


def check_counts(manipulation: str, found: Check) -> Iterator[str]:
    """Yield what a pair's check counts as, ``KIND|WHAT``.

    What is ``pairs``; ``pass``, ``fail`` or ``undecided``; ``review`` where a person should see it;
    ``invalid`` where a judge was asked and a verdict is missing; and ``rule|ID`` for each rule that
    it breaks.
    """
    outcome = {True: "pass", False: "fail", None: "undecided"}[found.passed]
    asked = {finding.rule for finding in found.review}
    broken = {f"rule|{finding.rule}" for finding in found.violations}
    counts = ["pairs", outcome, *["review"] * bool(asked), *broken]
    counts += ["invalid"] * (NO_VERDICT in asked)
    yield from (f"{manipulation}|{one}" for one in counts)
