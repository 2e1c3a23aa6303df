"""Responses that are made of a file's wordings: read sentence by sentence.

A response is cut into the wordings of its file, connectors and punctuation. Every word of a
sentence must belong to one of them, or none of it counts (`unread` says what else then does not).
What is read is put into the file's own words, for `prove` to judge:

- **Tense**: a clause may stand in the tenses that follow from the file: its ``supposed`` form
  ("had gone"), the regular forms of a verb in -ed, and those of "was" and "were". What was open
  may have stayed or remained open.
- **Comparisons** of a quantity with a number: "was lower than 204 tons", "fell below 204 tons".
- **Denial**: the story's own clause with its verb denied ("did not go") says that it is not so.
- **The supposition**: "had …" and "if …" may open or close a sentence with what the query supposes,
  and with nothing else. Only in its main clause may "would" stand.
- **Connectors**: those of `reading.CUES`. A sentence that leaves open what they join is listed.
- **Pronouns** of latent facts are read only right after a sentence that is about their event alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

from contrafact.causal.model import Value
from contrafact.families.cobe.synth.negation import negations
from contrafact.families.cobe.synth.reading import (
    CUES,
    FIGURE,
    WAYS,
    Mention,
    comparison,
    left_open,
    mentioning,
    with_number,
    worded_values,
)
from contrafact.families.cobe.synth.unread import frames_others, may_be_about, words_of_facts

OPENINGS = (
    "Here is the passage, rewritten for the change you describe:",
    "Sure! This is how it goes:",
    "Let me work through what the change touches, and what it leaves alone. The new version reads:",
    "**Rewritten passage**",
)
CLOSINGS = (
    "The rest of the passage is as you gave it.",
    "I have kept whatever does not depend on the change.",
    "Tell me if you would like a longer version!",
)

_TOKEN = re.compile(r"\d(?:[\d.,]*\d)?(?!\w)|\w+(?:['-]\w+)*|\n|\S")
_FIGURE = re.compile(r"\d+|\d{1,3}(?:,\d{3})+")
_NO_VERB = frozenset(("a", "an", "the", "was", "were", "been", "be", "had", "got"))
"""After one of these, a word in -ed is no main verb."""
_STAYED = ("stayed", "remained")
_THAN = {
    "below": ("less than", "fewer than", "lower than", "below", "under"),
    "above": ("more than", "greater than", "higher than", "above", "over"),
}
_MOVED = {
    "below": "fell below, dropped below, sank below, stood below, fell short of, "
    "fell from, dropped from, went down from, goes down from",
    "above": "rose above, climbed above, went above, stood above, exceeded, "
    "rose from, climbed from, went up from, goes up from",
}
_PRONOUNS = frozenset(("it", "them", "they"))
_OPEN = ("it remains unclear", "nobody can say")
_OF_NOUNS = frozenset(("because of", "due to", "in spite of", "despite"))
# A sentence is matched as a string with a letter for each of its parts. C is a clause, W one with
# "would", N a noun phrase, H "had …" and S the bare clause of a supposition, f a frame of words
# around the text; the words that join them have small letters and marks.
_MARKS: dict[tuple[str, ...], str] = {
    **{(mark,): "." for mark in (".", "!", ";", "\n")},
    (",",): ",",
    ("and",): "&",
    ("or",): "o",
    ("if",): "i",
    ("whether",): "w",
    **{tuple(words.split()): "u" for words in _OPEN},
    **{
        tuple(cue.split()): "n"
        if cue in _OF_NOUNS
        else {"cause": "c", "between": "b", "link": "l"}[place]
        for cue, (place, _) in CUES.items()
    },
}
_CAUSES = r"(?:cC(?:&C)*|nN(?:&N)*)(?:,?&(?:cC(?:&C)*|nN(?:&N)*))*"
_EFFECTS = r"C(?:&C)*"
_IF = r"(?:H(?:,?&?[CS])*|iC(?:,?&C)*)"
_MAIN = r"[CW](?:,?&[CW])*"
_CONDITIONAL = re.compile(rf"\A(?:(?P<first>{_IF}),{_MAIN}|{_MAIN},?(?P<last>{_IF}))")
_OPENED = re.compile(r"uwC(?:,?o?wC)*")
_PLAIN = re.compile(r"C(?:(?:,|&|,&)C)*")
_JOINED = re.compile(
    rf"\A(?:{_CAUSES},{_EFFECTS}|{_EFFECTS},?{_CAUSES}|{_CAUSES},C,?{_CAUSES}"
    rf"|C,?&?b{_EFFECTS}|C,?&?l,?{_EFFECTS}|l,?{_EFFECTS})"
)
_STRANGE = re.compile(r"[^CNcnbl,&]|[CN][CN]|(?<!n)(?<!N&)N|n(?!N)")
_UNREAD = "?"
_SHOWN, _MOST_SHOWN = 60, 3


@dataclass(frozen=True, slots=True)
class ReadResponse:
    """What a response says, in the words of the file.

    Attributes:
        unclear: Sentences of which it is not clear what their connectors join.
        unread: Why some sentences cannot be read; empty where all can.
        open: The variables that those may be about.
    """

    text: str
    mentions: tuple[Mention, ...]
    unclear: tuple[str, ...]
    unread: str = ""
    open: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Wording:
    """A wording in one of its tenses; ``text`` is the file's own."""

    kind: str
    text: str
    mention: Mention | None = None
    pronoun: bool = False


@dataclass
class _Cannot(Exception):
    why: str


class ResponseReader:
    """Reads responses in the wordings of a proof; `of_story` gives the reader of one story.

    ``shields`` has for every latent fact the events that it can hold back.
    """

    def __init__(self, wordings: Mapping[str, Any], shields: Mapping[str, frozenset[str]]) -> None:
        self._supposed: Mapping[str, Value] = {}
        self._shields = shields
        self._wordings = wordings
        self._table: dict[tuple[str, ...], _Wording | None] = {}
        for words, kind in _MARKS.items():
            self._table[words] = _Wording(kind, " ".join(words))
        self._add_frames((*OPENINGS, *CLOSINGS, f"Option {FIGURE}:"))
        derived: list[tuple[tuple[str, ...], _Wording]] = []
        for text, mention in mentioning(wordings):
            words = _wording_tokens(text)
            pronoun = not (mention.noun or _PRONOUNS.isdisjoint(words)) and mention.name in shields
            wording = _Wording("N" if mention.noun else "C", text, mention, pronoun)
            self._add(words, wording)
            if not mention.noun:
                told, would = _tenses(text)
                derived += ((words, wording) for words in told)
                would_be = replace(wording, kind="W")
                derived += ((words, would_be) for words in would)
        derived += [*_supposed(wordings), *_denied(wordings), *_compared(wordings)]
        # The file's own wordings are added before the tenses derived from them.
        for words, wording in derived:
            self._add(words, wording)
        lengths: dict[str, set[int]] = {}
        for words in self._table:
            lengths.setdefault(words[0], set()).add(len(words))
        self._sizes = {first: sorted(sizes, reverse=True) for first, sizes in lengths.items()}
        """By first word, the lengths in words of wordings that begin with it, longest first."""

    def of_story(self, supposed: Mapping[str, Value], settings: Iterable[str]) -> Self:
        """Return the reader of one story: its text and the responses to it.

        ``supposed`` is what its queries suppose, ``settings`` its sentences that tell no fact.
        """
        reader = copy(self)
        reader._supposed, reader._table = supposed, dict(self._table)
        reader._sizes = dict(self._sizes)
        for words in reader._add_frames(settings):
            sizes = {*reader._sizes.get(words[0], ()), len(words)}
            reader._sizes[words[0]] = sorted(sizes, reverse=True)
        return reader

    def _add_frames(self, frames: Iterable[str]) -> list[tuple[str, ...]]:
        added = [_tokens(frame) for frame in frames]
        for words in added:
            self._add(words, _Wording("f", ""))
        return added

    def _add(self, words: tuple[str, ...], wording: _Wording) -> None:
        earlier = self._table.setdefault(words, wording)
        if earlier is not None and earlier.mention != wording.mention:
            self._table[words] = None  # it would be read in two ways

    def read(self, response: str) -> ReadResponse | str:
        try:
            return self._read(response)
        except _Cannot as cannot:
            return cannot.why

    def _read(self, response: str) -> ReadResponse:
        pieces = list(self._cut(response.strip()))
        if not pieces:
            raise _Cannot("it says nothing")
        unread = _unread(pieces)
        if pieces[-1].kind not in ".f":
            raise _Cannot(unread or "it breaks off: no full stop ends it")
        texts: list[str] = []
        mentions: list[Mention] = []
        unclear: list[str] = []
        left: set[str] = set()
        before: Sequence[_Wording] | None = ()  # None where it cannot be read
        for sentence in _sentences(pieces):
            if sentence[0].kind == "f":
                before = ()
                continue
            try:
                told, opened, clear = self._sentence(sentence, before)
            except _Cannot as cannot:
                left |= self._may_be_about(sentence, unread or cannot.why)
                unread, before = unread or cannot.why, None
                continue
            before = sentence
            if not clear:
                unclear.append(_shown(sentence))
            mentioned = [part.mention for part in told if part.mention is not None]
            mentions += map(left_open, mentioned) if opened else mentioned
            texts.append(_shown(told))
        if not mentions:
            raise _Cannot(unread or "it tells nothing of the story")
        text = " ".join(f"{text}." for text in texts)
        return ReadResponse(text, tuple(mentions), tuple(unclear), unread, frozenset(left))

    def _sentence(
        self, sentence: list[_Wording], before: Sequence[_Wording] | None
    ) -> tuple[list[_Wording], bool, bool]:
        """Return what a sentence tells, whether it leaves it open, and whether it joins clearly."""
        shape = "".join(wording.kind for wording in sentence)
        if _UNREAD in shape:
            raise _Cannot(_unread(sentence))
        if before is None and shape[0] == "l":
            raise _Cannot(f"'{sentence[0].text}' looks back to what cannot be read")
        self._check_pronouns(sentence, before or ())
        if conditional := _CONDITIONAL.fullmatch(shape):
            return self._as_told(sentence, conditional), False, False
        if _OPENED.fullmatch(shape):
            return sentence, True, True
        if _STRANGE.search(shape):
            raise _Cannot(f"cannot read how '{_shown(sentence)}' hangs together")
        return sentence, False, bool(_PLAIN.fullmatch(shape) or _JOINED.fullmatch(shape))

    def _may_be_about(self, sentence: Sequence[_Wording], why: str) -> frozenset[str]:
        """Return the variables that an unread sentence may be about; raise if it may be any."""
        words = [part.text for part in sentence if part.kind == _UNREAD]
        parts = [part.text if part.kind == _UNREAD else part.mention for part in sentence]
        about = may_be_about([part for part in parts if part is not None], self._words)
        if not about or frames_others(words):
            raise _Cannot(why)
        return about

    @cached_property
    def _words(self) -> Mapping[str, frozenset[str]]:
        return words_of_facts(self._wordings)

    def _cut(self, response: str) -> Iterator[_Wording]:
        """Yield the wordings, connectors and marks that make up a response, and unread words."""
        tokens = _tokens(response)
        figures = [
            place
            for place, token in enumerate(tokens)
            if token[0].isdigit() and _FIGURE.fullmatch(token)
        ]
        place = 0
        while place < len(tokens):
            size, wording = self._longest_at(tokens, place, figures)
            yield wording or _Wording(_UNREAD, tokens[place])
            place += size

    def _longest_at(
        self, tokens: tuple[str, ...], place: int, figures: Sequence[int]
    ) -> tuple[int, _Wording | None]:
        sizes = self._sizes.get(tokens[place], ())
        if place in figures:
            sizes = sorted({*sizes, *self._sizes.get(FIGURE, ())}, reverse=True)
        for size in sizes:
            words = tokens[place : place + size]
            wording = self._table.get(words)
            for at in figures if wording is None else ():
                if wording is None and place <= at < place + len(words):
                    figure = int(tokens[at].replace(",", ""))
                    before, after = words[: at - place], words[at - place + 1 :]
                    wording = self._table.get((*before, FIGURE, *after))
                    wording = wording and _with_figure(wording, figure)
            if wording is not None:
                return len(words), wording
        return 1, None

    def _as_told(self, sentence: Sequence[_Wording], shape: re.Match[str]) -> list[_Wording]:
        """Return a conditional as plain clauses: the supposition, and the main clause."""
        start, end = shape.span("first" if shape["first"] else "last")
        condition, main = (
            [part for part in parts if part.mention is not None]
            for parts in (sentence[start:end], [*sentence[:start], *sentence[end:]])
        )
        for part in condition:
            mention = part.mention
            if mention is None or self._supposed.get(mention.name) != mention.value:
                raise _Cannot(f"it supposes something else: '{part.text}'")
        joint = _Wording("&", "and")
        joined = [wording for part in (*condition, *main) for wording in (joint, part)]
        return joined[1:]

    def _check_pronouns(self, sentence: Sequence[_Wording], before: Sequence[_Wording]) -> None:
        about = {part.mention.name for part in before if part.mention is not None}
        for part in sentence:
            if part.pronoun and part.mention is not None:
                events = self._shields[part.mention.name]
                if len(about) != 1 or not about <= events:
                    raise _Cannot(f"cannot tell what '{part.text}' is about")


def _with_figure(wording: _Wording, figure: int) -> _Wording:
    if wording.mention is None:
        return wording
    text = wording.text.replace(FIGURE, f"{figure:,}")
    return replace(wording, text=text, mention=with_number(wording.mention, figure))


def _tokens(text: str) -> tuple[str, ...]:
    whole = text.lower().replace("’", "'").replace(FIGURE, "\0")
    return tuple(FIGURE if token == "\0" else token for token in _TOKEN.findall(whole))


_wording_tokens = lru_cache(maxsize=4096)(_tokens)  # many stories of a place share their wordings


def _unread(pieces: Iterable[_Wording]) -> str:
    """Return which words cannot be read, as a reason; nothing where all can."""
    spans: list[list[str]] = []
    gap = True
    for piece in pieces:
        if piece.kind != _UNREAD:
            gap = gap or piece.kind not in ",&."
        elif gap:
            spans.append([piece.text])
            gap = False
        else:
            spans[-1].append(piece.text)
    parts = (f"'{' '.join(words)[:_SHOWN]}'" for words in spans[:_MOST_SHOWN])
    return f"cannot read {', '.join(parts)}" if spans else ""


def _sentences(pieces: Iterable[_Wording]) -> Iterator[list[_Wording]]:
    """Yield sentences, and frames alone.

    A semicolon or a new line ends one, too, unless some word up to the full stop cannot be read.
    """
    parts: list[list[_Wording]] = [[]]
    for piece in pieces:
        if piece.kind == "f" and any(parts):
            raise _Cannot(f"cannot read how '{_shown(parts[-1])}' ends")
        if piece.kind == "f":
            yield [piece]
        elif piece.kind == "." and piece.text in ".!":
            yield from _whole(parts)
            parts = [[]]
        elif piece.kind == ".":
            parts.append([])
        else:
            parts[-1].append(piece)
    yield from _whole(parts)


def _whole(parts: Sequence[list[_Wording]]) -> Iterator[list[_Wording]]:
    """Yield the parts of a sentence; all as one where a word in them cannot be read."""
    whole = [piece for part in parts for piece in part]
    if any(piece.kind == _UNREAD for piece in whole):
        parts = [whole]
    yield from filter(None, parts)


def _shown(sentence: Iterable[_Wording]) -> str:
    return " ".join(part.text for part in sentence).replace(" ,", ",")


def _supposed(wordings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], _Wording]]:
    """Yield the clauses that queries may suppose, in the tenses that follow from that form."""
    for name, value, forms in worded_values(wordings):
        clause = _Wording("C", forms["clauses"][0], Mention(name, value, False))
        for words in map(_wording_tokens, forms.get("supposed", ())):
            yield words, clause
            if "had" in words:
                at = words.index("had")
                before, after = words[:at], words[at + 1 :]
                yield (*before, "would", "have", *after), replace(clause, kind="W")
                yield ("had", *before, *after), replace(clause, kind="H")
                yield (*before, *after), replace(clause, kind="S")


def _denied(wordings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], _Wording]]:
    """Yield the story's own clauses denied: they then say that the variable has the other value."""
    for name, value, forms in worded_values(wordings):
        other = wordings[name]["false" if value else "true"]["clauses"][0]
        denial = _Wording("C", other, Mention(name, not value, False))
        for supposed in forms.get("supposed", ()):
            for clause in negations(forms["clauses"][0], supposed):
                yield _wording_tokens(clause), denial


def _compared(wordings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], _Wording]]:
    """Yield the ways to compare a quantity with a number, of the file's and of the criteria's."""
    for name, forms in wordings.items():
        for way in WAYS if {"amounts", "entity"} <= forms.keys() else ():
            text = comparison(forms, way)
            clause = _Wording("C", text, Mention(name, way, False))
            than = f"was {WAYS[way]} than"
            was = text.replace(than, "was")
            for words in _THAN[way]:
                for amount in {was, *forms["amounts"]}:
                    bound = amount.replace(FIGURE, f"{words} {FIGURE}")
                    yield _wording_tokens(bound), clause
                told, would = _tenses(text.replace(than, f"was {words}"))
                yield from ((tense, clause) for tense in told)
                yield from ((tense, replace(clause, kind="W")) for tense in would)
            for words in _MOVED[way].split(", "):
                yield _wording_tokens(text.replace(than, words)), clause


@lru_cache(maxsize=4096)
def _tenses(clause: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return a clause in the tenses that follow from its words: of facts, and with "would"."""
    words = _wording_tokens(clause)
    told: list[tuple[str, ...]] = []
    would: list[tuple[str, ...]] = []
    for at, word in enumerate(words):
        if word in ("was", "were"):
            is_so = [("is",), ("are",), ("had", "been"), ("has", "been"), ("have", "been")]
            is_so += [form for past in _STAYED for form in ((past,), ("had", past))]
            would_be = [("would", "be"), ("would", "have", "been"), ("will", "be")]
            would_be += [("would", past.removesuffix("ed")) for past in _STAYED]
        elif word.endswith("ed") and len(word) > 4 and _NO_VERB.isdisjoint(words[:at][-1:]):
            bases = [word[:-2], word[:-1], word[:-3], f"{word[:-3]}y"]
            is_so = [("had", word), ("has", word), ("have", word)]
            is_so += [(f"{base}{end}",) for base in bases for end in ("", "s", "es")]
            would_be = [("would", "have", word)]
            would_be += [(modal, base) for base in bases for modal in ("would", "will")]
            for past in {*_STAYED} - {word} if word in _STAYED else ():
                is_so += [(past,), ("had", past)]
        else:
            continue
        told += ((*words[:at], *form, *words[at + 1 :]) for form in is_so)
        would += ((*words[:at], *form, *words[at + 1 :]) for form in would_be)
    return told, would
