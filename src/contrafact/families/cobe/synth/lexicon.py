"""Lexicons: kinds of events with their wordings, and the scenes in which events can meet.

A scene's events have typed roles: a kind, which brings the wordings, and a rank, which says what
may cause what. So any graph that is drawn over a scene can be told as a plausible story. A lexicon
is a folder with ``kinds.toml``, ``scenes.toml`` and, if it has names of its own, ``words.toml``.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.records import DOMAINS

__all__ = [
    "MOST_RANK",
    "QUANTITY_WORDINGS",
    "Clause",
    "Event",
    "Kind",
    "Lexicon",
    "Noun",
    "Pair",
    "Quantity",
    "Scene",
    "bundled_lexicon",
    "handwritten_plots",
    "load_lexicon",
]

_ASIDES = "asides"  # the scene whose events may stand beside the plot of any other
MOST_RANK = 4
"""The highest rank of an event; quantities come after it."""
# A story, its answers and its criteria each need wordings that the others do not use.
_LEAST_WORDINGS, _LEAST_SHIELDS = 5, 3
_VERB = re.compile(r"<([^<>|]+)(?:\|([^<>|]+))?>")
_LEFT_OUT = re.compile(r"\[[^\]]*\]")
_SLOT = re.compile(r"\{(\w*)\}")
_BANNED = re.compile(r"\bhad\b|[.,;:!?\n]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in the past tense with a slot ``{x}``, which can also be put as a hypothesis."""

    stated: str
    supposed: str

    @classmethod
    def of(cls, text: str) -> "Clause":
        """Read ``{x} <broke|broken> down``: the verb as it is stated, and its participle."""
        verb = _VERB.search(text)
        if verb is None:
            return cls(text, "")
        before, after = text[: verb.start()], text[verb.end() :]
        return cls(f"{before}{verb[1]}{after}", f"{before}had {verb[2] or verb[1]}{after}")


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun phrase that refers back, with its entity and, where that is plain, without."""

    whole: str
    short: str

    @classmethod
    def of(cls, text: str) -> "Noun":
        """Read ``the delay[ of {x}]``: what stands in brackets is left out of the short form."""
        return cls(text.replace("[", "").replace("]", ""), _LEFT_OUT.sub("", text))


Pair = tuple[Clause, Clause]
"""How a thing is told where there is no trouble, and where there is."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of events.

    Attributes:
        wordings: Pairs of clauses, without trouble and with it.
        nouns: Pairs of noun phrases that refer back to what was told, in the form of `Noun.of`.
        shields: Pairs of clauses: what keeps trouble away is not there, or is; none where the
            kind has no such thing.
        spares: Kinds of events that it cannot trouble.
        never_with: Kinds of events that no story tells beside it.
    """

    name: str
    wordings: tuple[Pair, ...]
    nouns: tuple[tuple[str, str], ...]
    shields: tuple[Pair, ...]
    spares: frozenset[str] = frozenset()
    never_with: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that goes well or not; the entity fills ``{x}``, and causes have a lower rank."""

    kind: Kind
    rank: int
    entity: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is told in numbers.

    Attributes:
        entity: What is counted or measured.
        unit: Its unit; empty where the entity says it.
        rises: Whether trouble makes it more.
        least: Its smallest value, about.
        step: What trouble adds or takes away, about.
    """

    entity: str
    unit: str
    rises: bool
    least: int
    step: int


QUANTITY_WORDINGS = tuple(
    Clause.of(text)
    for text in (
        "{x} <came|come> to {n}{unit}",
        "{x} <was|been> {n}{unit}",
        "{x} <stood|stood> at {n}{unit}",
        "{x} <worked> out at {n}{unit}",
        "{x} <turned> out to be {n}{unit}",
    )
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What there is in one place of one domain."""

    name: str
    domain: str
    events: tuple[Event, ...]
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Scenes, events beside the plot, and lists of names."""

    scenes: tuple[Scene, ...]
    side_events: tuple[Event, ...]
    names: Mapping[str, tuple[str, ...]]


@cache
def bundled_lexicon() -> Lexicon:
    """Return the lexicon that comes with the package."""
    with as_file(files("contrafact.families.cobe.synth").joinpath("lexicon")) as folder:
        return load_lexicon(folder)


def load_lexicon(folder: str | Path) -> Lexicon:
    """Return the lexicon of a folder.

    Raises:
        InputError: A file is missing or unreadable, or something in it is wrong; the message names
            file and key.
    """
    folder = Path(folder)
    names = folder / "words.toml"
    if not names.exists():
        names = Path(__file__).parent / "words.toml"
    pools = {key: tuple(words) for key, words in _toml(names).items()}
    kinds = {}
    path = folder / "kinds.toml"
    for name, fields in _toml(path).items():
        try:
            kinds[name] = _kind(name, fields)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise InputError(
                f"kind '{name}': {error}", file=path, hint="see docs/synth-private.md"
            ) from None
    path = folder / "scenes.toml"
    scenes: list[Scene] = []
    side_events: tuple[Event, ...] = ()
    for name, fields in _toml(path).items():
        try:
            events = tuple(_event(one, kinds, pools) for one in fields["events"])
            if name == _ASIDES:
                side_events = events
                continue
            if fields["domain"] not in DOMAINS:
                raise ValueError(f"the domain is '{fields['domain']}', not one of the seven")
            quantities = tuple(_quantity(one, pools) for one in fields["quantities"])
            scenes.append(Scene(name, fields["domain"], events, quantities))
            _check_ranks(events)
        except KeyError as error:
            raise InputError(
                f"scene '{name}': {error} is missing or unknown", file=path, hint="add it"
            ) from None
        except (TypeError, ValueError) as error:
            raise InputError(
                f"scene '{name}': {error}", file=path, hint="see docs/synth-private.md"
            ) from None
    if not scenes:
        raise InputError("has no scenes", file=path, hint="add one for each domain")
    return Lexicon(tuple(scenes), side_events, pools)


def handwritten_plots() -> dict[str, dict[str, Any]]:
    """Return the plots that were written by hand, by name, as their files have them.

    Each has ``domain``, ``graph``, ``words`` (what fills the slots of its phrases), ``told`` (for
    each value of a variable a clause with its verb in ``<finite|participle>``, and a noun phrase),
    ``latent`` (facts that are never told) and ``causes`` (how each effect follows).
    """
    folder = files("contrafact.families.cobe.synth").joinpath("handwritten")
    found = {
        one.name.removesuffix(".toml"): tomllib.loads(one.read_text(encoding="utf-8"))
        for one in folder.iterdir()
        if one.name.endswith(".toml")
    }
    return dict(sorted(found.items()))


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise InputError("cannot be read", file=path, hint="a lexicon needs this file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not readable as TOML: {error}", file=path) from None


def _kind(name: str, fields: Mapping[str, Any]) -> Kind:
    unknown = fields.keys() - {"wordings", "nouns", "shield", "spares", "plural", "never_with"}
    if unknown:
        raise ValueError(f"'{min(unknown)}' is not known")
    wordings = tuple(_pair(one, hypothesis=True) for one in fields["wordings"])
    if len(wordings) < _LEAST_WORDINGS:
        raise ValueError(f"there are {len(wordings)} wordings of at least {_LEAST_WORDINGS}")
    shields = tuple(_pair(one, hypothesis=False) for one in fields.get("shield", ()))
    if shields and len(shields) < _LEAST_SHIELDS:
        raise ValueError(f"there are {len(shields)} shields of at least {_LEAST_SHIELDS}")
    nouns = tuple((str(well), str(trouble)) for trouble, well in fields["nouns"])
    if len(nouns) < 2:
        raise ValueError("there are fewer than two pairs of nouns")
    flat = [clause.stated for pair in (*wordings, *shields) for clause in pair]
    if len(set(flat)) != len(flat):
        raise ValueError("two clauses read alike")
    spares, never_with = (frozenset(fields.get(key, ())) for key in ("spares", "never_with"))
    return Kind(name, wordings, nouns, shields, spares, never_with)


def _pair(texts: Any, *, hypothesis: bool) -> Pair:
    trouble, well = texts
    for text in (trouble, well):
        if set(_SLOT.findall(text)) != {"x"}:
            raise ValueError(f"'{text}' needs the slot {{x}} and no other")
        if hypothesis and (len(_VERB.findall(text)) != 1 or _BANNED.search(_VERB.sub(" ", text))):
            raise ValueError(f"'{text}' needs one verb in <…>, no 'had' and no mark")
    return Clause.of(well), Clause.of(trouble)


def _entity(text: str, pools: Mapping[str, Any]) -> str:
    for slot in _SLOT.findall(text):
        if slot not in pools:
            raise ValueError(f"'{text}' has the slot {{{slot}}}, no list of words.toml")
    if _BANNED.search(text):
        raise ValueError(f"'{text}' has a mark or the word 'had'")
    return text


def _event(given: Any, kinds: Mapping[str, Kind], pools: Mapping[str, Any]) -> Event:
    kind, rank, entity = given
    if not isinstance(rank, int) or not 0 <= rank <= MOST_RANK:
        raise ValueError(f"the rank of '{entity}' is not 0 to {MOST_RANK}")
    return Event(kinds[kind], rank, _entity(entity, pools))


def _quantity(given: Any, pools: Mapping[str, Any]) -> Quantity:
    entity, unit, way, least, step = given
    if way not in ("up", "down") or not isinstance(least, int) or not isinstance(step, int):
        raise ValueError(f"'{entity}' needs a way, up or down, and two whole numbers")
    if least < 2 or step < 2:
        raise ValueError(f"the numbers of '{entity}' begin at 2")
    return Quantity(_entity(entity, pools), unit, way == "up", least, step)


def _check_ranks(events: tuple[Event, ...]) -> None:
    for rank in range(MOST_RANK + 1):
        if sum(event.rank == rank for event in events) < 2:
            raise ValueError(f"there are fewer than two events of rank {rank}")
    if len({event.entity for event in events}) != len(events):
        raise ValueError("two events have one entity")
