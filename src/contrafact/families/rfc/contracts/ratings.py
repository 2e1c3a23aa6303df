"""What analysts call a stock: upgraded to Buy from Hold, reiterated at Sell."""

import re
from dataclasses import dataclass

from contrafact.families.rfc.contracts.pair import Side

__all__ = ["RatingCall", "is_rating", "rating_calls", "rating_names"]

_RANKS = {
    "strong buy": 2,
    "conviction buy": 2,
    "buy": 1,
    "outperform": 1,
    "overweight": 1,
    "accumulate": 1,
    "sector outperform": 1,
    "market outperform": 1,
    "hold": 0,
    "neutral": 0,
    "equal weight": 0,
    "market perform": 0,
    "sector perform": 0,
    "peer perform": 0,
    "in line": 0,
    "sell": -1,
    "underperform": -1,
    "underweight": -1,
    "reduce": -1,
    "sector underperform": -1,
    "market underperform": -1,
    "strong sell": -2,
}
_NAMES = "|".join(sorted((name.replace(" ", r"[\s-]") for name in _RANKS), key=len, reverse=True))
_TITLED = "|".join(
    sorted((name.title().replace(" ", r"[\s-]") for name in _RANKS), key=len, reverse=True)
)
_QUOTE = r"[\"'“”‘’]?"
_ACTION = (
    r"\b(?P<action>upgrad\w+|downgrad\w+|rais\w+|lift\w+|boost\w+|cut|cuts|cutting|lower\w*"
    r"|slip\w*|f[ae]ll(?:s|en)?|drop\w*|sank|sinks?|rose|ris(?:es|en|ing)|climb\w*|improv\w*"
    r"|advanc\w*|mov\w+)\b"
)
_GAP = r"(?P<gap>[^.;]{0,90}?)"
_MOVE = re.compile(
    rf"{_ACTION}{_GAP}\bto\s(?:an?\s)?{_QUOTE}(?P<to>{_NAMES})\b{_QUOTE}(?:\srating)?"
    rf"(?:\s(?:rating\s)?from\s(?:an?\s)?{_QUOTE}(?P<was>{_NAMES})\b)?"
    rf"|{_ACTION.replace('action', 'action2')}{_GAP.replace('gap', 'gap2')}"
    rf"\bfrom\s(?:an?\s)?{_QUOTE}"
    rf"(?P<was2>{_NAMES})\b{_QUOTE}\sto\s(?:an?\s)?{_QUOTE}(?P<to2>{_NAMES})\b",
    re.IGNORECASE,
)
_STAND = re.compile(
    rf"\b(?:reiterat\w+|maintain\w*|reaffirm\w*|kept|keep\w*|initiat\w+|assign\w*|start\w*|resum\w+"
    rf"|rat(?:es|ed|ing)|has|have|with|carries|repeat\w*|gives?|gave)\b[^.;]{{0,60}}?\b(?:an?|its"
    rf"|their|at|the|of|with)\s"
    rf"{_QUOTE}(?P<to>(?-i:{_TITLED}|STRONG BUY|BUY|SELL))\b{_QUOTE}",
    re.IGNORECASE,
)
_UP = ("upgrad", "rais", "lift", "boost", "rose", "ris", "climb", "improv", "advanc")
_DOWN = ("downgrad", "cut", "lower", "slip", "fell", "fall", "drop", "sank", "sink")


@dataclass(frozen=True, slots=True)
class RatingCall:
    """One call of an analyst.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The words.
        direction: +1 for an upgrade, -1 for a downgrade, 0 where the rating stands.
        rank: The rating, from -2 (strong sell) to 2 (strong buy).
        was: The rating before, if it is named.
    """

    start: int
    end: int
    text: str
    direction: int
    rank: int | None
    was: int | None

    @property
    def contradiction(self) -> bool:
        """Whether an upgrade leads down, or a downgrade up."""
        if not self.direction or self.rank is None:
            return False
        if self.was is not None:
            return (self.rank - self.was) * self.direction <= 0
        return self.rank * self.direction < 0


_NAME = re.compile(rf"\b(?:{_TITLED})\b")
_CALLED = re.compile(r"(?:[a-z,\"'“‘]|\d%?)\s?[\"'“‘(]?\Z")


def rating_names(side: Side) -> list[tuple[int, int, int]]:
    """Return the ratings that plain sentences name, capitalised: start, end and rank, in order."""
    return [
        (match.start(), match.end(), rank)
        for match in _NAME.finditer(side.text)
        if not side.sentence_of(match.start()).titled
        and _CALLED.search(side.text[: match.start()])
        and (rank := _rank(match[0])) is not None
    ]


def rating_calls(side: Side) -> list[RatingCall]:
    """Return the ratings that a text reports, in order."""
    found: list[RatingCall] = []
    for match in _MOVE.finditer(side.text):
        action = (match["action"] or match["action2"]).casefold()
        name = match["to"] or match["to2"]
        if not _capital(name):
            continue
        direction = 1 if action.startswith(_UP) else -1 if action.startswith(_DOWN) else 0
        found.append(
            RatingCall(
                match.start(),
                match.end(),
                match[0],
                direction,
                _rank(name),
                _rank(match["was"] or match["was2"]),
            )
        )
    for match in _STAND.finditer(side.text):
        if not any(call.start <= match.start("to") < call.end for call in found):
            found.append(RatingCall(*match.span(), match[0], 0, _rank(match["to"]), None))
    return sorted(found, key=lambda call: call.start)


def is_rating(words: str) -> bool:
    """Whether words are the name of a rating, such as "Strong Buy"."""
    return _rank(words.removesuffix(" rating")) is not None


def _capital(name: str) -> bool:
    return name[0].isupper() or _rank(name) != 0


def _rank(name: str | None) -> int | None:
    return None if name is None else _RANKS.get(name.casefold().replace("-", " "))
