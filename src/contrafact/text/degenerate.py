"""Texts that are no answer at all, found without a model.

A system that was asked for a new text and gives back its input, another input, an example it was
shown, a line of its instruction, one text where two were asked for, or another language, has not
answered. Such a text can be read, and a judge may even pass it: it is *degenerate*, for a reason.

Texts are compared by their words: capitals, punctuation and spaces do not count; signs before
numbers, currencies and percent signs do.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from contrafact.text.delimit import delimit

__all__ = [
    "COPIED",
    "EQUAL_SIDES",
    "FOREIGN",
    "OF_INPUT",
    "OF_OTHER",
    "OF_PROMPT",
    "REASONS",
    "RUN",
    "Batch",
    "Shown",
    "copied_share",
    "equal",
    "languages",
    "runs",
    "words",
]

OF_INPUT = "repeats its input"
EQUAL_SIDES = "equals the other side"
OF_PROMPT = "repeats an example or a line of the prompt"
OF_OTHER = "repeats another input"
FOREIGN = "is in another language than its input"
REASONS: tuple[str, ...] = (OF_INPUT, EQUAL_SIDES, OF_PROMPT, OF_OTHER, FOREIGN)
"""Every reason that can be given, in the order in which they are looked for."""

# The thresholds were set on outputs of a small model and on published counterfactuals; what
# they find, and how often falsely, is in docs/decisions/0020-degenerate-outputs.md.
RUN = 3
"""So many words in a row that a prompt has as well count as copied from it."""
COPIED = 0.7
"""From this share of copied words on, a text is no more than a near copy."""
KEPT = 0.5
"""A text that has this share of its words from its own input is an edit of that input, even if it
is, to the word, another input of the batch."""
STRANGE = 0.03
"""A text is in another language if its own input's is less probable than this."""
TOLD = 0.25
"""A text whose likeliest language is less probable than this is in none that can be told."""
UNSURE = 0.1
"""Where the likeliest language of the inputs is less probable than this, they say none."""
MOST_INPUTS = 300
"""So many inputs of a batch say which language it is in."""
NO_LANGUAGE = "zxx"
"""The code of what has no words, in ISO 639."""

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


@lru_cache(maxsize=64)
def _in_lines(text: str) -> str:
    """Return a text's words, each between line breaks, in which runs can be looked up."""
    return _lined(words(text))


def _lined(run: Iterable[str]) -> str:
    return "\n" + "\n".join(run) + "\n"


class Shown:
    """The runs of words that a model was shown before it had written them itself.

    A method that puts a model's draft into its next prompt shows it nothing new by that.

    Args:
        exchanges: Each prompt and its reply, in order.
    """

    def __init__(self, exchanges: Iterable[tuple[str, str]]) -> None:
        self._texts = [(_in_lines(prompt), _in_lines(reply)) for prompt, reply in exchanges]

    def __contains__(self, run: object) -> bool:
        """Return whether a run, a tuple of words, stands in a prompt, and in no reply before."""
        if not (isinstance(run, tuple) and run):
            return False
        sought = _lined(run)
        for prompt, reply in self._texts:
            if sought in prompt:
                return True
            if sought in reply:
                return False
        return False


def copied_share(
    text: str,
    shown: Container[tuple[str, ...]],
    own: Container[tuple[str, ...]] = (),
) -> float:
    """Return the share of a text's words that stand in runs which were shown, from 0 to 1.

    Args:
        text: The text. One that is shorter than `RUN` is looked up whole.
        shown: Runs of words.
        own: Runs that count as not shown: those of its input.
    """
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

    A naive Bayes over byte n-grams says so (Lui and Baldwin, ACL 2012; py3langid's 140 languages),
    tempered by the text's length: a few words are sure of nothing. A text without letters has much
    the same probability for each. The model, half a second of work, is loaded when first asked.
    """
    return dict(_identifier().rank(text))


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@dataclass(frozen=True)
class Batch:
    """The inputs that are worked on together, for finding what is no answer to one of them.

    Attributes:
        inputs: Their texts.
    """

    inputs: Sequence[str]
    _known: frozenset[tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(map(words, self.inputs)))

    @cached_property
    def languages(self) -> Mapping[str, float]:
        """How probable each language is for the inputs taken together, most probable first."""
        return languages("\n".join(self.inputs[:MOST_INPUTS]))

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
            text: The text.
            own: The texts of its own input: the first is what it was to change.
            shown: Each prompt that asked for it and the reply, in order.
            other: The text of its other side, where two were asked for.
            same: Inputs besides that it may equal: variants of its own.
        """
        tokens = words(text)
        if not tokens:
            return None
        # A prompt shows the input made safe, and a model may well keep it so.
        forms = [form for one in own for form in (one, delimit(one))]
        if tokens in map(words, forms):
            return OF_INPUT
        if other is not None and tokens == words(other):
            return EQUAL_SIDES
        mine = {run for form in forms for run in runs(form)}
        if copied_share(text, Shown(shown), mine) >= COPIED:
            return OF_PROMPT
        if tokens in self._known and tokens not in map(words, same):
            kept = sum((one,) in mine for one in tokens) / len(tokens)
            if kept < KEPT:
                return OF_OTHER
        if own and self._is_foreign(text, own[0]):
            return FOREIGN
        return None

    def _is_foreign(self, text: str, source: str) -> bool:
        """Return whether a text is in a language that neither its input nor the batch is in.

        One headline may be too terse to tell its language, a batch of them is not. An input that
        is in another language than its batch speaks for itself. Where neither says which language
        it is in, no text is in another one; nor is one that has every word of its input.
        """
        if set(words(source)) <= set(words(text)):
            return False
        tokens, home = languages(text), self.languages
        found = _first(tokens)
        if tokens[found] < TOLD or found == NO_LANGUAGE:
            return False
        own = languages(source)
        if own[_first(home)] < STRANGE and own[_first(own)] >= TOLD:
            home = own
        if home[_first(home)] < UNSURE:
            return False
        return tokens[_first(home)] < STRANGE and home[found] < STRANGE


def _first(probable: Mapping[str, float]) -> str:
    return next(iter(probable))
