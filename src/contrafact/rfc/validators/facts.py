"""Facts that words carry: events, causes, metrics, denials, directions."""

import re
from collections.abc import Iterator

from contrafact.rfc.validators.align import Change
from contrafact.rfc.validators.counterparts import directions
from contrafact.rfc.validators.findings import Span, Violation, fail, review
from contrafact.rfc.validators.pair import Pair, Side

__all__ = [
    "causes_added",
    "denied",
    "directions_kept",
    "events_added",
    "metrics_kept",
    "paraphrased",
    "things_kept",
]

_STRONG = frozenset(
    """because|because of|due to|owing to|on account of|as a result of|thanks to|as a result
    |as a consequence|consequently|result in|lead to|cause|bring about|trigger|driven by|fueled by
    |fuelled by|stem from|attributable to|attributed to|in response to|in reaction to|spurred by
    |sparked by|prompted by|triggered by|caused by|brought on by|brought about by|on the back of
    |as a consequence of|result from|arise from|give rise to|prompt|spark|induce|for this reason
    |in the wake of|on the heels of|propelled by|stoked by|boosted by|buoyed by|lifted by|hurt by
    |weighed down by|dragged down by|pressured by|hampered by|blamed on|blame on|which is why
    |therefore|hence|thereby|accordingly|on fears|on fears of|on fears that|on concerns
    |on concerns about|on hopes|on hopes of|on hopes that|on optimism|on news of|on news that
    |attribute|blame|in light of|powered by|bolstered by|underpinned by|supported by|helped by""".replace(
        "\n", ""
    )
    .replace("    ", "")
    .split("|")
)
_WEAK = frozenset(("amid", "amidst", "given that", "so that", "in view of", "thus"))


def causes_added(pair: Pair) -> Iterator[Violation]:
    """A rewrite explains nothing that its original leaves unexplained."""
    for found in pair.rewritten.found("connector"):
        if found.term not in _STRONG and found.term not in _WEAK:
            continue
        tokens = pair.rewritten.span_tokens(found.start, found.end)
        changes = {change for i in tokens if (change := pair.alignment.change_of(i))}
        if not changes:
            continue
        if any(_has_connector(pair, change.before) for change in changes):
            continue
        size = sum(change.after[1] - change.after[0] for change in changes)
        span = (found.start, found.end)
        if found.term in _STRONG or size >= 3:
            yield fail(
                "new-cause", f"'{found.text}' gives a cause that the original lacks", None, span
            )
        else:
            yield review("new-cause", f"'{found.text}' may give a cause that is new", None, span)


def _has_connector(pair: Pair, tokens: Span) -> bool:
    """Whether the original links cause and effect in a stretch, or right beside it."""
    words = pair.original.tokens[max(0, tokens[0] - 1) : tokens[1] + 1]
    if not words:
        return False
    start, end = words[0].start, words[-1].end
    if any(m.start < end and start < m.end for m in pair.original.found("connector")):
        return True
    return (
        bool(
            re.search(
                r"\b(?:as|after|on|following|since|with|helped|hurt|by|so|when|while)\b",
                pair.original.text[start:end],
                re.IGNORECASE,
            )
        )
        and tokens[1] > tokens[0]
    )


# Events that make news by themselves: a rewrite that speaks of one its original does not has
# made it up. Inflections and kindred words share a line.
_EVENTS = tuple(
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    for pattern in (
        r"(?:product |safety |vehicle )?recall(?:s|ed|ing)?(?! that)",
        r"probes?|probed|investigat\w+|inquir(?:y|ies)|subpoena\w*",
        r"lawsuits?|litigation|sued|suing|class[\s-]action\w*|legal action",
        r"fined|fines|penalt(?:y|ies)",
        r"sanction(?:s|ed|ing)?|embargo(?:es)?|export (?:ban|control|curb)s?",
        r"outages?|blackouts?",
        r"data breach(?:es)?|breach(?:es|ed)?|hack(?:s|ed|ing|ers?)?|cyber[\s-]?attacks?|ransomware",
        r"(?:labou?r |workers?['’]? |union )?strikes?(?! price| a | an )|walk-?outs?|picket\w*|(?:went|go|gone) on strike",
        r"lay-?offs?|laid off|laying off|job cuts?|cut(?:ting)? \w+ jobs|redundanc(?:y|ies)",
        r"acquisitions?|acquir(?:e|es|ed|ing)|takeovers?|buyouts?|merg(?:er|ers|e|ed|ing)|buy out|bought",
        r"bankrupt(?:cy|cies)?|insolven(?:t|cy)|chapter 11|defaulted|liquidat\w+",
        r"resign(?:s|ed|ation|ing)?|stepp(?:ed|ing) down|steps? down|oust(?:ed|er|ing)?|sacked",
        r"tariffs?|trade war",
        r"wars?|invasion|invad\w+|attacks?|bomb\w*|missiles?|coup",
        r"earthquakes?|hurricanes?|floods?|flooding|typhoons?|wildfires?|explosions?|blast|tsunami|fire at",
        r"shut\s?downs?|shutter(?:ed|ing)|plant closures?|closures?",
        r"stock splits?|spin-?offs?|spun off|ipos?|initial public offering|delist\w*",
        r"(?:share |stock )?buy-?backs?|repurchas\w+",
        r"partnerships?|joint venture|alliance",
        r"bail-?outs?|rescue (?:plan|package|deal)",
        r"settlements?|settled (?:with|the|its)|verdict|court ruling|jury",
        r"pandemics?|outbreaks?|lockdowns?|virus",
        r"crisis|crises|crash(?:es|ed)?|meltdowns?|collaps(?:e|es|ed|ing)",
        r"election|referendum|impeach\w*",
        r"whistle-?blowers?|scandals?|restat(?:e|es|ed|ement|ing) (?:of |its |earnings|results)",
        r"supply (?:chain )?(?:disruption|shortage|glut|crunch)s?",
        r"special dividend|dividend suspension|suspend\w* (?:its|the) dividend",
    )
)


def events_added(pair: Pair) -> Iterator[Violation]:
    """A rewrite speaks of no event, deal, crisis or dispute that its original does not."""
    for pattern in _EVENTS:
        found = pattern.search(pair.rewritten.text)
        if found and not pattern.search(pair.original.text):
            yield fail(
                "new-event",
                f"'{found[0]}' is an event that the original does not speak of",
                None,
                found.span(),
            )


_METRICS: dict[str, str] = {
    **dict.fromkeys(("revenue", "revenues", "sales", "turnover"), "revenue"),
    **dict.fromkeys(("profit", "profits", "earnings", "income", "eps", "ebitda"), "profit"),
    **dict.fromkeys(("margin", "margins"), "margin"),
    **dict.fromkeys(("cost", "costs", "expense", "expenses", "spending", "capex", "opex"), "cost"),
    **dict.fromkeys(("dividend", "dividends", "payout"), "dividend"),
    **dict.fromkeys(("subscribers", "users", "customers", "members"), "users"),
    **dict.fromkeys(("shipments", "deliveries", "volumes"), "shipments"),
    **dict.fromkeys(("orders", "bookings", "backlog"), "orders"),
    **dict.fromkeys(("cashflow",), "cash flow"),
    **dict.fromkeys(("debt", "borrowings"), "debt"),
    **dict.fromkeys(("exports",), "exports"),
    **dict.fromkeys(("imports",), "imports"),
    **dict.fromkeys(("inflation", "cpi"), "inflation"),
    **dict.fromkeys(("unemployment", "joblessness"), "unemployment"),
    **dict.fromkeys(("production", "output"), "production"),
    **dict.fromkeys(("inventories", "inventory", "stockpiles"), "inventories"),
}
_THINGS: dict[str, str] = {
    word: group
    for group, words in {
        "technology": "technology tech",
        "energy": "energy",
        "healthcare": "healthcare health",
        "banking": "banking banks bank lenders lender",
        "retail": "retail retailers retailer",
        "automotive": "automotive auto automaker automakers carmaker carmakers",
        "airlines": "airline airlines",
        "insurance": "insurance insurer insurers",
        "chips": "semiconductor semiconductors chip chips chipmaker chipmakers",
        "mining": "mining miner miners",
        "pharma": "pharmaceutical pharmaceuticals drugmaker drugmakers biotech",
        "real estate": "property housing homebuilder homebuilders",
        "utilities": "utilities utility",
        "telecom": "telecom telecoms",
        "oil": "oil crude petroleum",
        "gas": "gas lng",
        "gold": "gold bullion",
        "silver": "silver",
        "copper": "copper",
        "wheat": "wheat",
        "corn": "corn",
        "coal": "coal",
        "steel": "steel",
        "bonds": "bonds treasuries",
        "equities": "stocks equities shares stock equity",
        "smartphones": "smartphone smartphones phones handsets",
        "laptops": "laptop laptops pcs",
        "tablets": "tablet tablets",
        "vehicles": "vehicle vehicles cars trucks",
        "cloud": "cloud",
        "advertising": "advertising ad ads",
        "dollar": "dollar greenback",
        "euro": "euro",
        "yen": "yen",
        "chief executive": "ceo",
        "finance chief": "cfo",
        "chairman": "chairman chairwoman chair",
    }.items()
    for word in words.split()
}


def metrics_kept(pair: Pair) -> Iterator[Violation]:
    """Revenue stays revenue, and profit profit."""
    yield from _kinds_kept(pair, _METRICS, "metric-changed")


def things_kept(pair: Pair) -> Iterator[Violation]:
    """Sectors, commodities and products stay what they are."""
    yield from _kinds_kept(pair, _THINGS, "entity-changed")


def _kinds_kept(pair: Pair, kinds: dict[str, str], rule: str) -> Iterator[Violation]:
    for change in pair.alignment.changes:
        before = pair.original.tokens[slice(*change.before)]
        after = pair.rewritten.tokens[slice(*change.after)]
        if not 1 <= len(before) <= 3 or not 1 <= len(after) <= 3:
            continue
        ours = {kinds[t.key] for t in before if t.key in kinds}
        theirs = {kinds[t.key] for t in after if t.key in kinds}
        if ours and theirs and not ours & theirs:
            a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
            yield fail(
                rule,
                f"'{_of(pair.original, a)}' became '{_of(pair.rewritten, b)}'",
                a,
                b,
            )


def _of(side: Side, span: Span | None) -> str:
    return "" if span is None else side.text[slice(*span)]


_DENIAL = re.compile(
    r"\b(?:not|never|no longer|denied|denies|without|cancel\w*|scrapp\w+|abandon\w*|call(?:ed|s|ing)? off"
    r"|fail(?:s|ed)? to|refus\w+ to|neither|nor)\b|n['’]t\b",
    re.IGNORECASE,
)


def denied(pair: Pair) -> Iterator[Violation]:
    """A rewrite denies nothing that its original states, and states nothing that it denies."""
    for side, other, is_new in (
        (pair.rewritten, pair.original, True),
        (pair.original, pair.rewritten, False),
    ):
        surplus = len(_DENIAL.findall(side.text)) - len(_DENIAL.findall(other.text))
        if surplus <= 0:
            continue
        for found in _DENIAL.finditer(side.text):
            tokens = side.span_tokens(*found.span())
            at = pair.alignment.change_of if is_new else pair.alignment.change_at
            if any(at(i) for i in tokens):
                span = found.span()
                yield fail(
                    "outcome-changed",
                    f"'{found[0]}' {'is new: it denies' if is_new else 'is gone: it denied'} "
                    "what the other text states",
                    None if is_new else span,
                    span if is_new else None,
                )
                return


def directions_kept(pair: Pair) -> Iterator[Violation]:
    """What rises still rises, what beats still beats, what is strong is still strong."""
    found = directions(pair)
    for signal, met in zip(found.before, found.met, strict=True):
        if met and all(other.sign == -signal.sign for other in met):
            tier = {signal.tier, *(other.tier for other in met)}
            told = review if tier == {"soft"} else fail
            yield told(
                "direction-changed",
                f"'{signal.text}' became '{met[0].text}'",
                (signal.start, signal.end),
                (met[0].start, met[0].end),
            )


def _turns(pair: Pair, change: Change) -> bool:
    """Whether a changed stretch holds a direction."""
    found = directions(pair)
    a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
    return any(
        span is not None and signal.start < span[1] and span[0] < signal.end
        for span, signals in ((a, found.before), (b, found.after))
        for signal in signals
    )


def paraphrased(pair: Pair) -> Iterator[Violation]:
    """Other words for the same go to a person, all in one finding."""
    changes = [
        change
        for change in pair.alignment.changes
        if any(t.key not in ("#", "@", "@t") for t in pair.original.tokens[slice(*change.before)])
        or any(t.key not in ("#", "@", "@t") for t in pair.rewritten.tokens[slice(*change.after)])
    ]
    if pair.manipulation == "flipping":
        # Words that turn a direction are what flipping is about.
        changes = [change for change in changes if not _turns(pair, change)]
    if not changes:
        return
    first = changes[0]
    a, b = pair.alignment.before_span(first), pair.alignment.after_span(first)
    yield review(
        "wording-changed",
        f"other words in {len(changes)} place{'s' * (len(changes) > 1)}, first "
        f"'{_of(pair.original, a)}' → '{_of(pair.rewritten, b)}'",
        a,
        b,
    )
