"""Numbers that move together: equal ones, compared ones, and those that arithmetic links.

RFC-BENCH, appendix S.2, items 2 and 8.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from contrafact.families.rfc.contracts.asides import is_aside, quantity_pairs
from contrafact.families.rfc.contracts.comparatives import comparatives
from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.ranges import is_shock, precision
from contrafact.families.rfc.contracts.relations import comparisons, expected_figures, relations
from contrafact.text.quantities import Quantity

__all__ = ["comparisons_kept", "equal_quantities", "rate_decisions", "related_quantities"]


def _span(quantity: Quantity) -> Span:
    return quantity.start, quantity.end


def equal_quantities(pair: Pair) -> Iterator[Violation]:
    """A number that the original states twice is one number in the rewrite too."""
    groups: dict[Group, list[tuple[int, int]]] = defaultdict(list)
    for i, j in quantity_pairs(pair):
        old = pair.original.quantities[i]
        if old.value is None or old.kind == "duration" or is_aside(pair.original, old):
            continue
        if old.kind == "number" and abs(old.value) < 20 and old.unit is None:
            continue
        groups[(old.kind, old.unit, abs(old.value))].append((i, j))
    _join_rounded(pair, groups)
    for met in groups.values():
        first = pair.rewritten.quantities[met[0][1]]
        for i, j in met[1:]:
            new, old = pair.rewritten.quantities[j], pair.original.quantities[i]
            if first.value is None or new.value is None:
                continue
            if abs(abs(first.value) - abs(new.value)) <= precision(first) + precision(new) - 1e-12:
                continue
            one = pair.original.quantities[met[0][0]]
            told = review if _apart(one, old) else fail
            yield told(
                "equal-quantities",
                f"'{one.text}' stands twice in the original, and became '{first.text}' and "
                f"'{new.text}'",
                _span(old),
                _span(new),
            )


Group = tuple[str, str | None, float]


def _join_rounded(pair: Pair, groups: dict[Group, list[tuple[int, int]]]) -> None:
    """Put a figure and its rounding together: 756 in the headline, 756.61 in the story."""
    for key in list(groups):
        for other in list(groups):
            if key == other or key not in groups or other not in groups or key[0] != other[0]:
                continue
            fine, coarse = (pair.original.quantities[groups[k][0][0]] for k in (key, other))
            if key[1] != other[1] or precision(fine) >= precision(coarse):
                continue
            digits = len(re.sub(r"\D", "", coarse.form.number).strip("0"))
            if digits >= 3 and abs(key[2] - other[2]) <= precision(coarse) + 1e-9:
                groups[other] += groups.pop(key)


def _apart(a: Quantity, b: Quantity) -> bool:
    """Whether two equal figures measure different things, as far as their words tell."""
    if a.kind != "money" and (a.direction != b.direction or a.is_level != b.is_level):
        return True
    return a.role != b.role and not {a.role, b.role} & {"money", "percent", "number", "count"}


def comparisons_kept(pair: Pair) -> Iterator[Violation]:
    """What was above stays above: from and to, now and a year ago, result and expectation."""
    where = dict(quantity_pairs(pair))
    checks = (
        ("direction-changed", "moved from", comparisons(pair.original)),
        ("beat-or-miss", "was expected to be", expected_figures(pair.original)),
        ("range-order", "is the low end, the high end being", _range_ends(pair.original)),
        ("order-changed", "is compared with", _compared(pair.original)),
    )
    told: set[frozenset[int]] = set()
    for rule, words, pairs in checks:
        for i, j in pairs:
            if i not in where or j not in where or frozenset((i, j)) in told:
                continue
            old = [pair.original.quantities[k].value or 0.0 for k in (i, j)]
            new = [pair.rewritten.quantities[where[k]].value or 0.0 for k in (i, j)]
            before, after = old[1] - old[0], new[1] - new[0]
            if before * after > 0 or before == 0:
                continue
            a, b = (pair.rewritten.quantities[where[k]] for k in (i, j))
            if after == 0 and precision(a) > 0.05 * abs(new[0]):
                continue
            told.add(frozenset((i, j)))
            yield fail(
                rule,
                f"'{a.text}' {words} '{b.text}': the order of the original is turned round",
                (pair.original.quantities[i].start, pair.original.quantities[i].end),
                _span(b),
            )


def _compared(side: Side) -> list[tuple[int, int]]:
    """Return the figures set against each other in words, where the words agree with them."""
    values = [abs(q.value or 0.0) for q in side.quantities]
    return [
        (c.this, c.that)
        for c in comparatives(side)
        if c.sign * (values[c.this] - values[c.that]) > 0 or not c.sign
    ]


def _range_ends(side: Side) -> list[tuple[int, int]]:
    return [
        (i, q.link[1])
        for i, q in enumerate(side.quantities)
        if q.link and q.link[0] == "range" and q.link[1] > i
    ]


def rate_decisions(pair: Pair) -> Iterator[Violation]:
    """A central bank moves its rate by no more than about one point from one level to the other."""
    where = dict(quantity_pairs(pair))
    found, new = pair.original.quantities, pair.rewritten.quantities
    for i, j in comparisons(pair.original):
        if "policy rate" not in (found[i].role, found[j].role) or i not in where or j not in where:
            continue
        a, b = new[where[i]], new[where[j]]
        step = abs((b.value or 0.0) - (a.value or 0.0))
        before = abs((found[j].value or 0.0) - (found[i].value or 0.0))
        if step > 1.0 + 1e-9 and before <= 1.0 and not is_shock(pair.original.text):
            yield fail(
                "macro-limit",
                f"from '{a.text}' to '{b.text}' a rate decision moves by over 1 point",
                _span(found[j]),
                _span(b),
            )


def related_quantities(pair: Pair) -> Iterator[Violation]:
    """Arithmetic that links the original's numbers links the rewrite's."""
    where = dict(quantity_pairs(pair))
    for relation in relations(pair.original):
        if any(i not in where for i in relation.members):
            continue
        new = [pair.rewritten.quantities[where[i]] for i in relation.members]
        if relation.holds(new, slack=2.0):
            continue
        error = relation.error(new)
        near = error.off <= 2 * error.room + 0.01 * abs(error.scale)
        told = review if near else fail
        yield told(
            "related-quantities",
            f"in the original {relation.what}; in the rewrite "
            f"{', '.join(q.text for q in new)} do not fit",
            _span(pair.original.quantities[relation.members[0]]),
            _span(new[0]),
        )
