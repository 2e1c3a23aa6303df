"""Which of the six types a story's causal graph is (CoBe, figure 3 and table 4)."""

from itertools import combinations

from contrafact.causal.model import Graph, Model

__all__ = ["graph_type", "told_graph", "unobserved_causes"]


def told_graph(model: Model, told: tuple[str, ...]) -> Graph:
    """Return the causal graph among the variables that the story tells."""
    parents = model.graph.parents
    return Graph({name: tuple(p for p in parents[name] if p in told) for name in told})


def unobserved_causes(model: Model, told: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return the sets of told variables that share something untold: a noise term or a latent."""
    found = []
    for noise in model.noises:
        found.append(frozenset(n for n in told if noise.name in model.mechanism(n).noise))
    for latent in (name for name in model.order if name not in told):
        found.append(frozenset(n for n in told if latent in model.mechanism(n).parents))
    return tuple(group for group in found if len(group) > 1)


def graph_type(model: Model, told: tuple[str, ...]) -> str | None:
    """Return the type of a story's graph; none where it is none of the six.

    Two effects of one cause make a fork, two causes of one effect a collider; where the two meet
    again, down or up the graph, they make a diamond. An unobserved common cause makes a correlated
    graph. More than one of these is a hybrid, none of them, on one path, a chain. Variables that
    nothing touches do not count.
    """
    graph = told_graph(model, told)
    features = set()
    for node in told:
        for one, other in combinations(graph.children[node], 2):
            below = graph.descendants([one]) | {one}
            features.add("diamond" if below & (graph.descendants([other]) | {other}) else "fork")
        for one, other in combinations(graph.parents[node], 2):
            above = graph.ancestors([one]) | {one}
            features.add("diamond" if above & (graph.ancestors([other]) | {other}) else "collider")
    if unobserved_causes(model, told):
        features.add("correlated")
    if len(features) > 1:
        return "hybrid"
    if features:
        return features.pop()
    tied = [n for n in told if graph.parents[n] or graph.children[n]]
    starts = [n for n in tied if not graph.parents[n]]
    return "chain" if len(tied) > 2 and len(starts) == 1 else None
