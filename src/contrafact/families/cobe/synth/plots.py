"""Plots: a causal graph of one of the six types, mechanisms, and a scene's events at its nodes.

Every event goes well (false) or brings trouble (true); trouble furthers trouble, and what is drawn
is how: ``and``, ``or``, thresholds, what keeps trouble away, other causes, hidden common causes. A
quantity is a sum or a rate over numbers. CoBe, figure 3 and table 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from contrafact.causal.model import Model
from contrafact.families.cobe.synth.expressions import ScmText, build, graph_name
from contrafact.families.cobe.synth.lexicon import (
    MOST_RANK,
    Event,
    Lexicon,
    Quantity,
    Scene,
)

__all__ = ["LEVELS_OF_BASE", "Gate", "Plot", "draw_plot"]

LEVELS_OF_BASE = 4
"""How many values the part of a quantity has that no told event decides."""
_QUANTITY = "q"
_LAST = ("people", "chief", "meal")
"""Kinds of events that nothing countable comes of."""
_MOST_OF_KIND = 2
"""Of three events of one kind, two would be worded alike in one text."""

Edges = dict[str, list[str]]
"""For every node, its parents; causes first."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How an event follows from its causes.

    Attributes:
        form: "root", "one", "or", "and", "two" (of three), "mixed" (the first and one of two).
        parents: The told causes.
        without: Latents and noise that keep trouble away.
        other: Noise that brings trouble by itself.
        source: For a root, its noise, which may be shared.
    """

    form: str
    parents: tuple[str, ...]
    without: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    source: str = ""

    def expression(self) -> str:
        """Return the mechanism as an expression, for a file."""
        p = self.parents
        core = {
            "root": lambda: self.source,
            "one": lambda: p[0],
            "or": lambda: " or ".join(p),
            "and": lambda: " and ".join(p),
            "two": lambda: f"{' + '.join(p)} >= 2",
            "mixed": lambda: f"{p[0]} and ({p[1]} or {p[2]})",
        }[self.form]()
        simple = self.form in ("root", "one")
        for name in self.without:
            core, simple = f"{core if simple else f'({core})'} and not {name}", False
        for name in self.other:
            core, simple = f"{core if simple else f'({core})'} or {name}", False
        return core

    def trouble(self, masks: Mapping[str, int]) -> int:
        """Return in which worlds there is trouble, given the same for everything it depends on."""
        p = [masks[name] for name in self.parents]
        if self.form == "root":
            core = masks[self.source]
        elif self.form == "two":
            core = p[0] & p[1] | p[0] & p[2] | p[1] & p[2]
        elif self.form == "mixed":
            core = p[0] & (p[1] | p[2])
        else:
            core = p[0]
            for mask in p[1:]:
                core = core & mask if self.form == "and" else core | mask
        for name in self.without:
            core &= ~masks[name]
        for name in self.other:
            core |= masks[name]
        return core


@dataclass(frozen=True, slots=True)
class Measure:
    """How a quantity follows from its causes: a sum, or a rate times a sum.

    Attributes:
        form: "sum" or "rate".
        parents: The told causes.
        gains: What each cause adds or takes away.
        least: What there is without any.
        step: What a level of the base adds.
        source: The noise that is the base.
        rate: What a rate multiplies with. It is the same in every number of a plot, so that a
            common divisor of two numbers tells nothing.
    """

    form: str
    parents: tuple[str, ...]
    gains: tuple[int, ...]
    least: int
    step: int
    source: str
    rate: int = 1

    def expression(self) -> str:
        """Return the mechanism as an expression, for a file."""
        base = f"{self.least} + {self.step}*{self.source}"
        terms = "".join(
            f" {'+' if gain > 0 else '-'} {abs(gain)}*{name}"
            for name, gain in zip(self.parents, self.gains, strict=True)
        )
        return f"{base}{terms}" if self.form == "sum" else f"{self.rate}*({base}{terms})"

    def value(self, base: int, causes: Mapping[str, bool]) -> int:
        """Return the quantity, given the level of its base and its causes."""
        low = self.least + self.step * base
        moved = sum(
            gain for name, gain in zip(self.parents, self.gains, strict=True) if causes[name]
        )
        return self.rate * (low + moved)


@dataclass(frozen=True, eq=False)
class Plot:
    """A causal model over events of a scene.

    Attributes:
        events: For every told node but the quantity, its event; causes first.
        latents: For every latent, the node that it keeps trouble from.
        gates: For every event, how it follows.
        measure: How the quantity follows; None without one.
        noises: The noise terms with their number of values.
        words: What fills the slots of entities.
        masks: By variable, the worlds in which it is true, of ``everything``; see `_unfold`.
    """

    scene: Scene
    graph: str
    events: Mapping[str, Event]
    latents: Mapping[str, str]
    gates: Mapping[str, Gate]
    measure: Measure | None
    quantity: Quantity | None
    noises: Mapping[str, int]
    words: Mapping[str, str]
    masks: dict[str, int] = field(default_factory=dict)
    everything: int = 0

    @property
    def told(self) -> tuple[str, ...]:
        """The told variables, the quantity last."""
        return (*self.events, *((_QUANTITY,) if self.measure else ()))

    def text(self) -> ScmText:
        """Return the causal model as it stands in a file."""
        mechanisms = {name: gate.expression() for name, gate in self.gates.items()}
        mechanisms |= {name: f"u_{name}" for name in self.latents}
        parents = {
            name: [*gate.parents, *(one for one in gate.without if one in self.latents)]
            for name, gate in self.gates.items()
        }
        parents |= {name: [] for name in self.latents}
        if self.measure is not None:
            mechanisms[_QUANTITY] = self.measure.expression()
            parents[_QUANTITY] = list(self.measure.parents)
        order = [*self.latents, *self.told]
        return ScmText(
            graph={name: parents[name] for name in order},
            mechanisms={name: mechanisms[name] for name in order},
            noise={name: [1 / size] * size for name, size in self.noises.items()},
            told=self.told,
            quantities=(_QUANTITY,) if self.measure else (),
        )

    def model(self) -> Model:
        """Return the causal model."""
        return build(self.text())


def _chain(rng: Random) -> Edges:
    size = rng.choice((3, 3, 4, 4, 5))
    names = [f"e{i}" for i in range(size)]
    return {name: names[max(0, i - 1) : i] for i, name in enumerate(names)}


def _fork(rng: Random) -> Edges:
    edges: Edges = {"e0": [], "e1": ["e0"], "e2": ["e0"]}
    if rng.random() < 0.3:
        edges = {"e0": [], "e1": ["e0"], "e2": ["e1"], "e3": ["e1"]}
    for _ in range(rng.choice((0, 1, 1, 2))):
        edges[f"e{len(edges)}"] = [rng.choice(list(edges)[1:])]
    return edges


def _collider(rng: Random) -> Edges:
    edges: Edges = {"e0": [], "e1": []}
    causes = ["e0", "e1"]
    if rng.random() < 0.25:
        edges["e2"] = []
        causes.append("e2")
    for place in range(len(causes)):
        if rng.random() < 0.35:
            name = f"e{len(edges)}"
            edges[name], causes[place] = [causes[place]], name
    edges[f"e{len(edges)}"] = causes
    for _ in range(rng.choice((0, 1, 1))):
        edges[f"e{len(edges)}"] = [f"e{len(edges) - 1}"]
    return edges


def _diamond(rng: Random) -> Edges:
    edges: Edges = {"e0": []}
    top = "e0"
    if rng.random() < 0.25:
        edges["e1"], top = ["e0"], "e1"
    one, other = f"e{len(edges)}", f"e{len(edges) + 1}"
    edges[one], edges[other] = [top], [top]
    edges[f"e{len(edges)}"] = [one, other]
    if rng.random() < 0.4:
        edges[f"e{len(edges)}"] = [f"e{len(edges) - 1}"]
    return edges


def _correlated(rng: Random) -> Edges:
    edges: Edges = {"e0": [], "e1": []}
    ends = ["e0", "e1"]
    for _ in range(rng.choice((2, 2, 3, 3))):
        place = rng.randrange(2)
        name = f"e{len(edges)}"
        edges[name], ends[place] = [ends[place]], name
    return edges


def _hybrid(rng: Random) -> Edges:
    size = rng.choice((4, 5, 5, 6))
    edges: Edges = {}
    for i in range(size):
        earlier = list(edges)
        number = (
            0 if i == 0 else rng.choice((0, 1, 1, 2, 2)) if i < size - 1 else rng.choice((1, 2))
        )
        edges[f"e{i}"] = sorted(rng.sample(earlier, min(number, len(earlier))))
    return edges


_SHAPES = {
    "chain": _chain,
    "fork": _fork,
    "collider": _collider,
    "diamond": _diamond,
    "correlated": _correlated,
    "hybrid": _hybrid,
}


def _ranked(edges: Edges, rng: Random) -> dict[str, int] | None:
    """Return a rank for every node, above those of its parents; None where there are too few."""
    height: dict[str, int] = {}
    for name in reversed(edges):
        height[name] = max((height[c] + 1 for c, p in edges.items() if name in p), default=0)
    ranks: dict[str, int] = {}
    for name, parents in edges.items():
        least = max((ranks[p] + 1 for p in parents), default=0)
        most = MOST_RANK - height[name]
        if least > most:
            return None
        ranks[name] = rng.choice((least, least, rng.randint(least, most)))
    return ranks


def _gate(name: str, parents: Sequence[str], noises: dict[str, int], rng: Random) -> Gate:
    term = f"u_{name}"
    if not parents:
        noises[term] = 2
        return Gate("root", (), source=term)
    if len(parents) == 1:
        form = "one"
    elif len(parents) == 2:
        form = rng.choice(("or", "or", "and"))
    else:
        form = rng.choice(("or", "two", "two", "mixed"))
    luck = rng.random()
    if luck < 0.2:
        return Gate(form, tuple(parents))
    noises[term] = 2
    if luck < 0.6:
        return Gate(form, tuple(parents), without=(term,))
    return Gate(form, tuple(parents), other=(term,))


def _measure(
    quantity: Quantity, parents: Sequence[str], noises: dict[str, int], rng: Random
) -> Measure:
    term = f"u_{_QUANTITY}"
    noises[term] = LEVELS_OF_BASE
    sign = 1 if quantity.rises else -1
    # A rate counts in units of its own: so many dollars for each of so many things.
    rate = rng.randint(2, 9) if rng.random() < 0.25 and quantity.least >= 40 else 1
    unit = max(1, quantity.step // (4 * rate))
    # A cause moves the quantity as far as a level of its base does: else how far an answer's
    # number is from its story's would tell right from wrong.
    move = max(1, rng.randint(2, 9) * unit + rng.randrange(unit))
    least = quantity.least // rate + rng.randrange(unit + 1)
    least += 0 if quantity.rises else move * len(parents)
    form = "sum" if rate == 1 else "rate"
    return Measure(form, tuple(parents), (sign * move,) * len(parents), least, move, term, rate)


def draw_plot(lexicon: Lexicon, scene: Scene, graph: str, rng: Random) -> Plot | None:
    """Return a random plot of a scene and a type of graph; None if the draw came to nothing."""
    edges = _SHAPES[graph](rng)
    ranks = _ranked(edges, rng)
    if ranks is None:
        return None
    noises: dict[str, int] = {}
    gates = {name: _gate(name, parents, noises, rng) for name, parents in edges.items()}
    roots = [name for name, parents in edges.items() if not parents]
    if graph == "correlated" or (graph == "hybrid" and len(roots) > 1 and rng.random() < 0.3):
        _share_cause(roots, gates, noises, rng)
    measure = quantity = None
    if rng.random() < 0.85:
        causes = _quantity_causes(graph, edges, gates, noises, roots, rng)
        quantity = rng.choice(scene.quantities)
        measure = _measure(quantity, causes, noises, rng)
    parents = {**edges, **({_QUANTITY: list(measure.parents)} if measure else {})}
    common = [n for n, gate in gates.items() if gate.source == "u_common"]
    if graph_name(parents, [common] if len(common) > 1 else []) != graph:
        return None
    events = _events(scene, edges, ranks, rng)
    if events is None:
        return None
    if measure is not None and any(events[one].kind.name in _LAST for one in measure.parents):
        return None  # what people feel or taste comes last
    latents = _shields(edges, events, gates, noises, rng)
    with_side_event = rng.random() < (0.6 if graph in ("chain", "fork") else 0.3)
    if with_side_event and lexicon.side_events and len(edges) < 6:
        name = f"e{max(int(n[1:]) for n in edges) + 1}"
        noises[f"u_{name}"] = 2
        gates[name] = Gate("root", (), source=f"u_{name}")
        events[name] = rng.choice([e for e in lexicon.side_events if _is_new(e, events)])
    if not 4 <= len(events) + len(latents) + (measure is not None) <= 9:
        return None
    words = {slot: rng.choice(choice) for slot, choice in lexicon.names.items()}
    plot = Plot(scene, graph, events, latents, gates, measure, quantity, noises, words)
    _unfold(plot)
    return plot


def _share_cause(
    roots: Sequence[str], gates: dict[str, Gate], noises: dict[str, int], rng: Random
) -> None:
    """Give two roots a common cause that is not observed."""
    both = rng.sample(list(roots), 2)
    noises["u_common"] = 2
    for name in both:
        luck = rng.random()
        own = f"u_{name}"
        if luck < 0.34:
            del noises[own]
            gates[name] = Gate("root", (), source="u_common")
        elif luck < 0.67:
            gates[name] = Gate("root", (), source="u_common", other=(own,))
        else:
            gates[name] = Gate("root", (), source="u_common", without=(own,))


def _quantity_causes(
    graph: str,
    edges: Edges,
    gates: dict[str, Gate],
    noises: dict[str, int],
    roots: Sequence[str],
    rng: Random,
) -> list[str]:
    """Draw the causes of the quantity, which may take the place of the last event."""
    inner = [name for name in edges if name not in roots] or list(edges)
    ends = [name for name in inner if not any(name in p for p in edges.values())] or inner
    if graph in ("collider", "diamond") and rng.random() < 0.35:
        # The quantity itself is where the causes meet.
        last = next(name for name in reversed(edges) if len(edges[name]) > 1)
        if any(name > last for name in edges):
            return [rng.choice(ends)]
        causes = edges.pop(last)
        del gates[last]
        noises.pop(f"u_{last}", None)
        return causes
    if graph == "hybrid":
        return sorted(rng.sample(inner, min(len(inner), rng.choice((1, 2, 2)))))
    return [rng.choice(ends)]


def _events(
    scene: Scene, edges: Edges, ranks: Mapping[str, int], rng: Random
) -> dict[str, Event] | None:
    """Draw an event of the scene for every node; None where a node finds none."""
    events: dict[str, Event] = {}
    for name in edges:
        spared = frozenset[str]().union(*(events[cause].kind.spares for cause in edges[name]))
        free = [
            e
            for e in scene.events
            if e.rank == ranks[name]
            and e.kind.name not in spared
            and _is_new(e, events)
            and not any(
                e is one or e.kind.name in one.kind.never_with or one.kind.name in e.kind.never_with
                for one in events.values()
            )
        ]
        if not free:
            return None
        events[name] = rng.choice(free)
    return events


def _is_new(event: Event, events: Mapping[str, Event]) -> bool:
    return sum(event.kind is one.kind for one in events.values()) < _MOST_OF_KIND


def _shields(
    edges: Edges,
    events: Mapping[str, Event],
    gates: dict[str, Gate],
    noises: dict[str, int],
    rng: Random,
) -> dict[str, str]:
    """Draw what keeps trouble away: a latent fact with words of its own, not nameless noise."""
    latents: dict[str, str] = {}
    able = [name for name in edges if edges[name] and events[name].kind.shields]
    if able and rng.random() < 0.75:
        for name in rng.sample(able, min(len(able), rng.choice((1, 1, 1, 2)))):
            gate, latent = gates[name], f"shield_{name}"
            noises.pop(f"u_{name}", None)
            noises[f"u_{latent}"] = 2
            gates[name] = Gate(gate.form, gate.parents, without=(latent,))
            latents[latent] = name
    return latents


def _unfold(plot: Plot) -> None:
    """Fill in, for everything that is true or false, in which worlds it is true.

    A world is a joint setting of the noise of events; in a mask it is one bit. The base of the
    quantity is left out: it bears on nothing else.
    """
    terms = [name for name in plot.noises if name != f"u_{_QUANTITY}"]
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
        masks[name] = gate.trouble(masks) & everything
    object.__setattr__(plot, "everything", everything)
