"""Causal models as text: ``pump: storm and not shield``, ``wait: 20 + 15*u_wait + 14*pump``.

This is the form in which a file holds a model, so that anyone can build it again. An event is true
or false, a quantity is a whole number, a noise term a number from 0. Mechanisms are made of names,
whole numbers, ``and``, ``or``, ``not``, ``+``, ``-``, ``*``, comparisons and brackets.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod
from types import MappingProxyType

from contrafact.causal.model import Graph, Mechanism, Model, Noise, Value, Variable

_MOST_ROWS = 4096
"""Rows of one mechanism's table."""
_OPERATORS = (
    *(ast.GtE, ast.Gt, ast.LtE, ast.Lt, ast.Eq, ast.NotEq),
    *(ast.Add, ast.Sub, ast.Mult, ast.And, ast.Or, ast.Not),
)
_NODES = (ast.Name, ast.BoolOp, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Load)


@dataclass(frozen=True, slots=True)
class ScmText:
    """A causal model as a file holds it.

    Attributes:
        graph: For every variable, its direct causes among the variables.
        mechanisms: For every variable, an expression over its causes and noise.
        noise: For every noise term, the probability of each of its values 0, 1, …
        told: The variables that a story tells.
        quantities: Those that are whole numbers; all others are true or false.
    """

    graph: Mapping[str, Sequence[str]]
    mechanisms: Mapping[str, str]
    noise: Mapping[str, Sequence[float]]
    told: Sequence[str]
    quantities: Sequence[str]


@lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    """Return the names in an expression of names, whole numbers and operators, or a ValueError."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"'{text}' cannot be read") from None
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and type(node.value) is int
        if not number and not isinstance(node, (*_NODES, *_OPERATORS)):
            raise ValueError(f"'{text}' holds '{type(node).__name__}', which mechanisms do not")
    return tuple(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))


def build(text: ScmText) -> Model:
    """Return the causal model.

    Raises:
        ValueError: If a mechanism cannot be read, names what is not there or disagrees with the
            graph, if there is a cycle, or a table would be too large.
    """
    graph = Graph(text.graph)
    values: dict[str, tuple[Value, ...]] = {}
    mechanisms = []
    if text.mechanisms.keys() != text.graph.keys():
        raise ValueError("the graph and the mechanisms are not about the same variables")
    for name in graph.order:
        names = _names(text.mechanisms[name])
        terms = [term for term in names if term in text.noise]
        parents = [parent for parent in names if parent not in text.noise]
        if set(parents) != set(text.graph[name]):
            raise ValueError(f"the mechanism of '{name}' names other causes than the graph")
        domains: list[Sequence[Value]] = [values[parent] for parent in parents]
        domains += [range(len(text.noise[term])) for term in terms]
        if prod(map(len, domains)) > _MOST_ROWS:
            raise ValueError(f"the mechanism of '{name}' has more than {_MOST_ROWS} cases")
        quantity = name in text.quantities
        table = _table(
            text.mechanisms[name], (*parents, *terms), tuple(map(tuple, domains)), quantity
        )
        values[name] = tuple(sorted(set(table.values()))) if quantity else (False, True)
        if len(values[name]) < 2:  # a variable needs two values, though this one never has another
            values[name] = (*values[name], int(values[name][0]) + 1)
        mechanisms.append(Mechanism(name, tuple(parents), tuple(terms), table))
    variables = tuple(
        Variable(name, values[name], ordered=name in text.quantities) for name in graph.order
    )
    noises = tuple(Noise(name, tuple(shares)) for name, shares in text.noise.items())
    return Model(variables, noises, tuple(mechanisms))


@lru_cache(maxsize=4096)
def _table(
    text: str, names: tuple[str, ...], domains: tuple[tuple[Value, ...], ...], quantity: bool
) -> Mapping[tuple[Value, ...], Value]:
    """Return the table of a mechanism; kept, as many models share mechanisms."""
    _names(text)  # refuses all but names, whole numbers and operators
    function = eval(f"lambda {', '.join(names)}: (\n{text}\n)", {"__builtins__": {}})
    kind = int if quantity else bool
    return MappingProxyType({key: kind(function(*key)) for key in product(*domains)})


def graph_name(parents: Mapping[str, Sequence[str]], common: Sequence[Sequence[str]]) -> str | None:
    """Return the type of a story's graph, or None where it has none of the six (CoBe, figure 3).

    Two effects of one cause make a fork, two causes of one effect a collider; where the two meet
    again, down or up the graph, they make a diamond. An unobserved common cause makes a correlated
    graph. More than one of these is a hybrid, none of them, on one path, a chain. Variables that
    nothing touches do not count. ``common`` are sets of told variables that share such a cause.
    """
    graph = Graph(parents)
    features = set()
    for node in parents:
        for first, second in combinations(graph.children[node], 2):
            below = graph.descendants([first]) | {first}
            meet = below & (graph.descendants([second]) | {second})
            features.add("diamond" if meet else "fork")
        for first, second in combinations(graph.parents[node], 2):
            above = graph.ancestors([first]) | {first}
            meet = above & (graph.ancestors([second]) | {second})
            features.add("diamond" if meet else "collider")
    if any(len(group) > 1 for group in common):
        features.add("correlated")
    if len(features) > 1:
        return "hybrid"
    if features:
        return features.pop()
    linked = [n for n in parents if graph.parents[n] or graph.children[n]]
    starts = [n for n in linked if not graph.parents[n]]
    return "chain" if len(linked) > 2 and len(starts) == 1 else None
