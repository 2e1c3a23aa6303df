"""The library of causal rules: places, the events that can happen there, and what follows what.

A library is a folder with one TOML file for each place and, if it has names of its own,
``words.toml``. All rules are written by hand. An event happens or not, and has wordings for both;
under ``from`` it names the events that it follows, each with a sentence that states the rule. Rules
chain where they share an event (docs/synth-private.md).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.cobe.records import DOMAINS
from contrafact.files.config import read_toml

ANSWERS = (1, 2)
CRITERIA = 3
"""Which of an event's wordings, once drawn, serve answers and criteria; the story has the first."""
_WORDINGS, _SHIELDS = 4, 3
_VERB = re.compile(r"<([^<>|]+)(?:\|([^<>|]+))?>")
_SLOT = re.compile(r"\{(\w*)\}")
_BANNED = re.compile(
    r"\bhad\b|\b(?:so|but|yet|since|because|although|though|despite|whether|thus)\b|[.,;:!?\n\d]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in the past tense, which can also be put as a hypothesis."""

    stated: str
    supposed: str

    @classmethod
    def of(cls, text: str) -> "Clause":
        """Read ``the pump <broke|broken> down``: the verb as stated, and its participle."""
        verb = _VERB.search(text)
        if verb is None:
            return cls(text, "")
        before, after = text[: verb.start()], text[verb.end() :]
        return cls(f"{before}{verb[1]}{after}", f"{before}had {verb[2] or verb[1]}{after}")

    def filled(self, words: Mapping[str, str]) -> "Clause":
        return Clause(self.stated.format_map(words), self.supposed.format_map(words))


Pair = tuple[Clause, Clause]
"""The clauses that say that an event did not happen, and that it did."""

AMOUNTS = (
    "{x} came to {n}{unit}",
    "{x} was {n}{unit}",
    "{x} stood at {n}{unit}",
    "{x} turned out to be {n}{unit}",
)


@dataclass(frozen=True, slots=True)
class Link:
    """A rule: an event follows another.

    Attributes:
        rule: The sentence that states it; empty where the event needs all of its causes.
        unless: The same with what would hold the event back; empty where nothing would.
        shields: Clauses that say that this is not there, and that it is.
        nature: Whether it is a law of physics, chemistry or biology.
    """

    rule: str
    unless: str
    shields: tuple[Pair, ...]
    nature: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A rule about a number: the sentence that states it, and whether the number goes up."""

    rule: str
    up: bool


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens or not.

    Attributes:
        nouns: Noun phrases for its not happening and its happening.
        cause: What a rule calls it as a cause ("a power cut").
        effect: What a rule calls bringing it about ("stop the pump").
        topic: What a text calls it as the untold common cause of two others.
        joint: Sentences that state how its two causes bring it about, in place of what is put
            together from ``cause`` and ``effect``.
        together: Sentences on its two effects that tell of it as their untold common cause.
        both: Whether it needs all of its causes; else any of them brings it about.
        aside: Whether it has neither causes nor effects.
    """

    name: str
    wordings: tuple[Pair, ...]
    nouns: tuple[tuple[str, str], ...]
    cause: str
    effect: str
    topic: str
    joint: tuple[str, ...]
    together: tuple[str, ...]
    both: bool
    aside: bool
    links: Mapping[str, Link]


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is told as a number.

    ``unit`` is empty where ``what`` says it; ``step`` is about as much as an event adds or takes
    away. ``says`` are clauses with ``{n}`` for the number.
    """

    name: str
    what: str
    unit: str
    says: tuple[str, ...]
    least: int
    step: int
    links: Mapping[str, Move]


@dataclass(frozen=True, eq=False)
class Scene:
    """A place with what can happen there; ``then`` leads from its rules to what happened."""

    name: str
    domain: str
    openings: tuple[str, ...]
    then: tuple[str, ...]
    events: Mapping[str, Event]
    quantities: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Library:
    """Places, and lists of names."""

    scenes: tuple[Scene, ...]
    names: Mapping[str, tuple[str, ...]]


@cache
def bundled_library() -> Library:
    with as_file(files("contrafact.families.cobe.synth").joinpath("rules")) as folder:
        return load_library(folder)


def load_library(folder: str | Path) -> Library:
    """Return the library of a folder; an `InputError` names file and key of what is wrong."""
    folder = Path(folder)
    words = folder / "words.toml"
    if not words.exists():
        words = Path(__file__).parent / "words.toml"
    names = {slot: tuple(choices) for slot, choices in _toml(words).items()}
    paths = sorted(path for path in folder.glob("*.toml") if path.name != "words.toml")
    if not paths:
        found = "has no rules" if folder.is_dir() else "no such folder"
        raise InputError(found, file=folder, hint="name one with a .toml file for each scene")
    return Library(tuple(_scene(path, _toml(path), names) for path in paths), names)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path.read_text(encoding="utf-8"), path)
    except OSError:
        raise InputError("cannot be read", file=path, hint="a library needs this file") from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", file=path, hint="save it as UTF-8") from None


def _scene(path: Path, fields: Mapping[str, Any], names: Mapping[str, Any]) -> Scene:
    events: dict[str, Event] = {}
    quantities: dict[str, Quantity] = {}
    tables = {key: table for key, table in fields.items() if isinstance(table, dict)}
    key = ""  # what is being read, for the message of an error
    try:
        _check_slots(fields, names)
        for key, table in tables.items():
            if "what" in table:
                quantities[key] = _quantity(key, table)
            else:
                events[key] = _event(key, table)
        followed = {name: list(event.links) for name, event in events.items()}
        followed |= {name: list(quantity.links) for name, quantity in quantities.items()}
        for name, causes in followed.items():
            for cause in causes:
                if cause not in events:
                    key = name
                    raise ValueError(f"it follows '{cause}', which is not there")
        key = "domain"
        if fields["domain"] not in DOMAINS:
            raise ValueError(f"'{fields['domain']}' is not one of the seven")
        for event in events.values():
            key = event.name
            _check_told(event, events)
        key = "openings"
        openings = tuple(fields["openings"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"'{key}': {error}" + " is missing" * isinstance(error, KeyError)
        raise InputError(problem, file=path, hint="see docs/synth-private.md") from None
    then = tuple(fields.get("then", ()))
    return Scene(path.stem, fields["domain"], openings, then, events, quantities)


def _check_slots(value: Any, names: Mapping[str, Any]) -> None:
    if isinstance(value, str):
        for slot in _SLOT.findall(value):
            if slot not in names and slot != "n":
                raise ValueError(f"'{value}' has the slot {{{slot}}}, no list of words.toml")
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            _check_slots(part, names)


def _event(name: str, table: Mapping[str, Any]) -> Event:
    keys = {"says", "nouns", "cause", "effect", "topic", "joint", "together"}
    keys |= {"both", "aside", "from"}
    if unknown := table.keys() - keys:
        raise ValueError(f"'{min(unknown)}' is not known")
    wordings = tuple(map(_pair, table["says"]))
    if len(wordings) < _WORDINGS:
        raise ValueError(f"'says' has {len(wordings)} wordings; {_WORDINGS} are required")
    nouns = tuple((well, happened) for happened, well in table["nouns"])
    if len(nouns) < 2:
        raise ValueError("there are fewer than two pairs of nouns")
    links = {cause: _link(rule) for cause, rule in table.get("from", {}).items()}
    _check_apart([clause.stated for pair in wordings for clause in pair])
    both = bool(table.get("both", False))
    if not both and any(not link.rule for link in links.values()):
        raise ValueError("a link needs its rule")
    return Event(
        name=name,
        wordings=wordings,
        nouns=nouns,
        cause=table.get("cause", ""),
        effect=table.get("effect", ""),
        topic=table.get("topic", ""),
        joint=tuple(table.get("joint", ())),
        together=tuple(table.get("together", ())),
        both=both,
        aside=bool(table.get("aside", False)),
        links=links,
    )


def _check_told(event: Event, events: Mapping[str, Event]) -> None:
    """Raise a ValueError if a story could not tell what brings the event about, or what it does."""
    effects = [other for other in events.values() if event.name in other.links]
    if event.joint and len(event.links) != 2:
        raise ValueError("'joint' goes with two causes in 'from'")
    if event.together and len(effects) != 2:
        raise ValueError("'together' goes with an event that two others follow")
    if len(event.links) > 1 and not event.joint and not event.effect:
        raise ValueError("an event with two or more causes in 'from' needs 'joint' or 'effect'")
    named = [other for other in effects if len(other.links) > 1 and not other.joint]
    behind = [events[name] for name in event.links]
    if not event.cause and (named or any(one.topic and not one.together for one in behind)):
        raise ValueError("it needs a cause")


def _link(table: Mapping[str, Any]) -> Link:
    if unknown := table.keys() - {"rule", "unless", "shield", "nature"}:
        raise ValueError(f"'{min(unknown)}' is not known")
    shields = tuple((Clause.of(bare), Clause.of(there)) for bare, there in table.get("shield", ()))
    if bool(table.get("unless")) != bool(shields) or 0 < len(shields) < _SHIELDS:
        raise ValueError(f"'unless' goes with at least {_SHIELDS} pairs of 'shield'")
    _check_apart([clause.stated for pair in shields for clause in pair])
    nature = bool(table.get("nature", False))
    return Link(table.get("rule", ""), table.get("unless", ""), shields, nature)


def _pair(texts: Sequence[str]) -> Pair:
    happened, well = texts
    for text in (happened, well):
        if len(_VERB.findall(text)) != 1 or _BANNED.search(_VERB.sub(r"\1", text)):
            raise ValueError(f"'{text}' needs one verb in <…>, no 'had', connector, digit or mark")
    return Clause.of(well), Clause.of(happened)


def _check_apart(texts: Sequence[str]) -> None:
    if len(set(texts)) != len(texts):
        raise ValueError("two clauses read alike")


def _quantity(name: str, table: Mapping[str, Any]) -> Quantity:
    least, step = table["least"], table["step"]
    if not isinstance(least, int) or not isinstance(step, int) or least < 2 or step < 2:
        raise ValueError("'least' and 'step' are whole numbers from 2")
    links = {}
    for cause, move in table["from"].items():
        ((way, rule),) = move.items()
        if way not in ("up", "down"):
            raise ValueError(f"a rule is told under 'up' or 'down', not '{way}'")
        links[cause] = Move(rule, way == "up")
    says = tuple(table.get("says", AMOUNTS))
    if len(says) < _WORDINGS or not all("{n}" in text for text in says):
        raise ValueError(f"'says' are at least {_WORDINGS} clauses with {{n}} for the number")
    _check_apart(says)
    return Quantity(name, table["what"], table.get("unit", ""), says, least, step, links)
