"""The contract of sentiment amplification: the same story in stronger words.

RFC-BENCH, section 2.2.2 and appendices Q.3, R.3 and S.3. The tone is read by word lists, or by a
model of financial tone from a folder, such as FinBERT's.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated

from contrafact.families.rfc.contracts.directional_cues import Tier, direction_alignment
from contrafact.families.rfc.contracts.pair import Change, Pair, Span, Token, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import (
    any_of,
    is_modifier,
    may_modify,
    pattern,
    read_toml,
    words,
)
from contrafact.text.tokens import stem

__all__ = [
    "Tone",
    "amplifiers",
    "hedge_overturned",
    "lean",
    "loosened_hedges",
    "lost_words",
    "new_words",
    "over_amplified",
    "predictions_added",
    "raised_verbs",
    "reactions_added",
    "stacked",
    "stronger",
    "tone",
    "too_many_stronger_words",
]

LEAN_WEIGHTS: dict[Tier, float] = {"firm": 1.0, "plain": 1.0, "soft": 0.5}
"""How much a direction counts for the tone of a text, by how sure it is (ours)."""

VALENCE_WEIGHT = 0.5
"""How much another word of tone counts (ours)."""

# Words of tone


@dataclass(frozen=True)
class Tone:
    """The lexicon of tone.

    Attributes:
        amplifiers: Adjectives and adverbs that strengthen.
        downtoners: Those that weaken.
        valence: Words of tone with a sign.
        grades: The strength of verbs in each kind of movement that they are of.
        absolutes: Claims of certainty.
        hype: Marketing copy and tabloid drama.
        reactions: Feelings and reactions of investors and others.
    """

    amplifiers: frozenset[str]
    downtoners: frozenset[str]
    valence: dict[str, int]
    grades: dict[str, dict[str, int]]
    absolutes: re.Pattern[str]
    hype: re.Pattern[str]
    reactions: re.Pattern[str]


@cache
def tone() -> Tone:
    """Return the lexicon of tone, ``tone.toml``, read once."""
    raw = read_toml("tone.toml")
    valence = dict.fromkeys(raw["valence"]["good"].split(), 1)
    valence |= dict.fromkeys(raw["valence"]["bad"].split(), -1)
    grades: dict[str, dict[str, int]] = {}
    for kind, steps in raw["grades"].items():
        for strength, verbs in enumerate(steps):
            for word in verbs.split():
                grades.setdefault(word, {})[kind] = strength
    return Tone(
        amplifiers=frozenset(raw["amplifiers"].split()),
        downtoners=frozenset(raw["downtoners"].split()),
        valence=valence,
        grades=grades,
        absolutes=any_of(raw["absolutes"]["words"]),
        hype=any_of(raw["hype"]["phrases"]),
        reactions=any_of(raw["reactions"]["phrases"]),
    )


@read_once
def new_words(pair: Pair) -> list[Token]:
    """Return the words of changed stretches that the original has nowhere in that stretch."""
    return _without_counterpart((after, before) for before, after in map(pair.tokens, pair.changes))


@read_once
def lost_words(pair: Pair) -> list[Token]:
    """Return the words of changed stretches that the rewrite has nowhere in that stretch."""
    return _without_counterpart(map(pair.tokens, pair.changes))


def _without_counterpart(stretches: Iterable[tuple[list[Token], list[Token]]]) -> list[Token]:
    found = []
    for tokens, others in stretches:
        rest = [stem(token.key) for token in others]
        for token in tokens:
            if stem(token.key) in rest:
                rest.remove(stem(token.key))
            elif token.is_word:
                found.append(token)
    return found


@read_once
def amplifiers(pair: Pair) -> list[Token]:
    """Return the strengthening words that the rewrite brings in."""
    moved = [token.key for token in lost_words(pair) if token.key in tone().amplifiers]
    found = []
    for token in new_words(pair):
        if not tone().amplifiers & {token.key, *token.key.split("-")}:
            continue
        if token.key in moved:
            moved.remove(token.key)  # it only stands elsewhere
            continue
        found.append(token)
    return found


def raised_verbs(pair: Pair, steps: int = 1) -> list[Change]:
    """Return the changes in which a verb is stronger than the one it replaces.

    Args:
        pair: The pair.
        steps: Grades by which it is, at least.
    """

    def strongest(tokens: list[Token]) -> dict[str, int]:
        found: dict[str, int] = {}
        for token in tokens:
            for kind, strength in tone().grades.get(token.key, {}).items():
                found[kind] = max(strength, found.get(kind, 0))
        return found

    found = []
    for change in pair.changes:
        before, after = map(strongest, pair.tokens(change))
        if any(
            kind in before and strength >= before[kind] + steps for kind, strength in after.items()
        ):
            found.append(change)
    return found


@read_once
def loosened_hedges(pair: Pair) -> list[Change]:
    """Return the changes in which a hedge is gone."""
    hedges = pattern("hedges")
    return [
        change
        for change in pair.changes
        if hedges.search(pair.texts(change)[0]) and not hedges.search(pair.texts(change)[1])
    ]


@read_once
def lean(pair: Pair) -> tuple[float, float]:
    """Return the tone of both texts by the lexicons: above 0 good, below 0 bad."""
    found = direction_alignment(pair)
    result = []
    for side, cues in ((pair.original, found.original), (pair.rewritten, found.rewritten)):
        total = sum(cue.sign * LEAN_WEIGHTS[cue.tier] for cue in cues)
        for token in side.tokens:
            if not any(cue.start <= token.start < cue.end for cue in cues):
                total += VALENCE_WEIGHT * tone().valence.get(token.key, 0)
        result.append(total)
    return result[0], result[1]


# Rules


def _goes_against(pair: Pair, token: Token, sign: int) -> Token | None:
    """Return what a new word of tone contradicts: what it replaced, or what it stands by."""
    i = pair.rewritten.span_tokens(token.start, token.end)[0]
    change = pair.alignment.change_in_rewritten(i)
    replaced = [] if change is None else pair.tokens(change)[0]
    if any(_sign_of(pair, other, original=True) == sign for other in replaced):
        return None
    for other in replaced:
        if _sign_of(pair, other, original=True) == -sign:
            return other
    after = pair.rewritten.tokens[i + 1 : i + 2]
    for other in after:
        adjacent = pair.rewritten.text[token.end : other.start] == " "
        opposed = _sign_of(pair, other, original=False) == -sign
        if adjacent and opposed and not token.key.endswith("ly"):
            return other
    return None


def _sign_of(pair: Pair, token: Token, *, original: bool) -> int:
    """Return the sign of a word of tone or direction; 0 if it has none."""
    if token.key in tone().valence:
        return tone().valence[token.key]
    found = direction_alignment(pair)
    side = pair.original if original else pair.rewritten
    for cue in found.original if original else found.rewritten:
        if cue.start <= token.start < cue.end:
            sentence = side.sentence_of(cue.start)
            before = side.span_tokens(sentence.start, cue.end)
            # "Prices are surging": whether that is good news, the word alone does not say.
            return 0 if any(side.tokens[i].key in words("burdens") for i in before) else cue.sign
    return 0


@rule(
    "not-stronger",
    about="tone",
    paper="R.3",
    manipulations=("sentiment",),
    to_review="new adjectives of no list; some words stronger and some weaker",
)
def stronger(pair: Pair) -> Iterator[Finding]:
    """The rewrite speaks more strongly than its original."""
    new, lost = new_words(pair), lost_words(pair)
    up = len(amplifiers(pair)) + len(raised_verbs(pair)) + len(loosened_hedges(pair))
    up += sum(token.key in tone().downtoners for token in lost)
    down = sum(token.key in tone().downtoners for token in new)
    kept = {token.key for token in new}
    down += sum(token.key in tone().amplifiers and token.key not in kept for token in lost)
    if up > down:
        return
    if up and up == down:
        yield review("not-stronger", "some words are stronger and some are weaker")
        return
    if down > up:
        yield fail("not-stronger", "the rewrite speaks more weakly than its original")
        return
    # An adjective or adverb put in, or a word of tone, may be stronger for all the lists know.
    inserted = any(
        may_modify(first.key) and first.key not in words("mild")
        for change in pair.changes
        if change.original[0] == change.original[1]
        for first in pair.tokens(change)[1][:1]
    )
    values = tone().valence
    valued = any(t.key in values for t in new) and not any(t.key in values for t in lost)
    if (
        inserted
        or valued
        or any(is_modifier(token.key) and token.key not in words("mild") for token in new)
    ):
        yield review("not-stronger", "no word of the lexicon is stronger; is the tone?")
        return
    yield fail("not-stronger", "the rewrite does not speak more strongly than its original")


@rule("too-many-stronger-words", about="tone", paper="S.3, 2", manipulations=("sentiment",))
def too_many_stronger_words(pair: Pair, *, most: Annotated[int, "S.3, 2"] = 3) -> Iterator[Finding]:
    """The rewrite brings in one to three stronger adjectives, adverbs and verbs."""
    found, raised = amplifiers(pair), raised_verbs(pair)
    total = len(found) + len(raised)
    if total > most:
        yield fail(
            "too-many-stronger-words",
            f"{total} stronger words, such as '{found[0].text if found else ''}'; S.3 allows "
            f"{most}",
            None,
            (found[0].start, found[0].end) if found else pair.spans(raised[0])[1],
        )


@rule(
    "stacked",
    about="tone",
    paper="S.3, 3",
    manipulations=("sentiment",),
    to_review="an adverb on an adjective",
)
def stacked(pair: Pair) -> Iterator[Finding]:
    """No strong word is put on top of another of its kind."""
    for one, two in pairwise(amplifiers(pair)):
        between = pair.rewritten.text[one.end : two.start]
        if between.strip(" ,") in ("", "and"):
            yield Finding(
                "stacked",
                f"'{one.text}{between}{two.text}' heaps one strong word on another",
                None,
                (one.start, two.end),
                for_review=one.key.endswith("ly") != two.key.endswith("ly"),
            )


@rule("over-amplified", about="tone", paper="S.3, 3; Q.4, 5", manipulations=("sentiment", "causal"))
def over_amplified(
    pair: Pair, *, shouted: Annotated[int, "ours: letters of a word in capitals, at least"] = 5
) -> Iterator[Finding]:
    """No extreme, sensational or promotional word, no exclamation mark and no shouting that the
    original lacks.
    """
    rewritten, hype = pair.rewritten, tone().hype
    known = {stem(word) for m in hype.finditer(pair.original.text) for word in m[0].split()}
    known |= {stem(token.key) for token in pair.original.tokens}
    spans: list[Span] = [
        match.span()
        for match in hype.finditer(rewritten.text)
        if not all(stem(word) in known for word in match[0].split())
    ]
    had = {match.term for match in pair.original.terms("extreme", "over_amplified")}
    # A cause may be a surge: there only what is sensational in itself counts.
    strong = (
        rewritten.terms("extreme", "over_amplified") if pair.manipulation == "sentiment" else []
    )
    for found in strong:
        tokens = rewritten.span_tokens(found.start, found.end)
        if found.term not in had and not all(
            stem(rewritten.tokens[i].key) in known for i in tokens
        ):
            spans.append((found.start, found.end))
    last = 0
    for start, end in sorted(spans):
        if start >= last:
            last = end
            yield fail(
                "over-amplified",
                f"'{rewritten.text[start:end]}' is extreme or sensational",
                None,
                (start, end),
            )
    if rewritten.text.count("!") > pair.original.text.count("!"):
        at = rewritten.text.index("!")
        yield fail("over-amplified", "an exclamation mark is new", None, (at, at + 1))
    for token in rewritten.tokens:
        if token.text.isupper() and len(token.text) >= shouted and token.text.isalpha():
            same = [other for other in pair.original.tokens if other.key == token.key]
            if same and not any(other.text.isupper() for other in same):
                yield fail(
                    "over-amplified", f"'{token.text}' is shouted", None, (token.start, token.end)
                )
                return


_PLANNED = re.compile(
    r"\b(?:consider(?:s|ing)|weigh(?:s|ing)|mull(?:s|ing)|explor(?:es|ing)|evaluat(?:es|ing)"
    r"|plans?\sto|aims?\sto|hopes?\sto|in\stalks)\b",
    re.IGNORECASE,
)
_MAY = re.compile(r"\b(?:could|may(?!\s\d)|might)\b", re.IGNORECASE)
_DONE = re.compile(r"\b(?:has|have|had|is|are|was|were)\b", re.IGNORECASE)
_WILL = re.compile(r"\b(?:will|shall|is going to|are going to)\b|['’]ll\b", re.IGNORECASE)


@rule(
    "hedge-overturned",
    "hedge-tightened",
    about="tone",
    paper="S.3, 4",
    manipulations=("sentiment",),
    to_review="a hedge tightened or gone",
)
def hedge_overturned(pair: Pair) -> Iterator[Finding]:
    """No certainty is made, and no strong prediction, of what was hedged."""
    for match in tone().absolutes.finditer(pair.rewritten.text):
        if match[0].casefold() not in pair.original.text.casefold():
            yield fail(
                "hedge-overturned", f"'{match[0]}' makes a certainty of it", None, match.span()
            )
    for change in loosened_hedges(pair):
        before, after = pair.texts(change)
        a, b = pair.spans(change)
        sentence = pair.rewritten.sentence_of(b[0] if b else 0)
        strong = change in raised_verbs(pair) or any(
            sentence.start <= token.start < sentence.end for token in amplifiers(pair)
        )
        undone = _PLANNED.search(before) and not _PLANNED.search(after)
        if undone or (_MAY.search(before) and _DONE.search(after)):
            yield fail("hedge-overturned", f"'{before}' became '{after}': a fact", a, b)
        elif not _WILL.search(after):
            yield review("hedge-tightened", f"'{before}' is no longer hedged", a, b)
        elif strong:
            yield fail(
                "hedge-overturned", f"'{before}' became '{after}': a strong prediction", a, b
            )
        else:
            yield review("hedge-tightened", f"'{before}' became '{after}'", a, b)


@rule("new-reaction", about="tone", paper="S.3, 5", manipulations=("sentiment",))
def reactions_added(pair: Pair) -> Iterator[Finding]:
    """No reaction or feeling of investors and others is new."""
    if tone().reactions.search(pair.original.text):
        return
    for match in tone().reactions.finditer(pair.rewritten.text):
        tokens = pair.rewritten.span_tokens(*match.span())
        changed = sum(pair.alignment.change_in_rewritten(i) is not None for i in tokens)
        if changed > 1 or changed == len(tokens) == 1:
            yield fail(
                "new-reaction", f"'{match[0]}' is a reaction that is new", None, match.span()
            )


@rule(
    "new-prediction",
    "new-stakeholder",
    about="tone",
    paper="R.3; S.3, 5",
    manipulations=("sentiment",),
    to_review="a short prediction; a new stakeholder",
)
def predictions_added(
    pair: Pair, *, clause: Annotated[int, "ours: words that make a prediction of its own"] = 4
) -> Iterator[Finding]:
    """No prediction and no stakeholder is new."""
    original = pair.original.text.casefold()
    for change in pair.changes:
        before, after = pair.texts(change)
        span = pair.spans(change)[1]
        if pattern("future").search(after) and not (
            pattern("future").search(before) or pattern("hedges").search(before)
        ):
            yield Finding(
                "new-prediction",
                f"'{after}' predicts what the original does not",
                None,
                span,
                for_review=len(pair.tokens(change)[1]) < clause,
            )
        found = pattern("stakeholders").search(after)
        if found and found[0].casefold().rstrip("s") not in original:
            yield review("new-stakeholder", f"'{found[0]}' has no part in the original", None, span)
