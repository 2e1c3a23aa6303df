"""Reasons that a flip cannot turn round, and so concedes: "rose even as war raged".

What is said for a direction speaks against its opposite. Where a reason has no opposite of its own,
its connective is the one thing that is changed, and the reason stays word by word (RFC-BENCH, S.1:
what does not depend on the direction is kept).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import replace_at
from contrafact.families.rfc.pipeline.rules.flipping_rules import flipping_rules
from contrafact.families.rfc.pipeline.rules.grammar import Word, cased, lemmas, subtree
from contrafact.records import Edit
from contrafact.text.words import lexicon

__all__ = ["Reason", "concession", "reason_around", "reasons"]

_WHY = "what spoke for a direction speaks against its opposite"
_HOW_MUCH = r"(?:(?:partly|mainly|mostly|largely|chiefly|primarily|in part|in large part)\s)?"
_PHRASES = re.compile(
    rf"\b{_HOW_MUCH}(?:due to|because of|thanks to|owing to|on account of|as a result of"
    r"|in the wake of|on the back of|in response to|amid(?:st)?|following|after|on|over)\b"
    rf"|(?<=, ){_HOW_MUCH}(?:(?:driven|led|fuell?ed|spurred|powered|propelled|underpinned|prompted"
    r"|triggered|hurt|hit|dragged down|weighed down|weighed|dragged|pressured|undermined|supported"
    r"|helped|boosted|buoyed|lifted|bolstered|sparked|caused|pulled down|dented|stung|aided"
    r"|battered|hammered|dogged|hampered|stoked|exacerbated)(?: down| up| lower| higher)?) by\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"\b(?:as|because|since|after)\b", re.IGNORECASE)
_ROLE = re.compile(
    r"as\s(?:of|do|did|does|well|a|an|much|many|high|low|long|soon|far|if|to|its|for|part|expected|forecast"
    r"|estimated|anticipated|predicted|planned)\b",
    re.IGNORECASE,
)
_GRADES = frozenset(
    [
        "even",
        "just",
        "only",
        "well",
        "so",
        "such",
        "same",
        "soon",
        "much",
        "far",
        "long",
        "known",
        "seen",
    ]
)
_SOURCE = re.compile(r"\s[-–—|]\s|[;:]|\.(?=\s|\Z)")
_SETTLED = re.compile(
    r"\b(?:record|hik(?:e|es|ed|ing)|rais(?:e|es|ed|ing)|cuts?|cutting)\b", re.IGNORECASE
)
_DIRECTIONS = frozenset(
    {"move", "expectation", "guidance", "rating", "recovery", "reaction", "outlook"}
)
_CLAUSE_OPENERS = frozenset(
    {"with", "which", "while", "who", "but", "as", "after", "even", "despite", "although"}
    | {"though", "and"}
)
_FINITE = frozenset({"VBZ", "VBD", "VBP", "MD"})
_LONGEST = 34  # words of a reason, at most; longer ones hold more than one


@dataclass(frozen=True, slots=True)
class Reason:
    """A stretch of a text that says why something went as it did.

    Attributes:
        start: Where its connective begins.
        marked: Where its connective ends.
        end: Where it ends.
        clause: Whether it has a verb of its own.
        action: Whether it begins with a gerund.
    """

    start: int
    marked: int
    end: int
    clause: bool
    action: bool = False


def reasons(text: str, words: Sequence[Word], spans: Sequence[tuple[int, int]]) -> list[Reason]:
    """Return the reasons of a text that could be conceded, the shortest first.

    What says a direction itself is turned round or refused, and not conceded.

    Args:
        text: The text.
        words: Its words.
        spans: Its sentences.
    """
    directions = [
        match.start
        for match in lexicon().find(text, ["directional"])
        if match.group in _DIRECTIONS
        and not match.weak
        and not {match.term, match.text.casefold()} & flipping_rules().harmless
    ]
    found = [
        reason
        for reason in (*_clauses(text, words, spans), *_phrases(text, words))
        if not any(reason.marked <= start < reason.end for start in directions)
        and not _SETTLED.search(text, reason.marked, reason.end)
    ]
    return sorted(found, key=lambda reason: (reason.end - reason.start, reason.start))


def reason_around(
    at: int,
    found: Sequence[Reason],
    turned: Sequence[int],
    spans: Sequence[tuple[int, int]],
) -> Reason | None:
    """Return the smallest reason around a place that is one for something turned round.

    Args:
        at: The place.
        found: The reasons of the text, the shortest first.
        turned: Where what is turned round begins.
        spans: The sentences.
    """
    sentence = next(((s, e) for s, e in spans if s <= at < e), None)
    if sentence is None:
        return None
    around = [reason for reason in found if reason.marked <= at < reason.end]
    for place, reason in enumerate(around):
        outer = next(
            ((r.start, r.end) for r in around[place + 1 :] if r.start < reason.start), sentence
        )
        if any(
            outer[0] <= start < outer[1] and not reason.start <= start < reason.end
            for start in turned
        ):
            return reason
    return None


def concession(text: str, reason: Reason, rng: np.random.Generator) -> Edit:
    """Return the edit that concedes a reason.

    Args:
        text: The text.
        reason: The reason.
        rng: Where the choice of the connective comes from.
    """
    marker = text[reason.start : reason.marked]
    phrase = marker.casefold()
    if phrase == "after":
        options = ["even after"] if reason.clause else ["despite", "even after"]
    elif phrase == "following":
        options = ["despite", "even after"]
    elif reason.clause:
        options = ["even as", "even though", "although", "though"]
    else:
        options = ["despite", "despite", "in spite of"]
    put = options[int(rng.integers(len(options)))]
    return replace_at(text, reason.start, reason.marked, cased(marker, put), _WHY)


def _phrases(text: str, words: Sequence[Word]) -> Iterator[Reason]:
    rules = flipping_rules()
    for match in _PHRASES.finditer(text):
        phrase = match[0].casefold()
        inside = [w for w in words if match.start() <= w.start < match.end()]
        if not inside or (inside[0].lower == "on" and text[match.start() - 1] == "-"):
            continue
        last = inside[-1]
        after = words[last.index + 1] if last.index + 1 < len(words) else None
        if after is None or after.start - match.end() != 1:
            continue
        before = words[inside[0].index - 1] if inside[0].index else None
        if before is not None and (before.lower in _GRADES or before.text == "-"):
            continue
        if after.tag == "VBG" and after.dep in ("pcomp", "advcl") and phrase == "after":
            hanging = [w for w in subtree(words, after) if w.start >= after.start]
            yield Reason(match.start(), match.end(), _end(hanging), False, action=True)
            continue
        root = next((w for w in inside if w.head < inside[0].index or w.head > last.index), last)
        hanging = [w for w in subtree(words, root) if w.start > match.start()]
        hanging = _up_to_clause(_unbroken(hanging, inside[0].index))
        thing = next((w for w in hanging if w.dep == "pobj" and w.index > last.index), None)
        if thing is None or len(hanging) > _LONGEST or thing.pos not in ("NOUN", "PROPN"):
            continue
        if phrase in ("on", "over") and (
            not lemmas(thing.lower) & rules.reasons
            or (words[root.head].pos == "NOUN" and words[root.head].lower not in rules.nouns)
        ):
            continue  # "its view on exports"
        yield Reason(match.start(), match.end(), _end(hanging), False)


def _clauses(
    text: str, words: Sequence[Word], spans: Sequence[tuple[int, int]]
) -> Iterator[Reason]:
    for match in _CLAUSES.finditer(text):
        marker = next((w for w in words if w.start == match.start()), None)
        if marker is None or _ROLE.match(text, match.start()):
            continue
        before = words[marker.index - 1] if marker.index else None
        if before is not None and before.lower in _GRADES:
            continue
        verb = words[marker.head]
        if lemmas(verb.lower) & flipping_rules().watching:
            continue  # what people wait for spoke for neither direction
        if marker.dep == "mark" and verb.index > marker.index and verb.dep in ("advcl", "ccomp"):
            hanging = _unbroken(
                [w for w in subtree(words, verb) if w.start >= marker.start], marker.index - 1
            )
            subject = any(w.dep in ("nsubj", "nsubjpass", "expl") for w in hanging)
            if subject and len(hanging) <= _LONGEST:
                yield Reason(match.start(), match.end(), _end(hanging), True)
                continue
        if match[0].casefold() == "as" and match.start() < spans[0][1] and match.start() > 0:
            # A headline's last clause, which parsers take for a phrase.
            stop = _SOURCE.search(text, match.end(), spans[0][1])
            end = stop.start() if stop else spans[0][1]
            held = [w for w in words if match.end() <= w.start < end]
            waits = any(lemmas(w.lower) & flipping_rules().watching for w in held)
            if any(w.tag in _FINITE for w in held) and not waits and len(held) <= _LONGEST:
                yield Reason(match.start(), match.end(), end, True)


def _unbroken(inside: Sequence[Word], before: int) -> list[Word]:
    """Return the words that follow one another from the one after a place."""
    kept: list[Word] = []
    for word in inside:
        if word.index <= before:
            continue
        if kept and word.index != kept[-1].index + 1:
            break
        kept.append(word)
    return kept


def _up_to_clause(hanging: list[Word]) -> list[Word]:
    """Return the words up to a comma after which another clause begins."""
    for place, (comma, after) in enumerate(pairwise(hanging)):
        if comma.text == "," and after.lower in _CLAUSE_OPENERS:
            return hanging[:place]
    return hanging


def _end(hanging: Sequence[Word]) -> int:
    """Return where words end, a stop that closes them left out."""
    rest = list(hanging)
    while len(rest) > 1 and rest[-1].pos == "PUNCT" and rest[-1].text not in ")%\"”'’":
        rest.pop()
    return rest[-1].end if rest else 0
