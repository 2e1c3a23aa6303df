"""Rows out: JSON Lines, whole or not at all."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contrafact.files.atomic import whole_text, write_text

__all__ = ["write_rows"]


def write_rows(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines, whole or not at all; lone surrogates become U+FFFD.

    Raises:
        InputError: The file cannot be written.
    """
    lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    write_text(path, whole_text("".join(lines)))
