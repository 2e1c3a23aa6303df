"""The edit contracts: what each manipulation must change, may change and must keep.

RFC-BENCH, appendices Q, R and S. `check_pair` says whether a pair keeps its contract, and which
rules it breaks; `docs/contracts.md` lists the rules.
"""

from contrafact.rfc.validators.check import CONTRACTS, LONGEST, Rule, check_pair, check_pairs
from contrafact.rfc.validators.contradictions import contradictions_of
from contrafact.rfc.validators.findings import Check, Violation
from contrafact.rfc.validators.options import Options

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
