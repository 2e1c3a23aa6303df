"""What a flip leaves as it is, and what of it contradicts the reversal."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from contrafact.families.rfc.contracts.vocabulary import is_common
from contrafact.families.rfc.pipeline.rules.edits import replace_at
from contrafact.families.rfc.pipeline.rules.flipping_rules import (
    OBJECTS,
    SUBJECTS,
    VERBAL,
    WHY,
    Found,
    flipping_rules,
)
from contrafact.families.rfc.pipeline.rules.grammar import Word, cased, lemmas, subtree
from contrafact.families.rfc.pipeline.rules.turned_wordings import Wording
from contrafact.records import Edit

__all__ = ["Obstacle", "kept_concessions", "obstacles", "particle_edits"]

_PLANS = frozenset({"plan", "plans", "decision", "pledge", "forecast", "forecasts", "likely"})
_NEAR = 10  # characters from a quality to the recovery that it is said of
_SHORT = 70  # characters of a comparison that a wording may turn round as a whole
_UP_TO = re.compile(r"\sto\s[$€£¥]?\d")
_RESERVED = re.compile(
    r"\bnevertheless\b|(?<!as )(?<!not )(?<!indication )(?<!sign )(?<!signal )\byet\b"
    r"(?! (?:another|again))",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:but|while|whereas)\b", re.IGNORECASE)
_CONCESSIVE = re.compile(r"\b(?:despite|even as|even though|although|though)\b", re.IGNORECASE)
_UNMOVED = re.compile(r"\b(?:unchanged|flat|steady|stable|mixed|the same)\b", re.IGNORECASE)
_DRIVEN = re.compile(
    r"\b(driven|fuell?ed|spurred|powered|propelled|underpinned|prompted|triggered) by\b"
)
_GROWING = frozenset({"grow", "shrink", "expand", "contract"})
_PACE = frozenset({"slow", "accelerate", "decelerate", "quicken"})
_GROWTH = re.compile(
    r"\bgrowth\b(?! (?:forecast|outlook|target|stock|share|rate|estimate|projection|prospect)s?\b)",
    re.IGNORECASE,
)
_AT_RATE = re.compile(r"\bat an? \Z", re.IGNORECASE)
_AT_PACE = re.compile(
    r"(?:faster|quicker|slower|fastest|quickest|slowest)[ -](?:\w+ )?(?:pace|rate|clip)\b",
    re.IGNORECASE,
)
_DEGREE = re.compile(r"(?:faster|quicker|slower|more|less)\b", re.IGNORECASE)
_EXPECTEDLY = re.compile(r"expected|forecast|estimated|anticipated|predicted|planned")
_REASONS = frozenset(
    {"as", "after", "because", "amid", "amidst", "on", "due", "following", "since", "thanks"}
    | {"with", "despite", "over"}
)
_PARTICLE = re.compile(r"\s(up|down)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stands in the way of a flip.

    Attributes:
        at: Where it stands.
        reason: What it is.
        concedable: Whether what it stands in can be conceded: it speaks for one direction.
    """

    at: int
    reason: str
    concedable: bool = True


def obstacles(
    text: str,
    found: Sequence[Found],
    turned: Sequence[Found],
    wordings: Sequence[Wording],
    words: Sequence[Word],
    spans: Sequence[tuple[int, int]],
    conceded: Sequence[tuple[int, int]],
) -> Iterator[Obstacle]:
    """Yield what stays and contradicts what is turned.

    Args:
        text: The text.
        found: Its directional terms.
        turned: Those that are turned round.
        wordings: What is turned round as a whole.
        words: The words.
        spans: The sentences.
        conceded: The reasons that stay, and are said to go against what is turned.
    """
    rules = flipping_rules()
    background = [match.span() for match in rules.background.finditer(text)]
    conceded = [*conceded, *background]
    for pattern, why in rules.stops:
        for stop in pattern.finditer(text):
            inside = any(s <= stop.start() < e for s, e in conceded)
            met = any(w.start < stop.end() and stop.start() < w.end for w in wordings)
            if not inside and not (met and "measured" in why and len(stop[0]) <= _SHORT):
                yield Obstacle(stop.start(), why)
    for wording in wordings:
        if _is_purpose(wording.start, words, spans):
            yield Obstacle(wording.start, "a purpose does not turn round")
    outside = [one for one in found if not any(s <= one.match.start < e for s, e in conceded)]
    taken = [(one.match.start, one.match.end) for one in turned]
    taken += [(edit.start, edit.end) for edit in particle_edits(text, turned)]
    taken += [(wording.start, wording.end) for wording in wordings]
    starts = [start for start, _ in taken]
    taken += conceded
    staying = [(edit.start, end) for edit, end in kept_concessions(text, starts, words)]
    taken += staying
    read = {start for start, _, _ in _concessive(text, words)}
    moved = {one.word.index for one in turned if one.noun or one.match.term in rules.moving}
    for one in turned:
        if one.noun or one.match.term not in rules.binding:
            continue
        for word in words:
            does = word.head == one.word.index and word.dep == "nsubj"
            if does and word.lower in rules.harmful:
                yield Obstacle(word.start, f"'{word.text}' does not do the opposite")
    edges = [(one.match.start, one.match.end) for one in turned if not one.noun]
    turned_words = {one.word.index for one in turned}
    for one in outside:
        harmless = {one.match.term, one.match.text.casefold()} & rules.harmless
        stays = one not in turned and not harmless
        if one.match.term in ("up", "down") and any(
            other.match.end + 1 == one.match.start for other in turned
        ):
            continue  # a particle, which turns with its verb
        if one.match.term == "up" and _UP_TO.match(text, one.match.end):
            continue
        aside = text[one.match.start - 1 : one.match.start] == "("  # "(Adds quotes)"
        wide = one.match.term.endswith((" profit", " loss"))
        if aside or wide or any(s <= one.match.start < e for s, e in staying):
            continue
        if turned_words and _AT_PACE.match(text, one.match.start):
            continue  # "rose at a slower pace": how much, likewise
        if turned_words and _AT_RATE.search(text[: one.match.start]):
            continue  # "grew at an impressive rate"
        if _DEGREE.match(one.match.text) and any(
            other.match.end + 1 == one.match.start for other in turned
        ):
            continue  # "grew faster than expected": how much, of what is turned round
        if one.match.term == "recovery" and any(
            0 < one.match.start - end <= _NEAR for _, end in edges
        ):
            continue  # "a weak economic recovery"
        if stays and one.match.polarity and not _moved(one, turned_words, words):
            why = f"'{one.match.text}' cannot be turned round where it stands"
            yield Obstacle(one.match.start, why)

    def kept(start: int) -> bool:
        return not any(s <= start < e for s, e in taken)

    for pattern in (rules.unturnable, rules.unturnable_policy):
        for stop in pattern.finditer(text):
            if stop.start() in read:
                continue
            if kept(stop.start()) and not _moves_itself(stop.start(), moved, words):
                yield Obstacle(stop.start(), f"'{stop[0]}' has no opposite to go with the rest")
    for word in words:
        # What is read neither as a direction nor as neutral may say that the reversal is untrue.
        if word.pos not in ("VERB", "ADJ", "ADV") or not kept(word.start):
            continue
        name = word.text[0].isupper() and not word.titled
        joined = text[max(0, word.start - 1)] == "-" or text[word.end : word.end + 1] == "-"
        if not word.text.isalpha() or name or joined or not is_common(word.lower):
            continue
        governed = word.dep in ("amod", "advmod") and word.head in turned_words
        if governed and lemmas(word.lower) & rules.degrees:
            continue
        if lemmas(word.lower) & rules.causative and any(
            w.start in starts for w in subtree(words, word) if w.index > word.index
        ):
            continue  # "prompting the bank to cut its forecast"
        if not lemmas(word.lower) & rules.neutral:
            why = f"'{word.text}' may not go with the reversal"
            yield Obstacle(word.start, why, concedable=False)
    for start, end in spans:
        here = [one for one in turned if start <= one.match.start < end and not one.noun]
        terms = {one.match.term for one in here}
        if terms & _GROWING and terms & _PACE:
            yield Obstacle(here[0].match.start, "what grows and what slows do not turn together")
    if any(one.match.term == "grow" and not one.noun for one in turned):
        for topic in _GROWTH.finditer(text):
            if kept(topic.start()):
                yield Obstacle(topic.start(), "growth that stays would go against what shrinks")
    yield from _kept_reasons(words, turned_words, kept)
    for driven in _DRIVEN.finditer(text):
        if kept(driven.start()) and kept(driven.start(1)):
            end = next((e for s, e in spans if s <= driven.start() < e), len(text))
            comma = text.find(",", driven.end(), end)
            limit = comma if comma >= 0 else end
            if not any(driven.end() <= s < limit for s, _ in taken):
                yield Obstacle(driven.end() + 1, f"'{driven[0]}' is no reason for the opposite")
    for start, end in spans:
        reserved = _RESERVED.search(text, start, end)
        if reserved and any(start <= s < end for s, _ in taken):
            yield Obstacle(reserved.start(), f"'{reserved[0]}' makes a reservation")
        parts = _BUT.split(text[start:end])
        at = start
        for part in parts if len(parts) > 1 else ():
            place = text.index(part, at)
            at = place + len(part)
            if not any(place <= s < at for s, _ in taken) and not _UNMOVED.search(part):
                why = f"'{part.strip()[:40]}' stands against what is turned round"
                yield Obstacle(place, why)


def _moved(one: Found, turned: set[int], words: Sequence[Word]) -> bool:
    """Return whether a term is left because the verb that moves it is turned."""
    return one.noun and one.word.head in turned


def _is_purpose(start: int, words: Sequence[Word], spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a wording says what something is done for: "cut rates to boost hopes"."""
    first = next((w for w in words if w.start == start), None)
    if first is None or first.index < 2 or words[first.index - 1].lower != "to":
        return False
    governor = words[first.index - 2]
    headline = start < spans[0][1]
    return governor.pos in ("NOUN", "PROPN") and governor.lower not in _PLANS and not headline


def _moves_itself(start: int, turned: set[int], words: Sequence[Word]) -> bool:
    """Return whether a word names what a turned verb says to rise or fall: "defaults rose"."""
    word = next((w for w in words if w.start == start), None)
    while word is not None and word.dep == "compound" and word.head != word.index:
        word = words[word.head]
    if word is None or word.tag not in ("NNS", "NN"):
        return False
    if word.dep == "pobj" and words[word.head].lower == "in":
        risen = words[words[word.head].head]
        return risen.index in turned and risen.pos == "NOUN"  # "a surge in layoffs"
    if word.head not in turned:
        return False
    moved = [w for w in words if w.head == word.head and w.dep in OBJECTS and w.pos == "NOUN"]
    return word.dep in OBJECTS or (word.dep in SUBJECTS and not moved)


def _kept_reasons(
    words: Sequence[Word], turned_words: set[int], kept: Callable[[int], bool]
) -> Iterator[Obstacle]:
    """Yield reasons that stay as they are: "shares fall on a ban" is no "shares rise on a ban".

    A phrase is neutral if what it is headed by is, as in "after inflation data".
    """
    neutral = flipping_rules().neutral_nouns
    for word in words:
        if word.dep == "agent" and word.head in turned_words and words[word.head].tag == "VBN":
            agents = [w for w in _complement(words, word) if w.start > word.start]
            if agents and all(kept(w.start) for w in agents):
                at = agents[0].start
                yield Obstacle(at, f"'by {agents[-1].text}' is no reason for the opposite")
        if word.lower not in _REASONS or word.pos not in ("ADP", "SCONJ", "ADV"):
            continue
        if not kept(word.start):
            continue  # "take their toll on": of a wording
        following = words[word.index + 1] if word.index + 1 < len(words) else None
        if word.lower == "as" and following is not None and _EXPECTEDLY.match(following.lower):
            continue
        clause = [w for w in _complement(words, word) if w.start > word.start]
        if not clause or not all(kept(w.start) for w in clause):
            continue
        if word.dep == "mark" and lemmas(words[word.head].lower) & flipping_rules().watching:
            continue  # what people wait for has no direction yet
        for thing in clause:
            named = thing.text[0].isupper() and not thing.titled
            if thing.pos != "NOUN" or named or lemmas(thing.lower) & neutral:
                continue
            if thing.dep == "compound" and lemmas(words[thing.head].lower) & neutral:
                continue
            why = f"'{word.text} … {thing.text}' is no reason for the opposite"
            yield Obstacle(thing.start, why)


def _complement(words: Sequence[Word], marker: Word) -> list[Word]:
    """Return what hangs on a marker: a preposition's phrase, or the clause that it opens."""
    root = words[marker.head] if marker.dep == "mark" else marker
    return subtree(words, root)


def particle_edits(text: str, turned: Sequence[Found]) -> list[Edit]:
    """Return edits of the particles of verbs that are turned: "slid down" is "climbed up"."""
    edits: list[Edit] = []
    for one in turned:
        if one.noun or one.match.inflection not in VERBAL or " " in one.match.term:
            continue
        if particle := _PARTICLE.match(text, one.match.end):
            after = "down" if particle[1].casefold() == "up" else "up"
            start, end = particle.span(1)
            edits.append(replace_at(text, start, end, cased(particle[1], after), WHY))
    return edits


def kept_concessions(
    text: str, starts: Sequence[int], words: Sequence[Word]
) -> list[tuple[Edit, int]]:
    """Return edits of "despite" and "even as" before what stays, and where that ends.

    What went against a direction goes with its opposite: "fell despite the new listing" is "rose
    amid the new listing".

    Args:
        text: The text.
        starts: Where what is turned round begins.
        words: The words.
    """
    found: list[tuple[Edit, int]] = []
    for start, end, inside in _concessive(text, words):
        if not any(start <= place < inside for place in starts):
            after = "amid" if text[start:end].casefold() == "despite" else "as"
            edit = replace_at(text, start, end, cased(text[start:end], after), WHY)
            found.append((edit, inside))
    return found


def _concessive(text: str, words: Sequence[Word]) -> Iterator[tuple[int, int, int]]:
    """Yield where what concedes begins, where its connective ends, and where it ends itself."""
    for match in _CONCESSIVE.finditer(text):
        marker = next((w for w in words if w.end == match.end()), None)
        if marker is None:
            continue
        clause = marker.lower != "despite"
        root = words[marker.head] if clause else marker
        if clause and (marker.dep != "mark" or root.index < marker.index):
            continue
        inside = [w for w in subtree(words, root) if w.start >= match.start()]
        yield match.start(), match.end(), max(w.end for w in inside)
