"""coherence: a paragraph that contradicts itself was manipulated.

It looks for what arithmetic can decide: a direction against its from–to figures, a percent change
against them, a share or a decline over 100%, parts that exceed the whole, a beat or a miss against
its figures. Where nothing is found, the paragraph passes for unmanipulated: a consistent
manipulation is not seen, and an original that is itself badly worded is flagged.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.text.quantities import Quantity, quantities
from contrafact.text.tokens import sentence_spans

__all__ = ["Coherence", "Contradiction", "contradictions", "method"]

PERCENT_TOLERANCE = 1.0
"""A stated change and the one that two figures make may differ by this many percentage points, or
by a tenth of it: both figures are rounded."""

NEAR = 60
"""A percent change speaks of a from–to pair at most this many characters away, in its sentence."""

# Parts of one whole, as against answers to several questions of one survey.
_PARTS = re.compile(
    r"\b(?:ma[dk]es? up|making up|account(?:s|ed|ing)? for|contribut\w+|respectively|the rest"
    r"|remain\w+|split|mix)\b",
    re.IGNORECASE,
)
_BOUNDED = frozenset(("share", "utilisation", "unemployment"))


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements of one paragraph that cannot both hold, or one that cannot.

    Attributes:
        rule: ``direction``, ``percent change``, ``over 100%``, ``parts`` or ``expectation``.
        message: What does not fit, with the figures.
        start: Where the figures begin in the text.
        end: Where they end.
    """

    rule: str
    message: str
    start: int
    end: int


def contradictions(text: str) -> list[Contradiction]:
    """Return what contradicts itself in a paragraph, in order of place."""
    found = quantities(text)
    sentences = sentence_spans(text)
    number = [_sentence_of(q.start, sentences) for q in found]
    told = [
        *_directions(found),
        *_changes(found, number),
        *_impossible(found),
        *_parts(text, found, number, sentences),
        *_expectations(found, number),
    ]
    return sorted(told, key=lambda one: (one.start, one.end, one.rule))


def _directions(found: Sequence[Quantity]) -> Iterator[Contradiction]:
    for old, new in _moves(found):
        if old.direction is None or old.value is None or new.value is None:
            continue
        if (old.direction == "up") != (new.value > old.value) or new.value == old.value:
            yield _told(
                "direction", f"said to go {old.direction} from {old.text} to {new.text}", old, new
            )


def _changes(found: Sequence[Quantity], number: Sequence[int]) -> Iterator[Contradiction]:
    places = {id(q): at for q, at in zip(found, number, strict=True)}
    for old, new in _moves(found):
        if not old.value or new.value is None or old.kind in ("percent", "basis points"):
            continue
        actual = (new.value / old.value - 1.0) * 100.0
        near = [
            q
            for q in found
            if q.kind == "percent"
            and not q.is_level
            and q.value is not None
            and q.role == new.role
            and places[id(q)] == places[id(new)]
            and _gap(q, old, new) <= NEAR
        ]
        for change in near:
            stated = abs(float(change.value or 0.0))
            if abs(stated - abs(actual)) > max(PERCENT_TOLERANCE, 0.1 * abs(actual)):
                yield _told(
                    "percent change",
                    f"{old.text} to {new.text} is {actual:+.1f}%, said to be {change.text}",
                    change,
                    old,
                    new,
                )


def _impossible(found: Sequence[Quantity]) -> Iterator[Contradiction]:
    for q in found:
        if q.kind != "percent" or q.value is None or abs(q.value) <= 100.0:
            continue
        if q.is_level and q.role in _BOUNDED:
            yield _told("over 100%", f"a {q.role} of {q.text}", q)
        elif not q.is_level and q.direction == "down":
            yield _told("over 100%", f"a decline of {q.text}", q)


def _parts(
    text: str,
    found: Sequence[Quantity],
    number: Sequence[int],
    sentences: Sequence[tuple[int, int]],
) -> Iterator[Contradiction]:
    for at, (start, end) in enumerate(sentences):
        if not _PARTS.search(text[start:end]):
            continue
        parts = [
            q
            for q, place in zip(found, number, strict=True)
            if place == at and q.role == "share" and q.is_level and q.link is None and q.value
        ]
        total = sum(float(q.value or 0.0) for q in parts)
        if len(parts) > 1 and total > 100.5:
            shown = " + ".join(q.text for q in parts)
            yield _told("parts", f"{shown} is more than the whole", *parts)


def _expectations(found: Sequence[Quantity], number: Sequence[int]) -> Iterator[Contradiction]:
    for at, result in enumerate(found):
        # The two ends of a from–to pair are no result and its forecast.
        if result.expectation is None or result.value is None or result.link is not None:
            continue
        if not result.is_level:
            continue
        rivals = [
            (abs(other.start - result.start), other)
            for other, place in zip(found, number, strict=True)
            if other.is_estimate
            and other.link is None
            and place == number[at]
            and other.value is not None
            and (other.kind, other.unit) == (result.kind, result.unit)
            and (other.role == result.role or "money" in (other.role, result.role))
        ]
        if not rivals:
            continue
        expected = min(rivals, key=lambda rival: rival[0])[1]
        if result.is_loss != expected.is_loss:
            continue
        better = result.value < float(expected.value or 0.0)
        better = better if result.is_loss else result.value > float(expected.value or 0.0)
        if result.value == expected.value or better != (result.expectation == "beat"):
            yield _told(
                "expectation",
                f"{result.text} against {expected.text} expected is called a {result.expectation}",
                result,
                expected,
            )


def _moves(found: Sequence[Quantity]) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield the old and the new figure of each from–to pair."""
    for q in found:
        if q.link is not None and q.link[0] == "from-to" and q.is_old:
            yield q, found[q.link[1]]


def _gap(change: Quantity, old: Quantity, new: Quantity) -> int:
    first, last = min(old.start, new.start), max(old.end, new.end)
    return max(first - change.end, change.start - last, 0)


def _told(rule: str, message: str, *where: Quantity) -> Contradiction:
    return Contradiction(rule, message, min(q.start for q in where), max(q.end for q in where))


def _sentence_of(position: int, sentences: Sequence[tuple[int, int]]) -> int:
    return next(at for at, (_, end) in enumerate(sentences) if position < end)


class Coherence:
    """The detector as a solver; what it found is the answer's rationale."""

    name = "coherence"
    shots = 0

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        return self.answer(item)

    def answer(self, item: Item) -> Answer:
        """Return the answer to one item; its score falls with every contradiction."""
        found = contradictions(item.shown)
        p_true = 1.0 / (1.0 + len(found))
        return Answer(
            FALSE if found else TRUE,
            rationale="; ".join(f"{one.rule}: {one.message}" for one in found) or None,
            probabilities={TRUE: p_true, FALSE: 1.0 - p_true},
            trace={"contradictions": [asdict(one) for one in found]},
        )

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """Return no calls."""
        return []


def method(context: MethodContext) -> Coherence:
    """Return the method.

    Raises:
        InputError: for diagnosis, where nothing has to be detected.
    """
    if context.task != "rfc-detect":
        raise InputError(
            "the coherence detector reads one text and knows no kinds of manipulation",
            hint="use it with rfc-detect",
        )
    return Coherence()
