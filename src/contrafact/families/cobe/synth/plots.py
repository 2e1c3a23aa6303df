"""Plots: a part of a place's rules whose graph is one of the six types, and how each event follows.

What follows what is the library's to say; what is drawn is which events a story tells, what holds
an event back, and numbers. No event lies between two that are told without being told itself, so
that what the rules of a place leave out of a story changes nothing in it. CoBe, figure 3 and table
4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from random import Random

from contrafact.families.cobe.synth.expressions import ScmText, graph_name
from contrafact.families.cobe.synth.library import Event, Library, Quantity, Scene

LEVELS_OF_BASE = 4
"""How many values the part of a quantity has that no told event decides."""
QUANTITY = "q"
_COMMON = "u_common"
_SIZES = {3: 1.0, 4: 3.0, 5: 4.0, 6: 2.0, 7: 0.7}
"""How often a plot tells so many things, events beside it apart."""
_SHIELDED, _OPEN, _ASIDE = 0.75, 0.25, 0.5
"""How often an event that something can hold back is told with it; how often it then stays open
whether that is there; how often an event is told that hangs together with nothing."""


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
        """Return the mechanism as an expression, for a file."""
        if self.form == "root":
            return f"{self.source} and not {self.without}" if self.without else self.source
        core = f" {'and' if self.form == 'all' else 'or'} ".join(self.parents)
        if not self.without:
            return core
        return f"{core if len(self.parents) == 1 else f'({core})'} and not {self.without}"

    def happens(self, masks: Mapping[str, int]) -> int:
        """Return in which worlds it happens, given the same for everything it depends on."""
        core = masks[self.source or self.parents[0]]
        for name in self.parents[1:]:
            core = core & masks[name] if self.form == "all" else core | masks[name]
        return core & ~masks[self.without] if self.without else core


@dataclass(frozen=True, slots=True)
class Measure:
    """How a quantity follows from its causes: a sum.

    ``gain`` is what each cause adds, ``step`` what a level of the base does.
    """

    parents: tuple[str, ...]
    gain: int
    least: int
    step: int

    def expression(self) -> str:
        """Return the mechanism as an expression, for a file."""
        sign = "+" if self.gain > 0 else "-"
        terms = "".join(f" {sign} {abs(self.gain)}*{name}" for name in self.parents)
        return f"{self.least} + {self.step}*u_{QUANTITY}{terms}"

    def value(self, base: int, causes: Mapping[str, bool]) -> int:
        """Return the quantity, given the level of its base and its causes."""
        return self.least + self.step * base + self.gain * sum(causes[n] for n in self.parents)


@dataclass(frozen=True, eq=False)
class Plot:
    """A causal model over events of a place.

    Attributes:
        events: For every told node but the quantity, causes first.
        latents: For every latent, the node that it holds back.
        common: The two roots that an untold event is behind, and that event; none for none.
        hedged: Whether no text says of a latent if it is there, so that it may stay open.
        noises: The noise terms with their number of values.
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
        """The told variables, the quantity last."""
        return (*self.events, *((QUANTITY,) if self.measure else ()))

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """For every told variable, its told causes."""
        found = {name: gate.parents for name, gate in self.gates.items()}
        return found | ({QUANTITY: self.measure.parents} if self.measure else {})

    def text(self) -> ScmText:
        """Return the causal model as it stands in a file."""
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
    """Events of a place, causes first; a quantity; two roots with what is behind both."""

    names: tuple[str, ...]
    quantity: str
    common: tuple[str, str, str] | None


@lru_cache(maxsize=256)
def _parts(scene: Scene) -> Mapping[str, tuple[_Part, ...]]:
    """Return the parts of a place's rules that make a plot, by type of graph."""
    links = {name: set(event.links) for name, event in scene.events.items()}
    links |= {name: set(quantity.links) for name, quantity in scene.quantities.items()}
    above = _above(links)
    order = sorted(
        (name for name, event in scene.events.items() if not event.aside),
        key=lambda name: (len(above[name]), list(scene.events).index(name)),
    )
    found: dict[str, list[_Part]] = {}
    for quantity in ("", *scene.quantities):
        for size in range(2, 7):
            for names in combinations(order, size):
                nodes = {*names, quantity} - {""}
                if not 3 <= len(nodes) <= max(_SIZES) or not _whole(scene, nodes, links, above):
                    continue
                parents = {name: links[name] & nodes for name in (*names, quantity) if name}
                common = _joined(scene, parents)
                if common is None:
                    continue
                hidden = [common[:2]] if common else []
                graph = graph_name({n: sorted(p) for n, p in parents.items()}, hidden)
                if graph is not None:
                    found.setdefault(graph, []).append(_Part(names, quantity, common or None))
    return {graph: tuple(parts) for graph, parts in found.items()}


def _above(links: Mapping[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}

    def of(name: str) -> set[str]:
        if name not in found:
            found[name] = links[name].union(*(of(cause) for cause in links[name]))
        return found[name]

    for name in links:
        of(name)
    return found


def _whole(
    scene: Scene,
    nodes: set[str],
    links: Mapping[str, set[str]],
    above: Mapping[str, set[str]],
) -> bool:
    """Tell whether nothing lies between the nodes, and each has the causes that it needs."""
    for name in nodes:
        causes = links[name] & nodes
        if name in scene.quantities:
            if len({scene.quantities[name].links[one].up for one in causes}) != 1:
                return False
        elif (causes and scene.events[name].both and causes != links[name]) or len(causes) > 2:
            return False
        if any(above[middle] & nodes for middle in above[name] - nodes):
            return False
    return True


def _joined(
    scene: Scene, parents: Mapping[str, set[str]]
) -> tuple[str, str, str] | tuple[()] | None:
    """Return nothing where the nodes hang together, two roots with what is behind both, or None."""
    groups: list[set[str]] = []
    for name, causes in parents.items():
        touching = [group for group in groups if group & ({name} | causes)]
        groups = [group for group in groups if group not in touching]
        groups.append({name}.union(*touching, causes))
    if len(groups) == 1:
        return ()
    if len(groups) > 2:
        return None
    for one in (name for name in groups[0] if not parents[name]):
        for other in (name for name in groups[1] if not parents[name]):
            shared = scene.events[one].links.keys() & scene.events[other].links.keys()
            for behind in sorted(shared):
                if scene.events[behind].topic:
                    return (one, other, behind)
    return None


def draw_plot(library: Library, scene: Scene, graph: str, rng: Random) -> Plot | None:
    """Return a random plot of a place and a type of graph; None if the place has none."""
    parts = _parts(scene).get(graph)
    if not parts:
        return None
    weights = [_SIZES[len(one.names) + bool(one.quantity)] for one in parts]
    part = rng.choices(parts, weights)[0]
    key = {name: f"e{place}" for place, name in enumerate(part.names)}
    events = {key[name]: scene.events[name] for name in part.names}
    noises: dict[str, int] = {}
    gates: dict[str, Gate] = {}
    for name, event in events.items():
        parents = tuple(key[one] for one in part.names if one in event.links)
        if not parents:
            noises[f"u_{name}"] = 2
            gates[name] = Gate("root", (), source=f"u_{name}")
        else:
            form = "one" if len(parents) == 1 else "all" if event.both else "any"
            gates[name] = Gate(form, parents)
    common = None
    if part.common is not None:
        one, other, behind = part.common
        common = (key[one], key[other], scene.events[behind])
        noises[_COMMON] = 2
        for name in common[:2]:
            del noises[f"u_{name}"]
            gates[name] = Gate("root", (), source=_COMMON)
        if rng.random() < 0.7:  # else the two always go together
            name = rng.choice(common[:2])
            noises[f"u_{name}"] = 2
            gates[name] = Gate("root", (), without=f"u_{name}", source=_COMMON)
    latents: dict[str, str] = {}
    able = [
        name
        for name, gate in gates.items()
        if gate.form == "one" and events[name].links[events[gate.parents[0]].name].unless
    ]
    if able and rng.random() < _SHIELDED:
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
    if asides and (rng.random() < _ASIDE or len(part.names) < 3):
        name = f"e{len(events)}"
        events[name] = rng.choice(asides)
        noises[f"u_{name}"] = 2
        gates[name] = Gate("root", (), source=f"u_{name}")
    words = {slot: rng.choice(choice) for slot, choice in library.names.items()}
    hedged = bool(latents) and rng.random() < _OPEN
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
    # A cause moves the quantity as far as a level of its base does: else how far an answer's
    # number is from its story's would tell right from wrong.
    move = max(1, rng.randint(2, 9) * unit + rng.randrange(unit))
    up = quantity.links[causes[0]].up
    least = quantity.least + rng.randrange(unit + 1) + (0 if up else move * len(causes))
    return Measure(tuple(key[name] for name in causes), move if up else -move, least, move)


def _unfold(plot: Plot) -> None:
    """Fill in, for everything that is true or false, in which worlds it is true.

    A world is a joint setting of the noise of events; in a mask it is one bit. The base of the
    quantity is left out: it bears on nothing else.
    """
    terms = [name for name in plot.noises if name != f"u_{QUANTITY}"]
    size = 1 << len(terms)
    everything = (1 << size) - 1
    masks = plot.masks
    for place, name in enumerate(terms):
        period = 1 << place
        block = ((1 << period) - 1) << period
        repeat = everything // ((1 << (2 * period)) - 1)
        masks[name] = block * repeat
    for latent in plot.latents:
        masks[latent] = masks[f"u_{latent}"]
    for name, gate in plot.gates.items():
        masks[name] = gate.happens(masks) & everything
    object.__setattr__(plot, "everything", everything)
