"""Texts that are no answer at all, found without a model.

A system that was asked for a new text and gives back its input, another input, an example it was
shown, its instruction, one text where two were asked for, another language, or what it says of
everything, has not answered. Such a text can be read, and a judge may even pass it: it is
*degenerate*, for a reason. What one text and its prompts show, `Batch.reason` finds; what only all
answers of a system show together, `across`.

Texts are compared by their words: capitals, punctuation and spaces do not count; signs before
numbers, currencies and percent signs do. Nothing here knows what a word means: a copy in which
synonyms stand looks like an edit in which opposites stand, and is left to a judge.
"""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from contrafact.text.delimit import delimit
from contrafact.text.tokens import same_root, stem

__all__ = [
    "COPIED",
    "EQUAL_SIDES",
    "FOREIGN",
    "OF_ANSWER",
    "OF_ANY",
    "OF_INPUT",
    "OF_OTHER",
    "OF_PROMPT",
    "REASONS",
    "RUN",
    "Batch",
    "Shown",
    "across",
    "copied_share",
    "equal",
    "languages",
    "marks",
    "runs",
    "shared_marks",
    "unload_languages",
    "words",
]

OF_INPUT = "repeats its input"
EQUAL_SIDES = "equals the other side"
OF_PROMPT = "repeats an example or a line of the prompt"
OF_OTHER = "repeats another input"
FOREIGN = "is in another language than its input"
OF_ANSWER = "repeats the answer to another input"
OF_ANY = "fits any input: no word of its own input is in it, as in others of its system"
REASONS: tuple[str, ...] = (
    OF_INPUT, EQUAL_SIDES, OF_PROMPT, OF_OTHER, FOREIGN, OF_ANY, OF_ANSWER
)  # fmt: skip
"""Every reason that can be given, in the order in which they are looked for."""

# The thresholds were set on outputs of a small model and on published counterfactuals; what
# they find, and how often falsely, is in docs/decisions/0020-degenerate-outputs.md.
RUN = 3
"""So many words in a row that a prompt has as well count as copied from it."""
COPIED = 0.7
"""From this share of copied words on, a text is no more than a near copy."""
NEAR = 0.5
"""From this share of copied words on, a text is a near copy of another input or its answer, if it
has to do with that input and less with its own."""
# A text that has this share of its words from its own input is an edit of that input, even if it
# is, to the word, another input of the batch.
_KEPT = 0.5
STRANGE = 0.03
"""A text is in another language if its own input's is less probable than this."""
_RECOGNISED = 0.25  # a text whose likeliest language is less probable is in none that is known
_UNSURE = 0.1  # where the likeliest language of the inputs is less probable, they say none
_MOST_INPUTS = 300  # so many inputs of a batch say which language it is in
_COMMON = 100  # runs that more texts have tell nothing of where one was copied from
_MOST_NEAR = 50_000  # in a larger batch only whole copies are found, for memory's sake
# A text about nothing of its input, so much of whose marks its prompt has, echoes the prompt.
_ECHOED = 0.8
_FEWEST_MARKS = 2  # a text with fewer is too short to tell what it is about
# Texts without a mark of their own input fit any where a system gives them to so many inputs, and
# to this share of all; fewer may be paraphrases.
_ANY_ITEMS, _ANY_SHARE = 3, 0.1
_NO_LANGUAGE = "zxx"  # the code of what has no words, in ISO 639

_WORD = re.compile(
    r"(?<!\w)[-+−]?\d+(?:[.,]\d+)*|\w+|[^\w\s\-‐‑–—.,;:!?…'\"‘’“”„«»()\[\]{}*_`\\/|]"
)


@lru_cache(maxsize=64)  # the sides of one input are looked over together
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared: without capitals and punctuation."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def equal(one: str, other: str) -> bool:
    """Return whether two texts have the same words in the same order, and any at all."""
    own = words(one)
    return bool(own) and own == words(other)


@lru_cache(maxsize=64)
def runs(text: str) -> frozenset[tuple[str, ...]]:
    """Return every run of one to `RUN` words of a text."""
    own = words(text)
    return frozenset(
        own[start : start + size]
        for size in range(1, RUN + 1)
        for start in range(len(own) - size + 1)
    )


_MARK = re.compile(r"[^\W_]+")
_LONG = 4


@lru_cache(maxsize=4096)
def marks(text: str) -> frozenset[str]:
    """Return the stems of the words that tell what a text is about.

    They are those of four letters or more, and shorter ones with a capital or a digit ("UK", "5").
    """
    return frozenset(
        stem(word) for word in _MARK.findall(text) if len(word) >= _LONG or not word.islower()
    )


def shared_marks(text: str, other: str) -> frozenset[str]:
    """Return the marks of a text that another has too, in any form of the word."""
    others = marks(other)
    long = [one for one in others if len(one) >= _LONG]
    return frozenset(
        one
        for one in marks(text)
        if one in others or (len(one) >= _LONG and any(same_root(one, two) for two in long))
    )


def _tells(text: str) -> bool:
    """Return whether marks are words: several, in letters that have capitals."""
    found = marks(text)
    cased = all(one.upper() != one or one[0].isdigit() for one in found)
    return cased and len(found) >= _FEWEST_MARKS


@lru_cache(maxsize=64)
def _in_lines(text: str) -> str:
    """Return a text's words, each between line breaks, in which runs can be looked up."""
    return _lined(words(text))


def _lined(run: Iterable[str]) -> str:
    return "\n" + "\n".join(run) + "\n"


class Shown:
    """The runs of words that a model was shown, in prompts, before it had written them itself."""

    def __init__(self, exchanges: Iterable[tuple[str, str]]) -> None:
        self._exchanges = list(exchanges)
        self._texts = [(_in_lines(prompt), _in_lines(reply)) for prompt, reply in self._exchanges]

    def __contains__(self, run: object) -> bool:
        if not (isinstance(run, tuple) and run):
            return False
        sought = _lined(run)
        for prompt, reply in self._texts:
            if sought in prompt:
                return True
            if sought in reply:
                return False
        return False

    def marks(self, *own: str) -> frozenset[str]:
        """Return the marks of the prompts, without these texts and what the model wrote before."""
        known: set[str] = set()
        written: set[str] = set()
        for prompt, reply in self._exchanges:
            for one in own:
                prompt = prompt.replace(one, " ")
            known |= marks(prompt) - written
            written |= marks(reply) - known
        return frozenset(known)


def copied_share(
    text: str,
    shown: Container[tuple[str, ...]],
    own: Container[tuple[str, ...]] = (),
) -> float:
    """Return the share of a text's words in runs that were shown, its own input's aside."""
    found = words(text)
    size = min(RUN, len(found))
    covered = {
        place
        for start in range(len(found) - size + 1)
        if size and (run := found[start : start + size]) not in own and run in shown
        for place in range(start, start + size)
    }
    return len(covered) / len(found) if found else 0.0


@lru_cache(maxsize=64)
def languages(text: str) -> Mapping[str, float]:
    """Return how probable each language is for a text, by its ISO 639 code, most probable first.

    A naive Bayes over byte n-grams (Lui and Baldwin, ACL 2012; py3langid), tempered by length.
    """
    return dict(_identifier().rank(text))


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def unload_languages() -> None:
    """Let go of the model of languages, some 70 MiB; it is loaded again when it is asked."""
    _identifier.cache_clear()


class Batch:
    """The inputs that are worked on together, for finding what is no answer to one of them."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = inputs
        self._known = frozenset(map(_in_lines, inputs))

    @cached_property
    def _near(self) -> "_Near":
        return _Near(self.inputs if len(self.inputs) <= _MOST_NEAR else ())

    @cached_property
    def languages(self) -> Mapping[str, float]:
        """How probable each language is for the inputs taken together, most probable first."""
        return languages("\n".join(self.inputs[:_MOST_INPUTS]))

    def reason(
        self,
        text: str,
        *own: str,
        shown: Iterable[tuple[str, str]] = (),
        other: str | None = None,
        same: Sequence[str] = (),
    ) -> str | None:
        """Return why a text is no answer, one of `REASONS`, or None.

        Args:
            own: The texts of its own input: the first is what it was to change.
            other: The text of its other side, where two were asked for.
            same: Inputs besides that it may equal: variants of its own.
        """
        tokens = words(text)
        if not tokens:
            return None
        # A prompt shows the input made safe, and a model may well keep it so.
        forms = [form for one in own for form in (one, delimit(one))]
        if tokens in map(words, forms) or (own and _begins(own[0], text)):
            return OF_INPUT
        if other is not None and tokens == words(other):
            return EQUAL_SIDES
        mine = {run for form in forms for run in runs(form)}
        exchanges = list(shown)
        if exchanges:  # nothing was, where outputs were made elsewhere
            asked = Shown(exchanges)
            if copied_share(text, asked, mine) >= COPIED or _echoes(text, asked, forms):
                return OF_PROMPT
        if sum((one,) in mine for one in tokens) < _KEPT * len(tokens):
            variants = [*map(words, same), *map(words, own)]
            if _in_lines(text) in self._known and tokens not in variants:
                return OF_OTHER
            near = [self.inputs[place] for place in self._near.of(text, mine)]
            if any(_strays(text, own, one) for one in near if words(one) not in variants):
                return OF_OTHER
        if own and self._is_foreign(text, own[0]):
            return FOREIGN
        return None

    def _is_foreign(self, text: str, source: str) -> bool:
        """Return whether a text is in a language that neither its input nor the batch is in.

        One headline may be too terse to tell; nor is a text foreign with every word of its input.
        """
        if set(words(source)) <= set(words(text)):
            return False
        tokens, home = languages(text), self.languages
        found = _first(tokens)
        if tokens[found] < _RECOGNISED or found == _NO_LANGUAGE:
            return False
        own = languages(source)
        if own[_first(home)] < STRANGE and own[_first(own)] >= _RECOGNISED:
            home = own
        if home[_first(home)] < _UNSURE:
            return False
        return tokens[_first(home)] < STRANGE and home[found] < STRANGE


def _first(probable: Mapping[str, float]) -> str:
    return next(iter(probable))


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(text)]


def _begins(source: str, text: str) -> bool:
    """Return whether a text is the first half of its input or more, in any forms of the words."""
    whole, own = _stems(source), _stems(text)
    return len(own) >= RUN and 2 * len(own) >= len(whole) and whole[: len(own)] == own


def _echoes(text: str, shown: Shown, own: Sequence[str]) -> bool:
    """Return whether a text says what its prompt says, in other words, and nothing of its input."""
    if not _tells(text):
        return False
    found, mine = marks(text), frozenset[str]().union(*(shared_marks(text, one) for one in own))
    if len(mine) > 1:  # one word may be in both by chance
        return False
    known = shown.marks(*own)
    return mine <= known and len(found & known) >= _ECHOED * len(found)


def _strays(text: str, own: Sequence[str], other: str) -> bool:
    """Return whether a text has to do with another input, and not half as much with its own."""
    mine = max((len(shared_marks(text, one)) for one in own), default=0)
    return 2 * mine < len(shared_marks(text, other))


class _Near:
    """Texts by their runs of words, to find those that another is a near copy of."""

    def __init__(self, texts: Sequence[str]) -> None:
        runs, places = array("q"), array("q")  # runs by their hashes: texts have millions of them
        for place, text in enumerate(texts):
            own = {hash(run) for run in _long_runs(text)}
            runs.extend(own)
            places.extend([place] * len(own))
        order = np.argsort(np.asarray(runs), kind="stable")
        self._runs, self._places = np.asarray(runs)[order], np.asarray(places)[order]

    def of(self, text: str, own: Container[tuple[str, ...]]) -> list[int]:
        """Return the places of the texts that a text is a near copy of; runs of `own` aside."""
        found = words(text)
        if len(found) < RUN:
            return []
        covered: dict[int, set[int]] = defaultdict(set)
        sought = [found[start : start + RUN] for start in range(len(found) - RUN + 1)]
        hashes = np.array([hash(run) for run in sought])
        first, last = (np.searchsorted(self._runs, hashes, side) for side in ("left", "right"))
        for start in np.flatnonzero((first < last) & (last - first <= _COMMON)).tolist():
            if sought[start] not in own:
                for place in self._places[first[start] : last[start]].tolist():
                    covered[place].update(range(start, start + RUN))
        return [place for place, at in covered.items() if len(at) >= NEAR * len(found)]


def _long_runs(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {found[start : start + RUN] for start in range(len(found) - RUN + 1)}


def across(answers: Sequence[tuple[str, str]]) -> list[str | None]:
    """Return why answers are none that only all of a system's answers show, `None` where they are.

    An answer repeats that to another input if it is a near copy of it and has to do with that input
    and less with its own. Answers fit any input where none of their marks is of their own input;
    what several inputs have alike, word for word, is taken together, so that a chance word does not
    count. The order of the answers does not matter.
    """
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, (_, text) in enumerate(answers):
        alike[words(text)].append(place)
    strange = [
        place
        for places in alike.values()
        if _tells(answers[places[0]][1])
        and 2 * sum(bool(shared_marks(answers[at][1], answers[at][0])) for at in places)
        <= len(places)
        for place in places
    ]
    given = {answers[place][0] for place in strange}
    inputs = {source for source, _ in answers}
    habit = len(given) >= max(_ANY_ITEMS, _ANY_SHARE * len(inputs))
    fits_any = set(strange) if habit else set()
    return [
        OF_ANY if place in fits_any else reason for place, reason in enumerate(_of_answers(answers))
    ]


def _of_answers(answers: Sequence[tuple[str, str]]) -> list[str | None]:
    """Return `OF_ANSWER` for what repeats the answer to another input, `None` for all else."""
    near = _Near([text for _, text in answers] if len(answers) <= _MOST_NEAR else ())
    found: list[str | None] = []
    for source, text in answers:
        copied = any(
            answers[place][0] != source and _strays(text, [source], answers[place][0])
            for place in near.of(text, runs(source))
        )
        found.append(OF_ANSWER if copied else None)
    return found
