"""Structural causal models: a graph of causes and effects, mechanisms, and noise.

The model is Pearl's: every endogenous variable is a deterministic function of its parents and of
noise, the only source of chance. A noise term that two mechanisms share is an unobserved
common cause. Everything is finite, so that abduction is exact.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isclose

__all__ = [
    "Assignment",
    "Graph",
    "Mechanism",
    "Model",
    "Noise",
    "NoiseSetting",
    "Value",
    "Variable",
]


class Graph:
    """A directed acyclic graph over named nodes, given by the direct causes of each node.

    Raises:
        ValueError: If a parent is not a node; `order` raises it on a cycle.
    """

    def __init__(self, parents: Mapping[str, Iterable[str]]) -> None:
        self.parents = {node: tuple(causes) for node, causes in parents.items()}
        for node, causes in self.parents.items():
            for cause in causes:
                if cause not in self.parents:
                    raise ValueError(f"'{node}' has the unknown cause '{cause}'")

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        return {
            node: tuple(n for n, causes in self.parents.items() if node in causes)
            for node in self.parents
        }

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, causes before effects; ValueError on a cycle."""
        done: dict[str, None] = {}
        while len(done) < len(self.parents):
            ready = [
                node
                for node, causes in self.parents.items()
                if node not in done and all(cause in done for cause in causes)
            ]
            if not ready:
                left = sorted(set(self.parents) - set(done))
                raise ValueError(f"the graph has a cycle among {', '.join(left)}")
            done |= dict.fromkeys(ready)
        return tuple(done)

    def descendants(self, nodes: Iterable[str]) -> frozenset[str]:
        """Return the nodes downstream of any of these; these themselves only if below another."""
        return self._reach(nodes, self.children)

    def ancestors(self, nodes: Iterable[str]) -> frozenset[str]:
        """Return the nodes upstream of any of these; these themselves only if above another."""
        return self._reach(nodes, self.parents)

    @staticmethod
    def _reach(nodes: Iterable[str], step: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        reached: set[str] = set()
        edge = [near for node in nodes for near in step[node]]
        while edge:
            node = edge.pop()
            if node not in reached:
                reached.add(node)
                edge += step[node]
        return frozenset(reached)


Value = str | int
Assignment = Mapping[str, Value]
NoiseSetting = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """An endogenous variable; if ``ordered`` (a quantity), its values are in ascending order."""

    name: str
    values: tuple[Value, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        if len(set(self.values)) != len(self.values) or len(self.values) < 2:
            raise ValueError(f"variable '{self.name}' needs two or more values, all different")

    def rank(self, value: Value) -> int:
        """Return the index of a value; ValueError if the variable cannot have it."""
        try:
            return self.values.index(value)
        except ValueError:
            raise ValueError(f"variable '{self.name}' cannot be {value!r}") from None


@dataclass(frozen=True, slots=True)
class Noise:
    """An exogenous term, independent of the others; values 0, 1, … with these probabilities."""

    name: str
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.probabilities or min(self.probabilities) <= 0:
            raise ValueError(f"every value of noise '{self.name}' needs a probability above zero")
        if not isclose(sum(self.probabilities), 1.0, abs_tol=1e-9):
            raise ValueError(f"the probabilities of noise '{self.name}' do not sum to one")


@dataclass(frozen=True)
class Mechanism:
    """A table that gives a variable's value for its parents' values and its noise terms' values."""

    variable: str
    parents: tuple[str, ...]
    noise: tuple[str, ...]
    table: Mapping[tuple[Value, ...], Value]

    def __call__(self, values: Assignment, noise: Mapping[str, int]) -> Value:
        key = (*(values[p] for p in self.parents), *(noise[n] for n in self.noise))
        return self.table[key]


@dataclass(frozen=True)
class Model:
    """A structural causal model, with one mechanism for every variable.

    Raises:
        ValueError: If a mechanism is missing, uses an unknown name, has a gap in its table or
            gives a value that its variable cannot have, or if the graph has a cycle.
    """

    variables: tuple[Variable, ...]
    noises: tuple[Noise, ...]
    mechanisms: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        if len(self._variables) != len(self.variables) or len(self._noises) != len(self.noises):
            raise ValueError("two variables, or two noise terms, have the same name")
        named = {m.variable for m in self.mechanisms}
        if named != set(self._variables) or len(named) != len(self.mechanisms):
            raise ValueError("every variable needs one mechanism, and only variables have one")
        for mechanism in self.mechanisms:
            self._check(mechanism)
        self.graph.order  # noqa: B018 - it raises on a cycle

    @classmethod
    def of(
        cls,
        variables: Sequence[Variable],
        noises: Sequence[Noise],
        functions: Mapping[str, tuple[Sequence[str], Sequence[str], Callable[..., Value]]],
    ) -> "Model":
        """Return a model from mechanisms given as functions, which are tabulated.

        ``functions`` gives for each variable its parents, its noise terms, and a function of
        the parents' values followed by the noise terms' values.
        """
        by_name = {v.name: v for v in variables}
        noise = {n.name: n for n in noises}
        mechanisms = []
        for name, (parents, terms, function) in functions.items():
            domains: list[Iterable[Value]] = [by_name[p].values for p in parents]
            domains += [range(len(noise[n].probabilities)) for n in terms]
            table = {key: function(*key) for key in product(*domains)}
            mechanisms.append(Mechanism(name, tuple(parents), tuple(terms), table))
        return cls(tuple(variables), tuple(noises), tuple(mechanisms))

    @cached_property
    def graph(self) -> Graph:
        return Graph({v.name: self._mechanisms[v.name].parents for v in self.variables})

    @cached_property
    def _variables(self) -> dict[str, Variable]:
        return {v.name: v for v in self.variables}

    @cached_property
    def _noises(self) -> dict[str, Noise]:
        return {n.name: n for n in self.noises}

    @cached_property
    def _mechanisms(self) -> dict[str, Mechanism]:
        return {m.variable: m for m in self.mechanisms}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables' names, causes before effects."""
        return self.graph.order

    def variable(self, name: str) -> Variable:
        """Return a variable by its name; ValueError if there is none."""
        if name not in self._variables:
            raise ValueError(f"there is no variable '{name}'")
        return self._variables[name]

    def mechanism(self, name: str) -> Mechanism:
        return self._mechanisms[name]

    def noise(self, name: str) -> Noise:
        return self._noises[name]

    def predict(
        self, setting: NoiseSetting, intervention: Assignment | None = None
    ) -> dict[str, Value]:
        """Return every variable's value under a joint noise setting and an intervention."""
        noise = {n.name: value for n, value in zip(self.noises, setting, strict=True)}
        values: dict[str, Value] = {}
        for name in self.order:
            if intervention is not None and name in intervention:
                values[name] = intervention[name]
            else:
                values[name] = self._mechanisms[name](values, noise)
        return values

    def _check(self, mechanism: Mechanism) -> None:
        name = mechanism.variable
        unknown = [p for p in mechanism.parents if p not in self._variables]
        unknown += [n for n in mechanism.noise if n not in self._noises]
        if unknown:
            raise ValueError(f"the mechanism of '{name}' uses unknown names: {unknown}")
        domains: list[Iterable[Value]] = [self._variables[p].values for p in mechanism.parents]
        domains += [range(len(self._noises[n].probabilities)) for n in mechanism.noise]
        for key in product(*domains):
            if key not in mechanism.table:
                raise ValueError(f"the mechanism of '{name}' has no value for {key}")
            self._variables[name].rank(mechanism.table[key])
