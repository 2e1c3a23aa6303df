"""The quantities of a text, with what its sentences say of them."""

import re
from bisect import bisect_right
from dataclasses import replace

from contrafact.text.numerals import plain_digits
from contrafact.text.quantities.grammar import found_quantities
from contrafact.text.quantities.movement import Pair, Statement, by_values, movements, moving, pairs
from contrafact.text.quantities.quantity import Quantity
from contrafact.text.quantities.roles import (
    Cue,
    cues,
    nearest_cue,
    outcome,
    role_and_unit,
)
from contrafact.text.tokens import sentence_spans

__all__ = ["new_quantities", "quantities"]

_GROWTH = re.compile(r"\b(?:growth|contraction|recession)\b", re.IGNORECASE)


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text, in order and without overlap.

    For each, ``text[q.start:q.end]`` is ``q.text``. Both ends of a range are quantities of the
    range's kind: "3-5%" is 3 and 5 percent, "$1 to $2 billion" is one and two billion. Years,
    dates, hours, quarters, index names, ranks, forms, tenors of instruments and versions are not
    returned; see `identifiers`.

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
    found_cues = cues(text)
    economy = any("gdp" in cue.groups for cue in found_cues)
    central_bank = any("central_bank" in cue.groups for cue in found_cues)
    by_sentence: dict[int, list[Cue]] = {}
    for found_cue in found_cues:
        by_sentence.setdefault(bisect_right(ends, found_cue.start), []).append(found_cue)
    quantities_of: dict[int, list[Quantity]] = {}
    for quantity in found:
        quantities_of.setdefault(bisect_right(ends, quantity.start), []).append(quantity)
    for i, quantity in enumerate(result):
        sentence = bisect_right(ends, quantity.start)
        first, end = (ends[sentence - 1] if sentence else 0), ends[sentence]
        near = by_sentence.get(sentence, [])
        others = quantities_of[sentence]
        cue = nearest_cue(text, quantity, near, others)
        role, unit = role_and_unit(text, quantity, cue, central_bank=central_bank)
        if role == "percent" and economy and _GROWTH.search(text, first, end):
            role = "gdp"
        is_loss, is_estimate = outcome(text, quantity, first, end)
        result[i] = replace(
            quantity,
            role=role,
            unit=unit,
            is_loss=is_loss,
            is_estimate=is_estimate,
        )
    for pair in linked:
        _share(result, pair)
    if written is not text:
        result = [replace(q, text=written[q.start : q.end]) for q in result]
    return result


def new_quantities(original: str, other: str) -> list[Quantity]:
    """Return the quantities of ``other`` that ``original`` does not state.

    Two quantities are the same when kind and value agree, however they are written ("25 bps" and
    "a quarter point"); vague ones when kind and words agree.
    """
    known = {_key(quantity) for quantity in quantities(original)}
    return [quantity for quantity in quantities(other) if _key(quantity) not in known]


def _join(result: list[Quantity], pair: Pair, stated: list[Statement]) -> None:
    """Link two quantities, and give both what one of them has from the words around."""
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
    """Give the ends of a pair one unit, and the role of the more particular one."""
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
