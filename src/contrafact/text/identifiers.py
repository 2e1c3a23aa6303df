"""Digits that are no quantity: years, dates, quarters, index names, forms, versions.

A quantity grammar asks `number_names` first, so that "S&P 500" or "by 2030" is never read as an
amount. `identifiers` gives each such name a value that compares: "2Q25" and "the second quarter of
2025" are one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase
from typing import Literal, NamedTuple, cast

from contrafact.text.numerals import WORDS, has_words, plain_digits, words_value
from contrafact.text.tokens import Presence, folded

__all__ = [
    "MONTH",
    "WEEKDAY",
    "YEAR",
    "Identifier",
    "IdentifierKind",
    "NumberName",
    "date_value",
    "identifiers",
    "number_names",
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
        days = re.findall(r"[0-9]{1,2}", rest)  # two of "3 to 17 March"
        head = year[0] if year else "-"
        return "-".join([f"{head}-{number:02}", *(f"{int(day):02}" for day in days[:2])])
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
class NumberName:
    """A stretch of text whose digits name something; ``text[start:end]`` is its text."""

    text: str
    start: int
    end: int
    kind: IdentifierKind


# What makes a number an amount, whatever its look: "March 25 bps cut", "2000 jobs".
_COUNTED = (
    r"jobs|workers|employees|staff|people|posts|positions|roles|stores|shops|branches|homes"
    r"|houses|flights|cars|vehicles|units|shares|points|companies|firms|banks|customers|clients"
    r"|tons|tonnes|barrels|megawatts|MW|stocks|layoffs"
)
_AMOUNT = (
    r"(?!\s?(?:%|\bbps?\b|basis|per\s?cent|pct|percentage|million|billion|trillion|thousand|crore"
    rf"|lakh|bn\b|mn\b|(?:{_COUNTED})\b|dollars|euros|pounds|yen|yuan|rupees))"
)
_END = r"(?![0-9]|[.,:][0-9]|[^\W\d_])"
_START = r"(?<![$€£¥₹₩\w])(?<![0-9][.,:])"

_OF_YEAR = (
    r"(?:(?:[\s'’/-]{1,2}(?:of\s)?(?:fiscal\s|FY\s?)?|FY\s?)(?:20)?[0-9]{2})?"
    r"(?![\w%]|[.,][0-9])"
)
_OF_WORDS = rf"(?:,?\s(?:of\s)?(?:the\s)?(?:fiscal\s(?:year\s)?|FY\s?)?{YEAR}{_END})?"
_ORDINAL = r"\b(?:first|second|third|fourth|final|1st|2nd|3rd|4th)"
_SPAN = r"[\s-](?:decade|year|yr|month|mth|week|day)s?[\s-]"
# Letters before a figure that are a currency: "USD500", "RM20", "N300bn".
_MONEY_LETTERS = (
    r"(?:[A-Z]{3}[0-9]|RM[0-9]|R[sp][0-9]|N[0-9]{3}"
    r"|(?:US|[ACSNPKBR])[0-9][0-9.]*(?:bn|mn|tn|[mbt]|[MBT])\b)"
)


class _Needs(NamedTuple):
    """What a text has if a rule finds anything in it, in small letters: a cheap question.

    Attributes:
        near: One of these by a digit, where a run of digits is "0" and any white space " ".
        text: Or one of these anywhere.
        words: Whether a number in words is needed with these.
    """

    near: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    words: bool = False


_NUMBERED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twenty")
_RANKED = (
    *("largest", "biggest", "smallest", "highest", "lowest", "busiest", "richest", "most", "best"),
    *("worst", "ranked", "place", "fastest", "leading"),
)

_INDICES = (
    *("s&p", "asx", "ftse", "mib", "nasdaq", "russell", "nikkei", "cac", "dax", "dow", "stoxx"),
    *("csi", "nifty", "sensex", "kospi", "ibex", "bse", "tsx", "topix", "smi", "aex", "bel", "omx"),
    *("psi", "atx", "hang", "set", "vn", "kse", "dse", "fortune", "forbes"),
)
_PARTS = (
    *("figure", "table", "chart", "exhibit", "hb", "sb", "form", "rule", "section", "chapter"),
    *("title", "article", "regulation", "part", "phase", "tier", "level", "stage", "day", "round"),
    *("schedule", "prop", "bill", "flight", "area", "highway", "route", "iso", "basel", "ifrs"),
    *("asc", "group", "big", "magnificent"),
)
_SPANS = ("decade", "year", "yr", "month", "mth", "week", "day")
_TENORS = tuple(f"0{gap}{span}" for gap in " -" for span in _SPANS)
_SERIES = (
    *("gpt", "claude", "gemini", "llama", "grok", "playstation", "xbox", "ryzen", "rtx"),
    *("watch", "series", "gen"),
)

# In order: of two that overlap, the earlier rule wins.
# The last part of each rule says what a text has if the rule finds anything in it: one of some
# strings, where no more is said.
_RULES: tuple[tuple[IdentifierKind, re.Pattern[str], _Needs], ...] = tuple(
    (
        cast(IdentifierKind, kind),
        re.compile(pattern, flags),
        needs if isinstance(needs, _Needs) else _Needs(text=needs),
    )
    for kind, pattern, flags, needs in (
        ("other", r"https?://[^\s\"'<>]+|\bhref=\"[^\"]*\"", re.I, ("http", "href")),
        # Index names: "Russell 2000" is no year.
        (
            "index",
            r"\b(?:S&P(?:/\w+)?|ASX|FTSE|MIB|Nasdaq|NASDAQ|Russell|Nikkei|CAC|DAX|MDAX|Dow(?:\sJones)?"
            r"|(?:Euro\s?)?Stoxx|STOXX(?:\sEurope)?|CSI|Nifty(?:\s\w+)?|NIFTY|Sensex|KOSPI|Kospi|IBEX|BSE|TSX"
            r"|TOPIX|Topix|SMI|AEX|BEL|OMX|PSI|ATX|Hang\sSeng|SET|VN|KSE|DSE|Fortune|Forbes)"
            r"[\s-](?:Index\s)?[0-9]{2,4}(?![0-9%]|[.,][0-9])(?!\s?(?:points|pts|%))",
            0,
            _Needs(_INDICES),
        ),
        # Dates and hours.
        ("date", rf"{_START}{YEAR}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}{_END}", 0, ("19", "20")),
        (
            "date",
            rf"{_START}[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\1(?:{YEAR}|[0-9]{{2}}){_END}",
            0,
            _Needs(("0-0-0", "0/0/0", "0.0.0")),
        ),
        (
            "date",
            rf"{_START}\b{MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?(?:[-–][0-9]{{1,2}})?(?:,?\s{YEAR})?"
            rf"{_END}{_AMOUNT}",
            0,
            _Needs(_MONTHS),
        ),
        (
            "date",
            rf"{_START}(?:[0-9]{{1,2}}(?:st|nd|rd|th)?(?:[-–]|\s(?:and|to)\s))?"
            rf"[0-9]{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}(?:,?\s{YEAR})?{_END}",
            0,
            _Needs(_MONTHS),
        ),
        ("time", rf"{_START}[0-9]{{1,2}}(?::[0-9]{{2}}){{1,2}}(?:\s?[ap]\.?m\b\.?)?", re.I, (":",)),
        (
            "time",
            rf"{_START}[0-9]{{1,2}}\s?(?:a\.m\.|p\.m\.|am\b|pm\b)",
            re.I,
            _Needs(
                tuple(f"0{gap}{half}" for gap in ("", " ") for half in ("am", "pm", "a.m", "p.m"))
            ),
        ),
        (
            "time",
            rf"{_START}[0-9]{{4}}(?=\s(?:GMT|EST|EDT|ET|CET|BST|UTC|IST)\b)",
            0,
            _Needs(("0 gmt", "0 est", "0 edt", "0 et", "0 cet", "0 bst", "0 utc", "0 ist")),
        ),
        ("time", r"\b(?:noon|midday|midnight)\b", re.I, ("noon", "midday", "midnight")),
        (
            "other",
            rf"{_START}(?<![0-9][\s-])[0-9]{{1,4}}/[0-9]{{1,4}}(?![0-9/%]|-(?:week|month|year|day)|\sof\s[a-zA-Z])",
            0,
            ("/",),
        ),  # 24/7, 9/11
        # Quarters, halves and fiscal years.
        ("quarter", rf"\bQ[1-4]{_OF_YEAR}", 0, ("q1", "q2", "q3", "q4")),
        ("half", rf"\bH[12]{_OF_YEAR}", 0, ("h1", "h2")),
        ("quarter", rf"{_START}{YEAR}[\s-]?Q[1-4](?!\w)", 0, ("q1", "q2", "q3", "q4")),
        ("half", rf"{_START}{YEAR}[\s-]?H[12](?!\w)", 0, ("h1", "h2")),
        (
            "quarter",
            r"(?<![\w.])[1-4][Qq](?:[\s'’/-]?(?:FY\s?)?(?:20)?[0-9]{2})?(?![\w%])",
            0,
            ("1q", "2q", "3q", "4q"),
        ),
        (
            "half",
            r"(?<![\w.])[12][Hh](?:[\s'’/-]?(?:FY\s?)?(?:20)?[0-9]{2})?(?![\w%])",
            0,
            ("1h", "2h"),
        ),
        (
            "quarter",
            rf"{_ORDINAL}[\s-](?:fiscal[\s-])?quarter\b(?!-|\spoint){_OF_WORDS}",
            re.I,
            ("quarter",),
        ),
        (
            "half",
            rf"\b(?:first|second|1st|2nd)[\s-]half\b(?!-|\spoint){_OF_WORDS}",
            re.I,
            ("half",),
        ),
        (
            "year",
            r"\b(?:FY|CY)[\s'’-]?(?:20[0-9]{2}|[0-9]{2})(?:[-/–](?:20)?[0-9]{2})?(?![\w%])",
            0,
            ("fy", "cy"),
        ),
        (
            "year",
            rf"\b(?:fiscal|financial)(?:\syear)?\s{YEAR}(?:\s?[-–/]\s?(?:{YEAR}|[0-9]{{2}}))?{_END}",
            re.I,
            ("fiscal", "financial"),
        ),
        # Months: with a year, or where no verb or name can be meant.
        ("date", rf"\b{MONTH},?\s{YEAR}{_END}{_AMOUNT}", 0, ("19", "20")),
        (
            "date",
            r"\b(?:January|February|April|June|July|August|September|October|November|December)\b",
            0,
            _MONTHS,
        ),
        (
            "date",
            r"\b(?=Ma(?:rch|y)\b)"
            r"(?:(?<=\b[Ii]n )|(?<=\b[Oo]f )|(?<=\b[Bb]y )|(?<=\b[Ss]ince )|(?<=\b[Uu]ntil )"
            r"|(?<=\b[Tt]o )|(?<=\b[Ff]rom )|(?<=\b[Ll]ast )|(?<=\b[Tt]his )|(?<=\b[Nn]ext )"
            r"|(?<=\b[Ff]or )|(?<=\b[Ll]ate )|(?<=\b[Ee]arly )|(?<=\b[Mm]id-)|(?<=\b[Tt]hrough )"
            r"|(?<=\b[Dd]uring )|(?<=\b[Aa]nd ))(?:March|May)\b(?!\s[A-Z])",
            0,
            ("march", "may"),
        ),
        (
            "date",
            r"\b(?:March|May)(?=\s(?:quarter|period|contract|meeting)\b|['’]s\s)",
            0,
            ("march", "may"),
        ),
        ("date", rf"\b{WEEKDAY}\b", 0, ("day",)),
        (
            "date",
            r"\b(?:last|next|this|previous|prior|coming)[\s-](?:year|quarter|month|week|weekend)\b",
            re.I,
            ("year", "quarter", "month", "week"),
        ),
        ("date", r"\b(?:yesterday|today|tomorrow)\b", re.I, ("yesterday", "today", "tomorrow")),
        (
            "year",
            rf"{_START}{YEAR}\s?[-–/]\s?(?:{YEAR}|[0-9]{{2}}){_END}{_AMOUNT}",
            0,
            ("19", "20"),
        ),
        ("year", rf"{_START}{YEAR}(?:s\b|(?=['’]s\b))?{_END}{_AMOUNT}", 0, ("19", "20")),
        ("year", r"(?<!\w)['’][0-9]{2}(?:s\b)?(?![\w%])", 0, _Needs(("'0", "’0"))),
        # Rankings.
        (
            "ranking",
            rf"\b(?:top|bottom)[\s-](?:[0-9]{{1,4}}|{WORDS})(?!\s?%|\s?per|[\w]|[.,][0-9])(?!\s(?:million|billion))",
            re.I,
            ("top", "bottom"),
        ),
        (
            "ranking",
            r"\b(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|[0-9]{1,3}(?:st|nd|rd|th))"
            r"[\s-](?:largest|biggest|smallest|highest|lowest|busiest|richest|most|best|worst|ranked"
            r"|place|placed|fastest|leading)\b",
            re.I,
            _RANKED,
        ),
        ("ranking", r"\bnumber[\s-](?:one|two|three|four|five)\b", re.I, ("number",)),
        (
            "ranking",
            r"(?:\bNos?\.?\s?|#\s?)[0-9]++(?![\w%]|[.,][0-9])",
            re.I,
            _Needs(
                tuple(
                    f"{sign}{gap}0"
                    for sign in ("no", "no.", "nos", "nos.", "#")
                    for gap in ("", " ")
                )
            ),
        ),
        (
            "ranking",
            r"(?<![\w.,])[0-9]{1,3}+(?:,[0-9]{3})*+(?:st|nd|rd|th)\b",
            re.I,
            _Needs(("0st", "0nd", "0rd", "0th")),
        ),
        # Filings, laws and standards.
        (
            "form",
            r"(?<!\w)(?:10-[KQ]|8-K|6-K|20-F|40-F|11-K|13[FDG]|S-[1-8]|F-[1-4]|1099)\b(?:/A)?",
            0,
            ("10-", "8-k", "6-k", "20-f", "40-f", "11-k", "13f", "13d", "13g", "s-", "f-", "1099"),
        ),
        ("form", r"\b401\s?\(?k\)?", re.I, ("401",)),
        (
            "form",
            r"\b(?:Figure|Table|Chart|Exhibit|HB|SB|Form|Rule|Section|Chapter|Title|Article|Regulation|Part|Phase|Tier|Level|Stage"
            r"|Day|Round|Schedule|Proposition|Prop|Bill|Flight|Area|Highway|Route|ISO|Basel|IFRS|ASC"
            r"|Group\sof|Big|Magnificent|Formula)\s"
            r"(?:[0-9]++(?:[A-Za-z]|\([a-z0-9]\))?(?![\w%]|[.,][0-9])"
            r"|(?:Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Twenty)\b)",
            0,
            _Needs(_PARTS, _NUMBERED),
        ),
        # Tenors and look-backs that name an instrument or a level.
        (
            "index",
            rf"(?<![\w.,])(?:[0-9]{{1,3}}(?:[\s-][1-3]/[2-4])?|{WORDS}){_SPAN}"
            r"(?:(?:US|U\.S\.|fixed(?:[\s-]rate)?|adjustable|jumbo|refinance|government|govt|benchmark"
            r"|sovereign|discount|German|Italian|French|British|Japanese|Chinese|Indian)\s)*"
            r"(?:treasur(?:y|ies)|bonds?|yields?|notes?|gilts?|bunds?|bills?|mortgages?|loans?|rates?"
            r"|jgbs?|cds?|tips|swaps?|repos?|btps?|oats?|refinance|refi|fixed|t-bills?|paper|debt)\b",
            re.I,
            _Needs(_TENORS, _SPANS, words=True),
        ),
        (
            "other",
            rf"(?<![\w.,])(?:[0-9]{{1,3}}(?:[\s-][1-3]/[2-4])?|{WORDS}){_SPAN}"
            r"(?:highs?|lows?|peaks?|troughs?|average|moving\saverage)\b",
            re.I,
            _Needs(_TENORS, _SPANS, words=True),
        ),
        (
            "index",
            r"(?<=\bthe\s)(?:2|3|5|7|10|20|30|two|three|five|seven|ten|twenty|thirty)-year"
            r"(?=\s(?:holding|at|rose|fell|was|is|climbed|hit|traded|above|below|up|down)\b|[,.])",
            re.I,
            ("-year",),
        ),
        (
            "index",
            r"(?<![\w.,])[0-9]{2,4}-(?:share|stock|issue)\b",
            re.I,
            ("-share", "-stock", "-issue"),
        ),
        # Ages.
        (
            "other",
            r"\bage[sd]?\s[0-9]{1,2}(?:\s?(?:[-–]|to|and)\s?[0-9]{1,2})?\b(?![\w%])",
            re.I,
            ("age",),
        ),
        (
            "other",
            r"(?<![\w.,])(?:[0-9]{1,2}(?:-|\sto\s|-\sto\s))?[0-9]{1,3}-year-olds?\b",
            re.I,
            ("-year-old",),
        ),
        # Versions, models and other names with digits in them: v2.1, GPT-4, A320, 5G, 3.11.2.
        (
            "version",
            r"(?<![\w.])v[0-9]++(?:\.[0-9]++)*+(?!\w)",
            re.I,
            tuple(f"v{digit}" for digit in range(10)),
        ),
        ("version", r"(?<![\w.,$€£¥])[0-9]++(?:\.[0-9]++){2,}+(?![\w%])", 0, _Needs(("0.0.0",))),
        (
            "version",
            r"\b(?:iPhone|iPad|Galaxy|Pixel|Windows|Android|iOS|Boeing|Airbus|Model|Version)\s"
            r"[0-9]++(?:\.[0-9]++)?+(?![\w%]|,[0-9])",
            0,
            (
                "iphone",
                "ipad",
                "galaxy",
                "pixel",
                "windows",
                "android",
                "ios",
                "boeing",
                "airbus",
                "model",
                "version",
            ),
        ),
        (
            "version",
            r"(?<![\w.,$€£¥])(?:7[0-8]7(?:[\s-](?:MAX|Max|Dreamliner)(?:[\s-][0-9]{1,2})?|-[0-9]{1,4})"
            r"|(?:GPT|Claude|Gemini|Llama|Grok|PlayStation|Xbox|Ryzen|RTX|Watch|Series|Gen|Generation)"
            r"[\s-]?[0-9]{1,4}(?:\.[0-9]{1,2})?[a-z]?)(?![\w%])(?!,[0-9])",
            0,
            _Needs(_SERIES, tuple(f"7{digit}7" for digit in range(9))),
        ),
        (
            "other",
            r"\b(?:UPDATE|WRAPUP|CORRECTED|REFILE)\s[0-9](?=-)",
            0,
            ("update", "wrapup", "corrected", "refile"),
        ),
        # Companies with a figure in their name, and their tickers.
        ("ticker", r"(?<![\w.,])[0-9]{4}\sHK\b", 0, ("hk",)),
        (
            "ticker",
            r"(?<![\w.,])[0-9]{3,6}\.(?:HK|KS|KQ|SS|SZ|T|TW|TWO|TO|L|KL|SI)\b",
            0,
            (".hk", ".k", ".s", ".t", ".l"),
        ),
        (
            "ticker",
            r"(?<![\w.,$€£¥])(?:7-(?:Eleven|ELEVEN)|23andMe|8x8|1-800-\w+|3i\b|3M(?=['’]s\b"
            r"|\s(?:Co|Company|shares|stock|said|says|has|is|will|to|and|agreed|reported|posted|beat"
            r"|misses|beats|missed)\b)|\A3M\b)",
            0,
            ("7-eleven", "23andme", "8x8", "1-800-", "3i", "3m"),
        ),
        (
            "other",
            r"\b(?:Forever|Century)\s21\b|\bPhillips\s66\b"
            r"|\b[0-9]{1,4}\s(?:Downing|[A-Z][a-z]+\s(?:St|Street|Ave|Avenue|Road))\b"
            r"|\bMotel\s6\b|\bSix\sFlags\b|\bFive\sBelow\b"
            r"|\bFour\sSeasons\b|\bSeven\s&\si\b|\bTwo\sHarbors\b|\bThree\sArrows\b|\bFive\sGuys\b",
            0,
            _Needs(
                ("forever", "century", "phillips", "motel", "downing", " st", " ave", " road"),
                ("flags", "below", "seasons", "seven", "harbors", "arrows", "guys"),
            ),
        ),
        (
            "other",
            r"\b(?:Unit|Reactor|Line|Gate|Pier|Block|Lot|Terminal|Train)\s[0-9]{1,3}\b(?![\w%])",
            0,
            _Needs(
                tuple(
                    f"{name} 0"
                    for name in (
                        *("unit", "reactor", "line", "gate", "pier", "block", "lot"),
                        *("terminal", "train"),
                    )
                )
            ),
        ),
        (
            "version",
            r"(?<![\w$€£¥])(?:G[0-9]{1,2}|[2-6]G|4K|8K|[23]D)(?!\w)",
            0,
            _Needs(("g0", "0g", "0k", "0d")),
        ),
        (
            "version",
            rf"(?<![\w.,$€£¥₹/])(?!{_MONEY_LETTERS})"
            r"(?:[A-Z]{1,6}-[0-9]{1,4}|Covid-19|[A-Z][A-Za-z]{0,9}[0-9]{1,4})[A-Za-z]{0,4}"
            r"(?![\w%]|[.,][0-9]|-[0-9])",
            0,
            _Needs(tuple(f"{letter}{gap}0" for letter in ascii_lowercase for gap in ("", "-"))),
        ),
    )
)

_IN_TEXT = Presence([needs.text for _, _, needs in _RULES])
_NEAR = Presence([needs.near for _, _, needs in _RULES])
_WORDED = {number for number, (_, _, needs) in enumerate(_RULES) if needs.words}

_RUN = re.compile(r"[0-9]+")
_NEAR_BY = 40
"""Characters within which what is needed near a digit is looked for; nothing that is needed lies
further off but for names of a length that nobody gives."""


def _by_digits(small: str) -> str:
    """Return what stands by the digits of a text, as `_Needs.near` has it."""
    parts: list[str] = []
    done = 0
    for match in _RUN.finditer(small):
        start, end = max(match.start() - _NEAR_BY, done), match.end() + _NEAR_BY
        if start > done:
            parts.append("\n")
        parts.append(small[start:end])
        done = min(end, len(small))
    return " ".join(_RUN.sub("0", "".join(parts)).split())


def _possible_rules(small: str) -> list[int]:
    """Return which rules may find anything in a text in small letters, in order."""
    possible = _IN_TEXT.rows(small)
    if not possible.isdisjoint(_WORDED) and not has_words(small):
        possible -= _WORDED
    near = _by_digits(small)
    if near:
        possible |= _NEAR.rows(near)
    return sorted(possible)


@lru_cache(maxsize=512)
def number_names(text: str) -> tuple[NumberName, ...]:
    """Return the stretches of a text whose digits name something, in order, without overlap.

    Kept for the texts read last: quantities and identifiers of a text are both read from it.
    """
    text = plain_digits(text)
    found: list[NumberName] = []
    taken = bytearray(len(text))
    for number in _possible_rules(folded(text)):
        kind, pattern, _ = _RULES[number]
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * (end - start)
                found.append(NumberName(match[0], start, end, kind))
    return tuple(sorted(found, key=lambda name: name.start))


@dataclass(frozen=True, slots=True)
class Identifier:
    """A stretch of a text that looks like a quantity and is a name.

    Attributes:
        text: The words: ``source[start:end]``.
        start: Where it begins, in characters.
        end: Where it ends.
        kind: What it names.
        value: What it names, in one spelling: two identifiers of a kind are the same when their
            values are equal, however they are written.
    """

    text: str
    start: int
    end: int
    kind: IdentifierKind
    value: str


_NUMBER_WORD = re.compile(rf"\b{WORDS}", re.IGNORECASE)
_RANK_WORDS = {
    word: str(n)
    for n, word in enumerate(
        ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"), 2
    )
}


def _plain(text: str) -> str:
    """Return a name in small letters, its numbers in digits and its words in the singular."""
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
    "year": year_value,
    "quarter": period_value,
    "half": period_value,
    "date": date_value,
    "time": time_value,
    "ranking": _ranking,
    "version": _closed,
    "form": _closed,
    "ticker": str.casefold,
}


def identifiers(text: str) -> list[Identifier]:
    """Return what only looks like a quantity, in order and without overlap.

    Years, quarters, halves, dates (days of the week and months among them), times, versions,
    rankings, indices and tenors of instruments, forms, tickers, and other names with a number.
    """
    found = []
    for name in number_names(text):
        value = _VALUES.get(name.kind, _plain)(name.text)
        written = text[name.start : name.end]
        found.append(Identifier(written, name.start, name.end, name.kind, value))
    return found
