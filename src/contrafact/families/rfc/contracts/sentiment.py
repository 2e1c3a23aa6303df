"""The contract of sentiment amplification: the same story, told a little louder.

RFC-BENCH, section 2.2.2 and appendices Q.3, R.3 and S.3.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from contrafact.families.rfc.contracts.align import Change
from contrafact.families.rfc.contracts.counterparts import directions
from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.lists import pattern, words
from contrafact.families.rfc.contracts.pair import Pair
from contrafact.families.rfc.contracts.tokens import Token, stem
from contrafact.families.rfc.contracts.tone import grade, hype, lean, tone
from contrafact.families.rfc.contracts.vocabulary import is_modifier, may_modify

__all__ = [
    "hedges",
    "over_amplified",
    "reactions_added",
    "sign_kept",
    "stronger",
    "too_many_stronger_words",
]

MOST_STRONGER = 3
"""Stronger adjectives, adverbs and verbs that a rewrite may bring in (S.3)."""


def _new_words(pair: Pair) -> list[Token]:
    """Return the words of changed stretches that the original has nowhere in that stretch."""
    found = []
    for change in pair.alignment.changes:
        had = [stem(t.key) for t in pair.original.tokens[slice(*change.before)]]
        for token in pair.rewritten.tokens[slice(*change.after)]:
            if stem(token.key) in had:
                had.remove(stem(token.key))
            elif token.key not in ("#", "@", "@t"):
                found.append(token)
    return found


def _lost_words(pair: Pair) -> list[Token]:
    found = []
    for change in pair.alignment.changes:
        has = [stem(t.key) for t in pair.rewritten.tokens[slice(*change.after)]]
        for token in pair.original.tokens[slice(*change.before)]:
            if stem(token.key) in has:
                has.remove(stem(token.key))
            elif token.key not in ("#", "@", "@t"):
                found.append(token)
    return found


def _parts(token: Token) -> list[str]:
    return [token.key, *token.key.split("-")] if "-" in token.key else [token.key]


def _amplifiers(pair: Pair) -> list[Token]:
    """Return the strengthening words that the rewrite brings in."""
    lost = [t.key for t in _lost_words(pair)]
    moved = [key for key in lost if key in tone().amplifiers]
    found = []
    for token in _new_words(pair):
        if not any(part in tone().amplifiers for part in _parts(token)):
            continue
        if token.key in moved:
            moved.remove(token.key)  # it only stands elsewhere
            continue
        found.append(token)
    return found


def _raised(pair: Pair) -> list[Change]:
    """Return the changes in which a verb is stronger than the one it replaces."""
    found = []
    for change in pair.alignment.changes:
        before = grade(t.key for t in pair.original.tokens[slice(*change.before)])
        after = grade(t.key for t in pair.rewritten.tokens[slice(*change.after)])
        if any(kind in before and strength > before[kind] for kind, strength in after.items()):
            found.append(change)
    return found


def _loosened(pair: Pair) -> list[Change]:
    """Return the changes in which a hedge is gone."""
    found = []
    for change in pair.alignment.changes:
        before, after = _texts(pair, change)
        if pattern("hedges").search(before) and not pattern("hedges").search(after):
            found.append(change)
    return found


def _texts(pair: Pair, change: Change) -> tuple[str, str]:
    a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
    return (
        "" if a is None else pair.original.text[slice(*a)],
        "" if b is None else pair.rewritten.text[slice(*b)],
    )


def stronger(pair: Pair) -> Iterator[Violation]:
    """The rewrite speaks more strongly than its original."""
    new, lost = _new_words(pair), _lost_words(pair)
    up = len(_amplifiers(pair)) + len(_raised(pair)) + len(_loosened(pair))
    up += sum(t.key in tone().downtoners for t in lost)
    down = sum(t.key in tone().downtoners for t in new)
    down += sum(t.key in tone().amplifiers for t in lost if t.key not in {n.key for n in new})
    if up > down:
        return
    if up and up == down:
        yield review("not-stronger", "some words are stronger and some are weaker")
        return
    if down > up:
        yield fail("not-stronger", "the rewrite speaks more weakly than its original")
        return
    if any(is_modifier(token.key) for token in new) or _inserted(pair) or _valued(new, lost):
        yield review("not-stronger", "no word of the lexicon is stronger; is the tone?")
        return
    yield fail("not-stronger", "the rewrite does not speak more strongly than its original")


def _inserted(pair: Pair) -> bool:
    """Whether a word that may be an adjective or an adverb was put in, in no other's place."""
    return any(
        may_modify(pair.rewritten.tokens[change.after[0]].key)
        for change in pair.alignment.changes
        if change.before[0] == change.before[1]
    )


def _valued(new: list[Token], lost: list[Token]) -> bool:
    values = tone().valence
    return any(t.key in values for t in new) and not any(t.key in values for t in lost)


def too_many_stronger_words(pair: Pair) -> Iterator[Violation]:
    """One to three stronger words, and never two of a kind on top of each other."""
    found = _amplifiers(pair)
    raised = _raised(pair)
    total = len(found) + len(raised)
    if total > MOST_STRONGER:
        yield fail(
            "too-many-stronger-words",
            f"{total} stronger words, such as '{found[0].text if found else ''}'; S.3 allows "
            f"{MOST_STRONGER}",
            None,
            (found[0].start, found[0].end) if found else pair.alignment.after_span(raised[0]),
        )
    for one, two in pairwise(found):
        between = pair.rewritten.text[one.end : two.start]
        if between.strip(" ,") not in ("", "and"):
            continue
        same = one.key.endswith("ly") == two.key.endswith("ly")
        told = fail if same else review
        yield told(
            "stacked",
            f"'{one.text}{between}{two.text}' heaps one strong word on another",
            None,
            (one.start, two.end),
        )


def over_amplified(pair: Pair) -> Iterator[Violation]:
    """No extreme, sensational or promotional word that the original lacks."""
    known = {stem(word) for m in hype(pair.original) for word in m[0].split()}
    known |= {stem(token.key) for token in pair.original.tokens}
    spans: list[Span] = []
    for match in hype(pair.rewritten):
        if all(stem(word) in known for word in match[0].split()):
            continue
        spans.append(match.span())
    had = {m.term for m in pair.original.found("extreme", "over_amplified")}
    for found in pair.rewritten.found("extreme", "over_amplified"):
        tokens = pair.rewritten.span_tokens(found.start, found.end)
        if found.term in had or all(stem(pair.rewritten.tokens[i].key) in known for i in tokens):
            continue
        spans.append((found.start, found.end))
    last = 0
    for start, end in sorted(spans):
        if start < last:
            continue
        last = end
        yield fail(
            "over-amplified",
            f"'{pair.rewritten.text[start:end]}' is extreme or sensational",
            None,
            (start, end),
        )
    yield from _shouting(pair)


def _shouting(pair: Pair) -> Iterator[Violation]:
    if pair.rewritten.text.count("!") > pair.original.text.count("!"):
        at = pair.rewritten.text.index("!")
        yield fail("over-amplified", "an exclamation mark is new", None, (at, at + 1))
    known = {token.key for token in pair.original.tokens}
    for token in pair.rewritten.tokens:
        if token.text.isupper() and len(token.text) > 4 and token.text.isalpha():
            same = [t for t in pair.original.tokens if t.key == token.key]
            if token.key in known and not any(t.text.isupper() for t in same):
                yield fail(
                    "over-amplified", f"'{token.text}' is shouted", None, (token.start, token.end)
                )
                return


_WILL = re.compile(r"\b(?:will|shall|is going to|are going to)\b|['’]ll\b", re.IGNORECASE)


def hedges(pair: Pair) -> Iterator[Violation]:
    """A hedge may be tightened a little; it is not turned into a strong or certain prediction."""
    for match in tone().absolutes.finditer(pair.rewritten.text):
        if match[0].casefold() in pair.original.text.casefold():
            continue
        yield fail("hedge-overturned", f"'{match[0]}' makes a certainty of it", None, match.span())
    for change in _loosened(pair):
        before, after = _texts(pair, change)
        a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
        sentence = pair.rewritten.sentence_of(b[0] if b else 0)
        loud = [t for t in _amplifiers(pair) if sentence.start <= t.start < sentence.end]
        if _WILL.search(after) and (loud or change in _raised(pair)):
            yield fail(
                "hedge-overturned", f"'{before}' became '{after}': a strong prediction", a, b
            )
        elif _WILL.search(after):
            yield review("hedge-tightened", f"'{before}' became '{after}'", a, b)
        else:
            yield review("hedge-tightened", f"'{before}' is hedged no more", a, b)


def reactions_added(pair: Pair) -> Iterator[Violation]:
    """No reaction, feeling, stakeholder or prediction that the original lacks."""
    original = pair.original.text.casefold()
    for match in tone().reactions.finditer(pair.rewritten.text):
        tokens = pair.rewritten.span_tokens(*match.span())
        changed = [i for i in tokens if pair.alignment.change_of(i)]
        if (
            not changed
            or tone().reactions.search(pair.original.text)
            or len(changed) == 1 < len(tokens)
        ):
            continue
        yield fail("new-reaction", f"'{match[0]}' is a reaction that is new", None, match.span())
    for change in pair.alignment.changes:
        before, after = _texts(pair, change)
        span = pair.alignment.after_span(change)
        future = pattern("future").search(after)
        if future and not (pattern("future").search(before) or pattern("hedges").search(before)):
            size = change.after[1] - change.after[0]
            told = fail if size >= 4 else review
            yield told(
                "new-prediction", f"'{after}' predicts what the original does not", None, span
            )
        found = pattern("stakeholders").search(after)
        if found and found[0].casefold().rstrip("s") not in original:
            yield review("new-stakeholder", f"'{found[0]}' has no part in the original", None, span)


def sign_kept(pair: Pair) -> Iterator[Violation]:
    """Good news stays good, and bad bad."""
    polarity = pair.options.polarity
    if polarity is not None:
        before, after = polarity([pair.original.text, pair.rewritten.text])
        if before * after < 0 and min(abs(before), abs(after)) >= 0.2:
            yield fail(
                "tone-reversed",
                f"the tone went from {before:+.2f} to {after:+.2f} by the polarity model",
            )
        elif abs(after) < abs(before) - 0.1:
            yield review(
                "tone-weaker", f"the tone went from {before:+.2f} to {after:+.2f} by the model"
            )
        return
    before, after = lean(pair)
    if before * after < 0 and min(abs(before), abs(after)) >= 1:
        yield fail("tone-reversed", "the rewrite leans the other way than its original")
        return
    values = tone().valence
    louder = set(_amplifiers(pair))
    new = [t for t in _new_words(pair) if t.key in values and not _intensifies(t, louder)]
    against = [t for t in new if values[t.key] * before < 0]
    if against and abs(before) >= 1 and len(against) * 2 > len(new):
        first = against[0]
        told = fail if abs(before) >= 1.5 and not _mixed(pair) else review
        yield told(
            "tone-reversed",
            f"'{first.text}' goes against the tone of the original",
            None,
            (first.start, first.end),
        )


def _intensifies(token: Token, louder: set[Token]) -> bool:
    """Whether a word of tone only strengthens what it stands by: "strong cost pressures"."""
    return token in louder and token.key in words("degrees")


def _mixed(pair: Pair) -> bool:
    signs = {signal.sign for signal in directions(pair).before}
    return len(signs) > 1
