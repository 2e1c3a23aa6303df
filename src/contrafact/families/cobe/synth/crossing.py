"""Crossing: stories of one plot whose right answers are wrong answers of one another.

A block is four stories over the same events, told in the same words, that differ in their facts, in
what the facts imply, or in what is supposed. Each has its right edit, and the right edit of each is
offered, word for word, as a wrong one to the other three (docs/synth.md).

Worlds are bits of whole numbers here (`plots`), which makes thousands of situations a second cheap
to look at. What is chosen is proven afterwards by `contrafact.causal` from the model as a file
holds it, and read back by `prove`; neither shares this code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from random import Random

import numpy as np
from numpy.typing import NDArray

from contrafact.families.cobe.synth.plots import LEVELS_OF_BASE, Plot

SIZE = 4
"""Stories in a block."""
_DRAWS, _POOL = 160, 28
"""Situations that are drawn of a plot, and how many make a pool in which a block is sought."""
_ONE_CHANGE, _TWO_CHANGES = 0.62, 0.9
"""Below the first, one thing is supposed; below the second, two; else three."""
_GROUPS, _ROUNDS = 2000, 8
"""Groups of four that are looked at, and how many of the best are tried."""
_MOST_CLAIMS = 3
_MOST_APART = 3.5
"""How much more one group of answers may fail than the other (`_voiced`)."""
_E1, _E2 = 1, 2
_DUE_E1, _DUE_E2, _DUE_UNDONE = 2, 2, 3
"""How many of the three other answers shall fail E1, and E2, in every story of a block; and how
many of all twelve shall undo the edit."""
_UNEVEN, _UNLIKE, _FAR, _UNDONE, _UNSHARED = 2.0, 1.5, 3.0, 2.2, 3.0
_OPEN_WORTH, _RARE_WORTH = 8.0, 0.8
_SIZE_COST, _COST_UNIT = (0, 0, 3, 15, 40), 10.0
_MOST_UNEVEN = 4


@dataclass(frozen=True, slots=True)
class Claim:
    """What a connector says: that an effect follows from causes, or comes in spite of them."""

    causes: tuple[str, ...]
    effect: str
    follows: bool


@dataclass(frozen=True, eq=False)
class Situation:
    """Facts of a plot, what is supposed of them, and what becomes of every event.

    ``worlds``, a mask, are those that the facts allow; ``after`` is None where they differ.
    """

    plot: Plot
    facts: Mapping[str, bool]
    base: int
    supposed: Mapping[str, bool]
    worlds: int
    after: Mapping[str, bool | None]

    @cached_property
    def before_quantity(self) -> int:
        """The quantity as the story tells it; 0 without one."""
        return self.plot.measure.value(self.base, self.facts) if self.plot.measure else 0

    @cached_property
    def after_quantity(self) -> int:
        """The quantity under what is supposed; 0 without one."""
        values = {name: bool(value) for name, value in self.after.items()}
        return self.plot.measure.value(self.base, values) if self.plot.measure else 0

    @cached_property
    def implied(self) -> dict[str, bool]:
        """The latent facts that the story implies."""
        found: dict[str, bool] = {}
        for latent in () if self.plot.hedged else self.plot.latents:
            there = self.worlds & self.plot.masks[latent]
            if there in (0, self.worlds):
                found[latent] = there != 0
        return found

    @cached_property
    def bits(self) -> tuple[int, int, int, int, int]:
        """Facts, answer, what stays, what changes and what is open, one bit for each event."""
        facts = answer = stays = changes = opened = 0
        for place, (name, fact) in enumerate(self.facts.items()):
            bit, then = 1 << place, self.after[name]
            facts |= bit * fact
            if then is None:
                opened |= bit
            else:
                answer |= bit * then
                if name in self.supposed or then != fact:
                    changes |= bit
                else:
                    stays |= bit
        return facts, answer, stays, changes, opened

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Everything that a connector of its right answer may say of events.

        Of the quantity, which is never set, it would be right in almost every story, and the number
        next to it would show that.
        """
        return tuple(
            claim
            for claim in _sayable(self.plot)[0]
            if true_claim(self.plot, claim, self.after, self.worlds, self.supposed)
        )

    @cached_property
    def supposed_bits(self) -> int:
        """What is supposed, one bit for each event."""
        return sum(1 << place for place, name in enumerate(self.facts) if name in self.supposed)

    @cached_property
    def story_claims(self) -> tuple[Claim, ...]:
        """Everything that a connector of the story itself may say."""
        return tuple(
            claim
            for claim in _sayable(self.plot)[1]
            if true_claim(self.plot, claim, self.facts, self.worlds, {})
        )


def _told_in(plot: Plot, world: int) -> tuple[dict[str, bool], int]:
    """Return the facts of a world, and all worlds with the same facts."""
    masks = plot.masks
    facts = {name: bool(masks[name] >> world & 1) for name in plot.events}
    worlds = plot.everything
    for name, fact in facts.items():
        worlds &= masks[name] if fact else ~masks[name]
    return facts, worlds


def _acted(
    plot: Plot, facts: Mapping[str, bool], worlds: int, base: int, chosen: Sequence[str]
) -> Situation:
    supposed = {name: not facts[name] for name in chosen}
    then = dict(plot.masks)
    after: dict[str, bool | None] = {}
    touched: set[str] = set()
    for name, gate in plot.gates.items():
        if name in supposed:
            then[name] = plot.everything if supposed[name] else 0
            touched.add(name)
        elif not touched.isdisjoint(gate.parents):
            then[name] = gate.happens(then)
            touched.add(name)
        else:
            after[name] = facts[name]
            continue
        there = then[name] & worlds
        after[name] = True if there == worlds else False if there == 0 else None
    return Situation(plot, facts, base, supposed, worlds, after)


def true_claim(
    plot: Plot,
    claim: Claim,
    values: Mapping[str, bool | None],
    worlds: int,
    cut: Mapping[str, bool],
) -> bool:
    """Tell whether a connector is right between what a text asserts.

    "Because" needs that the effect is what its mechanism gives, and would not be without the
    causes; so it is wrong where the intervention has cut the effect from them. "Although" needs
    that the effect is not what the causes further.
    """
    gate = plot.gates.get(claim.effect)
    if gate is None:  # a quantity, which its causes move one way
        causes = {values[name] for name in claim.causes}
        return claim.follows and None not in causes and len(causes) == 1
    effect = values[claim.effect]
    if effect is None or (claim.follows and claim.effect in cut):
        return False
    for name in claim.causes:
        cause = values[name]
        if cause is None or (cause == effect) != claim.follows:
            return False
    if not claim.follows:
        return True
    masks = {gate.without: plot.masks[gate.without]} if gate.without else {}
    for name in gate.parents:
        value = values[name]
        if value is None:
            return False
        masks[name] = plot.everything if value else 0
    there = gate.happens(masks) & worlds
    for name in claim.causes:
        masks[name] = 0 if effect else plot.everything
    without = gate.happens(masks) & worlds
    return (there, without) == ((worlds, 0) if effect else (0, worlds))


@lru_cache(maxsize=4)
def _sayable(plot: Plot) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """Return the claims that are worth a look, of events and of all: one cause, or both of two."""
    found = []
    for effect, causes in plot.parents.items():
        for follows in (True, False):
            found += [Claim((cause,), effect, follows) for cause in causes]
            if len(causes) == 2:
                found.append(Claim(tuple(causes), effect, follows))
    return tuple(claim for claim in found if claim.effect in plot.gates), tuple(found)


@dataclass(frozen=True)
class Block:
    """Stories of one plot, and what each answer fails in each story.

    Attributes:
        latent: The latent fact that every answer mentions, and not all stories imply alike; none
            where there is none.
        voiced: For every story, the claims that its answer's connectors make; told: its own.
        fails: For every answer and every story, the criteria that it fails there; none on its own.
    """

    stories: tuple[Situation, ...]
    latent: str | None
    voiced: tuple[tuple[Claim, ...], ...]
    told: tuple[tuple[Claim, ...], ...]
    fails: tuple[tuple[frozenset[str], ...], ...]


def draw_block(plot: Plot, rng: Random) -> Block | None:
    """Return a block of a plot; None if the draw came to nothing."""
    latent = next(iter(plot.latents), None) if not plot.hedged else None
    pool = _pool(plot, latent, rng)
    if len(pool) < SIZE:
        return None
    pairs = _Pairs.of(pool, latent)
    for chosen in _searched(pairs, rng):
        stories = tuple(pool[place] for place in chosen)
        if latent is not None and len({one.implied[latent] for one in stories}) == 1:
            continue  # no answer could be wrong about it
        patterns = pairs.fails[np.ix_(chosen, chosen)].tolist()
        voiced = _voiced(stories, patterns, rng)
        if voiced is None:
            continue
        fails = tuple(tuple(map(_names, row)) for row in patterns)
        if all(bool(f) != (i == j) for i, row in enumerate(fails) for j, f in enumerate(row)):
            return Block(stories, latent, voiced, _told(stories, rng), fails)
    return None


def _pool(plot: Plot, latent: str | None, rng: Random) -> list[Situation]:
    """Return situations that make a story: something stays, and the quantity moves."""
    size = plot.everything.bit_length()
    measured = plot.measure.parents if plot.measure is not None else ()
    parents = plot.parents
    caused = {name for causes in parents.values() for name in causes}
    caused |= set(plot.common[:2]) if plot.common else set()
    # An outcome is never set where a hidden fact would prevent it that answers tell.
    held = plot.latents[latent] if latent is not None else ""
    linked = [name for name in plot.events if (parents[name] or name in caused) and name != held]
    found: list[Situation] = []
    seen: set[tuple[int, int, tuple[str, ...]]] = set()
    told: dict[int, tuple[dict[str, bool], int]] = {}
    for _ in range(_DRAWS):
        luck = rng.random()
        number = 1 if luck < _ONE_CHANGE else 2 if luck < _TWO_CHANGES else 3
        chosen = {linked[int(rng.random() * len(linked))] for _ in range(number)}
        base = int(rng.random() * LEVELS_OF_BASE) if measured else 0
        world = int(rng.random() * size)
        if world not in told:
            told[world] = _told_in(plot, world)
        facts, worlds = told[world]
        if latent is not None and plot.masks[latent] & worlds not in (0, worlds):
            continue
        key = (worlds, base, tuple(sorted(chosen)))
        if key in seen:
            continue
        seen.add(key)
        one = _acted(plot, facts, worlds, base, key[2])
        if measured and (
            any(one.after[name] is None for name in measured)
            or one.after_quantity == one.before_quantity
        ):
            continue
        if one.bits[2] and one.claims:
            found.append(one)
            if len(found) == _POOL:
                break
    return found


@dataclass(frozen=True, eq=False)
class _Pairs:
    """What every answer of a pool is like in every story of it; rows are answers.

    Attributes:
        fails: Which criteria an answer fails in a story, connectors apart: the bit n of E(n + 1).
        counts: What is counted of an answer in a story, a matrix for each of ``names``.
        own: By how many events each right answer differs from its story.
    """

    fits: NDArray[np.bool_]
    fails: NDArray[np.int64]
    names: tuple[str, ...]
    counts: NDArray[np.int64]
    own: NDArray[np.int64]
    opened: NDArray[np.bool_]

    @classmethod
    def of(cls, pool: Sequence[Situation], latent: str | None) -> "_Pairs":
        facts, answer, stays, changes, opened = np.array([one.bits for one in pool]).T
        supposed = np.array([one.supposed_bits for one in pool])
        differs = (answer[:, None] ^ facts) & ~opened[:, None]
        first = ((differs | opened[:, None]) & stays) != 0
        kept = ~(differs | opened[:, None]) & changes
        second, undone = kept != 0, (kept & supposed) != 0
        fits = (opened[:, None] & changes) == 0
        fourth = fifth = np.zeros_like(first)
        further = np.zeros(first.shape, dtype=np.int64)
        if pool[0].plot.measure is not None:
            before = np.array([one.before_quantity for one in pool])
            after = np.array([one.after_quantity for one in pool])
            moved = after[:, None] - before
            due = after - before
            fourth = (moved > 0) != (due > 0)
            further = np.sign(np.abs(moved) - np.abs(due))
            # The very number of the story would show what was not edited.
            fits &= moved != 0
        if latent is not None:
            implied = np.array([one.implied[latent] for one in pool])
            fifth = implied[:, None] != implied
        failures = 0 + first + second + fourth + fifth
        fits &= failures > 0
        np.fill_diagonal(fits, False)
        size = np.bitwise_count(differs.astype(np.uint64)).astype(np.int64)
        counted = {
            "first": first,
            "second": second,
            "undone": undone,
            "forgotten": second & ~undone,
            "fourth": fourth,
            "fifth": fifth,
            "away": further != 0,
            "further": further + 1,
            "differs": size,
            "cost": np.array(_SIZE_COST)[failures],
        }
        counts = np.stack([values.astype(np.int64) for values in counted.values()])
        fails = first * _E1 | second * _E2 | fourth * 8 | fifth * 16
        own = size.diagonal().copy()
        return cls(fits & fits.T, fails, tuple(counted), counts, own, opened != 0)


def _searched(pairs: _Pairs, rng: Random) -> list[list[int]]:
    """Return groups of four situations whose answers fail each other's stories in balance.

    Of the three other answers, about as many fail E1, and about as many E2, in every story: else
    how many facts its criteria list would say how many of its answers fail them. Two stories imply
    what is hidden and two its opposite: else the rarer would be the one that is wrong. Wrong
    answers differ from a story by about as many events, and in its number by about as much, as the
    right one: else the least edit that does what the query asks would be the right one.
    """
    size = len(pairs.own)
    draw = np.random.default_rng(rng.getrandbits(64))
    chosen = draw.integers(0, size, (SIZE, _GROUPS))
    for i, j in combinations(range(SIZE), 2):
        chosen = chosen[:, pairs.fits[chosen[i], chosen[j]]]
    if not chosen.size:
        return []
    cost: NDArray[np.float64] = np.asarray(draw.random(chosen.shape[1]))
    uneven, undone, far = np.zeros((3, chosen.shape[1]), dtype=np.int64)
    for j in range(SIZE):
        others = [i for i in range(SIZE) if i != j]
        sums = pairs.counts[:, chosen[others], chosen[j]].sum(axis=1)
        part = dict(zip(pairs.names, sums, strict=True))
        uneven += np.abs(part["first"] - _DUE_E1) + np.abs(part["second"] - _DUE_E2)
        undone += part["undone"]
        far += part["further"] - (SIZE - 1)
        rare = (part["fourth"] > 0) * 1 + (part["fifth"] > 0) + (part["forgotten"] > 0)
        cost = cost + part["cost"] / _COST_UNIT - _RARE_WORTH * rare
        cost += _FAR * part["away"]
        cost += _UNLIKE * np.abs(part["differs"] / (SIZE - 1) - pairs.own[chosen[j]])
        cost -= _OPEN_WORTH * pairs.opened[chosen[j]]
        cost += _UNSHARED * np.abs(part["fifth"] - SIZE // 2)
    cost += _UNEVEN * uneven + _FAR * np.abs(far) + _UNDONE * np.abs(undone - _DUE_UNDONE)
    cost[uneven > _MOST_UNEVEN] = np.inf
    best: dict[frozenset[int], list[int]] = {}
    for place in np.argsort(cost, kind="stable"):
        if cost[place] == np.inf or len(best) == _ROUNDS:
            break
        group = chosen[:, place].tolist()
        best.setdefault(frozenset(group), group)
    return list(best.values())


def _voiced(
    stories: Sequence[Situation], patterns: Sequence[Sequence[int]], rng: Random
) -> tuple[tuple[Claim, ...], ...] | None:
    """Return what the connectors of the answers claim.

    As many answers have a connector of consequence alone as have one of contrast alone; the others
    have one of each. So an answer whose connectors are all turned has what right ones have. The
    two groups fail E1 and E2 in other stories about as often: else the sort of a connector would
    say something of that. ``patterns`` is what every right answer fails in every story.
    """
    sides = [
        tuple([claim for claim in one.claims if claim.follows is side] for side in (True, False))
        for one in stories
    ]
    weight = [
        sum(2 * bool(pattern & _E2) + bool(pattern & _E1) for pattern in row) for row in patterns
    ]
    everyone = range(len(stories))
    best: tuple[float, frozenset[int], frozenset[int]] | None = None
    for most in (0, 1, 2):
        for follows in combinations([i for i in everyone if sides[i][0]], most):
            for against in combinations([i for i in everyone if sides[i][1]], most):
                alone = {*follows, *against}
                if len(alone) < 2 * most or not all(
                    all(pair) for i, pair in enumerate(sides) if i not in alone
                ):
                    continue
                apart = abs(sum(weight[i] for i in follows) - sum(weight[i] for i in against))
                cost = apart + rng.random()
                if best is None or cost < best[0]:
                    best = cost, frozenset(follows), frozenset(against)
    if best is None or best[0] > _MOST_APART:
        return None
    alone_in = best[1:]
    found = []
    for i, pair in enumerate(sides):
        chosen = [rng.choice(pair[k]) for k in (0, 1) if i not in alone_in[1 - k]]
        if len(chosen) == 2 and chosen[0].effect == chosen[1].effect:
            others = [one for one in pair[1] if one.effect != chosen[0].effect]
            if not others:
                return None
            chosen[1] = rng.choice(others)
        found.append(tuple(chosen))
    return tuple(found)


def _told(stories: Sequence[Situation], rng: Random) -> tuple[tuple[Claim, ...], ...]:
    """Return what the connectors of the stories claim, as many of each sort in every one."""
    drafts: list[tuple[list[Claim], list[Claim]]] = []
    for one in stories:
        taken: list[Claim] = []
        claims = list(one.story_claims)
        rng.shuffle(claims)
        for claim in claims:
            # One to an effect; with a cause in common a text would name it again and again.
            if not any(
                other.effect == claim.effect
                or (other.causes != claim.causes and set(other.causes) & set(claim.causes))
                for other in taken
            ):
                taken.append(claim)
        drafts.append(([c for c in taken if not c.follows], [c for c in taken if c.follows]))
    against = min(min(len(other) for other, _ in drafts), 1 + int(rng.random() * 2))
    follows = min(min(len(some) for _, some in drafts), _MOST_CLAIMS - against)
    return tuple((*some[:follows], *other[:against]) for other, some in drafts)


def _names(pattern: int) -> frozenset[str]:
    return frozenset(f"E{n + 1}" for n in range(5) if pattern >> n & 1)
