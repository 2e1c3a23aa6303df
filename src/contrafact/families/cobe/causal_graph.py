"""A causal graph as a model writes it: JSON in, events and their descendants out.

The solver ``graph-first`` asks for it. It is checked as a graph (names, edges between names, no
cycle), not for being right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.causal.model import Graph
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import UNREADABLE, cause_of

__all__ = ["StoryGraph", "graph_schema", "read_graph"]

_MAX_EVENTS = 40


@dataclass(frozen=True)
class StoryGraph:
    """The events of a scenario, by name what it says of each, and what causes what.

    ``edges`` are pairs of names, cause and effect; ``intervened`` the events that the query sets.
    """

    events: Mapping[str, str]
    edges: tuple[tuple[str, str], ...]
    intervened: tuple[str, ...]

    @property
    def downstream(self) -> tuple[str, ...]:
        """What lies downstream of the intervention, itself left out, in the events' order."""
        parents: dict[str, list[str]] = {name: [] for name in self.events}
        for cause, effect in self.edges:
            # What is set from outside does not listen to its causes any more.
            if effect not in self.intervened:
                parents[effect].append(cause)
        found = Graph(parents).descendants(self.intervened)
        return tuple(name for name in self.events if name in found)

    @property
    def kept(self) -> tuple[str, ...]:
        """What is neither set nor downstream, and stays, in the events' order."""
        gone = {*self.intervened, *self.downstream}
        return tuple(name for name in self.events if name not in gone)

    def as_json(self) -> dict[str, Any]:
        """Return the graph as the log keeps it, with what was made of it."""
        return {
            "events": [{"name": name, "says": says} for name, says in self.events.items()],
            "edges": [{"cause": cause, "effect": effect} for cause, effect in self.edges],
            "intervened": list(self.intervened),
            "downstream": list(self.downstream),
            "kept": list(self.kept),
        }


def graph_schema() -> ResponseSchema:
    """Return the schema of a reply that `read_graph` reads."""
    text = JSONSchema(type="string")
    return ResponseSchema(
        name="causal_graph",
        json_schema=_object(
            events=_list(_object(name=text, says=text)),
            edges=_list(_object(cause=text, effect=text)),
            intervened=_list(text),
        ),
        strict=True,
    )


def read_graph(reply: str) -> tuple[StoryGraph | None, str | None]:
    """Return the graph in a reply, or the reason that there is none.

    Names are compared without regard to case and spaces at their ends.
    """
    read = read_json_object(reply)
    if read.value is None:
        why = str(read.invalid)
        return None, why if cause_of(why) != UNREADABLE else f"the graph is {why}"
    events: dict[str, str] = {}
    names: dict[str, str] = {}
    for one in _items(read.value, "events"):
        name = one.get("name") if isinstance(one, Mapping) else None
        if not isinstance(name, str) or not name.strip():
            return None, "an event of the graph has no name"
        if _folded(name) in names:
            return None, f"two events of the graph are called '{name[:40]}'"
        names[_folded(name)] = name.strip()
        events[name.strip()] = str(one.get("says") or "").strip()
    if len(events) < 2:
        return None, "the graph has fewer than two events"
    if len(events) > _MAX_EVENTS:
        return None, f"the graph has more than {_MAX_EVENTS} events"
    edges: dict[tuple[str, str], None] = {}
    for one in _items(read.value, "edges"):
        ends = [one.get("cause"), one.get("effect")] if isinstance(one, Mapping) else [None, None]
        known = [names.get(_folded(end)) for end in ends]
        if known[0] is None or known[1] is None:
            missing = ends[0] if known[0] is None else ends[1]
            return None, f"an edge of the graph names the unknown event '{str(missing)[:40]}'"
        edges[(known[0], known[1])] = None
    intervened = [names.get(_folded(one)) for one in _items(read.value, "intervened")]
    set_here = tuple(dict.fromkeys(name for name in intervened if name is not None))
    if not set_here or None in intervened:
        return None, "the graph does not say which of its events the query sets"
    graph = StoryGraph(events, tuple(edges), set_here)
    parents: dict[str, list[str]] = {name: [] for name in events}
    for cause, effect in edges:
        parents[effect].append(cause)
    try:
        _ = Graph(parents).order
    except ValueError as error:
        return None, str(error)
    return graph, None


def _items(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _folded(name: Any) -> str:
    return " ".join(str(name).casefold().split())


def _object(**properties: JSONSchema) -> JSONSchema:
    return JSONSchema(
        type="object",
        properties=properties,
        required=list(properties),
        additionalProperties=False,
    )


def _list(items: JSONSchema) -> JSONSchema:
    return JSONSchema(type="array", items=items)
