"""Days, from the forms in which news sources write them."""

import re
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

__all__ = ["day_of"]

_EPOCH = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")
_ISO_DAY = re.compile(r"(\d{4})[-/](\d{2})[-/](\d{2})(?=$|[T ])")


def day_of(text: str) -> str | None:
    """Return the day that a date or time names, as YYYY-MM-DD, or none where none can be read.

    Read are ISO 8601 (``2025-04-18T09:30:00Z``, also with slashes), the dates of mail and RSS
    (``Fri, 18 Apr 2025 09:30:00 GMT``), and seconds or milliseconds since 1970. A time with a zone
    gives the day in UTC. A date that could be read two ways (``04/05/2025``) is not read at all.
    """
    text = text.strip()
    if _EPOCH.fullmatch(text):
        seconds = float(text) / (1000 if len(text.split(".")[0]) > 10 else 1)
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    day = _ISO_DAY.match(text)
    try:
        if day is not None:
            moment = datetime.fromisoformat("-".join(day.groups()) + text[day.end() :])
        else:
            moment = parsedate_to_datetime(text)
        return (moment.astimezone(UTC) if moment.tzinfo else moment).date().isoformat()
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
