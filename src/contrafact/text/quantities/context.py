"""The quantities of a text, with what its sentences state about them.

A quantity is a level or a change, and may move up or down; two quantities may be the ends of a
range, or an old and a new value.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import NamedTuple

from contrafact.text.numerals import plain_digits
from contrafact.text.quantities.grammar import found_quantities
from contrafact.text.quantities.quantity import Direction, Quantity
from contrafact.text.quantities.roles import (
    Cue,
    cue_data,
    cues,
    expression,
    nearest_cue,
    outcome,
    role_and_unit,
)
from contrafact.text.tokens import alternation, folded, sentence_spans

__all__ = ["Movement", "movements", "new_quantities", "quantities"]

# Words of a sentence that are further apart, in characters, are unrelated.
_REACH = 90


@dataclass(frozen=True, slots=True)
class Movement:
    """A word of movement up or down; ``direction`` is None if the text denies the movement."""

    start: int
    end: int
    word: str
    direction: Direction | None
    is_noun: bool


class Statement(NamedTuple):
    """What a sentence states about a quantity.

    ``worded`` says whether it has words of movement for the quantity; ``leads``, whether they come
    before it, so that a following quantity may continue the movement.
    """

    direction: Direction | None
    is_level: bool
    worded: bool
    leads: bool = False


_DATA = cue_data()["movement"]
_NOUNS = frozenset((*_DATA["up"]["nouns"], *_DATA["down"]["nouns"]))
_UP = frozenset((*_DATA["up"]["verbs"], *_DATA["up"]["nouns"]))
_MOVING = re.compile(
    rf"\b(?:{alternation([*_UP, *_DATA['down']['verbs'], *_NOUNS])})\b", re.IGNORECASE
)
_VERBS_AFTER = frozenset(_DATA["after"])
_FILLERS = re.compile(
    rf"(?>(?:[\s(~]*(?:\b(?:{alternation(_DATA['fillers'])}|[a-z]+ly)\b)?)*)", re.IGNORECASE
)
_LEVELS = frozenset(_DATA["levels"])
_PREPOSITION = re.compile(rf"\b(?:{alternation([*_LEVELS, *_DATA['changes']])})\b", re.IGNORECASE)
_NEGATION = re.compile(
    rf"(?:\b(?:{alternation(_DATA['negations'])})\b(?!\sonly)|n['’]t\b)(?:\s[\w-]+){{0,2}}\s*\Z",
    re.IGNORECASE,
)
_PHRASAL = re.compile(rf"\b(?:{alternation(_DATA['phrasal'])})\s\Z", re.IGNORECASE)
_OTHER_SENSE_AFTER = re.compile(
    r"\s(?:payments?\b|time\b|side\b|to\sdate\b|the\sroad|for\sgrabs|and\srunning)", re.IGNORECASE
)
# "up to 5%" is a bound, unless it follows a verb of moving or being.
_BOUND = re.compile(r"\sto\s", re.IGNORECASE)
_MOVED = expression("movement", "moved")


def movements(text: str) -> list[Movement]:
    """Return the words of movement up or down in a text, in order."""
    moves = []
    for match in _MOVING.finditer(text):
        word = " ".join(re.split(r"[\s-]+", folded(match[0])))
        before = text[max(0, match.start() - 40) : match.start()]
        if _OTHER_SENSE_AFTER.match(text, match.end()):
            continue
        if word in ("up", "down"):
            if _PHRASAL.search(before):
                continue
            if word == "up" and _BOUND.match(text, match.end()) and not _MOVED.search(before):
                continue
        direction: Direction | None = "up" if word in _UP else "down"
        if _NEGATION.search(before):
            direction = None
        moves.append(Movement(match.start(), match.end(), word, direction, word in _NOUNS))
    return moves


_BETWEEN_AFTER = expression("movement", "between_after")
_OBJECT_STOP = expression("movement", "object_stop")
# "cut rates 25 bps": the noun is between verb and figure, without a preposition.
_BARE_OBJECT = expression("movement", "bare_object")
_OBJECT_END = re.compile(r"\b(?P<to>to|by|from|at|of|below|above)\b", re.IGNORECASE)
_RAISED_MONEY = re.compile(r"(?:rais|add)", re.IGNORECASE)


def moving(
    text: str, found: list[Quantity], moves: list[Movement], ends: list[int]
) -> list[Statement]:
    """Return what the sentences state about each quantity; ``ends`` are the sentences' ends."""
    by_sentence: dict[int, list[Movement]] = {}
    for move in moves:
        by_sentence.setdefault(bisect_right(ends, move.start), []).append(move)
    result: list[Statement] = []
    last_sentence, last = -1, -1
    for i, quantity in enumerate(found):
        sentence = bisect_right(ends, quantity.start)
        if sentence != last_sentence:
            last_sentence, last = sentence, -1
        inside = by_sentence.get(sentence, [])
        previous = found[last] if last >= 0 else None
        leading = _multiple(text, quantity) or _moved_before(text, quantity, inside, previous)
        moved = leading or _moved_after(text, quantity, inside)
        if moved is None and previous is not None:
            moved = leading = _chained(text, quantity, previous, result[last], inside)
        if moved is None:
            result.append(_by_itself(text, quantity))
        else:
            result.append(Statement(*moved, worded=True, leads=leading is not None))
        if quantity.kind != "duration":
            # A duration does not separate related quantities: "rose $5 in two years to $20".
            last = i
    return result


_LEVEL_BEFORE = re.compile(r"\b(?:at|to|from|below|above|is|was|were)\s\Z", re.IGNORECASE)


def _by_itself(text: str, quantity: Quantity) -> Statement:
    """Return what a quantity states without context: "-2.4%" is a fall, "25 bps" a change."""
    sign = quantity.form.sign if quantity.kind in ("money", "percent", "basis points") else ""
    if sign and not _LEVEL_BEFORE.search(text[max(0, quantity.start - 8) : quantity.start]):
        return Statement("up" if sign == "+" else "down", is_level=False, worded=False)
    return Statement(None, quantity.kind != "basis points", worded=False)


def _multiple(text: str, quantity: Quantity) -> tuple[Direction | None, bool] | None:
    if quantity.form.style != "multiple":
        return None
    if _NEGATION.search(text[max(0, quantity.start - 40) : quantity.start]):
        return None, False
    return ("down" if (quantity.value or 0) < 1 else "up"), False


_OWN = re.compile(r"\b(?:its|their|his|her|the)\s\Z", re.IGNORECASE)
_AT_LEAST = re.compile(r"\bat\s(?:least|most)\b", re.IGNORECASE)


def _level(gap: str) -> bool:
    """Return whether the last preposition in a gap introduces a level."""
    last = _last(_PREPOSITION, _AT_LEAST.sub("", gap))
    return last is not None and " ".join(re.split(r"[\s-]+", folded(last[0]))) in _LEVELS


def _moved_before(
    text: str, quantity: Quantity, moves: list[Movement], previous: Quantity | None
) -> tuple[Direction | None, bool] | None:
    if quantity.kind == "duration":
        return None
    for move in reversed(moves):
        if move.end > quantity.start or move.end < quantity.start - _REACH:
            continue
        gap = text[move.end : quantity.start]
        if _FILLERS.fullmatch(gap):
            return _moved_at_once(move, quantity, gap)
        if (previous is not None and previous.start >= move.end) or _OBJECT_STOP.search(gap):
            continue
        if _BARE_OBJECT.fullmatch(gap) and not move.is_noun and quantity.unit in ("%", "bps", "pp"):
            return move.direction, False
        ending = next(
            (e for e in _OBJECT_END.finditer(gap) if _FILLERS.fullmatch(gap, e.start())), None
        )
        if ending is None:
            continue
        of_noun = folded(ending["to"]) == "of"
        if of_noun and not re.match(r"\s(?:in|for|on)\s", gap):
            continue
        # "cut its growth forecast to 5%": the verb before the noun states the movement.
        governed = any(not m.is_noun and 0 < move.start - m.end < _REACH for m in moves)
        if not (move.is_noun and not of_noun and governed):
            return move.direction, _level(gap[ending.start() :])
    return None


def _moved_at_once(
    move: Movement, quantity: Quantity, gap: str
) -> tuple[Direction | None, bool] | None:
    """Return what a word of movement states about the quantity directly after it."""
    by_or_to = re.search(r"\b(?:by|(?<!up\s)to)\b", gap, re.IGNORECASE)
    if quantity.kind == "money" and _RAISED_MONEY.match(move.word) and not by_or_to:
        return None  # "raised $5 million" is not a rise
    if move.word in ("loss", "losses") and quantity.kind in ("money", "number"):
        return None
    return move.direction, _level(gap) or bool(_OWN.search(gap))


def _moved_after(
    text: str, quantity: Quantity, moves: list[Movement]
) -> tuple[Direction | None, bool] | None:
    if quantity.kind == "duration":
        return None
    for move in moves:
        if move.start < quantity.end:
            continue
        if not move.is_noun and move.word not in _VERBS_AFTER:
            return None
        if move.word in ("loss", "losses") and quantity.kind == "money":
            return None
        if not _BETWEEN_AFTER.fullmatch(text, quantity.end, move.start):
            return None
        return move.direction, False
    return None


_TO_OR_FROM = re.compile(r"\b(?:to|from)\s", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[;:—]")
_NEXT_TO = expression("movement", "next_to")
_COMPARED = re.compile(
    r"\b(?:compared|relative|owing|due|thanks|according|related)\s(?:to|from)", re.I
)


def _chained(
    text: str, quantity: Quantity, previous: Quantity, stated: Statement, moves: list[Movement]
) -> tuple[Direction | None, bool] | None:
    """Return the movement that a quantity shares with the one before: "rose 5% to $3bn"."""
    if not stated.leads or quantity.kind == "duration":
        return None
    if any(previous.end <= m.start < quantity.start for m in moves):
        return None
    gap = text[previous.end : quantity.start]
    if _COMPARED.search(gap):
        return None
    adjoining = _NEXT_TO.match(gap)
    if adjoining and _FILLERS.fullmatch(gap[adjoining.end() :]):
        level = stated.is_level and quantity.kind != "basis points"
        return stated.direction, level or _level(gap[adjoining.end() :])
    last = _last(_TO_OR_FROM, gap)
    if last is None or _CLAUSE_END.search(gap) or not _FILLERS.fullmatch(gap[last.start() :]):
        return None
    return stated.direction, True


def by_values(old: Quantity, new: Quantity) -> Direction | None:
    """Return the direction from an old level to a new one; None if unknown or equal."""
    if old.value is None or new.value is None or old.value == new.value:
        return None
    return "up" if new.value > old.value else "down"


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    matches = [*pattern.finditer(text)]
    return matches[-1] if matches else None


class Pair(NamedTuple):
    """The indices of two linked quantities; ``old`` is the old value of a from-to pair."""

    first: int
    second: int
    kind: str
    old: int | None


_FILL = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|just|over|under|more than|less than"
    r"|as (?:high|low|much) as|a|an|the|its|some|only|at least|[a-z]+ly|between)\s)*"
)
_FROM = re.compile(rf"\bfrom\s{_FILL}\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s(?:about\s|around\s)?\Z", re.IGNORECASE)
_RANGING = expression("movement", "ranging")
_WORDS = r"(?:[\s,]{1,4}(?!to\b|from\b)[^\s,;:.!?]{1,40}){0,8}?"
_TO_AFTER = re.compile(rf"{_WORDS},?\sto\s{_FILL}", re.IGNORECASE)
_FROM_AFTER = re.compile(rf"{_WORDS}[,(]?\s[,(]?(?:up\s|down\s)?from\s{_FILL}", re.IGNORECASE)
_VERSUS = re.compile(
    rf"{_WORDS},?\s\(?(?:compared\s(?:with|to)|versus|vs\.?|against)\s{_FILL}", re.IGNORECASE
)
_EARLIER = expression("movement", "earlier")
_ASIDE = re.compile(r",?\sor\s(?:about\s)?|\s\((?:or\s|about\s)*", re.IGNORECASE)
_DASH = re.compile(r"\s?[-–—]\s?|\sto\s(?:about\s|around\s)?")


def pairs(text: str, found: list[Quantity], ends: list[int], changed: set[int]) -> list[Pair]:
    """Return the pairs of a text's quantities; each quantity is in one pair at most.

    Args:
        changed: The indices of changes stated by a word of movement ("rose $5").
    """
    result: list[Pair] = []
    used: set[int] = set()
    for i, low in enumerate(found[:-1]):
        if i in used or low.kind == "duration":
            continue
        sentence = bisect_right(ends, low.start)
        first, end = (ends[sentence - 1] if sentence else 0), ends[sentence]
        # The next quantity, or the one after an aside: "$5 million, or 12 cents a share".
        aside = i + 2 < len(found) and _ASIDE.fullmatch(text, low.end, found[i + 1].start)
        for j in (i + 2, i + 1) if aside else (i + 1,):
            if found[j].kind != low.kind or found[j].end > end or j in used:
                continue
            pair = _pair(text, (first, end), found, i, j, i in changed)
            after_range = bool(result) and result[-1][1:3] == (i - 1, "range")
            if after_range and pair and pair.old == i:
                # "to $3.10–3.30 from $2.90 to $3.10" has two ranges.
                own = _FROM_AFTER.fullmatch(text, found[i - 1].end, low.start)
                pair = Pair(i, j, "range", None) if own else pair
            if pair:
                result.append(pair)
                used |= {i, j}
                break
    return result


def _pair(
    text: str, sentence: tuple[int, int], found: list[Quantity], i: int, j: int, changed: bool
) -> Pair | None:
    low, high = found[i], found[j]
    before = text[max(sentence[0], low.start - 60) : low.start]
    start = low.end if j == i + 1 else found[i + 1].end
    gap = text[start : high.start]
    between = folded(gap)
    if "to" in between and _TO_AFTER.fullmatch(gap):
        if _RANGING.search(before):
            return Pair(i, j, "range", None)
        if _FROM.search(before):
            return Pair(i, j, "from-to", i)
    # "beat estimates from 2% to 3%": the quantity after "from" has its own "to".
    own_to = j + 1 < len(found) and _DASH.fullmatch(text, high.end, found[j + 1].start)
    if "from" in between and _FROM_AFTER.fullmatch(gap) and not own_to:
        return Pair(i, j, "from-to", j)
    compared = any(word in between for word in ("compared", "versus", "vs", "against"))
    if compared and _VERSUS.fullmatch(gap) and _EARLIER.match(text[high.end : sentence[1]]):
        return Pair(i, j, "from-to", j)
    if j > i + 1:
        return None
    if between == " and " and _BETWEEN.search(before):
        return Pair(i, j, "range", None)
    if _DASH.fullmatch(gap):
        far = changed and low.value and high.value and high.value > 4 * low.value
        return None if far else Pair(i, j, "range", None)
    return None


# All of it

_GROWTH = re.compile(r"\b(?:growth|contraction|recession)\b", re.IGNORECASE)


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in order and without overlap.

    For each, ``text[q.start:q.end]`` is ``q.text``. Both ends of a range are quantities of the
    same kind: "3-5%" is 3 and 5 percent, "$1 to $2 billion" is one and two billion. Years,
    dates, hours, quarters, index names, ranks, forms, tenors of instruments and versions are
    `identifiers` instead.

    Raises:
        InputError: There are more than `contrafact.text.identifiers.MOST_FIGURES`.
    """
    written, text = text, plain_digits(text)
    found = found_quantities(text)
    if not found:
        return []
    ends = [end for _, end in sentence_spans(text)]
    stated = moving(text, found, movements(text), ends)
    changed = {i for i, s in enumerate(stated) if s.worded and not s.is_level}
    linked = pairs(text, found, ends, changed)
    result = [
        quantity
        if s.direction is None and s.is_level
        else replace(quantity, direction=s.direction, is_level=s.is_level)
        for quantity, s in zip(found, stated, strict=True)
    ]
    for pair in linked:
        _join(result, pair, stated)
    all_cues = cues(text)
    economy = any("gdp" in cue.groups for cue in all_cues)
    central_bank = any("central_bank" in cue.groups for cue in all_cues)
    cues_in: dict[int, list[Cue]] = {}  # by sentence
    for cue in all_cues:
        cues_in.setdefault(bisect_right(ends, cue.start), []).append(cue)
    quantities_in: dict[int, list[Quantity]] = {}
    for quantity in found:
        quantities_in.setdefault(bisect_right(ends, quantity.start), []).append(quantity)
    for i, quantity in enumerate(result):
        sentence = bisect_right(ends, quantity.start)
        first, end = (ends[sentence - 1] if sentence else 0), ends[sentence]
        nearest = nearest_cue(text, quantity, cues_in.get(sentence, []), quantities_in[sentence])
        role, unit = role_and_unit(text, quantity, nearest, central_bank=central_bank)
        if role == "percent" and economy and _GROWTH.search(text, first, end):
            role = "gdp"
        loss, estimate = outcome(text, quantity, first, end)
        result[i] = replace(quantity, role=role, unit=unit, is_loss=loss, is_estimate=estimate)
    for pair in linked:
        _share(result, pair)
    if written is not text:
        result = [replace(q, text=written[q.start : q.end]) for q in result]
    return result


def new_quantities(original: str, other: str) -> list[Quantity]:
    """Return the quantities of ``other`` that ``original`` does not state.

    Two quantities are the same if kind and value are equal, however written ("25 bps" and "a
    quarter point"); vague ones if kind and words are equal.
    """
    stated = {_key(quantity) for quantity in quantities(original)}
    return [quantity for quantity in quantities(other) if _key(quantity) not in stated]


def _join(result: list[Quantity], pair: Pair, stated: list[Statement]) -> None:
    """Link two quantities, and give both what the sentence states about one of them."""
    first, second = result[pair.first], result[pair.second]
    direction = first.direction or second.direction
    level = first.is_level if stated[pair.first].worded else second.is_level
    if pair.kind == "from-to":
        level = True
        denied = any(stated[i].worded for i in (pair.first, pair.second)) and direction is None
        if direction is None and not denied:
            old, new = (first, second) if pair.old == pair.first else (second, first)
            direction = by_values(old, new)
    for i, other in ((pair.first, pair.second), (pair.second, pair.first)):
        result[i] = replace(
            result[i],
            link=(pair.kind, other),
            direction=direction,
            is_level=level,
            is_old=pair.old == i,
        )


def _share(result: list[Quantity], pair: Pair) -> None:
    """Give both quantities of a pair one unit, and the more specific role."""
    first, second = result[pair.first], result[pair.second]
    plain = ("money", "percent", "number", "rate", "multiple")
    model = second if first.role in plain and second.role not in plain else first
    unit = first.unit or second.unit
    for i in (pair.first, pair.second):
        result[i] = replace(result[i], role=model.role, unit=unit)


def _key(quantity: Quantity) -> tuple[str, float | str]:
    if quantity.value is None:
        return quantity.kind, " ".join(quantity.text.casefold().split())
    return quantity.kind, quantity.value
