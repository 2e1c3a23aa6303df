"""Crossing: stories of one plot whose right answers are wrong answers of one another.

A block is four stories over the same events, told in the same words, that differ in their facts, in
what the facts imply, or in what is supposed. Each has its right edit, and the right edit of each is
offered, word for word, as a wrong one to the other three. So nothing that an answer says by itself
tells whether it is right (docs/synth.md).

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

__all__ = ["SIZE", "Block", "Claim", "Situation", "draw_block", "situation", "true_claim"]

SIZE = 4
"""Stories in a block."""
_DRAWS, _POOL = 160, 28
"""Situations that are drawn of a plot, and how many make a pool in which a block is sought."""
_ONE_CHANGE, _TWO_CHANGES = 0.62, 0.9
"""Below the first, one thing is supposed; below the second, two; else three."""
_GROUPS, _ROUNDS = 2000, 8
"""Groups of four that are looked at, and how many of the best are tried."""
_VOICINGS = 16
_MOST_MISJOINED = 3
_E1, _E2, _E3, _E4, _E5 = (1 << n for n in range(5))
_DUE_E1, _DUE_E2, _DUE_UNDONE = 2, 1, 2
"""How many of the three other answers shall fail E1, and E2, in every story of a block; and how
many of all twelve shall undo the edit."""
_FIELDS = {
    **{
        name: (2 * place, 3)
        for place, name in enumerate(
            ("first", "second", "undone", "forgotten", "third", "fourth", "fifth", "away")
        )
    },
    "further": (16, 7),
    "differs": (19, 31),
    "cost": (24, 255),
}
"""Where the counts of a pair stand, and the most that three of them can come to."""
_UNEVEN, _UNLIKE, _FAR, _UNDONE, _UNSHARED = 2.0, 1.5, 3.0, 2.2, 3.0
_OPEN_WORTH, _RARE_WORTH = 8.0, 0.8
_NEVER = 50.0
_FAILURE_COST = (_NEVER, 0.0, 0.2, 0.8, 5.0, 9.0)
"""What it costs that a wrong answer fails so many criteria; without any it would be right."""
_CLOSE, _GOOD_VOICING = 1.0, 6.0
_UNJOINED = 0.7
_SIZE_COST, _COST_UNIT = (0, 0, 3, 15, 40), 10.0
_MOST_UNEVEN = 5


@dataclass(frozen=True, slots=True)
class Claim:
    """What a connector says: that an effect follows from causes, or comes in spite of them."""

    causes: tuple[str, ...]
    effect: str
    follows: bool


@dataclass(frozen=True, eq=False)
class Situation:
    """Facts of a plot, what is supposed of them, and what becomes of every event.

    Attributes:
        base: The level of the quantity's base.
        worlds: The worlds that the facts allow, as a mask.
        after: What is so then; None where the facts leave it open.
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
        found = {}
        for latent in self.plot.latents:
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
    def joined_bits(self) -> int:
        """What connectors of its right answer may say to follow or to come in spite, one bit each.

        None of it is set for want of a connector of consequence.
        """
        if not any(claim.follows for claim in self.claims):
            return 0
        effects = {claim.effect for claim in self.claims}
        return sum(1 << place for place, name in enumerate(self.facts) if name in effects)

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


def situation(plot: Plot, world: int, base: int, chosen: Sequence[str]) -> Situation:
    """Return what follows where some events of a world are supposed to be otherwise."""
    return _acted(plot, *_told_in(plot, world), base, chosen)


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
            then[name] = gate.trouble(then)
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

    Nothing but neutral joining is right where the intervention has cut the effect from its causes.
    "Because" needs that the effect is what its mechanism gives, and would not be without the
    causes; "although" that the effect is not what the causes further.
    """
    if claim.effect in cut:
        return False
    gate = plot.gates.get(claim.effect)
    if gate is None:  # a quantity, which trouble always moves one way
        causes = {values[name] for name in claim.causes}
        return claim.follows and None not in causes and len(causes) == 1
    effect = values[claim.effect]
    if effect is None:
        return False
    for name in claim.causes:
        cause = values[name]
        if cause is None or (cause == effect) != claim.follows:
            return False
    if not claim.follows:
        return True
    masks = {name: plot.masks[name] for name in (*gate.without, *gate.other)}
    for name in gate.parents:
        value = values[name]
        if value is None:
            return False
        masks[name] = plot.everything if value else 0
    there = gate.trouble(masks) & worlds
    for name in claim.causes:
        masks[name] = 0 if effect else plot.everything
    without = gate.trouble(masks) & worlds
    return (there, without) == ((worlds, 0) if effect else (0, worlds))


@lru_cache(maxsize=4)
def _sayable(plot: Plot) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """Return the claims that are worth a look, of events and of all: one cause, or both of two."""
    parents = {name: gate.parents for name, gate in plot.gates.items()}
    if plot.measure is not None:
        parents[plot.told[-1]] = plot.measure.parents
    found = []
    for effect, causes in parents.items():
        for follows in (True, False):
            found += [Claim((cause,), effect, follows) for cause in causes]
            if len(causes) == 2:
                found.append(Claim(tuple(causes), effect, follows))
    return tuple(claim for claim in found if claim.effect in plot.gates), tuple(found)


@dataclass(frozen=True)
class Block:
    """Stories of one plot, and what each answer fails in each story.

    Attributes:
        latent: The latent fact that every answer mentions, and not all stories imply alike.
        voiced: For every story, the claims that its answer's connectors make.
        told: For every story, the claims that its own connectors make.
        fails: For every answer and every story, the criteria that it fails there; none on its own.
    """

    stories: tuple[Situation, ...]
    latent: str | None
    voiced: tuple[tuple[Claim, ...], ...]
    told: tuple[tuple[Claim, ...], ...]
    fails: tuple[tuple[frozenset[str], ...], ...]


def draw_block(plot: Plot, rng: Random) -> Block | None:
    """Return a block of a plot; None if the draw came to nothing."""
    latent = rng.choice(list(plot.latents)) if plot.latents else None
    pool = _pool(plot, latent, rng)
    if len(pool) < SIZE:
        return None
    for chosen in _searched(_Pairs.of(pool, latent), rng):
        stories = tuple(pool[place] for place in chosen)
        if latent is not None and len({one.implied[latent] for one in stories}) == 1:
            continue  # no answer could be wrong about it
        voiced = _voiced(stories, latent, rng)
        if voiced is None:
            continue
        fails = tuple(
            tuple(
                _names(_pattern(one, other, latent) | _misjoined(one, claims, other))
                for other in stories
            )
            for one, claims in zip(stories, voiced, strict=True)
        )
        if all(bool(f) != (i == j) for i, row in enumerate(fails) for j, f in enumerate(row)):
            return Block(stories, latent, voiced, _told(stories, rng), fails)
    return None


def _pool(plot: Plot, latent: str | None, rng: Random) -> list[Situation]:
    """Return situations that make a story: something stays, and the quantity moves."""
    size = plot.everything.bit_length()
    measured = plot.measure.parents if plot.measure is not None else ()
    caused = {name for gate in plot.gates.values() for name in gate.parents}
    linked = [
        name
        for name, gate in plot.gates.items()
        if gate.parents or name in caused or name in measured
    ]
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
        if one.bits[2] and one.joined_bits:
            found.append(one)
            if len(found) == _POOL:
                break
    return found


@dataclass(frozen=True, eq=False)
class _Pairs:
    """What every answer of a pool is like in every story of it; rows are answers.

    Attributes:
        fits: Which two go together, both ways.
        counts: What is counted of an answer in a story, packed by `_FIELDS`, so that one sum
            over the answers sums them all.
        own: By how many events each right answer differs from its story.
        opened: Which situations leave something open.
    """

    fits: NDArray[np.bool_]
    counts: NDArray[np.int64]
    own: NDArray[np.int64]
    opened: NDArray[np.bool_]

    @classmethod
    def of(cls, pool: Sequence[Situation], latent: str | None) -> "_Pairs":
        facts, answer, stays, changes, opened = np.array([one.bits for one in pool]).T
        supposed = np.array([one.supposed_bits for one in pool])
        joined = np.array([one.joined_bits for one in pool])
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
        # Where all else agrees, connectors have to differ: `draw_block` sees to it.
        alike = failures + failures.T == 0
        fits &= ~(alike & (answer[:, None] == answer) & (facts[:, None] == facts))
        np.fill_diagonal(fits, False)
        size = np.bitwise_count(differs.astype(np.uint64)).astype(np.int64)
        fields = {
            "first": first,
            "second": second,
            "undone": undone,
            "forgotten": second & ~undone,
            "third": (joined[:, None] & supposed) != 0,
            "fourth": fourth,
            "fifth": fifth,
            "away": further != 0,
            "further": further + 1,
            "differs": size,
            "cost": np.array(_SIZE_COST)[failures],
        }
        counts = np.zeros(first.shape, dtype=np.int64)
        for name, values in fields.items():
            counts += values.astype(np.int64) << _FIELDS[name][0]
        return cls(fits & fits.T, counts, size.diagonal().copy(), opened != 0)


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
        counts = sum(pairs.counts[chosen[i], chosen[j]] for i in range(SIZE) if i != j)
        part = {name: counts >> start & most for name, (start, most) in _FIELDS.items()}
        uneven += np.abs(part["first"] - _DUE_E1) + np.abs(part["second"] - _DUE_E2)
        undone += part["undone"]
        far += part["further"] - (SIZE - 1)
        rare = (part["fourth"] > 0) * 1 + (part["fifth"] > 0) + (part["forgotten"] > 0)
        cost = cost + part["cost"] / _COST_UNIT - _RARE_WORTH * rare
        cost += _FAR * part["away"] + _UNJOINED * (part["third"] == 0)
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


def _pattern(one: Situation, other: Situation, latent: str | None) -> int:
    """Return what the right answer of one situation fails in another, connectors apart."""
    _, answer, _, _, hedged = one.bits
    facts, _, stays, changes, _ = other.bits
    found = 0
    if ((answer ^ facts) | hedged) & stays:
        found |= _E1
    if ~(answer ^ facts) & ~hedged & changes:
        found |= _E2
    if one.plot.measure is not None:
        moved = one.after_quantity - other.before_quantity
        due = other.after_quantity - other.before_quantity
        if (moved > 0) != (due > 0):
            found |= _E4
    if latent is not None and one.implied[latent] != other.implied[latent]:
        found |= _E5
    return found


def _true_in(one: Situation, claim: Claim, other: Situation) -> bool:
    """Tell whether a connector of one situation's answer is right in another."""
    return true_claim(one.plot, claim, one.after, other.worlds, other.supposed)


def _misjoined(one: Situation, claims: Sequence[Claim], other: Situation) -> int:
    return 0 if all(_true_in(one, claim, other) for claim in claims) else _E3


def _voiced(
    stories: Sequence[Situation], latent: str | None, rng: Random
) -> tuple[tuple[Claim, ...], ...] | None:
    """Return what the connectors of the answers claim: as many of each sort in every one of them.

    Of several drafts, the one is taken in which the connectors of about one other answer are wrong
    in every story: else how many connectors there are would say how many answers fail E3. And
    what is supposed is joined to something as often where all connectors are right as where one is
    wrong: else a connector beside the query's words would say that it is wrong.
    """
    claims = [one.claims for one in stories]
    if not all(any(claim.follows for claim in own) for own in claims):
        return None
    wrong = [
        [
            frozenset(
                place
                for place, claim in enumerate(own)
                if other is not one and not _true_in(one, claim, other)
            )
            for other in stories
        ]
        for one, own in zip(stories, claims, strict=True)
    ]
    if sum(not any(row[j] for row in wrong) for j in range(SIZE)) > _MOST_MISJOINED:
        return None
    joins = [
        [
            frozenset(
                place
                for place, claim in enumerate(own)
                if not {claim.effect, *claim.causes}.isdisjoint(other.supposed)
            )
            for other in stories
        ]
        for own in claims
    ]
    failures = [
        [_pattern(one, other, latent).bit_count() if other is not one else 0 for other in stories]
        for one in stories
    ]
    best: tuple[float, list[list[int]]] | None = None
    for _ in range(_VOICINGS):
        draft = _matched(claims, rng)
        cost, uneven = _draft_cost(draft, wrong, joins, failures)
        if uneven <= _MOST_MISJOINED and (best is None or cost < best[0]):
            best = cost, draft
            if cost <= _GOOD_VOICING:
                break
    if best is None or best[0] >= _NEVER:
        return None
    return _taken(claims, best[1])


_Places = Sequence[Sequence[frozenset[int]]]
"""For every answer and every story, the places of some of the answer's claims."""


def _draft_cost(
    draft: Sequence[Sequence[int]],
    wrong: _Places,
    joins: _Places,
    failures: Sequence[Sequence[int]],
) -> tuple[float, float]:
    """Return what a draft of `_voiced` costs, and how unevenly stories are misjoined in it."""
    cost = uneven = 0.0
    for j in range(SIZE):
        joined = 0
        for i in range(SIZE):
            misjoined = not wrong[i][j].isdisjoint(draft[i])
            if misjoined == (not joins[i][j].isdisjoint(draft[i])):
                cost += _CLOSE * (1 if i != j else SIZE - 1)
            if i != j:
                joined += misjoined
                cost += _FAILURE_COST[failures[i][j] + misjoined]
        uneven += abs(joined - 1)
    return cost + uneven, uneven


def _taken(
    claims: Sequence[Sequence[Claim]], places: Sequence[Sequence[int]]
) -> tuple[tuple[Claim, ...], ...]:
    return tuple(
        tuple(own[place] for place in draft) for own, draft in zip(claims, places, strict=True)
    )


def _told(stories: Sequence[Situation], rng: Random) -> tuple[tuple[Claim, ...], ...]:
    """Return what the connectors of the stories claim, as many of each sort in every one."""
    claims = [one.story_claims for one in stories]
    return _taken(claims, _matched(claims, rng, apart=True))


def _matched(
    available: Sequence[Sequence[Claim]], rng: Random, *, apart: bool = False
) -> list[list[int]]:
    """Choose claims by place, one to an effect, so that all have the same number of each sort.

    Apart, no two name a cause in common unless all are: a text would have to refer to it again and
    again.
    """
    drafts: list[tuple[list[int], list[int]]] = []
    for claims in available:
        places = list(range(len(claims)))
        rng.shuffle(places)
        seen: set[str] = set()
        taken: list[Claim] = []
        sorts: tuple[list[int], list[int]] = [], []
        for place in places:
            claim = claims[place]
            if claim.effect not in seen:
                if apart and any(
                    one.causes != claim.causes and not set(one.causes).isdisjoint(claim.causes)
                    for one in taken
                ):
                    continue
                taken.append(claim)
                seen.add(claim.effect)
                sorts[claim.follows].append(place)
        drafts.append(sorts)
    most = 3
    against = min(min(len(other) for other, _ in drafts), 1 + int(rng.random() * 2))
    follows = min(min(len(some) for _, some in drafts), most - against)
    return [[*some[:follows], *other[:against]] for other, some in drafts]


def _names(pattern: int) -> frozenset[str]:
    return frozenset(f"E{n + 1}" for n in range(5) if pattern >> n & 1)
