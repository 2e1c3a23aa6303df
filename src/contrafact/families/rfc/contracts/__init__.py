"""The edit contracts: what each manipulation must change, may change and must keep.

RFC-BENCH, appendices Q, R and S. `check_pair` says whether a pair keeps its contract, and which
rules it breaks; `docs/contracts.md` lists the rules.
"""

from contrafact.families.rfc.contracts.check import (
    CONTRACTS,
    LONGEST,
    Rule,
    check_pair,
    check_pairs,
)
from contrafact.families.rfc.contracts.contradictions import contradictions_of
from contrafact.families.rfc.contracts.findings import Check, Violation
from contrafact.families.rfc.contracts.options import Options

__all__ = [
    "CONTRACTS",
    "LONGEST",
    "Check",
    "Options",
    "Rule",
    "Violation",
    "check_pair",
    "check_pairs",
    "contradictions_of",
]
