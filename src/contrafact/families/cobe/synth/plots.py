"""Plots: a part of a place's rules whose graph is one of the six types, and every mechanism.

The library says what follows what; which events a story tells, what holds an event back and all
numbers are drawn. No event lies between two that are told without being told itself, so that the
rules that a story leaves out change nothing in it. CoBe, figure 3 and table 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from random import Random

from contrafact.causal.model import Graph
from contrafact.families.cobe.synth.difficulty import Difficulty
from contrafact.families.cobe.synth.expressions import ScmText, graph_name
from contrafact.families.cobe.synth.library import Event, Library, Quantity, Scene

LEVELS_OF_BASE = 4
"""How many values the base of a quantity has, which no told event decides."""
QUANTITY = "q"
_COMMON = "u_common"
_SIZES = {3: 1.0, 4: 3.0, 5: 4.0, 6: 2.0, 7: 0.7}
"""How likely a plot is to tell so many variables, events that nothing touches apart; where more are
asked for, all sizes are equally likely."""
_SHIELDED, _OPEN, _ASIDE = 0.75, 0.25, 0.5
"""The shares of plots: one of its events can be held back by a latent, where the rules know such;
no text then says whether the latent is there; an event is told that nothing touches."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How an event follows from its causes.

    ``form`` is "root", "one", "any" or "all"; ``without`` the latent that holds it back; ``source``
    the noise of a root, which may be shared.
    """

    form: str
    parents: tuple[str, ...]
    without: str = ""
    source: str = ""

    def expression(self) -> str:
        """Return the mechanism as an expression of Python."""
        if self.form == "root":
            return f"{self.source} and not {self.without}" if self.without else self.source
        core = f" {'and' if self.form == 'all' else 'or'} ".join(self.parents)
        if not self.without:
            return core
        return f"{core if len(self.parents) == 1 else f'({core})'} and not {self.without}"

    def happens(self, masks: Mapping[str, int]) -> int:
        """Return the mask of the worlds in which it happens, given those of all it depends on."""
        core = masks[self.source or self.parents[0]]
        for name in self.parents[1:]:
            core = core & masks[name] if self.form == "all" else core | masks[name]
        return core & ~masks[self.without] if self.without else core


@dataclass(frozen=True, slots=True)
class Measure:
    """How a quantity follows from its causes: a sum.

    ``gain`` is what each cause adds, ``step`` what each level of the base adds.
    """

    parents: tuple[str, ...]
    gain: int
    least: int
    step: int

    def expression(self) -> str:
        """Return the mechanism as an expression of Python."""
        sign = "+" if self.gain > 0 else "-"
        terms = "".join(f" {sign} {abs(self.gain)}*{name}" for name in self.parents)
        return f"{self.least} + {self.step}*u_{QUANTITY}{terms}"

    def value(self, base: int, causes: Mapping[str, bool]) -> int:
        return self.least + self.step * base + self.gain * sum(causes[n] for n in self.parents)


@dataclass(frozen=True, eq=False)
class Plot:
    """A causal model over events of a place.

    Attributes:
        events: The told variables but the quantity, causes first.
        latents: For every latent, the event that it holds back.
        common: Two roots with an untold common cause, and that cause.
        hedged: Whether no text says if a latent is there, so that this may stay open.
        noises: The noise terms with their number of values.
        masks: For everything that is true or false, the worlds in which it is true.
        everything: The mask of all worlds.
    """

    scene: Scene
    graph: str
    events: Mapping[str, Event]
    latents: Mapping[str, str]
    gates: Mapping[str, Gate]
    measure: Measure | None
    quantity: Quantity | None
    common: tuple[str, str, Event] | None
    hedged: bool
    noises: Mapping[str, int]
    words: Mapping[str, str]
    masks: dict[str, int] = field(default_factory=dict)
    everything: int = 0

    @property
    def told(self) -> tuple[str, ...]:
        return (*self.events, *((QUANTITY,) if self.measure else ()))

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        parents = {name: gate.parents for name, gate in self.gates.items()}
        return parents | ({QUANTITY: self.measure.parents} if self.measure else {})

    def text(self) -> ScmText:
        mechanisms = {name: f"u_{name}" for name in self.latents}
        mechanisms |= {name: gate.expression() for name, gate in self.gates.items()}
        parents: dict[str, list[str]] = {name: [] for name in self.latents}
        for name, gate in self.gates.items():
            parents[name] = [
                *gate.parents,
                *([gate.without] if gate.without in self.latents else []),
            ]
        if self.measure is not None:
            mechanisms[QUANTITY] = self.measure.expression()
            parents[QUANTITY] = list(self.measure.parents)
        return ScmText(
            graph=parents,
            mechanisms=mechanisms,
            noise={name: [1 / size] * size for name, size in self.noises.items()},
            told=self.told,
            quantities=(QUANTITY,) if self.measure else (),
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """Events of a place, causes first; a quantity; two roots with their common cause."""

    names: tuple[str, ...]
    quantity: str
    common: tuple[str, str, str] | None

    @property
    def size(self) -> int:
        return len(self.names) + bool(self.quantity)

    def has_room(self, trap: str) -> bool:
        rooms = {"together": self.common is not None, "number stays": bool(self.quantity)}
        return rooms.get(trap, True)


@lru_cache(maxsize=256)
def _parts(scene: Scene, most: int = max(_SIZES)) -> Mapping[str, tuple[_Part, ...]]:
    """Return the parts of a place's rules that can be a plot, by type of graph; of at most so many
    variables.
    """
    links = {name: set(event.links) for name, event in scene.events.items()}
    links |= {name: set(quantity.links) for name, quantity in scene.quantities.items()}
    graph = Graph(links)
    above = {name: graph.ancestors([name]) for name in links}
    order = sorted(
        (name for name, event in scene.events.items() if not event.aside),
        key=lambda name: (len(above[name]), list(scene.events).index(name)),
    )
    parts: dict[str, list[_Part]] = {}
    for quantity in ("", *scene.quantities):
        for size in range(2, min(most, len(order) + 1)):
            for names in combinations(order, size):
                nodes = {*names, quantity} - {""}
                if not 3 <= len(nodes) <= most or not _is_closed(scene, nodes, links, above):
                    continue
                parents = {name: links[name] & nodes for name in (*names, quantity) if name}
                common = _common_cause(scene, parents)
                if common is None:
                    continue
                commons = [common or None]
                if most > max(_SIZES) and not common:  # roots may have one whatever connects them
                    roots = [name for name in names if not parents[name]]
                    commons += [(*p, c) for p in combinations(roots, 2) for c in _behind(scene, *p)]
                for behind in commons:
                    hidden = [behind[:2]] if behind else []
                    graph_type = graph_name({n: sorted(p) for n, p in parents.items()}, hidden)
                    if graph_type is not None:
                        parts.setdefault(graph_type, []).append(_Part(names, quantity, behind))
    return {graph: tuple(found) for graph, found in parts.items()}


def _is_closed(
    scene: Scene,
    nodes: set[str],
    links: Mapping[str, set[str]],
    above: Mapping[str, frozenset[str]],
) -> bool:
    """Return whether nothing lies between the nodes, and each has the causes that it needs."""
    for name in nodes:
        causes = links[name] & nodes
        if name in scene.quantities:
            if len({scene.quantities[name].links[cause].up for cause in causes}) != 1:
                return False
        elif (causes and scene.events[name].both and causes != links[name]) or len(causes) > 2:
            return False
        if any(above[middle] & nodes for middle in above[name] - nodes):
            return False
    return True


def _common_cause(
    scene: Scene, parents: Mapping[str, set[str]]
) -> tuple[str, str, str] | tuple[()] | None:
    """Return two roots and an untold event behind both, which connects two halves of a graph.

    Empty where the nodes are connected without; None where no such event connects them.
    """
    groups: list[set[str]] = []
    for name, causes in parents.items():
        touching = [group for group in groups if group & ({name} | causes)]
        groups = [group for group in groups if group not in touching]
        groups.append({name}.union(*touching, causes))
    if len(groups) == 1:
        return ()
    if len(groups) > 2:
        return None
    for first in (name for name in groups[0] if not parents[name]):
        for second in (name for name in groups[1] if not parents[name]):
            for behind in _behind(scene, first, second):
                return (first, second, behind)
    return None


def _behind(scene: Scene, first: str, second: str) -> list[str]:
    """Return the events that a text can tell of as the untold common cause of two others."""
    shared = scene.events[first].links.keys() & scene.events[second].links.keys()
    events = scene.events
    return [name for name in sorted(shared) if events[name].topic or events[name].together]


def draw_plot(
    library: Library,
    scene: Scene,
    graph: str,
    rng: Random,
    wanted: Difficulty | None = None,
    focus: str = "",
) -> Plot | None:
    """Return a random plot of a place and a type of graph; None if the place has none.

    ``focus`` is the trap that it has to have room for.
    """
    low, high = wanted.facts if wanted else (0, max(_SIZES))
    large = high > max(_SIZES)
    if large:  # so many facts in all, those that nothing touches among them
        low = high = rng.randint(low, high)
        parts = [
            one
            for one in _parts(scene, high).get(graph, ())
            if low - 1 <= one.size <= high and one.has_room(focus)
        ]
        if not parts:
            return None
        part = rng.choice(parts)
    else:
        parts = list(_parts(scene).get(graph, ()))
        if not parts:
            return None
        part = rng.choices(parts, [_SIZES[one.size] for one in parts])[0]
    key = {name: f"e{index}" for index, name in enumerate(part.names)}
    events = {key[name]: scene.events[name] for name in part.names}
    noises: dict[str, int] = {}
    gates: dict[str, Gate] = {}
    for name, event in events.items():
        parents = tuple(key[cause] for cause in part.names if cause in event.links)
        if not parents:
            noises[f"u_{name}"] = 2
            gates[name] = Gate("root", (), source=f"u_{name}")
        else:
            form = "one" if len(parents) == 1 else "all" if event.both else "any"
            gates[name] = Gate(form, parents)
    common = None
    if part.common is not None:
        first, second, behind = part.common
        common = (key[first], key[second], scene.events[behind])
        noises[_COMMON] = 2
        for name in common[:2]:
            del noises[f"u_{name}"]
            gates[name] = Gate("root", (), source=_COMMON)
        if rng.random() < 0.7:  # one of the two can fail to happen; else they always go together
            name = rng.choice(common[:2])
            noises[f"u_{name}"] = 2
            gates[name] = Gate("root", (), without=f"u_{name}", source=_COMMON)
    latents: dict[str, str] = {}
    able = [
        name
        for name, gate in gates.items()
        if gate.form == "one" and events[name].links[events[gate.parents[0]].name].unless
    ]
    if able and (focus == "held back" or rng.random() < _SHIELDED):
        name = rng.choice(able)
        latent = f"shield_{name}"
        latents[latent] = name
        noises[f"u_{latent}"] = 2
        gates[name] = Gate("one", gates[name].parents, without=latent)
    measure = quantity = None
    if part.quantity:
        quantity = scene.quantities[part.quantity]
        measure = _measure(quantity, key, noises, rng)
    asides = [event for event in scene.events.values() if event.aside]
    due = low - part.size if large else 0
    full = large and part.size >= high
    if asides and not full and (due > 0 or rng.random() < _ASIDE or len(part.names) < 3):
        for event in rng.sample(asides, min(max(1, due), len(asides))):
            name = f"e{len(events)}"
            events[name] = event
            noises[f"u_{name}"] = 2
            gates[name] = Gate("root", (), source=f"u_{name}")
    words = {slot: rng.choice(choice) for slot, choice in library.names.items()}
    hedged = bool(latents) and focus != "held back" and rng.random() < _OPEN
    plot = Plot(
        scene, graph, events, latents, gates, measure, quantity, common, hedged, noises, words
    )
    _unfold(plot)
    return plot


def _measure(
    quantity: Quantity, key: Mapping[str, str], noises: dict[str, int], rng: Random
) -> Measure:
    noises[f"u_{QUANTITY}"] = LEVELS_OF_BASE
    causes = [name for name in quantity.links if name in key]
    unit = max(1, quantity.step // 4)
    # A cause moves the quantity as far as a level of its base does: else the distance of an
    # answer's number from its story's would tell right from wrong.
    move = max(1, rng.randint(2, 9) * unit + rng.randrange(unit))
    up = quantity.links[causes[0]].up
    least = quantity.least + rng.randrange(unit + 1) + (0 if up else move * len(causes))
    return Measure(tuple(key[name] for name in causes), move if up else -move, least, move)


def _unfold(plot: Plot) -> None:
    """Fill in the masks: for everything that is true or false, the worlds in which it is true.

    A world is a joint setting of the noise of events, and one bit of a mask. The base of the
    quantity is left out: nothing else depends on it.
    """
    terms = [name for name in plot.noises if name != f"u_{QUANTITY}"]
    size = 1 << len(terms)
    everything = (1 << size) - 1
    masks = plot.masks
    for index, name in enumerate(terms):
        period = 1 << index
        block = ((1 << period) - 1) << period
        repeat = everything // ((1 << (2 * period)) - 1)
        masks[name] = block * repeat
    for latent in plot.latents:
        masks[latent] = masks[f"u_{latent}"]
    for name, gate in plot.gates.items():
        masks[name] = gate.happens(masks) & everything
    object.__setattr__(plot, "everything", everything)
