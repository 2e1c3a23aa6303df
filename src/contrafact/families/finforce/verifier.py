"""The verifier ``rules``: decides what a counterfactual's words decide, and leaves the rest open.

FIN-FORCE, section 3.5 and A.7. Forward compatibility fails where a text has nothing to do with its
headline, or denies it; directionality holds or fails by the balance of good and bad news that the
text has and its headline does not. What these rules get right is measured in ``docs/verifiers.md``;
what they cannot see (an implausible turn, a small one) they do not judge.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib.resources import files

from contrafact.judges.verifier import Decision, Subject
from contrafact.records import CRITERIA
from contrafact.text.tokens import stem
from contrafact.text.words.terms import base_forms

__all__ = [
    "CLEAR",
    "DENIED",
    "REACH",
    "RELATED",
    "REVERSED",
    "Polarity",
    "balance",
    "plain",
    "polarity",
    "rules",
    "signs",
]

CLEAR = 1.0
"""The balance of good against bad news from which a side is decided (chosen on one half of the
published references, measured on the other)."""

DENIED = 0.5
"""Share of a headline's content words that a clause with a denial has, from which it denies the
headline; from half of it on, it may (ours)."""

REVERSED = 0.33
"""Share of the content words of a headline's first clause that a text's has, from which an opposite
act or movement there may reverse the headline. It is never sure: of eight published references
where it was 0.5, half spoke of a later time (ours)."""

RELATED = (0.15, 0.25)
"""Share of the shorter text's content words that both have: with less than the first nothing joins
them, with less than the second little (on one half of the published references 0.4% and 0.8% of
counterfactuals lie below, 96% and 99% of those of other headlines)."""

REACH = 3
"""Words within which one word turns another round (ours)."""

_WORD = re.compile(r"[A-Za-z][\w'&-]*")
_CLAUSE = re.compile(
    r"[,;:|.!?()]|\s[-–—]\s|\b(?:as|while|amid|and|but|after|before|ahead|despite)\b"
)
_SOURCE = re.compile(r"\s[-–—|]\s(?:[^\s|]+\s?){1,4}\Z")
_SENTENCE = re.compile(r"[;:.!?]+\s|\s[-–—]\s")
_ENDINGS = (
    ("ies", ("y",)), ("ied", ("y",)), ("es", ("e",)), ("s", ("",)), ("ed", ("", "e")),
    ("ing", ("", "e")), ("ly", ("",)), ("er", ("", "e")), ("est", ("", "e")),
)  # fmt: skip
_SIBILANTS = ("s", "x", "z", "ch", "sh", "o")
_NEGATION = frozenset(("not", "no", "never", "without", "neither", "nor", "none", "cannot"))


@dataclass(frozen=True)
class Polarity:
    """The word lists, in plain forms."""

    good: frozenset[str]
    bad: frozenset[str]
    up: frozenset[str]
    down: frozenset[str]
    burden: frozenset[str]
    relieves: frozenset[str]
    spoils: frozenset[str]
    denials: frozenset[str]
    starts: frozenset[str]
    stops: frozenset[str]
    function: frozenset[str]

    @cached_property
    def all(self) -> frozenset[str]:
        """Every word of every list."""
        return frozenset().union(*(getattr(self, one.name) for one in fields(self)))


@cache
def polarity() -> Polarity:
    """Return the word lists of ``polarity.toml``."""
    text = (files("contrafact.families.finforce") / "polarity.toml").read_text(encoding="utf-8")
    return Polarity(**{name: frozenset(ws.split()) for name, ws in tomllib.loads(text).items()})


@lru_cache(maxsize=20_000)
def plain(word: str) -> str:
    """Return the form in which the lists have a word; the word itself where they have none."""
    known = polarity().all
    word = word.removesuffix("'s").removesuffix("'")
    if word in known:
        return word
    for ending, puts in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            root = word[: -len(ending)]
            for put in puts:
                if root + put in known:
                    return root + put
            if ending == "es" and root.endswith(_SIBILANTS) and root in known:
                return root
            if ending in ("ed", "ing", "er") and root[-1:] == root[-2:-1] and root[:-1] in known:
                return root[:-1]
    base = base_forms().get(word, word)
    return base if base in known else word


@lru_cache(maxsize=4096)
def signs(text: str) -> tuple[tuple[str, float], ...]:
    """Return the words of a text that are good (+1) or bad (-1) news, in their order."""
    found: list[tuple[str, float]] = []
    for clause in _CLAUSE.split(text.replace("’", "'")):
        words = [word.casefold() for word in _WORD.findall(clause)]
        found += _clause_signs(words, [plain(word) for word in words])
    return tuple(found)


def _clause_signs(words: list[str], forms: list[str]) -> Iterator[tuple[str, float]]:
    lists = polarity()
    moved: set[int] = set()
    for i, one in enumerate(forms):
        move = (one in lists.up) - (one in lists.down)
        if not move or (one in lists.burden and one not in lists.bad):
            continue
        # What moves stands before it in the clause, or just after.
        near = [j for j in range(min(len(forms), i + REACH + 1)) if j != i]
        burdens = [j for j in near if forms[j] in lists.burden]
        burdens += [j for j in near if i < j <= i + 2 and forms[j] in lists.bad]
        if not burdens and one in lists.good | lists.bad:
            continue
        moved |= {i, *burdens}
        sign = -move if burdens else move
        yield one, float(-sign if _denied(words, i) else sign)
    for i, one in enumerate(forms):
        sign = (one in lists.good) - (one in lists.bad)
        if i in moved or not sign:
            continue
        before = forms[max(0, i - REACH) : i]
        turns = lists.relieves if sign < 0 else lists.spoils
        turned = any(other in turns and other != one for other in before)
        yield one, float(-sign if turned != _denied(words, i) else sign)


def _denied(words: list[str], i: int) -> bool:
    before = words[max(0, i - REACH) : i]
    return any(word in _NEGATION or word.endswith("n't") for word in before)


def balance(headline: str, text: str) -> float:
    """Return good against bad news that a text has besides its headline's.

    A word that the headline has as well, with the same sign, says nothing new.
    """
    old = list(signs(headline))
    total = 0.0
    for one in signs(text):
        if one in old:
            old.remove(one)
        else:
            total += one[1]
    return total


def rules(criterion: str, subject: Subject) -> Decision:
    """Decide a criterion of a counterfactual by its words.

    Args:
        criterion: One of `contrafact.records.CRITERIA`; any other is left undecided.
        subject: As `contrafact.families.finforce.judging.subject_of` makes it.
    """
    headline, side, text = subject["headline"], subject["side"], subject["text"]
    if criterion == CRITERIA[0]:
        return _compatible(headline, text)
    if criterion == CRITERIA[1]:
        return _directed(headline, side, text)
    return Decision(None, f"no rule decides '{criterion}'")


def _directed(headline: str, side: str, text: str) -> Decision:
    if _content(headline) == _content(text):
        return Decision(False, "it says what the headline says")
    found = balance(headline, text) * (1 if side == "opportunity" else -1)
    old = list(signs(headline))
    new = [one for one in signs(text) if one not in old]
    shown = ", ".join(f"{word} {'+' if sign > 0 else '-'}" for word, sign in new) or "nothing"
    if abs(found) < CLEAR:
        return Decision(None, f"good and bad news balance ({shown})")
    return Decision(found > 0, f"what is new: {shown}")


def _compatible(headline: str, text: str) -> Decision:
    wanted, has = _content(headline), _content(text)
    if not has:
        return Decision(False, "there is no text")
    if has <= wanted:
        return Decision(None, "it says what the headline says")
    shared = len(wanted & has) / max(1, min(len(wanted), len(has)))
    names = _names(headline) & _names(text)
    if shared < RELATED[0] and not names:
        return Decision(False, "nothing of the headline is in it")
    if shared < RELATED[1] and not names:
        return Decision(None, "little of the headline is in it")
    for clause in _SENTENCE.split(text.replace("’", "'")):
        words = [word.casefold() for word in _WORD.findall(clause)]
        content = _content(clause)
        denied = [
            word
            for word in words
            if word in _NEGATION or word.endswith("n't") or plain(word) in polarity().denials
        ]
        if not denied:
            continue
        repeated = len(content & wanted) / max(1, len(wanted))
        sure = any(word in _NEGATION or word.endswith("n't") for word in denied)
        if sure and repeated >= DENIED:
            return Decision(False, f"it denies the headline ('{denied[0]}')")
        if repeated >= DENIED / 2:
            return Decision(None, f"'{denied[0]}' may deny the headline")
    if _reversed(headline, text) >= REVERSED:
        return Decision(None, "it may reverse the headline")
    return Decision(True, "it speaks of the headline's event and denies nothing")


def _reversed(headline: str, text: str) -> float:
    """Return how much of a headline's first clause a text's repeats with the event turned round."""
    first, says = (_CLAUSE.split(_body(one).replace("’", "'"))[0] for one in (headline, text))
    event, stated = _acts(first), _acts(says)
    if not any(event[kind] * stated[kind] < 0 for kind in event):
        return 0.0
    wanted = _content(first)
    return len(wanted & _content(says)) / max(1, len(wanted))


def _acts(clause: str) -> dict[str, int]:
    """Return whether a clause has something begin or end, and move up or down; 0 for both."""
    lists = polarity()
    forms = [plain(word.casefold()) for word in _WORD.findall(clause)]
    kinds = {"act": (lists.starts, lists.stops), "move": (lists.up, lists.down)}
    return {
        kind: any(one in does for one in forms) - any(one in undoes for one in forms)
        for kind, (does, undoes) in kinds.items()
    }


@lru_cache(maxsize=4096)
def _names(text: str) -> frozenset[str]:
    """Return the stems of what is capitalised within a text that is not capitalised throughout."""
    words = _WORD.findall(_body(text).replace("’", "'"))
    small = sum(word[0].islower() for word in words)
    if small < len(words) / 4:
        return frozenset()
    return frozenset(
        stem(word.casefold().removesuffix("'s"))
        for word in words
        if word[0].isupper() and len(word) > 2 and word.casefold() not in polarity().function
    )


def _body(text: str) -> str:
    """Return a headline without the source at its end."""
    return _SOURCE.sub("", text)


@lru_cache(maxsize=4096)
def _content(text: str) -> frozenset[str]:
    text = _body(text)
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(text.replace("’", "'")))
    return frozenset(
        stem(word) for word in words if word not in polarity().function and len(word) > 1
    )
