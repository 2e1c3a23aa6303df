"""Numbers exempt from change, or from the ranges: periods, versions, small ones, shares."""

import re

from contrafact.families.rfc.contracts.numbers import quantity_matches
from contrafact.families.rfc.contracts.pair import Pair, Side, read_once
from contrafact.text.quantities import Quantity

__all__ = [
    "SHARES",
    "SMALL_NUMBER",
    "WHOLE",
    "is_bounded_share",
    "is_constant",
    "is_exempt",
    "is_idiom",
    "is_list_count",
    "is_market_level",
    "is_period",
    "is_share_in_words",
    "is_version",
    "matched_quantities",
    "perturbed_quantities",
]

SMALL_NUMBER = 20
"""The largest number in words that may count people or turns and stay (ours)."""

PERIOD_WINDOW = (24, 12)
"""Characters before and after a duration in which words make it a period (ours)."""

COUNTED_WINDOW = 30
"""Characters after a number in which a noun shows that it counts something (ours)."""

WHOLE = 100.0
"""Percent that a decline, and a part of a whole, cannot exceed (S.2, 4)."""

SHARE_WINDOW = (80, 60)
"""Characters before and after a percentage in which words make it the size of a part (ours)."""

SHARES = ("share", "utilisation", "engagement")
"""Roles of a percentage that is a part of a whole (S.2, 6)."""

# Numbers in words that count people or turns, not what is measured: a rewrite may leave them.
_COUNTED_IN_WORDS = re.compile(
    r"\A[\s-](?:(?:long|full|whole|more|short|tough|hard|big)\s)?(?:of\b|or\b|people|analysts?|executives?|companies|firms|brothers|founders"
    r"|directors|sources|sides|parties"
    r"|countries|nations|states|ways|times|men|women|reasons|things|factors|key|main|major|big"
    r"|biggest|largest"
    r"|straight|consecutive|successive|other|different|separate|new\sreasons|top|traders|investors"
    r"|economists|officials|banks|rivals|partners|former|senior|more|days?|weeks?|months?|years?"
    r"|quarters?"
    r"|decades?|sessions?|of\sits|sister|neighbou?rs|continents|regions|fronts|takeaways|stocks)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:past|last|next|previous|first|over|in|for|the|within|every|final|recent|coming|prior"
    r"|after|of)\s"
    r"(?:the\s|past\s|last\s|next\s|first\s|coming\s|a\s)?\Z",
    re.IGNORECASE,
)
_PERIOD_AFTER = re.compile(
    r"\A\s?(?:ago|earlier|high|low|ended|ending|through|to\s(?:end|june|march))", re.IGNORECASE
)
_OF_A_LINE = re.compile(r"\A\s(?:series|models?|lines?|handsets?|jets|consoles?)\b")
_COUNTED = re.compile(r"\A\s(?:\w+\s)?[a-z]+(?:s|people|men|women)\b")


def is_period(side: Side, quantity: Quantity) -> bool:
    """Whether a duration names a period ("the past three months"), which is no quantity here."""
    if quantity.kind != "duration":
        return False
    before, after = PERIOD_WINDOW
    return bool(
        _PERIOD.search(side.text[max(0, quantity.start - before) : quantity.start])
        or _PERIOD_AFTER.match(side.text[quantity.end : quantity.end + after])
        or "-" in quantity.text
    )


def is_exempt(side: Side, quantity: Quantity) -> bool:
    """Whether a small or vague number may stay: "two analysts", "one-third", "dozens"."""
    if quantity.value is None:
        return True
    if (
        quantity.form.style == "words"
        and quantity.kind in ("number", "ratio")
        and quantity.value <= SMALL_NUMBER
    ):
        after = side.text[quantity.end : quantity.end + COUNTED_WINDOW]
        return bool(_COUNTED_IN_WORDS.match(after)) or after[:1] in ("-", "")
    if re.search(
        r"\bage[sd]?\s(?:\d+\s(?:to|and|-)\s)?(?:between\s)?\Z", side.text[: quantity.start]
    ):
        return True
    return quantity.form.style == "vague"


_LISTED = (
    r"(?:stocks?|shares|etfs?|funds|names|picks|companies|reasons|ways|things|takeaways|charts|bets"
    r"|buys|plays|trends|risks|questions|mistakes|lessons|reits|bonds|movers|ideas|winners|losers"
    r"|giants|players|tips|facts|signs|rules|cryptos|coins|tokens)"
)
_LIST_TITLE = re.compile(rf"\A\s(?:[\w&'’-]+\s){{0,5}}?{_LISTED}\b", re.IGNORECASE)
_LIST_START = re.compile(
    r"(?:\A|[.:!?\n|]\s*|\b(?:[Tt]he|[Tt]op|[Ii]ts|[Oo]ur|[Tt]hese|[Tt]hose|(?:list|ranking|round-?up|pick|selection)\sof)\s)[\"“'‘]?\Z"
)
_CONSTANT_AFTER = re.compile(
    r"\A(?:\s(?:U\.?S\.?\s|American\s)?states\b"
    r"|[\s-](?:\w+\s)?(?:mark|level|threshold|line|point)\b[^.;]{0,20}\b(?:that\s)?(?:separat|divid"
    r"|between)"
    r"|\s(?:mean|means|point|points|indicat\w+|signal\w*|show|shows|suggest\w*)\b)",
    re.IGNORECASE,
)
_CONSTANT_BEFORE = re.compile(
    r"\b(?:of\s(?:the\s|all\s)|[Rr]eadings?\s(?:of\s)?(?:above|below|under|over)\s(?:the\s)?)\Z"
)


_IDIOM = re.compile(
    r"\A[\s-](?:(?:long|full|whole|more|short|tough|hard)\s)?(?:days?|weeks?|months?|years?|quarters?"
    r"|decades?|sessions?|straight|consecutive|successive|phase|way|ways|sides|thirds?|or\b|of\b"
    r"|things|fronts|times)\b",
    re.IGNORECASE,
)


def is_idiom(side: Side, quantity: Quantity) -> bool:
    """Whether a small number in words is idiom, or part of a time: "two long years"."""
    if quantity.form.style != "words" or quantity.value is None or quantity.value > SMALL_NUMBER:
        return False
    return bool(_IDIOM.match(side.text[quantity.end : quantity.end + COUNTED_WINDOW]))


_CUT_TO = re.compile(r"\b(?:cut|hike|reduction|increase|rise|move)\sto\s\Z", re.IGNORECASE)
_RATIO = re.compile(
    r"\b(?:ratios?|leverage|retention|penetration|turnout|capacity|coverage|occupancy|efficiency"
    r"|loan-to-value|gearing|solvency)\b[^.;%]{0,60}\Z",
    re.IGNORECASE,
)
_PRICED = re.compile(
    r"\A\s?(?:(?:a|an|per|/)\s?(?:metric\s)?(?:barrel|ounce|ton|tonne|bushel|pound|lb|gallon|mmbtu|million"
    r"\sBritish|megawatt|kilo|kilogram|dollar|euro|mile|short\ston)\b|(?:to|against|per)\s(?:the\s)?"
    r"(?:U\.?S\.?\s)?(?:dollar|euro|greenback|pound|yen)\b|points?\b)",
    re.IGNORECASE,
)
_MARKET = re.compile(
    r"\b(?:yields?|futures|index|indices|gauge|average|composite|PMI|ISM|survey|sterling|pound|euro"
    r"|yen|yuan|dollar|peso|rand|lira|rupee|won|zloty|forint|krona|krone|franc|real|bitcoin|ether"
    r"|Brent|crude|gold|silver|platinum|palladium|copper|aluminium|aluminum|nickel|zinc|tin|S&P"
    r"|Nasdaq|Dow|Nikkei|Topix|Hang\sSeng|FTSE|DAX|CAC|STOXX|Sensex|Nifty|KOSPI|note|notes|bonds?"
    r"|bund|gilt|Treasury|Treasuries|mortgages?|rate|price\starget|starts|sales|annual\srate|pace"
    r"|claims|contracts|premium|spot|stock|shares?|closed|opened|prices?)\b",
    re.IGNORECASE,
)


def is_market_level(side: Side, quantity: Quantity) -> bool:
    """Whether a figure is a level of a market or a survey: an index, a price, a yield, a rate of
    exchange. Such a level moves by parts, and its change by the ranges of S.2.
    """
    if not quantity.is_level or quantity.kind not in ("number", "money", "percent"):
        return False
    if quantity.kind == "percent" and (
        quantity.role in ("rate", "policy rate")
        or _CUT_TO.search(side.text[max(0, quantity.start - 20) : quantity.start])
        or _RATIO.search(side.text[max(0, quantity.start - SHARE_WINDOW[0]) : quantity.start])
    ):
        return True
    if _PRICED.match(side.text[quantity.end : quantity.end + 40]):
        return True
    if (
        quantity.kind == "number"
        and abs(quantity.value or 0.0) <= WHOLE
        and "." in quantity.form.number
        and _INDEX.search(side.text)
    ):
        return True  # a survey's reading: "New orders stood at 54.3"
    sentence = side.sentence_of(quantity.start)
    before = side.text[max(sentence.start, quantity.start - 110) : quantity.start]
    return bool(_MARKET.search(before)) and quantity.role not in ("revenue", "eps", "margin")


def is_list_count(side: Side, quantity: Quantity) -> bool:
    """Whether a number says how many a listicle lists: "10 Best AI Stocks", "these 3 stocks"."""
    if quantity.kind != "number" or quantity.form.style not in ("digits", "words"):
        return False
    if not re.fullmatch(r"\d{1,3}|[A-Za-z]+", quantity.text):
        return False
    if not _LIST_TITLE.match(side.text[quantity.end : quantity.end + SHARE_WINDOW[0]]):
        return False
    sentence = side.sentence_of(quantity.start)
    if not _LIST_START.search(side.text[: quantity.start]):
        return False
    if sentence.titled and quantity.start == sentence.start:
        return True
    # The story repeats its title's count: "our list of the 10 best AI stocks".
    return any(
        other.value == quantity.value
        and side.sentence_of(other.start).titled
        and _LIST_TITLE.match(side.text[other.end : other.end + SHARE_WINDOW[0]])
        for other in side.quantities
        if other.start < quantity.start
    )


def is_constant(side: Side, quantity: Quantity) -> bool:
    """Whether a number is what it is in any story: of the 50 states, readings under 50."""
    if quantity.kind != "number" or quantity.value is None:
        return False
    before = side.text[max(0, quantity.start - 40) : quantity.start]
    after = side.text[quantity.end : quantity.end + SHARE_WINDOW[1]]
    if quantity.value == 50 and re.match(r"\A\s(?:U\.?S\.?\s|American\s)?states\b", after):
        return bool(re.search(r"\b(?:of\s(?:the|all)|all|the)\s\Z", before))
    if _OF_ALL.match(after) and re.search(r"\bof\s(?:the\s|its\s|all\s)?\Z", before):
        return True
    if quantity.value not in (0, 50, 100):
        return False
    if quantity.value == 50 and _LINE.search(before) and _INDEX.search(side.text):
        return True
    return bool(_CONSTANT_BEFORE.search(before) or _CONSTANT_AFTER.match(after)) and bool(
        _INDEX.search(side.text)
    )


_OF_ALL = re.compile(
    r"\A\s(?:industries|districts|sectors|regions|categories|member\sstates|subindexes|components)\b",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"\b(?:above|below|under|over|past|crossed|of)\s(?:the\s)?(?:neutral\s|break-even\s)?\Z",
    re.IGNORECASE,
)
_INDEX = re.compile(
    r"\b(?:index|gauge|PMI|ISM|indicator|survey|reading|barometer)\b", re.IGNORECASE
)


def is_version(side: Side, quantity: Quantity) -> bool:
    """Whether a number is a name and stays: a product's version ("the Lumen 7 camera"), the count
    of a listicle, a constant of the world.
    """
    if is_list_count(side, quantity) or is_constant(side, quantity):
        return True
    if quantity.kind != "number" or quantity.form.style != "digits" or quantity.form.after:
        return False
    if not re.fullmatch(r"\d{1,4}", quantity.text) or quantity.unit is not None:
        return False
    sentence = side.sentence_of(quantity.start)
    before = re.search(r"\b([A-Z][\w-]*)\s\Z", side.text[sentence.start : quantity.start])
    if before is None or sentence.titled or before.start() == 0:
        return False
    after = side.text[quantity.end : quantity.end + COUNTED_WINDOW]
    return not _COUNTED.match(after) or bool(_OF_A_LINE.match(after))


@read_once
def matched_quantities(pair: Pair) -> list[tuple[int, int]]:
    """Return the quantities that stand for each other, by their indices, versions included."""
    return [
        (match.original, match.rewritten)
        for match in quantity_matches(pair)
        if match.original is not None and match.rewritten is not None
    ]


@read_once
def perturbed_quantities(pair: Pair) -> list[tuple[int, int]]:
    """Return the quantities that stand for each other, without a product's version."""
    return [
        (i, j)
        for i, j in matched_quantities(pair)
        if not is_version(pair.original, pair.original.quantities[i])
    ]


# Parts of a whole

_RATIO_OF_WHOLE = re.compile(
    r"\A\s?(?:stake|interest\sin|ownership|share\sof|of\s(?:its|the|their|all|total|revenue|sales"
    r"|customers?|users|respondents|shares|analysts|investors|orders|capacity|profit|equity|gdp"
    r"|income"
    r"|households|consumers|companies|voting|which|those|global|u\.?s\.?|group|net|employees"
    r"|workers"
    r"|people|americans|homes|firms|businesses|traders|economists|staff|production|output"
    r"|respondents|managers|executives|voters|members|adults|workforce|seats|portfolio))",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"\A\s(?:of\s(?:the\s)?(?:\w+\s)?(?:respondents|managers|executives|those|analysts|investors"
    r"|economists|consumers|voters|members|adults|households|firms|companies)\b"
    r"|(?:said|say|saying|think|thought|believe[ds]?|answered|agreed?|plan(?:ned)?\sto)\b"
    r"|(?:chance|probability|likelihood|odds)\b)",
    re.IGNORECASE,
)
_SURVEYED = re.compile(r"\b(?:polled|surveyed|respondents|survey|poll|asked)\b", re.IGNORECASE)
_SHARE_AT = re.compile(
    r"(?:\b(?:market\sshare|share\sof\s(?:the\s)?\w+|occupancy|load\sfactor|utili[sz]ation)\b"
    r"[^.;,%]{0,45}?\s(?:to|of|at|from|was|is|reached|hit)\s(?:about\s|around\s|nearly\s)?"
    r"(?:\d[\d.]*\s?%\sfrom\s)?"
    r"|\b(?:chance|probability|likelihood|odds)\s(?:\w+\s){0,2}(?:of|at|to)\s)\Z",
    re.IGNORECASE,
)


def is_bounded_share(text: str, quantity: Quantity) -> bool:
    """Return whether a percentage is a part of a whole: a share, a utilisation, a mix."""
    if quantity.kind != "percent":
        return quantity.role in SHARES
    if abs(quantity.value or 0.0) > WHOLE:
        return False  # "net retention at 118%": beyond a whole already
    if quantity.role in SHARES or is_share_in_words(text, quantity):
        return True
    return quantity.is_level and bool(
        _RATIO_OF_WHOLE.match(text[quantity.end : quantity.end + SHARE_WINDOW[1]])
    )


def is_share_in_words(text: str, quantity: Quantity) -> bool:
    """Return whether words make a percentage the size of a part: "62% said", "share to 34%"."""
    before, after = SHARE_WINDOW
    return quantity.kind == "percent" and bool(
        _ANSWERED.match(text[quantity.end : quantity.end + after])
        or _SHARE_AT.search(text[max(0, quantity.start - before) : quantity.start])
        or (
            quantity.direction is None
            and abs(quantity.value or 0.0) <= WHOLE
            and _SURVEYED.search(text, max(0, quantity.start - 2 * before), quantity.end + after)
        )
    )
