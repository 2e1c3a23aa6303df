"""The edit contracts: what each manipulation must change, may change and must keep.

RFC-BENCH, appendices Q, R and S. `check_pair` says whether a pair keeps its contract, and which
rules it breaks. A rule is a function under `rule`, in the module of what it is about; the tables
of ``docs/contracts.md`` are made from them. A rule of another package joins a check by its import
path (`load_rules`, ``Options.rules``).

The checker does not share its arithmetic with the rewriter of ``pipeline/rules``, so that no
misreading is made by the one and passed by the other: which figures are related, how far a number
may move, what states a cause and what reverses a direction are read twice. Both use
`contrafact.text.quantities` (reading and writing quantities, dates, identifiers),
`contrafact.text.words` (the word lists), `contrafact.text.tokens` (sentences and stems) and
``vocabulary`` (what a common English word is), and `contradictions` (what a single text contradicts
itself in); ``docs/decisions/0012`` has the reasons.
"""

from contrafact.families.rfc.contracts.check import (
    CONTRACTS,
    LONGEST,
    Options,
    check_pair,
    check_pairs,
)
from contrafact.families.rfc.contracts.contradictions import (
    Contradiction,
    contradictions,
    contradictions_of,
)
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
    "Contradiction",
    "Finding",
    "Options",
    "Pair",
    "Rule",
    "Side",
    "check_pair",
    "check_pairs",
    "contradictions",
    "contradictions_of",
    "fail",
    "load_rules",
    "review",
    "rule",
]
