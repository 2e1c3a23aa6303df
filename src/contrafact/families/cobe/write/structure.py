"""Structures to which stories are written: what brings about what, and what is supposed.

CoBe, section 3.1, figure 3, tables 3 and 4. A structure is drawn, and a model writes a story to it.
Every event is a fact as the story tells it (true), which may be that something did *not* happen; a
number is moved up or down by its cause; a latent is implied and untold.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from random import Random
from typing import Any

from contrafact.causal.counterfactual import Consequence, consequences
from contrafact.causal.model import Graph, Value
from contrafact.errors import InputError
from contrafact.families.cobe.records import DOMAINS, GRAPHS
from contrafact.families.cobe.synth.difficulty import Difficulty
from contrafact.families.cobe.synth.expressions import ScmText, build, graph_name

LABELS = "ABCDEFGHIJKLMN"
NUMBER, LATENT = "Q", "Z"
"""The labels of a number, and of what is implied and untold."""
SUPPOSED = False
"""The value of every fact that is supposed not to be as it is told."""
PAPER_SHARES = {
    "graph": dict(zip(GRAPHS, (50.6, 23.9, 4.8, 3.8, 5.7, 11.1), strict=True)),
    "domain": dict(zip(DOMAINS, (6.6, 12.2, 6.9, 9.0, 16.8, 18.4, 30.0), strict=True)),
}
"""Tables 3 and 4, in percent."""
_USUAL = Difficulty(facts=(3, 6), suppositions=(1, 1))
_TRIES = 4_000
_HIDDEN, _HELD, _NUMBER = 0.25, 0.25, 0.4
"""The shares of structures with an untold common cause (of hybrids), something held back, and
a number."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How a fact comes about.

    ``form`` is "root"; "one"; "any" or "all" of several causes; "held", where it says that
    something did not happen because its last cause prevents what its first would bring about; "up"
    or "down" for a number.
    """

    form: str
    causes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Structure:
    """A causal structure, what is supposed, and the setting of the story to be written.

    ``gates`` has every fact by its label, causes first, the latent among them.
    """

    graph: str
    domain: str
    setting: str
    gates: Mapping[str, Gate]
    supposed: tuple[str, ...]

    @cached_property
    def told(self) -> tuple[str, ...]:
        return tuple(name for name in self.gates if name != LATENT)

    @cached_property
    def causes(self) -> dict[str, tuple[str, ...]]:
        return {name: gate.causes for name, gate in self.gates.items()}

    @property
    def together(self) -> tuple[str, ...]:
        """The facts that have the latent as their common cause."""
        shared = tuple(n for n, g in self.gates.items() if g.causes == (LATENT,))
        return shared if len(shared) > 1 else ()

    def scm(self, number: int = 100) -> ScmText:
        """Return the causal model, with the number that the story tells."""
        mechanisms = {name: _expression(name, gate, number) for name, gate in self.gates.items()}
        roots = [name for name, gate in self.gates.items() if gate.form == "root"]
        noise = {f"u_{name}": [0.5, 0.5] for name in roots}
        numbers = [NUMBER] if NUMBER in self.gates else []
        return ScmText(
            {n: list(c) for n, c in self.causes.items()}, mechanisms, noise, self.told, numbers
        )

    def facts(self, number: int = 100) -> dict[str, Value]:
        return {name: number if name == NUMBER else True for name in self.told}

    def after(self, supposed: Sequence[str]) -> dict[str, Consequence]:
        """Return what follows for every fact if some are not as told."""
        proof = consequences(build(self.scm()), self.facts(), dict.fromkeys(supposed, SUPPOSED))
        return {one.variable: one for one in proof.consequences}

    @cached_property
    def cases(self) -> tuple[tuple[str, ...], ...]:
        """What readers are asked about: the query, each told cause alone, causes that join."""
        told = set(self.told) - {NUMBER}
        effects = {cause for causes in self.causes.values() for cause in causes}
        single = [(name,) for name in self.told if name in effects & told]
        pairs = [
            pair
            for causes in self.causes.values()
            for pair in combinations(causes, 2)
            if {*pair} <= told
        ]
        return tuple(dict.fromkeys((self.supposed, *single, *pairs)))

    @property
    def key(self) -> str:
        """What two structures share only if they are one, in one domain."""
        gates = [(name, gate.form, gate.causes) for name, gate in self.gates.items()]
        return f"{self.domain} {gates} {self.supposed}"

    @cached_property
    def traps(self) -> tuple[str, ...]:
        """What a careless edit gets wrong in it, by the names of `synth.difficulty.TRAPS`."""
        after, graph = self.after(self.supposed), Graph(self.causes)
        changed = {n for n, c in after.items() if c.kind in ("set", "changes")}
        near = {n: changed & {*self.gates[n].causes} for n in self.told}
        held = [n for n in self.told if self.gates[n].form == "held"]
        distance = dict.fromkeys(self.supposed, 0)
        for name in graph.order:
            steps = [distance[c] + 1 for c in self.causes[name] if c in distance and c in changed]
            if steps and name not in distance:
                distance[name] = min(steps)
        found = {
            "suffices": any(near[n] and n not in changed for n in self.told if n not in held),
            "stands": any(
                self.gates[n].form in ("one", "any", "all") and not near[n] for n in self.supposed
            ),
            "held back": any(near[n] and n not in changed for n in held),
            "together": len({*self.together} & changed) == 1,
            "far": any(steps > 2 and n in changed for n, steps in distance.items()),
            "number stays": NUMBER in self.gates
            and NUMBER not in changed
            and bool(graph.ancestors([NUMBER]) & changed),
        }
        return tuple(name for name, holds in found.items() if holds)

    @property
    def failure_modes(self) -> tuple[int, ...]:
        """The failure modes of appendix B.1 that it probes, by the paper's numbers."""
        after, graph = self.after(self.supposed), Graph(self.causes)
        below = graph.descendants(self.supposed) - {*self.supposed}
        changed = {n for n, c in after.items() if c.kind in ("set", "changes")}
        causes = {c for n in self.supposed for c in self.causes[n]}
        siblings = {
            n for n in self.told for s in self.supposed if {*self.causes[n]} & {*self.causes[s]}
        }
        joined = [
            len(self.causes[n]) > 1 and 0 < len({*self.causes[n]} & changed) < 2 for n in below
        ]
        modes = {
            1: bool(causes) or bool(below - changed),
            2: bool(siblings - changed),
            3: bool(below & changed),
            5: LATENT in self.gates,
            7: any(joined),
        }
        return tuple(mode for mode, holds in modes.items() if holds)

    def fits(self, wanted: Difficulty) -> bool:
        after = self.after(self.supposed)
        kinds = {name: after[name].kind for name in self.told}
        touched = Graph(self.causes)
        return (
            "undetermined" not in kinds.values()
            and "stays" in kinds.values()
            and all(touched.parents[n] or touched.children[n] for n in self.supposed)
            and len({*self.traps} & {*wanted.traps}) >= wanted.least_traps
            and (wanted.cause_told is None or wanted.cause_told == _caused(self))
        )


def _caused(structure: Structure) -> bool:
    causes = {cause for name in structure.supposed for cause in structure.causes[name]}
    return bool(causes - {LATENT, *structure.supposed})


def _expression(name: str, gate: Gate, number: int) -> str:
    if gate.form == "root":
        return f"u_{name}"
    if gate.form == "held":
        return f"{gate.causes[-1]} or not {gate.causes[0]}"
    if gate.form in ("up", "down"):
        sign, most = (
            ("+", number - len(gate.causes))
            if gate.form == "up"
            else ("-", number + len(gate.causes))
        )
        return f" {sign} ".join((str(most), *gate.causes))
    return (" and " if gate.form == "all" else " or ").join(gate.causes)


def structure_of(proof: Mapping[str, Any], graph: str, domain: str, setting: str) -> Structure:
    """Return the structure in a proof of a written story, for another setting.

    Raises:
        KeyError: The proof is not of a written story.
    """
    gates = {name: Gate(form, tuple(proof["graph"][name])) for name, form in proof["forms"].items()}
    return Structure(graph, domain, setting, gates, tuple(proof["intervention"]))


def draw_structures(
    n: int,
    seed: int,
    *,
    graph: str | None = None,
    domain: str | None = None,
    wanted: Difficulty | None = None,
    shares: str = "equal",
) -> list[Structure]:
    """Return structures, each with a domain once, in equal shares or the paper's.

    Raises:
        InputError: There is no such graph or domain, or none of the difficulty.
    """
    rng, wanted = Random(f"write {seed}"), wanted or _USUAL
    graphs = _dealt([graph] if graph else wanted.graphs, "graph", n, shares, rng)
    domains = _dealt([domain] if domain else DOMAINS, "domain", n, shares, rng)
    left: dict[str, list[str]] = {}
    seen: set[str] = set()
    drawn = []
    for kind, field in zip(graphs, domains, strict=True):
        if not left.get(field):
            left[field] = rng.sample(_settings()[field], len(_settings()[field]))
        setting = left[field].pop()
        for _ in range(_TRIES):
            found = _drawn(kind, field, setting, wanted, rng)
            if found is not None and found.key not in seen:
                break
        else:
            raise InputError(
                f"no new structure with the graph '{kind}' was found in {_TRIES:,} draws",
                hint="ask for fewer stories, more graphs or another level",
            )
        seen.add(found.key)
        drawn.append(found)
    return drawn


def twin_of(structure: Structure, rng: Random) -> Structure | None:
    """Return a structure of the same facts and supposition, of which other facts stay or change.

    One or two facts come about otherwise; None if none such was found.
    """
    events = [
        name
        for name, gate in structure.gates.items()
        if name in LABELS and gate.form != "held" and LATENT not in gate.causes
    ]
    kinds = {
        n: c.kind for n, c in structure.after(structure.supposed).items() if n in structure.told
    }
    for _ in range(200):
        gates = dict(structure.gates)
        for name in rng.sample(events, rng.choice((1, 1, 2)) if len(events) > 1 else 1):
            before = events[: events.index(name)]
            gates[name] = _gate(before, rng) if rng.random() < 0.5 else _turned(gates[name])
        twin = replace(structure, gates=gates)
        if gates == structure.gates or not _is_of(twin) or not twin.fits(Difficulty()):
            continue
        after = twin.after(twin.supposed)
        if {n: after[n].kind for n in kinds} != kinds:
            return twin
    return None


def _turned(gate: Gate) -> Gate:
    return replace(gate, form={"any": "all", "all": "any"}.get(gate.form, gate.form))


def _dealt(names: Sequence[str], what: str, n: int, shares: str, rng: Random) -> list[str]:
    """Return names in equal or in the paper's shares, in any order."""
    known = PAPER_SHARES[what]
    if unknown := [name for name in names if name not in known]:
        raise InputError(
            f"there is no {what} '{unknown[0]}'", hint=f"use one of {', '.join(known)}"
        )
    weights = [known[name] if shares == "paper" else 1.0 for name in names]
    due = [n * weight / sum(weights) for weight in weights]
    dealt = [name for name, share in zip(names, due, strict=True) for _ in range(int(share))]
    rest = [share % 1 for share in due]
    while len(dealt) < n:  # the largest remainders first; equal ones in any order
        at = max(range(len(names)), key=lambda index: (rest[index], rng.random()))
        rest[at] = -1.0
        dealt.append(names[at])
    return rng.sample(dealt, n)


def _drawn(
    graph: str, domain: str, setting: str, wanted: Difficulty, rng: Random
) -> Structure | None:
    size = rng.randint(*wanted.facts)
    hidden = graph == "correlated" or (graph == "hybrid" and rng.random() < _HIDDEN)
    number = rng.random() < _NUMBER
    events = LABELS[: size - number]
    gates: dict[str, Gate] = {}
    for index, name in enumerate(events):
        gates[name] = _gate(events[:index], rng)
    if hidden:
        roots = [name for name in events if gates[name].form == "root"]
        if len(roots) < 2:
            return None
        gates = {LATENT: Gate("root"), **gates} | dict.fromkeys(
            rng.sample(roots, 2), Gate("one", (LATENT,))
        )
    elif rng.random() < _HELD and (single := [n for n in events if gates[n].form == "one"]):
        name, (cause,) = (held := rng.choice(single)), gates[held].causes
        holders = [n for n in events[: events.index(name)] if n != cause]
        holder = rng.choice([*holders, LATENT])
        gates = ({LATENT: Gate("root")} if holder == LATENT else {}) | gates
        gates[name] = Gate("held", (cause, holder))
    if number:
        gates[NUMBER] = Gate(rng.choice(("up", "down")), (rng.choice(events),))
    supposed = rng.sample(events, min(len(events), rng.randint(*wanted.suppositions)))
    found = Structure(graph, domain, setting, gates, tuple(sorted(supposed)))
    return found if _is_of(found) and found.fits(wanted) else None


def _gate(before: Sequence[str], rng: Random) -> Gate:
    many = min(len(before), rng.choices((0, 1, 2, 3), (0.2, 0.55, 0.22, 0.03))[0])
    if not many:
        return Gate("root")
    # The fact just before it is a likely cause, so that long chains are found.
    nearest = {before[-1]} if rng.random() < 0.5 else set()
    others = rng.sample([name for name in before if name not in nearest], many - len(nearest))
    causes = tuple(sorted({*nearest, *others}))
    return Gate("one" if many == 1 else rng.choice(("any", "all")), causes)


def _is_of(structure: Structure) -> bool:
    """Return whether it has its type of graph, and at most one fact apart from the others.

    Of several causes of a fact, none brings about another: they would not be told apart.
    """
    told = {n: tuple(c for c in structure.causes[n] if c != LATENT) for n in structure.told}
    if graph_name(told, [structure.together]) != structure.graph:
        return False
    graph = Graph(structure.causes)
    if any({*causes} & graph.ancestors(causes) for causes in structure.causes.values()):
        return False
    alone = [n for n in structure.told if not graph.parents[n] and not graph.children[n]]
    linked = [n for n in structure.gates if n not in alone]
    reached, edge = {linked[0]}, [linked[0]]
    while edge:
        name = edge.pop()
        near = {*graph.parents[name], *graph.children[name]} - reached
        reached |= near
        edge += near
    return len(reached) == len(linked) and len(alone) <= 1


def _settings() -> dict[str, list[str]]:
    text = (files("contrafact.families.cobe.write") / "settings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
