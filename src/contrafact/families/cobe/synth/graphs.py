"""A story's causal graph: mechanisms written as `rain and not drain`, and which type it is.

Every variable of a story has two values, the second of which is the true or the high one, so that
a mechanism is a Boolean expression over causes, latent facts and noise. The six types of graph are
those of CoBe, figure 3 and table 4.
"""

import ast
from collections.abc import Mapping, Sequence
from itertools import combinations

from contrafact.causal.model import Graph, Model, Noise, Value, Variable

__all__ = [
    "HIGH",
    "LEVELS",
    "TRUTH",
    "NotMonotone",
    "build_model",
    "graph_type",
    "names_of",
    "signs",
    "stated_graph",
    "unobserved_causes",
]

TRUTH = ("no", "yes")
LEVELS = ("low", "high")
HIGH = (TRUTH[1], LEVELS[1])


class NotMonotone(ValueError):
    """A cause pushes its effect now one way, now the other: no connector states that truly."""


def names_of(expression: str) -> tuple[str, ...]:
    """Return the names that an expression mentions, in the order of their first mention.

    Raises:
        ValueError: If it is not made of names, ``and``, ``or``, ``not`` and brackets.
    """
    found: dict[str, None] = {}
    _collect(_parse(expression), found)
    return tuple(found)


def build_model(
    variables: Sequence[Variable], noises: Sequence[str], expressions: Mapping[str, str]
) -> Model:
    """Return the causal model of a template.

    Args:
        variables: Told variables and latent facts.
        noises: Names of noise terms that expressions mention; each is a fair coin.
        expressions: For a variable, how it follows from others and from noise. A variable without
            one has a coin of its own.

    Raises:
        ValueError: If an expression cannot be read or names what is not there, or there is a cycle.
    """
    known = {variable.name: variable for variable in variables}
    terms = list(noises)
    functions: dict[str, tuple[Sequence[str], Sequence[str], _Function]] = {}
    for variable in variables:
        expression = expressions.get(variable.name)
        if expression is None:
            term = f"chance of {variable.name}"
            terms.append(term)
            functions[variable.name] = ((), (term,), _Function(None, ("coin",), variable.values))
            continue
        names = names_of(expression)
        parents = [name for name in names if name in known]
        own = [name for name in names if name in noises]
        unknown = [name for name in names if name not in known and name not in noises]
        if unknown:
            raise ValueError(f"'{variable.name}' depends on '{unknown[0]}', which is not there")
        function = _Function(_parse(expression), (*parents, *own), variable.values)
        functions[variable.name] = (parents, own, function)
    return Model.of(variables, [Noise(term, (0.5, 0.5)) for term in terms], functions)


def signs(model: Model) -> dict[tuple[str, str], int]:
    """Return, for every cause and effect, 1 if the cause furthers it, -1 if it hinders it.

    It is read off the mechanism's table: with everything else held, does the effect ever rise, or
    ever fall, when the cause rises?

    Raises:
        NotMonotone: If a cause does both, or neither.
    """
    found = {}
    for effect in model.order:
        mechanism = model.mechanism(effect)
        for place, cause in enumerate(mechanism.parents):
            low, high = model.variable(cause).values
            moves = set()
            for key, value in mechanism.table.items():
                if key[place] == low:
                    other = mechanism.table[(*key[:place], high, *key[place + 1 :])]
                    moves.add(
                        model.variable(effect).rank(other) - model.variable(effect).rank(value)
                    )
            if moves >= {1, -1} or moves == {0}:
                raise NotMonotone(f"'{cause}' does not push '{effect}' one way")
            found[cause, effect] = 1 if 1 in moves else -1
    return found


class _Function:
    """A Boolean expression as a function of its names' values, in their order."""

    def __init__(
        self, tree: ast.expr | None, names: Sequence[str], values: tuple[Value, ...]
    ) -> None:
        self.tree, self.names, self.values = tree, names, values

    def __call__(self, *arguments: Value) -> Value:
        truths = {
            name: bool(value) if isinstance(value, int) else value in HIGH
            for name, value in zip(self.names, arguments, strict=True)
        }
        if self.tree is None:
            return self.values[int(truths["coin"])]
        return self.values[int(_evaluate(self.tree, truths))]


def _parse(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"'{expression}' cannot be read") from None


def _collect(tree: ast.expr, found: dict[str, None]) -> None:
    if isinstance(tree, ast.Name):
        found[tree.id] = None
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        _collect(tree.operand, found)
    elif isinstance(tree, ast.BoolOp):
        for value in tree.values:
            _collect(value, found)
    else:
        raise ValueError(f"'{ast.unparse(tree)}' is not made of names, 'and', 'or' and 'not'")


def _evaluate(tree: ast.expr, truths: Mapping[str, bool]) -> bool:
    if isinstance(tree, ast.Name):
        return truths[tree.id]
    if isinstance(tree, ast.UnaryOp):
        return not _evaluate(tree.operand, truths)
    assert isinstance(tree, ast.BoolOp)  # `_collect` has refused everything else
    parts = [_evaluate(value, truths) for value in tree.values]
    return all(parts) if isinstance(tree.op, ast.And) else any(parts)


def stated_graph(model: Model, stated: tuple[str, ...]) -> Graph:
    """Return the causal graph among the variables that the story states."""
    parents = model.graph.parents
    return Graph({name: tuple(p for p in parents[name] if p in stated) for name in stated})


def unobserved_causes(model: Model, stated: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return the sets of stated variables that share a noise term or a latent."""
    found = []
    for noise in model.noises:
        found.append(frozenset(n for n in stated if noise.name in model.mechanism(n).noise))
    for latent in (name for name in model.order if name not in stated):
        found.append(frozenset(n for n in stated if latent in model.mechanism(n).parents))
    return tuple(group for group in found if len(group) > 1)


def graph_type(model: Model, stated: tuple[str, ...]) -> str | None:
    """Return the type of a story's graph; none where it is none of the six.

    Two effects of one cause make a fork, two causes of one effect a collider; where the two meet
    again, down or up the graph, they make a diamond. An unobserved common cause makes a correlated
    graph. More than one of these is a hybrid, none of them, on one path, a chain. Variables that
    nothing touches do not count.
    """
    graph = stated_graph(model, stated)
    features = set()
    for node in stated:
        for one, other in combinations(graph.children[node], 2):
            below = graph.descendants([one]) | {one}
            features.add("diamond" if below & (graph.descendants([other]) | {other}) else "fork")
        for one, other in combinations(graph.parents[node], 2):
            above = graph.ancestors([one]) | {one}
            features.add("diamond" if above & (graph.ancestors([other]) | {other}) else "collider")
    if unobserved_causes(model, stated):
        features.add("correlated")
    if len(features) > 1:
        return "hybrid"
    if features:
        return features.pop()
    linked = [n for n in stated if graph.parents[n] or graph.children[n]]
    starts = [n for n in linked if not graph.parents[n]]
    return "chain" if len(linked) > 2 and len(starts) == 1 else None
