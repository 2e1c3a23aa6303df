"""The examples of a training: pairs that are fit to learn from, and how they are shared out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrafact.corpus.duplicates import Text, find_duplicates
from contrafact.errors import InputError
from contrafact.families.finforce.data import (
    bundled_headlines,
    bundled_shots,
    load_headlines,
    raw_items,
)
from contrafact.records import ForwardPair, Headline, content_id
from contrafact.text.delimit import delimit

__all__ = [
    "Example",
    "Pool",
    "Rejected",
    "Shares",
    "example_row",
    "fault_of",
    "load_pool",
    "share_out",
]

MOST_POISON = 0.02
"""A file with a larger share of hostile rows was not made for training: it is refused whole."""
LONGEST = 400
"""Characters of a headline or counterfactual; what is longer is none."""
_POISON = "holds markup of a prompt or chat, or invisible characters"
_FEWEST = 8


@dataclass(frozen=True)
class Example:
    """A headline and the two counterfactuals that are the right answer."""

    id: str
    headline: str
    pair: ForwardPair


@dataclass(frozen=True)
class Rejected:
    """A row that is not trained on, and why."""

    id: str
    headline: str
    reason: str
    line: int | None


@dataclass(frozen=True)
class Pool:
    """What a file, or the program, has to offer.

    Attributes:
        source: The file, or ``bundled``.
        examples: Headlines with both counterfactuals, fit to learn from.
        bare: Headlines without.
        rejected: What is left out, with reasons.
    """

    source: str
    examples: tuple[Example, ...]
    bare: tuple[Headline, ...]
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True)
class Shares:
    """How a pool is shared out; no headline is in two shares."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    held_out: tuple[Headline, ...]


def fault_of(headline: str, pair: ForwardPair) -> str | None:
    """Return why a pair is not fit to learn from; none if it is."""
    texts = {"headline": headline, "risk": pair.risk, "opportunity": pair.opportunity}
    for name, text in texts.items():
        plain = " ".join(text.split())
        if delimit(plain) != plain:
            return f"the {name} {_POISON}"
        if len(plain) > LONGEST:
            return f"the {name} has over {LONGEST} characters"
        if not any(character.isalpha() for character in plain):
            return f"the {name} has no words"
    if pair.risk.strip().casefold() == pair.opportunity.strip().casefold():
        return "risk and opportunity are the same"
    for side in ("risk", "opportunity"):
        if texts[side].strip().casefold() == headline.strip().casefold():
            return f"the {side} is the headline itself"
    return None


def load_pool(
    path: Path | None,
    *,
    fits: Callable[[str, ForwardPair], bool] = lambda headline, pair: True,
) -> Pool:
    """Return the examples of a file, or the bundled ones.

    Left out, with the reason: what `fault_of` finds, near duplicates of an earlier headline, and
    what does not fit the model's context.

    Args:
        path: The file; the bundled examples if none.
        fits: Whether a headline and its pair fit the model's context.

    Raises:
        InputError: The file cannot be read, holds no pairs, or is poisoned: too many rows hold
            tags, chat tokens or invisible characters.
    """
    if path is None:
        headlines = [*bundled_shots(), *bundled_headlines()]
        lines: dict[str, int] = {}
    else:
        headlines = load_headlines(path)
        lines = {
            content_id(item.headline, prefix="h"): item.line
            for item in raw_items(path)
            if isinstance(item.headline, str)
        }
    twins = {
        found.position: found.reason
        for found in find_duplicates([Text(one.id, one.text) for one in headlines])
    }
    examples: list[Example] = []
    bare: list[Headline] = []
    rejected: list[Rejected] = []
    for position, one in enumerate(headlines):
        reason = twins.get(position)
        if reason is None and one.reference is not None:
            reason = fault_of(one.text, one.reference)
            if reason is None and not fits(one.text, one.reference):
                reason = "does not fit the model's context"
        if reason is not None:
            rejected.append(Rejected(one.id, one.text, reason, lines.get(one.id)))
        elif one.reference is None:
            bare.append(one)
        else:
            examples.append(Example(one.id, one.text, one.reference))
    pool = Pool("bundled" if path is None else str(path), tuple(examples), tuple(bare), ())
    _check_poison(path, rejected, len(headlines))
    if not examples:
        raise InputError(
            "holds no headline with both counterfactuals that can be learned from",
            file=path,
            hint=f"first reason: {rejected[0].reason}" if rejected else "give pairs",
        )
    return Pool(pool.source, pool.examples, pool.bare, tuple(rejected))


def share_out(
    pool: Pool, *, held_out: int, validation: float, most: int | None, seed: int
) -> Shares:
    """Return the shares of a pool, drawn with a seed.

    Held-out headlines are drawn first, from those without counterfactuals as far as they go.

    Args:
        pool: The pool.
        held_out: How many headlines to hold out.
        validation: Share of the rest to validate on; one at least.
        most: At most so many examples in training and validation together.
        seed: The seed.

    Raises:
        InputError: Too few examples are left.
    """
    rng = np.random.default_rng([seed, 0])
    bare = [pool.bare[int(i)] for i in rng.permutation(len(pool.bare))]
    examples = [pool.examples[int(i)] for i in rng.permutation(len(pool.examples))]
    lent = max(0, held_out - len(bare))
    kept = examples[lent:][:most]
    checked = max(1, round(validation * len(kept)))
    if len(kept) - checked < _FEWEST:
        raise InputError(
            f"of {len(examples)} examples {max(0, len(kept) - checked)} are left to train on, "
            f"where at least {_FEWEST} are needed",
            file=None if pool.source == "bundled" else pool.source,
            hint="give more pairs, or lower held_out or validation",
        )
    return Shares(
        train=tuple(kept[checked:]),
        validation=tuple(kept[:checked]),
        held_out=(*bare[:held_out], *(Headline.of(one.headline) for one in examples[:lent])),
    )


def _check_poison(path: Path | None, rejected: Sequence[Rejected], rows: int) -> None:
    poison = [one for one in rejected if one.reason.endswith(_POISON)]
    if len(poison) > MOST_POISON * rows:
        raise InputError(
            f"{len(poison)} of {rows} rows look poisoned; the first: {poison[0].reason}",
            file=path,
            line=poison[0].line,
            hint="clean the file, or take these rows out",
        )


def example_row(example: Example) -> dict[str, Any]:
    """Return an example as a row of a file that `load_pool` reads."""
    return {
        "headline": example.headline,
        "risk_counterfactual": example.pair.risk,
        "opportunity_counterfactual": example.pair.opportunity,
    }
