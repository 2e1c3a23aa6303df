"""The edit contracts: what of each manipulation is a fact, decided by rule.

RFC-BENCH, appendices Q, R and S. `check_pair` says which facts of a pair are wrong: figures, names,
dates, lengths, forbidden words, what is put in whole. What the words mean is no matter of rules; a
pair in which no fact is wrong is undecided until it is judged, but for a numerical one. A rule is a
function under `rule`, in the module of what it is about; the tables of ``docs/contracts.md`` are
made from them. A rule of another package joins a check by its import path (`load_rules`).
"""

from contrafact.families.rfc.contracts.contradictions import contradictions
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.pair_check import (
    CONTRACTS,
    LONGEST,
    Options,
    check_pair,
    check_pairs,
)
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
    "contradictions",
    "fail",
    "load_rules",
    "review",
    "rule",
]
