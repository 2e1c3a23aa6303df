"""The error classes that can be computed (FIN-FORCE, figure 4 and section 5.2).

The paper's authors found them by reading; these are proxies, each with a named threshold and its
reason. Trivial consequences and financial realism need a judge (`judging`).
"""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from contrafact.console import say_once
from contrafact.errors import installed
from contrafact.text.diff import normalised_edit_distance
from contrafact.text.parsing import Entity, entities_many
from contrafact.text.quantities import new_quantities
from contrafact.text.tokens import same_root

if TYPE_CHECKING:
    import pandas as pd

SIMILAR_DISTANCE = 0.10
"""The edit distance up to which a counterfactual says much the same as its headline. Of the
supplement's 3,368 counterfactuals, those below nearly always exchange one word or figure; above,
clauses change."""

ENTITIES_LOST = 1.0
"""A counterfactual that drops this share of the headline's named entities has another subject. If
one is left, the others were often only mentioned in passing, or were no names."""

PERPLEXITY_RATIO = 8.0
"""A counterfactual more than this many times as surprising as its own headline may read badly. To
the embedded model, counterfactuals that read well reach 5 to 7 times (all of 24 of ours stay below,
median 0.75); of the same 24 with their words shuffled 38% lie above: it is a flag that finds a part
of what is garbled, not a verdict."""

# spaCy's labels of things with a name; the others are numbers, dates and languages.
_NAMED = frozenset(
    ("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW")
)
# Words that many names share, which do not identify anyone.
_COMMON = frozenset(
    (
        *("a", "an", "and", "at", "by", "for", "in", "of", "on", "the", "to", "with"),
        *("bank", "board", "central", "co", "company", "corp", "corporation", "economy", "federal"),
        *("fund", "group", "holdings", "inc", "international", "limited", "llc", "ltd", "market"),
        *("markets", "ministry", "national", "new", "plc", "stock", "stocks", "trust", "update"),
    )
)
_WORD = re.compile(r"[^\W_]+(?:[&.’'][^\W_]+)*")
# Where a headline ends and its source begins: "… - Example News", "… | Example".
_CREDIT = re.compile(r"\s[-–—|]\s(?:[^\s|]+\s?){1,4}\Z")
# A name has a capital letter that is not part of a quarter or a magnitude.
_NAME = re.compile(r"\b(?![QH][1-4]\b)[^\W\d_a-z]")


def classify_many(items: "pd.DataFrame") -> "pd.DataFrame":
    """Return the items frame with a column for each error class; each headline is parsed once.

    ``text`` is None or NaN if invalid; perplexities (of one model) are NaN if not scored. The added
    ``edit_distance`` is in characters over the longer length, 0 to 1, ignoring case and
    punctuation, and NaN if invalid. The classes are True, False, or None if they do not apply:
    ``fantastical_edit`` does not if the headline has no names or spaCy is not installed.
    """
    import pandas as pd

    headlines = list(dict.fromkeys(items["headline"]))
    if installed("spacy"):
        named = dict(zip(headlines, entities_many(headlines), strict=True))
    else:
        say_once("lost entities are not checked: that needs spaCy (pip install 'contrafact[nlp]')")
        named = {headline: [] for headline in headlines}
    classes = [
        _classes(headline, text, named[headline], ratio) if isinstance(text, str) else {}
        for headline, text, ratio in zip(
            items["headline"],
            items["text"],
            items["perplexity"] / items["headline_perplexity"],
            strict=True,
        )
    ]
    result = items.assign(edit_distance=[row.get("edit_distance", math.nan) for row in classes])
    for flag in ("similar_semantics", "fantastical_edit", "fluency_lapse", "numeric_prediction"):
        values = [row.get(flag) for row in classes]
        result[flag] = pd.Series(values, index=result.index, dtype=object)
    return result


def _classes(
    headline: str, text: str, named: Sequence[Entity], perplexity_ratio: float
) -> dict[str, Any]:
    distance = normalised_edit_distance(_plain(headline), _plain(text))
    lost = entities_lost(headline, named, text)
    return {
        "edit_distance": distance,
        "similar_semantics": distance <= SIMILAR_DISTANCE,
        "fantastical_edit": None if lost is None else lost >= ENTITIES_LOST,
        "fluency_lapse": None
        if math.isnan(perplexity_ratio)
        else perplexity_ratio > PERPLEXITY_RATIO,
        # "Thousands of jobs" names a size and predicts no number.
        "numeric_prediction": any(one.value is not None for one in new_quantities(headline, text)),
    }


def _plain(text: str) -> str:
    """Return a text in one case without punctuation, except signs that carry meaning."""
    return " ".join(re.findall(r"[\w%$€£¥₹+\-]+", text.casefold()))


def entities_lost(headline: str, named: Sequence[Entity], counterfactual: str) -> float | None:
    """Return the share of named entities that have no word left; None if there are no names."""
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
    """Return the words of a text in one case, without possessives and the points of "U.S."."""
    words = (re.sub(r"['’]s?$", "", word) for word in _WORD.findall(text.casefold()))
    return {word.replace(".", "") for word in words}
