"""Texts that are no answer at all, found without a model.

A system that was asked for a new text and gives back its input, another input, an example it was
shown, a line of its instruction, one text where two were asked for, or another language, has not
answered. Such a text can be read, and a judge may even pass it: it is *degenerate*, for a reason.

Texts are compared by their words: capitals, punctuation and spaces do not count; signs before
numbers, currencies and percent signs do.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    "copied_share",
    "equal",
    "language",
    "runs",
    "shown_runs",
    "words",
]

OF_INPUT = "repeats its input"
EQUAL_SIDES = "equals the other side"
OF_PROMPT = "repeats an example or a line of the prompt"
OF_OTHER = "repeats another input"
FOREIGN = "is in another language than its input"
REASONS: tuple[str, ...] = (OF_INPUT, EQUAL_SIDES, OF_PROMPT, OF_OTHER, FOREIGN)
"""Every reason that can be given, in the order in which they are looked for."""

# The four thresholds were set on outputs of a small model and on published counterfactuals; what
# they find, and how often falsely, is in docs/decisions/0020-degenerate-outputs.md.
RUN = 3
"""So many words in a row that a prompt has as well count as copied from it."""
COPIED = 0.7
"""From this share of copied words on, a text is no more than a near copy."""
KEPT = 0.5
"""A text that has this share of its words from its own input is an edit of that input, even if it
is, to the word, another input of the batch."""
FUNCTION_WORDS = 3
"""So many function words of another language, and twice as many as of its input's, make a text
foreign; a name or a quotation has fewer."""

_WORD = re.compile(
    r"(?<!\w)[-+−]?\d+(?:[.,]\d+)*|\w+|[^\w\s\-‐‑–—.,;:!?…'\"‘’“”„«»()\[\]{}*_`\\/|]"
)
_FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(listed.split())
    for name, listed in {
        "English": "the of and to in for on with as at by from is are was were has have will its "
        "it that this after over amid into than but not be their which could may would",
        "German": "der die das und in den von zu mit auf für im ist dem nicht ein eine sich des als"
        " auch werden wird wurde nach bei um aus einem einer durch über könnte können",
        "French": "le la les des et de du en un une pour dans sur par au aux est que qui avec ne "
        "plus après sont pourrait ses son cette malgré",
        "Spanish": "el la los las de del y en un una por para con que se su sus al es no más tras "
        "podría ante como desde este",
        "Italian": "il lo la i gli le di del della dei delle e in un una per con che si al alla è "
        "non nel nella dopo potrebbe sono più dal",
        "Portuguese": "o a os as de do da dos das e em no na um uma por para com que se ao não após"
        " mais pode poderia é são pelo pela",
        "Dutch": "de het een van en in op voor met te dat is zijn niet door aan bij naar als om "
        "kan wordt worden na uit over",
    }.items()
}
"""Function words, as any grammar of the language lists them."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text as they are compared: without capitals and punctuation."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def equal(one: str, other: str) -> bool:
    """Return whether two texts have the same words in the same order, and any at all."""
    own = words(one)
    return bool(own) and own == words(other)


def runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of one to `RUN` words of a text."""
    own = words(text)
    return {
        own[start : start + size]
        for size in range(1, RUN + 1)
        for start in range(len(own) - size + 1)
    }


def shown_runs(exchanges: Iterable[tuple[str, str]]) -> set[tuple[str, ...]]:
    """Return what a model was shown before it had written it itself.

    A method that puts a model's draft into its next prompt shows it nothing new by that.

    Args:
        exchanges: Each prompt and its reply, in order.
    """
    shown: set[tuple[str, ...]] = set()
    written: set[tuple[str, ...]] = set()
    for prompt, reply in exchanges:
        shown |= runs(prompt) - written
        written |= runs(reply) - shown
    return shown


def copied_share(text: str, shown: set[tuple[str, ...]]) -> float:
    """Return the share of a text's words that stand in runs which were shown, from 0 to 1.

    Args:
        text: The text.
        shown: Runs of words, as `runs` gives them. A text shorter than `RUN` is looked up whole.
    """
    own = words(text)
    size = min(RUN, len(own))
    covered = {
        place
        for start in range(len(own) - size + 1)
        if size and own[start : start + size] in shown
        for place in range(start, start + size)
    }
    return len(covered) / len(own) if own else 0.0


def language(text: str) -> str | None:
    """Return a text's language, or its script where that is not Latin; None where nothing tells.

    A language is told by two different function words, so a terse headline may have none: "y/y"
    is no Spanish, ".com" no Portuguese.
    """
    script = _script(text)
    if script != "LATIN":
        return script
    ranked = _profile(text).most_common(2)
    if not ranked or ranked[0][1] < 2 or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


@dataclass(frozen=True)
class Batch:
    """The inputs that are worked on together, for finding what is no answer to one of them.

    Attributes:
        inputs: Their texts.
    """

    inputs: Sequence[str]
    _known: frozenset[tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _language: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(map(words, self.inputs)))
        languages = Counter(name for one in self.inputs if (name := language(one)) is not None)
        most = languages.most_common(1)
        object.__setattr__(self, "_language", most[0][0] if most else None)

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
        said = words(text)
        if not said:
            return None
        # A prompt shows the input made safe, and a model may well keep it so.
        forms = [form for one in own for form in (one, delimit(one))]
        if said in map(words, forms):
            return OF_INPUT
        if other is not None and said == words(other):
            return EQUAL_SIDES
        mine = {run for form in forms for run in runs(form)}
        if copied_share(text, shown_runs(shown) - mine) >= COPIED:
            return OF_PROMPT
        if said in self._known and said not in map(words, same):
            kept = sum((one,) in mine for one in said) / len(said)
            if kept < KEPT:
                return OF_OTHER
        if own and self._is_foreign(text, own[0]):
            return FOREIGN
        return None

    def _is_foreign(self, text: str, source: str) -> bool:
        script, expected = _script(text), _script(source)
        if script is not None and expected is not None and script != expected:
            return True
        if script != "LATIN" or expected != "LATIN":
            return False
        # A source with a single word of a language may be in it.
        home, hints = language(source), _profile(source)
        found = _profile(text)
        ranked = [
            (name, hits)
            for name, hits in found.most_common()
            if name != home and (home is not None or not hints[name])
        ]
        home = home or self._language
        if home is None or not ranked or ranked[0][0] == home:
            return False
        name, hits = ranked[0]
        # Words of the source itself, a name with "de la" in it, say nothing.
        hits -= hints[name]
        return hits >= FUNCTION_WORDS and hits >= 2 * max(found[home], 1)


def _profile(text: str) -> Counter[str]:
    """Count the different function words of each language in a text."""
    said = set(words(text))
    found = {name: len(said & known) for name, known in _FUNCTION_WORDS.items()}
    return Counter({name: hits for name, hits in found.items() if hits})


def _script(text: str) -> str | None:
    """Return the script of most of a text's letters, as Unicode names it; None without letters."""
    scripts = Counter(
        "EAST ASIAN" if name in {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"} else name
        for letter in text
        if letter.isalpha()
        for name in [unicodedata.name(letter, "?").split()[0]]
    )
    return scripts.most_common(1)[0][0] if scripts else None
