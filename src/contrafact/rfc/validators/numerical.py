"""The contract of numerical perturbation: every number changed, nothing else.

RFC-BENCH, section 2.2.2 and appendices Q.2, R.2 and S.2.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from contrafact.rfc.validators.findings import Span, Violation, fail, review
from contrafact.rfc.validators.numbers import Meeting, meetings, same_value
from contrafact.rfc.validators.pair import Pair, Side
from contrafact.rfc.validators.ranges import (
    allowed,
    bounded_share,
    is_macro,
    is_shock,
    macro_problem,
    precision,
)
from contrafact.rfc.validators.relations import comparisons, expected_figures, relations
from contrafact.text.quantities import Quantity

__all__ = [
    "comparisons_kept",
    "equal_quantities",
    "impossible_value",
    "limits",
    "no_number",
    "quantity_added",
    "quantity_lost",
    "quantity_unchanged",
    "rate_decisions",
    "related_quantities",
    "sign_kept",
    "versions_kept",
]

# Numbers in words that count people or turns, not what is measured: a rewrite may leave them.
_ASIDES = re.compile(
    r"\A[\s-](?:of\b|or\b|people|analysts?|executives?|companies|firms|brothers|founders|directors|sources|sides|parties"
    r"|countries|nations|states|ways|times|men|women|reasons|things|factors|key|main|major|big|biggest|largest"
    r"|straight|consecutive|successive|other|different|separate|new\sreasons|top|traders|investors"
    r"|economists|officials|banks|rivals|partners|former|senior|more|days?|weeks?|months?|years?|quarters?"
    r"|decades?|sessions?|of\sits|sister|neighbou?rs|continents|regions|fronts|takeaways|stocks)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:past|last|next|previous|first|over|in|for|the|within|every|final|recent|coming|prior|after|of)\s"
    r"(?:the\s|past\s|last\s|next\s|first\s|coming\s|a\s)?\Z",
    re.IGNORECASE,
)
_PERIOD_AFTER = re.compile(
    r"\A\s?(?:ago|earlier|high|low|ended|ending|through|to\s(?:end|june|march))", re.IGNORECASE
)


def _span(quantity: Quantity) -> Span:
    return quantity.start, quantity.end


def _every_met(pair: Pair) -> list[tuple[int, int]]:
    return [
        (m.before, m.after) for m in _meetings(pair) if m.before is not None and m.after is not None
    ]


def _met(pair: Pair) -> list[tuple[int, int]]:
    """Return the quantities that stand for each other, without a product's version."""
    return [
        (i, j)
        for i, j in _every_met(pair)
        if not _is_version(pair.original, pair.original.quantities[i])
    ]


def _meetings(pair: Pair) -> list[Meeting]:
    known = pair.memo.get("meetings")
    if not isinstance(known, list):
        known = pair.memo["meetings"] = meetings(pair)
    return known


def _is_time(side: Side, quantity: Quantity) -> bool:
    """Whether a duration names a period ("the past three months"), which is no quantity here."""
    if quantity.kind != "duration":
        return False
    return bool(
        _PERIOD.search(side.text[max(0, quantity.start - 24) : quantity.start])
        or _PERIOD_AFTER.match(side.text[quantity.end : quantity.end + 12])
        or "-" in quantity.text
    )


def _is_aside(side: Side, quantity: Quantity) -> bool:
    """Whether a small number in words may stay: "two analysts", "one-third", "dozens"."""
    if quantity.value is None:
        return True
    if (
        quantity.form.style == "words"
        and quantity.kind in ("number", "ratio")
        and quantity.value <= 20
    ):
        return bool(_ASIDES.match(side.text[quantity.end : quantity.end + 20])) or (
            side.text[quantity.end : quantity.end + 1] in ("-", "")
        )
    return quantity.form.style == "vague"


_COUNTED = re.compile(r"\A\s(?:\w+\s)?[a-z]+(?:s|people|men|women)\b")


def _is_version(side: Side, quantity: Quantity) -> bool:
    """Whether a bare number right after a capitalised word is its version: "the Lumen 7 camera"."""
    if quantity.kind != "number" or quantity.form.style != "digits" or quantity.form.after:
        return False
    if not re.fullmatch(r"\d{1,4}", quantity.text) or quantity.unit is not None:
        return False
    sentence = side.sentence_of(quantity.start)
    before = re.search(r"\b([A-Z][\w-]*)\s\Z", side.text[sentence.start : quantity.start])
    if before is None or sentence.titled or before.start() == 0:
        return False
    return not _COUNTED.match(side.text[quantity.end : quantity.end + 30])


def versions_kept(pair: Pair) -> Iterator[Violation]:
    """A product's number is a name, and stays."""
    for i, j in _every_met(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if _is_version(pair.original, old) and not same_value(old, new):
            yield fail(
                "identifier-changed", f"'{old.text}' became '{new.text}'", _span(old), _span(new)
            )


def no_number(pair: Pair) -> Iterator[Violation]:
    """The original has a number that could be changed."""
    if not any(q.kind != "duration" and q.value is not None for q in pair.original.quantities):
        yield fail("no-number", "the original has no quantity that could be perturbed")


def quantity_lost(pair: Pair) -> Iterator[Violation]:
    """Every quantity of the original has its counterpart."""
    for meeting in _meetings(pair):
        if meeting.after is None and meeting.before is not None:
            quantity = pair.original.quantities[meeting.before]
            lenient = _is_aside(pair.original, quantity) or _is_one_now(pair, quantity)
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
    for meeting in _meetings(pair):
        if meeting.before is None and meeting.after is not None:
            quantity = pair.rewritten.quantities[meeting.after]
            told = review if _is_aside(pair.rewritten, quantity) else fail
            yield told("quantity-added", f"'{quantity.text}' is new", None, _span(quantity))


def quantity_unchanged(pair: Pair) -> Iterator[Violation]:
    """Every quantity has another value; periods of time keep theirs."""
    for i, j in _met(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        same = same_value(old, new)
        spans = (_span(old), _span(new))
        if old.kind == "duration":
            if same:
                continue
            told = fail if _is_time(pair.original, old) else review
            yield told("date-changed", f"'{old.text}' became '{new.text}'", *spans)
        elif same and old.value == 0:
            yield review("quantity-unchanged", f"'{old.text}' stays", *spans)
        elif same:
            told = (
                review
                if _is_aside(pair.original, old)
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
    for i, j in _met(pair):
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
    for i, j in _met(pair):
        old, new = pair.original.quantities[i], pair.rewritten.quantities[j]
        if old.kind != "percent" or old.value is None or new.value is None:
            continue
        spans = (_span(old), _span(new))
        size = abs(new.value)
        if not old.is_level and (old.direction or new.direction) == "down" and size > 100:
            yield fail("impossible-value", f"a decline of '{new.text}' is beyond 100%", *spans)
        elif bounded_share(pair.original.text, old) and old.is_level and not 0 <= new.value <= 100:
            yield fail("impossible-value", f"a share of '{new.text}' is outside 0 to 100%", *spans)
        elif old.role in ("margin", "share", "utilisation", "engagement") and size > 100:
            yield fail("impossible-value", f"a {old.role} of '{new.text}' is beyond 100%", *spans)


def limits(pair: Pair) -> Iterator[Violation]:
    """Each number lies in the range that its kind and direction allow."""
    bound = {i for relation in relations(pair.original) for i in relation.members}
    for i, j in _met(pair):
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
                    f"'{old.text}' became '{new.text}': beyond twice, within the absolute bound of 200%",
                    *spans,
                )
            continue
        message = f"'{old.text}' became '{new.text}'; allowed are {bounds.said(_unit(old))}"
        lenient = i in bound or _is_aside(pair.original, old) or _near(old, new, bounds.high)
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


def equal_quantities(pair: Pair) -> Iterator[Violation]:
    """A number that the original states twice is one number in the rewrite too."""
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    for i, j in _met(pair):
        old = pair.original.quantities[i]
        if old.value is None or old.kind == "duration" or _is_aside(pair.original, old):
            continue
        if old.kind == "number" and abs(old.value) < 20 and old.unit is None:
            continue
        groups[(old.kind, old.unit, abs(old.value))].append((i, j))
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


def _apart(a: Quantity, b: Quantity) -> bool:
    """Whether two equal figures measure different things, as far as their words tell."""
    if a.kind != "money" and (a.direction != b.direction or a.is_level != b.is_level):
        return True
    return a.role != b.role and not {a.role, b.role} & {"money", "percent", "number", "count"}


def comparisons_kept(pair: Pair) -> Iterator[Violation]:
    """What was above stays above: from and to, now and a year ago, result and expectation."""
    where = dict(_met(pair))
    checks = (
        ("direction-changed", "moved from", comparisons(pair.original)),
        ("beat-or-miss", "was expected to be", expected_figures(pair.original)),
        ("range-order", "is the low end, the high end being", _range_ends(pair.original)),
    )
    for rule, words, pairs in checks:
        for i, j in pairs:
            if i not in where or j not in where:
                continue
            old = [pair.original.quantities[k].value or 0.0 for k in (i, j)]
            new = [pair.rewritten.quantities[where[k]].value or 0.0 for k in (i, j)]
            before, after = old[1] - old[0], new[1] - new[0]
            if before * after > 0 or before == 0:
                continue
            a, b = (pair.rewritten.quantities[where[k]] for k in (i, j))
            if after == 0 and precision(a) > 0.05 * abs(new[0]):
                continue
            yield fail(
                rule,
                f"'{a.text}' {words} '{b.text}': the order of the original is turned round",
                (pair.original.quantities[i].start, pair.original.quantities[i].end),
                _span(b),
            )


def _range_ends(side: Side) -> list[tuple[int, int]]:
    return [
        (i, q.link[1])
        for i, q in enumerate(side.quantities)
        if q.link and q.link[0] == "range" and q.link[1] > i
    ]


def rate_decisions(pair: Pair) -> Iterator[Violation]:
    """A central bank moves its rate by no more than about one point from one level to the other."""
    where = dict(_met(pair))
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
    where = dict(_met(pair))
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
