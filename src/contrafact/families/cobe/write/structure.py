"""Structures to which stories are written: what brings about what, and what is supposed.

CoBe, section 3.1, figure 3. A structure is drawn, and a model writes a story to it. Every event is
a fact as the story tells it (true), which may be that something did *not* happen; a number is moved
up or down by its cause; a latent is implied and untold.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from contrafact.causal.counterfactual import Consequence, consequences
from contrafact.causal.model import Graph, Value
from contrafact.errors import InputError
from contrafact.families.cobe.phrasing import condition_of
from contrafact.families.cobe.records import DOMAINS, Story
from contrafact.families.cobe.synth.difficulty import Difficulty
from contrafact.families.cobe.synth.expressions import ScmText, build, graph_name

LABELS = "ABCDEFGHIJKLMN"
NUMBER, LATENT = "Q", "Z"
"""The labels of a number, and of what is implied and untold."""
_SENTENCE = re.compile(r"[^.!?]+[.!?]?")
_HIGHER = re.compile(r"\b(?:up|higher|more|above|rise|increase|longer|later)", re.IGNORECASE)
_USUAL = Difficulty(facts=(3, 6), suppositions=(1, 1))
_TRIES, _TWINS = 4_000, 200
_HIDDEN, _HELD, _NUMBER = 0.25, 0.25, 0.4
"""The shares of structures with an untold common cause (of hybrids), something held back, and a
number."""
_JOINED = {"any": " or ", "all": " and "}
_ALONE = {"root": "u_{name}", "one": "{0}", "held": "{1} or not {0}"}
_ALONE |= {"up": "{less} + {0}", "down": "{more} - {0}"}


class Gate(NamedTuple):
    """How a fact comes about.

    ``form`` is "root"; "one"; "any" or "all" of several causes; "held", where it says that
    something did not happen because its last cause prevents what its first would bring about; "up"
    or "down" for a number.
    """

    form: str
    causes: tuple[str, ...] = ()

    def expression(self, name: str, number: int) -> str:
        if joined := _JOINED.get(self.form):
            return joined.join(self.causes)
        less, more = number - 1, number + 1
        return _ALONE[self.form].format(*self.causes, name=name, less=less, more=more)


@dataclass(frozen=True)
class Structure:
    """A causal structure and what is supposed otherwise, with the story's domain and setting.

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

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """The facts of which the latent is a cause."""
        return tuple(name for name, causes in self.causes.items() if LATENT in causes)

    def scm(self, number: int = 100) -> ScmText:
        """Return the causal model, with the number that the story tells."""
        mechanisms = {name: gate.expression(name, number) for name, gate in self.gates.items()}
        noise = {f"u_{n}": [0.5, 0.5] for n, gate in self.gates.items() if gate.form == "root"}
        graph = {name: list(causes) for name, causes in self.causes.items()}
        return ScmText(graph, mechanisms, noise, self.told, [n for n in graph if n == NUMBER])

    def facts(self, number: int = 100) -> dict[str, Value]:
        return {name: number if name == NUMBER else True for name in self.told}

    def after(self, supposed: Sequence[str]) -> dict[str, Consequence]:
        """Return what becomes of every fact if some are not as told."""
        proof = consequences(build(self.scm()), self.facts(), dict.fromkeys(supposed, False))
        return {one.variable: one for one in proof.consequences}

    @cached_property
    def cases(self) -> tuple[tuple[str, ...], ...]:
        """What readers are asked about: the query, each told cause alone, causes that join."""
        able = [name for name in self.told if name != NUMBER]
        single = [(n,) for n in able if any(n in causes for causes in self.causes.values())]
        joined = (pair for causes in self.causes.values() for pair in combinations(causes, 2))
        pairs = [pair for pair in joined if {*pair} <= {*able}]
        return tuple(dict.fromkeys((self.supposed, *single, *pairs)))

    @cached_property
    def _changed(self) -> set[str]:
        return {n for n, c in self.after(self.supposed).items() if c.kind in ("set", "changes")}

    @cached_property
    def traps(self) -> list[str]:
        """What a careless edit gets wrong in it, by the names of `synth.difficulty.TRAPS`."""
        changed, near = self._changed, {*self.supposed}
        for _ in range(2):
            near |= {name for name, causes in self.causes.items() if near & {*causes}}
        moved = {name for name in self.told if changed & {*self.causes[name]}}
        stays = {self.gates[name].form for name in moved - changed}
        traps = {
            "suffices": stays & {"any", "all"},
            "stands": [n for n in self.supposed if self.causes[n] and n not in moved],
            "held back": "held" in stays,
            "together": len({*self.shared} & changed) == 1 < len(self.shared),
            "far": changed - near,
            "number stays": NUMBER in Graph(self.causes).descendants(self.supposed) - changed,
        }
        return [name for name, holds in traps.items() if holds]

    @property
    def failure_modes(self) -> list[int]:
        """The failure modes of appendix B.1 that it probes, by the paper's numbers."""
        below = {*Graph(self.causes).descendants(self.supposed)} - {*self.supposed}
        causes = {cause for name in self.supposed for cause in self.causes[name]}
        stays = {*self.told} - self._changed
        joined = [name for name in below if len(self.causes[name]) > 1]
        links = [{n, cause} for n in self.told for cause in self.causes[n] if cause != LATENT]
        modes = {
            1: causes or below & stays,
            2: [name for name in stays if {*self.causes[name]} & causes],
            3: below - stays,
            5: LATENT in self.gates,
            6: [link for link in links if len(link & stays) == 1],  # it takes another connector
            7: [name for name in joined if {*self.causes[name]} & stays],
        }
        return [mode for mode, holds in modes.items() if holds]

    def fits(self, wanted: Difficulty) -> bool:
        """Return whether it is of its type of graph and of a difficulty, and can be told.

        All facts but one hang together, and no cause of a fact brings about another cause of it.
        """
        graph, stays = Graph(self.causes), {*self.told} - self._changed
        told = {name: tuple(c for c in self.causes[name] if c != LATENT) for name in self.told}
        if graph_name(told, [self.shared]) != self.graph:
            return False
        if any({*causes} & graph.ancestors(causes) for causes in self.causes.values()):
            return False
        links = [{name, one} for name, causes in self.causes.items() for one in causes]
        part = links[0]
        for _ in links:
            part = part.union(*(link for link in links if link & part))
        alone = {*self.causes} - part
        if len(alone) > 1 or alone & {*self.supposed}:
            return False
        return bool(stays) and len({*self.traps} & {*wanted.traps}) >= wanted.least_traps


def structure_of(row: Mapping[str, Any], setting: str = "", domain: str = "") -> Structure:
    """Return the structure of a written story; KeyError if its proof has none."""
    proof = row["Proof"]
    gates = {name: Gate(form, tuple(proof["graph"][name])) for name, form in proof["forms"].items()}
    supposed = tuple(proof["intervention"])
    return Structure(row["Graph type"], domain or row["Domain"], setting, gates, supposed)


def structure_of_story(story: Story, rng: Random) -> tuple[Structure, dict[str, str]]:
    """Return a structure for a variation of a story, and the story's words for each fact.

    It is that of its proof, or what its criteria say; `InputError` if no query states the change.
    """
    domain = rng.choice([name for name in DOMAINS if name != story.domain])
    setting = rng.choice(settings()[domain])
    proof = story.proof or {}
    if "forms" in proof:
        row = {"Proof": proof, "Graph type": story.graph, "Domain": story.domain}
        return structure_of(row, setting, domain), {}
    condition = condition_of(story.queries[1])
    if condition is None:
        raise InputError("its queries are in free form, and do not state what is supposed")
    stays, changes = (_SENTENCE.findall(one) for one in (story.unchanged, story.changed))
    parts = {"A": f"(not) {condition}"}
    gates = {"A": Gate("root")}
    for label, sentence in zip(LABELS[1:], [*stays, *changes[1:]], strict=False):
        parts[label] = sentence
        gates[label] = Gate("root") if sentence in stays else Gate("one", ("A",))
    if story.numerical:
        form = "down" if _HIGHER.search(story.numerical) else "up"  # by what happened
        parts[NUMBER], gates[NUMBER] = story.numerical, Gate(form, ("A",))
    if story.latent:
        bearer = "B" if stays else "A"
        parts[LATENT] = story.latent
        gates = {LATENT: Gate("root"), **gates, bearer: Gate("one", (LATENT,))}
    return Structure(story.graph or "chain", domain, setting, gates, ("A",)), parts


def draw_structures(
    n: int, seed: int, graph: str | None, domain: str | None, wanted: Difficulty | None = None
) -> list[Structure]:
    """Return structures over graphs and domains in equal shares, each with a domain once.

    `InputError` if there is no such graph or domain, or no further structure of the difficulty.
    """
    rng, wanted = Random(f"write {seed}"), wanted or _USUAL
    wanted = replace(wanted, graphs=(graph,)) if graph else wanted
    if domain not in (None, *DOMAINS):
        raise InputError(f"there is no domain '{domain}'", hint=f"use one of {', '.join(DOMAINS)}")
    graphs, domains = [*wanted.graphs], [domain] if domain else [*DOMAINS]
    rng.shuffle(graphs)
    rng.shuffle(domains)
    places = {name: rng.sample(few, len(few)) for name, few in settings().items()}
    drawn: dict[str, Structure] = {}
    for index in range(n):
        field, name = domains[index % len(domains)], graphs[index % len(graphs)]
        setting = places[field][index // len(domains) % len(places[field])]
        for _ in range(_TRIES):
            structure = _drawn(name, field, setting, wanted, rng)
            key = str(structure and (structure.domain, structure.gates, structure.supposed))
            if structure is not None and key not in drawn and structure.fits(wanted):
                drawn[key] = structure
                break
        else:
            hint = "ask for fewer stories, more graphs or another level"
            raise InputError(f"no further structure with the graph '{name}' was found", hint=hint)
    return [*drawn.values()]


def settings() -> dict[str, list[str]]:
    """Return places in which stories are set, by domain."""
    text = (files("contrafact.families.cobe.write") / "settings.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def twin_of(structure: Structure, rng: Random) -> Structure | None:
    """Return a structure of the same facts and supposition, of which other facts stay or change.

    One fact comes about otherwise; None if none such was found.
    """
    able = [n for n, g in structure.gates.items() if n in LABELS and g.form != "held"]
    able = [name for name in able if name not in structure.shared]
    for _ in range(_TWINS if able else 0):
        name = rng.choice(able)
        gate = structure.gates[name]
        if gate.form in _JOINED:
            gate = gate._replace(form="all" if gate.form == "any" else "any")
        else:
            gate = _gate(able[: able.index(name)], rng)
        twin = replace(structure, gates={**structure.gates, name: gate})
        if twin.fits(Difficulty()) and twin._changed != structure._changed:
            return twin
    return None


def _drawn(
    graph: str, domain: str, setting: str, wanted: Difficulty, rng: Random
) -> Structure | None:
    number = rng.random() < _NUMBER
    events = LABELS[: rng.randint(*wanted.facts) - number]
    gates = {name: _gate(events[:index], rng) for index, name in enumerate(events)}
    by_form = {form: [n for n in events if gates[n].form == form] for form in ("root", "one")}
    if graph == "correlated" or (graph == "hybrid" and rng.random() < _HIDDEN):
        if len(by_form["root"]) < 2:
            return None
        gates |= dict.fromkeys(rng.sample(by_form["root"], 2), Gate("one", (LATENT,)))
        gates = {LATENT: Gate("root"), **gates}
    elif by_form["one"] and rng.random() < _HELD:
        name = rng.choice(by_form["one"])
        (cause,) = gates[name].causes
        holder = rng.choice([*(n for n in events[: events.index(name)] if n != cause), LATENT])
        gates[name] = Gate("held", (cause, holder))
        gates = {LATENT: Gate("root"), **gates} if holder == LATENT else gates
    if number:
        gates[NUMBER] = Gate(rng.choice(("up", "down")), (rng.choice(events),))
    supposed = rng.sample(events, min(len(events), rng.randint(*wanted.suppositions)))
    return Structure(graph, domain, setting, gates, tuple(sorted(supposed)))


def _gate(before: Sequence[str], rng: Random) -> Gate:
    many = min(len(before), rng.choices((0, 1, 2, 3), (0.2, 0.55, 0.22, 0.03))[0])
    if not many:
        return Gate("root")
    # The fact just before it is a likely cause, so that long chains are found.
    nearest = [before[-1]] if rng.random() < 0.5 else []
    others = rng.sample([n for n in before if n not in nearest], many - len(nearest))
    causes = tuple(sorted([*nearest, *others]))
    return Gate("one" if len(causes) == 1 else rng.choice(("any", "all")), causes)
