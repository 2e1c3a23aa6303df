"""Rules on inserted text, unchanged parts, and changes of another kind than announced.

RFC-BENCH, appendices Q.1, R.1–R.4 (no new facts, events, explanations, actors), S.1 to S.3. The
texts are compared word by word, without regard to what the words mean.
"""

import re
from collections.abc import Iterator
from typing import Annotated

from contrafact.families.rfc.candidates import bucket
from contrafact.families.rfc.contracts.numerical import ways
from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Span, Token
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import groups, is_content, words
from contrafact.text.english import is_modifier
from contrafact.text.tokens import stem


def _content(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.is_word and is_content(token.key)]


def _new_words(pair: Pair, change: Change) -> tuple[list[Token], int]:
    """Return a change's new content words, and the number of content words that it removes."""
    before, after = pair.tokens(change)
    known = pair.original.stems
    fresh = [token for token in _content(after) if stem(token.key) not in known]
    if pair.manipulation == "sentiment":  # which is meant to change adjectives and adverbs
        fresh = [t for t in fresh if not any(map(is_modifier, (t.key, *t.key.split("-"))))]
    kept = pair.rewritten.stems
    return fresh, sum(stem(token.key) not in kept for token in _content(before))


@rule(
    "content-added",
    about="events",
    paper="R.1–R.4; S.1, step 2; S.2, 8; S.3, 5",
    manipulations=("numerical", "flipping", "sentiment"),
    to_review="in flipping and sentiment, a run that opens no clause, or has two words",
)
def content_added(
    pair: Pair,
    *,
    run: Annotated[int, "ours: fewest new content words without counterpart that count"] = 2,
    clause: Annotated[int, "ours: fewest in an inserted clause, in flipping and sentiment"] = 3,
) -> Iterator[Finding]:
    """Nothing is inserted: no run of new content words without a counterpart in the original; in
    flipping and sentiment, no such run that opens its own clause.
    """
    for change in pair.changes:
        fresh, lost = _new_words(pair, change)
        extra = len(fresh) - lost
        if extra < run:
            continue
        span = (fresh[0].start, fresh[-1].end)
        message = f"'{pair.rewritten.excerpt(span)}' has no counterpart"
        opens = not lost and _opens_clause(pair, change)
        if pair.manipulation == "numerical" or (opens and extra >= clause):
            yield fail("content-added", message, None, span)
        elif opens or extra >= clause:
            yield review("content-added", message, None, span)


def _opens_clause(pair: Pair, change: Change) -> bool:
    before, after = pair.tokens(change)
    if any(token.key in words("clause_openers") for token in before):
        return False
    side = pair.rewritten
    comma = side.text[max(0, after[0].start - 2) : after[0].start].startswith(",")
    opened = after[0].key in words("clause_openers") or (comma and after[0].key.endswith("ing"))
    return opened and after[0].key not in {token.key for token in before}


@rule(
    "words-changed",
    about="events",
    paper="2.2.2; Q.2; R.2",
    manipulations=("numerical",),
    to_review='always: a word of reporting for its like ("said" for "stated") passes; any other '
    "leaves the pair undecided, as it may mean the same or not",
)
def words_changed(pair: Pair) -> Iterator[Finding]:
    """The statements about figures stay: no word is exchanged, left out or put in, except articles
    and forms of "be" and "have".
    """
    for change in pair.changes:
        before, after = (
            {token.key for token in tokens if token.is_word and token.key not in words("harmless")}
            for tokens in pair.tokens(change)
        )
        gone, new = before - after, after - before
        if gone or new:
            message = "'{}' became '{}'".format(*pair.texts(change))
            alike = any(gone <= like and new <= like for like in groups("alike").values())
            open_ = not (alike and gone and new)
            yield Finding("words-changed", message, *pair.spans(change), True, unchecked=open_)


@rule(
    "other-kind",
    about="events",
    paper="Q; R.1–R.4",
    manipulations=("flipping", "sentiment", "causal"),
)
def only_figures_changed(pair: Pair) -> Iterator[Finding]:
    """At least one word is changed, moved or gone: if only figures, dates and signs differ, nothing
    is reversed, amplified or explained differently.
    """
    was, now = (_LETTERS.findall(side.casefolded) for side in (pair.original, pair.rewritten))
    if was == now:
        yield fail("other-kind", "no word is another than in the original")


_LETTERS = re.compile(r"[^\W\d_]+")


@rule(
    "not-reversed",
    about="events",
    paper="R.1; S.1, step 2",
    manipulations=("flipping",),
    to_review="a part in which no word moves up or down",
)
def part_left(
    pair: Pair, *, least: Annotated[int, "ours: fewest content words of a part that counts"] = 4
) -> Iterator[Finding]:
    """Neither the title, where the pair has one, nor the whole story, if it says that something
    moves, stays unchanged while the other changes.
    """
    a, b = pair.original, pair.rewritten
    titled = sum(sentence.start < pair.title_end for sentence in a.sentences)
    if not titled or min(len(a.sentences), len(b.sentences)) <= titled:
        return
    before, after = (_parts(side, titled) for side in (a, b))
    same = [_signs(a, one) == _signs(b, two) for one, two in zip(before, after, strict=True)]
    for name, left, one, two in zip(("title", "story"), same, before, after, strict=True):
        content = _content([a.tokens[i] for i in a.span_tokens(*one)])
        if left and not all(same) and len(content) >= least:
            message = f"the {name} stands as it was"
            yield Finding("not-reversed", message, one, two, for_review=not ways(a.excerpt(one)))


def _parts(side: Side, titled: int) -> tuple[Span, Span]:
    start = side.sentences[titled].start
    return (0, start), (start, len(side.text))


def _signs(side: Side, span: Span) -> list[str]:
    return re.findall(r"\w+|[%$€£¥+-]", side.excerpt(span).casefold())


_STRONG = re.compile(r"\bsurg(?:e[sd]?|ing)\b", re.IGNORECASE)


@rule(
    "category",
    about="wording",
    paper="S.1, step 1; S.3, step 1; S.4",
    manipulations=("flipping", "sentiment", "causal"),
    to_review="always: the printed lists are examples",
)
def of_its_category(pair: Pair) -> Iterator[Finding]:
    """The original has what its category asks for: a direction to flip; to amplify, a financial
    term, a hedge or a mild word, and no extreme one; to distort, a causal connector or an event.
    """
    why = bucket(pair.original.text).reasons.get(pair.manipulation)
    strong = pair.manipulation == "sentiment" and _STRONG.search(pair.original.text)
    moves = pair.manipulation == "flipping" and ways(pair.original.text)  # "up 10%" will do (S.1)
    if why is not None and why.code != "nothing-financial" and not moves:
        yield review("category", f"the original has {why.text}")
    elif strong:
        yield review("category", f"the original has extreme language: {strong[0]}", strong.span())
