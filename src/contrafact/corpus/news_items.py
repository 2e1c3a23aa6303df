"""News items in files, under whichever names, and the days that their sources write."""

import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
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
    "NewsRow",
    "day_of",
    "item_of",
    "news_record",
    "news_rows",
]

_LONGEST = 100  # characters of what may be a date
_EPOCH = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(?:\.\d+)?")
_DIGITS = re.compile(
    r"((?:1[6-9]|2[01])\d\d[01]\d[0-3]\d)(?:[T _]?([0-2]\d(?:[0-5]\d[\dZ.,:+-]*)?)|\.0)?"
)
_SIGNS = str.maketrans("\u2010\u2013\u2212年月日", "----- ")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR, _DAY = r"(?P<year>\d{4})", r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_YEAR}(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign){_DAY}",
        rf"(?P<one>\d{{1,2}})(?P<sign>[-/.])(?P<two>\d{{1,2}})(?P=sign){_YEAR}",
        rf"{_DAY}[ /-]?{_MONTH}[ /-]?{_YEAR}",
        rf"{_MONTH}[ /-]?{_DAY}[ /-]{_YEAR}",
        rf"{_YEAR}[ /-]?{_MONTH}[ /-]?{_DAY}",
    )
)
_ZONES: Mapping[str, float] = {
    **dict.fromkeys(("z", "ut", "utc", "gmt"), 0),
    **{f"{zone}{kind}t": hours + (kind == "d")
       for zone, hours in (("e", -5), ("c", -6), ("m", -7), ("p", -8)) for kind in "sd"},
}  # fmt: skip
_WORD = rf"\(?\b(?!{_MONTH.replace('?P<name>', '?:')})[a-z]{{1,5}}\b\)?"
_CLOCK = re.compile(
    r"(?:(?<=\d)[t:]|(?<![\d:]))(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    rf" *(?:(?P<half>[ap])\.?m\b\.?)? *(?P<zone>{_WORD})?"
    rf" *(?P<offset>[+-]\d\d?(?::?\d\d)?(?!\d))?(?: *{_WORD})?"
)
_AROUND = re.compile(
    r"[,_]|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?|\b(?:at|of|on|utc|gmt)\b|(?<=\d)z$"
)
_SHORT_YEAR = re.compile(r"[a-z]{3}, \d{1,2} [a-z]{3} \d\d \d\d:\d\d(:\d\d)?( \S+)?")


def day_of(text: str) -> str | None:
    """Return the day that a date or time names, as YYYY-MM-DD, or none where none can be read.

    Read are ISO 8601 and other days with the year first (``2016/6/29``, ``20250418``), those with
    the month's English name (``18 Apr 2025``, ``June 29, 2016``), those of which one number can be
    no month (``29.06.2016``), the dates of mail and RSS, and seconds, milli-, micro- or nanoseconds
    since 1970. A time of day may stand with them; one with a zone gives the day in UTC. A date that
    could be read two ways (``04/05/2025``) is not read at all.
    """
    text = unicodedata.normalize("NFKC", text[:_LONGEST]).translate(_SIGNS).strip()
    digits, epoch = _DIGITS.fullmatch(text), _EPOCH.fullmatch(text)
    iso = re.sub(r"(\d{4})(\d\d)(\d\d)", r"\1-\2-\3", digits[1]) if digits else text
    try:
        day = _written_day(iso.lower())
    except ValueError:  # there is no such day
        day = None
    if epoch is not None:
        if digits is not None and day is not None:
            return None  # ten digits may be seconds, or the hour of a day
        seconds = float(text) / 1000 ** ((len(epoch[1]) - 9) // 3)
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    if digits is not None and digits[2]:
        iso += f"T{digits[2]}"
    try:
        if re.match(r"\d{4}-\d\d-\d\d(?!\d)", iso):
            return _in_utc(datetime.fromisoformat(iso))
    except ValueError:  # a time of day in another form, which `_written_day` may know
        pass
    return day


def _in_utc(moment: datetime) -> str:
    with suppress(OverflowError):  # the first and last days there are have no day in UTC
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return moment.date().isoformat()


def _written_day(text: str) -> str | None:
    """Return the day of a date in words or numbers, in lower case, with a time of day or none."""
    clock = _CLOCK.search(text)
    rest = text if clock is None else f"{text[: clock.start()]} {text[clock.end() :]}"
    rest = " ".join(_AROUND.sub(" ", rest).split())
    form = next((match for form in _FORMS if (match := form.fullmatch(rest))), None)
    if form is None:
        return _in_utc(parsedate_to_datetime(text)) if _SHORT_YEAR.fullmatch(text) else None
    parts = form.groupdict()
    if "one" in parts:
        one, two = int(parts["one"]), int(parts["two"])
        # Of two numbers that both may be months, the day is known only if they are equal.
        days = {(day, month) for day, month in ((one, two), (two, one)) if month <= 12}
    else:
        month = _MONTHS.index(parts["name"][:3]) + 1 if "name" in parts else int(parts["month"])
        days = {(int(parts["day"]), month)}
    if len(days) != 1:
        return None
    ((day, month),) = days
    midnight = datetime(int(parts["year"]), month, day)
    return _in_utc(_at(midnight, clock.groupdict())) if clock else midnight.date().isoformat()


def _at(day: datetime, clock: Mapping[str, str | None]) -> datetime:
    """Return a time of a day, with its zone where known; the day where there is no such time."""
    hour, half = int(clock["hour"] or 0), clock["half"]
    hour = hour % 12 + 12 * (half == "p") if half else hour
    ahead = _ZONES.get((clock["zone"] or "").strip("()"))
    if offset := clock["offset"]:
        hours, minutes = re.findall(r"(\d\d?):?(\d\d)?$", offset)[0]
        ahead = (int(hours) + int(minutes or 0) / 60) * (-1 if offset[0] == "-" else 1)
    try:
        zone = None if ahead is None else timezone(timedelta(hours=ahead))
        return day.replace(hour=hour, minute=int(clock["minute"] or 0), tzinfo=zone)
    except ValueError:
        return day


_FIELDS = ("title", "summary", "ticker", "date", "url", "source", "category")
_OURS = frozenset({"id", "inputitem", *(name for field in _FIELDS for name in names_of(field))})


@dataclass(frozen=True)
class NewsRow:
    """One news item, the row that it was read from, and the line of that, from 1."""

    line: int
    item: NewsItem
    fields: dict[str, Any]
    """As they were read, so that fields that no stage knows are carried along."""


def news_rows(path: str | Path, notes: RowNotes | None = None) -> list[NewsRow]:
    """Return the news items of a file, in its order, each once, with the rows they stand in.

    Accepts CSV, JSON, JSON Lines and Parquet (``-`` is standard input) with a column ``title`` or
    ``headline`` and, if there are any, ``summary`` or ``description``, ``ticker``, ``date``,
    ``url``, ``source`` and ``category``; column names match in any case. The FIN-FORCE supplement,
    whose headline and description stand under ``input_item``, is read as it is. Dates of the usual
    forms become YYYY-MM-DD, others stay as they are. An item whose title and summary came before is
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
    """Return the news item that one row holds, under whichever of the known names."""
    notes = RowNotes() if notes is None else notes
    inner = fields.get("input_item")
    cells = {**fields, **inner} if isinstance(inner, dict) else fields
    columns, own_id = _columns(tuple(cells))
    texts: dict[str, str | None] = {}
    for name, places in columns:
        filled = (value for place in places if not is_absent(value := cells[place]))
        texts[name] = _text(name, next(filled, None))
    if texts["title"] is None:
        has_title = bool(dict(columns)["title"])
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
    id_given = None if own_id is None else cells[own_id]
    if isinstance(id_given, str) and id_given and id_given != item.id:
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
