"""The contract of directional flipping: every direction reversed, every fact kept.

RFC-BENCH, section 2.2.2 and appendices Q.1, R.1 and S.1.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated

from contrafact.families.rfc.contracts.directional_cues import (
    Cue,
    Tier,
    direction_alignment,
    is_rating,
    rating_calls,
)
from contrafact.families.rfc.contracts.exempt_numbers import matched_quantities
from contrafact.families.rfc.contracts.facts import opposites
from contrafact.families.rfc.contracts.flipping_numbers import is_reversed_multiple, traded_places
from contrafact.families.rfc.contracts.numbers import place
from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Token, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import may_name, pattern, words
from contrafact.text.tokens import stem

__all__ = [
    "acts_reversed",
    "bearing",
    "is_reversed",
    "left_standing",
    "nothing_reversed",
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
        if is_reversed_multiple(a, b) or (b.value and a.value == -b.value):
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
    r"\s(?:that|about|of|over|in)\s(?:[^.;,]|\.(?!\s\W?[A-Z]))*\Z", re.IGNORECASE
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
        conceded = bool(_CONCEDED.search(clause)) or _is_conceded(pair, other)
        # What the headline turned round is no background to it: "amid growth slowing".
        governed = governed or (
            conceded and not any(_is_of_one(pair.original, cue, one) for one in reversed_cues)
        )
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


def _is_of_one(side: Side, cue: Cue, other: Cue) -> bool:
    """Whether two directions say one thing of one matter: "growth slowdown", "growth slowing"."""
    if not cue.scaled or cue.sign != other.sign:
        return False
    before = side.span_tokens(other.start, other.end)[0] - 1
    named = [side.excerpt(part) for part in other.parts]
    named += [side.tokens[before].text] if before >= 0 else []
    roots = {word.casefold()[:ROOT] for text in named for word in text.split()}
    return {side.excerpt(part).casefold()[:ROOT] for part in cue.parts} <= roots


ROOT = 4
"""First letters that words of one state share: slowdown, slowing (ours)."""

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
    r"|speculation|calls?|pressure|need|room|case|argument)\s(?:on|over|of|for|that|about)"
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
        ranked = side.tokens[i].key.endswith("st") and not re.search(r"[;:.!?—–\n]", between)
        if change is None or (re.search(r"[,;:.!?—–\n]", between) and not ranked):
            continue
        turned = pair.tokens(change)
        if _is_opposite(*turned, "succeeding", "failing"):
            return True
        if i <= tokens[-1] + 1 and _is_opposite(*turned, "much", "little"):
            return True
        if i <= tokens[-1] + 4 and _is_opposite(*turned, "most", "least"):
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
    swapped = traded_places(pair, dict(matched_quantities(pair)))
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
    line = side.text.find("\n")
    end = line if line > 0 else side.sentences[0].end
    leaning = words("polar") | words("attitudes") | words("fortunate") | words("unfortunate")
    for name, span in (("headline", (0, end)), ("story", (end, len(side.text)))):
        tokens = side.span_tokens(*span)
        if len(tokens) < least or any(pair.alignment.change_in_original(i) for i in tokens):
            continue
        leans = next((side.tokens[i] for i in tokens if side.tokens[i].key in leaning), None)
        if leans is not None:
            yield review(
                "not-reversed",
                f"the {name} with '{leans.text}' stands as it was",
                span,
                pair.kept(*span),
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
