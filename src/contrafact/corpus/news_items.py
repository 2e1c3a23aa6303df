"""News items in: files of articles with a title and a summary, whatever their fields are called.

RFC-BENCH, section 2.2.1 (an article is a title and a summary); FIN-FORCE, section 3.4 (the
supplement, whose headlines with descriptions are such articles too).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contrafact.corpus.dates import day_of
from contrafact.errors import InputError
from contrafact.files.jsonl import read_rows, source_name
from contrafact.records import NewsItem
from contrafact.text.delimit import replace_surrogates

__all__ = ["NewsNotes", "NewsRow", "item_of", "load_news", "news_record", "news_rows"]

_NAMES = {
    "title": ("title", "headline"),
    "summary": ("summary", "description"),
    "ticker": ("ticker", "symbol"),
    "date": ("date", "published", "publishedat", "published_at", "pubdate", "publish_date"),
    "url": ("url", "link"),
    "source": ("source", "publisher"),
    "category": ("category",),
}
_OURS = frozenset({"id", "input_item", *(key for keys in _NAMES.values() for key in keys)})


@dataclass
class NewsNotes:
    """What the loader met and passed over, to be said to the user; rows are told by line."""

    rows: int = 0
    """Rows read, duplicates among them."""
    duplicates: list[tuple[int, int]] = field(default_factory=list)
    """Rows left out because title and summary came before: (line, line of the first)."""
    without_summary: list[int] = field(default_factory=list)
    """Rows with a title alone; they are loaded."""
    bad_dates: list[int] = field(default_factory=list)
    """Rows whose date cannot be read; they are loaded without one."""
    renamed: list[int] = field(default_factory=list)
    """Rows whose own id is not that of their contents, which they are given."""
    broken: list[int] = field(default_factory=list)
    """Rows with half a character (a lone surrogate), replaced by U+FFFD."""

    def lines(self) -> list[str]:
        """Return one sentence for each thing that the user should know; empty if all was well."""
        said = (
            (self.duplicates, "left out: title and summary came before"),
            (self.without_summary, "with a title and no summary"),
            (self.bad_dates, "with a date that cannot be read, loaded without one"),
            (self.renamed, "whose id is not that of their contents, given the right one"),
            (self.broken, "with broken characters, replaced by U+FFFD"),
        )
        return [
            f"{len(found)} {'row' if len(found) == 1 else 'rows'} {what} ({_at(found)})"
            for found, what in said
            if found
        ]


@dataclass(frozen=True)
class NewsRow:
    """One news item and the row that it was read from."""

    line: int
    """The line of the row in its file, counted from 1."""
    item: NewsItem
    fields: dict[str, Any]
    """The row as it was read, so that fields that no stage knows are carried along."""


def load_news(path: str | Path, notes: NewsNotes | None = None) -> list[NewsItem]:
    """Return the news items of a file, in its order, each once.

    Accepts CSV, JSON, JSON Lines and Parquet (``-`` is standard input) with a column ``title`` or
    ``headline`` and, if there are any, ``summary`` or ``description``, ``ticker``, ``date``,
    ``url``, ``source`` and ``category``; column names match in any case. The FIN-FORCE supplement,
    whose headline and description stand under ``input_item``, is read as it is. Dates of the usual
    forms become YYYY-MM-DD. An item whose title and summary came before is left out.

    Args:
        path: The file.
        notes: Filled with what was left out, replaced or lacking, if given.

    Raises:
        InputError: The file cannot be read or holds no rows, or a title or summary is missing or
            not text; the message names the line.
    """
    return [row.item for row in news_rows(path, notes)]


def news_rows(path: str | Path, notes: NewsNotes | None = None) -> list[NewsRow]:
    """Return the news items of a file as :func:`load_news` does, each with its whole row."""
    notes = NewsNotes() if notes is None else notes
    first_lines: dict[str, int] = {}
    found: list[NewsRow] = []
    for row in _read(path, notes):
        notes.rows += 1
        if row.item.id in first_lines:
            notes.duplicates.append((row.line, first_lines[row.item.id]))
            continue
        first_lines[row.item.id] = row.line
        if not row.item.summary.strip():
            notes.without_summary.append(row.line)
        found.append(row)
    if not found:
        raise InputError(
            "the file holds no news", file=source_name(path), hint="give at least one row"
        )
    return found


def item_of(fields: dict[str, Any], notes: NewsNotes | None = None, line: int = 0) -> NewsItem:
    """Return the news item that one row holds, under whichever of the known names.

    Args:
        fields: The row.
        notes: Filled with what was replaced or lacking, if given.
        line: The row's line, for the notes.

    Raises:
        InputError: There is no title, it is empty, or title or summary is not text.
    """
    notes = NewsNotes() if notes is None else notes
    inner = fields.get("input_item")
    given = {**fields, **inner} if isinstance(inner, dict) else fields
    by_name = {str(key).strip().casefold(): value for key, value in given.items()}
    values = {
        name: next((by_name[key] for key in keys if not _absent(by_name.get(key))), None)
        for name, keys in _NAMES.items()
    }
    texts = {name: _text(name, value) for name, value in values.items()}
    if texts["title"] is None:
        known = any(name in by_name for name in _NAMES["title"])
        columns = ", ".join(str(key) for key in list(fields)[:8]) or "none"
        raise InputError(
            "the title is empty" if known else f"no column 'title' (found: {columns})",
            hint="fill it in, or leave the row out" if known else "name it 'title' or 'headline'",
        )
    whole = {name: replace_surrogates(text) for name, text in texts.items() if text is not None}
    if any(whole[name] != texts[name] for name in whole):
        notes.broken.append(line)
    day = day_of(whole["date"]) if "date" in whole else None
    if "date" in whole and day is None:
        notes.bad_dates.append(line)
    title, summary = whole.pop("title"), whole.pop("summary", "")
    item = NewsItem.of(title, summary, **{**whole, "date": day})
    own = by_name.get("id")
    if isinstance(own, str) and own and own != item.id:
        notes.renamed.append(line)
    return item


def news_record(item: NewsItem, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a news item as the row of a stage file, with what no stage knows carried along.

    Args:
        item: The item.
        fields: The row that it was read from, if any; fields that became the item's are left out.
    """
    carried = {
        key: value
        for key, value in (fields or {}).items()
        if str(key).strip().casefold() not in _OURS
    }
    return {**item.model_dump(), **carried}


def _read(path: str | Path, notes: NewsNotes) -> Iterator[NewsRow]:
    for line, fields in read_rows(path):
        try:
            yield NewsRow(line, item_of(fields, notes, line), fields)
        except InputError as error:
            raise InputError(
                error.problem, file=source_name(path), line=line, hint=error.hint
            ) from error


def _absent(value: Any) -> bool:
    """Return whether a field has no value: none, a table's NaN, or a text of spaces."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(name: str, value: Any) -> str | None:
    if name == "source" and isinstance(value, dict):  # NewsAPI: {"id": …, "name": …}
        value = value.get("name")
    if value is None or isinstance(value, str):
        return value
    if name in ("title", "summary"):
        raise InputError(f"the {name} is not text: {str(value)[:40]!r}", hint="write it as text")
    return str(value)


def _at(found: list[Any], shown: int = 6) -> str:
    lines = [entry[0] if isinstance(entry, tuple) else entry for entry in found]
    listed = ", ".join(str(line) for line in lines[:shown])
    return f"line{'s' * (len(lines) != 1)} {listed}{', …' if len(lines) > shown else ''}"
