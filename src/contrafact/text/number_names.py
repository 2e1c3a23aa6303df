"""Digits that are no quantity: years, dates, quarters, index names, forms, versions.

A quantity grammar asks here first, so that "S&P 500" or "by 2030" is never read as an amount.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast

from contrafact.text.dates import MONTH, WEEKDAY, YEAR
from contrafact.text.numerals import WORDS

__all__ = ["IdentifierKind", "NumberName", "number_names"]

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

# In order: of two that overlap, the earlier rule wins.
_RULES: tuple[tuple[IdentifierKind, re.Pattern[str]], ...] = tuple(
    (cast(IdentifierKind, kind), re.compile(pattern, flags))
    for kind, pattern, flags in (
        ("other", r"https?://[^\s\"'<>]+|\bhref=\"[^\"]*\"", re.I),
        # Index names: "Russell 2000" is no year.
        (
            "index",
            r"\b(?:S&P(?:/\w+)?|ASX|FTSE|MIB|Nasdaq|NASDAQ|Russell|Nikkei|CAC|DAX|MDAX|Dow(?:\sJones)?"
            r"|(?:Euro\s?)?Stoxx|STOXX(?:\sEurope)?|CSI|Nifty(?:\s\w+)?|NIFTY|Sensex|KOSPI|Kospi|IBEX|BSE|TSX"
            r"|TOPIX|Topix|SMI|AEX|BEL|OMX|PSI|ATX|Hang\sSeng|SET|VN|KSE|DSE|Fortune|Forbes)"
            r"[\s-](?:Index\s)?[0-9]{2,4}(?![0-9%]|[.,][0-9])(?!\s?(?:points|pts|%))",
            0,
        ),
        # Dates and hours.
        ("date", rf"{_START}{YEAR}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}{_END}", 0),
        ("date", rf"{_START}[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\1(?:{YEAR}|[0-9]{{2}}){_END}", 0),
        (
            "date",
            rf"{_START}\b{MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?(?:,?\s{YEAR})?{_END}{_AMOUNT}",
            0,
        ),
        (
            "date",
            rf"{_START}[0-9]{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}(?:,?\s{YEAR})?{_END}",
            0,
        ),
        ("time", rf"{_START}[0-9]{{1,2}}(?::[0-9]{{2}}){{1,2}}(?:\s?[ap]\.?m\b\.?)?", re.I),
        ("time", rf"{_START}[0-9]{{1,2}}\s?(?:a\.m\.|p\.m\.|am\b|pm\b)", re.I),
        ("time", rf"{_START}[0-9]{{4}}(?=\s(?:GMT|EST|EDT|ET|CET|BST|UTC|IST)\b)", 0),
        ("time", r"\b(?:noon|midday|midnight)\b", re.I),
        (
            "other",
            rf"{_START}(?<![0-9][\s-])[0-9]{{1,4}}/[0-9]{{1,4}}(?![0-9/%]|-(?:week|month|year|day))",
            0,
        ),  # 24/7, 9/11
        # Quarters, halves and fiscal years.
        ("quarter", rf"\bQ[1-4]{_OF_YEAR}", 0),
        ("half", rf"\bH[12]{_OF_YEAR}", 0),
        ("quarter", rf"{_START}{YEAR}[\s-]?Q[1-4](?!\w)", 0),
        ("half", rf"{_START}{YEAR}[\s-]?H[12](?!\w)", 0),
        ("quarter", r"(?<![\w.])[1-4][Qq](?:[\s'’/-]?(?:FY\s?)?(?:20)?[0-9]{2})?(?![\w%])", 0),
        ("half", r"(?<![\w.])[12][Hh](?:[\s'’/-]?(?:FY\s?)?(?:20)?[0-9]{2})?(?![\w%])", 0),
        ("quarter", rf"{_ORDINAL}[\s-](?:fiscal[\s-])?quarter\b(?!-|\spoint){_OF_WORDS}", re.I),
        ("half", rf"\b(?:first|second|1st|2nd)[\s-]half\b(?!-|\spoint){_OF_WORDS}", re.I),
        (
            "year",
            r"\b(?:FY|CY)[\s'’-]?(?:20[0-9]{2}|[0-9]{2})(?:[-/–](?:20)?[0-9]{2})?(?![\w%])",
            0,
        ),
        (
            "year",
            rf"\b(?:fiscal|financial)(?:\syear)?\s{YEAR}(?:\s?[-–/]\s?(?:{YEAR}|[0-9]{{2}}))?{_END}",
            re.I,
        ),
        # Months: with a year, or where no verb or name can be meant.
        ("date", rf"\b{MONTH},?\s{YEAR}{_END}{_AMOUNT}", 0),
        (
            "date",
            r"\b(?:January|February|April|June|July|August|September|October|November|December)\b",
            0,
        ),
        (
            "date",
            r"\b(?=Ma(?:rch|y)\b)"
            r"(?:(?<=\b[Ii]n )|(?<=\b[Oo]f )|(?<=\b[Bb]y )|(?<=\b[Ss]ince )|(?<=\b[Uu]ntil )"
            r"|(?<=\b[Tt]o )|(?<=\b[Ff]rom )|(?<=\b[Ll]ast )|(?<=\b[Tt]his )|(?<=\b[Nn]ext )"
            r"|(?<=\b[Ff]or )|(?<=\b[Ll]ate )|(?<=\b[Ee]arly )|(?<=\b[Mm]id-)|(?<=\b[Tt]hrough )"
            r"|(?<=\b[Dd]uring )|(?<=\b[Aa]nd ))(?:March|May)\b(?!\s[A-Z])",
            0,
        ),
        ("date", r"\b(?:March|May)(?=\s(?:quarter|period|contract|meeting)\b|['’]s\s)", 0),
        ("date", rf"\b{WEEKDAY}\b", 0),
        (
            "date",
            r"\b(?:last|next|this|previous|prior|coming)[\s-](?:year|quarter|month|week|weekend)\b",
            re.I,
        ),
        ("date", r"\b(?:yesterday|today|tomorrow)\b", re.I),
        ("year", rf"{_START}{YEAR}\s?[-–/]\s?(?:{YEAR}|[0-9]{{2}}){_END}{_AMOUNT}", 0),
        ("year", rf"{_START}{YEAR}(?:s\b|(?=['’]s\b))?{_END}{_AMOUNT}", 0),
        ("year", r"(?<!\w)['’][0-9]{2}(?:s\b)?(?![\w%])", 0),
        # Rankings.
        (
            "ranking",
            rf"\b(?:top|bottom)[\s-](?:[0-9]{{1,4}}|{WORDS})(?!\s?%|\s?per|[\w]|[.,][0-9])(?!\s(?:million|billion))",
            re.I,
        ),
        (
            "ranking",
            r"\b(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|[0-9]{1,3}(?:st|nd|rd|th))"
            r"[\s-](?:largest|biggest|smallest|highest|lowest|busiest|richest|most|best|worst|ranked"
            r"|place|placed|fastest|leading)\b",
            re.I,
        ),
        ("ranking", r"\bnumber[\s-](?:one|two|three|four|five)\b", re.I),
        ("ranking", r"(?:\bNos?\.?\s?|#\s?)[0-9]++(?![\w%]|[.,][0-9])", re.I),
        ("ranking", r"(?<![\w.,])[0-9]{1,3}+(?:,[0-9]{3})*+(?:st|nd|rd|th)\b", re.I),
        # Filings, laws and standards.
        (
            "form",
            r"(?<!\w)(?:10-[KQ]|8-K|6-K|20-F|40-F|11-K|13[FDG]|S-[1-8]|F-[1-4]|1099)\b(?:/A)?",
            0,
        ),
        ("form", r"\b401\s?\(?k\)?", re.I),
        (
            "form",
            r"\b(?:Figure|Table|Chart|Exhibit|HB|SB|Form|Rule|Section|Chapter|Title|Article|Regulation|Part|Phase|Tier|Level|Stage"
            r"|Day|Round|Schedule|Proposition|Prop|Bill|Flight|Area|Highway|Route|ISO|Basel|IFRS|ASC"
            r"|Group\sof|Big|Magnificent|Formula)\s"
            r"(?:[0-9]++(?:[A-Za-z]|\([a-z0-9]\))?(?![\w%]|[.,][0-9])"
            r"|(?:Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Twenty)\b)",
            0,
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
        ),
        (
            "other",
            rf"(?<![\w.,])(?:[0-9]{{1,3}}(?:[\s-][1-3]/[2-4])?|{WORDS}){_SPAN}"
            r"(?:highs?|lows?|peaks?|troughs?|average|moving\saverage)\b",
            re.I,
        ),
        (
            "index",
            r"(?<=\bthe\s)(?:2|3|5|7|10|20|30|two|three|five|seven|ten|twenty|thirty)-year"
            r"(?=\s(?:holding|at|rose|fell|was|is|climbed|hit|traded|above|below|up|down)\b|[,.])",
            re.I,
        ),
        ("index", r"(?<![\w.,])[0-9]{2,4}-(?:share|stock|issue)\b", re.I),
        # Ages.
        ("other", r"\bage[sd]?\s[0-9]{1,2}(?:\s?(?:[-–]|to|and)\s?[0-9]{1,2})?\b(?![\w%])", re.I),
        (
            "other",
            r"(?<![\w.,])(?:[0-9]{1,2}(?:-|\sto\s|-\sto\s))?[0-9]{1,3}-year-olds?\b",
            re.I,
        ),
        # Versions, models and other names with digits in them: v2.1, GPT-4, A320, 5G, 3.11.2.
        ("version", r"(?<![\w.])v[0-9]++(?:\.[0-9]++)*+(?!\w)", re.I),
        ("version", r"(?<![\w.,$€£¥])[0-9]++(?:\.[0-9]++){2,}+(?![\w%])", 0),
        (
            "version",
            r"\b(?:iPhone|iPad|Galaxy|Pixel|Windows|Android|iOS|Boeing|Airbus|Model|Version)\s"
            r"[0-9]++(?:\.[0-9]++)?+(?![\w%]|,[0-9])",
            0,
        ),
        (
            "version",
            r"(?<![\w.,$€£¥])(?:7[0-8]7(?:[\s-](?:MAX|Max|Dreamliner)(?:[\s-][0-9]{1,2})?|-[0-9]{1,4})"
            r"|(?:GPT|Claude|Gemini|Llama|Grok|PlayStation|Xbox|Ryzen|RTX|Watch|Series|Gen|Generation)"
            r"[\s-]?[0-9]{1,4}(?:\.[0-9]{1,2})?[a-z]?)(?![\w%])(?!,[0-9])",
            0,
        ),
        ("other", r"\b(?:UPDATE|WRAPUP|CORRECTED|REFILE)\s[0-9](?=-)", 0),
        # Companies with a figure in their name, and their tickers.
        ("ticker", r"(?<![\w.,])[0-9]{4}\sHK\b", 0),
        ("ticker", r"(?<![\w.,])[0-9]{3,6}\.(?:HK|KS|KQ|SS|SZ|T|TW|TWO|TO|L|KL|SI)\b", 0),
        (
            "ticker",
            r"(?<![\w.,$€£¥])(?:7-(?:Eleven|ELEVEN)|23andMe|8x8|1-800-\w+|3i\b|3M(?=['’]s\b"
            r"|\s(?:Co|Company|shares|stock|said|says|has|is|will|to|and|agreed|reported|posted|beat"
            r"|misses|beats|missed)\b)|\A3M\b)",
            0,
        ),
        (
            "other",
            r"\b(?:Forever|Century)\s21\b|\bPhillips\s66\b"
            r"|\b[0-9]{1,4}\s(?:Downing|[A-Z][a-z]+\s(?:St|Street|Ave|Avenue|Road))\b"
            r"|\bMotel\s6\b|\bSix\sFlags\b|\bFive\sBelow\b"
            r"|\bFour\sSeasons\b|\bSeven\s&\si\b|\bTwo\sHarbors\b|\bThree\sArrows\b|\bFive\sGuys\b",
            0,
        ),
        (
            "other",
            r"\b(?:Unit|Reactor|Line|Gate|Pier|Block|Lot|Terminal|Train)\s[0-9]{1,3}\b(?![\w%])",
            0,
        ),
        ("version", r"(?<![\w$€£¥])(?:G[0-9]{1,2}|[2-6]G|4K|8K|[23]D)(?!\w)", 0),
        (
            "version",
            rf"(?<![\w.,$€£¥₹/])(?!{_MONEY_LETTERS})"
            r"(?:[A-Z]{1,6}-[0-9]{1,4}|Covid-19|[A-Z][A-Za-z]{0,9}[0-9]{1,4})[A-Za-z]{0,4}"
            r"(?![\w%]|[.,][0-9]|-[0-9])",
            0,
        ),
    )
)


def number_names(text: str) -> list[NumberName]:
    """Return the stretches of a text whose digits name something, in order, without overlap."""
    found: list[NumberName] = []
    taken = bytearray(len(text))
    for kind, pattern in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(taken[start:end]):
                taken[start:end] = b"\x01" * (end - start)
                found.append(NumberName(match[0], start, end, kind))
    return sorted(found, key=lambda name: name.start)
