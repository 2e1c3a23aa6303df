"""The examples of a training: the choice of usable answers, and the split of the data."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contrafact.corpus.duplicates import Text, find_duplicates
from contrafact.errors import InputError
from contrafact.family.training import Answer, TrainingItem, TrainingSpec
from contrafact.text.delimit import delimit

Example = tuple[str, Answer]
"""An item and its right answer."""

MOST_POISON = 0.02
"""A file with a larger share of hostile rows is refused."""
LONGEST = 400
"""The most characters of an item or a part of its answer."""
_POISON = "holds markup of a prompt or chat, or invisible characters"
_FEWEST = 8


@dataclass(frozen=True)
class RejectedItem:
    """An item that is left out, and why."""

    id: str
    item: str
    reason: str
    line: int | None


@dataclass(frozen=True)
class Pool:
    """The items of a file or of the program: ``examples`` have answers, ``bare`` items do not."""

    source: Path | None
    examples: tuple[Example, ...]
    bare: tuple[TrainingItem, ...]
    rejected: tuple[RejectedItem, ...]


def fault_of(word: str, item: str, answer: Answer) -> str | None:
    """Return why an answer is not fit to learn from, or None; ``word`` is the word for an item."""
    for name, text in {word: item, **answer}.items():
        plain = " ".join(text.split())
        if delimit(plain) != plain:
            return f"the {name} {_POISON}"
        if len(plain) > LONGEST:
            return f"the {name} has over {LONGEST} characters"
        if not any(character.isalpha() for character in plain):
            return f"the {name} has no words"
    folded = {name: text.strip().casefold() for name, text in answer.items()}
    first: dict[str, str] = {}
    for name, text in folded.items():
        if text in first:
            return f"{first[text]} and {name} are the same"
        first[text] = name
    for name, text in folded.items():
        if text == item.strip().casefold():
            return f"the {name} is the {word} itself"
    return None


def load_pool(
    spec: TrainingSpec,
    path: Path | None,
    *,
    fits: Callable[[str, Answer], bool] = lambda item, answer: True,
) -> Pool:
    """Return the examples of a file, or the bundled ones.

    Items are left out, with the reason, for faults found by `fault_of`, as near duplicates of an
    earlier item, or if they do not fit the model's context (``fits``).

    Raises:
        InputError: The file cannot be read, has no answers, or is poisoned: too many rows contain
            tags, chat tokens or invisible characters.
    """
    items = spec.load(path)
    texts = [Text(item.id, item.text) for item in items]
    duplicates = {one.position: str(one.reason) for one in find_duplicates(texts, figures=False)}
    examples: list[Example] = []
    bare: list[TrainingItem] = []
    rejected: list[RejectedItem] = []
    for position, item in enumerate(items):
        reason = duplicates.get(position)
        if reason is None and item.answer is not None:
            reason = fault_of(spec.item, item.text, item.answer)
            if reason is None and not fits(item.text, item.answer):
                reason = "does not fit the model's context"
        if reason is not None:
            rejected.append(RejectedItem(item.id, item.text, reason, item.line))
        elif item.answer is None:
            bare.append(item)
        else:
            examples.append((item.text, item.answer))
    poison = [item for item in rejected if item.reason.endswith(_POISON)]
    if len(poison) > MOST_POISON * len(items):
        raise InputError(
            f"{len(poison)} of {len(items)} rows look poisoned; the first: {poison[0].reason}",
            file=path,
            line=poison[0].line,
            hint="clean the file, or take these rows out",
        )
    if not examples:
        raise InputError(
            f"holds no {spec.item} with {spec.answer} that can be learned from",
            file=path,
            hint=f"first reason: {rejected[0].reason}" if rejected else f"give {spec.answer}",
        )
    return Pool(path, tuple(examples), tuple(bare), tuple(rejected))


def share_out(
    pool: Pool, *, held_out: int, validation: float, most: int | None, seed: int
) -> tuple[list[Example], list[Example], list[str]]:
    """Return training examples, validation examples and held-out items, drawn with a seed.

    No item is in two shares. Held-out items are drawn first, those without answers before others.

    Args:
        validation: The share of the other examples for validation; at least one is used.
        most: The most examples in training and validation together.

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
            file=pool.source,
            hint="give more answers, or lower held_out or validation",
        )
    held = [*(item.text for item in bare[:held_out]), *(item for item, _ in examples[:lent])]
    return kept[checked:], kept[:checked], held
