"""Numbers that are not quantities: years, dates, quarters, index names, forms, versions.

The quantity grammar asks `identifiers` first, so that "S&P 500" or "by 2030" is never read as an
amount. Equal identifiers have equal values: "2Q25" and "the second quarter of 2025".
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from contrafact.errors import InputError
from contrafact.text.numerals import WORDS, plain_digits, words_value

MOST_FIGURES = 5_000
"""A text with more numbers, in digits or in words, is not prose, and is refused."""

IdentifierKind = Literal[
    "year",
    "quarter",
    "half",
    "date",
    "time",
    "version",
    "ranking",
    "index",
    "form",
    "ticker",
    "other",
]


@dataclass(frozen=True, slots=True)
class Identifier:
    """A part of a text, ``text[start:end]``, that looks like a quantity but is a name.

    Two identifiers of a kind are the same if their values are equal, however written.
    """

    text: str
    start: int
    end: int
    kind: IdentifierKind
    value: str


# The values of identifiers

_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_FOUR_DIGITS = r"(?:19|20)[0-9]{2}"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "final": 4, "last": 4}
_YEAR = re.compile(rf"(?<![0-9]){_FOUR_DIGITS}(?![0-9])")
_FISCAL = re.compile(r"\bFY|fiscal|financial|(?<=[0-9])FY", re.IGNORECASE)


def _year_value(text: str) -> str:
    """Return a year's value: "2025", "FY2025" ("FY25", "fiscal 2025"), "1990s", "2024-2025".

    A fiscal year over two calendar years is named by the second: "FY2024-25" is "FY2025".
    """
    fiscal = "FY" if _FISCAL.search(text) else ""
    numbers = re.findall(r"[0-9]+", text)
    years = [numbers[0] if len(numbers[0]) == 4 else "20" + numbers[0]]
    if len(numbers) > 1:
        years.append(numbers[1] if len(numbers[1]) == 4 else years[0][:2] + numbers[1])
    if re.search(r"[0-9]s\Z", text):
        return f"{years[0]}s"
    return fiscal + (years[-1] if fiscal else "-".join(years))


def _period_value(text: str) -> str:
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


def _date_value(text: str) -> str:
    """Return a date's value in ISO's order: "2025-05-05", "2025-05", "--05-05", "--05", "mon".

    In a date of digits only, the first number is the month, unless it is over 12.
    """
    name = text.casefold().strip(" .")
    if re.fullmatch(_WEEKDAY.casefold() + "s?", name):
        return name[:3]
    month = re.search(rf"\b(?:{'|'.join(_MONTHS)})", name)
    year = _YEAR.search(name)
    if month:
        number = _MONTHS.index(month[0]) + 1
        rest = name.replace(year[0], " ") if year else name
        days = re.findall(r"[0-9]{1,2}", rest)  # two of "3 to 17 March"
        head = year[0] if year else "-"
        return "-".join([f"{head}-{number:02}", *(f"{int(day):02}" for day in days[:2])])
    numbers = re.findall(r"[0-9]+", name)
    if len(numbers) == 3 and len(numbers[0]) == 4:
        return f"{numbers[0]}-{int(numbers[1]):02}-{int(numbers[2]):02}"
    if len(numbers) == 3:
        first, second = int(numbers[0]), int(numbers[1])
        if first > 12:
            first, second = second, first
        century = "" if len(numbers[2]) == 4 else "20"
        return f"{century}{numbers[2]}-{first:02}-{second:02}"
    return " ".join(re.split(r"[\s-]+", name))


def _time_value(text: str) -> str:
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


_NUMBER_WORD = re.compile(rf"\b{WORDS}", re.IGNORECASE)
_RANK_WORDS = {
    word: str(n)
    for n, word in enumerate(
        ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 2
    )
}


def _plain(text: str) -> str:
    """Return a name in lower case, with numbers in digits and words in the singular."""
    name = _NUMBER_WORD.sub(lambda m: f"{words_value(m[0]):f}", text.casefold())
    words = re.split(r"[\s-]+", name)
    return " ".join(re.sub(r"(?<=..)ies\Z", "y", w).removesuffix("s") for w in words)


def _ranking(text: str) -> str:
    name = re.sub(r"\b(?:nos?\b\.?|number)[\s-]?(?=\w)|#\s?", "#", text.casefold())
    name = re.sub(r"\A(?P<n>[0-9]+)(?:st|nd|rd|th)", r"\g<n>", name)
    words = re.split(r"[\s-]+", name)
    words[0] = _RANK_WORDS.get(words[0], words[0])
    return _NUMBER_WORD.sub(lambda m: f"{words_value(m[0]):f}", " ".join(words))


def _closed(text: str) -> str:
    name = re.sub(r"\A(?:form)\s", "", text.casefold())
    return re.sub(r"[\s()-]+", "", name)


_VALUES: dict[IdentifierKind, Callable[[str], str]] = {
    "year": _year_value,
    "quarter": _period_value,
    "half": _period_value,
    "date": _date_value,
    "time": _time_value,
    "ranking": _ranking,
    "version": _closed,
    "form": _closed,
    "ticker": str.casefold,
}


# The rules


def _read_rules() -> list[tuple[IdentifierKind, re.Pattern[str]]]:
    source = files("contrafact.text").joinpath("identifiers.toml")
    data: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    parts = {"WEEKDAY": _WEEKDAY, "YEAR": _FOUR_DIGITS, "WORDS": WORDS}

    def whole(pattern: str) -> str:
        joined = "".join(pattern.splitlines())
        return re.sub(r"<([A-Z_]+)>", lambda name: parts[name[1]], joined)

    for name, pattern in data["parts"].items():
        parts[name] = whole(pattern)
    return [
        (rule["kind"], re.compile(whole(rule["pattern"]), re.I if rule.get("any_case") else 0))
        for rule in data["rule"]
    ]


_RULES = _read_rules()
_RUN = re.compile(r"[0-9]+")


def too_many_figures() -> InputError:
    return InputError(
        f"a text has over {MOST_FIGURES:,} numbers", hint="give a paragraph of prose, not a table"
    )


@lru_cache(maxsize=512)
def identifiers(text: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a text, in order and without overlap.

    Days of the week and months are dates; an instrument's tenor is an index. The result is cached,
    since reading a text's quantities needs its identifiers too.

    Raises:
        InputError: There are more than `MOST_FIGURES`.
    """
    plain = plain_digits(text)
    if sum(1 for _ in _RUN.finditer(plain)) > MOST_FIGURES:
        raise too_many_figures()
    names: list[Identifier] = []
    taken = bytearray(len(plain))  # characters that an earlier rule has matched
    for kind, pattern in _RULES:
        for match in pattern.finditer(plain):
            start, end = match.span()
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\x01" * (end - start)
                if len(names) == MOST_FIGURES:
                    raise too_many_figures()
                value = _VALUES.get(kind, _plain)(match[0])
                names.append(Identifier(text[start:end], start, end, kind, value))
    return tuple(sorted(names, key=lambda name: name.start))
