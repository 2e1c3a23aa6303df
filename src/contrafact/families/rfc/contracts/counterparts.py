"""Which direction of the rewrite stands for which of the original."""

from dataclasses import dataclass

from contrafact.families.rfc.contracts.align import Change
from contrafact.families.rfc.contracts.pair import Pair
from contrafact.families.rfc.contracts.signals import Signal, signals

__all__ = ["Directions", "directions"]

Slot = int | Change


@dataclass(frozen=True)
class Directions:
    """The directions of both texts, and which of them stand for which.

    Attributes:
        before: The original's, in order.
        after: The rewrite's.
        met: For each of the original's, those of the rewrite that stand in its place.
        new: Those of the rewrite that stand in no direction's place.
    """

    before: list[Signal]
    after: list[Signal]
    met: list[list[Signal]]
    new: list[Signal]


def directions(pair: Pair) -> Directions:
    """Return the directions of a pair laid beside each other.

    A direction of the rewrite stands for one of the original where the two share an unchanged
    word, or a changed stretch.
    """
    known = pair.memo.get("directions")
    if not isinstance(known, Directions):
        known = pair.memo["directions"] = _compute(pair)
    return known


def _compute(pair: Pair) -> Directions:
    before, after = signals(pair.original), signals(pair.rewritten)
    ours = [_slots(pair, signal, original=True) for signal in before]
    theirs = [_slots(pair, signal, original=False) for signal in after]
    met = [[r for r, slots in zip(after, theirs, strict=True) if slots & mine] for mine in ours]
    taken: set[Slot] = set().union(*ours)
    new = [r for r, slots in zip(after, theirs, strict=True) if not slots & taken]
    return Directions(before, after, met, new)


def _slots(pair: Pair, signal: Signal, *, original: bool) -> set[Slot]:
    side = pair.original if original else pair.rewritten
    found: set[Slot] = set()
    for start, end in signal.parts:
        for i in side.span_tokens(start, end):
            change = pair.alignment.change_at(i) if original else pair.alignment.change_of(i)
            if change is not None:
                found.add(change)
            else:
                found.add(i if original else pair.alignment.to_before[i])
    return found
