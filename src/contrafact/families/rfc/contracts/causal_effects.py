"""The contract of causal distortion: the effect stays what it was.

RFC-BENCH, appendices Q.4 and R.4.
"""

import re
from collections.abc import Iterator
from typing import Annotated

from contrafact.families.rfc.contracts.causal_places import (
    causal_places,
    content_words,
    is_inside,
    means_one_of,
    sign_of,
)
from contrafact.families.rfc.contracts.chains import (
    causes,
    chains,
    changed_words,
    realised_chains,
)
from contrafact.families.rfc.contracts.directional_cues import (
    are_results,
    direction_alignment,
    directional_cues,
)
from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Span
from contrafact.families.rfc.contracts.rules import Finding, fail, rule
from contrafact.families.rfc.contracts.sentiment import raised_verbs
from contrafact.families.rfc.contracts.vocabulary import (
    is_modifier,
)
from contrafact.text.tokens import stem

__all__ = [
    "effect_as_strong",
    "effect_kept",
    "effect_worded",
    "effects_added",
    "marker_kept",
    "roles_kept",
]


@rule(
    "effect-changed",
    about="change",
    paper="Q.4, 1 and 3; R.4",
    manipulations=("causal",),
    to_review="soft words",
)
def effect_kept(pair: Pair) -> Iterator[Finding]:
    """The effect and all directions outside the replaced cause stay."""
    for cue, others in direction_alignment(pair).counterparts:
        if is_inside((cue.start, cue.end), (*causes(pair), *causal_places(pair).original)):
            continue
        if others and all(other.sign == -cue.sign for other in others):
            yield Finding(
                "effect-changed",
                f"'{cue.text}' became '{others[0].text}'",
                (cue.start, cue.end),
                (others[0].start, others[0].end),
                for_review=cue.tier == "soft" and not are_results(cue, others[0]),
            )


@rule("effect-changed", about="change", paper="Q.4, 1; R.4", manipulations=("causal",))
def effect_worded(
    pair: Pair, *, longest: Annotated[int, "ours: words of a change, at most"] = 3
) -> Iterator[Finding]:
    """Outside the replaced cause no word of content stands for another that says something else:
    the effect's verb and what it is measured by stay.
    """
    places = causal_places(pair)
    if not places.original:
        return
    for change in pair.changes:
        before, after = pair.tokens(change)
        if not 1 <= len(before) <= longest or not 1 <= len(after) <= longest:
            continue
        first = pair.original.sentences[0].end
        if before[0].start < first and (
            any(places.in_original(t) for t in before) or any(places.in_rewritten(t) for t in after)
        ):
            continue  # the headline repeats the cause
        spans = pair.spans(change)
        if any(
            span is not None and any(s < span[1] and span[0] < e for s, e in causes_there)
            for span, causes_there in zip(spans, (places.original, places.rewritten), strict=True)
        ):
            continue
        if _links(pair.original, spans[0]) and _links(pair.rewritten, spans[1]):
            continue  # "driven largely by", "fuelled mainly by"
        lost, gained = content_words(before), content_words(after)
        if not lost or not gained or any(means_one_of(word, lost) for word in gained):
            continue
        if all(is_modifier(word) for word in (*lost, *gained)):
            continue
        if any(_have_one_sign(pair, change, word) for word in gained):
            continue
        yield Finding(
            "effect-changed",
            f"'{pair.texts(change)[0]}' became '{pair.texts(change)[1]}'",
            *pair.spans(change),
            for_review=_touches_marker(pair, change) or _may_be_cause(pair, change),
        )


def _have_one_sign(pair: Pair, change: Change, word: str) -> bool:
    """Whether the words of a change go the same way: "fell" and "dropped"."""
    spans = pair.spans(change)
    signs = [
        {c.sign for c in directional_cues(side) if span and c.start < span[1] and span[0] < c.end}
        for side, span in zip((pair.original, pair.rewritten), spans, strict=True)
    ]
    return bool(signs[0]) and signs[0] == signs[1]


def _links(side: Side, span: Span | None) -> bool:
    """Whether a stretch is in a marker of a text."""
    return span is not None and any(
        chain.marker[0] <= span[0] and span[1] <= chain.marker[1] for chain in chains(side)
    )


def _may_be_cause(pair: Pair, change: Change) -> bool:
    """Whether a change may be of a cause in a construction that is not read: it is in no effect,
    and in a sentence that states one, or in a story of which no other cause was replaced.
    """
    span, every = pair.spans(change)[0], chains(pair.original)
    if span is None or any(c.effect[0] <= span[0] and span[1] <= c.effect[1] for c in every):
        return False
    sentence, end = pair.original.sentence_of(span[0]), pair.original.sentences[0].end
    here = any(sentence.start <= chain.marker[0] < sentence.end for chain in every)
    replaced = any(chain.cause[0] >= end for chain in every if changed_words(pair, chain.cause))
    return here or not replaced


def _touches_marker(pair: Pair, change: Change) -> bool:
    """Whether a change is right beside a marker, and may be part of a cause that was not found."""
    span = pair.spans(change)[0]
    if span is not None and any(
        chain.effect[0] <= span[0] and span[1] <= chain.effect[1] for chain in chains(pair.original)
    ):
        return False
    return span is not None and any(
        abs(span[0] - chain.marker[1]) <= 1 or abs(chain.marker[0] - span[1]) <= 1
        for chain in chains(pair.original)
    )


_PARTICIPLE = re.compile(
    r",\s(?:prompting|forcing|leading|sending|pushing|causing|sparking|triggering|spurring|driving"
    r"|raising|fuell?ing|leaving|adding)\b",
    re.IGNORECASE,
)
_CONJUNCT = re.compile(
    r"\sand\s(?:prompted|forced|led|sent|pushed|caused|sparked|triggered|spurred|drove|raised"
    r"|fuell?ed|left)\b",
    re.IGNORECASE,
)


@rule("effect-changed", about="change", paper="Q.4, 1; R.4", manipulations=("causal",))
def effects_added(
    pair: Pair, *, least: Annotated[int, "ours: words of content that make an effect"] = 2
) -> Iterator[Finding]:
    """No second effect is put in: ", prompting analysts to cut their targets"."""
    side, had = pair.rewritten, {stem(token.key) for token in pair.original.tokens}
    for opens, after_kept in ((_PARTICIPLE, False), (_CONJUNCT, True)):
        for match in opens.finditer(side.text):
            verb = side.span_tokens(match.end() - 1, match.end())
            if not verb or not pair.alignment.change_in_rewritten(verb[0]):
                continue
            before = side.span_tokens(match.start() - 1, match.start())
            if after_kept and (not before or pair.alignment.change_in_rewritten(before[0])):
                continue  # what the new cause did first
            sentence = side.sentence_of(match.start())
            stop = side.text.find(",", match.end(), sentence.end)
            end = stop if stop > 0 else sentence.end
            within = [side.tokens[i] for i in side.span_tokens(match.end(), end)]
            words_in = [stem(word) for word in content_words(within)]
            new = [word for word in words_in if word not in had]
            if len(new) >= least and 2 * len(new) > len(words_in):
                yield fail(
                    "effect-changed",
                    f"'{side.text[match.start() : end].strip(' ,')}' is an effect put in",
                    None,
                    (match.start(), end),
                )


@rule("effect-changed", about="change", paper="Q.4, 1; R.4", manipulations=("causal",))
def roles_kept(pair: Pair) -> Iterator[Finding]:
    """A cause does not become the effect, in the headline as little as in the story."""

    def content_at(side: Side, span: Span) -> frozenset[str]:
        tokens = (side.tokens[i] for i in side.span_tokens(*span))
        content = content_words(tokens)
        # What it is about, not how it moves: "higher sales lift loans" for "loans lift sales".
        named = [word for word in content if not sign_of(word) and not is_modifier(word)]
        return frozenset(map(stem, named or content))

    had = [
        (content_at(pair.original, c.cause), content_at(pair.original, c.effect))
        for c in chains(pair.original)
    ]
    for chain in chains(pair.rewritten):
        linked = pair.rewritten.span_tokens(*chain.marker)
        caused = pair.rewritten.span_tokens(*chain.cause)
        if not any(pair.alignment.change_in_rewritten(i) for i in (*linked, *caused)):
            continue
        cause, effect = (
            content_at(pair.rewritten, chain.cause),
            content_at(pair.rewritten, chain.effect),
        )
        for old_cause, old_effect in had:
            if (cause, effect) in had:
                break
            if cause and effect and cause <= old_effect and old_cause <= effect:
                yield fail(
                    "effect-changed",
                    f"'{pair.rewritten.excerpt(chain.cause)}' is the effect, not the cause",
                    None,
                    chain.cause,
                )
                return


@rule("effect-changed", about="change", paper="Q.4, 1; R.4", manipulations=("causal",))
def effect_as_strong(
    pair: Pair, *, steps: Annotated[int, "ours: grades by which a verb may differ, less than"] = 2
) -> Iterator[Finding]:
    """The effect is stated as strongly as before: premiums that climbed do not skyrocket."""
    places = causal_places(pair)
    for change in raised_verbs(pair, steps):
        span = pair.spans(change)[0]
        if span is not None and not is_inside(span, (*causes(pair), *places.original)):
            before, after = pair.texts(change)
            yield fail("effect-changed", f"'{before}' became '{after}'", *pair.spans(change))


_WORSE = re.compile(
    r"\b(?:squeez|hurt|dent|erod|weigh|dragg|pressur|hit\b|batter|hamper|undermin|knock|depress"
    r"|shr[aiu]nk)"
    r"|\bcut\b|\blower",
    re.IGNORECASE,
)


_BETTER = re.compile(
    r"\b(?:boost|lift|help|bolster|support|propell|buoy|aid|underpin|rais|widen|improv|expand)",
    re.IGNORECASE,
)


@rule("effect-changed", about="change", paper="Q.4, 1; R.4", manipulations=("causal",))
def marker_kept(pair: Pair) -> Iterator[Finding]:
    """What a cause does to its effect stays: what squeezed margins does not lift them."""
    for chain in realised_chains(pair):
        marker = pair.original.excerpt(chain.marker)
        worse, better = bool(_WORSE.match(marker)), bool(_BETTER.match(marker))
        if worse == better:
            continue
        for i in pair.original.span_tokens(*chain.marker):
            change = pair.alignment.change_in_original(i)
            span = None if change is None else pair.spans(change)[1]
            now = pair.rewritten.excerpt(span)
            if (_BETTER if worse else _WORSE).search(now):
                yield fail("effect-changed", f"'{marker}' became '{now}'", chain.marker, span)
                break
