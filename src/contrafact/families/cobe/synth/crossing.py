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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contrafact.causal.model import Graph
from contrafact.families.cobe.data import tells_cause
from contrafact.families.cobe.synth.difficulty import Difficulty
from contrafact.families.cobe.synth.plots import LEVELS_OF_BASE, QUANTITY, Plot
from contrafact.families.cobe.synth.relations import ConnectorClaim

SIZE = 4
"""Stories in a block."""
_DRAWS, _POOL = 160, 28
"""Situations drawn from a plot, and how many of them make a pool in which a block is sought."""
_HARD_DRAWS, _LEAST_DRAWS, _STAGE, _TURNS = 1500, 200, 6, 2
"""Where traps are asked for: situations drawn from a plot, and of how many at least one must do;
how many of its events may be supposed in a block, and by how many noise terms the worlds of a block
differ from one. So situations differ by one supposition or fact: what is right for one is a usual
mistake in another."""
_STEPS = 3
"""From so many steps on, an effect is far from its causes."""
_ONE_CHANGE, _TWO_CHANGES = 0.62, 0.9
"""A uniform draw below the first sets one event, below the second two, else three."""
_GROUPS, _ROUNDS = 2000, 8
"""Groups of four situations that are rated, and how many of the best are tried."""
_MOST_CLAIMS = 3
"""Connectors in one story."""
_MOST_APART = 3.5
"""How much more often the answers with one sort of connector may fail E1 and E2 than those with
the other, and how many more events their stories may set and keep (`_answer_claims`)."""
_E1, _E2, _E4, _E5 = 1, 2, 8, 16
"""The bit of each criterion in a pattern of failures."""

# What a group of four costs (`_balanced_groups`). All of it serves one end: that nothing but cause
# and effect tells right answers from wrong ones, which `contrafact cobe leak` measures.
_DUE_E1, _DUE_E2 = 2, 2
"""How many of the three other answers are to fail E1, and E2, in every story. With the same numbers
in all stories, the length of a criterion's list of facts says nothing about its failures."""
_UNEVEN, _MOST_UNEVEN = 2.0, 4
"""The cost of each answer above or below these numbers, and the most of them in a group."""
_DUE_UNDONE, _UNDONE = 3, 2.2
"""How many of all twelve wrong answers are to undo the edit itself, and the cost of each above or
below. The rest fail E2 by an effect that is left as it was."""
_UNLIKE = 1.5
"""The cost of each event by which wrong answers differ, on average, more or less from the story
than the right one. Else the right answer would be the least edit that does what the query asks."""
_FAR = 3.0
"""The cost of each answer whose number moves by more or less than the right one's, and of each by
which more answers move further than move less far. Else the least move would be the right one."""
_UNSHARED = 3.0
"""The cost of each answer above or below two that deny the hidden fact, and of each story above or
below two in which the number stays. Else the rarer of the two would be the wrong one."""
_OPEN_WORTH = 8.0
"""What a story is worth in which something cannot be known, so that a right answer leaves it open:
much, so that a group with such a story is preferred."""
_FOCUS_WORTH = 3.0
"""What a story is worth that holds the trap that its block is about."""
_RARE_WORTH = 0.8
"""What a story is worth for each kind of failure that is rare: the number's direction (E4), the
hidden fact (E5), an effect left as it was (E2 without undoing the edit)."""
_FAILURE_COST, _COST_UNIT = (0, 0, 3, 15, 40), 10.0
"""The cost, in tenths, of a wrong answer by how many criteria it fails: an answer that fails one
alone shows whether a judge knows that criterion."""

Claims = tuple[ConnectorClaim, ...]


@dataclass(frozen=True, eq=False)
class Situation:
    """Facts of a plot, an intervention on them, and what becomes of every event.

    ``worlds`` is the mask of the worlds that the facts allow; ``after`` is None where they differ.
    """

    plot: Plot
    facts: Mapping[str, bool]
    base: int
    supposed: Mapping[str, bool]
    worlds: int
    after: Mapping[str, bool | None]

    @cached_property
    def before_quantity(self) -> int:
        """The quantity in the story; 0 without one."""
        return self.plot.measure.value(self.base, self.facts) if self.plot.measure else 0

    @cached_property
    def after_quantity(self) -> int:
        """The quantity under the intervention; 0 without one."""
        values = {name: bool(value) for name, value in self.after.items()}
        return self.plot.measure.value(self.base, values) if self.plot.measure else 0

    @property
    def moves(self) -> bool:
        """Whether there is a quantity, and it changes."""
        return self.after_quantity != self.before_quantity

    @cached_property
    def implied(self) -> dict[str, bool]:
        implied: dict[str, bool] = {}
        for latent in () if self.plot.hedged else self.plot.latents:
            there = self.worlds & self.plot.masks[latent]
            if there in (0, self.worlds):
                implied[latent] = there != 0
        return implied

    @cached_property
    def bits(self) -> "EventBits":
        facts = answer = stays = changes = opened = supposed = 0
        for index, (name, fact) in enumerate(self.facts.items()):
            bit, then = 1 << index, self.after[name]
            facts |= bit * fact
            supposed |= bit * (name in self.supposed)
            if then is None:
                opened |= bit
            else:
                answer |= bit * then
                if name in self.supposed or then != fact:
                    changes |= bit
                else:
                    stays |= bit
        return EventBits(facts, answer, stays, changes, opened, supposed)

    def events(self, mask: int) -> list[str]:
        """Return the events whose bit is set in a mask, in their order."""
        return [name for index, name in enumerate(self.facts) if mask >> index & 1]

    @cached_property
    def traps(self) -> frozenset[str]:
        """What a careless edit gets wrong in it, by the names of `difficulty.TRAPS`."""
        plot, facts, after, supposed = self.plot, self.facts, self.after, self.supposed
        held: set[str] = set()
        stays = [n for n in self.events(self.bits.stays) if plot.gates[n].parents]
        steps = dict.fromkeys(supposed, 0)
        for name, gate in plot.gates.items():
            turned = {cause for cause in gate.parents if after[cause] not in (None, facts[cause])}
            masks = {c: plot.everything if after[c] else 0 for c in gate.parents}
            if name in supposed:
                if gate.parents and not supposed[name] and None not in map(after.get, gate.parents):
                    if gate.without:
                        masks[gate.without] = plot.masks[gate.without]
                    if not self.worlds & ~gate.happens(masks):
                        held.add("stands")
                continue
            if turned and after[name] not in (None, facts[name]):
                steps[name] = 1 + min(steps[cause] for cause in turned)
                if steps[name] >= _STEPS:
                    held.add("far")
            if name in stays and turned:
                decides = gate.form != "all"
                steady = [cause for cause in gate.parents if after[cause] is facts[cause]]
                if facts[name] is decides in [facts[cause] for cause in steady]:
                    held.add("suffices")
        if self._held_back & self._near_change:
            held.add("held back")
        above = Graph(plot.parents).ancestors([QUANTITY]) if plot.measure is not None else ()
        if not self.moves and not supposed.keys().isdisjoint(above):
            held.add("number stays")
        if plot.common is not None:
            ends = set(plot.common[:2])
            if len(ends & supposed.keys()) == 1 and ends - supposed.keys() <= set(
                self.events(self.bits.stays)
            ):
                held.add("together")
        for name in supposed if len(supposed) > 1 else ():
            alone = _intervened(plot, facts, self.worlds, self.base, [name])
            if any(alone.after[n] not in (None, facts[n]) for n in stays):
                held.add("undone")
        return frozenset(held)

    @property
    def _held_back(self) -> set[str]:
        """The events that a latent, which the facts imply, holds back before and after."""
        gates = self.plot.gates
        return {
            name
            for latent, name in self.plot.latents.items()
            if self.implied.get(latent) and self.after[gates[name].parents[0]]
        }

    @property
    def _near_change(self) -> set[str]:
        """The events with a cause, an effect, or an effect of a cause that changes."""
        changed = set(self.events(self.bits.changes))
        parents = self.plot.parents
        causes = {cause for name in changed for cause in parents[name]}
        near = {n for n, above in parents.items() if not (changed | causes).isdisjoint(above)}
        return (near | causes) - changed

    @cached_property
    def claims(self) -> Claims:
        """Everything that a connector of its right answer may say of events.

        Claims about the quantity are left out: it is never set, so that one would be right in
        almost every story, and the number next to it would show that.
        """
        of_events, _ = _candidate_claims(self.plot)
        return tuple(claim for claim in of_events if self._holds(claim, self.after, self.supposed))

    @cached_property
    def story_claims(self) -> Claims:
        _, of_all = _candidate_claims(self.plot)
        return tuple(claim for claim in of_all if self._holds(claim, self.facts, {}))

    def _holds(
        self, claim: ConnectorClaim, values: Mapping[str, bool | None], cut: Mapping[str, bool]
    ) -> bool:
        """Return whether a connector is right between the values that a text asserts.

        "Because" needs that the effect is what its mechanism gives, and would not be without the
        causes; so it is wrong where the intervention has cut the effect from them. "Although" needs
        that the effect is not the value that its causes make more likely.
        """
        gate = self.plot.gates.get(claim.effect)
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
        masks = {gate.without: self.plot.masks[gate.without]} if gate.without else {}
        for name in gate.parents:
            value = values[name]
            if value is None:
                return False
            masks[name] = self.plot.everything if value else 0
        there = gate.happens(masks) & self.worlds
        for name in claim.causes:
            masks[name] = 0 if effect else self.plot.everything
        without = gate.happens(masks) & self.worlds
        return (there, without) == ((self.worlds, 0) if effect else (0, self.worlds))


class EventBits(NamedTuple):
    """Bit masks with one bit for each event of a situation, in the order of its facts.

    ``answer`` has the events that happen in the right answer; ``stays`` (E1), ``changes`` (E2) and
    ``opened`` (nobody can know) divide the events among them; ``supposed`` are those that are set.
    """

    facts: int
    answer: int
    stays: int
    changes: int
    opened: int
    supposed: int


def _facts_of_world(plot: Plot, world: int) -> tuple[dict[str, bool], int]:
    """Return the facts of a world, and all worlds with the same facts (abduction)."""
    masks = plot.masks
    facts = {name: bool(masks[name] >> world & 1) for name in plot.events}
    worlds = plot.everything
    for name, fact in facts.items():
        worlds &= masks[name] if fact else ~masks[name]
    return facts, worlds


def _intervened(
    plot: Plot, facts: Mapping[str, bool], worlds: int, base: int, chosen: Sequence[str]
) -> Situation:
    """Return the situation in which the chosen events are set to the opposite of their facts."""
    supposed = {name: not facts[name] for name in chosen}
    then = dict(plot.masks)  # for every variable, the worlds in which it is true after the edit
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


@lru_cache(maxsize=4)
def _candidate_claims(plot: Plot) -> tuple[Claims, Claims]:
    """Return all claims about events, and all with the quantity: of one cause, or both of two."""
    claims = []
    for effect, causes in plot.parents.items():
        for follows in (True, False):
            claims += [ConnectorClaim((cause,), effect, follows) for cause in causes]
            if len(causes) == 2:
                claims.append(ConnectorClaim(tuple(causes), effect, follows))
    return tuple(claim for claim in claims if claim.effect in plot.gates), tuple(claims)


@dataclass(frozen=True)
class Block:
    """Stories of one plot, and what each answer fails in each story.

    Attributes:
        latent: The latent fact, if any, that every answer mentions; not all stories imply the same
            value of it.
        answer_claims: For every story, what the connectors of its right answer claim.
        story_claims: For every story, what its own connectors claim.
        fails: For every answer and every story, the criteria that the answer fails there: none in
            its own story.
    """

    stories: tuple[Situation, ...]
    latent: str | None
    answer_claims: tuple[Claims, ...]
    story_claims: tuple[Claims, ...]
    fails: tuple[tuple[frozenset[str], ...], ...]


def draw_block(
    plot: Plot, rng: Random, wanted: Difficulty | None = None, focus: str = ""
) -> Block | None:
    """Return a block of a plot, or None if the draw gives none; half of it holds ``focus``."""
    latent = next(iter(plot.latents), None) if not plot.hedged else None
    pool = _pool(plot, latent, rng, wanted, focus)
    if len(pool) < SIZE:
        return None
    pairs = _Pairs.of(pool, latent, focus)
    for chosen in _balanced_groups(pairs, rng):
        stories = tuple(pool[index] for index in chosen)
        if focus and sum(focus in story.traps for story in stories) < SIZE // 2:
            continue
        if latent is not None and len({story.implied[latent] for story in stories}) == 1:
            continue  # no answer could be wrong about it
        patterns = pairs.fails[np.ix_(chosen, chosen)].tolist()
        answer_claims = _answer_claims(stories, patterns, rng)
        if answer_claims is None:
            continue
        fails = tuple(tuple(map(_criteria_of, row)) for row in patterns)
        if all(bool(f) != (i == j) for i, row in enumerate(fails) for j, f in enumerate(row)):
            return Block(stories, latent, answer_claims, _story_claims(stories, rng), fails)
    return None


def _pool(
    plot: Plot, latent: str | None, rng: Random, wanted: Difficulty | None, focus: str
) -> list[Situation]:
    """Return situations that can be a story: something stays, and the quantity moves.

    Where traps are asked for it may stay as well; at least half hold the trap ``focus``.
    """
    size = plot.everything.bit_length()
    measured = plot.measure.parents if plot.measure is not None else ()
    parents = plot.parents
    caused = {name for causes in parents.values() for name in causes}
    caused |= set(plot.common[:2]) if plot.common else set()
    # The event that a latent fact holds back is not set: answers tell that fact, and a story in
    # which the event is set in spite of it would contradict them.
    held = plot.latents[latent] if latent is not None else ""
    linked = [name for name in plot.events if (parents[name] or name in caused) and name != held]
    pool: list[Situation] = []
    seen: set[tuple[int, int, tuple[str, ...]]] = set()
    facts_of: dict[int, tuple[dict[str, bool], int]] = {}
    structured, others = wanted is not None and wanted.structured, 0
    if structured:
        linked = rng.sample(linked, min(_STAGE, len(linked)))
        near = rng.randrange(size)
    for turn in range(_HARD_DRAWS if structured else _DRAWS):
        if structured and turn == _LEAST_DRAWS and not pool:
            break
        luck = rng.random()
        number = 1 if luck < _ONE_CHANGE else 2 if luck < _TWO_CHANGES else 3
        if wanted is not None and structured:
            number = rng.randint(*wanted.suppositions)
        chosen = {linked[int(rng.random() * len(linked))] for _ in range(number)}
        base = int(rng.random() * LEVELS_OF_BASE) if measured else 0
        world = int(rng.random() * size)
        if structured:
            world = near
            for _ in range(rng.randint(0, _TURNS)):
                world ^= 1 << rng.randrange(size.bit_length() - 1)
        if world not in facts_of:
            facts_of[world] = _facts_of_world(plot, world)
        facts, worlds = facts_of[world]
        if latent is not None and plot.masks[latent] & worlds not in (0, worlds):
            continue
        key = (worlds, base, tuple(sorted(chosen)))
        if key in seen:
            continue
        seen.add(key)
        situation = _intervened(plot, facts, worlds, base, key[2])
        if measured and (
            any(situation.after[name] is None for name in measured)
            or (not structured and situation.after_quantity == situation.before_quantity)
        ):
            continue
        if wanted is not None and structured and not _suits(situation, wanted, measured):
            continue
        if situation.bits.stays and situation.claims:
            if focus and focus not in situation.traps:
                if others == _POOL // 2:
                    continue
                others += 1
            pool.append(situation)
            if len(pool) == _POOL:
                break
    return pool


def _suits(situation: Situation, wanted: Difficulty, measured: Sequence[str]) -> bool:
    low, high = wanted.suppositions
    if not low <= len(situation.supposed) <= high:
        return False
    if len({situation.after[n] for n in measured if situation.after[n] != situation.facts[n]}) > 1:
        return False  # by how much each moves the number, no text says
    plot = situation.plot
    caused = tells_cause(plot.parents, plot.told, situation.supposed)
    if wanted.cause_told not in (None, caused):
        return False
    return len(situation.traps.intersection(wanted.traps)) >= wanted.least_traps


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Every answer of a pool beside every story of it: rows are answers, columns stories.

    Attributes:
        fits: Whether both of a pair can be in one block.
        fails: Which criteria an answer fails in a story, connectors apart: the bit n of E(n + 1).
        counts: What is counted of an answer in a story, a matrix for each of ``names``.
        edits: By how many events each right answer differs from its story.
        opened: Whether the right answer leaves something open.
        focused: Whether the story holds the trap that the block is about.
        still: Whether there is a quantity, and it stays.
    """

    fits: NDArray[np.bool_]
    fails: NDArray[np.int64]
    names: tuple[str, ...]
    counts: NDArray[np.int64]
    edits: NDArray[np.int64]
    opened: NDArray[np.bool_]
    focused: NDArray[np.bool_]
    still: NDArray[np.bool_]

    @classmethod
    def of(cls, pool: Sequence[Situation], latent: str | None, focus: str) -> "_Pairs":
        bits = np.array([story.bits for story in pool]).T
        facts, answer, stays, changes, opened, supposed = bits
        differs = (answer[:, None] ^ facts) & ~opened[:, None]
        first = ((differs | opened[:, None]) & stays) != 0
        kept = ~(differs | opened[:, None]) & changes
        second, undone = kept != 0, (kept & supposed) != 0
        fits = (opened[:, None] & changes) == 0
        fourth = fifth = np.zeros_like(first)
        further = np.zeros(first.shape, dtype=np.int64)
        if pool[0].plot.measure is not None:
            before = np.array([story.before_quantity for story in pool])
            after = np.array([story.after_quantity for story in pool])
            moved = after[:, None] - before
            due = after - before
            fourth = (np.sign(moved) != np.sign(due)) & (due != 0)
            first = first | ((moved != 0) & (due == 0))
            further = np.sign(np.abs(moved) - np.abs(due))
            # Where the number moves, an answer with the story's own would show that it is wrong.
            fits &= (moved != 0) | (due == 0)
        if latent is not None:
            implied = np.array([story.implied[latent] for story in pool])
            fifth = implied[:, None] != implied
        failures = 0 + first + second + fourth + fifth
        fits &= failures > 0
        np.fill_diagonal(fits, False)
        size = np.bitwise_count(differs.astype(np.uint64)).astype(np.int64)
        counted = {  # E2 fails where the edit itself is undone, or only an effect is forgotten
            "first": first,
            "second": second,
            "undone": undone,
            "forgotten": second & ~undone,
            "fourth": fourth,
            "fifth": fifth,
            "away": further != 0,
            "further": further + 1,
            "differs": size,
            "cost": np.array(_FAILURE_COST)[failures],
        }
        counts = np.stack([values.astype(np.int64) for values in counted.values()])
        fails = first * _E1 | second * _E2 | fourth * _E4 | fifth * _E5
        edits = size.diagonal().copy()
        focused = np.array([focus in story.traps for story in pool] if focus else False)
        measured = pool[0].plot.measure is not None
        still = np.array([measured and not story.moves for story in pool])
        fits &= fits.T
        return cls(fits, fails, tuple(counted), counts, edits, opened != 0, focused, still)


def _balanced_groups(pairs: _Pairs, rng: Random) -> list[list[int]]:
    """Return the groups of four situations, best first, that cost least by the constants above."""
    size = len(pairs.edits)
    draw = np.random.default_rng(rng.getrandbits(64))
    # Columns are groups: draw them all at once, and keep those in which every two stories fit.
    chosen = draw.integers(0, size, (SIZE, _GROUPS))
    for i, j in combinations(range(SIZE), 2):
        chosen = chosen[:, pairs.fits[chosen[i], chosen[j]]]
    if not chosen.size:
        return []
    cost: NDArray[np.float64] = np.asarray(draw.random(chosen.shape[1]))
    uneven, undone, far = np.zeros((3, chosen.shape[1]), dtype=np.int64)
    for j in range(SIZE):  # in the j-th story of each group, the three answers of the others
        others = [i for i in range(SIZE) if i != j]
        sums = pairs.counts[:, chosen[others], chosen[j]].sum(axis=1)
        total = dict(zip(pairs.names, sums, strict=True))
        uneven += np.abs(total["first"] - _DUE_E1) + np.abs(total["second"] - _DUE_E2)
        undone += total["undone"]
        far += total["further"] - (SIZE - 1)
        rare = (total["fourth"] > 0) * 1 + (total["fifth"] > 0) + (total["forgotten"] > 0)
        cost = cost + total["cost"] / _COST_UNIT - _RARE_WORTH * rare
        cost += _FAR * total["away"]
        cost += _UNLIKE * np.abs(total["differs"] / (SIZE - 1) - pairs.edits[chosen[j]])
        cost -= _OPEN_WORTH * pairs.opened[chosen[j]]
        if pairs.focused.any():
            cost -= _FOCUS_WORTH * pairs.focused[chosen[j]]
        cost += _UNSHARED * np.abs(total["fifth"] - SIZE // 2)
    if pairs.still.any():
        cost += _UNSHARED * np.abs(pairs.still[chosen].sum(axis=0) - SIZE // 2)
    cost += _UNEVEN * uneven + _FAR * np.abs(far) + _UNDONE * np.abs(undone - _DUE_UNDONE)
    cost[uneven > _MOST_UNEVEN] = np.inf
    best: dict[frozenset[int], list[int]] = {}
    for index in np.argsort(cost, kind="stable"):
        if cost[index] == np.inf or len(best) == _ROUNDS:
            break
        group = chosen[:, index].tolist()
        best.setdefault(frozenset(group), group)
    return list(best.values())


def _answer_claims(
    stories: Sequence[Situation], patterns: Sequence[Sequence[int]], rng: Random
) -> tuple[Claims, ...] | None:
    """Return what the connectors of the answers claim; None where that cannot be balanced.

    As many answers have a connector of consequence alone as have one of contrast alone; the others
    have one of each. So an answer with all connectors reversed has the same sorts as right ones.
    The two groups fail E1 and E2 in other stories about as often, and their stories set about as
    many events and keep about as many: else the sort of a connector would tell something of the
    verdict, with the length of the query and of the criteria. (Where one event is set and all but
    one change, nearly every right connector is one of consequence.) ``patterns`` has what every
    right answer fails in every story.
    """
    sides = [
        tuple([claim for claim in story.claims if claim.follows is side] for side in (True, False))
        for story in stories
    ]
    weight = [
        sum(2 * bool(pattern & _E2) + bool(pattern & _E1) for pattern in row) for row in patterns
    ]
    shown = [(story.bits.stays.bit_count(), len(story.supposed)) for story in stories]
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
                pairs = [sorted(shown[i] for i in some) for some in (follows, against)]
                for (kept, set_), (kept_too, set_too) in zip(*pairs, strict=True):
                    apart += abs(kept - kept_too) + abs(set_ - set_too)
                cost = apart + rng.random()
                if best is None or cost < best[0]:
                    best = cost, frozenset(follows), frozenset(against)
    if best is None or best[0] > _MOST_APART:
        return None
    alone_in = best[1:]
    claims = []
    for i, pair in enumerate(sides):
        chosen = [rng.choice(pair[k]) for k in (0, 1) if i not in alone_in[1 - k]]
        if len(chosen) == 2 and chosen[0].effect == chosen[1].effect:
            others = [claim for claim in pair[1] if claim.effect != chosen[0].effect]
            if not others:
                return None
            chosen[1] = rng.choice(others)
        claims.append(tuple(chosen))
    return tuple(claims)


def _story_claims(stories: Sequence[Situation], rng: Random) -> tuple[Claims, ...]:
    """Return what the connectors of the stories claim, as many of each sort in every story."""
    drafts: list[tuple[list[ConnectorClaim], list[ConnectorClaim]]] = []
    for story in stories:
        taken: list[ConnectorClaim] = []
        claims = list(story.story_claims)
        rng.shuffle(claims)
        for claim in claims:
            # One claim for an effect, and none that shares only a part of its causes with another:
            # the text would have to name that cause again and again.
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


def _criteria_of(pattern: int) -> frozenset[str]:
    return frozenset(f"E{n + 1}" for n in range(5) if pattern >> n & 1)
