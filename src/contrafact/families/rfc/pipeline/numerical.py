"""Numerical perturbation by rule: every quantity changed, nothing else (RFC-BENCH, S.2).

Equal quantities get equal values and the quantities of one unit share a factor, so that order, sums
and differences survive; percentages have a factor of their own, and the values that follow from
them are recomputed. The result is read back as text and kept only if every quantity changed within
its range and every relation still holds.

The rules choose inside the published ranges (points 4, 6 and 7): an increase becomes 1.5 to 2 times
as large, or less than half as large; they do not go to the limits that the paper calls "about".
Related numbers move consistently (point 8).
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import floor, log10
from typing import Literal

import numpy as np

from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.families.rfc.pipeline.edits import (
    RewriteOutcome,
    apply,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.records import Edit
from contrafact.text.quantities import Quantity, quantities, render, written_value
from contrafact.text.tokens import sentence_spans

_Strength = Literal["stronger", "weaker"]

_MARKUP = re.compile(r"</?[a-z][^>]{0,200}>", re.IGNORECASE)
_DRAWS = 60
_PERIOD = re.compile(r"\b(?:month(?:ly)?|m/m|MoM|quarter(?:ly)?|q/q|QoQ)\b", re.IGNORECASE)
# Published upper bounds of declines: under 40% to 60%, under 60% to 90%, else to 100%.
_DECLINE_TOPS = ((40.0, 60.0), (60.0, 90.0))
_BOUNDED = frozenset({"share", "utilisation", "engagement"})
# Macro-economic figures move in narrow bands (S.2, point 7).
_MACRO_TOP = {"inflation": 30.0, "unemployment": 25.0, "gdp": 20.0}
_MACRO_TOP_MONTH = {"inflation": 3.0, "gdp": 10.0}
_LEAST_UNEMPLOYMENT = 3.0  # per cent (ours)
# Speakers, whom a text counts but does not name one by one.
_SPEAKING = re.compile(r"\s(?:sources|people|analysts|economists|traders)\b")
# Words that compare, and figures that are names: "'618' shopping event".
_COMPARING = expression("rewriting", "comparing")
# One of something, which another number would make plural: "1 plant", "1 percentage point".
_ONE = re.compile(
    r"(?<![\d.,])1\s(?!(?:per|percent|pct|[mbtr]+illion|thousand|and|for|from|than|versus)\b)"
    r"(?:percentage\s|basis\s)?[a-z]{3,}"
)
_ROUND = re.compile(r"\.\d*0\Z")
_POLICY_MOVE = 1.0  # percentage points
_POLICY_STEPS = (0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class _Relation:
    """An arithmetic relation of three quantities, the ``parts``, by their indexes.

    Attributes:
        kind: ``growth``: the third part is the percentage by which the first level moves to the
            second; ``move``: it is the percentage of a change, the first part, that leads to the
            second; ``difference``: the two levels are the third part apart; ``share``: the first
            level is the third part, a percentage, of the second.
        sign: +1 if the first level grows, -1 if it shrinks.
    """

    kind: Literal["growth", "move", "difference", "share"]
    parts: tuple[int, int, int]
    sign: int


@dataclass(frozen=True)
class _Problem:
    text: str
    found: list[Quantity]
    related: list[_Relation]
    monthly: list[bool]
    free: list[int]
    """Indices of quantities that may change: not durations, nor vague words without a value."""


def rewrite_numerical(text: str, seed: int) -> RewriteOutcome:
    """Return the text with every quantity changed, or why that cannot be done."""
    rng, problem = np.random.default_rng(seed), _problem(text)
    if why := _why_not(problem):
        return RewriteOutcome(reason=why)
    strengths: tuple[_Strength, ...] = ("stronger", "weaker")
    if rng.random() < 0.4:
        strengths = ("weaker", "stronger")
    reason = ""
    for strength in strengths:
        for _ in range(_DRAWS):
            values = _draw(problem, strength, rng)
            written = [written_value(*one) for one in zip(problem.found, values, strict=True)]
            in_digits = [i for i in problem.free if written[i] is not None]
            reason = _value_fault(problem, in_digits, [value or 0.0 for value in written])
            if reason:
                continue
            edits = _edits(problem, values)
            rewritten = apply(text, edits)
            reason = _fault(problem, rewritten)
            if not reason:
                return RewriteOutcome(rewritten, edits)
    return RewriteOutcome(reason=f"no values were found that keep to the ranges: {reason}")


def _why_not(problem: _Problem) -> str:
    """Return why a text cannot be rewritten, whatever values are drawn; empty if it can."""
    text, figures = problem.text, problem.found
    if _MARKUP.search(text):
        return "contains markup, so it is not a plain paragraph"
    if not problem.free:
        return "has no quantity that could be changed"
    for quantity in figures:
        if quantity.value is None:
            return f"'{quantity.text}' has no value that could be changed"
    if compared := _COMPARING.search(text):
        return f"'{compared[0]}' compares, counts or names what new figures must match"
    for quantity in figures:
        in_words = quantity.kind == "number" and quantity.form.style == "words"
        if in_words and not _SPEAKING.match(text, quantity.end):
            return f"'{quantity.text}' may count things that the text names one by one"
    if one := _one(text, figures):
        return f"'{one}' is singular, and another number would need a plural"
    return ""


def _problem(text: str) -> _Problem:
    found, spans = quantities(text), sentence_spans(text, dashes=True)
    ends = [end for _, end in spans]
    sentences = [bisect_right(ends, quantity.start) for quantity in found]
    monthly = [bool(_PERIOD.search(text, *spans[number])) for number in sentences]
    free = [i for i, q in enumerate(found) if q.kind != "duration" and q.value]
    return _Problem(text, found, _relations(found, sentences), monthly, free)


def _draw(problem: _Problem, strength: _Strength, rng: np.random.Generator) -> list[float]:
    factors: dict[str, float] = {}
    values = [quantity.value or 0.0 for quantity in problem.found]
    chosen: dict[tuple[str, str | None, float, bool], float] = {}
    for i in problem.free:
        quantity = problem.found[i]
        rate = quantity.kind in ("percent", "basis points")
        family = "percent" if rate else f"{quantity.kind} {quantity.unit}"
        if family not in factors:
            span = (1.5, 1.95) if strength == "stronger" else (0.22, 0.48)
            factors[family] = float(rng.uniform(*span))
        size = abs(values[i])
        key = (quantity.kind, quantity.unit, round(size, 9), quantity.role == "policy rate")
        if key not in chosen:
            new = _candidate(quantity, strength, factors[family])
            chosen[key] = _natural(quantity, size, new, rng)
        values[i] = chosen[key] if values[i] > 0 else -chosen[key]
    _solved(problem.related, values, problem.found)
    return values


def _natural(quantity: Quantity, old: float, new: float, rng: np.random.Generator) -> float:
    """Return a value about as round as the old one: "500,000" becomes 820,000, not 823,417."""
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


def _edits(problem: _Problem, values: Sequence[float]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for i in problem.free:
        quantity = problem.found[i]
        after = render(quantity, values[i])
        why = f"another value of the {quantity.role}"
        edits.append(replace_at(problem.text, quantity.start, quantity.end, after, why))
    return with_articles(problem.text, compose(edits))


def _value_fault(problem: _Problem, free: Sequence[int], values: Sequence[float]) -> str:
    """Return what is wrong with the range or the order of the new values; empty if nothing is."""
    old = problem.found
    for i in free:
        if not _fits(old[i], values[i], monthly=problem.monthly[i]):
            return f"no value was found for '{old[i].text}' in its range"
    # Quantities of the same measure keep their order, which the text may state.
    for group in _groups((q.kind, q.unit, q.role, q.is_level) for q in (old[i] for i in free)):
        inside = sorted((free[at] for at in group), key=lambda i: old[i].value or 0.0)
        for i, j in pairwise(inside):
            was = _sign(old[i].value or 0.0, old[j].value or 0.0)
            if was != _sign(values[i], values[j]):
                return f"'{old[min(i, j)].text}' and '{old[max(i, j)].text}' change places"
    for group in _groups((old[i].kind, old[i].unit, values[i]) for i in free):
        for i, j in pairwise(free[at] for at in group):
            if old[i].value != old[j].value:
                return f"'{old[i].text}' and '{old[j].text}' would become equal"
    return ""


def _groups(keys: Iterable[Hashable]) -> Iterable[list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        found[key].append(place)
    return found.values()


def _one(text: str, figures: Sequence[Quantity]) -> str:
    """Return the words of a quantity that counts one thing ("1 plant"); empty if there is none."""
    starts = {quantity.start for quantity in figures}
    return next((one[0] for one in _ONE.finditer(text) if one.start() in starts), "")


def _fault(problem: _Problem, rewritten: str) -> str:
    """Return what is wrong with a rewrite, read back from its text; empty if nothing is."""
    back, old = quantities(rewritten), problem.found
    if [q.kind for q in back] != [q.kind for q in old]:
        return "the new figures are read as other kinds of quantity than the old ones"
    values = [quantity.value or 0.0 for quantity in back]
    if reason := _value_fault(problem, problem.free, values):
        return reason
    for i in problem.free:
        if reason := _unlikely(old[i], back[i]):
            return reason
    if one := _one(rewritten, back):
        return f"'{one}' would have a plural number"
    for relation in problem.related:
        if not _holds(relation, values, back):
            a, b, c = (old[i].text for i in relation.parts)
            return f"'{a}', '{b}' and '{c}' no longer agree"
    return ""


def _unlikely(old: Quantity, new: Quantity) -> str:
    value = new.value or 0.0
    if old.role == "unemployment" and old.is_level and value < _LEAST_UNEMPLOYMENT:
        return f"'{old.text}' becomes an impossibly low unemployment rate"
    # A rate or a step in quarters of a point stays in quarters of a point.
    quarter = {"basis points": 25.0, "percent": 0.25}.get(old.kind, 0.0)
    steps = quarter and (old.kind == "basis points" or old.role == "policy rate")
    if steps and not (old.value or 0.0) % quarter and round(value / quarter, 6) % 1:
        return f"'{old.text}' becomes '{new.text}', which is not a usual step of a central bank"
    if _ROUND.search(new.form.number) and not _ROUND.search(old.form.number):
        return f"'{old.text}' becomes '{new.text}', an implausible figure"
    return ""


def _sign(one: float, other: float) -> int:
    return (one - other > 1e-9) - (one - other < -1e-9)


def _fits(quantity: Quantity, new: float, *, monthly: bool = False) -> bool:
    """Return whether a quantity may become ``new``; ``monthly`` is for macro-economic figures."""
    old = quantity.value
    if not old or not new or (old < 0) != (new < 0) or abs(new - old) <= 1e-9 * abs(old):
        return False
    size, was = abs(new), abs(old)
    if quantity.role == "policy rate":
        point = 1.0 if quantity.kind == "percent" else 100.0
        if quantity.is_level and quantity.kind == "percent":
            return abs(size - was) <= _POLICY_MOVE * point + 1e-9
        return size <= _POLICY_MOVE * point + 1e-9 and size != was
    if quantity.kind == "percent":
        decided = _percent_fits(quantity, size, was, monthly)
        if decided is not None:
            return decided
    if quantity.kind == "ratio" and was < 1 and size >= 1:  # a part stays less than the whole
        return False
    if quantity.kind == "number" and size < 2 <= was:  # "4 charts" do not become "1 charts"
        return False
    if quantity.form.style in ("fraction", "part"):  # few values have words
        return True
    return size < 0.5 * was or 1.5 * was - 1e-9 <= size <= 2 * was + 1e-9


def _percent_fits(quantity: Quantity, size: float, was: float, monthly: bool) -> bool | None:
    if quantity.role in _BOUNDED and quantity.is_level:
        return size < 100 and (size >= 1.1 * was or size <= was / 1.1)
    top = _MACRO_TOP.get(quantity.role)
    if top is not None:
        if monthly and was <= (month_top := _MACRO_TOP_MONTH.get(quantity.role, top)):
            top = month_top
        return False if size > max(top, was) else None
    if quantity.direction == "down" and not quantity.is_level:
        low = (1.5 if was < 60 else 1.3) * was
        return size < 100 and (size < 0.5 * was or low <= size <= _decline_top(was))
    return False if quantity.is_level and was <= 100 and size >= 100 else None


def _decline_top(was: float) -> float:
    return next((top for bound, top in _DECLINE_TOPS if was < bound), 99.0)


def _candidate(quantity: Quantity, strength: _Strength, factor: float) -> float:
    """Return a quantity's size times the common factor, or the nearest possible size."""
    was = abs(quantity.value or 0.0)
    if quantity.role == "policy rate":
        return _policy_candidate(quantity, strength, factor, was)
    new = was * factor
    if quantity.kind == "percent" and quantity.is_level and was <= 100 and new >= 100:
        # Part of the way to the whole, the farther the larger the factor.
        new = was + (100 - was) * min(0.9, 0.4 + (factor - 1.5))
    if quantity.kind == "percent" and quantity.direction == "down" and not quantity.is_level:
        new = min(new, _decline_top(was))
    return new


def _policy_candidate(quantity: Quantity, strength: _Strength, factor: float, was: float) -> float:
    """Return another rate, by a usual step of central banks; the factor decides which step."""
    point = 1.0 if quantity.kind == "percent" else 100.0
    place = abs(factor - 1.5 if strength == "stronger" else 0.5 - factor)
    # Rates near zero stay near zero.
    step = _POLICY_STEPS[1 + min(3 if was >= 0.5 * point else 0, int(place * 8))] * point
    if quantity.is_level and quantity.kind == "percent":
        return was + step if strength == "stronger" or was <= step else was - step
    larger = [s * point for s in _POLICY_STEPS if s * point > was + 1e-9]
    smaller = [s * point for s in _POLICY_STEPS if s * point < was - 1e-9]
    pool = (larger or smaller) if strength == "stronger" else (smaller or larger)
    return pool[min(len(pool) - 1, int(place * 2 * len(pool)))] if pool else was


def _relations(figures: Sequence[Quantity], sentences: Sequence[int]) -> list[_Relation]:
    """Return the relations among quantities of one sentence; ``sentences`` are their numbers."""
    result: list[_Relation] = []
    for group in _groups(sentences):
        inside = [i for i in group if figures[i].value and figures[i].kind != "duration"]
        if len(inside) > 12:  # a table, not a sentence: chance agreements would abound
            continue
        for a, b, c in permutations(inside, 3):
            result += _related(figures, a, b, c)
    return result


def _related(figures: Sequence[Quantity], a: int, b: int, c: int) -> list[_Relation]:
    one, two, three = figures[a], figures[b], figures[c]
    if not _alike(one, two):
        return []
    if three.kind == "percent" and one.kind != "percent":
        return _by_percentage(figures, (a, b, c))
    x, y, z = (abs(q.value or 0.0) for q in (one, two, three))
    if a >= b or not _are_levels(one, two):
        return []
    if _alike(one, three):
        named = not three.is_level or one.kind == "number"
        apart = named and abs(abs(y - x) - z) < 1e-6 * max(x, y)
    else:
        in_points = (one.kind, three.kind) == ("percent", "basis points")
        apart = in_points and abs(100 * abs(y - x) - z) < 1e-6
    return [_Relation("difference", (a, b, c), 1 if y > x else -1)] if apart else []


def _by_percentage(figures: Sequence[Quantity], parts: tuple[int, int, int]) -> list[_Relation]:
    """Return the relation, if any, of two amounts to a percentage, the third part."""
    one, two, three = (figures[i] for i in parts)
    x, y, z = (abs(q.value or 0.0) for q in (one, two, three))
    levels = _are_levels(one, two)
    stated = three.is_level and three.direction is None
    if stated and levels and x < y and _near(100 * x / y, z, three):
        return [_Relation("share", parts, 1)]
    if levels and _near(100 * abs(y - x) / x, z, three):
        return [_Relation("growth", parts, 1 if y > x else -1)]
    if not one.is_level and two.is_level:
        sign = -1 if "down" in (one.direction, three.direction) else 1
        before = y - sign * x
        if before > 0 and _near(100 * x / before, z, three):
            return [_Relation("move", parts, sign)]
    return []


def _are_levels(one: Quantity, two: Quantity) -> bool:
    # With counts, the part that moved stands beside the whole: "200 of 1,000 jobs were cut".
    stand = (one.is_level and two.is_level) or one.kind == "number"
    return stand and abs(one.value or 0.0) != abs(two.value or 0.0)


def _alike(one: Quantity, two: Quantity) -> bool:
    units = {one.unit, two.unit}
    return one.kind == two.kind and (
        len(units) == 1 or units == {None, "points"} or (one.kind == "number" and None in units)
    )


def _near(exact: float, written: float, quantity: Quantity) -> bool:
    """Return whether a written percentage equals the exact figure, apart from rounding."""
    digits = quantity.form.number.rpartition(".")[2] if "." in quantity.form.number else ""
    return abs(exact - written) <= 0.51 * 10.0 ** -len(digits) + 0.005 * abs(exact)


def _solved(related: Sequence[_Relation], values: list[float], figures: Sequence[Quantity]) -> None:
    """Recompute, in place, the values that depend on others, so that relations hold again."""
    for relation in related:
        a, b, c = relation.parts
        sign = relation.sign
        x, y, z = (abs(values[i]) for i in relation.parts)
        if relation.kind == "growth":
            values[b] = _signed(x * (1 + sign * z / 100), figures[b])
        elif relation.kind == "move":
            values[a] = _signed(y * (z / 100) / (1 + sign * z / 100), figures[a])
        elif relation.kind == "share":
            values[a] = _signed(y * z / 100, figures[a])
        else:
            scale = _scale(figures[a], figures[c])
            if any(r.kind in ("growth", "share") and {*r.parts[:2]} == {a, b} for r in related):
                values[c] = _signed(scale * abs(y - x), figures[c])
            else:
                values[b] = _signed(x + sign * z / scale, figures[b])


def _scale(level: Quantity, apart: Quantity) -> float:
    """Return how many units of a difference make one unit of the levels: 100 basis points, or 1."""
    return 100.0 if apart.kind == "basis points" and level.kind != "basis points" else 1.0


def _signed(size: float, quantity: Quantity) -> float:
    return -size if (quantity.value or 0) < 0 else size


def _holds(relation: _Relation, values: Sequence[float], figures: Sequence[Quantity]) -> bool:
    a, _, c = relation.parts
    x, y, z = (abs(values[i]) for i in relation.parts)
    if relation.kind == "growth":
        return (y > x) == (relation.sign > 0) and _near(100 * abs(y - x) / x, z, figures[c])
    if relation.kind == "move":
        before = y - relation.sign * x
        return before > 0 and _near(100 * x / before, z, figures[c])
    if relation.kind == "share":
        return _near(100 * x / y, z, figures[c])
    scale = _scale(figures[a], figures[c])
    return (y > x) == (relation.sign > 0) and abs(scale * abs(y - x) - z) <= 1e-6 * max(
        scale * x, scale * y
    )
