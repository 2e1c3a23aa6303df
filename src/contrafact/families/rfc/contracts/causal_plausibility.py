"""The contract of causal distortion: the new cause has to do with the effect, and could have it.

RFC-BENCH, appendix R.4.
"""

import re
from collections.abc import Iterator
from functools import cache

from contrafact.families.rfc.contracts.assets import asset_keys, assets
from contrafact.families.rfc.contracts.chains import Chain, chains
from contrafact.families.rfc.contracts.directional_cues import directional_cues
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import groups, is_function_word, words
from contrafact.text.tokens import stem

__all__ = ["cause_related", "plausible"]

_ONLY_TIME = re.compile(r"(?:amid|after|following|since)", re.IGNORECASE)


@cache
def _business() -> frozenset[str]:
    """Return the stems of words that causes in financial news are made of."""
    known: set[str] = set(words("business")) | set(words("polar")) | set(words("burdens"))
    for name in ("metrics", "topics", "things", "meanings"):
        for members in groups(name).values():
            known |= members
    known |= {word for name in asset_keys() for word in name.split()}
    return frozenset(map(stem, known))


@rule(
    "cause-unrelated",
    about="consistency",
    paper="R.4",
    manipulations=("causal",),
    to_review="a new cause without a word of business, markets or weather",
)
def cause_related(pair: Pair) -> Iterator[Finding]:
    """The new cause has to do with the effect: a cause that no word of business, markets, policy or
    weather is in may be absurd.
    """
    for chain in chains(pair.rewritten):
        tokens = [pair.rewritten.tokens[i] for i in pair.rewritten.span_tokens(*chain.cause)]
        new = [
            t
            for t in tokens
            if t.is_word
            and not is_function_word(t.key)
            and pair.alignment.change_in_rewritten(pair.rewritten.span_tokens(t.start, t.end)[0])
        ]
        if not new or any(not t.is_word for t in tokens):
            continue
        parts = {stem(part) for t in new for part in (t.key, *t.key.split("-"))}
        if not parts & _business():
            yield review(
                "cause-unrelated",
                f"'{pair.rewritten.excerpt(chain.cause)}' may have nothing to do with the effect",
                None,
                chain.cause,
            )


_OF_WHAT_IS_OWN = r"(?!\sfor\s(?:foreign|dollars?|the\sdollar|imports?|safe|cash)\b)"
"""Demand for dollars is none for what a company or a country sells."""

_GOOD_FOR = re.compile(
    r"\b(?:strong(?:er)?|robust|solid|record|booming|surging|soaring|better-than-expected|stellar"
    r"|blockbuster|rising|higher|growing|brisk)\s"
    r"(?:\w+\s)?(?:demand|sales|earnings|profits?|results|orders|revenue|growth|bookings)\b"
    rf"{_OF_WHAT_IS_OWN}"
    r"|\b(?:upbeat|bright(?:er)?|rosy|positive|strong(?:er)?|raised)\s(?:\w+\s){0,2}(?:outlook|forecasts?|guidance)\b"
    r"|\b(?:demand|sales|orders|bookings)(?:\s\w+){0,3}?\s(?:surged|jumped|rose|grew|climbed"
    r"|strengthened|picked\sup|rebounded|soared)\b"
    r"|\b(?:jump|surge|rise|rebound|recovery|increase)\sin\s(?:\w+\s)?(?:demand|sales|orders|revenue"
    r"|bookings)\b",
    re.IGNORECASE,
)


_BAD_FOR = re.compile(
    r"\b(?:bleak|gloom(?:y|ier)|dismal|downbeat|disappointing|weak(?:er)?|cautious)\s(?:\w+\s){0,2}(?:outlook|forecasts?|guidance)\b"
    r"|\b(?:profit|earnings|sales)\swarnings?\b"
    r"|\b(?:slashed|cut|lowered|trimmed)\s(?:its|their|the)\s(?:\w+\s){0,2}(?:outlook|forecasts?|guidance)\b"
    r"|\b(?:weak(?:er|ening)?|slumping|falling|sluggish|disappointing|worse-than-expected"
    r"|collapsing|plunging|poor|lower|shrinking|slack|soft(?:er)?)\s"
    r"(?:\w+\s)?(?:demand|sales|earnings|profits?|results|orders|revenue|growth|bookings)\b"
    r"|\b(?:demand|sales|orders|bookings)(?:\s\w+){0,3}?\s(?:weakened|fell|dropped|slumped|shrank"
    r"|declined|slowed|dried\sup|tumbled)\b"
    r"|\b(?:collapse|slump|plunge|drop|fall|decline|slide|loss)\s(?:in|of)\s(?:\w+\s)?(?:demand|sales|orders"
    r"|revenue|bookings|customers)\b",
    re.IGNORECASE,
)


_SCARCE = re.compile(
    r"\b(?:shortages?|scarcity|drought|frost|dry\s(?:weather|spell)|cold(?:er)?\s(?:weather|spell|snap)"
    r"|heatwaves?|outages?|crop\sfailures?|cool\snights)\b"
    r"|\b(?:strong(?:er)?|robust|rising|higher|growing|revived|reviv\w+|surging|brisk|solid|firm(?:er)?"
    r"|buoyant|healthy)\s(?:\w+\s){0,2}(?:demand|buying|consumption|appetite|import\sdemand)\b"
    rf"{_OF_WHAT_IS_OWN}"
    r"|\b(?:tight(?:er)?|low(?:er)?|short|falling|dwindling|reduced|shrinking|scarce|limited)\s"
    r"(?:\w+\s){0,2}(?:supply|supplies|stocks|inventories|output|production|harvests?|crops?(?!\s(?:earnings|incomes?|prices|receipts))"
    r"|availability)\b"
    r"|\b(?:halving|drop|fall|decline|cut|cuts|loss|reduction)\s(?:of|in|to)\s(?:\w+\s){0,2}(?:supply"
    r"|supplies|stocks|inventories|output|production|harvests?|availability|capacity)\b",
    re.IGNORECASE,
)


_AMPLE = re.compile(
    r"\b(?:gluts?|oversupply|overproduction|bumper|surplus(?:es)?|good\srains|ample\srains?"
    r"|mild(?:er)?\s(?:weather|winter|temperatures))\b"
    r"|\b(?:weak(?:er|ening)?|sluggish|soft(?:er)?|falling|slack|tepid|feeble|lower|flagging)\s(?:\w+\s){0,2}"
    r"(?:demand|buying|consumption|appetite)\b"
    r"|\b(?:ample|abundant|plentiful|rising|higher|record|growing|large(?:r)?|swelling)\s(?:\w+\s){0,2}"
    r"(?:supply|supplies|stocks|inventories|output|production|harvests?|crops?|availability)\b",
    re.IGNORECASE,
)


_PLENTY = re.compile(
    r"\b(?:ample|abundant|plentiful|surplus|excess)\s(?:\w+\s){0,2}(?:supply|supplies|stocks|inventories|crops?)\b"
    r"|\b(?:glut|oversupply)\b",
    re.IGNORECASE,
)
_EASIER = re.compile(
    r"\b(?:falling|easing|cooling|slowing|lower|softer)\s(?:\w+\s)?(?:inflation|price\spressures)\b|\bdovish\b"
    r"|\b(?:cut|cuts|cutting|slash|slashes|slashed|lower|lowered)\s(?:\w+\s){0,2}(?:interest\s)?rates\b|\brate\scuts?\b",
    re.IGNORECASE,
)
_TIGHTER = re.compile(
    r"\b(?:rising|surging|hot|higher|soaring|quickening)\s(?:\w+\s)?(?:inflation|price\spressures)\b|\bhawkish\b"
    r"|\b(?:raise|raised|raises|raising|hike|hiked|hiking|lift|lifted)\s(?:\w+\s){0,2}(?:interest\s)?rates\b|\brate\shikes?\b",
    re.IGNORECASE,
)
_MONEY = re.compile(r"\b(?:yields?|rates|borrowing\scosts)\b", re.IGNORECASE)
_NOT_MONEY = re.compile(
    r"\b(?:exchange|unemployment|jobless|vacancy|growth|birth|default)\srates?\b", re.IGNORECASE
)


def _policy_signs(side: Side, chain: Chain) -> tuple[int, int] | None:
    """Return the signs of a cause that makes money dearer or cheaper and of rates and yields."""
    cause, effect = side.excerpt(chain.cause), side.excerpt(chain.effect)
    tighter, easier = bool(_TIGHTER.search(cause)), bool(_EASIER.search(cause))
    if tighter == easier or not _MONEY.search(effect) or _NOT_MONEY.search(effect):
        return None
    ways = _ways(effect)
    return (1 if tighter else -1, ways.pop()) if len(ways) == 1 else None


_UP = re.compile(r"\b(?:up|higher|rose|rise[sn]?|rising|climb\w*|jump\w*)\b", re.IGNORECASE)
_DOWN = re.compile(r"\b(?:down|lower|fell|falls?|falling|drop\w*|slid\w*)\b", re.IGNORECASE)


def _ways(effect: str) -> set[int]:
    """Return which ways the words of an effect go."""
    return {sign for sign, way in ((1, _UP), (-1, _DOWN)) if way.search(effect)}


_COMPANY = re.compile(
    r"\b(?:profits?|loss|revenue|margins?|earnings|income|costs?|exports?|imports?|output|production"
    r"|deliveries|volumes?|shares)\b",
    re.IGNORECASE,
)


_PRICED = re.compile(r"\b(?:prices?|premiums?|futures|rates)\b", re.IGNORECASE)


_OWN = re.compile(
    r"\b(?:shares?|stock|equities|profits?|sales|revenue|earnings|income|margins?|results|nikkei|sensex"
    r"|nasdaq|dow|ftse|kospi|s&p\s500)\b",
    re.IGNORECASE,
)


@rule("implausible-cause", about="consistency", paper="R.4", manipulations=("causal",))
def plausible(pair: Pair) -> Iterator[Finding]:
    """The new cause does not contradict common sense: no profit falls because demand is strong."""
    had = {_signs(pair.original, chain) for chain in chains(pair.original)}
    for chain in chains(pair.rewritten):
        marker = pair.rewritten.excerpt(chain.marker)
        if not chain.realised or (not chain.strong and _ONLY_TIME.match(marker)):
            continue
        signs = _signs(pair.rewritten, chain)
        if signs is not None and signs not in had and signs[0] != signs[1]:
            yield fail(
                "implausible-cause",
                f"'{pair.rewritten.excerpt(chain.cause)}' would have the opposite effect",
                None,
                chain.cause,
            )


def _signs(side: Side, chain: Chain) -> tuple[int, int] | None:
    """Return the signs of a cause and of its effect, where both are beyond doubt."""
    cause = side.excerpt(chain.cause)
    effect = side.excerpt(chain.effect)
    scarce, ample = bool(_SCARCE.search(cause)), bool(_AMPLE.search(cause))
    of_price = _PRICED.search(effect) or any(
        chain.effect[0] <= asset.start < chain.effect[1] for asset in assets(side)
    )
    if scarce != ample and of_price and not _COMPANY.search(effect):
        # What is scarce or sought is dear, what there is plenty of is cheap.
        moved = {
            cue.sign
            for cue in directional_cues(side)
            if chain.effect[0] <= cue.start < chain.effect[1] and cue.tier == "firm"
        } or _ways(effect)
        if len(moved) == 1:
            return (1 if scarce else -1, moved.pop())
    led_to = effect.split(",")[0]
    if scarce != ample and bool(_SCARCE.search(led_to)) != bool(_PLENTY.search(led_to)):
        return (1 if scarce else -1, 1 if _SCARCE.search(led_to) else -1)
    if (of_money := _policy_signs(side, chain)) is not None:
        return of_money
    good, bad = bool(_GOOD_FOR.search(cause)), bool(_BAD_FOR.search(cause))
    if good == bad or not _OWN.search(side.excerpt(chain.effect)):
        return None
    signs = {
        cue.sign
        for cue in directional_cues(side)
        if chain.effect[0] <= cue.start < chain.effect[1] and cue.tier == "firm"
    } or _ways(effect)
    return (1 if good else -1, signs.pop()) if len(signs) == 1 else None
