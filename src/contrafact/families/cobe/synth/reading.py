"""Reading a text by the wordings of a file: what it mentions, and what its connectors claim."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contrafact.causal.model import Value

NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+")
FIGURE = "{n}"
"""Stands for the number in a wording of a quantity."""
_MARK = "\x00"  # stands on both sides of the index of a mention, in place of its words
WAYS = {"below": "lower", "above": "higher"}
"""What a comparison says of a number, and the word for it."""
SENTENCE_END = re.compile(r"[.!?:\n]+")

_CAUSE = {
    True: ("because of", "due to", "because", "since"),
    False: ("in spite of", "even though", "although", "though", "despite"),
}
_LINK = {
    True: (
        *("for that reason", "because of this", "as a result", "consequently", "accordingly"),
        *("therefore", "that is why", "for this reason", "as a consequence", "thus", "hence"),
    ),
    False: (
        *("in spite of this", "despite this", "nevertheless", "nonetheless", "all the same"),
        *("even so", "however"),
    ),
}
_BETWEEN = {True: ("and so", "so"), False: ("but", "yet")}
CUES = {
    cue: (place, follows)
    for place, table in (("cause", _CAUSE), ("link", _LINK), ("between", _BETWEEN))
    for follows, cues in table.items()
    for cue in cues
}
"""By connector, where its cause stands and whether it says that the effect follows."""
_TOKEN = re.compile(
    rf"{_MARK}(\d+){_MARK}|\b({'|'.join(sorted(CUES, key=len, reverse=True))})\b|(,)|\b(whether)\b"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A variable that a text mentions, with the value that it asserts.

    ``value`` is None where the text leaves it open, and of a quantity that is compared with a
    number "below 204" or "above 204"; ``noun`` marks a noun phrase, which refers to what is told
    elsewhere.
    """

    name: str
    value: Value | None
    noun: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """What a connector says: that an effect follows from causes, or comes in spite of them.

    ``anaphoric``: The connector opens a sentence ("Even so, …"), and may mean more than the
    sentence before it.
    """

    causes: tuple[Mention, ...]
    effect: Mention
    follows: bool
    anaphoric: bool = False


def left_open(mention: Mention) -> Mention:
    return replace(mention, value=None)


def with_number(mention: Mention, number: int) -> Mention:
    """Return a mention of a quantity with its number, or with the number it is compared with."""
    way = str(mention.value).split()[0]
    return replace(mention, value=f"{way} {number}" if way in WAYS else number)


def comparison(forms: Mapping[str, Any], way: str) -> str:
    """Return the clause that compares a quantity with a number, as criteria have it."""
    unit = str(forms.get("unit", ""))
    return f"{forms['entity']} was {WAYS[way]} than {FIGURE} {unit}".rstrip()


def is_whole(text: str, start: int, end: int) -> bool:
    return not (start and text[start - 1].isalnum()) and not text[end : end + 1].isalnum()


def masked(lowered: str, hits: list[tuple[int, int, Mention]]) -> tuple[str, tuple[Mention, ...]]:
    """Return a text with marks in place of what it mentions, and the mentions in their order.

    ``hits`` are start, end and mention of wordings. Where two overlap, the earlier counts, and the
    longer of two that begin together.
    """
    pieces: list[str] = []
    mentions: list[Mention] = []
    last = 0
    for start, end, mention in sorted(hits, key=lambda hit: (hit[0], -hit[1])):
        if start >= last:
            pieces += [lowered[last:start], f"{_MARK}{len(mentions)}{_MARK}"]
            mentions.append(mention)
            last = end
    return "".join([*pieces, lowered[last:]]), tuple(mentions)


class Sentence:
    """One sentence: which mentions are causes under a connector, and which stand by themselves.

    "because X" and "although X" govern what follows them up to a comma; "so" and "but" stand
    between what is said before and after them; "as a result" and "even so" look back to the
    sentence before, or to what is said before them in the same one. What comes after "whether" is
    left open.

    Attributes:
        mentions: Everything that it asserts or leaves open, in order.
        governed: The mentions under each connector of cause, and whether it says that the effect
            follows.
        loose: Connectors that govern nothing.
    """

    def __init__(self, text: str, mentions: Sequence[Mention]) -> None:
        self.text = text
        self.mentions: list[Mention] = []
        self.governed: list[tuple[list[Mention], bool]] = []
        self.loose: list[str] = []
        self._early: list[Mention] = []
        self._late: list[Mention] = []
        self._between: bool | None = None
        self._back: bool | None = None
        governor: list[Mention] | None = None
        used, hedged = True, False
        for token in _TOKEN.finditer(text):
            if token[1] is not None:
                used = True
                mention = mentions[int(token[1])]
                if hedged:
                    mention = left_open(mention)
                self.mentions.append(mention)
                if governor is not None:
                    governor.append(mention)
                elif not hedged:
                    (self._early if self._between is None else self._late).append(mention)
            elif token[4] is not None:
                hedged = True
            elif token[3] is not None:
                governor = None if used else governor
            else:
                place, follows = CUES[token[2]]
                if not used:
                    self.loose.append(token[2])
                governor = None
                if place == "cause":
                    governor = []
                    self.governed.append((governor, follows))
                used = place != "cause"
                if place == "link" and not self._early:
                    self._back = follows
                elif place != "cause":
                    self._between = follows

    @property
    def conclusions(self) -> list[Mention]:
        """What the sentence says by itself, not as a cause."""
        return self._late if self._between is not None else self._early

    def claims(self, before: Sequence[Mention], loose: list[str]) -> list[Claim]:
        """Return the claims of the sentence's connectors.

        ``before`` has the conclusions of the sentence before; connectors that join nothing are
        appended to ``loose``.
        """
        causes = [(tuple(group), follows, False) for group, follows in self.governed]
        if self._between is not None:
            causes.append((tuple(self._early), self._between, False))
        if self._back is not None:
            causes.append((tuple(before), self._back, True))
        loose += self.loose
        if causes and (not self.conclusions or not all(group for group, _, _ in causes)):
            loose.append(self.text)
            return []
        return [
            Claim(group, effect, kind, back)
            for effect in self.conclusions
            for group, kind, back in causes
        ]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says; ``loose`` has the connectors that join nothing."""

    mentions: tuple[Mention, ...]
    claims: tuple[Claim, ...]
    loose: tuple[str, ...]

    @property
    def values(self) -> dict[str, set[Value | None]]:
        """The values that are asserted of every variable mentioned."""
        values: dict[str, set[Value | None]] = {}
        for mention in self.mentions:
            values.setdefault(mention.name, set()).add(mention.value)
        return values


class Reader:
    """Reads texts by the ``wordings`` of one proof; readings are kept.

    Raises:
        ValueError: If two wordings read alike.
    """

    def __init__(self, wordings: Mapping[str, Any]) -> None:
        self.wordings = wordings
        self._supposed = {
            clause: (name, value)
            for name, value, words in worded_values(wordings)
            for clause in words.get("supposed", ())
        }
        self._mentions: dict[tuple[str, str, str], Mention] = {}
        for text, mention in mentioning(wordings):
            head, figure, tail = text.lower().partition(FIGURE)
            if "amounts" in wordings[mention.name] and not figure:
                raise ValueError(f"the wording '{text}' has no number")
            if (head, figure, tail) in self._mentions:
                raise ValueError(f"two wordings read alike: '{head}'")
            self._mentions[head, figure, tail] = mention
        self._readings: dict[str, Reading] = {}

    def read(self, text: str) -> Reading:
        if text not in self._readings:
            self._readings[text] = self._read(text)
        return self._readings[text]

    def _read(self, text: str) -> Reading:
        marked, mentioned = self.masked(text.lower())
        before: list[Mention] = []
        claims: list[Claim] = []
        loose: list[str] = []
        mentions: list[Mention] = []
        for part in SENTENCE_END.split(marked):
            sentence = Sentence(part, mentioned)
            if sentence.mentions:
                claims += sentence.claims(before, loose)
                before = sentence.conclusions
                mentions += sentence.mentions
        return Reading(tuple(mentions), tuple(claims), tuple(loose))

    def masked(self, lowered: str) -> tuple[str, tuple[Mention, ...]]:
        """Return a text with marks in place of what it mentions, and the mentions."""
        hits: list[tuple[int, int, Mention]] = []
        for (head, figure, tail), mention in self._mentions.items():
            start = lowered.find(head)
            while start >= 0:
                end = start + len(head)
                if figure:
                    digits = NUMBER.match(lowered, end)
                    if digits is not None and lowered.startswith(tail, digits.end()):
                        mention = with_number(mention, int(digits[0].replace(",", "")))
                        end = digits.end() + len(tail)
                    else:
                        end = -1
                if end > 0 and is_whole(lowered, start, end):
                    hits.append((start, end, mention))
                start = lowered.find(head, start + 1)
        return masked(lowered, hits)

    def intervention(self, query: str) -> dict[str, Value] | None:
        """Return what a query supposes; None where it is not in the words of the file."""
        rest = query.rstrip(" .")
        at = max(rest.find(" instead had "), rest.find(" occurred had "), rest.find(" happens if "))
        if at < 0:
            return None
        rest = re.sub(r"^ (?:instead had|occurred had|happens if) ", "", rest[at:])
        supposed: dict[str, Value] = {}
        while rest:
            for clause, (name, value) in self._supposed.items():
                form = next(
                    (f for f in (clause, clause.replace(" had ", " ", 1)) if rest.startswith(f)),
                    None,
                )
                if form is not None and name not in supposed:
                    rest = re.sub(r"^(?:, and |, | and )", "", rest[len(form) :])
                    supposed[name] = value
                    break
            else:
                return None
        return supposed


def worded_values(
    wordings: Mapping[str, Any],
) -> Iterator[tuple[str, bool, Mapping[str, Sequence[str]]]]:
    """Yield every event with each of its values, and what the file calls it then."""
    for name, forms in wordings.items():
        for word in () if "amounts" in forms else ("false", "true"):
            yield name, word == "true", forms[word]


def mentioning(wordings: Mapping[str, Any]) -> Iterator[tuple[str, Mention]]:
    """Yield every clause and noun phrase of a file, and what it mentions; `FIGURE` is a number."""
    for name, forms in wordings.items():
        for amount in forms.get("amounts", ()):
            yield amount, Mention(name, 0, False)
        for way in WAYS if "entity" in forms and "amounts" in forms else ():
            yield comparison(forms, way), Mention(name, way, False)
    for name, value, words in worded_values(wordings):
        for clause in words["clauses"]:
            yield clause, Mention(name, value, False)
        for noun in words.get("nouns", ()):
            yield noun, Mention(name, value, True)
