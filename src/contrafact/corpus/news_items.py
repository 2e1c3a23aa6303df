"""News items in files, under whichever names, and the days that their sources write."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.files.fields import columns_found, fold, is_absent, names_of
from contrafact.files.tables import BAD_DATE, BROKEN, RowNotes, read_rows, source_name
from contrafact.records import NewsItem
from contrafact.text.delimit import replace_surrogates

__all__ = [
    "NewsNotes",
    "NewsRow",
    "day_of",
    "item_of",
    "news_record",
    "news_rows",
    "stream_news",
]

_EPOCH = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")
_ISO_DAY = re.compile(r"(\d{4})[-/](\d{2})[-/](\d{2})(?=$|[T ])")


def day_of(text: str) -> str | None:
    """Return the day that a date or time names, as YYYY-MM-DD, or none where none can be read.

    Read are ISO 8601 (``2025-04-18T09:30:00Z``, also with slashes), the dates of mail and RSS
    (``Fri, 18 Apr 2025 09:30:00 GMT``), and seconds or milliseconds since 1970. A time with a zone
    gives the day in UTC. A date that could be read two ways (``04/05/2025``) is not read at all.
    """
    text = text.strip()
    day = _ISO_DAY.match(text)
    try:
        if _EPOCH.fullmatch(text):
            seconds = float(text) / (1000 if len(text.split(".")[0]) > 10 else 1)
            moment = datetime.fromtimestamp(seconds, UTC)
        elif day is not None:
            moment = datetime.fromisoformat("-".join(day.groups()) + text[day.end() :])
        else:
            moment = parsedate_to_datetime(text)
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment
        return in_utc.date().isoformat()
    except (ValueError, OverflowError):  # the first and last days there are have no day in UTC
        return _plain_day(day)


def _plain_day(found: re.Match[str] | None) -> str | None:
    """Return the day of a date whose time of day has no known form."""
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups())
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


_FIELDS = ("title", "summary", "ticker", "date", "url", "source", "category")
_OURS = frozenset({"id", "inputitem", *(name for field in _FIELDS for name in names_of(field))})


@dataclass
class NewsNotes(RowNotes):
    """What the reader met, and rows that repeat another, each with the line of the first."""

    repeated: list[tuple["NewsRow", int]] = field(default_factory=list)


@dataclass(frozen=True)
class NewsRow:
    """One news item, the row that it was read from, and the line of that, from 1."""

    line: int
    item: NewsItem
    fields: dict[str, Any]
    """As they were read, so that fields that no stage knows are carried along."""


def news_rows(path: str | Path, notes: NewsNotes | None = None) -> list[NewsRow]:
    """Return the news items of a file, in its order, each once, with the rows they stand in.

    Accepts CSV, JSON, JSON Lines and Parquet (``-`` is standard input) with a column ``title`` or
    ``headline`` and, if there are any, ``summary`` or ``description``, ``ticker``, ``date``,
    ``url``, ``source`` and ``category``; column names match in any case. The FIN-FORCE supplement,
    whose headline and description stand under ``input_item``, is read as it is. Dates of the usual
    forms become YYYY-MM-DD, others stay as they are. An item whose title and summary came before is
    left out.
    """
    return list(stream_news(path, notes or NewsNotes()))


def stream_news(path: str | Path, notes: NewsNotes) -> Iterator[NewsRow]:
    """Yield the news items of a file one by one, as `news_rows` has them."""
    first_lines: dict[str, int] = {}
    for line, fields in read_rows(path):
        try:
            row = NewsRow(line, item_of(fields, notes, line), fields)
        except InputError as error:
            raise error.at(source_name(path), line) from error
        notes.rows += 1
        if (first := first_lines.get(row.item.id)) is not None:
            notes.found["left out: title and summary came before"].append(row.line)
            notes.repeated.append((row, first))
            continue
        first_lines[row.item.id] = line
        if not row.item.summary.strip():
            notes.found["with a title and no summary"].append(row.line)
        yield row
    if not first_lines:
        raise InputError(
            "the file holds no news", file=source_name(path), hint="give at least one row"
        )


def item_of(fields: dict[str, Any], notes: RowNotes | None = None, line: int = 0) -> NewsItem:
    """Return the news item that one row holds, under whichever of the known names."""
    notes = RowNotes() if notes is None else notes
    inner = fields.get("input_item")
    given = {**fields, **inner} if isinstance(inner, dict) else fields
    columns, own_id = _columns(tuple(given))
    texts: dict[str, str | None] = {}
    for name, places in columns:
        filled = (value for place in places if not is_absent(value := given[place]))
        texts[name] = _text(name, next(filled, None))
    if texts["title"] is None:
        known = bool(dict(columns)["title"])
        raise InputError(
            "the title is empty"
            if known
            else f"no column 'title' (found: {columns_found(fields)})",
            hint="fill it in, or leave the row out" if known else "name it 'title' or 'headline'",
        )
    whole = {name: replace_surrogates(text) for name, text in texts.items() if text is not None}
    if any(whole[name] != texts[name] for name in whole):
        notes.found[BROKEN].append(line)
    if "date" in whole:
        day = day_of(whole["date"])
        if day is None:
            notes.found[BAD_DATE].append(line)
        else:
            whole["date"] = day
    title, summary = whole.pop("title"), whole.pop("summary", "")
    item = NewsItem.of(title, summary, **whole)
    own = None if own_id is None else given[own_id]
    if isinstance(own, str) and own and own != item.id:
        other = "whose id is not that of their contents, given the right one"
        notes.found[other].append(line)
    return item


@lru_cache(maxsize=1_000)
def _columns(names: tuple[Any, ...]) -> tuple[list[tuple[str, list[Any]]], Any]:
    """Return which columns may hold each field, the first filled one counting, and the id's."""
    by_folded = {fold(name): name for name in names}
    places = {field: [by_folded[n] for n in names_of(field) if n in by_folded] for field in _FIELDS}
    return list(places.items()), by_folded.get("id")


def news_record(item: NewsItem, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a news item as the row of a stage file, with what no stage knows carried along."""
    carried = {key: value for key, value in (fields or {}).items() if fold(key) not in _OURS}
    return {**item.model_dump(), **carried}


def _text(name: str, value: Any) -> str | None:
    if name == "source" and isinstance(value, dict):  # NewsAPI: {"id": …, "name": …}
        value = value.get("name")
    if value is None or isinstance(value, str):
        return value
    if name in ("title", "summary"):
        raise InputError(f"the {name} is not text: {str(value)[:40]!r}", hint="write it as text")
    return str(value)
