"""The contract of numerical perturbation: every number changed, nothing else.

RFC-BENCH, section 2.2.2 and appendices Q.2, R.2 and S.2.
"""

import re
from collections.abc import Iterator

from contrafact.families.rfc.contracts.asides import (
    is_aside,
    is_period,
    is_version,
    quantity_meetings,
    quantity_pairs,
    quantity_pairs_and_versions,
)
from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.numbers import same_value
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.ranges import (
    allowed,
    bounded_share,
    is_level_of_whole,
    is_macro,
    macro_problem,
    precision,
)
from contrafact.families.rfc.contracts.relations import relations
from contrafact.text.quantities import Quantity

__all__ = [
    "impossible_value",
    "limits",
    "no_number",
    "quantity_added",
    "quantity_lost",
    "quantity_unchanged",
    "sign_kept",
    "versions_kept",
]


def _span(quantity: Quantity) -> Span:
    return quantity.start, quantity.end


def versions_kept(pair: Pair) -> Iterator[Violation]:
    """A product's number is a name, and stays."""
    for i, j in quantity_pairs_and_versions(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if is_version(pair.original, old) and not same_value(old, new):
            yield fail(
                "identifier-changed", f"'{old.text}' became '{new.text}'", _span(old), _span(new)
            )


def no_number(pair: Pair) -> Iterator[Violation]:
    """The original has a number that could be changed."""
    if not any(q.kind != "duration" and q.value is not None for q in pair.original.quantities):
        yield fail("no-number", "the original has no quantity that could be perturbed")


def quantity_lost(pair: Pair) -> Iterator[Violation]:
    """Every quantity of the original has its counterpart."""
    for meeting in quantity_meetings(pair):
        if meeting.after is None and meeting.before is not None:
            quantity = pair.original.quantities[meeting.before]
            lenient = is_aside(pair.original, quantity) or _is_one_now(pair, quantity)
            told = review if lenient else fail
            yield told("quantity-lost", f"'{quantity.text}' is gone", _span(quantity))


def _is_one_now(pair: Pair, quantity: Quantity) -> bool:
    """Whether a count became one, which is no number by its look: "three plants", "a plant"."""
    if quantity.kind != "number" or quantity.value is None or quantity.value > 20:
        return False
    place = pair.original.span_tokens(quantity.start, quantity.end)[0]
    change = pair.alignment.change_at(place)
    words = () if change is None else pair.rewritten.tokens[slice(*change.after)]
    return any(token.key in ("one", "a", "an", "single") for token in words)


def quantity_added(pair: Pair) -> Iterator[Violation]:
    """The rewrite has no quantity without a counterpart."""
    for meeting in quantity_meetings(pair):
        if meeting.before is None and meeting.after is not None:
            quantity = pair.rewritten.quantities[meeting.after]
            told = review if is_aside(pair.rewritten, quantity) else fail
            yield told("quantity-added", f"'{quantity.text}' is new", None, _span(quantity))


def quantity_unchanged(pair: Pair) -> Iterator[Violation]:
    """Every quantity has another value; periods of time keep theirs."""
    for i, j in quantity_pairs(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        same = same_value(old, new)
        spans = (_span(old), _span(new))
        if old.kind == "duration":
            if same:
                continue
            told = fail if is_period(pair.original, old) else review
            yield told("date-changed", f"'{old.text}' became '{new.text}'", *spans)
        elif same and old.value == 0:
            yield review("quantity-unchanged", f"'{old.text}' stays", *spans)
        elif same:
            told = (
                review
                if is_aside(pair.original, old)
                or old.form.style
                in (
                    "multiple",
                    "fraction",
                )
                else fail
            )
            yield told("quantity-unchanged", f"'{old.text}' is not changed", *spans)


def sign_kept(pair: Pair) -> Iterator[Violation]:
    """A rise stays a rise, a profit a profit: no number changes its sign or its kind."""
    for i, j in quantity_pairs(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        spans = (_span(old), _span(new))
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
            yield fail(
                "direction-changed",
                f"a {'loss' if old.is_loss else 'profit'} of '{old.text}' became a "
                f"{'loss' if new.is_loss else 'profit'} of '{new.text}'",
                *spans,
            )


def impossible_value(pair: Pair) -> Iterator[Violation]:
    """No decline beyond 100%, no share, utilisation, engagement or margin beyond 0 to 100%."""
    for i, j in quantity_pairs(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if old.kind != "percent" or old.value is None or new.value is None:
            continue
        spans = (_span(old), _span(new))
        size = abs(new.value)
        if not old.is_level and (old.direction or new.direction) == "down" and size > 100:
            yield fail("impossible-value", f"a decline of '{new.text}' is beyond 100%", *spans)
        elif (
            bounded_share(pair.original.text, old)
            and (old.is_level or is_level_of_whole(pair.original.text, old))
            and not 0 <= new.value <= 100
        ):
            yield fail("impossible-value", f"a share of '{new.text}' is outside 0 to 100%", *spans)
        elif (
            old.role in ("margin", "share", "utilisation", "engagement")
            and abs(old.value) <= 100 < size
        ):
            yield fail("impossible-value", f"a {old.role} of '{new.text}' is beyond 100%", *spans)


def limits(pair: Pair) -> Iterator[Violation]:
    """Each number lies in the range that its kind and direction allow."""
    bound = {i for relation in relations(pair.original) for i in relation.members}
    for i, j in quantity_pairs(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if old.value is None or new.value is None or same_value(old, new):
            continue
        spans = (_span(old), _span(new))
        if is_macro(old):
            words = _clause(pair.rewritten, new)
            for problem in macro_problem(pair.original.text, words, old, new):
                yield fail("macro-limit", problem, *spans)
            continue
        if old.kind == "duration" or old.form.style in (
            "multiple",
            "fraction",
            "fold",
            "part",
            "split",
        ):
            continue
        if bounded_share(pair.original.text, old):
            continue
        bounds = allowed(old, old.direction if not old.is_level else None)
        value, slack = abs(new.value), precision(new)
        if bounds.holds(value, slack):
            if (
                old.kind == "percent"
                and old.direction != "down"
                and 2 * abs(old.value) + slack < value
            ):
                yield review(
                    "range",
                    f"'{old.text}' became '{new.text}': beyond twice, within the absolute 200%",
                    *spans,
                )
            continue
        message = f"'{old.text}' became '{new.text}'; allowed are {bounds.said(_unit(old))}"
        lenient = i in bound or is_aside(pair.original, old) or _near(old, new, bounds.high)
        told = review if lenient else fail
        yield told("range", message, *spans)


_CLAUSE = re.compile(r"[,;]\s|\s(?:and|while|but|as)\s")


def _clause(side: Side, quantity: Quantity) -> str:
    """Return the clause that a quantity stands in."""
    sentence = side.sentence_of(quantity.start)
    before = [m.end() for m in _CLAUSE.finditer(side.text, sentence.start, quantity.start)]
    after = _CLAUSE.search(side.text, quantity.end, sentence.end)
    return side.text[
        before[-1] if before else sentence.start : after.start() if after else sentence.end
    ]


def _unit(quantity: Quantity) -> str:
    return "%" if quantity.kind == "percent" else ""


def _near(old: Quantity, new: Quantity, high: float) -> bool:
    """Whether only a person can say that a move is out of range.

    A level in percent (a margin, a yield) has no direction, and S.2's ranges are of changes; it
    fails only where it hardly moves.
    """
    if old.kind != "percent" or not old.is_level or old.value is None or new.value is None:
        return False
    return abs(new.value - old.value) >= 0.1 * abs(old.value) and abs(new.value) <= max(high, 100)
