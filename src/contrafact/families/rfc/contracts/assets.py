"""Currencies, metals, commodities, crypto-assets and indices: entities even without capitals.

RFC-BENCH, appendices Q.1, 2 and R.1–R.4: entities stay. Companies, people, places and tickers have
capitals (``names``); "the euro" and "copper" have none, and are entities all the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.families.rfc.contracts.rules import Finding, review, rule
from contrafact.families.rfc.contracts.vocabulary import expression, groups
from contrafact.text.tokens import alternation


@dataclass(frozen=True, slots=True)
class Asset:
    start: int
    end: int
    text: str
    key: str


# Words that name an asset only after certain words, which the pattern matches.
_ONLY_AFTER = {
    "won": re.compile(r"(?:\bthe|korean|korea['’]s|against the)\s\Z", re.IGNORECASE),
    "crown": re.compile(r"(?:\bthe|czech|danish|swedish|norwegian|['’]s)\s\Z", re.IGNORECASE),
    "kiwi": re.compile(r"\bthe\s\Z", re.IGNORECASE),
    "aussie": re.compile(r"\bthe\s\Z", re.IGNORECASE),
    "ripple": re.compile(r"\b(?:the|token)\s\Z", re.IGNORECASE),
}
# Words that name no asset after certain words ("per pound", "olive oil").
_NEVER_AFTER = {
    "pound": re.compile(r"(?:\ba|\bper|\bcents?|[\d/-])\s?\Z", re.IGNORECASE),
    "oil": re.compile(r"\b(?:palm|olive|cooking|edible|vegetable|sunflower)\s\Z", re.IGNORECASE),
    "dollar": re.compile(r"\b(?:per|half|billion|million|multi|a)[\s-]\Z", re.IGNORECASE),
}
_NEVER_BEFORE = expression("assets", "never_before")


_OILS = {"oil", "Brent", "WTI"}  # a text on Brent may say "oil"; names tell Brent from WTI


@cache
def _keys() -> dict[str, str]:
    return {name: key for key, names in groups("assets").items() for name in names}


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w&])(?<![a-z]-)(?:{alternation(_keys())})(?![\w&])")


@read_once
def assets(side: Side) -> list[Asset]:
    """Return the assets that a text names, in order; a figure's currency is part of the figure."""
    named: list[Asset] = []
    taken = [(q.start, q.end) for q in side.quantities]
    for match in _pattern().finditer(side.text.lower()):
        start, end = match.span()
        name = re.sub(r"[\s-]+", " ", match[0])
        before, after = side.text[max(0, start - 24) : start], side.text[end : end + 16]
        needs, bars = _ONLY_AFTER.get(name), _NEVER_AFTER.get(name)
        if (needs and not needs.search(before)) or (bars and bars.search(before)):
            continue
        if _NEVER_BEFORE.match(after) or any(s < end and start < e for s, e in taken):
            continue
        named.append(Asset(start, end, side.text[start:end], _keys()[name]))
    return named


@rule(
    "entity-changed",
    "entity-added",
    "entity-lost",
    about="names",
    paper="Q.1, 2; R.1–R.4",
    to_review="an asset only left out or, except in numerical perturbation, only new; in causal "
    "distortion, an asset that may belong to the cause",
)
def assets_kept(pair: Pair) -> Iterator[Finding]:
    """Currencies, metals, commodities, crypto-assets and indices stay the same, and no new one is
    named: a euro does not replace a pound, with or without capitals.
    """
    had, has = ({a.key for a in assets(side)} for side in (pair.original, pair.rewritten))
    causal = pair.manipulation == "causal"  # the new cause may be of "oil", the old one of "gas"
    lost: list[Asset] = []
    for asset in assets(pair.original):
        if asset.key not in has and _is_absent(pair.rewritten, asset):
            lost.append(asset)
            has.add(asset.key)
    for asset in assets(pair.rewritten):
        of_kin = asset.key in _OILS and had & _OILS
        if asset.key in had or of_kin or not _is_absent(pair.original, asset):
            continue
        old = _swapped(pair, asset, lost)
        span = (asset.start, asset.end)
        if old is not None:
            lost.remove(old)
            message = f"'{old.text}' became '{asset.text}'"
            lenient = pair.goes_with_cause(old.start, old.end)
            yield Finding("entity-changed", message, (old.start, old.end), span, lenient)
        else:
            message = f"'{asset.text}' is new"
            yield Finding("entity-added", message, None, span, pair.manipulation != "numerical")
    for asset in () if causal else lost:
        message = f"'{asset.text}' is in the original and not in the rewrite"
        yield review("entity-lost", message, (asset.start, asset.end))


def _swapped(pair: Pair, asset: Asset, lost: list[Asset]) -> Asset | None:
    change = pair.alignment.change_in_rewritten(
        pair.rewritten.span_tokens(asset.start, asset.end)[0]
    )
    span = None if change is None else pair.spans(change)[0]
    return next((one for one in lost if span and span[0] <= one.start < span[1]), None)


def _is_absent(side: Side, asset: Asset) -> bool:
    """Return whether no word of a text begins with the asset's name, as "oilfield" with "oil"."""
    return not re.search(rf"\b{re.escape(asset.text)}", side.text, re.IGNORECASE)
