"""A paper's published figures: the folder ``published`` of a family's package.

They are data, typed in from the paper as printed: tables (``NAME.csv``) and other figures
(``facts.json``). ``notes.json`` lists printed figures that contradict each other; a family's tests
recompute the others.
"""

import json
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["published_facts", "published_notes", "published_table"]


def published_table(package: str, name: str) -> "pd.DataFrame":
    """Return one table as printed."""
    import pandas as pd

    return pd.read_csv(StringIO(_text(package, f"{name}.csv")))


def published_facts(package: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(_text(package, "facts.json"))
    return facts


def published_notes(package: str) -> dict[str, str]:
    """Return the notes on published figures, to show below tables with these figures.

    The key is the figure's name: table, row and column joined by colons, or another name.
    """
    return {
        note["key"]: f"In the paper, {note['where']}: {note['printed']}. {note['note']}"
        for note in json.loads(_text(package, "notes.json"))
    }


def _text(package: str, name: str) -> str:
    return (files(package) / "published" / name).read_text(encoding="utf-8")
