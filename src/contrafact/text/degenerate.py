"""Detects texts that are not an answer, without a model.

A system that was asked for a new text has not answered if it returns its input, another input, an
example from the prompt, its instruction, the same text for both sides, a text in another language,
or the same text for any input; nor if it declines, breaks off, lists both sides or commits to
nothing. Such a text is readable, and a judge may even pass it: it is *degenerate*, for a reason.
`Batch.reason` detects the reasons that one text and its prompts show, `across` those that only all
answers of a system show together.

Texts are compared by their words: capitals, punctuation and spaces do not count; signs before
numbers, currencies and percent signs do. Meanings are not compared: a copy with synonyms looks like
an edit with opposites, and is left to a judge.
"""

import re
import tomllib
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from contrafact.errors import installed
from contrafact.text.delimit import delimit
from contrafact.text.english import is_cut_off
from contrafact.text.tokens import same_root, sentence_spans, stem

__all__ = [
    "COPIED",
    "EQUAL_SIDES",
    "RUN",
    "Batch",
    "Shown",
    "across",
    "equal",
    "foreign_language",
    "languages",
    "marks",
    "runs",
    "unload_languages",
    "words",
]

OF_INPUT = "repeats its input"
EQUAL_SIDES = "equals the other side"
OF_PROMPT = "repeats an example or a line of the prompt"
OF_OTHER = "repeats another input"
FOREIGN = "is in another language than its input"
OF_ANSWER = "repeats the answer to another input"
OF_ANY = "fits any input: its system says it of several, and it holds no word of them"
REFUSAL = "declines to answer, asks back, or talks of the task"
BOTH = "gives both sides"
OPEN = "commits to nothing"
CUT = "breaks off in mid-sentence"
REASONS: tuple[str, ...] = (
    *(OF_INPUT, EQUAL_SIDES, OF_PROMPT, OF_OTHER, FOREIGN),
    *(REFUSAL, BOTH, OPEN, CUT, OF_ANY, OF_ANSWER),
)
"""All reasons, in the order of the checks."""

# The thresholds were set on outputs of a small model and on published counterfactuals; for their
# hits and errors see docs/decisions/0020-degenerate-outputs.md.
RUN = 3
"""This many consecutive words that are in a prompt count as copied from it."""
COPIED = 0.7
"""With at least this share of copied words, a text is a near copy."""
NEAR = 0.5
"""With this share of copied words, a text is a near copy of another input or its answer, if it has
more in common with that input than with its own."""
# A text with this share of its words from its own input is an edit of that input, even if it has
# the same words as another input of the batch.
_KEPT = 0.5
STRANGE = 0.03
"""A text is in another language if the input's language is less probable than this."""
_RECOGNISED = 0.25  # if a text's likeliest language is less probable, it is in no known language
_UNSURE = 0.1  # if the inputs' likeliest language is less probable, they have no common one
_MOST_INPUTS = 300  # the most inputs by which a batch's language is identified
_COMMON = 100  # a run in more texts does not tell where it was copied from
_MOST_NEAR = 50_000  # in a larger batch, to save memory, only whole copies are found
# A text unrelated to its input echoes the prompt if the prompt has this share of its marks.
_ECHOED = 0.8
_FEWEST_MARKS = 2  # a text with fewer marks is too short to tell its topic
# A sentence without a mark of its own input fits any input if a system gives it, or one that has
# most of its words in the same order, to at least this many inputs.
_ANY_ITEMS = 3
_MOST_OTHERS = 6  # with more words beside the sentences that decline, a text answers all the same
_CONTRAST = re.compile(r"[.;]\s|\b(?:but|yet|though|although|while|whereas|or)\b", re.IGNORECASE)
_UNSURE_VERB = re.compile(r"\b(?:may|might|could)\b(?!\s(?:not|have)\b)")
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
_SAME = 0.8  # a text with this share of its input's words, in their order, and no other repeats it
_NO_LANGUAGE = "zxx"  # ISO 639's code for text without words

_WORD = re.compile(
    r"(?<!\w)[-+−]?\d+(?:[.,]\d+)*|\w+|[^\w\s\-‐‑–—.,;:!?…'\"‘’“”„«»()\[\]{}*_`\\/|]"
)


@lru_cache(maxsize=64)  # both sides of an input are checked in turn
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text for comparison, without capitals and punctuation."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def equal(a: str, b: str) -> bool:
    """Return whether two texts have the same words in the same order, and at least one."""
    return words(a) == words(b) != ()


@lru_cache(maxsize=64)
def runs(text: str) -> frozenset[tuple[str, ...]]:
    """Return every sequence of one to `RUN` words of a text."""
    whole = words(text)
    return frozenset(
        whole[start : start + size]
        for size in range(1, RUN + 1)
        for start in range(len(whole) - size + 1)
    )


_MARK = re.compile(r"[^\W_]+")
_LONG = 4


@lru_cache(maxsize=4096)
def marks(text: str) -> frozenset[str]:
    """Return the stems of the words that tell what a text is about.

    These are the words of four letters or more, and shorter ones with a capital or a digit.
    """
    return frozenset(
        stem(word) for word in _MARK.findall(text) if len(word) >= _LONG or not word.islower()
    )


def shared_marks(text: str, other: str) -> frozenset[str]:
    """Return the marks of a text that another text shares, in any form of the word."""
    others = marks(other)
    long = [mark for mark in others if len(mark) >= _LONG]
    return frozenset(
        mark
        for mark in marks(text)
        if mark in others or (len(mark) >= _LONG and any(same_root(mark, one) for one in long))
    )


def _tells(text: str) -> bool:
    """Return whether a text has enough marks to tell its topic, in a script with capitals."""
    of_text = marks(text)
    cased = all(mark.upper() != mark or mark[0].isdigit() for mark in of_text)
    return cased and len(of_text) >= _FEWEST_MARKS


@lru_cache(maxsize=64)
def _in_lines(text: str) -> str:
    """Return a text's words, each between line breaks, so that a run is a substring."""
    return _lined(words(text))


def _lined(run: Iterable[str]) -> str:
    return "\n" + "\n".join(run) + "\n"


class Shown:
    """The sequences of words that a model saw in prompts before it wrote them itself."""

    def __init__(self, exchanges: Iterable[tuple[str, str]]) -> None:
        self._exchanges = list(exchanges)
        self._texts = [(_in_lines(prompt), _in_lines(reply)) for prompt, reply in self._exchanges]

    def __contains__(self, run: object) -> bool:
        if not (isinstance(run, tuple) and run):
            return False
        lined = _lined(run)
        for prompt, reply in self._texts:
            if lined in prompt:
                return True
            if lined in reply:
                return False
        return False

    def marks(self, *without: str) -> frozenset[str]:
        """Return the marks of the prompts, without those of some texts or of earlier replies."""
        shown: set[str] = set()
        written: set[str] = set()
        for prompt, reply in self._exchanges:
            for text in without:
                prompt = prompt.replace(text, " ")
            shown |= marks(prompt) - written
            written |= marks(reply) - shown
        return frozenset(shown)


def copied_share(
    text: str, shown: Container[tuple[str, ...]], own: Container[tuple[str, ...]] = ()
) -> float:
    """Return the share of a text's words in sequences that are in ``shown`` but not in ``own``."""
    whole = words(text)
    size = min(RUN, len(whole))
    covered = {
        i
        for start in range(len(whole) - size + 1)
        if size and (run := whole[start : start + size]) not in own and run in shown
        for i in range(start, start + size)
    }
    return len(covered) / len(whole) if whole else 0.0


@lru_cache(maxsize=64)
def languages(text: str) -> Mapping[str, float]:
    """Return the probability of each language of a text, by ISO 639 code, the highest first.

    By naive Bayes over byte n-grams (Lui and Baldwin, ACL 2012; py3langid), tempered by length.
    """
    return dict(_identifier().rank(text))


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def foreign_language(text: str) -> str | None:
    """Return the ISO 639 code of a text's language if it is surely not English, else None.

    By the thresholds of `FOREIGN`: the likeliest language alone would be another one for 4% of
    English headlines, which are short and full of names.
    """
    of_text = languages(text)
    likeliest = _first(of_text)
    known = of_text[likeliest] >= _RECOGNISED and likeliest not in ("en", _NO_LANGUAGE)
    return likeliest if known and of_text["en"] < STRANGE else None


def unload_languages() -> None:
    """Free the memory of the language model, some 70 MiB; the next use loads it again."""
    _identifier.cache_clear()


class Batch:
    """The inputs of a run, against which answers are checked."""

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = inputs
        self._known = frozenset(map(_in_lines, inputs))

    @cached_property
    def _near(self) -> "_Near":
        return _Near(self.inputs if len(self.inputs) <= _MOST_NEAR else ())

    @cached_property
    def languages(self) -> Mapping[str, float]:
        """The probability of each language of the inputs taken together, the highest first."""
        return languages("\n".join(self.inputs[:_MOST_INPUTS]))

    def reason(
        self,
        text: str,
        *own: str,
        shown: Iterable[tuple[str, str]] = (),
        other: str | None = None,
        same: Sequence[str] = (),
        directed: bool = False,
    ) -> str | None:
        """Return why a text is not an answer, one of `REASONS`, or None.

        Args:
            own: The texts of its own input; the first is the one to be changed.
            shown: The prompts and replies that led to the text.
            other: The text of its other side, if there are two.
            same: Other inputs that it may equal, such as variants of its own.
            directed: Whether it has to tell of one side, and not of both or of neither.
        """
        tokens = words(text)
        if not tokens:
            return None
        # A prompt contains the input after `delimit`, and a model may copy that.
        forms = [form for source in own for form in (source, delimit(source))]
        if tokens in map(words, forms) or (own and _begins(own[0], text)):
            return OF_INPUT
        if other is not None and tokens == words(other):
            return EQUAL_SIDES
        mine = {run for form in forms for run in runs(form)}
        exchanges = list(shown)
        if exchanges:  # outputs made elsewhere have no prompts
            asked = Shown(exchanges)
            if copied_share(text, asked, mine) >= COPIED or _echoes(text, asked, forms):
                return OF_PROMPT
        if sum((token,) in mine for token in tokens) < _KEPT * len(tokens):
            variants = [*map(words, same), *map(words, own)]
            if _in_lines(text) in self._known and tokens not in variants:
                return OF_OTHER
            near = [self.inputs[i] for i in self._near.of(text, mine)]
            if any(_strays(text, own, source) for source in near if words(source) not in variants):
                return OF_OTHER
        if own and self._is_foreign(text, own[0]):
            return FOREIGN
        english = len(tokens) < RUN or languages(text).get("en", 0.0) >= STRANGE
        return _in_itself(text, own, directed=directed) if english else None

    def _is_foreign(self, text: str, source: str) -> bool:
        """Return whether a text's language is that of neither its input nor the batch.

        The batch's language counts, since one input may be too short, unless the input is clearly
        in another one. A text with every word of its input is not foreign.
        """
        if set(words(source)) <= set(words(text)):
            return False
        of_text, home = languages(text), self.languages
        likeliest = _first(of_text)
        if of_text[likeliest] < _RECOGNISED or likeliest == _NO_LANGUAGE:
            return False
        of_source = languages(source)
        if of_source[_first(home)] < STRANGE and of_source[_first(of_source)] >= _RECOGNISED:
            home = of_source
        if home[_first(home)] < _UNSURE:
            return False
        return of_text[_first(home)] < STRANGE and home[likeliest] < STRANGE


@cache
def _lists() -> dict[str, str]:
    source = files("contrafact.text.words") / "no_answer.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def _word_list(name: str) -> frozenset[str]:
    return frozenset(_lists()[name].split())


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    lists = {**_lists()}
    for name in ("both", "open"):
        for part in ("up", "down", "may"):
            lists[name] = lists[name].replace("{" + part + "}", lists[part])
    lists |= {way: rf"\b(?:{lists[way]})" for way in ("up", "down")}
    flags = {"task": re.DOTALL, "cut": re.DOTALL}
    return {
        name: re.compile(lists[name].replace("\n", ""), flags.get(name, re.IGNORECASE | re.DOTALL))
        for name in ("refuses", "task", "both", "open", "hedge", "cut", "ended", "up", "down")
    }


def _in_itself(text: str, own: Sequence[str], *, directed: bool) -> str | None:
    """Return the reason that an English text shows in its own words, or None."""
    patterns = _patterns()
    sentences = [text[start:end].strip() for start, end in sentence_spans(text)]
    names = ("refuses", "task")[: 1 + directed]
    unquoted = [one if _QUOTED.fullmatch(one) else _QUOTED.sub(" ", one) for one in sentences]
    others = [one for one in unquoted if not any(patterns[name].search(one) for name in names)]
    if len(others) < len(sentences) and sum(len(words(one)) for one in others) <= _MOST_OTHERS:
        return REFUSAL
    if directed and (patterns["both"].search(text) or _contrasts(text)):
        return BOTH
    hedges = {match[0] for match in patterns["hedge"].finditer(text.casefold())}
    if directed and (patterns["open"].search(text) or len(hedges) > 1):
        return OPEN
    return CUT if _breaks_off(text.strip(), own) else None


def _contrasts(text: str) -> bool:
    """Return whether two parts of a text say what may happen, and not both for better or worse."""
    parts = [part for part in _CONTRAST.split(text) if part and _UNSURE_VERB.search(part)]
    signs = {tuple(bool(_patterns()[way].search(part)) for way in ("up", "down")) for part in parts}
    return len(parts) > 1 and signs not in ({(True, False)}, {(False, True)})


def _breaks_off(text: str, own: Sequence[str]) -> bool:
    """Return whether a text ends on a word or mark that goes on, or in a word that is none.

    Word lists and expressions decide; half a word is told with spaCy alone.
    """
    if text.endswith((",", ";", ":", "-", "–", "—", "(", "“", "‘", "&")):
        return True
    if any(text.count(opened) > text.count(closed) for opened, closed in ("()", "“”", "[]")):
        return True
    bare = text.rstrip(" …").removesuffix("..")
    if bare.endswith((".", "!", "?", '"', "”", "’", ")")) or _patterns()["ended"].search(bare):
        return False
    *before, last = bare.split() or [""]
    previous = before[-1].casefold() if before else ""
    if last in _word_list("unfinished") or _patterns()["cut"].search(bare):
        return True
    verb = last.endswith("s") or previous in _word_list("before_verb") or previous.endswith(",")
    if verb and stem(last) in _word_list("objects"):
        return True
    if last in ("in", "on"):
        return stem(previous) not in _word_list("particles")
    ends = last.endswith("ly") or last in _word_list("final")
    if len(before) > RUN and words(" ".join(before)) in map(words, own):
        return not ends
    known = ends or any(last in words(source) for source in own)
    if known or not installed("spacy"):
        return False
    return bool(re.fullmatch(r"[a-z]{3,}", last)) and is_cut_off(last)


def _first(probable: Mapping[str, float]) -> str:
    return next(iter(probable))


def _begins(source: str, text: str) -> bool:
    """Return whether a text is at least the first half of its input, in any form of the words, or
    nearly all of it and no word of content besides.
    """
    whole, part = ([*map(stem, words(one))] for one in (source, text))
    if len(part) >= RUN and 2 * len(part) >= len(whole) and whole[: len(part)] == part:
        return True
    small, turns = _word_list("small"), _word_list("turns")
    whole, part = ([w for w in words(one) if w not in small] for one in (source, text))
    rest = iter(whole)
    kept = len(part) >= max(RUN, _SAME * len(whole)) and all(word in rest for word in part)
    return kept and not ({*whole} - {*part}) & turns


def _echoes(text: str, shown: Shown, own: Sequence[str]) -> bool:
    """Return whether a text repeats its prompt in other words, and has nothing of its input."""
    if not _tells(text):
        return False
    of_input = frozenset[str]().union(*(shared_marks(text, source) for source in own))
    if len(of_input) > 1:  # one word may be in both by chance
        return False
    of_text, of_prompt = marks(text), shown.marks(*own)
    return of_input <= of_prompt and len(of_text & of_prompt) >= _ECHOED * len(of_text)


def _strays(text: str, own: Sequence[str], other: str) -> bool:
    """Return whether a text shares over twice as many marks with another input as with its own."""
    shared = max((len(shared_marks(text, source)) for source in own), default=0)
    return 2 * shared < len(shared_marks(text, other))


def _long_runs(text: str) -> list[tuple[str, ...]]:
    whole = words(text)
    return [whole[start : start + RUN] for start in range(len(whole) - RUN + 1)]


class _Near:
    """An index of texts by their sequences of words, to find the originals of near copies."""

    def __init__(self, texts: Sequence[str]) -> None:
        runs, numbers = array("q"), array("q")  # hashes of runs, which may be millions
        for number, text in enumerate(texts):
            hashes = {*map(hash, _long_runs(text))}
            runs.extend(hashes)
            numbers.extend([number] * len(hashes))
        order = np.argsort(np.asarray(runs), kind="stable")
        self._runs, self._numbers = np.asarray(runs)[order], np.asarray(numbers)[order]

    def of(self, text: str, own: Container[tuple[str, ...]]) -> list[int]:
        """Return the numbers of the texts that a text copies, ignoring sequences in ``own``."""
        sought = _long_runs(text)
        if not sought:
            return []
        covered: dict[int, set[int]] = defaultdict(set)  # words, by the other text
        hashes = np.array([*map(hash, sought)])
        first, last = (np.searchsorted(self._runs, hashes, side) for side in ("left", "right"))
        for start in np.flatnonzero((first < last) & (last - first <= _COMMON)).tolist():
            if sought[start] not in own:
                for number in self._numbers[first[start] : last[start]].tolist():
                    covered[number].update(range(start, start + RUN))
        size = len(words(text))
        return [number for number, shared in covered.items() if len(shared) >= NEAR * size]


def across(answers: Sequence[tuple[str, str]]) -> list[str | None]:
    """Return for each answer of a system, given as input and text, why it is degenerate, or None.

    Only reasons that all answers of a system show together are found. An answer repeats the answer
    to another input if it is a near copy of it and has more to do with that input than with its
    own. A sentence that several inputs got, whole or with a few words changed, fits any if most of
    these answers have no mark of their input: a word in common may be by chance. The order of the
    answers does not matter.
    """
    near = _Near([text for _, text in answers] if len(answers) <= _MOST_NEAR else ())
    same_words: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, (_, text) in enumerate(answers):
        same_words[words(text)].append(i)
    marked = [bool(shared_marks(text, source)) for source, text in answers]
    fits_any: set[int] = set()
    for group in same_words.values():
        text = answers[group[0]][1]
        alike = {*group, *near.of(text, ())}
        inputs = {answers[i][0] for i in alike}
        if len(inputs) >= _ANY_ITEMS and 2 * sum(marked[i] for i in alike) <= len(alike):
            fits_any.update(group if _tells(text) else ())

    def reason(i: int) -> str | None:
        if i in fits_any:
            return OF_ANY
        source, text = answers[i]
        copied = any(
            answers[j][0] != source and _strays(text, [source], answers[j][0])
            for j in near.of(text, runs(source))
        )
        return OF_ANSWER if copied else None

    return [reason(i) for i in range(len(answers))]
