"""The contract of numerical perturbation: every number changed, within its range, nothing else.

RFC-BENCH, section 2.2.2 and appendices Q.2, R.2 and S.2.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated

from contrafact.families.rfc.contracts.limits import (
    MACRO,
    MACRO_LIMITS,
    SMALL_NUMBER,
    TWICE,
    WHOLE,
    allowed,
    is_bounded_share,
    is_exempt,
    is_period,
    is_version,
    macro_problem,
    perturbed_quantities,
    role_of,
)
from contrafact.families.rfc.contracts.numbers import (
    is_other_unit,
    matched_quantities,
    place,
    quantity_matches,
)
from contrafact.families.rfc.contracts.pair import Pair
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.text.quantities import Quantity, precision, same_value, worth
from contrafact.text.quantities.context import movements
from contrafact.text.relations import (
    comparatives,
    earlier_and_later,
    expected_and_actual,
    is_exact,
    relations,
    unannounced_relations,
    whole,
)

Matched = tuple[Quantity, Quantity]


def _perturbed(pair: Pair) -> list[Matched]:
    a, b = pair.original.quantities, pair.rewritten.quantities
    return [(a[i], b[j]) for i, j in perturbed_quantities(pair)]


# Every quantity, and no other


@rule("no-number", about="numbers", paper="S.2, step 1", manipulations=("numerical",))
def no_number(pair: Pair) -> Iterator[Finding]:
    """The original has a quantity that could be changed."""
    if not any(q.kind != "duration" and q.value is not None for q in pair.original.quantities):
        yield fail("no-number", "the original has no quantity that could be perturbed")


@rule(
    "quantity-lost",
    "quantity-added",
    about="numbers",
    paper="R.2; S.2, 1",
    manipulations=("numerical",),
    to_review="small number words",
)
def quantities_kept(pair: Pair) -> Iterator[Finding]:
    """Every quantity has a counterpart: none is lost or new, and no vague one becomes a figure."""
    a, b = pair.original, pair.rewritten
    for match in quantity_matches(pair):
        old = None if match.original is None else a.quantities[match.original]
        new = None if match.rewritten is None else b.quantities[match.rewritten]
        if old and not new:
            lenient = is_exempt(a, old)
            yield Finding("quantity-lost", f"'{old.text}' is gone", place(old), None, lenient)
        elif new and not old:
            lenient = is_exempt(b, new)
            yield Finding("quantity-added", f"'{new.text}' is new", None, place(new), lenient)
        elif old and new and old.form.style == "vague" and new.form.style == "digits":
            message = f"'{old.text}' became '{new.text}', a new figure"
            yield fail("quantity-added", message, place(old), place(new))


@rule(
    "quantity-unchanged",
    "date-changed",
    about="numbers",
    paper="S.2, 1 and 3",
    manipulations=("numerical",),
    to_review='"two analysts", "doubled", "a third", vague ones, zero; durations that name no '
    "period; one side of a change of which the other moved",
)
def quantity_unchanged(pair: Pair) -> Iterator[Finding]:
    """Every quantity has a new value; periods of time keep theirs."""
    halves = _sides_of_a_change(pair)
    for old, new in _perturbed(pair):
        same, spans = same_value(old, new), (place(old), place(new))
        if old.kind == "duration":
            if not same:
                message = f"'{old.text}' became '{new.text}'"
                lenient = not is_period(pair.original, old)
                yield Finding("date-changed", message, *spans, for_review=lenient)
        elif same:
            message = f"'{old.text}' is not changed"
            lenient = is_exempt(pair.original, old) or old.start in halves
            yield Finding("quantity-unchanged", message, *spans, for_review=lenient)


def _sides_of_a_change(pair: Pair) -> set[int]:
    """Return the starts of figures that stay while the two others of their relation move."""
    a, b, to = pair.original.quantities, pair.rewritten.quantities, dict(matched_quantities(pair))
    found: set[int] = set()
    for relation in relations(pair.original):
        if any(i not in to for i in relation.members):
            continue
        stays = [i for i in relation.members if same_value(a[i], b[to[i]])]
        moved = [b[to[i]] for i in relation.members]
        if len(stays) == 1 and len(moved) == 3 and relation.holds(moved, slack=2.0):
            found.add(a[stays[0]].start)
    return found


@rule("identifier-changed", about="numbers", paper="R.2; S.2, 3", manipulations=("numerical",))
def versions_kept(pair: Pair) -> Iterator[Finding]:
    """A product's number, a listicle's count and a constant of the world are names, and stay."""
    for i, j in matched_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if is_version(pair.original, old) and not same_value(old, new):
            message = f"'{old.text}' became '{new.text}'"
            yield fail("identifier-changed", message, place(old), place(new))


# Direction and order


@rule(
    "direction-changed",
    "unit-changed",
    about="numbers",
    paper="Q.2; S.2, 2",
    manipulations=("numerical",),
)
def sign_kept(
    pair: Pair,
    *,
    other_scale: Annotated[float, "ours: times beyond which 'billion' became 'million'"] = 50.0,
) -> Iterator[Finding]:
    """A rise stays a rise, a profit a profit, and percent percent: no number changes its sign, its
    kind, its unit or its currency.
    """
    for old, new in _perturbed(pair):
        spans = (place(old), place(new))
        # "A rise of 0.25%" of a policy rate is one of 25 basis points; 10% of revenue are none.
        rates = {old.kind, new.kind} == {"percent", "basis points"}
        rates = rates and role_of(pair.original, old) == "policy rate"
        scale = old.form.factor != new.form.factor and (
            old.form.number == new.form.number
            or not 1 / other_scale <= abs(worth(new) / (worth(old) or 1.0)) <= other_scale
        )
        if (old.kind != new.kind and not rates) or is_other_unit(old, new) or scale:
            yield fail("unit-changed", f"'{old.text}' became '{new.text}'", *spans)
        elif worth(old) * worth(new) < 0 or (worth(old) and new.value == 0):
            yield fail("direction-changed", f"'{old.text}' became '{new.text}'", *spans)
        elif old.direction and new.direction and old.direction != new.direction:
            message = f"'{old.text}' goes {old.direction}, '{new.text}' goes {new.direction}"
            yield fail("direction-changed", message, *spans)
        elif old.is_loss != new.is_loss:
            was, now = ("loss", "profit") if old.is_loss else ("profit", "loss")
            message = f"a {was} of '{old.text}' became a {now} of '{new.text}'"
            yield fail("direction-changed", message, *spans)


_VERDICTS = expression("numerical", "verdicts")


@rule("direction-changed", about="numbers", paper="Q.2; R.2; S.2, 2", manipulations=("numerical",))
def moves_kept(pair: Pair) -> Iterator[Finding]:
    """A verb of rising, gaining or beating does not become one of falling, losing or missing."""
    for change in pair.changes:
        before, after = pair.texts(change)
        was, now = ways(before), ways(after)
        if len(was) == len(now) == 1 and was != now:
            yield fail("direction-changed", f"'{before}' became '{after}'", *pair.spans(change))


def ways(text: str) -> set[str]:
    """Return the directions that the verbs of movement and of results in a text express."""
    found = {str(m.direction) for m in movements(text) if m.direction and not m.is_noun}
    return found | {str(match.lastgroup) for match in _VERDICTS.finditer(text)}


@rule(
    "direction-changed",
    "beat-or-miss",
    "range-order",
    "order-changed",
    about="numbers",
    paper="S.2, 2 and 8",
    manipulations=("numerical",),
)
def comparisons_kept(
    pair: Pair,
    *,
    rounded: Annotated[float, "ours: figures rounded this roughly may become equal"] = 0.05,
) -> Iterator[Finding]:
    """What was above stays above: from and to, result and expectation, the ends of a range, and
    figures that words set against each other ("fewer than the 165 planned", "9 of 15").
    """
    where, found = dict(perturbed_quantities(pair)), pair.original.quantities
    seen: set[frozenset[int]] = set()
    for rule_id, words, i, j in _compared(pair):
        if i not in where or j not in where or frozenset((i, j)) in seen:
            continue
        a, b = (pair.rewritten.quantities[where[k]] for k in (i, j))
        before, after = worth(found[j]) - worth(found[i]), worth(b) - worth(a)
        if before * after > 0 or before == 0:
            continue
        if after == 0 and precision(a) > rounded * abs(a.value or 0.0):
            continue
        seen.add(frozenset((i, j)))
        message = f"'{a.text}' {words} '{b.text}': the order of the original is reversed"
        yield fail(rule_id, message, place(found[i]), place(b))


def _compared(pair: Pair) -> Iterator[tuple[str, str, int, int]]:
    side = pair.original
    found = side.quantities
    for i, j in earlier_and_later(side):
        yield "direction-changed", "moved from", i, j
    for i, j in expected_and_actual(side):
        yield "beat-or-miss", "was expected to be", i, j
    for i, q in enumerate(found):
        if q.link and q.link[0] == "range" and q.link[1] > i:
            yield "range-order", "is the low end, the high end being", i, q.link[1]
    for c in comparatives(side):
        apart = abs(worth(found[c.this])) - abs(worth(found[c.that]))
        if c.sign * apart > 0 or not c.sign:  # the figures agree with the words
            yield "order-changed", "is compared with", c.this, c.that


# Plausible values


@rule("impossible-value", about="numbers", paper="S.2, 4", manipulations=("numerical",))
def impossible_value(pair: Pair, *, whole: Annotated[float, "S.2, 4"] = WHOLE) -> Iterator[Finding]:
    """No decline is beyond 100%; shares, utilisation, engagement and margins stay within it."""
    for old, new in _perturbed(pair):
        if old.kind != "percent" or old.value is None or new.value is None:
            continue
        falls = not old.is_level and (old.direction or new.direction) == "down"
        if falls and abs(new.value) > whole >= abs(old.value):
            message = f"a decline of '{new.text}' is beyond {whole:g}%"
        elif is_bounded_share(pair.original, old) and not 0 <= new.value <= whole:
            message = f"a share of '{new.text}' is outside 0 to {whole:g}%"
        elif old.role == "margin" and old.is_level and abs(old.value) <= whole < abs(new.value):
            message = f"a margin of '{new.text}' is beyond {whole:g}%"
        else:
            continue
        yield fail("impossible-value", message, place(old), place(new))


@rule(
    "range",
    "macro-limit",
    about="numbers",
    paper="S.2, 6 and 7",
    manipulations=("numerical",),
    to_review="levels, money and counts that hardly moved; figures that arithmetic binds; "
    "increases beyond twice, within the absolute 200%",
)
def within_range(
    pair: Pair,
    *,
    level_move: Annotated[float, "ours: a level that moves by a smaller share hardly moves"] = 0.02,
    level_most: Annotated[float, "ours: times beyond which a level is another thing"] = 2.5,
    limits: Annotated[Mapping[str, float], "S.2, 7"] = MACRO_LIMITS,
) -> Iterator[Finding]:
    """Each number lies, up to rounding, in the range that its kind and direction allow. Increases:
    1.5 times to the upper bound, or at most half; below 130% the bound is twice or an absolute
    200%, whichever is wider. Declines: the three bands. Levels, money and counts: not beyond two
    and a half times. Inflation, unemployment, GDP and policy rates: the macro limits, unless the
    original speaks of the exception. Shares: any change.
    """
    related = (*relations(pair.original), *unannounced_relations(pair.original))
    bound = {i for relation in related for i in relation.members}
    for i, j in perturbed_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if old.value is None or new.value is None or same_value(old, new):
            continue
        if old.kind != new.kind or old.kind == "duration" or is_exempt(pair.original, old):
            continue
        spans = (place(old), place(new))
        if role_of(pair.original, old) in MACRO:
            problem = macro_problem(pair, old, new, limits)
            if problem is not None:
                yield fail("macro-limit", problem, *spans)
            continue
        if is_bounded_share(pair.original, old):
            continue
        yield from _out_of_range(old, new, level_move, level_most, lenient=i in bound)


def _out_of_range(
    old: Quantity, new: Quantity, least: float, level_most: float, *, lenient: bool
) -> Iterator[Finding]:
    bounds, value, before = allowed(old), abs(new.value or 0.0), abs(old.value or 0.0)
    change = old.kind == "percent" and not old.is_level
    spans, both = (place(old), place(new)), f"'{old.text}' became '{new.text}'"
    if bounds.holds(value, precision(new)):
        if change and old.direction != "down" and TWICE * before + precision(new) < value:
            yield review("range", f"{both}: beyond twice, within the absolute 200%", *spans)
        return
    allows = f"{both}; allowed are {bounds.in_words('%' if old.kind == 'percent' else '')}"
    few = old.kind in ("number", "ratio") and before <= SMALL_NUMBER  # they have no finer steps
    beyond = value > max(level_most * before, WHOLE if old.kind == "percent" else 0.0)
    if change or beyond:
        yield Finding("range", allows, *spans, for_review=lenient or few)
    elif abs(value - before) < least * before:
        yield review("range", f"{both}: it hardly moved", *spans)


# Numbers that move together

Group = tuple[str, str | None, float]


@rule(
    "equal-quantities",
    about="numbers",
    paper="S.2, 8",
    manipulations=("numerical",),
    to_review="equal figures of different things",
)
def equal_quantities(
    pair: Pair,
    *,
    least: Annotated[float, "ours: smaller counts without a unit are equal by chance"] = 20,
    digits: Annotated[int, "ours: fewest digits of a figure that rounds another"] = 3,
) -> Iterator[Finding]:
    """A figure that the original states twice, or once exactly and once rounded, has one value in
    the rewrite too, above all in headline and story.
    """
    found, rewritten = pair.original.quantities, pair.rewritten.quantities
    for group in _equal_groups(pair, least, digits):
        one, first = found[group[0][0]], rewritten[group[0][1]]
        for i, j in group[1:]:
            old, new = found[i], rewritten[j]
            if first.value is None or new.value is None:
                continue
            apart = abs(abs(worth(first)) - abs(worth(new)))
            if apart <= _precision(first) + _precision(new) - 1e-12:
                continue
            yield Finding(
                "equal-quantities",
                f"'{one.text}' stands twice in the original, and became '{first.text}' and "
                f"'{new.text}'",
                place(old),
                place(new),
                for_review=_are_apart(pair, one, old),
            )


def _equal_groups(pair: Pair, least: float, digits: int) -> list[list[tuple[int, int]]]:
    groups: dict[Group, list[tuple[int, int]]] = defaultdict(list)
    found = pair.original.quantities
    for i, j in perturbed_quantities(pair):
        old = found[i]
        if old.kind == "duration" or (is_exempt(pair.original, old) and old.form.style != "part"):
            continue
        if old.kind == "number" and abs(worth(old)) < least and old.unit is None:
            continue
        steps = old.kind == "basis points"  # "a quarter point" and "25 bps" are one
        groups[(old.kind, None if steps else old.unit, abs(worth(old)))].append((i, j))
    # A figure and its rounding are one: 756 in the headline, 756.61 in the story.
    for key in list(groups):
        for other in list(groups):
            if key == other or key not in groups or other not in groups or key[:2] != other[:2]:
                continue
            fine, coarse = (found[groups[k][0][0]] for k in (key, other))
            written = re.sub(r"\D", "", coarse.form.number).strip("0")
            if (
                precision(fine) < precision(coarse)
                and len(written) >= digits
                and abs(key[2] - other[2]) <= precision(coarse) + 1e-9
            ):
                groups[other] += groups.pop(key)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def _precision(quantity: Quantity) -> float:
    return precision(quantity) / (100 if quantity.kind == "basis points" else 1)


def _are_apart(pair: Pair, a: Quantity, b: Quantity) -> bool:
    if a.direction and b.direction and a.direction != b.direction:
        return True
    others = [
        pair.original.quantities[q.link[1]] for q in (a, b) if q.link and q.link[0] == "range"
    ]
    if len(others) == 2 and (a.start < others[0].start) != (b.start < others[1].start):
        return True  # the low end of one range, the high end of another
    if a.start < pair.title_end <= b.start and a.kind in ("money", "basis points"):
        return False
    if a.kind == "percent" and a.is_level != b.is_level:
        return True
    return a.role != b.role and not {a.role, b.role} & {"money", "percent", "number", "count"}


@rule(
    "related-quantities",
    about="numbers",
    paper="S.2, 8",
    manipulations=("numerical",),
    to_review="off by 1% or less; figures that no word links, of fewer than three digits",
)
def related_quantities(
    pair: Pair,
    *,
    slack: Annotated[float, "ours: times the rounding by which new figures may be off"] = 1.0,
    share: Annotated[float, "ours: share by which they may be off for a person to see"] = 0.01,
) -> Iterator[Finding]:
    """Arithmetic that links the original's numbers also links the rewrite's, apart from rounding,
    in any wording: from, to and the change between them; parts and whole; shares of a whole; price
    times number; a part of a whole.
    """
    where, found = dict(perturbed_quantities(pair)), pair.original.quantities
    announced = [(relation, True) for relation in relations(pair.original)]
    others = [
        (relation, is_exact([found[i] for i in relation.members]))
        for relation in unannounced_relations(pair.original)
    ]
    for relation, sure in (*announced, *others):
        if any(i not in where for i in relation.members):
            continue
        new = [pair.rewritten.quantities[where[i]] for i in relation.members]
        if relation.holds(new, slack=slack):
            continue
        sure = sure or (relation.formula is whole and whole([worth(q) for q in new]) < 0)
        yield Finding(
            "related-quantities",
            f"in the original {relation.what}; in the rewrite "
            f"{', '.join(q.text for q in new)} do not fit",
            place(found[relation.members[0]]),
            place(new[0]),
            for_review=not sure or relation.holds(new, slack=slack, share=share),
        )


_CONVERTED = re.compile(r"[\w\s]{0,12}\s?\((?:about\s|around\s)?")


@rule("related-quantities", about="numbers", paper="S.2, 8", manipulations=("numerical",))
def conversions_kept(
    pair: Pair, *, share: Annotated[float, "ours: share by which a rate may be off"] = 0.01
) -> Iterator[Finding]:
    """An amount and its conversion into another currency, in brackets, keep their rate, apart
    from rounding.
    """
    where = dict(perturbed_quantities(pair))
    found, new = pair.original.quantities, pair.rewritten.quantities
    for i, (a, b) in enumerate(pairwise(found)):
        if not _CONVERTED.fullmatch(pair.original.text[a.end : b.start]):
            continue
        if b.kind != "money" or a.kind not in ("money", "number") or a.unit == b.unit:
            continue
        if i not in where or i + 1 not in where:
            continue
        four = (a, b, new[where[i]], new[where[i + 1]])
        if not all(q.value for q in four):
            continue
        one, two, three, other = (abs(q.value or 1.0) for q in four)
        rounding = sum(precision(q) / abs(q.value or 1.0) for q in four)
        if abs((other / three) / (two / one) - 1) > share + rounding:
            message = f"'{four[2].text}' and '{four[3].text}' are no longer one amount"
            yield fail("related-quantities", message, place(b), place(four[3]))
