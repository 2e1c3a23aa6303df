"""Reading a text back: which values it asserts, and what its connectors say of causes.

Nothing here is shared with `telling`: the text is searched for the clauses and noun phrases of the
template, and the words between them are read by rules for English connectors.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from contrafact.families.cobe.synth.template import Asserted, Phrase, Template, Words

__all__ = ["Claim", "Lexicon", "Mention", "Reading", "read"]

_NUMBER = re.compile(r"\d[\d,]*")
_MARK = "\x00"
_CAUSE = {True: ("because of", "due to", "because", "since")}
_CAUSE[False] = ("in spite of", "even though", "although", "despite")
_LINK = {
    True: (
        *("for that reason", "because of this", "as a result", "consequently", "accordingly"),
        "therefore",
    ),
    False: (
        *("in spite of this", "despite this", "nevertheless", "nonetheless", "all the same"),
        "even so",
    ),
}
_BETWEEN = {True: ("and so", "so"), False: ("but", "yet")}
_CUES = {
    cue: (place, follows)
    for place, table in (("cause", _CAUSE), ("link", _LINK), ("between", _BETWEEN))
    for follows, cues in table.items()
    for cue in cues
}
_TOKEN = re.compile(
    rf"{_MARK}(\d+){_MARK}|\b({'|'.join(sorted(_CUES, key=len, reverse=True))})\b|(,)"
)
_SENTENCE = re.compile(r"[.!?:\n]+")


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a text asserts something.

    Attributes:
        name: The variable, told or latent.
        asserted: What is said of it.
        noun: Whether it is only referred to by a noun phrase.
    """

    name: str
    asserted: Asserted
    noun: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """What a connector says: that an effect follows from a cause, or comes in spite of it."""

    cause: Mention
    effect: Mention
    follows: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says.

    Attributes:
        mentions: Everything it asserts, in its order.
        claims: What its connectors say.
        loose: Connectors that join nothing.
    """

    mentions: tuple[Mention, ...]
    claims: tuple[Claim, ...]
    loose: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    head: str
    tail: str | None  # after the number, where there is one
    name: str
    value: str
    beyond: bool
    noun: bool


class Lexicon:
    """All phrases of one story, to be searched for; what was read once is kept."""

    def __init__(self, template: Template, words: Words) -> None:
        self.words = words
        self.entries = tuple(_entries(template, words))
        self._read: dict[str, _Sentence] = {}

    def sentence(self, text: str) -> "_Sentence":
        """Return what a sentence says. The answers of a story have most sentences in common."""
        if text not in self._read:
            self._read[text] = _Sentence(*_masked(self, text))
        return self._read[text]


def read(lexicon: Lexicon, text: str) -> Reading:
    """Return what a text asserts of the variables, and what its connectors claim."""
    said: list[Mention] = []
    claims: list[Claim] = []
    loose: list[str] = []
    before: list[Mention] = []
    for part in _SENTENCE.split(text):
        sentence = lexicon.sentence(part)
        if sentence.said:
            said += sentence.said
            sentence.conclude(before, claims, loose)
            before = sentence.conclusions
    return Reading(tuple(said), tuple(claims), tuple(loose))


def _masked(lexicon: Lexicon, text: str) -> tuple[str, tuple[Mention, ...]]:
    """Return a sentence with marks for what it mentions, and the mentions."""
    lowered = text.lower()
    pieces, last = [], 0
    found = _mentions(lexicon, lowered)
    for index, (start, end, _) in enumerate(found):
        pieces += [lowered[last:start], f"{_MARK}{index}{_MARK}"]
        last = end
    return "".join([*pieces, lowered[last:]]), tuple(mention for _, _, mention in found)


def _mentions(lexicon: Lexicon, lowered: str) -> list[tuple[int, int, Mention]]:
    """Return every mention with its start and end; of two that overlap, the earlier and longer."""
    found = []
    for entry in lexicon.entries:
        start = lowered.find(entry.head)
        while start >= 0:
            end, number = start + len(entry.head), None
            if entry.tail is not None:
                digits = _NUMBER.match(lowered, end)
                fits = digits is not None and lowered.startswith(entry.tail, digits.end())
                if digits is not None and fits:
                    number = int(digits[0].replace(",", ""))
                    end = digits.end() + len(entry.tail)
            if (entry.tail is None or number is not None) and _whole(lowered, start, end):
                asserted = Asserted(entry.value, number, entry.beyond)
                found.append((start, end, Mention(entry.name, asserted, entry.noun)))
            start = lowered.find(entry.head, start + 1)
    found.sort(key=lambda hit: (hit[0], -hit[1]))
    kept: list[tuple[int, int, Mention]] = []
    for hit in found:
        if not kept or hit[0] >= kept[-1][1]:
            kept.append(hit)
    return kept


@dataclass
class _Sentence:
    """One sentence: which mentions are causes under a connector, and which stand by themselves.

    "because X" and "although X" govern what follows them up to a comma; "so" and "but" stand
    between what is said before them and after; "as a result" and "even so" look back to the
    sentence before, or to what is said before them in the same one.
    """

    text: str
    said: tuple[Mention, ...]
    governed: list[tuple[Mention, bool]] = field(default_factory=list)
    early: list[Mention] = field(default_factory=list)
    late: list[Mention] = field(default_factory=list)
    between: bool | None = None
    back: bool | None = None
    loose: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        governor: tuple[bool, str] | None = None
        used = True
        for token in _TOKEN.finditer(self.text):
            if token[1] is not None:
                mention = self.said[int(token[1])]
                used = True
                if governor:
                    self.governed.append((mention, governor[0]))
                else:
                    (self.early if self.between is None else self.late).append(mention)
            elif token[3] is not None:
                governor = None if used else governor
            else:
                place, follows = _CUES[token[2]]
                if not used:
                    self.loose.append(token[2])
                governor = (follows, token[2]) if place == "cause" else None
                used = place != "cause"
                if place == "link" and not self.early:
                    self.back = follows
                elif place != "cause":
                    self.between = follows

    @property
    def conclusions(self) -> list[Mention]:
        """What the sentence says by itself, not as a cause."""
        return self.late if self.between is not None else self.early

    def conclude(self, before: list[Mention], claims: list[Claim], loose: list[str]) -> None:
        """Add what the sentence claims, given what the one before it concluded."""
        effects = self.conclusions
        causes = list(self.governed)
        if self.between is not None:
            causes += [(mention, self.between) for mention in self.early]
        if self.back is not None:
            causes += [(mention, self.back) for mention in before]
            if not before:
                loose.append(self.text)
        loose += self.loose
        if causes and not effects:
            loose.append(self.text)
        claims += [Claim(cause, effect, kind) for effect in effects for cause, kind in causes]


def _whole(text: str, start: int, end: int) -> bool:
    return not (start and text[start - 1].isalnum()) and not text[end : end + 1].isalnum()


def _entries(template: Template, words: Words) -> Iterator[_Entry]:
    for name, told in template.told.items():
        for value, phrase in told.clauses.items():
            yield _entry(phrase, words, name, value)
        for value, phrase in told.beyond.items():
            yield _entry(phrase, words, name, value, beyond=True)
        for value, noun in told.nouns.items():
            yield _Entry(noun.format_map(words).lower(), None, name, value, False, True)
    for name, latent in template.latents.items():
        for value, phrase in latent.clauses.items():
            yield _entry(phrase, words, name, value)


def _entry(phrase: Phrase, words: Words, name: str, value: str, *, beyond: bool = False) -> _Entry:
    text = phrase.said({**words, "n": _MARK}).lower()
    head, mark, tail = text.partition(_MARK)
    return _Entry(head, tail if mark else None, name, value, beyond, False)
