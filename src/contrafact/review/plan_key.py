"""A plan as files: the items to label, and the key that makes figures of their labels.

The items go to those who label, without what the judge said. The key stays behind: it has every
item that the figures speak of, drawn or not, with its probability in each wave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.files.atomic import write_text
from contrafact.files.tables import read_rows, render_csv, source_name, write_frame
from contrafact.review.plan import FIGURES, Figure, Frame
from contrafact.stats.sampling import Waves

__all__ = ["Key", "key_path", "read_key", "write_plan"]

_COLUMNS = ("item_id", "figures", "group", "level", "guess", "drawn_in", "given_before")
_WAVE = "probability_"


@dataclass(frozen=True)
class Key:
    """What a key holds.

    Attributes:
        frame: The items.
        waves: The waves so far.
        figures: What was to get tight.
    """

    frame: Frame
    waves: Waves
    figures: tuple[Figure, ...]


def key_path(out: Path) -> Path:
    """Return where the key of a plan lies: beside it."""
    return out.with_suffix(".key.csv")


def write_plan(
    out: Path, rows: Sequence[Mapping[str, Any]], key: Key, order: Sequence[int]
) -> Path:
    """Write the items to label and the key, and return the key's path.

    A plan that is there already is left as it is if it is the same, and never overwritten.

    Args:
        out: The file for the items: ``.csv``, ``.jsonl`` or ``.parquet``.
        rows: Every item of the frame, as it is to be shown.
        key: The key.
        order: The places of the items that the last wave drew, in the order to label them in.

    Raises:
        InputError: Another plan has that name, or a file cannot be written.
    """
    import pandas as pd

    target = key_path(out)
    text = render_csv(pd.DataFrame(_key_rows(key), dtype=object))
    if target.exists() or out.exists():
        if out.exists() and target.exists() and target.read_bytes() == text.encode():
            return target
        raise InputError(
            "there is another plan under this name",
            file=target if target.exists() else out,
            hint="give another name with --out",
        )
    write_frame(pd.DataFrame([rows[at] for at in order], dtype=object), out)
    write_text(target, text)
    return target


def read_key(path: str | Path) -> Key:
    """Return a key.

    Raises:
        InputError: The file is no key, or a row of it cannot be used.
    """
    name = source_name(path)
    rows = list(read_rows(path))
    waves = sum(1 for column in (rows[0][1] if rows else ()) if column.startswith(_WAVE))
    missing = [column for column in _COLUMNS if not rows or column not in rows[0][1]]
    if missing or not waves:
        raise InputError(
            f"this is no key of a plan: it has no column '{(missing or [_WAVE + '1'])[0]}'",
            file=name,
            hint="use the file ending in .key.csv that `contrafact review plan` wrote",
        )
    probabilities = np.full((waves, len(rows)), np.nan)
    guess = np.empty(len(rows))
    numbers = np.zeros((2, len(rows)), dtype=np.intp)
    for at, (line, row) in enumerate(rows):
        try:
            guess[at] = float(row["guess"])
            numbers[:, at] = int(row["drawn_in"] or 0), int(row["given_before"] or 0)
            for wave in range(waves):
                cell = row[f"{_WAVE}{wave + 1}"]
                probabilities[wave, at] = float(cell) if str(cell or "").strip() else np.nan
        except (KeyError, TypeError, ValueError) as error:
            raise _unusable(name, line) from error
        own = probabilities[:, at]
        drawn = numbers[0, at]
        sound = 0 <= drawn <= waves and not ((own < 0.0) | (own > 1.0)).any()
        if not sound or (drawn and not own[drawn - 1] > 0.0) or not 0.0 <= guess[at] <= 1.0:
            raise _unusable(name, line)
    frame = Frame(
        tuple(str(row["item_id"]) for _, row in rows),
        tuple(str(row["group"] or "") for _, row in rows),
        tuple(str(row["level"] or "") for _, row in rows),
        guess,
    )
    named = str(rows[0][1]["figures"]).split("+")
    figures = tuple(figure for figure in FIGURES if figure in named)
    return Key(frame, Waves(probabilities, numbers[0], numbers[1]), figures)


def _key_rows(key: Key) -> list[dict[str, Any]]:
    rows = []
    for at, name in enumerate(key.frame.items):
        row: dict[str, Any] = {
            "item_id": name,
            "figures": "+".join(key.figures),
            "group": key.frame.group[at],
            "level": key.frame.level[at],
            "guess": float(key.frame.guess[at]),
            "drawn_in": int(key.waves.drawn_in[at]) or None,
            "given_before": int(key.waves.given_before[at]) or None,
        }
        for wave, own in enumerate(key.waves.probabilities[:, at].tolist()):
            row[f"{_WAVE}{wave + 1}"] = None if own != own else own
        rows.append(row)
    return rows


def _unusable(name: str, line: int) -> InputError:
    return InputError(
        "this row of the key cannot be used",
        file=name,
        line=line,
        hint="use the key as `contrafact review plan` wrote it",
    )
