"""What a verifier learns from and is measured on: shared out by groups, matched in length."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contrafact.errors import InputError
from contrafact.family.learning import LearningSpec
from contrafact.judges.surface import LeakItem
from contrafact.training.verifier.config import Shares, VerifierConfig

__all__ = ["SHARES", "Asked", "Pool", "draw", "load_pools", "matched", "share_of"]

SHARES = ("train", "validation", "held-out")
LEAST = 8
"""Items of each verdict that a criterion needs in the share that it is measured on."""
_WORDS = 4
"""Texts are matched within bands of so many words."""


@dataclass(frozen=True)
class Asked:
    """An item asked of one criterion.

    Attributes:
        name: ``FAMILY/NAME`` of the criterion or lesson.
        item: The item.
        statement: What is asked, in words.
    """

    name: str
    item: LeakItem
    statement: str

    @property
    def criterion(self) -> str:
        """The criterion's name within its family."""
        return self.name.partition("/")[2]

    @property
    def holds(self) -> bool:
        """The known verdict."""
        return self.item.verdicts[self.criterion]


@dataclass(frozen=True)
class Pool:
    """All items of one criterion, by share, matched in length.

    Attributes:
        name: ``FAMILY/NAME``.
        shares: By share, its items.
        crossed: Whether the held-out ones are the exam's, and not of the source.
        counts: What there was before, for the card: items made, in no share, unmatched.
    """

    name: str
    shares: Mapping[str, Sequence[Asked]]
    crossed: bool
    counts: Mapping[str, int]


def share_of(
    values: Iterable[str], shares: Shares, rng: np.random.Generator
) -> dict[str, tuple[str, ...]]:
    """Return the share, or shares, that each value of a group belongs to.

    With three values or more, each share has at least one. Of two values, one is held out and the
    other is for learning and validation both; one value alone is in all shares, and holds nothing
    apart.
    """
    names = sorted(set(values))
    if len(names) == 1:
        return {names[0]: SHARES}
    order = [names[int(place)] for place in rng.permutation(len(names))]
    if len(names) == 2:
        return {order[0]: ("held-out",), order[1]: ("train", "validation")}
    held = max(1, round(shares.held_out * len(order)))
    checked = max(1, round(shares.validation * len(order)))
    return {
        name: (SHARES[2] if at < held else SHARES[1] if at < held + checked else SHARES[0],)
        for at, name in enumerate(order)
    }


def load_pools(config: VerifierConfig, specs: Mapping[str, LearningSpec]) -> dict[str, Pool]:
    """Return the items of every criterion and lesson that the config names.

    Raises:
        InputError: A file is wrong, or a criterion has too few items of one verdict.
    """
    found: dict[str, Pool] = {}
    wanted = asked_names(config, specs)
    for family, source in config.sources.items():
        spec = specs[family]
        items = spec.items(source.count, config.seed, source.data)
        placed = _placed(items, config.shares, config.seed)
        exam = [] if spec.crossed is None else list(spec.crossed())
        for name in wanted:
            if name.partition("/")[0] == family:
                found[name] = _pool(name, spec, placed, exam, config)
    return found


def asked_names(config: VerifierConfig, specs: Mapping[str, LearningSpec]) -> list[str]:
    """Return the criteria and lessons that some stage asks, in the order of the families' own."""
    asked = {name for stage in config.stages for name in stage_names(stage.criteria, specs)}
    return [
        full
        for family in config.sources
        for name in (*specs[family].lessons, *specs[family].criteria)
        if (full := f"{family}/{name}") in asked
    ]


def stage_names(criteria: Sequence[str], specs: Mapping[str, LearningSpec]) -> list[str]:
    """Return the criteria and lessons that a stage names; a family stands for its criteria."""
    found: list[str] = []
    for one in criteria:
        family, _, name = one.partition("/")
        found += [one] if name else [f"{family}/{own}" for own in specs[family].criteria]
    return list(dict.fromkeys(found))


def _placed(items: Sequence[LeakItem], shares: Shares, seed: int) -> dict[str, list[LeakItem]]:
    """Return the items of each share: those whose groups are all of it."""
    groups = sorted({group for item in items for group in item.groups})
    tables = {
        group: share_of(
            (item.groups[group] for item in items), shares, np.random.default_rng([seed, 7, at])
        )
        for at, group in enumerate(groups)
    }
    # A group of one value holds nothing apart: then blocks do.
    if all(len(table) == 1 for table in tables.values()):
        rng = np.random.default_rng([seed, 7, len(groups)])
        tables = {"": share_of((item.block for item in items), shares, rng)}
        return {share: [one for one in items if share in tables[""][one.block]] for share in SHARES}
    found = {
        share: [one for one in items if all(share in tables[g][one.groups[g]] for g in groups)]
        for share in SHARES
    }
    if both := {id(one) for one in found["train"]} & {id(one) for one in found["validation"]}:
        # Of two values, one serves both: blocks share its items out.
        blocks = sorted({one.block for one in items if id(one) in both})
        rng = np.random.default_rng([seed, 8])
        checked = set(rng.permutation(blocks)[: max(1, round(shares.validation * len(blocks)))])
        found["train"] = [one for one in found["train"] if one.block not in checked]
        found["validation"] = [one for one in found["validation"] if one.block in checked]
    return found


def _pool(
    name: str,
    spec: LearningSpec,
    placed: Mapping[str, Sequence[LeakItem]],
    exam: Sequence[LeakItem],
    config: VerifierConfig,
) -> Pool:
    criterion = name.partition("/")[2]

    def asked(items: Sequence[LeakItem]) -> list[Asked]:
        return [
            Asked(name, item, spec.question(criterion, item))
            for item in items
            if criterion in item.verdicts
        ]

    crossed = asked(exam)
    made = {share: asked(items) for share, items in placed.items()}
    if crossed:
        made["held-out"] = crossed
    kept = {
        share: matched(items, seed=config.seed + at)
        for at, (share, items) in enumerate(made.items())
    }
    for share in SHARES:
        sides = Counter(one.holds for one in kept[share])
        if (fewest := min(sides[True], sides[False])) < LEAST:
            raise InputError(
                f"{name} has {fewest} items of one verdict in the share '{share}', and "
                f"{LEAST} are needed",
                hint=f"raise sources.{name.partition('/')[0]}.count, or give more data",
            )
    unmatched = sum(map(len, made.values())) - sum(map(len, kept.values()))
    return Pool(
        name, kept, bool(crossed), {"items": sum(map(len, made.values())), "unmatched": unmatched}
    )


def matched(items: Sequence[Asked], *, seed: int) -> list[Asked]:
    """Return as many items that hold as do not, of each length of statement and of text.

    Args:
        items: The items, of one criterion.
        seed: Seed of what is left out.
    """
    bands: dict[tuple[int, int], dict[bool, list[int]]] = defaultdict(lambda: {True: [], False: []})
    for place, one in enumerate(items):
        lengths = (len(text.split()) // _WORDS for text in (one.statement, one.item.text))
        first, second = lengths
        bands[first // 2, second][one.holds].append(place)
    rng = np.random.default_rng([seed, 9])
    kept: list[int] = []
    for band in sorted(bands):
        fewest = min(map(len, bands[band].values()))
        for places in bands[band].values():
            kept += [places[int(at)] for at in rng.permutation(len(places))[:fewest]]
    return [items[place] for place in sorted(kept)]


def draw(items: Sequence[Asked], most: int, *, seed: int) -> list[Asked]:
    """Return at most so many items: half of each verdict, drawn at random, and shuffled."""
    rng = np.random.default_rng([seed, 10])
    chosen: list[Asked] = []
    for holds in (True, False):
        own = [one for one in items if one.holds is holds]
        chosen += [own[int(at)] for at in rng.permutation(len(own))[: most // 2]]
    return [chosen[int(at)] for at in rng.permutation(len(chosen))]
