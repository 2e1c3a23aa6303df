"""What the words around a quantity say of it."""

import re
from bisect import bisect_right
from dataclasses import replace

from contrafact.text.quantities.movement import Said, by_values, movements, moving
from contrafact.text.quantities.outcome import outcome
from contrafact.text.quantities.pairs import Pair, pairs
from contrafact.text.quantities.quantity import Quantity
from contrafact.text.quantities.roles import Cue, cues, nearest_cue, role_and_unit, scenario
from contrafact.text.quantities.sentences import sentence_ends

__all__ = ["in_context"]

_GROWTH = re.compile(r"\b(?:growth|contraction|recession)\b", re.IGNORECASE)


def in_context(text: str, found: list[Quantity]) -> list[Quantity]:
    """Return the quantities with role, direction, scenario, links and outcome."""
    if not found:
        return []
    ends = sentence_ends(text)
    said = moving(text, found, movements(text), ends)
    changed = {i for i, s in enumerate(said) if s.worded and not s.is_level}
    linked = pairs(text, found, ends, changed)
    result = [
        replace(quantity, direction=s.direction, is_level=s.is_level)
        for quantity, s in zip(found, said, strict=True)
    ]
    for pair in linked:
        _join(result, pair, said)
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
        is_loss, is_estimate, expectation = outcome(text, quantity, first, end)
        result[i] = replace(
            quantity,
            role=role,
            unit=unit,
            scenario=scenario(role, cue, near),
            is_loss=is_loss,
            is_estimate=is_estimate,
            expectation=expectation,
        )
    for pair in linked:
        _share(result, pair)
    return result


def _join(result: list[Quantity], pair: Pair, said: list[Said]) -> None:
    """Link two quantities, and give both what one of them has from the words around."""
    first, second = result[pair.first], result[pair.second]
    direction = first.direction or second.direction
    level = first.is_level if said[pair.first].worded else second.is_level
    if pair.kind == "from-to":
        level = True
        denied = any(said[i].worded for i in (pair.first, pair.second)) and direction is None
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
    """Give the ends of a pair one role, scenario and unit: the first's, if it is a telling one."""
    first, second = result[pair.first], result[pair.second]
    plain = ("money", "percent", "number", "rate", "multiple")
    model = second if first.role in plain and second.role not in plain else first
    unit = first.unit or second.unit
    for i in (pair.first, pair.second):
        result[i] = replace(result[i], role=model.role, scenario=model.scenario, unit=unit)
