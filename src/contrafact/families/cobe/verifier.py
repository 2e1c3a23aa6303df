"""The verifier ``proof``: decides the criteria of an edit from the proof of its story.

CoBe, section 3.2. A story with a proof (`contrafact.families.cobe.synth`, or anybody's file with
graph, mechanisms and wordings) says what must stay, change and move. The verifier reads a response
clause by clause: first by the very wordings of the file, then leniently: other word order and
tenses, clauses added, subjects left out where the rest is plain, negations. What it cannot read
and may matter leaves a criterion undecided; it is never guessed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from contrafact.causal.model import Value
from contrafact.families.cobe.synth.prove import (
    Claim,
    Facts,
    Mention,
    Reader,
    false_claims,
    left_open,
    situation_of,
)
from contrafact.families.cobe.synth.reading import CUES, MARK, SENTENCE_END, Sentence
from contrafact.judges.verifier import Decision, Subject
from contrafact.text.tokens import normal, stem
from contrafact.text.words.terms import base_forms

__all__ = ["EXTRA", "READ", "FreeReader", "FreeReading", "decide", "proof"]

EXTRA = 4
"""Content words that a clause may have besides those of the wording it is read as (ours)."""

READ = 0.5
"""Share of a response's clauses that must be read before it is said to do nothing wrong (ours)."""

_KEPT = 64
_DARK = "\x01"  # before a clause that was not read
_PIECE = re.compile(
    rf"({MARK}\d+{MARK}|[.!?:;,\n]+"
    rf"|\b(?:{'|'.join(sorted(map(re.escape, CUES), key=len, reverse=True))}"
    r"|whether|and|while|when|which|after|before)\b)"
)
_WORD = re.compile(r"[a-z0-9][a-z0-9'’-]*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_FROM_TO = re.compile(r"\bfrom\s[^.;]*?\bto\s(?:about\s|around\s|just\s)?(\d[\d,]*)")
_PRONOUN = re.compile(r"\b(?:it|he|she|they)\b")
_FUNCTION = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "those", "its", "his", "her", "their", "our"),
        *("it", "he", "she", "they", "them", "him", "we", "i", "you", "there", "who", "which"),
        *("of", "in", "at", "to", "for", "by", "with", "from", "on", "into", "as", "during"),
        *("is", "are", "was", "were", "be", "been", "being", "has", "have", "had", "having"),
        *("do", "does", "did", "would", "will", "also", "then", "instead", "still", "just"),
        *("and", "or", "so", "but", "yet", "if", "than", "very", "even", "only", "meanwhile"),
        *("hence", "thus", "again", "however", "now", "too", "all"),
    )
)
_NEGATION = frozenset(("not", "never", "no", "nobody", "none", "without", "neither", "nor"))
_HEDGE = frozenset(("might", "may", "perhaps", "possibly", "probably", "maybe", "likely", "could"))
_UP = frozenset(("more", "higher", "rose", "rise", "increase", "grow", "climb", "up", "larger"))
_DOWN = frozenset(("fewer", "lower", "less", "fell", "fall", "decrease", "drop", "decline", "down"))


@dataclass(frozen=True, slots=True)
class _Words:
    """What a clause is compared by.

    Attributes:
        content: The stems of its words that carry meaning.
        negative: Whether an odd number of words deny it.
        hedged: Whether it is only supposed.
    """

    content: frozenset[str]
    negative: bool
    hedged: bool


@lru_cache(maxsize=20_000)
def _words(text: str) -> _Words:
    content: set[str] = set()
    denials, hedged = 0, False
    for word in _WORD.findall(text):
        bare = normal(word)
        if bare.endswith(("n't", "n’t")) or bare in _NEGATION:
            denials += 1
        elif bare in _HEDGE:
            hedged = True
        elif bare not in _FUNCTION:
            content.add(_root(bare))
    return _Words(frozenset(content), denials % 2 == 1, hedged)


@cache
def _root(word: str) -> str:
    return stem(base_forms().get(word, word))


@dataclass(frozen=True, slots=True)
class FreeReading:
    """What a free-form text says, as far as it was read.

    Attributes:
        mentions: What it asserts, in its order.
        claims: What its connectors say.
        loose: Connectors that join nothing that was read.
        moves: By quantity, the ways it is said to go without a figure: "up", "down".
        unread: The clauses that were not read.
    """

    mentions: tuple[Mention, ...]
    claims: tuple[Claim, ...]
    loose: tuple[str, ...]
    moves: Mapping[str, frozenset[str]]
    unread: tuple[str, ...]

    def values(self, name: str) -> set[Value | None]:
        """Return what is asserted of a variable."""
        return {one.value for one in self.mentions if one.name == name}


@dataclass
class FreeReader:
    """Reads what models and people write about one story.

    Attributes:
        reader: Reads by the wordings of the story's file.
    """

    reader: Reader
    _forms: list[tuple[_Words, str, bool, bool]] = field(init=False)
    _entities: dict[str, frozenset[str]] = field(init=False)
    _about: dict[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._forms, self._entities, self._about = [], {}, {}
        for name, forms in self.reader.wordings.items():
            about: set[str] = set()
            if "amounts" in forms:
                self._entities[name] = _words(forms["entity"].lower()).content
                about |= self._entities[name]
            else:
                for word in ("false", "true"):
                    own = [(text, False) for text in forms[word]["clauses"]]
                    own += [(text, False) for text in forms[word].get("supposed", ())]
                    own += [(text, True) for text in forms[word].get("nouns", ())]
                    for text, noun in own:
                        phrase = _words(text.lower())
                        self._forms.append((phrase, name, word == "true", noun))
                        about |= phrase.content
            self._about[name] = frozenset(about)

    def concerns(self, name: str, pieces: Iterable[str]) -> list[str]:
        """Return the pieces that share a content word with the wordings of a variable."""
        about = self._about.get(name, frozenset())
        return [piece for piece in pieces if about & _words(piece).content]

    def read(self, text: str) -> FreeReading:
        """Return what a text says."""
        masked, exact = self.reader.masked(text.lower())
        mentions = list(exact)
        moves: dict[str, set[str]] = {}
        unread: list[str] = []
        pieces = _PIECE.split(masked)
        for place, piece in enumerate(pieces):
            if place % 2 or not _words(piece).content:
                continue
            mention = self._mention(piece)
            way = None if mention else self._move(piece)
            if mention is not None:
                pieces[place] = f" {MARK}{len(mentions)}{MARK} "
                mentions.append(mention)
            elif way is not None:
                moves.setdefault(way[0], set()).add(way[1])
            else:
                unread.append(" ".join(piece.split()))
                pieces[place] = f"{_DARK}{piece}"
        for place in range(1, len(pieces), 2):
            # "The frost hit the market" says of the market what nobody has read, not of the frost.
            # "It is not true that the gate swung open" does not say that it did.
            around = pieces[place - 1] + pieces[place + 1]
            if pieces[place].startswith(MARK):
                index, near = int(pieces[place].strip(MARK)), _words(around.replace(_DARK, " "))
                if near.negative or near.hedged or (mentions[index].noun and _DARK in around):
                    mentions[index] = left_open(mentions[index])
        phrase: list[Mention] = []
        claims: list[Claim] = []
        loose: list[str] = []
        before: list[Mention] = []
        dark = dark_before = False
        for part in SENTENCE_END.split("".join(pieces)):
            sentence = Sentence(part, mentions, left_open)
            # A clause that was not read may be a cause, or an effect, of what stands next to it.
            dark = _DARK in part or (dark and not sentence.mentions)
            if sentence.mentions:
                found = [Claim(*claim) for claim in sentence.claims(before, loose)]
                if found and (dark or dark_before):
                    loose.append(part)
                else:
                    claims += found
                before, dark_before = sentence.conclusions, dark
                phrase += sentence.mentions
        ways = {name: frozenset(found) for name, found in moves.items()}
        return FreeReading(tuple(phrase), tuple(claims), tuple(loose), ways, tuple(unread))

    def _mention(self, piece: str) -> Mention | None:
        """Return what a clause asserts; None where it cannot be told."""
        words = _words(piece)
        amount = self._amount(piece, words)
        if amount is not None:
            return amount
        whole = [
            (len(phrase.content), name, value != (phrase.negative != words.negative), noun)
            for phrase, name, value, noun in self._forms
            if phrase.content
            and phrase.content <= words.content
            # "The delay" is the one of the story; "the delay of the next train" need not be.
            and len(words.content - phrase.content)
            <= (0 if noun and len(phrase.content) == 1 else EXTRA)
        ]
        if whole:
            most = max(size for size, *_ in whole)
            found = {(name, value, noun) for size, name, value, noun in whole if size == most}
        elif len(words.content) < 2 and not _PRONOUN.search(piece):
            return None
        else:
            # "It stalled": a part of a wording that belongs to no other.
            found = {
                (name, value, noun)
                for phrase, name, value, noun in self._forms
                if words.content <= phrase.content
            }
            if any(
                phrase.negative != words.negative
                for phrase, *_ in self._forms
                if words.content <= phrase.content
            ):
                return None
        if len({(name, value) for name, value, _ in found}) != 1:
            return None
        name, value, _ = next(iter(found))
        return Mention(name, None if words.hedged else value, all(noun for *_, noun in found))

    def _amount(self, piece: str, words: _Words) -> Mention | None:
        figures = _NUMBER.findall(piece)
        for name, entity in self._entities.items():
            if entity and entity <= words.content and figures:
                shift = _FROM_TO.search(piece)
                if shift is None and len(figures) > 1:
                    return None
                figure = shift[1] if shift else figures[0]
                if "." in figure:
                    return None
                return Mention(name, int(figure.replace(",", "")), False)
        return None

    def _move(self, piece: str) -> tuple[str, str] | None:
        words = _words(piece)
        found = (
            {_root(word) for word in _UP} & words.content,
            ({_root(word) for word in _DOWN} & words.content),
        )
        if bool(found[0]) == bool(found[1]) or words.negative or words.hedged:
            return None
        for name, entity in self._entities.items():
            if entity and entity <= words.content:
                return name, "up" if found[0] else "down"
        return None


def proof(criterion: str, subject: Subject) -> Decision:
    """Decide a criterion of a response from the proof of its story.

    Args:
        criterion: ``E1`` to ``E5``.
        subject: As `contrafact.families.cobe.judging.subject_of` makes it.
    """
    if not subject.get("proof"):
        return Decision(None, "the story has no proof")
    asked = json.dumps([subject[key] for key in ("text", "queries", "proof")])
    return _decisions(asked, subject["response"])[criterion]


@lru_cache(maxsize=_KEPT)
def _opened(asked: str) -> tuple[Facts, FreeReader] | str:
    text, queries, given = json.loads(asked)
    try:
        facts = situation_of({"Variation text": text, "Query": queries, "Proof": given})
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        return f"the proof cannot be used: {error}"
    return facts, FreeReader(facts.reader)


@lru_cache(maxsize=_KEPT)
def _decisions(asked: str, response: str) -> Mapping[str, Decision]:
    opened = _opened(asked)
    if isinstance(opened, str):
        return {name: Decision(None, opened) for name in ("E1", "E2", "E3", "E4", "E5")}
    return decide(*opened, response)


def decide(facts: Facts, reader: FreeReader, response: str) -> dict[str, Decision]:
    """Return the decision on every criterion, E1 to E5.

    One clause that fails a criterion decides it; else one that could not be read, and may be about
    it, leaves it open.

    Args:
        facts: What the story is about.
        reader: Reads the response.
        response: What a model or a person wrote.
    """
    reading = reader.read(response)

    def verdict(faults: Iterable[str], doubts: Iterable[str], holds: str) -> Decision:
        fault = next(iter(faults), None)
        if fault is not None:
            return Decision(False, fault)
        doubt = next(iter(doubts), None)
        return Decision(True, holds) if doubt is None else Decision(None, doubt)

    def in_doubt(names: Iterable[str]) -> Iterator[str]:
        for name in names:
            for piece in reader.concerns(name, reading.unread)[:1]:
                yield f"cannot read '{piece}'"

    asserted = {name: reading.values(name) for name in reader.reader.wordings}
    missing = [name for name in facts.unchanged if not asserted[name]]
    open_ones = [name for name in missing if list(in_doubt([name]))]
    silent = [name for name in facts.changed if not asserted[name]]
    moves = {name: _ways(facts, reading, name) for name in facts.moved}
    read = len(reading.mentions)
    dark = ["little of it can be read"] if read < READ * (read + len(reading.unread)) else []
    return {
        "E1": verdict(
            [
                f"'{_clause(reader, name, value)}' does not stay"
                for name, value in facts.unchanged.items()
                if asserted[name] - {value, None}
            ]
            + [
                f"'{_clause(reader, name, facts.unchanged[name])}' is left out"
                for name in missing
                if name not in open_ones
            ],
            [
                *in_doubt(open_ones),
                *(f"'{name}' is left open" for name in facts.unchanged if None in asserted[name]),
            ],
            "all that must stay is there",
        ),
        "E2": verdict(
            (
                f"'{_clause(reader, name, value)}' is as it was"
                for name, value in facts.changed.items()
                if value in asserted[name]
            ),
            (
                *in_doubt(silent),
                *(
                    f"'{_clause(reader, name, not facts.changed[name])}' is not told"
                    for name in silent
                ),
            ),
            "all that must change has changed",
        ),
        "E3": verdict(
            false_claims(facts, reading.claims, _single(reading)),
            [*(f"cannot read what '{_shown(text)}' joins" for text in reading.loose), *dark],
            "every connector is right" if reading.claims else "no connector is wrong",
        ),
        "E4": verdict(
            (
                f"'{name}' does not go {way}"
                for name, way in facts.moved.items()
                if moves[name] - {way}
            ),
            (f"which way '{name}' goes is not told" for name in facts.moved if not moves[name]),
            "it goes the right way",
        ),
        "E5": verdict(
            (
                f"'{_clause(reader, name, value)}' is denied"
                for name, value in facts.implied.items()
                if asserted[name] - {value, None}
            ),
            [*in_doubt(name for name in facts.implied if not asserted[name]), *dark],
            "nothing that is implied is denied",
        ),
    }


def _ways(facts: Facts, reading: FreeReading, name: str) -> set[str]:
    before = facts.proof.facts[name]
    found = set(reading.moves.get(name, ()))
    for now in reading.values(name):
        if isinstance(now, int) and isinstance(before, int):
            found.add("up" if now > before else "down" if now < before else "nowhere")
    return found


def _single(reading: FreeReading) -> dict[str, Value | None]:
    found: dict[str, set[Value | None]] = {}
    for one in reading.mentions:
        found.setdefault(one.name, set()).add(one.value)
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _shown(part: str) -> str:
    return " ".join(re.sub(rf"{MARK}\d+{MARK}", "…", part.replace(_DARK, "")).split())


def _clause(reader: FreeReader, name: str, value: Value) -> str:
    forms = reader.reader.wordings[name]
    return str(forms["true" if value else "false"]["clauses"][0])
