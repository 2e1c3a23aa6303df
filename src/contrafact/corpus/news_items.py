"""Reading of news items from files, under various column names, and of the dates in them."""

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from dateutil import parser  # type: ignore[import-untyped]

from contrafact.errors import InputError
from contrafact.files.fields import column_of, columns_found, fold, fold_row, names_of, pick
from contrafact.files.tables import BAD_DATE, BROKEN, RowNotes, read_rows, source_name
from contrafact.records import NewsItem
from contrafact.text.delimit import replace_surrogates

__all__ = ["day_of", "item_of", "news_record", "news_rows"]

_LONGEST = 100  # characters of a text that may be a date
_EPOCH = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(?:\.\d+)?")
_HOUR = re.compile(r"((?:1[6-9]|2[01])\d\d[01]\d[0-3]\d)[0-2]\d")  # 2025041809
_DIGITS = re.compile(r"((?:1[6-9]|2[01])\d{2})([01]\d)([0-3]\d)(?!\d)(?:\.0$)?")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|[2-9]\d)\d\d(?!\d)")  # no offset of a zone
_MAIL = re.compile(r"[A-Za-z]{3}, \d{1,2} [A-Za-z]{3} \d")
_BEHIND = re.compile(r"(?<=[+-]\d{4}) \(\w{1,5}\)$|(?<=\d) Uhr$")  # "-0500 (EST)"
_SIGNS = str.maketrans("\u2010\u2013\u2212年月日_()", "-----    ")
_ZONES = {  # offsets in seconds; with another zone name, the day stays as it is written
    **dict.fromkeys(("Z", "UT", "UTC", "GMT"), 0),
    **{f"{zone}{kind}T": (hours + (kind == "D")) * 3_600
       for zone, hours in (("E", -5), ("C", -6), ("M", -7), ("P", -8)) for kind in "SD"},
}  # fmt: skip


def day_of(text: str) -> str | None:
    """Return the day of a date or time, as YYYY-MM-DD, or None if it cannot be read.

    Accepted are ISO 8601 and other dates with the year first (``2016/6/29``, ``20250418``), dates
    with the month's English name (``18 Apr 2025``, ``June 29, 2016``), dates in which one number
    cannot be a month (``29.06.2016``), the dates of mail and RSS, and seconds, milli-, micro- or
    nanoseconds since 1970. A time of day may follow; with a time zone, the day is in UTC. A date
    that could be read two ways (``04/05/2025``) is not read at all.
    """
    text = _BEHIND.sub("", unicodedata.normalize("NFKC", text[:_LONGEST]).strip())
    text = text.translate(_SIGNS).strip()
    if epoch := _EPOCH.fullmatch(text):
        if (hour := _HOUR.fullmatch(text)) and _day_by_iso(hour[1]):
            return None  # ten digits may be seconds, or the hour of a day
        seconds = float(text) / 1000 ** ((len(epoch[1]) - 9) // 3)
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    text = _DIGITS.sub(r"\1-\2-\3", text, count=1) if _DIGITS.match(text) else text
    year_first = _YEAR_FIRST.search(text)
    if year_first:
        year, _, month, day = year_first.groups()
        iso = f"{year}-{month:0>2}-{day:0>2}"
        text = text[: year_first.start()] + iso + text[year_first.end() :]
        if (read := _day_by_iso(text)) or not _day_by_iso(iso):
            return read
    if _MAIL.match(text):  # mail and feeds: a fast path; a year may have two digits
        with suppress(ValueError):
            return _in_utc(parsedate_to_datetime(text))
    if text.isdigit() or len(_YEAR.findall(text)) != 1:
        return None
    # Missing parts come from the default, so two defaults tell whether the text names a day.
    text = re.sub(r"(?<=/\d{4}):", " ", text)  # as web servers log it
    try:
        days = {
            _in_utc(
                parser.parse(
                    text,
                    default=datetime(2000 + number, number, number),
                    dayfirst=day_first,
                    tzinfos=lambda name, ahead: _ZONES.get(name) if ahead is None else ahead,
                )
            )
            for number, day_first in ((1, False), (2, not year_first))
        }
    except (ValueError, OverflowError):
        return None
    return days.pop() if len(days) == 1 else None


def _day_by_iso(text: str) -> str | None:
    try:
        return _in_utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def _in_utc(moment: datetime) -> str:
    with suppress(OverflowError):  # the first and last possible days may have no day in UTC
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return moment.date().isoformat()


_FIELDS = ("title", "summary", "ticker", "date", "url", "source", "category")
_OURS = frozenset({"id", "inputitem", *(name for field in _FIELDS for name in names_of(field))})


@dataclass(frozen=True)
class NewsRow:
    """One news item, with the row that it was read from and the row's line, from 1."""

    line: int
    item: NewsItem
    fields: dict[str, Any]
    """The row's fields as they were read; fields that no stage knows are carried along."""


def news_rows(path: str | Path, notes: RowNotes | None = None) -> list[NewsRow]:
    """Return the news items of a file, in order, without repeats, each with its row.

    Accepts CSV, JSON, JSON Lines and Parquet (``-`` is standard input) with a column ``title`` or
    ``headline`` and, if there are any, ``summary`` (or ``description``, ``text``), ``ticker``,
    ``date``, ``url``, ``source`` and ``category``; column names match in any case. The FIN-FORCE
    supplement, which has both texts under ``input_item``, is accepted too. Dates in the usual
    formats become YYYY-MM-DD, others stay unchanged. An item whose title and summary came before is
    left out.
    """
    notes = RowNotes() if notes is None else notes
    found: dict[str, NewsRow] = {}
    for line, fields in read_rows(path):
        try:
            row = NewsRow(line, item_of(fields, notes, line), fields)
        except InputError as error:
            raise error.at(source_name(path), line) from error
        notes.rows += 1
        if row.item.id in found:
            notes.found["left out: title and summary came before"].append(row.line)
            continue
        found[row.item.id] = row
        if not row.item.summary.strip():
            notes.found["with a title and no summary"].append(row.line)
    if not found:
        raise InputError(
            "the file holds no news", file=source_name(path), hint="give at least one row"
        )
    return [*found.values()]


def item_of(fields: dict[str, Any], notes: RowNotes | None = None, line: int = 0) -> NewsItem:
    """Return the news item in a row, whose columns may have any of the known names."""
    notes = RowNotes() if notes is None else notes
    inner = fields.get("input_item")
    cells = {**fields, **inner} if isinstance(inner, dict) else fields
    row = fold_row(cells)
    texts = {name: _text(name, value) for name, value in pick(row, _FIELDS).items()}
    if texts["title"] is None:
        has_title = column_of(row, "title") is not None
        raise InputError(
            "the title is empty"
            if has_title
            else f"no column 'title' (found: {columns_found(fields)})",
            hint="fill it in, or leave the row out"
            if has_title
            else "name it 'title' or 'headline'",
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
    id_given = row.get("id")
    if isinstance(id_given, str) and id_given and id_given != item.id:
        other = "whose id is not that of their contents, given the right one"
        notes.found[other].append(line)
    return item


def news_record(item: NewsItem, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a news item as the row of a stage file; unknown fields are carried along."""
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
