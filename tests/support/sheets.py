"""Sheets of human studies, as a spreadsheet would read and save them."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path


def read_sheet(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def fill(sheet: Path, copy: Path, answer: Callable[[dict[str, str]], Mapping[str, object]]) -> Path:
    """Fill a sheet as a person does: read it, set cells, save it under another name."""
    rows = [{**row, **answer(row)} for row in read_sheet(sheet)]
    with copy.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return copy
