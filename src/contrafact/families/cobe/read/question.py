"""The question to a reader about a response, and the reading of its reply.

CoBe, section 3.2: what a response *tells* is read; what *follows* is decided by the causal model.
The reader is a language model that sees the response, the story for reference, and every fact of
the story with its two outcomes, in an order that is drawn. It sees neither the request nor which
outcome is right. It quotes the deciding words; an answer counts only if they are in the response.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from contrafact.causal.model import Value
from contrafact.families.cobe.read.told import ToldReading
from contrafact.families.cobe.synth.prove import Facts
from contrafact.families.cobe.synth.reading import Claim, Mention, is_whole
from contrafact.judges.replies import read_json_object
from contrafact.text.delimit import delimit

if TYPE_CHECKING:
    from contrafact.prompts import PromptPack, PromptTemplate

__all__ = [
    "KINDS",
    "OTHERS",
    "READ",
    "WAYS",
    "AskedFact",
    "asked_facts",
    "read_reply",
    "reader_prompt",
    "reader_template",
]

READ = "cobe/read"
"""The template of the question."""

WAYS = {"higher": "up", "lower": "down", "same": "nowhere"}
OTHERS = ("both", "open", "unsaid")
KINDS = {"because": True, "despite": False}
_GAP = re.compile(r"\s*(?:…|\.\.\.|\[…\])\s*")
_STOP = re.compile(r"[.!?]['\"]?(?: |$)")
_LEANS = re.compile(
    r"(?:so|thus|hence|therefore|then|still|yet|but|and|even so|nevertheless|however|instead|"
    r"because of|that|this|which|it)\b"
)
"""How a sentence begins that gives its reason or its contrast in the one before it."""
_ENDS = " .,;:!?\"'"
_MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A fact as the reader is asked about it.

    Attributes:
        label: Its name in the question, ``F1`` and on.
        name: Its variable.
        outcomes: The value of the variable by each answer that names one.
        shown: The values for the template.
    """

    label: str
    name: str
    outcomes: Mapping[str, Value]
    shown: Mapping[str, str]


def asked_facts(facts: Facts, response: str, attempt: int) -> list[AskedFact]:
    """Return the facts to ask about, in an order drawn by the response and the attempt.

    They are all facts that the story tells or implies; which outcome of an event comes first is
    drawn as well.
    """
    draw = Random(f"{attempt} {response}")
    names = [name for name in (*facts.text.told, *facts.implied) if name in facts.reader.wordings]
    draw.shuffle(names)
    asked = []
    for number, name in enumerate(names, 1):
        label, forms = f"F{number}", facts.reader.wordings[name]
        if "amounts" in forms:
            before = forms["amounts"][0].replace("{n}", f"{facts.proof.facts[name]:,}")
            shown = {"amount": forms["entity"], "before": before}
            asked.append(AskedFact(label, name, WAYS, {"label": label, **shown}))
            continue
        values = draw.sample((True, False), 2)
        first, second = (forms[str(value).lower()]["clauses"][0] for value in values)
        outcomes = dict(zip("AB", values, strict=True))
        shown = {"label": label, "a": first, "b": second}
        asked.append(AskedFact(label, name, outcomes, shown))
    return asked


def reader_template(pack: "PromptPack") -> "PromptTemplate":
    return pack.template(READ, required={"response", "facts"}, optional={"story"})


def reader_prompt(
    template: "PromptTemplate", story: str, response: str, asked: Sequence[AskedFact]
) -> str:
    """Return the question; an empty ``story`` leaves the story out."""
    values: dict[str, object] = {
        "response": delimit(response),
        "facts": [fact.shown for fact in asked],
        "story": delimit(story) if story else "",
    }
    return template.render(**{name: values[name] for name in template.variables})


def read_reply(
    reply: str, asked: Sequence[AskedFact], response: str, story: str = ""
) -> ToldReading | str:
    """Return the reading of a response in a reader's reply, or why the reply cannot be used.

    A fact is unread if its quoted words are not in the response or are its other outcome, or if
    it has two answers or an unknown one. If a link's words are not in the response, it is unclear
    what is joined; so it is if the link joins what is no fact, unless its sentence stands in the
    ``story`` too.
    """
    read = read_json_object(reply)
    if read.value is None:
        return f"the reader's reply: {read.invalid}"
    answers, links = read.value.get("facts"), read.value.get("links")
    if not isinstance(answers, list) or not isinstance(links, list):
        return "the reader's reply: 'facts' or 'links' is no list"
    source = _plain(response)
    told: dict[str, frozenset[Value | None]] = {}
    unread = {fact.name: "the reader gave no answer" for fact in asked}
    by_label = {fact.label: fact for fact in asked}
    seen: set[str] = set()
    for answer in answers:
        fact = by_label.get(str(answer.get("fact"))) if isinstance(answer, Mapping) else None
        if fact is None:
            return "the reader's reply: an answer to a fact that was not asked"
        if fact.label in seen:
            told.pop(fact.name, None)
            unread[fact.name] = "the reader answered twice"
            continue
        seen.add(fact.label)
        values = _values(fact, str(answer.get("holds")))
        words = answer.get("words")
        if values is None:
            unread[fact.name] = f"the reader answered '{str(answer.get('holds'))[:20]}'"
        elif values and not _quoted(words, source):
            unread[fact.name] = "the words that the reader quotes are not in the response"
        elif _says_other(fact, str(answer.get("holds")), str(words)):
            unread[fact.name] = "the words that the reader quotes are the other outcome"
        else:
            told[fact.name] = values
            del unread[fact.name]
    claims, unclear = _claims(links, by_label, told, source, _plain(story))
    return ToldReading(told, unread, tuple(claims), unclear)


def _values(fact: AskedFact, holds: str) -> frozenset[Value | None] | None:
    """Return the variable's values according to an answer; None if it does not answer the fact."""
    if holds in fact.outcomes:
        return frozenset((fact.outcomes[holds],))
    if holds == "both":
        ways = set(fact.outcomes.values())
        return frozenset(ways if len(ways) == 2 else ("up", "down"))
    return {"open": frozenset((None,)), "unsaid": frozenset()}.get(holds)


def _says_other(fact: AskedFact, holds: str, words: str) -> bool:
    """Return whether the quoted words are the clause of the outcome that was not named."""
    other = fact.shown.get({"A": "b", "B": "a"}.get(holds, ""))
    return other is not None and _plain(words).strip(_ENDS) == _plain(other)


def _claims(
    links: Sequence[Any],
    by_label: Mapping[str, AskedFact],
    told: Mapping[str, frozenset[Value | None]],
    source: str,
    story: str,
) -> tuple[list[Claim], str]:
    """Return the links between facts, and why it is unclear what is joined; empty if clear."""
    claims: list[Claim] = []
    unclear = ""
    for link in links:
        if not isinstance(link, Mapping) or link.get("kind") not in KINDS:
            unclear = unclear or "a link of the reader's reply cannot be read"
            continue
        causes, effect = link.get("causes"), link.get("effect")
        names = [*causes, effect] if isinstance(causes, list) and causes else []
        facts = [by_label.get(str(name)) for name in names]
        words = json.dumps(str(link.get("words"))[:60], ensure_ascii=False)
        if not _quoted(link.get("words"), source):
            unclear = unclear or f"the reader quotes a link that is not there: {words}"
        elif not names or None in facts:
            if not _from_story(str(link.get("words")), source, story):
                unclear = unclear or f"a link joins something that is no fact of the story: {words}"
        else:
            *before, after = (
                Mention(fact.name, _only(told.get(fact.name)), False)
                for fact in facts
                if fact is not None
            )
            claims.append(Claim(tuple(before), after, KINDS[str(link["kind"])]))
    return claims, unclear


def _from_story(words: str, source: str, story: str) -> bool:
    """Return whether a story has the sentence of these words, and it leans on no other sentence.

    Where the words stand more than once, this has to hold for each of their sentences.
    """
    places = [found.start() for found in re.finditer(re.escape(_plain(words).strip(_ENDS)), source)]
    return bool(places) and all(_in_story(place, source, story) for place in places)


def _in_story(place: int, source: str, story: str) -> bool:
    start = max((found.end() for found in _STOP.finditer(source, 0, place)), default=0)
    end = next((found.start() for found in _STOP.finditer(source, place)), len(source))
    return source[start:end] in story and not _LEANS.match(source, start)


def _only(values: frozenset[Value | None] | None) -> Value | None:
    return next(iter(values)) if values and len(values) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).lower().split())


def _quoted(words: object, source: str) -> bool:
    """Return whether a text holds these whole words in order; an ellipsis stands for a gap."""
    if not isinstance(words, str):
        return False
    parts = [part.strip(_ENDS) for part in _GAP.split(_plain(words))]
    parts = [part for part in parts if part]
    at = 0
    for part in parts:
        start = source.find(part, at)
        while start >= 0 and not is_whole(source, start, start + len(part)):
            start = source.find(part, start + 1)
        if start < 0:
            return False
        at = start + len(part)
    return bool(parts)
