"""The edit contracts: the facts that each manipulation must keep or change, checked by rule.

RFC-BENCH, appendices Q, R and S. `check_pair` finds the facts of a pair that are wrong: figures,
names, dates, lengths, forbidden words, inserted content. Rules do not judge what the words mean; a
pair without a wrong fact is undecided until it is judged, unless it is numerical. A rule is a
function decorated with `rule`, in the module of its topic; the tables of ``docs/contracts.md`` are
made from the rules.
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
from contrafact.families.rfc.contracts.rules import Check, Finding, Rule, fail, review, rule

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
    "review",
    "rule",
]
