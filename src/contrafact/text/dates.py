"""Periods, dates and times as values that compare: "2Q25" and "the second quarter of 2025"."""

import re

__all__ = [
    "MONTH",
    "WEEKDAY",
    "YEAR",
    "date_value",
    "period_value",
    "time_value",
    "year_value",
]

MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
    r"|JAN(?:UARY)?|FEB(?:RUARY)?|MAR(?:CH)?|APR(?:IL)?|MAY|JUNE?|JULY?|AUG(?:UST)?"
    r"|SEPT?(?:EMBER)?|OCT(?:OBER)?|NOV(?:EMBER)?|DEC(?:EMBER)?)\b\.?"
)
"""A pattern for a month's name, in full or shortened."""

WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
"""A pattern for a day of the week."""

YEAR = r"(?:19|20)[0-9]{2}"
"""A pattern for a year in four digits."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "final": 4, "last": 4}
_YEAR = re.compile(rf"(?<![0-9]){YEAR}(?![0-9])")
_FISCAL = re.compile(r"\bFY|fiscal|financial|(?<=[0-9])FY", re.IGNORECASE)


def year_value(text: str) -> str:
    """Return a year's value: "2025", "FY2025" ("FY25", "fiscal 2025"), "1990s", "2024-2025".

    A fiscal year given by two calendar years is named by the second: "FY2024-25" is "FY2025".
    """
    fiscal = "FY" if _FISCAL.search(text) else ""
    numbers = re.findall(r"[0-9]+", text)
    years = [numbers[0] if len(numbers[0]) == 4 else "20" + numbers[0]]
    if len(numbers) > 1:
        years.append(numbers[1] if len(numbers[1]) == 4 else years[0][:2] + numbers[1])
    if re.search(r"[0-9]s\Z", text):
        return f"{years[0]}s"
    return fiscal + (years[-1] if fiscal else "-".join(years))


def period_value(text: str) -> str:
    """Return the value of a quarter or a half: "Q2", "2025-Q2", "FY2025-Q2", "2021-H2"."""
    name = text.casefold()
    match = re.search(r"([qh])\s?([1-4])(?![0-9]{3})|(?<![0-9])([1-4])([qh])", name)
    if match:
        letter, number = (match[1], match[2]) if match[1] else (match[4], match[3])
        part = f"{letter.upper()}{number}"
        rest = name[match.end() :]
    else:
        letter = "H" if re.search(r"hal(?:f|ves)\b", name) else "Q"
        ordinal = re.search(r"(first|second|third|fourth|final|last|[1-4](?=st|nd|rd|th))", name)
        word = ordinal[0] if ordinal else "first"
        number = word if word.isdigit() else str(_ORDINALS[word])
        part = letter + ("2" if letter == "H" and word in ("final", "last") else number)
        rest = name
    year = _YEAR.search(name)
    short = re.search(r"([0-9]{2})\Z", rest) if match else None
    if year is None and short is None:
        return part
    fiscal = "FY" if _FISCAL.search(text) else ""
    return f"{fiscal}{year[0] if year else '20' + short[1] if short else ''}-{part}"


def date_value(text: str) -> str:
    """Return a date's value in ISO's order: "2025-05-05", "2025-05", "--05-05", "--05", "mon".

    Of a date in figures alone the month is taken to come first, where it can.
    """
    name = text.casefold().strip(" .")
    if re.fullmatch(WEEKDAY.casefold() + "s?", name):
        return name[:3]
    month = re.search(rf"\b(?:{'|'.join(_MONTHS)})", name)
    year = _YEAR.search(name)
    if month:
        number = _MONTHS.index(month[0]) + 1
        rest = name.replace(year[0], " ") if year else name
        day = re.search(r"[0-9]{1,2}", rest)
        head = year[0] if year else "-"
        return f"{head}-{number:02}" + (f"-{int(day[0]):02}" if day else "")
    numbers = re.findall(r"[0-9]+", name)
    if len(numbers) == 3 and len(numbers[0]) == 4:
        return f"{numbers[0]}-{int(numbers[1]):02}-{int(numbers[2]):02}"
    if len(numbers) == 3:
        first, second = int(numbers[0]), int(numbers[1])
        month_number, day_number = (second, first) if first > 12 else (first, second)
        return (
            f"{numbers[2][-4:].rjust(4, '0') if len(numbers[2]) == 4 else '20' + numbers[2]}-"
            + (f"{month_number:02}-{day_number:02}")
        )
    return " ".join(re.split(r"[\s-]+", name))


def time_value(text: str) -> str:
    """Return a time of day's value on the 24-hour clock: "14:30" for "2:30 p.m."."""
    name = text.casefold()
    if name in ("noon", "midday", "midnight"):
        return "00:00" if name == "midnight" else "12:00"
    numbers = re.findall(r"[0-9]+", name)
    if len(numbers) == 1 and len(numbers[0]) == 4:
        numbers = [numbers[0][:2], numbers[0][2:]]
    hour = int(numbers[0])
    if re.search(r"p\.?m", name):
        hour = hour % 12 + 12
    elif re.search(r"a\.?m", name):
        hour %= 12
    return ":".join([f"{hour:02}", *(numbers[1:] or ["00"])])
