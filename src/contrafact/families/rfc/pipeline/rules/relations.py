"""Which quantities of a text follow from one another, so that they can be changed together.

RFC-BENCH, appendix S.2, point 8: related numbers move consistently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from contrafact.text.quantities import Quantity

__all__ = ["Relation", "holds", "relations", "solved"]


@dataclass(frozen=True, slots=True)
class Relation:
    """An arithmetic relation that quantities of a text stand in.

    Attributes:
        kind: ``growth``: the level at ``parts[0]`` moves to the level at ``parts[1]``, which is the
            percentage at ``parts[2]``; ``move``: the change at ``parts[0]`` takes a level to the
            one at ``parts[1]``, which is the percentage at ``parts[2]``; ``difference``: the
            levels at ``parts[0]`` and ``parts[1]`` are the amount at ``parts[2]`` apart.
        parts: Indexes into the list of quantities.
        sign: +1 where the first level grows, -1 where it shrinks.
    """

    kind: Literal["growth", "move", "difference"]
    parts: tuple[int, int, int]
    sign: int


def relations(found: Sequence[Quantity], sentences: Sequence[int]) -> list[Relation]:
    """Return the relations among quantities that stand in one sentence.

    Args:
        found: The quantities.
        sentences: The number of the sentence that each stands in.
    """
    result: list[Relation] = []
    for number in sorted(set(sentences)):
        inside = [
            i
            for i, q in enumerate(found)
            if sentences[i] == number and q.value and q.kind != "duration"
        ]
        if len(inside) > 12:  # a table, not a sentence: chance agreements would abound
            continue
        for a, b, c in permutations(inside, 3):
            result += _related(found, a, b, c)
    return result


def _related(found: Sequence[Quantity], a: int, b: int, c: int) -> list[Relation]:
    one, two, three = found[a], found[b], found[c]
    if not _alike(one, two):
        return []
    x, y, z = (abs(q.value or 0.0) for q in (one, two, three))
    if three.kind == "percent" and one.kind != "percent":
        if three.is_level and three.direction is None:
            return []
        if one.is_level and two.is_level and x != y:
            if _near(100 * abs(y - x) / x, z, three):
                return [Relation("growth", (a, b, c), 1 if y > x else -1)]
        elif not one.is_level and two.is_level:
            sign = -1 if "down" in (one.direction, three.direction) else 1
            before = y - sign * x
            if before > 0 and _near(100 * x / before, z, three):
                return [Relation("move", (a, b, c), sign)]
    elif a < b and _alike(one, three) and one.is_level and two.is_level and x != y:
        if not three.is_level and abs(abs(y - x) - z) < 1e-6 * max(x, y):
            return [Relation("difference", (a, b, c), 1 if y > x else -1)]
    elif (
        a < b
        and (one.kind, three.kind) == ("percent", "basis points")
        and one.is_level
        and two.is_level
        and abs(100 * abs(y - x) - z) < 1e-6
    ):
        return [Relation("difference", (a, b, c), 1 if y > x else -1)]
    return []


def _alike(one: Quantity, two: Quantity) -> bool:
    units = {one.unit, two.unit}
    return one.kind == two.kind and (len(units) == 1 or units == {None, "points"})


def _near(exact: float, written: float, quantity: Quantity) -> bool:
    """Return whether a percentage is the exact figure, as far as it is written out."""
    digits = quantity.form.number.rpartition(".")[2] if "." in quantity.form.number else ""
    return abs(exact - written) <= 0.51 * 10.0 ** -len(digits) + 0.005 * abs(exact)


def solved(related: Sequence[Relation], values: list[float], found: Sequence[Quantity]) -> None:
    """Change, in place, the values that follow from others so that every relation holds again.

    Percentages and first levels are taken as given; second levels and changes follow.
    """
    for relation in related:
        a, b, c = relation.parts
        sign = relation.sign
        x, y, z = (abs(values[i]) for i in relation.parts)
        if relation.kind == "growth":
            values[b] = _signed(x * (1 + sign * z / 100), found[b])
        elif relation.kind == "move":
            values[a] = _signed(y * (z / 100) / (1 + sign * z / 100), found[a])
        else:
            scale = _scale(found[a], found[c])
            if any(r.kind == "growth" and set(r.parts[:2]) == {a, b} for r in related):
                values[c] = _signed(scale * abs(y - x), found[c])
            else:
                values[b] = _signed(x + sign * z / scale, found[b])


def _scale(level: Quantity, apart: Quantity) -> float:
    """Return how many units of a difference are one unit of the levels: percent, basis points."""
    return 100.0 if apart.kind == "basis points" and level.kind != "basis points" else 1.0


def _signed(size: float, quantity: Quantity) -> float:
    return -size if (quantity.value or 0) < 0 else size


def holds(relation: Relation, values: Sequence[float], found: Sequence[Quantity]) -> bool:
    """Return whether a relation holds among values as they are written out."""
    a, _, c = relation.parts
    x, y, z = (abs(values[i]) for i in relation.parts)
    if relation.kind == "growth":
        return (y > x) == (relation.sign > 0) and _near(100 * abs(y - x) / x, z, found[c])
    if relation.kind == "move":
        before = y - relation.sign * x
        return before > 0 and _near(100 * x / before, z, found[c])
    scale = _scale(found[a], found[c])
    return (y > x) == (relation.sign > 0) and abs(scale * abs(y - x) - z) <= 1e-6 * max(
        scale * x, scale * y
    )
