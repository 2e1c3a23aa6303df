"""Numerical perturbation by rule: every quantity changed, nothing else (RFC-BENCH, S.2).

Equal quantities get equal values and the quantities of one unit one common factor, so that order,
sums and differences survive; percentages get a factor of their own, and what follows from them is
worked out anew. The result is read back as text and kept only if every quantity changed within its
range and every relation still holds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import (
    NoRewrite,
    RuleRewrite,
    apply,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.ranges import Strength, candidates, changeable, fits
from contrafact.families.rfc.pipeline.rules.relations import Relation, holds, relations, solved
from contrafact.records import Edit
from contrafact.text.quantities import Quantity, quantities, render

__all__ = ["rewrite_numerical"]

_DRAWS = 60
_PERIOD = re.compile(r"\b(?:month(?:ly)?|m/m|MoM|quarter(?:ly)?|q/q|QoQ)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"[.!?…]+[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9$€£¥])|\n+|\s+[-–—|]\s+(?=[A-Z])"
)


@dataclass(frozen=True)
class _Problem:
    """The quantities of a text and what ties them together."""

    text: str
    found: list[Quantity]
    related: list[Relation]
    monthly: list[bool]

    def free(self) -> list[int]:
        return [i for i, quantity in enumerate(self.found) if changeable(quantity)]


def rewrite_numerical(text: str, rng: np.random.Generator) -> RuleRewrite | NoRewrite:
    """Return the text with every quantity changed, or why that cannot be done.

    Args:
        text: A paragraph.
        rng: Where all choices come from.
    """
    problem = _problem(text)
    free = problem.free()
    if not free:
        return NoRewrite("states no quantity that could be changed")
    vague = next((q for q in problem.found if q.value is None), None)
    if vague is not None:
        return NoRewrite(f"'{vague.text}' names no value that could be changed")
    strengths: tuple[Strength, ...] = ("stronger", "weaker")
    if rng.random() < 0.4:
        strengths = ("weaker", "stronger")
    reason = ""
    for strength in strengths:
        for _ in range(_DRAWS):
            edits = _edits(problem, free, _draw(problem, free, strength, rng))
            rewritten = apply(text, edits)
            reason = _fault(problem, free, rewritten)
            if not reason:
                return RuleRewrite(rewritten, edits)
    return NoRewrite(f"no values were found that keep to the ranges: {reason}")


def _problem(text: str) -> _Problem:
    found = quantities(text)
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    sentences = [sum(end <= quantity.start for end in ends) for quantity in found]
    bounds = [0, *ends, len(text)]
    monthly = [bool(_PERIOD.search(text, bounds[n], bounds[n + 1])) for n in sentences]
    return _Problem(text, found, relations(found, sentences), monthly)


def _draw(
    problem: _Problem, free: Sequence[int], strength: Strength, rng: np.random.Generator
) -> list[float]:
    """Return a value for every quantity, equal where the old ones are."""
    factors: dict[str, float] = {}
    values = [quantity.value or 0.0 for quantity in problem.found]
    chosen: dict[tuple[str, str | None, float, bool], float] = {}
    for i in free:
        quantity = problem.found[i]
        family = (
            "percent"
            if quantity.kind in ("percent", "basis points")
            else (f"{quantity.kind} {quantity.unit}")
        )
        if family not in factors:
            span = (1.5, 1.95) if strength == "stronger" else (0.22, 0.48)
            factors[family] = float(rng.uniform(*span))
        size = abs(values[i])
        key = (quantity.kind, quantity.unit, round(size, 9), quantity.role == "policy rate")
        if key not in chosen:
            new = abs(candidates(quantity, strength, factors[family]))
            chosen[key] = _natural(quantity, size, new, rng)
        values[i] = chosen[key] if values[i] > 0 else -chosen[key]
    solved(problem.related, values, problem.found)
    return values


def _natural(quantity: Quantity, old: float, new: float, rng: np.random.Generator) -> float:
    """Return the value, rounded to about as many figures as the old one has.

    "500,000" becomes 820,000 and not 823,417; "13.4%" becomes 21.6%.
    """
    if quantity.role == "policy rate" or not new:
        return new
    factor = abs(quantity.form.factor) or 1.0
    digits = re.sub(r"\D", "", quantity.form.number).strip("0") or "1"
    # A quarter of the round numbers stay as round as they were.
    figures = max(len(digits), 2 if rng.random() < 0.75 else 1)
    shown, was = new / factor, old / factor
    if quantity.form.style == "words":
        whole = float(round(shown))
        return (whole if whole and whole != was else shown) * factor
    places = figures - 1 - floor(log10(abs(shown)))
    rounded = round(shown, places)
    # Halves of large steps (0.5, 50) read as naturally as tens.
    return (rounded if rounded and rounded != was else shown) * factor


def _edits(problem: _Problem, free: Sequence[int], values: Sequence[float]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for i in free:
        quantity = problem.found[i]
        after = render(quantity, values[i])
        why = f"another value of the {quantity.role}"
        edits.append(replace_at(problem.text, quantity.start, quantity.end, after, why))
    return with_articles(problem.text, compose(edits))


def _fault(problem: _Problem, free: Sequence[int], rewritten: str) -> str:
    """Return what is wrong with a rewrite, read back from its text; empty if nothing is."""
    back = quantities(rewritten)
    old = problem.found
    if [q.kind for q in back] != [q.kind for q in old]:
        return "the new figures do not read as the old ones do"
    values = [quantity.value or 0.0 for quantity in back]
    for i in free:
        if not fits(old[i], values[i], monthly=problem.monthly[i]):
            return f"'{old[i].text}' finds no value in its range"
    for i in free:
        for j in free:
            if _ordered(old[i], old[j]) and _sign(old, i, j) != _sign(back, i, j):
                return f"'{old[i].text}' and '{old[j].text}' change places"
    for relation in problem.related:
        if not holds(relation, values, back):
            a, b, c = (old[i].text for i in relation.parts)
            return f"'{a}', '{b}' and '{c}' no longer agree"
    return ""


def _ordered(one: Quantity, two: Quantity) -> bool:
    """Return whether two quantities measure alike, so that their order is a statement."""
    return (one.kind, one.unit, one.role, one.is_level) == (
        two.kind,
        two.unit,
        two.role,
        two.is_level,
    )


def _sign(found: Sequence[Quantity], i: int, j: int) -> int:
    difference = (found[i].value or 0.0) - (found[j].value or 0.0)
    return (difference > 1e-9) - (difference < -1e-9)
