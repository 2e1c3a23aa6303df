"""Worked examples for detection (RFC-BENCH, section 3.2 and appendix T).

Two shots are an unmanipulated and a manipulated example of the item's own category; eight are four
pairs, numerical, sentiment, flipping and causal in this order. Within a pair the unmanipulated
member comes first. Which pairs of the pool are taken depends on the seed and the draw alone, so
that all models and items see the same ones; a pair of the item's own article is passed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contrafact.errors import InputError
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.records import Manipulation, Rewrite

__all__ = ["EIGHT_SHOT_ORDER", "SHOTS", "Shot", "Shots"]

SHOTS: tuple[int, ...] = (0, 2, 8)
EIGHT_SHOT_ORDER: tuple[Manipulation, ...] = ("numerical", "sentiment", "flipping", "causal")


@dataclass(frozen=True)
class Shot:
    """A worked example: a paragraph and its label."""

    paragraph: str
    label: str


class Shots:
    """The examples of a run.

    Args:
        count: 0, 2 or 8.
        pool: Pairs with originals.
        seed: Seed of the choice.

    Raises:
        InputError: for another count, or a pool that lacks two articles of some category that are
            needed (one for most items, another for the items of the first).
    """

    def __init__(self, count: int, pool: Sequence[Rewrite], *, seed: int = 0):
        if count not in SHOTS:
            raise InputError(
                f"there is no {count}-shot prompt", hint="use 0, 2 or 8 examples (--shots)"
            )
        self.count = count
        self._seed = seed
        self._by_kind: dict[Manipulation, list[Rewrite]] = {
            kind: [pair for pair in pool if pair.manipulation == kind and pair.original]
            for kind in EIGHT_SHOT_ORDER
        }
        for kind, pairs in self._by_kind.items():
            if count and len({pair.article_id for pair in pairs}) < 2:
                raise InputError(
                    f"the pool of examples has fewer than two articles with a {kind} pair",
                    hint="give a larger file with --shots-from",
                )

    def of(self, item: Item, *, draw: int = 1) -> list[Shot]:
        """Return the examples for one item, in the prompt's order."""
        if not self.count:
            return []
        kinds = (item.pair.manipulation,) if self.count == 2 else EIGHT_SHOT_ORDER
        found = []
        for kind in kinds:
            pair = self._pair(kind, item, draw)
            found += [Shot(pair.original, TRUE), Shot(pair.rewritten, FALSE)]
        return found

    def _pair(self, kind: Manipulation, item: Item, draw: int) -> Rewrite:
        pool = self._by_kind[kind]
        stream = [self._seed, draw, EIGHT_SHOT_ORDER.index(kind)]
        order = np.random.default_rng(stream).permutation(len(pool))
        texts = {item.pair.original, item.pair.rewritten}
        for position in order:
            pair = pool[int(position)]
            own = pair.article_id == item.pair.article_id or texts & {pair.original, pair.rewritten}
            if not own:
                return pair
        raise InputError(
            f"all {kind} examples are of the item's own article ({item.pair.article_id})",
            hint="give a larger file with --shots-from",
        )
