"""The manipulations that a text's words allow, by the printed lists.

RFC-BENCH, section 2.2.1 and appendix O: four candidate sets, found by rule before any label is
given. A text may be a candidate for several, or for none.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from contrafact.errors import Reason
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.text.words.lexicon import LISTS, spots

__all__ = ["WHY_NOT", "Bucketed", "Evidence", "bucket", "why_not"]

_KINDS = ("percent", "money", "digits")
_NAMES = (*LISTS, *_KINDS)
# The lists whose words are kept as evidence of each manipulation: more than its rules require.
_EVIDENCE: dict[Manipulation, tuple[str, ...]] = {
    "numerical": _KINDS,
    "flipping": ("directional", "kpi", "percent"),
    "sentiment": ("kpi", "hedge", "mild"),
    "causal": ("connector", "catalyst", "kpi", "percent", "reaction"),
}
_CAUSES = ("connector", "catalyst")
_CONTEXT = ("kpi", "percent", "reaction")

# A number, with its percent sign or word, if any; a currency sign stands before it.
_NUMBER = re.compile(r"[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(\s?(?:%|per\s?cent\b|pct\b))?")
_MONEY = frozenset("$€£¥₹₩₦")


WHY_NOT = {
    "title-alone": "no summary: a title alone",
    "no-digit": "no digit",
    "no-direction": "no directional term",
    "nothing-financial": "no financial term and no percentage",
    "no-kpi": "no financial term",
    "extreme": "extreme language",
    "neither-hedged-nor-mild": "no hedge and no mild expression",
    "no-cause": "no causal connector and no catalyst",
    "no-context": "no financial or reaction context",
}
"""Why an article is not a candidate, by code."""

Evidence = tuple[str, str, int, int]
"""A term that makes a text a candidate: its word list (for a number ``percent``, ``money`` or
``digits``), its base form or the number as written, and its start and end in the text."""


class Bucketed(NamedTuple):
    candidates: list[Manipulation]
    """The manipulations for which the text is a candidate."""
    evidence: dict[Manipulation, list[Evidence]]
    """The evidence for each of them, in the order of the text."""
    reasons: dict[Manipulation, Reason]
    """Why the text is not a candidate for each of the others."""


def bucket(paragraph: str) -> Bucketed:
    """Return the manipulations that the rules of appendix O allow for a text.

    - numerical: it has a digit;
    - flipping: a directional term, and a financial term or a percentage (words such as "up" or
      "above", which say a direction only with other words, are not enough);
    - sentiment: a financial term, and a hedge or a mild expression, and no extreme one ("surge" is
      not extreme here: S.3 counts it as such, but O.3 does not);
    - causal: a causal connector or a catalyst and, apart from these words, a financial term,
      a percentage or a market reaction.
    """
    unsorted = [*_numbers(paragraph), *spots(paragraph)]
    cues = sorted(unsorted, key=lambda cue: (cue[2], cue[3], _NAMES.index(cue[0])))
    there = {cue[0] for cue in cues}
    reasons: dict[Manipulation, Reason] = {}
    financial = not there.isdisjoint(("kpi", "percent"))
    # O.1: numerical.
    if there.isdisjoint(_KINDS):
        reasons["numerical"] = why_not("no-digit")
    # O.2: flipping.
    if "directional" not in there:
        reasons["flipping"] = why_not("no-direction")
    elif not financial:
        reasons["flipping"] = why_not("nothing-financial")
    # O.3: sentiment.
    if "kpi" not in there:
        reasons["sentiment"] = why_not("no-kpi")
    elif "extreme" in there:
        first = next(cue[1] for cue in cues if cue[0] == "extreme")
        reasons["sentiment"] = why_not("extreme", first)
    elif there.isdisjoint(("hedge", "mild")):
        reasons["sentiment"] = why_not("neither-hedged-nor-mild")
    # O.4: causal.
    if there.isdisjoint(_CAUSES):
        reasons["causal"] = why_not("no-cause")
    elif not _apart(cues):
        reasons["causal"] = why_not("no-context")
    candidates = [name for name in MANIPULATIONS if name not in reasons]
    evidence = {name: [cue for cue in cues if cue[0] in _EVIDENCE[name]] for name in candidates}
    return Bucketed(candidates, evidence, reasons)


def _numbers(text: str) -> Iterator[Evidence]:
    for match in _NUMBER.finditer(text):
        (start, end), kind = match.span(), "digits" if match[1] is None else "percent"
        if kind == "digits" and start and text[start - 1] in _MONEY:
            kind, start = "money", start - 1
        yield kind, text[start:end] if kind == "money" else match[0], start, end


def why_not(code: str, term: str = "") -> Reason:
    return Reason(code, f"{WHY_NOT[code]}: {term}" if term else WHY_NOT[code])


def _apart(cues: Sequence[Evidence]) -> bool:
    """Return whether a cause and a financial or reaction context occur, in separate words."""
    causes, context = ([c for c in cues if c[0] in names] for names in (_CAUSES, _CONTEXT))
    if not context:
        return False
    return (
        min(cue[3] for cue in causes) <= context[-1][2]
        or min(cue[3] for cue in context) <= causes[-1][2]
    )
