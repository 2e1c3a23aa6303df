"""The contract of directional flipping: every direction reversed, every fact kept.

RFC-BENCH, section 2.2.2 and appendices Q.1, R.1 and S.1.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Annotated

from contrafact.families.rfc.contracts.consistency import (
    comparatives,
    earlier_and_later,
    expected_and_actual,
)
from contrafact.families.rfc.contracts.directional_cues import (
    Cue,
    Tier,
    direction_alignment,
    is_rating,
    rating_calls,
)
from contrafact.families.rfc.contracts.exempt_numbers import matched_quantities
from contrafact.families.rfc.contracts.facts import opposites
from contrafact.families.rfc.contracts.numbers import changed_numbers, number_key, place
from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Token, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import may_name, pattern, words
from contrafact.text.quantities import Quantity
from contrafact.text.tokens import stem

__all__ = [
    "acts_reversed",
    "bearing",
    "bounds_kept_true",
    "is_reversed",
    "left_standing",
    "nothing_reversed",
    "numbers_kept",
    "part_left",
    "ratings_reversed",
    "reporting_kept",
    "signs_reversed",
    "verdicts_reversed",
]

TIER_WEIGHTS: dict[Tier, float] = {"firm": 2.0, "plain": 1.0, "soft": 0.5}
"""How much a direction counts for the drift of a story, by how sure it is (ours)."""

BURDEN_REACH = (2, 3)
"""Words before and after a direction among which a burden makes it bad news (ours)."""


@rule(
    "number-changed",
    "number-lost",
    "number-added",
    about="numbers",
    paper="Q.1, 2; R.1",
    manipulations=("flipping",),
    to_review="small number words; a unit dropped or added; numbers in another order",
)
def numbers_kept(pair: Pair) -> Iterator[Finding]:
    """Numbers stay, save that a from–to pair, or a result and what was expected, may swap its
    ends, that a level may cross the bound that it was on the other side of, and that signs may be
    reversed.
    """
    a, b = pair.original.quantities, pair.rewritten.quantities
    key = partial(number_key, signed=False)
    to = dict(matched_quantities(pair))
    excused: set[int] = set()
    for i, j in (
        *earlier_and_later(pair.original),
        *expected_and_actual(pair.original),
        *((c.that, c.this) for c in comparatives(pair.original)),
    ):
        if i in to and j in to and key(a[i]) == key(b[to[j]]) and key(a[j]) == key(b[to[i]]):
            excused |= {i, j}
    excused |= {i for i, j in to.items() if _is_reversed_multiple(a[i], b[j])}
    excused |= _swapped(pair, to) | _crossed(pair, to) | _expected_otherwise(pair, to)
    yield from changed_numbers(pair, key, excused)


_SET_AGAINST = re.compile(
    r"\b(?:from|than|against|versus|compared|previous\w*|earlier|prior|expected|forecast|estimate\w*"
    r"|target|instead|above|below)\b",
    re.IGNORECASE,
)


def _swapped(pair: Pair, to: dict[int, int]) -> set[int]:
    """Return the figures of a sentence that trade places: "to $5 from $4", "to $4 from $5"."""
    a, b = pair.original.quantities, pair.rewritten.quantities
    found: set[int] = set()
    for i, j in combinations(sorted(to), 2):
        x, y, u, v = a[i].value, a[j].value, b[to[i]].value, b[to[j]].value
        if None in (x, y, u, v) or x == y or x != v or y != u:
            continue
        sentence = pair.original.sentence_of(a[i].start)
        if a[j].start < sentence.end and _SET_AGAINST.search(
            pair.original.text, sentence.start, sentence.end
        ):
            found |= {i, j}
    # What repeats an end that moved moves with it: the headline's "to 5%".
    moved = {(a[i].kind, a[i].value, b[to[i]].value) for i in found}
    found |= {i for i, j in to.items() if (a[i].kind, a[i].value, b[j].value) in moved}
    return found


CROSSING = 0.06
"""Share by which a level may move to the other side of its bound (ours: "small adjustments strictly
needed", R.1)."""

_ABOVE = re.compile(r"\b(?:above|past|topp?(?:s|ed)?|over|exceed\w*)\s(?:the\s)?\Z", re.IGNORECASE)
_BELOW = re.compile(r"\b(?:below|under|beneath)\s(?:the\s)?\Z", re.IGNORECASE)


def _crossed(pair: Pair, to: dict[int, int]) -> set[int]:
    """Return the levels that a reversed bound moves: "above $90 … $90.62", "below $90 … $89.40"."""
    a, b = pair.original, pair.rewritten
    found: set[int] = set()
    for i, j in to.items():
        bound, same = a.quantities[i], b.quantities[j]
        if not bound.value or bound.value != same.value:
            continue
        before, after = (
            a.text[max(0, bound.start - 16) : bound.start],
            b.text[max(0, same.start - 16) : same.start],
        )
        was_above, is_below = bool(_ABOVE.search(before)), bool(_BELOW.search(after))
        if not (was_above and is_below) and not (_BELOW.search(before) and _ABOVE.search(after)):
            continue
        for k, m in to.items():
            old, new = a.quantities[k], b.quantities[m]
            if old.value is None or new.value is None or old.kind != bound.kind:
                continue
            crosses = (old.value - bound.value) * (new.value - bound.value) < 0
            if crosses and abs(new.value - old.value) <= CROSSING * abs(bound.value):
                found.add(k)
    return found


RESET = 0.25
"""Share by which an expectation may move to the other side of its result (ours, likewise)."""


def _expected_otherwise(pair: Pair, to: dict[int, int]) -> set[int]:
    """Return what was expected where it moved so that a beat is a miss: no other figure can."""
    a, b = pair.original.quantities, pair.rewritten.quantities
    found: set[int] = set()
    for expected, actual in (
        *expected_and_actual(pair.original),
        *((c.that, c.this) for c in comparatives(pair.original)),
        *earlier_and_later(pair.original),
    ):
        if expected not in to or actual not in to:
            continue
        old, new, kept = a[expected].value, b[to[expected]].value, b[to[actual]].value
        was = a[actual].value
        if old is None or new is None or was is None or kept != was:
            continue
        if (was - old) * (was - new) < 0 and abs(new - old) <= RESET * abs(old):
            found.add(expected)
    return found


def _is_reversed_multiple(a: Quantity, b: Quantity) -> bool:
    """Whether a multiple in a verb is reversed: doubled, halved."""
    if not a.value or not b.value or {a.form.style, b.form.style} != {"multiple"}:
        return False
    return (a.value - 1) * (b.value - 1) < 0


@read_once
def is_reversed(pair: Pair) -> bool:
    """Return whether at least one direction, multiple, sign or rating is reversed."""
    # "Slowing from high growth", "cooling from strong growth": what scales it says the same.
    met = [(c, o) for c, others in direction_alignment(pair).counterparts for o in others]
    same = {(other.start, other.end) for cue, other in met if other.sign == cue.sign}
    if any(o.sign == -c.sign and (o.start, o.end) not in same for c, o in met):
        return True
    if any(is_opposed(*pair.tokens(change)) for change in pair.changes):
        return True
    for i, j in matched_quantities(pair):
        a, b = pair.original.quantities[i], pair.rewritten.quantities[j]
        if _is_reversed_multiple(a, b) or (b.value and a.value == -b.value):
            return True
    calls = zip(rating_calls(pair.original), rating_calls(pair.rewritten), strict=False)
    return any(a.rank is not None and b.rank is not None and a.rank * b.rank < 0 for a, b in calls)


def is_opposed(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether one word is exchanged for its opposite: risks, opportunities; won't, will."""
    for good, bad in ((words("fortunate"), words("unfortunate")), *opposites("oppositions")):
        ways = [
            {
                side
                for side, some in ((1, good), (-1, bad))
                for t in tokens
                if t.key in some or stem(t.key) in some
            }
            for tokens in (before, after)
        ]
        if all(len(way) == 1 for way in ways) and ways[0] != ways[1]:
            return True
    return False


@rule(
    "nothing-reversed",
    about="change",
    paper="Q.1, 1 and 3",
    manipulations=("flipping",),
    to_review="the original's direction is in no list",
)
def nothing_reversed(pair: Pair) -> Iterator[Finding]:
    """The rewrite says the opposite of something, and is no paraphrase."""
    if is_reversed(pair):
        return
    found = direction_alignment(pair)
    if found.original:
        first = found.original[0]
        yield Finding(
            "nothing-reversed",
            f"no direction of the original is reversed, such as '{first.text}'",
            (first.start, first.end),
            for_review=_may_be_reversed(pair),
        )
    elif found.rewritten and pair.changes:
        first = found.rewritten[0]
        yield review(
            "nothing-reversed",
            f"'{first.text}' has a direction; none was found in the original",
            None,
            (first.start, first.end),
        )
    else:
        yield fail("nothing-reversed", "the original has no direction that could be reversed")


def _may_be_reversed(pair: Pair) -> bool:
    """Whether a change puts words of one side for others, and none of it keeps its direction."""
    for cue, others in direction_alignment(pair).counterparts:
        moved = any(
            pair.alignment.change_in_original(i)
            for i in pair.original.span_tokens(cue.start, cue.end)
        )
        if moved and (not others or any(other.sign == cue.sign for other in others)):
            return False
    polar = words("polar") | words("attitudes")
    return any(
        any(t.key in polar or stem(t.key) in polar for t in before)
        and any(t.key in polar or stem(t.key) in polar for t in after)
        for before, after in map(pair.tokens, pair.changes)
    )


_CLAUSE_OF_ATTITUDE = re.compile(
    r"\s(?:that|about|of|over|in)\s(?:[^.;,]|\.(?!\s[A-Z]))*\Z", re.IGNORECASE
)
_ATTITUDES = re.compile(
    r"(?:confidence|optimism|pessimism|hopes?|fears?|concerns?|worr(?:y|ies)|doubts?|caution"
    r"|optimistic|pessimistic|confident|concerned|worried|cautious|anxiety|jitters|risks?|odds|chances?"
    r"|threats?|likelihood)\Z",
    re.IGNORECASE,
)


@rule(
    "not-reversed",
    about="change",
    paper="R.1; S.1, step 2",
    manipulations=("flipping",),
    to_review="soft words; background against the drift of the story; a word in no list",
)
def left_standing(pair: Pair) -> Iterator[Finding]:
    """No expression still asserts its original direction. Denied ones ("did not rise"), names,
    senses without direction ("raised capital", "drop-off") and states that a reversed verb scales
    ("concerns eased", "concerns mounted") do not assert it.
    """
    if not is_reversed(pair):
        return  # nothing_reversed says it all
    found = direction_alignment(pair)
    drift = sum(bearing(pair.original, cue) * TIER_WEIGHTS[cue.tier] for cue in found.original)
    reversed_cues = [
        cue for cue, others in found.counterparts if any(o.sign == -cue.sign for o in others)
    ]
    calls = rating_calls(pair.original)
    for cue, others in found.counterparts:
        if cue in reversed_cues or _is_open(pair.original, cue):
            continue
        if is_rating(cue.text) and any(call.start <= cue.start < call.end for call in calls):
            continue  # ratings have a rule of their own
        if not others:
            yield from _without_counterpart(pair, cue)
            continue
        other = next((one for one in others if one.text == cue.text), others[0])
        # "Dented confidence that it grows": what a reversed attitude is about may stay.
        governed = any(
            _ATTITUDES.search(attitude.text)
            and _CLAUSE_OF_ATTITUDE.match(pair.original.text[attitude.end : cue.start])
            for attitude in reversed_cues
            if attitude.end < cue.start
        )
        governed = governed or _is_governed(pair, cue) or _is_refigured(pair, cue)
        governed = governed or _is_requalified(pair, cue)
        # "Despite mounting worries": it went against the story, and may go with its reverse.
        clause = pair.original.text[max(0, cue.start - REACH) : cue.start]
        governed = governed or bool(_CONCEDED.search(clause)) or _is_conceded(pair, other)
        if _DEGREE.fullmatch(cue.text) and any(
            0 <= cue.start - one.end <= 1 for one in reversed_cues
        ):
            continue  # "shrank faster than expected": how much, of what is turned round
        # A firm direction that stayed leaves the reversal incomplete. A plain one, or one that is
        # scaled or denied ("struggles to grow"), does where it leans the way the original does;
        # against it, it may be the background of either story.
        along = bearing(pair.original, cue) * drift >= 0
        sure = (
            along if cue.tier == "plain" else cue.tier == "firm" and (along or len(cue.parts) < 2)
        )
        # What is reversed in one place and stands in another contradicts itself: headline, story.
        # "Raised its growth forecast … its forecast for growth" names a topic the second time.
        sure = sure or any(
            stem(cue.text.split()[-1]) == stem(one.text.split()[-1])
            and cue.sign == one.sign
            and (cue.tier != "soft" or not one.scaled)
            for one in reversed_cues
        )
        if not sure and cue.tier == "soft":
            continue  # "growth", "support": what goes with either story
        same = other.text.casefold() == cue.text.casefold()
        yield Finding(
            "not-reversed",
            f"'{cue.text}' still stands"
            if same
            else f"'{cue.text}' became '{other.text}', which says the same",
            (cue.start, cue.end),
            (other.start, other.end),
            for_review=governed or not sure or (not same and _is_mixed(pair, cue, other)),
        )
    for other in found.rewritten:
        places = [pair.rewritten.span_tokens(*part) for part in other.parts]
        put_in = all(
            (change := pair.alignment.change_in_rewritten(i)) is not None
            and change.original[0] == change.original[1]
            for i in chain.from_iterable(places)
        )
        if put_in and other.tier == "plain" and bearing(pair.rewritten, other) * drift > 0:
            yield fail(
                "not-reversed",
                f"'{other.text}' is put in, and says what the original said",
                None,
                (other.start, other.end),
            )


_CONCEDED = re.compile(
    r"\b(?:despite|in\sspite\sof|notwithstanding|regardless\sof)\s[^,;.]*\Z", re.IGNORECASE
)
_NOW_CONCEDED = re.compile(
    r"\b(?:despite|in\sspite\sof|notwithstanding|even\s(?:as|after|though|when|with)|although|though"
    r"|while|shrugg?(?:ed|ing|s)?\soff)\s[^.;]*\Z",
    re.IGNORECASE,
)


def _is_conceded(pair: Pair, cue: Cue) -> bool:
    """Whether what stayed is conceded in the rewrite, by a word put in: "even after warnings"."""
    sentence = pair.rewritten.sentence_of(cue.start)
    found = _NOW_CONCEDED.search(pair.rewritten.text, sentence.start, cue.start)
    if found is None:
        return False
    first = pair.rewritten.span_tokens(found.start(), found.start() + 1)
    return bool(first) and pair.alignment.change_in_rewritten(first[0]) is not None


_FORECAST_OF = re.compile(
    r"\b(?:forecast|outlook|estimate|projection|target|view)s?\s(?:for|of)\s(?:\S+\s){0,2}\Z",
    re.IGNORECASE,
)
_KEPT_FORECAST = re.compile(
    r"\b(?:maintain|keep|hold|reiterat|reaffirm|stick|leav)\w*\s(?:[\w'’]+\s){0,3}?(?:forecast|outlook|estimate"
    r"|projection)s?\s(?:for|of|at)\s(?:\S+\s){0,2}\Z",
    re.IGNORECASE,
)
_SO_FAR = re.compile(r",\s(?:which|who)\s(?:have|has|had)\sbeen\s[^,;.\n]*\Z", re.IGNORECASE)
_ASKED = re.compile(r"\bhow\s(?:much|far|fast|quickly|soon|long)?\s?\Z", re.IGNORECASE)
_ESTIMATE = re.compile(
    r"\s(?:forecasts?|outlook|estimates?|projections?|expectations|targets?|guidance|view)\b",
    re.IGNORECASE,
)


def _is_open(side: Side, cue: Cue) -> bool:
    """Whether a direction is asked for, or only names what others move: "how much higher", "its
    growth forecast", "risk appetite".
    """
    if cue.text.casefold() in words("attitude_nouns"):
        return True
    if cue.tier == "soft" and len(cue.parts) == 1:
        before = side.text[max(0, cue.start - REACH) : cue.start]
        if _ESTIMATE.match(side.text, cue.end) or _FORECAST_OF.search(before):
            return True
    if cue.text.casefold() == "growth" and _KEPT_FORECAST.search(side.text, 0, cue.start):
        return True
    if _SO_FAR.search(side.text, 0, cue.start):
        return True
    return bool(_ASKED.search(side.text, max(0, cue.start - REACH), cue.start))


_DEGREE = re.compile(
    r"(?:faster|quicker|more|less|slower|further|sharper)\sthan\s\w+(?:\s\w+)?", re.IGNORECASE
)


def _is_mixed(pair: Pair, cue: Cue, other: Cue) -> bool:
    """Whether another word of the change may be what turns a direction round."""
    return any(
        token.key in words("polar") and not other.start <= token.start < other.end
        for i in pair.original.span_tokens(cue.start, cue.end)
        if (change := pair.alignment.change_in_original(i)) is not None
        for token in pair.tokens(change)[1]
    )


_HELD_OF = re.compile(
    r"\b(?:(?:bets?|wagers?|odds|chances?|hopes?|fears?|doubts?|prospects?|likelihood|risks?|talk"
    r"|speculation|calls?|pressure|need|room)\s(?:on|of|for|that|about)"
    r"|expectations\s(?:of|for|that)|expects?|doubts?|questions?|dismiss(?:es|ed)?|rule[sd]?\sout"
    r"|predicts?)\s(?:\w+\s){0,2}\Z",
    re.IGNORECASE,
)


def _is_governed(pair: Pair, cue: Cue) -> bool:
    """Whether what was turned round is an attitude to a direction: "added to bets on a cut"."""
    tokens = pair.original.span_tokens(cue.start, cue.end)
    clause = pair.original.sentence_of(cue.start).start
    start = next(
        (
            pair.original.tokens[i].start
            for i in range(tokens[0] - 1, max(-1, tokens[0] - 1 - VERB_REACH), -1)
            if pair.alignment.change_in_original(i) and pair.original.tokens[i].start >= clause
        ),
        None,
    )
    if start is None:
        return False
    spoken = [pair.original.text[start : cue.start]]
    to = pair.alignment.to_rewritten.get(tokens[0])
    if to is not None:
        at = pair.rewritten.tokens[to].start
        sentence = pair.rewritten.sentence_of(at)
        spoken.append(pair.rewritten.text[max(sentence.start, at - REACH) : at])
    if re.search(r"[.;,]\s", spoken[0]):
        return False
    return any(_HELD_OF.search(before) for before in spoken)


def _is_requalified(pair: Pair, cue: Cue) -> bool:
    """Whether what qualifies a direction was turned round ("grown strongly", "grown weakly"), or
    what it does ("rising rates are working to", "… are failing to").
    """
    side, tokens = pair.original, pair.original.span_tokens(cue.start, cue.end)
    for i in range(max(0, tokens[0] - 2), min(len(side.tokens), tokens[-1] + 1 + PREDICATE_REACH)):
        change = pair.alignment.change_in_original(i)
        low, high = sorted(((cue.start, cue.end), side.tokens[i][:2]))
        between = side.text[low[1] : high[0]]
        ranked = between.strip() == "," and side.tokens[i].key.endswith("st")
        if change is None or (re.search(r"[,;:.!?—–\n]", between) and not ranked):
            continue
        turned = pair.tokens(change)
        if _is_opposite(*turned, "succeeding", "failing"):
            return True
        if i <= tokens[-1] + 1 and _is_opposite(*turned, "much", "little"):
            return True
        if i <= tokens[-1] + 3 and _is_opposite(*turned, "most", "least"):
            return True  # "0.4% growth, weakest since" → "strongest since"
    return False


def _is_opposite(before: Sequence[Token], after: Sequence[Token], one: str, other: str) -> bool:
    """Whether a change turns a word of one list into one of another, or the other way round."""
    ways = [
        {name for t in some for name in (one, other) if t.key in words(name)}
        for some in (before, after)
    ]
    return all(len(way) == 1 for way in ways) and ways[0] != ways[1]


PREDICATE_REACH = 12
"""Words from a direction to the verb that it is the subject of, at most (ours)."""


def _is_refigured(pair: Pair, cue: Cue) -> bool:
    """Whether the figure of a direction took another's place: "would grow 2.1%, down from 2.7%"."""
    quantities = pair.original.quantities
    swapped = _swapped(pair, dict(matched_quantities(pair)))
    return any(
        0 <= quantities[i].start - cue.end <= FIGURE_NEAR
        and pair.original.text[cue.end : quantities[i].start].strip() in ("", "by", "to", "about")
        for i in swapped
    )


FIGURE_NEAR = 8
"""Characters from a direction to the figure that it has, at most (ours)."""

VERB_REACH = 7
"""Words from a turned attitude to the direction that it is to, at most (ours)."""

REACH = 50
"""The same in characters of the rewrite (ours)."""


_CLAUSES = re.compile(r"[;:.!?—–]\s")


def bearing(side: Side, cue: Cue) -> int:
    """Return whether a direction is good news (1) or bad (-1): rising costs are bad."""
    if len(cue.parts) > 1:
        return cue.sign
    tokens, (before, after) = side.span_tokens(cue.start, cue.end), BURDEN_REACH
    near = side.tokens[max(0, tokens[0] - before) : tokens[-1] + 1 + after]
    burdened = any(
        token.key in words("burdens")
        and not _CLAUSES.search(side.text, min(token.end, cue.end), max(token.start, cue.start))
        for token in near
    )
    return -cue.sign if burdened else cue.sign


def _without_counterpart(pair: Pair, cue: Cue) -> Iterator[Finding]:
    """Yield what became of a direction that has no counterpart."""
    changes = {
        change
        for start, end in cue.parts
        for i in pair.original.span_tokens(start, end)
        if (change := pair.alignment.change_in_original(i))
    }
    for change in changes:
        span = pair.spans(change)[1]
        if span is None:
            continue
        now = pair.rewritten.excerpt(span)
        signs = {
            m.polarity
            for m in pair.rewritten.terms("directional")
            if m.start < span[1] and span[0] < m.end and not m.weak
        }
        spans = ((cue.start, cue.end), span)
        if signs == {cue.bare} and cue.sign == cue.bare and cue.tier != "soft":
            yield fail("not-reversed", f"'{cue.text}' became '{now}', which says the same", *spans)
        elif not signs and cue.tier == "firm" and pattern("neutral").search(now):
            yield fail("not-reversed", f"'{cue.text}' became '{now}', which takes no side", *spans)
        elif not signs and cue.tier != "soft" and not _is_opposed(pair, change):
            yield review(
                "not-reversed", f"'{cue.text}' became '{now}': is that its opposite?", *spans
            )


def _is_opposed(pair: Pair, change: Change) -> bool:
    """Whether a word of an opposition that no list of directions has stands in a change."""
    after = pair.tokens(change)[1]
    return any(token.key in words("polar") or token.key in words("attitudes") for token in after)


@rule(
    "not-reversed",
    about="change",
    paper="R.1; S.1, step 2",
    manipulations=("flipping",),
    to_review="always: the list of leaning words knows no sense",
)
def part_left(
    pair: Pair, *, least: Annotated[int, "ours: words of a part that tells something"] = 5
) -> Iterator[Finding]:
    """Neither the headline nor the whole story stands word for word, where it takes a side, while
    the other is turned round.
    """
    side = pair.original
    if len(side.sentences) < 2 or not is_reversed(pair):
        return
    first, last = side.sentences[0], side.sentences[-1]
    leaning = words("polar") | words("attitudes") | words("fortunate") | words("unfortunate")
    for name, start, end in (
        ("headline", first.start, first.end),
        ("story", first.end, last.end),
    ):
        tokens = side.span_tokens(start, end)
        if len(tokens) < least or any(pair.alignment.change_in_original(i) for i in tokens):
            continue
        leans = next((side.tokens[i] for i in tokens if side.tokens[i].key in leaning), None)
        if leans is not None:
            yield review(
                "not-reversed",
                f"the {name} with '{leans.text}' stands as it was",
                (start, end),
                pair.kept(start, end),
            )


_VERDICT = re.compile(
    r"\b(?:a|another|the\slatest|one\smore|fresh)\s(?:\w+\s)?(?:sign|signal|indication|evidence|proof"
    r"|reflection|token)s?\s(?:of|that)\s[^.;,]+",
    re.IGNORECASE,
)


@rule("not-reversed", about="change", paper="R.1; Q.1, 1", manipulations=("flipping",))
def verdicts_reversed(pair: Pair) -> Iterator[Finding]:
    """What a reversed statement is called a sign of is reversed with it."""
    aligned = direction_alignment(pair)
    for match in _VERDICT.finditer(pair.original.text):
        kept = pair.kept(*match.span())
        sentence = pair.original.sentence_of(match.start())
        if kept is not None and any(
            sentence.start <= cue.start < match.start() and any(o.sign == -cue.sign for o in others)
            for cue, others in aligned.counterparts
        ):
            yield fail("not-reversed", f"'{match[0]}' still stands", match.span(), kept)


OBJECT_NEAR = 2
"""Words from a verb to its object, at most, for two verbs to be of one (ours)."""


@rule("not-reversed", about="consistency", paper="R.1; Q.1, 1", manipulations=("flipping",))
def acts_reversed(pair: Pair) -> Iterator[Finding]:
    """What is reversed in the headline is reversed in the story: who is to sell bonds there does
    not buy them here.
    """
    a = pair.original

    def objects(i: int) -> frozenset[str]:
        after = a.tokens[i + 1 : i + 2 + OBJECT_NEAR]
        return frozenset(stem(t.key) for t in after if t.is_word and may_name(t.key))

    reversed_at: dict[str, list[int]] = {}
    for change in pair.changes:
        first, end = change.original
        new = {stem(token.key) for token in pair.tokens(change)[1]}
        for i in range(first, end):
            token = a.tokens[i]
            if token.key in words("polar") and stem(token.key) not in new:
                reversed_at.setdefault(stem(token.key), []).append(i)
    for i, token in enumerate(a.tokens):
        there = reversed_at.get(stem(token.key))
        if there is None or pair.alignment.change_in_original(i) is not None:
            continue
        kept = pair.kept(token.start, token.end)
        if kept is not None and any(objects(i) & objects(j) for j in there):
            yield fail(
                "not-reversed", f"'{token.text}' still stands", (token.start, token.end), kept
            )


_REPORTED = re.compile(
    r"\b(?:declin(?:e|ed|es|ing)\sto\s(?:comment|say|elaborate|give|name|discuss|disclose|provide)"
    r"|(?:did|does|could)\snot\s(?:immediately\s)?(?:respond|reply|comment|be\sreached)"
    r"|was\snot\s(?:immediately\s)?available\sfor\scomment)\b",
    re.IGNORECASE,
)


@rule("outcome-changed", about="outcomes", paper="R.1; S.1, step 2", manipulations=("flipping",))
def reporting_kept(pair: Pair) -> Iterator[Finding]:
    """Who declined to comment still does: the reporting has no direction."""
    for match in _REPORTED.finditer(pair.original.text):
        if match[0].casefold() not in pair.rewritten.text.casefold():
            yield fail("outcome-changed", f"'{match[0]}' is gone or turned round", match.span())


BOUND_REACH = 80
"""Characters from "above" or "beating" to the figure that it leads to, at most (ours)."""

ALIKE = 2.0
"""Times by which two figures of one thing may differ (ours)."""

_OVER = re.compile(
    r"\b(?:above|exceed\w*|beat(?:s|ing)?|top(?:s|ped|ping)|surpass\w*|outstrip\w*|higher\sthan|more\sthan)\b",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"\b(?:below|under(?:shot|shoot\w*)?|miss(?:es|ed|ing)?|(?:short|shy)\sof|trail\w*|lagg?\w*"
    r"|lower\sthan|less\sthan|fewer\sthan)\b",
    re.IGNORECASE,
)


@rule("contradiction", about="consistency", paper="R.1; S.2, 8", manipulations=("flipping",))
def bounds_kept_true(pair: Pair) -> Iterator[Finding]:
    """No figure that stays is set on the other side of a figure that stays: 17.53% did not fall
    short of a forecast of 17%.
    """
    a, b = pair.original, pair.rewritten
    to = dict(matched_quantities(pair))
    for change in pair.changes:
        spans = pair.spans(change)
        if spans[0] is None or spans[1] is None:
            continue
        was, now = (
            1 if _OVER.search(side.text, *span) else -1 if _UNDER.search(side.text, *span) else 0
            for side, span in ((a, spans[0]), (b, spans[1]))
        )
        if was * now >= 0:
            continue
        end = spans[0][1]
        led_to = (
            (_level_before(a, spans[0][0], i), i)
            for i, q in enumerate(a.quantities)
            if end <= q.start <= end + BOUND_REACH and i in to
        )
        level, bound = next(((i, j) for i, j in led_to if i is not None and i in to), (None, 0))
        if level is None:
            continue
        x, y = a.quantities[level], a.quantities[bound]
        kept = all(a.quantities[i].value == b.quantities[to[i]].value for i in (level, bound))
        if kept and x.value and y.value and (x.value - y.value) * was > 0:
            yield fail(
                "contradiction",
                f"'{b.excerpt(spans[1])}' sets '{x.text}' on the wrong side of '{y.text}'",
                *spans,
            )


def _level_before(side: Side, before: int, bound: int) -> int | None:
    """Return the figure before some words that a bound is of; None if it is a change."""
    y = side.quantities[bound]
    since = side.sentences[max(0, side.sentences.index(side.sentence_of(before)) - 1)].start
    for i in range(bound - 1, -1, -1):
        x = side.quantities[i]
        if x.start < since:
            return None
        if x.end > before or (x.kind, x.unit) != (y.kind, y.unit) or not x.value or not y.value:
            continue
        if x.kind == "percent" and not (x.is_level or y.is_level):
            return None
        return i if 1 / ALIKE < x.value / y.value < ALIKE else None
    return None


@rule("not-reversed", about="change", paper="R.1; S.1, 5", manipulations=("flipping",))
def signs_reversed(pair: Pair) -> Iterator[Finding]:
    """No figure keeps its sign: "+5%" is a direction too."""
    if not is_reversed(pair):
        return
    for i, j in matched_quantities(pair):
        a, b = pair.original.quantities[i], pair.rewritten.quantities[j]
        if a.form.sign and a.kind != "number" and a.value == b.value and a.form.sign == b.form.sign:
            yield fail("not-reversed", f"the sign of '{b.text}' still stands", place(a), place(b))


@rule("not-reversed", about="change", paper="R.1; S.1, 3", manipulations=("flipping",))
def ratings_reversed(pair: Pair) -> Iterator[Finding]:
    """A rating that stands on one side stands on the other: Buy becomes Sell."""
    before, after = rating_calls(pair.original), rating_calls(pair.rewritten)
    for a, b in zip(before, after, strict=False):
        if a.direction or b.direction or not a.rank or b.rank is None:
            continue
        if a.rank * b.rank > 0:
            yield fail(
                "not-reversed",
                f"the rating in '{b.text}' still stands",
                (a.start, a.end),
                (b.start, b.end),
            )
