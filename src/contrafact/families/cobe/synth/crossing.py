"""Crossing: stories of one plot whose right answers are wrong answers of one another.

A block is four stories over the same events, told in the same words, that differ in their facts, in
what the facts imply, or in what is supposed. Each has its right edit, and the right edit of each is
offered, word for word, as a wrong one to the other three. So nothing that an answer says by itself
tells whether it is right (docs/synth.md).

Worlds are bits of whole numbers here (`plots`), which makes thousands of situations a second cheap
to look at. What is chosen is proven afterwards by `contrafact.causal` from the model as a file
holds it, and read back by `prove`; neither shares this code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from contrafact.families.cobe.synth.plots import LEVELS_OF_BASE, Plot

__all__ = ["SIZE", "Block", "Claim", "Situation", "draw_block", "situation", "true_claim"]

SIZE = 4
"""Stories in a block."""
_DRAWS = 60
"""Situations that are drawn of a plot before a block is sought among them."""
_ONE_CHANGE, _TWO_CHANGES = 0.62, 0.9
"""Below the first, one thing is supposed; below the second, two; else three."""
_SEARCHES = 60
_VOICINGS = 10
_MOST_MISJOINED = 2
_E1, _E2, _E3, _E4, _E5 = (1 << n for n in range(5))
_DUE = ((_E1, 2), (_E2, 1))
"""How many of the three other answers shall fail E1, and E2, in every story of a block."""
_UNEVEN = 2.0
_OPEN_WORTH = 2.4
_SIZE_COST = (0.0, 0.0, 0.3, 1.5, 4.0, 8.0)
_MOST_UNEVEN = 5
_RARE = ((_E3, 0.7), (_E4, 0.7), (_E5, 0.5))
"""What it is worth that a story has an answer that fails one of the rarer criteria."""


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
        plot: The plot.
        facts: What is so.
        base: The level of the quantity's base.
        supposed: What is set.
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
        """Everything that a connector of its right answer may say."""
        return tuple(
            claim
            for claim in _sayable(self.plot, self.after, self.supposed)
            if true_claim(self.plot, claim, self.after, self.worlds, self.supposed)
        )

    @cached_property
    def story_claims(self) -> tuple[Claim, ...]:
        """Everything that a connector of the story itself may say."""
        return tuple(
            claim
            for claim in _sayable(self.plot, self.facts, {})
            if true_claim(self.plot, claim, self.facts, self.worlds, {})
        )


def situation(plot: Plot, world: int, base: int, chosen: Sequence[str]) -> Situation:
    """Return what follows where some events of a world are supposed to be otherwise."""
    masks = plot.masks
    facts = {name: bool(masks[name] >> world & 1) for name in plot.events}
    worlds = plot.everything
    for name, fact in facts.items():
        worlds &= masks[name] if fact else ~masks[name]
    supposed = {name: not facts[name] for name in chosen}
    then = dict(masks)
    after: dict[str, bool | None] = {}
    touched: set[str] = set()
    for name, gate in plot.gates.items():
        if name in supposed:
            then[name] = plot.everything if supposed[name] else 0
            touched.add(name)
        elif not touched.isdisjoint(gate.parents):
            then[name] = gate.trouble(then)
            touched.add(name)
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
    causes = [values[name] for name in claim.causes]
    if claim.effect not in plot.gates:  # a quantity, which trouble always moves one way
        return claim.follows and None not in causes and len(set(causes)) == 1
    effect = values[claim.effect]
    if effect is None or None in causes:
        return False
    if not claim.follows:
        return all(cause != effect for cause in causes)
    if any(cause != effect for cause in causes):
        return False
    gate = plot.gates[claim.effect]
    masks = dict(plot.masks)
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


def _sayable(
    plot: Plot, values: Mapping[str, bool | None], cut: Mapping[str, bool]
) -> Iterator[Claim]:
    """Yield the claims that are worth a look: one cause, or all told causes of an effect."""
    parents = {name: gate.parents for name, gate in plot.gates.items()}
    if plot.measure is not None:
        parents[plot.told[-1]] = plot.measure.parents
    for effect, causes in parents.items():
        if effect in cut:
            continue
        for follows in (True, False):
            for cause in causes:
                yield Claim((cause,), effect, follows)
            if len(causes) == 2:
                yield Claim(tuple(causes), effect, follows)


@dataclass(frozen=True)
class Block:
    """Stories of one plot, and what each answer fails in each story.

    Attributes:
        stories: The situations.
        latent: The latent fact that every answer mentions; none where there is none.
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
    """Return a block of a plot; None if the draw came to nothing.

    Args:
        plot: The plot.
        rng: Where randomness comes from.
    """
    latent = rng.choice(list(plot.latents)) if plot.latents else None
    pool = _pool(plot, latent, rng)
    if len(pool) < SIZE:
        return None
    chosen = _search(pool, latent, rng)
    if chosen is None:
        return None
    stories = tuple(pool[place] for place in chosen)
    voiced = _voiced(stories, latent, rng)
    if voiced is None:
        return None
    told = _told(stories, rng)
    fails = tuple(
        tuple(
            _names(_pattern(one, other, latent) | _misjoined(one, claims, other))
            for other in stories
        )
        for one, claims in zip(stories, voiced, strict=True)
    )
    if any(bool(f) == (i == j) for i, row in enumerate(fails) for j, f in enumerate(row)):
        return None
    return Block(stories, latent, voiced, told, fails)


def _pool(plot: Plot, latent: str | None, rng: Random) -> list[Situation]:
    """Return situations that make a story: something stays, and the quantity moves."""
    size = plot.everything.bit_length()
    linked = [
        name
        for name, gate in plot.gates.items()
        if gate.parents
        or any(name in one.parents for one in plot.gates.values())
        or (plot.measure and name in plot.measure.parents)
    ]
    found: list[Situation] = []
    seen: set[tuple[int, int, tuple[str, ...]]] = set()
    for _ in range(_DRAWS):
        luck = rng.random()
        number = 1 if luck < _ONE_CHANGE else 2 if luck < _TWO_CHANGES else 3
        chosen = {linked[int(rng.random() * len(linked))] for _ in range(number)}
        base = int(rng.random() * LEVELS_OF_BASE) if plot.measure else 0
        one = situation(plot, int(rng.random() * size), base, sorted(chosen))
        facts, _, stays, _, _ = one.bits
        if not stays or (latent is not None and latent not in one.implied):
            continue
        if plot.measure is not None:
            if any(one.after[name] is None for name in plot.measure.parents):
                continue
            if one.after_quantity == one.before_quantity:
                continue
        key = (facts, base, tuple(sorted(chosen)))
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found


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


def _search(pool: Sequence[Situation], latent: str | None, rng: Random) -> list[int] | None:
    """Return four situations whose answers fail each other's stories in balance.

    Of the three other answers, about as many fail E1, and about as many E2, in every story: else
    how many facts its criteria list would say how many of its answers fail them.
    """
    size = len(pool)
    fits = _fits(pool, latent)
    near = [0] * size
    for i, j in fits:
        near[i] |= 1 << j
    due_first, due_second = (due for _, due in _DUE)
    best: list[int] | None = None
    least = _UNEVEN * (_MOST_UNEVEN + 1) + 100.0
    for _ in range(_SEARCHES):
        chosen = [int(rng.random() * size)]
        left = near[chosen[0]]
        while left and len(chosen) < SIZE:
            place = _one_of(left, rng)
            chosen.append(place)
            left &= near[place]
        if len(chosen) < SIZE:
            continue
        uneven, cost = 0, rng.random()
        for one in chosen:
            first = second = seen = 0
            for other in chosen:
                if other != one:
                    pattern = fits[other, one]
                    seen |= pattern
                    first += pattern & _E1
                    second += pattern & _E2
                    cost += _SIZE_COST[pattern.bit_count()]
            if pool[one].bits[4]:
                cost -= _OPEN_WORTH
            uneven += abs(first - due_first) + abs(second // _E2 - due_second)
            for bit, worth in _RARE:
                if seen & bit:
                    cost -= worth
        cost += _UNEVEN * uneven
        if uneven <= _MOST_UNEVEN and cost < least:
            best, least = chosen, cost
    return best


def _one_of(mask: int, rng: Random) -> int:
    """Return the place of one of a mask's bits, drawn at random."""
    for _ in range(int(rng.random() * mask.bit_count())):
        mask &= mask - 1
    return (mask & -mask).bit_length() - 1


def _fits(pool: Sequence[Situation], latent: str | None) -> dict[tuple[int, int], int]:
    """Return, for every answer and story that go together, both ways, what the one fails there."""
    bits = [one.bits for one in pool]
    before = [one.before_quantity for one in pool]
    then = [one.after_quantity for one in pool]
    measured = pool[0].plot.measure is not None
    found: dict[tuple[int, int], int] = {}
    for i, (facts, answer, stays, changes, hedged) in enumerate(bits):
        for j in range(i):
            facts_, answer_, stays_, changes_, hedged_ = bits[j]
            if hedged & changes_ or hedged_ & changes:
                continue  # to leave open what has changed is neither right nor wrong
            if measured and (then[i] == before[j] or then[j] == before[i]):
                continue  # the very number of the story would show what was not edited
            here, there = answer_ ^ facts, answer ^ facts_
            into_i = _E1 * bool((here | hedged_) & stays) | _E2 * bool(~here & ~hedged_ & changes)
            into_j = _E1 * bool((there | hedged) & stays_) | _E2 * bool(~there & ~hedged & changes_)
            if measured:
                up_i, up_j = then[i] > before[i], then[j] > before[j]
                into_i |= _E4 * ((then[j] > before[i]) != up_i)
                into_j |= _E4 * ((then[i] > before[j]) != up_j)
            if latent is not None and pool[i].implied[latent] != pool[j].implied[latent]:
                into_i |= _E5
                into_j |= _E5
            if not (into_i and into_j) and not _differ(pool[i], pool[j], into_i, into_j):
                continue
            found[j, i], found[i, j] = into_i or _E3, into_j or _E3
    return found


def _differ(one: Situation, other: Situation, into_one: int, into_other: int) -> bool:
    """Tell whether answers that agree in all else can fail by what their connectors say."""
    if not into_one and all(_true_in(other, claim, one) for claim in other.claims):
        return False
    return bool(into_other) or not all(_true_in(one, claim, other) for claim in one.claims)


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
    in every story: else how many connectors there are would say how many answers fail E3.
    """
    wrong = [
        [
            {claim for claim in one.claims if other is not one and not _true_in(one, claim, other)}
            for other in stories
        ]
        for one in stories
    ]
    others = [
        [_pattern(one, other, latent) if other is not one else 0 for other in stories]
        for one in stories
    ]
    best: tuple[float, tuple[tuple[Claim, ...], ...]] | None = None
    for _ in range(_VOICINGS):
        draft = _matched([one.claims for one in stories], rng)
        if not any(claim.follows for claim in draft[0]):
            return None
        joined = [
            [not bad.isdisjoint(claims) for bad in row]
            for row, claims in zip(wrong, draft, strict=True)
        ]
        uneven = sum(abs(sum(row[j] for row in joined) - 1) for j in range(SIZE))
        cost = float(uneven)
        for i, row in enumerate(joined):
            for j, misjoined in enumerate(row):
                failures = others[i][j].bit_count() + misjoined
                if i != j:
                    cost += (50.0, 0.0, 0.2, 0.8, 5.0, 9.0)[failures]
        if best is None or cost < best[0]:
            best = cost, draft
            if uneven > _MOST_MISJOINED:
                best = cost + 20.0, draft
    return best[1] if best and best[0] < 20.0 else None


def _told(stories: Sequence[Situation], rng: Random) -> tuple[tuple[Claim, ...], ...]:
    """Return what the connectors of the stories claim, as many of each sort in every one."""
    return _matched([one.story_claims for one in stories], rng)


def _matched(available: Sequence[Sequence[Claim]], rng: Random) -> tuple[tuple[Claim, ...], ...]:
    """Choose claims, one to an effect, so that all have the same number of either sort."""
    drafts = []
    for claims in available:
        shuffled = rng.sample(list(claims), len(claims))
        effects: dict[str, Claim] = {}
        for claim in shuffled:
            effects.setdefault(claim.effect, claim)
        drafts.append(list(effects.values()))
    most = 3
    against = min(sum(not claim.follows for claim in draft) for draft in drafts)
    follows = min(sum(claim.follows for claim in draft) for draft in drafts)
    against = min(against, 1 + rng.randrange(2))
    follows = min(follows, most - against)
    return tuple(
        (
            *[claim for claim in draft if claim.follows][:follows],
            *[claim for claim in draft if not claim.follows][:against],
        )
        for draft in drafts
    )


def _names(pattern: int) -> frozenset[str]:
    return frozenset(f"E{n + 1}" for n in range(5) if pattern >> n & 1)
