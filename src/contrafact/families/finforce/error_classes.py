"""The error classes that can be computed (FIN-FORCE, figure 4 and section 5.2).

The paper found them by reading; these are proxies, each with its threshold named and its reason
given. Trivial consequences and financial realism need judgement and are not here.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contrafact.console import say_once
from contrafact.errors import installed
from contrafact.text.diff import normalised_edit_distance
from contrafact.text.parsing import Entity, entities, entities_many
from contrafact.text.quantities import new_quantities
from contrafact.text.tokens import same_root

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["classify_many"]

SIMILAR_DISTANCE = 0.10
"""A counterfactual at most this far from its headline says much the same. In the supplement's
3,368 counterfactuals, what lies below is nearly always one word or one figure exchanged; clauses
begin to change above."""

ENTITIES_LOST = 0.5
"""A counterfactual that drops more than this share of the headline's named entities has left its
subject; one of two is often named in passing."""

PERPLEXITY_RATIO = 4.0
"""A counterfactual more than this many times as surprising as its own headline may read badly. Of
300 counterfactuals of the supplement, which read well, the embedded model puts 5% above (median
0.84, three quarters under 1.5), mostly where a figure that mattered went: a flag, not a verdict."""

# spaCy's labels of things with a name; the others are numbers, dates and languages.
_NAMED = frozenset(
    ("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW")
)
# Words that many names share, which alone do not name anyone.
_COMMON = frozenset(
    (
        *("a", "an", "and", "at", "by", "for", "in", "of", "on", "the", "to", "with"),
        *("bank", "board", "central", "co", "company", "corp", "corporation", "economy", "federal"),
        *("fund", "group", "holdings", "inc", "international", "limited", "llc", "ltd", "market"),
        *("markets", "ministry", "national", "new", "plc", "stock", "stocks", "trust", "update"),
    )
)
_WORD = re.compile(r"[^\W_]+(?:[&.’'][^\W_]+)*")
# Where a headline's own words end and its source begins: "… - Example News", "… | Example".
_CREDIT = re.compile(r"\s[-–—|]\s(?:[^\s|]+\s?){1,4}\Z")
# A name has a capital letter in it that does not stand for a quarter or a magnitude.
_NAME = re.compile(r"\b(?![QH][1-4]\b)[^\W\d_a-z]")


@dataclass(frozen=True, slots=True)
class ErrorClasses:
    """What is wrong with one counterfactual, as far as it can be computed.

    Attributes:
        edit_distance: Character edits from the headline over the longer length, 0 to 1, case and
            punctuation aside.
        entities_lost: Share of the headline's named entities that the counterfactual no longer
            names, 0 to 1; None if the headline names none, as is ``fantastical_edit``.
        fluency_lapse: Its perplexity is far above the headline's; None if either is not scored.
        numeric_prediction: It states a figure that the headline does not, which the task forbids;
            a size without one ("thousands of jobs") is none.
    """

    edit_distance: float
    similar_semantics: bool
    entities_lost: float | None
    fantastical_edit: bool | None
    fluency_lapse: bool | None
    numeric_prediction: bool


def classify(
    headline: str,
    counterfactual: str,
    *,
    named: Sequence[Entity] | None = None,
    perplexity: float | None = None,
    headline_perplexity: float | None = None,
) -> ErrorClasses:
    """Return the error classes of one counterfactual; perplexities are of one model.

    ``named`` are the headline's entities; without spaCy none is found and none is lost.
    """
    if named is None:
        named = entities(headline) if installed("spacy") else []
    distance = normalised_edit_distance(_plain(headline), _plain(counterfactual))
    lost = _entities_lost(headline, named, counterfactual)
    return ErrorClasses(
        edit_distance=distance,
        similar_semantics=distance <= SIMILAR_DISTANCE,
        entities_lost=lost,
        fantastical_edit=None if lost is None else lost > ENTITIES_LOST,
        fluency_lapse=_fluency_lapse(perplexity, headline_perplexity),
        # "Thousands of jobs" names a size and predicts no number.
        numeric_prediction=any(
            quantity.value is not None for quantity in new_quantities(headline, counterfactual)
        ),
    )


def classify_many(items: "pd.DataFrame") -> "pd.DataFrame":
    """Return the items frame with a column for each error class; each headline is parsed once.

    ``text`` is None or NaN where invalid, perplexities are NaN where not scored. ``edit_distance``
    is NaN where invalid; the other columns are True, False, or None where a class does not apply.
    """
    import pandas as pd

    headlines = list(dict.fromkeys(items["headline"]))
    if installed("spacy"):
        named = dict(zip(headlines, entities_many(headlines), strict=True))
    else:
        say_once("lost entities are left out: they need spaCy (pip install 'contrafact[nlp]')")
        named = {headline: [] for headline in headlines}
    found: list[ErrorClasses | None] = [
        classify(
            headline,
            text,
            named=named[headline],
            perplexity=perplexity,
            headline_perplexity=headline_perplexity,
        )
        if isinstance(text, str)
        else None
        for headline, text, perplexity, headline_perplexity in zip(
            items["headline"],
            items["text"],
            items["perplexity"],
            items["headline_perplexity"],
            strict=True,
        )
    ]
    flags = ("similar_semantics", "fantastical_edit", "fluency_lapse", "numeric_prediction")
    result = items.assign(edit_distance=[c.edit_distance if c else math.nan for c in found])
    for flag in flags:
        values = [getattr(c, flag) if c else None for c in found]
        result[flag] = pd.Series(values, index=result.index, dtype=object)
    return result


def _plain(text: str) -> str:
    """Return a text in one case, without punctuation; signs that carry meaning stay."""
    return " ".join(re.findall(r"[\w%$€£¥₹+\-]+", text.casefold()))


def _fluency_lapse(perplexity: float | None, headline_perplexity: float | None) -> bool | None:
    if perplexity is None or headline_perplexity is None:
        return None
    if math.isnan(perplexity) or math.isnan(headline_perplexity):
        return None
    return perplexity > PERPLEXITY_RATIO * headline_perplexity


def _entities_lost(headline: str, named: Sequence[Entity], counterfactual: str) -> float | None:
    """Return the share of named entities of which the counterfactual keeps no naming word."""
    credit = _CREDIT.search(headline)
    end = credit.start() if credit else len(headline)
    names = [
        _words(entity.text) - _COMMON or _words(entity.text)
        for entity in named
        if entity.label in _NAMED and entity.start < end and _NAME.search(entity.text)
    ]
    if not names:
        return None
    kept = _words(counterfactual)
    lost = [not any(same_root(a, b) for a in words for b in kept) for words in names]
    return sum(lost) / len(lost)


def _words(text: str) -> set[str]:
    """Return the words of a text in one case: possessives and the points of "U.S." taken off."""
    found = (re.sub(r"['’]s?$", "", word) for word in _WORD.findall(text.casefold()))
    return {word.replace(".", "") for word in found}
