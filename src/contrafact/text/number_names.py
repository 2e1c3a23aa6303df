"""Digits that are no quantity: years, dates, quarters, index names, forms, versions.

A quantity grammar asks here first, so that "S&P 500" or "by 2030" is never read as an amount.
"""

import re
from dataclasses import dataclass

from contrafact.text.numerals import WORDS

__all__ = ["NumberName", "number_names"]


@dataclass(frozen=True, slots=True)
class NumberName:
    """A stretch of text whose digits name something; ``text[start:end]`` is its text."""

    text: str
    start: int
    end: int
    kind: str


_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
    r"|JAN(?:UARY)?|FEB(?:RUARY)?|MAR(?:CH)?|APR(?:IL)?|MAY|JUNE?|JULY?|AUG(?:UST)?"
    r"|SEPT?(?:EMBER)?|OCT(?:OBER)?|NOV(?:EMBER)?|DEC(?:EMBER)?)\.?"
)
_YEAR = r"(?:19|20)[0-9]{2}"
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

# In order: of two that overlap, the earlier rule wins.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, flags))
    for kind, pattern, flags in (
        # Dates and hours.
        ("date", rf"{_START}{_YEAR}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}{_END}", 0),
        ("date", rf"{_START}[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\1(?:{_YEAR}|[0-9]{{2}}){_END}", 0),
        (
            "date",
            rf"{_START}\b{_MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?(?:,?\s{_YEAR})?{_END}{_AMOUNT}",
            0,
        ),
        (
            "date",
            rf"{_START}[0-9]{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?:,?\s{_YEAR})?{_END}",
            0,
        ),
        ("time", rf"{_START}[0-9]{{1,2}}(?::[0-9]{{2}}){{1,2}}(?:\s?[ap]\.?m\b\.?)?", re.I),
        ("time", rf"{_START}[0-9]{{1,2}}\s?(?:a\.m\.|p\.m\.|am\b|pm\b)", re.I),
        ("date", rf"{_START}[0-9]{{1,4}}/[0-9]{{1,4}}(?![0-9/%])", 0),  # 24/7, 9/11, 2024/25
        # Quarters, halves and fiscal years.
        (
            "quarter",
            r"\b[QH][1-4](?:[\s'’/-]{0,2}(?:FY\s?)?(?:20)?[0-9]{2})?(?![\w%]|[.,][0-9])",
            0,
        ),
        ("quarter", r"(?<![\w.])[1-4][QHqh](?:[\s'’/-]?(?:FY\s?)?(?:20)?[0-9]{2})?(?![\w%])", 0),
        ("year", r"\b(?:FY|CY)[\s'’-]?(?:20)?[0-9]{2}(?:[-/–](?:20)?[0-9]{2})?(?![\w%])", 0),
        ("year", rf"{_START}{_YEAR}\s?[-–/]\s?(?:{_YEAR}|[0-9]{{2}}){_END}{_AMOUNT}", 0),
        ("year", rf"{_START}{_YEAR}(?:s\b|['’]s\b)?{_END}{_AMOUNT}", 0),
        ("year", r"(?<!\w)['’][0-9]{2}(?:s\b)?(?![\w%])", 0),
        # Index names and rankings.
        (
            "index",
            r"\b(?:S&P(?:/\w+)?|ASX|FTSE|MIB|Nasdaq|NASDAQ|Russell|Nikkei|CAC|DAX|MDAX|Dow(?:\sJones)?"
            r"|(?:Euro\s?)?Stoxx|STOXX(?:\sEurope)?|CSI|Nifty(?:\s\w+)?|NIFTY|Sensex|KOSPI|Kospi|IBEX|BSE|TSX"
            r"|TOPIX|Topix|SMI|AEX|BEL|OMX|PSI|ATX|Hang\sSeng|SET|VN|KSE|DSE|Fortune|Forbes)"
            r"[\s-](?:Index\s)?[0-9]{2,4}(?![0-9%]|[.,][0-9])(?!\s?(?:points|pts|%))",
            0,
        ),
        ("rank", r"(?:\bNos?\.?\s?|#\s?)[0-9]++(?![\w%]|[.,][0-9])", re.I),
        ("ordinal", r"(?<![\w.,])[0-9]{1,3}+(?:,[0-9]{3})*+(?:st|nd|rd|th)\b", re.I),
        # Filings, laws and standards.
        (
            "form",
            r"(?<!\w)(?:10-[KQ]|8-K|6-K|20-F|40-F|11-K|13[FDG]|S-[1-8]|F-[1-4]|1099)\b(?:/A)?",
            0,
        ),
        ("form", r"\b401\s?\(?k\)?", re.I),
        (
            "form",
            r"\b(?:Form|Rule|Section|Chapter|Title|Article|Regulation|Part|Phase|Tier|Level|Stage"
            r"|Day|Round|Schedule|Proposition|Prop|Bill|Flight|Area|Highway|Route|ISO|Basel|IFRS|ASC"
            r"|Group\sof|Big|Magnificent|Formula)\s"
            r"(?:[0-9]++(?:[A-Za-z]|\([a-z0-9]\))?(?![\w%]|[.,][0-9])"
            r"|(?:Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Twenty)\b)",
            0,
        ),
        # Tenors and look-backs that name an instrument or a level.
        (
            "tenor",
            rf"(?<![\w.,])(?:[0-9]{{1,3}}|{WORDS})[\s-](?:decade|year|yr|month|mth|week|day)s?[\s-]"
            r"(?:(?:US|U\.S\.|fixed(?:[\s-]rate)?|adjustable|jumbo|refinance|government|govt|benchmark"
            r"|sovereign|German|Italian|French|British|Japanese|Chinese|Indian)\s)*"
            r"(?:treasur(?:y|ies)|bonds?|yields?|notes?|gilts?|bunds?|bills?|mortgages?|loans?|rates?"
            r"|jgbs?|cds?|tips|swaps?|repos?|btps?|oats?|highs?|lows?|peaks?|troughs?|average"
            r"|moving\saverage|refinance|refi|fixed|t-bills?|paper|debt|note\sauction)\b",
            re.I,
        ),
        # Versions, models and other names with digits in them: v2.1, GPT-4, A320, 5G, 3.11.2.
        ("version", r"(?<![\w.])v[0-9]++(?:\.[0-9]++)*+(?!\w)", re.I),
        ("version", r"(?<![\w.,$€£¥])[0-9]++(?:\.[0-9]++){2,}+(?![\w%])", 0),
        (
            "version",
            r"\b(?:iPhone|iPad|Galaxy|Pixel|Windows|Android|iOS|Boeing|Airbus|Model|Version)\s"
            r"[0-9]++(?:\.[0-9]++)?+(?![\w%,])",
            0,
        ),
        ("name", r"\b(?:UPDATE|WRAPUP|CORRECTED)\s[0-9](?=-)|(?<![\w.,])7-(?:Eleven|ELEVEN)\b", 0),
        ("name", r"(?<![\w$€£¥])(?:G[0-9]{1,2}|[2-6]G|4K|8K|[23]D)(?!\w)", 0),
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
