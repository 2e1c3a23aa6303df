"""The contract of numerical perturbation: every number changed, within its range, nothing else.

RFC-BENCH, section 2.2.2 and appendices Q.2, R.2 and S.2.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

from contrafact.families.rfc.contracts.consistency import (
    comparatives,
    earlier_and_later,
    expected_and_actual,
    relations,
)
from contrafact.families.rfc.contracts.exempt_numbers import (
    SHARES,
    SMALL_NUMBER,
    WHOLE,
    is_bounded_share,
    is_exempt,
    is_idiom,
    is_market_level,
    is_period,
    is_share_in_words,
    is_version,
    matched_quantities,
    perturbed_quantities,
)
from contrafact.families.rfc.contracts.limits import (
    MACRO,
    MACRO_LIMITS,
    SHOCK,
    TWICE,
    allowed,
    macro_problem,
)
from contrafact.families.rfc.contracts.numbers import (
    place,
    precision,
    quantity_matches,
    same_value,
    worth,
)
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.text.quantities import Quantity

__all__ = [
    "comparisons_kept",
    "conversions_kept",
    "equal_quantities",
    "impossible_value",
    "no_number",
    "quantity_added",
    "quantity_lost",
    "quantity_unchanged",
    "rate_decisions",
    "related_quantities",
    "sign_kept",
    "value_within",
    "versions_kept",
    "within_range",
]

# Rules: every quantity, and no other


@rule("no-number", about="numbers", paper="S.2, step 1", manipulations=("numerical",))
def no_number(pair: Pair) -> Iterator[Finding]:
    """The original has a quantity that could be changed."""
    if not any(q.kind != "duration" and q.value is not None for q in pair.original.quantities):
        yield fail("no-number", "the original has no quantity that could be perturbed")


@rule(
    "quantity-lost",
    about="numbers",
    paper="S.2, 1",
    manipulations=("numerical",),
    to_review="small number words, and counts that became one",
)
def quantity_lost(pair: Pair) -> Iterator[Finding]:
    """Every quantity of the original has its counterpart."""
    for match in quantity_matches(pair):
        if match.rewritten is None and match.original is not None:
            quantity = pair.original.quantities[match.original]
            yield Finding(
                "quantity-lost",
                f"'{quantity.text}' is gone",
                place(quantity),
                for_review=is_exempt(pair.original, quantity) or _is_one_now(pair, quantity),
            )


def _is_one_now(pair: Pair, quantity: Quantity) -> bool:
    """Whether a count became one, which is no number by its look: "three plants", "a plant"."""
    if quantity.kind != "number" or quantity.value is None or quantity.value > SMALL_NUMBER:
        return False
    change = pair.alignment.change_in_original(pair.original.span_tokens(*place(quantity))[0])
    words = () if change is None else pair.tokens(change)[1]
    return any(token.key in ("one", "a", "an", "single") for token in words)


@rule(
    "quantity-added",
    about="numbers",
    paper="S.2, 1",
    manipulations=("numerical",),
    to_review="small number words",
)
def quantity_added(pair: Pair) -> Iterator[Finding]:
    """The rewrite has no quantity without a counterpart."""
    for match in quantity_matches(pair):
        if match.original is None and match.rewritten is not None:
            quantity = pair.rewritten.quantities[match.rewritten]
            yield Finding(
                "quantity-added",
                f"'{quantity.text}' is new",
                None,
                place(quantity),
                for_review=is_exempt(pair.rewritten, quantity),
            )
        elif match.original is not None and match.rewritten is not None:
            old, new = (
                pair.original.quantities[match.original],
                pair.rewritten.quantities[match.rewritten],
            )
            if old.form.style == "vague" and new.form.style == "digits" and old.kind == "number":
                yield fail(
                    "quantity-added",
                    f"'{old.text}' became '{new.text}', a figure of its own",
                    place(old),
                    place(new),
                )


@rule(
    "quantity-unchanged",
    "date-changed",
    about="numbers",
    paper="S.2, 1 and 3",
    manipulations=("numerical",),
    to_review='"two analysts", "doubled", "half", vague ones, zero; durations that name no period',
)
def quantity_unchanged(pair: Pair) -> Iterator[Finding]:
    """Every quantity has another value; periods of time keep theirs."""
    for i, j in perturbed_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        same, spans = same_value(old, new), (place(old), place(new))
        if old.kind == "duration":
            if not same:
                yield Finding(
                    "date-changed",
                    f"'{old.text}' became '{new.text}'",
                    *spans,
                    for_review=not is_period(pair.original, old),
                )
        elif same and (is_idiom(pair.original, old) or old.form.style == "multiple"):
            continue
        elif same and old.value == 0:
            yield review("quantity-unchanged", f"'{old.text}' stays", *spans)
        elif same:
            yield Finding(
                "quantity-unchanged",
                f"'{old.text}' is not changed",
                *spans,
                for_review=is_exempt(pair.original, old) or old.form.style == "fraction",
            )


@rule(
    "direction-changed",
    "unit-changed",
    about="numbers",
    paper="Q.2; S.2, 2",
    manipulations=("numerical",),
)
def sign_kept(pair: Pair) -> Iterator[Finding]:
    """A rise stays a rise, a profit a profit, and percent percent: no number changes its sign, its
    kind or its currency.
    """
    for i, j in perturbed_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        spans = (place(old), place(new))
        if (old.kind != new.kind and {old.kind, new.kind} != {"percent", "basis points"}) or (
            old.unit != new.unit and old.kind == "money" and old.unit and new.unit
        ):
            yield fail("unit-changed", f"'{old.text}' became '{new.text}'", *spans)
        elif (
            old.value is not None
            and new.value is not None
            and (old.value * new.value < 0 or (old.value and not new.value))
        ):
            yield fail("direction-changed", f"'{old.text}' became '{new.text}'", *spans)
        elif old.direction and new.direction and old.direction != new.direction:
            yield fail(
                "direction-changed",
                f"'{old.text}' goes {old.direction}, '{new.text}' goes {new.direction}",
                *spans,
            )
        elif old.is_loss != new.is_loss:
            was, now = ("loss", "profit") if old.is_loss else ("profit", "loss")
            yield fail(
                "direction-changed",
                f"a {was} of '{old.text}' became a {now} of '{new.text}'",
                *spans,
            )


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
    rounded: Annotated[float, "ours: figures this roughly written may round to one"] = 0.05,
) -> Iterator[Finding]:
    """What was above stays above: from and to, result and expectation, the ends of a range, and
    figures that words set against each other ("fewer than the 165 planned", "9 of 15").
    """
    where = dict(perturbed_quantities(pair))
    found = pair.original.quantities
    values = [abs(q.value or 0.0) for q in found]
    ranges = [
        (i, q.link[1])
        for i, q in enumerate(found)
        if q.link and q.link[0] == "range" and q.link[1] > i
    ]
    compared = [
        (c.this, c.that)
        for c in comparatives(pair.original)
        if c.sign * (values[c.this] - values[c.that]) > 0 or not c.sign  # as the words have it
    ]
    kinds = (
        ("direction-changed", "moved from", earlier_and_later(pair.original)),
        ("beat-or-miss", "was expected to be", expected_and_actual(pair.original)),
        ("range-order", "is the low end, the high end being", ranges),
        ("order-changed", "is compared with", compared),
    )
    seen: set[frozenset[int]] = set()
    for rule_id, words, pairs in kinds:
        for i, j in pairs:
            if i not in where or j not in where or frozenset((i, j)) in seen:
                continue
            a, b = (pair.rewritten.quantities[where[k]] for k in (i, j))
            before = (found[j].value or 0.0) - (found[i].value or 0.0)
            after = (b.value or 0.0) - (a.value or 0.0)
            if before * after > 0 or before == 0:
                continue
            if after == 0 and precision(a) > rounded * abs(a.value or 0.0):
                continue
            seen.add(frozenset((i, j)))
            yield fail(
                rule_id,
                f"'{a.text}' {words} '{b.text}': the order of the original is reversed",
                place(found[i]),
                place(b),
            )


# Rules: plausible values


@rule("impossible-value", about="numbers", paper="S.2, 4", manipulations=("numerical",))
def impossible_value(pair: Pair, *, whole: Annotated[float, "S.2, 4"] = WHOLE) -> Iterator[Finding]:
    """No decline is beyond 100%; shares, utilisation, engagement and margins stay within it."""
    for i, j in perturbed_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if old.kind != "percent" or old.value is None or new.value is None:
            continue
        spans = (place(old), place(new))
        size = abs(new.value)
        if not old.is_level and (old.direction or new.direction) == "down" and size > whole:
            yield fail(
                "impossible-value", f"a decline of '{new.text}' is beyond {whole:g}%", *spans
            )
        elif (
            is_bounded_share(pair.original.text, old)
            and (old.is_level or is_share_in_words(pair.original.text, old))
            and not 0 <= new.value <= whole
        ):
            yield fail(
                "impossible-value", f"a share of '{new.text}' is outside 0 to {whole:g}%", *spans
            )
        elif old.role in ("margin", *SHARES) and abs(old.value) <= whole < size:
            yield fail(
                "impossible-value", f"a {old.role} of '{new.text}' is beyond {whole:g}%", *spans
            )


_CLAUSE = re.compile(r"[,;]\s|\s(?:and|while|but|as)\s")


@rule(
    "range",
    "macro-limit",
    about="numbers",
    paper="S.2, 6 and 7",
    manipulations=("numerical",),
    to_review="levels, money and counts that moved by a twentieth or more, and not beyond two and "
    "a half times; "
    "figures that arithmetic binds; increases beyond twice, within the absolute 200%",
)
def within_range(
    pair: Pair,
    *,
    level_move: Annotated[
        float, "ours: S.2's ranges are of changes; a level fails only where it hardly moves"
    ] = 0.05,
    level_most: Annotated[float, "ours: times beyond which a level is another thing"] = 2.5,
    limits: Annotated[Mapping[str, float], "S.2, 7"] = MACRO_LIMITS,
) -> Iterator[Finding]:
    """Each number lies in the range that its kind and direction allow, rounding apart. Increases:
    1.5 times to the upper bound, or at most half; below 130% the bound is twice or an absolute
    200%, whichever is wider. Declines: the three bands. Money and counts: 1.5 times to twice, or at
    most half. Shares, utilisation, engagement, and levels of markets and surveys: any change.
    Inflation, unemployment, GDP and policy rates: the macro limits, unless the original speaks of
    the exception.
    """
    bound = {i for relation in relations(pair.original) for i in relation.members}
    for i, j in perturbed_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if _is_of_prices(pair.original, old):
            old = replace(old, role="inflation")
        if old.value is None or new.value is None or same_value(old, new):
            continue
        spans = (place(old), place(new))
        if old.role in MACRO:
            clause = _clause(pair.rewritten, new)
            problem = macro_problem(pair.original.text, clause, old, new, limits)
            if problem is not None:
                yield fail("macro-limit", problem, *spans)
            continue
        if old.kind == "duration" or is_bounded_share(pair.original.text, old):
            continue
        if old.form.style in ("multiple", "fraction", "fold", "part", "split"):
            continue
        percent = old.kind == "percent"
        if is_market_level(pair.original, old) and value_within(old, new, level_most):
            continue
        moved = abs(new.value - old.value) >= level_move * abs(old.value)
        if percent and old.is_level and abs(new.value) <= WHOLE and moved:
            continue
        bounds, value, slack = allowed(old), abs(new.value), precision(new)
        if bounds.holds(value, slack):
            if percent and old.direction != "down" and TWICE * abs(old.value) + slack < value:
                yield review(
                    "range",
                    f"'{old.text}' became '{new.text}': beyond twice, within the absolute 200%",
                    *spans,
                )
            continue
        few = old.kind == "number" and abs(old.value) <= SMALL_NUMBER
        if few and moved:
            continue  # small counts have no finer steps
        # S.2, 6 gives ranges for percentages that change; money and counts follow their style, and
        # fail only where they hardly move or become another thing.
        moved_level = (
            (old.is_level if percent else True)
            and abs(new.value - old.value) >= level_move * abs(old.value)
            and (
                value <= max(bounds.high, WHOLE) if percent else value_within(old, new, level_most)
            )
        )
        yield Finding(
            "range",
            f"'{old.text}' became '{new.text}'; allowed are "
            f"{bounds.in_words('%' if percent else '')}",
            *spans,
            for_review=i in bound or is_exempt(pair.original, old) or moved_level,
        )


_FRACTION_POINT = re.compile(
    r"\b(?:(?P<three>three-quarters?(?:\sof\sa)?)|(?P<quarter>(?:a\s)?quarter(?:\sof\sa)?)"
    r"|(?P<half>(?:a\s)?half(?:\sa)?))[\s-](?:percentage[\s-])?point\b",
    re.IGNORECASE,
)
_POINTS = {"three": 0.75, "quarter": 0.25, "half": 0.5}


@rule("equal-quantities", about="numbers", paper="S.2, 8", manipulations=("numerical",))
def notations_agree(pair: Pair) -> Iterator[Finding]:
    """Two notations of one move go together: a quarter point and 25 basis points."""
    a, b = pair.original, pair.rewritten
    before, after = (list(_FRACTION_POINT.finditer(s.text)) for s in (a, b))
    if not before or len(before) != len(after):
        return
    for old, new in zip(before, after, strict=True):
        was, now = (_POINTS[str(m.lastgroup)] for m in (old, new))
        for i, j in perturbed_quantities(pair):
            one, two = a.quantities[i], b.quantities[j]
            if one.kind == "basis points" and worth(one) == was and worth(two) != now:
                yield fail(
                    "equal-quantities",
                    f"'{two.text}' is not '{new[0]}'",
                    place(one),
                    place(two),
                )


_OF_PRICES = re.compile(
    r"\b(?:consumer\sprice|producer\sprice|core\sprices|core\sCPI|CPI|PPI|inflation|cost\sof\sliving)",
    re.IGNORECASE,
)


_STILL_PRICES = re.compile(
    r"(?:It|In\sthe\s(?:12|twelve)\smonths|Core|Excluding|The\sindex|Prices)\b"
)


def _is_of_prices(side: Side, quantity: Quantity) -> bool:
    """Whether a percentage is of consumer prices, whatever its sentence calls it."""
    if quantity.kind != "percent" or quantity.role not in ("price", "percent", "rate"):
        return False
    sentence = side.sentence_of(quantity.start)
    if _OF_PRICES.search(side.text, sentence.start, sentence.end):
        return True
    before = side.sentence_of(max(0, sentence.start - 1))
    return bool(
        _STILL_PRICES.match(side.text, sentence.start)
        and _OF_PRICES.search(side.text, before.start, before.end)
    )


def value_within(old: Quantity, new: Quantity, times: float) -> bool:
    """Return whether a new value is no more than so many times the old one."""
    return abs(new.value or 0.0) <= times * abs(old.value or 0.0)


def _clause(side: Side, quantity: Quantity) -> str:
    """Return the clause that a quantity stands in."""
    sentence = side.sentence_of(quantity.start)
    before = [m.end() for m in _CLAUSE.finditer(side.text, sentence.start, quantity.start)]
    after = _CLAUSE.search(side.text, quantity.end, sentence.end)
    return side.text[
        before[-1] if before else sentence.start : after.start() if after else sentence.end
    ]


# Rules: numbers that move together


@rule("macro-limit", about="numbers", paper="S.2, 7", manipulations=("numerical",))
def rate_decisions(
    pair: Pair, *, most: Annotated[float, "S.2, 7, in points"] = MACRO_LIMITS["rate decision"]
) -> Iterator[Finding]:
    """A central bank moves its rate by no more than one point from one level to the other, unless
    the original speaks of a shock.
    """
    where = dict(perturbed_quantities(pair))
    found, new = pair.original.quantities, pair.rewritten.quantities
    for i, j in earlier_and_later(pair.original):
        if "policy rate" not in (found[i].role, found[j].role) or i not in where or j not in where:
            continue
        a, b = new[where[i]], new[where[j]]
        step = abs((b.value or 0.0) - (a.value or 0.0))
        before = abs((found[j].value or 0.0) - (found[i].value or 0.0))
        if step > most + 1e-9 and before <= most and not SHOCK.search(pair.original.text):
            yield fail(
                "macro-limit",
                f"from '{a.text}' to '{b.text}' a rate decision moves by over {most:g} point",
                place(found[j]),
                place(b),
            )


Group = tuple[str, str | None, float]
"""A kind, a unit and a size."""


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
    digits: Annotated[int, "ours: figures that a rounding of another has, at least"] = 3,
) -> Iterator[Finding]:
    """A figure that the original states twice, or states and rounds, is one in the rewrite too."""
    groups: dict[Group, list[tuple[int, int]]] = defaultdict(list)
    found, rewritten = pair.original.quantities, pair.rewritten.quantities
    for i, j in perturbed_quantities(pair):
        old = found[i]
        if old.value is None or old.kind == "duration" or is_exempt(pair.original, old):
            continue
        if old.kind == "number" and abs(old.value) < least and old.unit is None:
            continue
        groups[(old.kind, old.unit, abs(old.value))].append((i, j))
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
    for group in groups.values():
        one, first = found[group[0][0]], rewritten[group[0][1]]
        for i, j in group[1:]:
            old, new = found[i], rewritten[j]
            if first.value is None or new.value is None:
                continue
            if abs(abs(first.value) - abs(new.value)) <= precision(first) + precision(new) - 1e-12:
                continue
            yield Finding(
                "equal-quantities",
                f"'{one.text}' stands twice in the original, and became '{first.text}' and "
                f"'{new.text}'",
                place(old),
                place(new),
                for_review=_are_apart(one, old),
            )


def _are_apart(a: Quantity, b: Quantity) -> bool:
    """Whether two equal figures measure different things, as far as their words show."""
    if a.kind != "money" and (a.direction != b.direction or a.is_level != b.is_level):
        return True
    return a.role != b.role and not {a.role, b.role} & {"money", "percent", "number", "count"}


@rule(
    "related-quantities",
    about="numbers",
    paper="S.2, 8",
    manipulations=("numerical",),
    to_review="off by 1% or less",
)
def related_quantities(
    pair: Pair,
    *,
    slack: Annotated[float, "ours: times the rounding by which new figures may be off"] = 2.0,
    share: Annotated[float, "ours: share by which they may be off for a person to see"] = 0.01,
) -> Iterator[Finding]:
    """Arithmetic that links the original's numbers links the rewrite's, rounding apart: from, to
    and the change between them; parts and whole; shares of a whole; price times number; a part of
    a whole.
    """
    where = dict(perturbed_quantities(pair))
    for relation in relations(pair.original):
        if any(i not in where for i in relation.members):
            continue
        new = [pair.rewritten.quantities[where[i]] for i in relation.members]
        if relation.holds(new, slack=slack):
            continue
        residual = relation.residual(new)
        near = slack * residual.rounding + share * abs(residual.scale)
        yield Finding(
            "related-quantities",
            f"in the original {relation.what}; in the rewrite "
            f"{', '.join(q.text for q in new)} do not fit",
            place(pair.original.quantities[relation.members[0]]),
            place(new[0]),
            for_review=residual.distance <= near,
        )


_CONVERTED = re.compile(r"[\w\s]{0,12}\s?\((?:about\s|around\s)?")


@rule("related-quantities", about="numbers", paper="S.2, 8", manipulations=("numerical",))
def conversions_kept(
    pair: Pair, *, share: Annotated[float, "ours: share by which a rate may be off"] = 0.01
) -> Iterator[Finding]:
    """An amount and its conversion into another currency, in brackets, keep their rate, rounding
    apart.
    """
    where = dict(perturbed_quantities(pair))
    found, new = pair.original.quantities, pair.rewritten.quantities
    for i, (a, b) in enumerate(pairwise(found)):
        if not _CONVERTED.fullmatch(pair.original.text[a.end : b.start]):
            continue
        if b.kind != "money" or a.kind not in ("money", "number") or a.unit == b.unit:
            continue
        if i not in where or i + 1 not in where or not a.value or not b.value:
            continue
        c, d = new[where[i]], new[where[i + 1]]
        if not c.value or not d.value:
            continue
        rounding = sum(precision(q) / abs(q.value or 1.0) for q in (a, b, c, d))
        if abs((d.value / c.value) / (b.value / a.value) - 1) > share + rounding:
            yield fail(
                "related-quantities",
                f"'{c.text}' and '{d.text}' are no longer one amount in two currencies",
                place(b),
                place(d),
            )


@rule("identifier-changed", about="numbers", paper="R.2; S.2, 3", manipulations=("numerical",))
def versions_kept(pair: Pair) -> Iterator[Finding]:
    """A product's number is a name, and stays."""
    for i, j in matched_quantities(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if is_version(pair.original, old) and not same_value(old, new):
            yield fail(
                "identifier-changed", f"'{old.text}' became '{new.text}'", place(old), place(new)
            )
