"""Counterfactuals by a twin network, solved by variable elimination.

Balke and Pearl (1994): two copies of the model, the factual one and the one after the intervention
(surgery), share their noise; the facts are evidence in the first, the answer is read from the
second. A variable that is not downstream of the intervention is the same in both, and one node. No
noise is enumerated jointly, and no code is shared with `counterfactual`, so that the two check each
other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contrafact.causal.model import Assignment, Model, Value

_AFTER = "*\x00"  # prefix of the copy after surgery; no variable's name begins with it


@dataclass(frozen=True, slots=True)
class _Factor:
    """A table over named axes; missing entries are zero."""

    axes: tuple[str, ...]
    table: dict[tuple[Value, ...], float]

    def times(self, other: "_Factor") -> "_Factor":
        common = [axis for axis in other.axes if axis in self.axes]
        mine = [self.axes.index(axis) for axis in common]
        theirs = [other.axes.index(axis) for axis in common]
        rest = [index for index, axis in enumerate(other.axes) if axis not in self.axes]
        rows: dict[tuple[Value, ...], list[tuple[tuple[Value, ...], float]]] = {}
        for key, weight in other.table.items():
            match = tuple([key[index] for index in theirs])
            rows.setdefault(match, []).append((tuple([key[index] for index in rest]), weight))
        table = {
            (*key, *added): weight * factor
            for key, weight in self.table.items()
            for added, factor in rows.get(tuple([key[index] for index in mine]), ())
        }
        return _Factor((*self.axes, *(other.axes[index] for index in rest)), table)

    def without(self, axis: str) -> "_Factor":
        """Return the factor with an axis summed out."""
        index = self.axes.index(axis)
        table: dict[tuple[Value, ...], float] = {}
        for key, weight in self.table.items():
            rest = key[:index] + key[index + 1 :]
            table[rest] = table.get(rest, 0.0) + weight
        return _Factor(self.axes[:index] + self.axes[index + 1 :], table)


def twin_joint(
    model: Model, facts: Assignment, intervention: Assignment
) -> dict[str, dict[tuple[Value, Value], float]]:
    """Return, for every variable, the probability of each (factual, counterfactual) pair.

    Raises:
        ValueError: If the facts are impossible, or use an unknown name.
    """
    twin = _Twin(model, facts, intervention)
    return {name: twin.pair(name) for name in model.order}


class _Twin:
    """The network of one situation, its factual half eliminated as far as possible."""

    def __init__(self, model: Model, facts: Assignment, intervention: Assignment) -> None:
        for name, value in (*facts.items(), *intervention.items()):
            model.variable(name).rank(value)
        self.model, self.facts, self.intervention = model, facts, intervention
        self.copied = model.graph.descendants(intervention) | set(intervention)
        factual = [
            _Factor((noise.name,), {(i,): share for i, share in enumerate(noise.probabilities)})
            for noise in model.noises
        ]
        factual += [self._mechanism(name, after=False) for name in model.order]
        self.after = {name: self._mechanism(name, after=True) for name in self.copied}
        untold = {name for name in model.order if name not in facts}
        shared = {axis for factor in self.after.values() for axis in factor.axes}
        self.factual = _eliminate(factual, keep=shared | untold)
        if _product(_eliminate(self.factual, keep=set())).table.get((), 0.0) <= 0.0:
            raise ValueError(f"no noise gives the facts {dict(facts)}")

    def pair(self, name: str) -> dict[tuple[Value, Value], float]:
        if name in self.facts and name not in self.copied:
            return {(self.facts[name], self.facts[name]): 1.0}
        then = _AFTER + name if name in self.copied else name
        # A mechanism that does not affect the variable sums to one, and is left out.
        needed = self.model.graph.ancestors([name]) | {name}
        factors = [*self.factual, *(self.after[node] for node in self.copied & needed)]
        wanted = {axis for axis in (name, then) if axis not in self.facts}
        # A factor with no connection to the variable is a constant.
        factors = _reached(factors, wanted)
        left = _product(_eliminate(factors, keep=wanted))
        total = sum(left.table.values())
        joint: dict[tuple[Value, Value], float] = {}
        for key, weight in left.table.items():
            values = dict(zip(left.axes, key, strict=True))
            before = values[name] if name in values else self.facts[name]
            values_of_pair = (before, values.get(then, before))
            joint[values_of_pair] = joint.get(values_of_pair, 0.0) + weight / total
        return {pair: weight for pair, weight in joint.items() if weight > 0.0}

    def _mechanism(self, name: str, *, after: bool) -> _Factor:
        """Return a mechanism as a factor, with only the rows that the facts allow."""
        node = _AFTER + name if after else name
        if after and name in self.intervention:  # surgery: it no longer depends on its causes
            return _Factor((node,), {(self.intervention[name],): 1.0})
        mechanism = self.model.mechanism(name)
        axes = [
            _AFTER + parent if after and parent in self.copied else parent
            for parent in mechanism.parents
        ]
        axes += [*mechanism.noise, node]
        evidence = [
            (index, self.facts[axis]) for index, axis in enumerate(axes) if axis in self.facts
        ]
        free = [index for index, axis in enumerate(axes) if axis not in self.facts]
        table = {}
        for key, value in mechanism.table.items():
            row = (*key, value)
            if all(row[index] == fact for index, fact in evidence):
                table[tuple([row[index] for index in free])] = 1.0
        return _Factor(tuple(axes[index] for index in free), table)


def _reached(factors: Sequence[_Factor], axes: set[str]) -> list[_Factor]:
    """Return the factors that share an axis with these, directly or through other factors."""
    reached_axes, left = set(axes), list(factors)
    reached: list[_Factor] = []
    while near := [factor for factor in left if not reached_axes.isdisjoint(factor.axes)]:
        reached += near
        left = [factor for factor in left if reached_axes.isdisjoint(factor.axes)]
        reached_axes.update(axis for factor in near for axis in factor.axes)
    return reached


def _eliminate(factors: Iterable[_Factor], keep: set[str]) -> list[_Factor]:
    """Sum out all axes except ``keep``, first the axis with the smallest resulting factor."""
    left = list(factors)

    def width(axis: str) -> int:
        return len({a for f in left if axis in f.axes for a in f.axes})

    hidden = dict.fromkeys(axis for f in left for axis in f.axes if axis not in keep)
    while hidden:
        axis = min(hidden, key=width)
        del hidden[axis]
        touched = [f for f in left if axis in f.axes]
        left = [f for f in left if axis not in f.axes]
        left.append(_product(touched).without(axis))
    return left


def _product(factors: Sequence[_Factor]) -> _Factor:
    if not factors:
        return _Factor((), {(): 1.0})
    result, *rest = sorted(factors, key=lambda f: len(f.table))
    for factor in rest:
        result = result.times(factor)
    return result
