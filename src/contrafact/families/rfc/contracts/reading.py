"""Pairs to check, read row by row: a bad row is told and kept, and never stops the others."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.rfc.contracts.check import LONGEST
from contrafact.files.tables import read_rows, source_name
from contrafact.records import MANIPULATIONS

__all__ = ["PairRow", "read_pairs"]

_FIELDS = ("id", "manipulation", "original", "rewritten")


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of a file of pairs.

    Attributes:
        line: Its line, from 1.
        fields: What it holds; empty where it could not be read.
        problem: What is wrong with it, none if it can be checked.
    """

    line: int
    fields: dict[str, Any]
    problem: InputError | None = None


def read_pairs(path: str | Path) -> list[PairRow]:
    """Return the rows of a file of pairs, in order, the bad ones with their problem.

    A row is bad that is not UTF-8 or no JSON object, lacks a field, has one that is not text, an
    unknown manipulation, an id that came before, a blank original, or a text of more than
    `LONGEST` characters.

    Raises:
        InputError: The file as a whole cannot be read, or holds no rows.
    """
    name = source_name(path)
    rows: list[PairRow] = []
    first: dict[str, int] = {}
    for row in _lines(path) if _by_line(path) else _whole(path):
        problem = row.problem or _problem(row, name)
        if problem is None:
            identity = row.fields["id"]
            if identity in first:
                problem = InputError(
                    f"the id '{identity}' came before, on line {first[identity]}",
                    file=name,
                    line=row.line,
                    hint="give each pair an id of its own",
                )
            first.setdefault(identity, row.line)
        rows.append(PairRow(row.line, row.fields, problem))
    if not rows:
        raise InputError("the file holds no rows", file=name, hint="give at least one pair")
    return rows


def _by_line(path: str | Path) -> bool:
    return str(path) != "-" and Path(path).suffix.lower() in (".jsonl", ".ndjson")


def _whole(path: str | Path) -> Iterator[PairRow]:
    for line, fields in read_rows(path):
        yield PairRow(line, fields)


def _lines(path: str | Path) -> Iterator[PairRow]:
    """Yield the lines of a JSON Lines file, each for itself."""
    name = source_name(path)
    rows = read_rows(path)
    try:
        yield from (PairRow(line, fields) for line, fields in rows)
        return
    except InputError as error:
        if error.line is None:
            raise
        failed = error
    # One line is bad: it is told, and the lines after it are read one by one.
    for number, raw in enumerate(Path(path).read_bytes().split(b"\n"), start=1):
        if number < (failed.line or 0) or not raw.strip():
            continue
        if number == failed.line:
            yield PairRow(number, {}, failed)
            continue
        yield _line(raw, name, number)


def _line(raw: bytes, name: str, number: int) -> PairRow:
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        said = f"is not UTF-8 (byte 0x{raw[error.start]:02x})"
        return PairRow(
            number, {}, InputError(said, file=name, line=number, hint="save it as UTF-8")
        )
    except (ValueError, RecursionError) as error:
        said = f"bad JSON: {error}"
        return PairRow(number, {}, InputError(said, file=name, line=number, hint="mend the line"))
    if isinstance(value, dict):
        return PairRow(number, value)
    said = "the row is not an object"
    hint = 'write each row as {"id": …, "manipulation": …, "original": …, "rewritten": …}'
    return PairRow(number, {}, InputError(said, file=name, line=number, hint=hint))


def _problem(row: PairRow, name: str) -> InputError | None:
    def bad(said: str, hint: str) -> InputError:
        return InputError(said, file=name, line=row.line, hint=hint)

    for field in _FIELDS:
        value = row.fields.get(field)
        if value is None:
            return bad(f"there is no '{field}'", f"give the row {', '.join(_FIELDS)}")
        if not isinstance(value, str):
            return bad(f"'{field}' is not text", "write it in quotes")
        if field in ("original", "rewritten") and len(value) > LONGEST:
            return bad(
                f"'{field}' has {len(value):,} characters, more than {LONGEST:,}",
                "give one paragraph of news",
            )
        if field != "rewritten" and not value.strip():
            return bad(f"'{field}' is blank", "fill it in, or leave the row out")
    if row.fields["manipulation"] not in MANIPULATIONS:
        return bad(
            f"there is no manipulation '{row.fields['manipulation'][:40]}'",
            f"use one of {', '.join(MANIPULATIONS)}",
        )
    return None
