"""The edit contracts: what each manipulation must change, may change and must keep.

RFC-BENCH, appendices Q, R and S. `check_pair` says whether a pair keeps its contract, and which
rules it breaks; `docs/contracts.md` lists the rules.
"""

from contrafact.families.rfc.contracts.check import (
    CONTRACTS,
    LONGEST,
    Options,
    check_pair,
    check_pairs,
)
from contrafact.families.rfc.contracts.consistency import contradictions_of
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.rules import (
    Check,
    Finding,
    Rule,
    fail,
    load_rules,
    review,
    rule,
)

__all__ = [
    "CONTRACTS",
    "LONGEST",
    "Check",
    "Finding",
    "Options",
    "Pair",
    "Rule",
    "Side",
    "check_pair",
    "check_pairs",
    "contradictions_of",
    "fail",
    "load_rules",
    "review",
    "rule",
]
