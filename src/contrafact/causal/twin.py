"""The same counterfactual by a twin network, solved by variable elimination.

Balke and Pearl (1994): two copies of the model, the factual one and the one after surgery, share
their noise; the facts are evidence in the first, the answer is read in the second. Nothing is
enumerated jointly, and no code is shared with `counterfactual`: the two can check each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contrafact.causal.model import Assignment, Model, Value

__all__ = ["twin_joint", "twin_pair"]

_AFTER = "*"  # marks the copy after surgery


@dataclass(frozen=True)
class _Factor:
    """A table over named axes."""

    axes: tuple[str, ...]
    table: NDArray[np.float64]

    def times(self, other: "_Factor") -> "_Factor":
        axes = (*self.axes, *(a for a in other.axes if a not in self.axes))
        return _Factor(axes, self._over(axes) * other._over(axes))

    def without(self, axis: str) -> "_Factor":
        place = self.axes.index(axis)
        axes = self.axes[:place] + self.axes[place + 1 :]
        return _Factor(axes, np.asarray(self.table.sum(axis=place)))

    def at(self, axis: str, index: int) -> "_Factor":
        if axis not in self.axes:
            return self
        place = self.axes.index(axis)
        axes = self.axes[:place] + self.axes[place + 1 :]
        return _Factor(axes, np.asarray(self.table.take(index, axis=place)))

    def _over(self, axes: Sequence[str]) -> NDArray[np.float64]:
        order = [self.axes.index(a) for a in axes if a in self.axes]
        shape = [self.table.shape[self.axes.index(a)] if a in self.axes else 1 for a in axes]
        return self.table.transpose(order).reshape(shape)


def twin_joint(
    model: Model, facts: Assignment, intervention: Assignment
) -> dict[str, dict[tuple[Value, Value], float]]:
    """Return, for every variable, the probability of each (factual, counterfactual) pair.

    Raises:
        ValueError: If the facts are impossible, or name what is not there.
    """
    return {name: twin_pair(model, facts, intervention, name) for name in model.order}


def twin_pair(
    model: Model, facts: Assignment, intervention: Assignment, name: str
) -> dict[tuple[Value, Value], float]:
    """Return the joint distribution of one variable's factual and counterfactual value.

    Raises:
        ValueError: If the facts are impossible, or name what is not there.
    """
    factors = [_Factor((n.name,), np.array(n.probabilities)) for n in model.noises]
    factors += [_mechanism(model, v.name, "", {}) for v in model.variables]
    factors += [_mechanism(model, v.name, _AFTER, intervention) for v in model.variables]
    for fact, value in facts.items():
        index = model.variable(fact).rank(value)
        # The variable that is asked for keeps its axis; all others are fixed where they stand.
        factors = [f if fact == name else f.at(_node(fact), index) for f in factors]
    if name in facts:
        chosen = np.zeros(len(model.variable(name).values))
        chosen[model.variable(name).rank(facts[name])] = 1.0
        factors.append(_Factor((_node(name),), chosen))
    wanted = (_node(name), _node(name, _AFTER))
    left = _eliminate(factors, keep=wanted)
    table = left.table.transpose([left.axes.index(axis) for axis in wanted])
    total = float(table.sum())
    if total <= 0.0:
        raise ValueError(f"no noise gives the facts {dict(facts)}")
    values = model.variable(name).values
    return {
        (before, after): float(table[i, j]) / total
        for i, before in enumerate(values)
        for j, after in enumerate(values)
        if table[i, j] > 0.0
    }


def _node(variable: str, copy: str = "") -> str:
    return f"{copy}{variable}\x00"  # never the name of a noise term


def _mechanism(model: Model, name: str, copy: str, intervention: Assignment) -> _Factor:
    """Return a mechanism as a table of zeros and ones."""
    variable = model.variable(name)
    if name in intervention:
        fixed = np.zeros(len(variable.values))
        fixed[variable.rank(intervention[name])] = 1.0
        return _Factor((_node(name, copy),), fixed)
    mechanism = model.mechanism(name)
    domains: list[Sequence[Value]] = [model.variable(p).values for p in mechanism.parents]
    domains += [range(len(model.noise(n).probabilities)) for n in mechanism.noise]
    table = np.zeros((*map(len, domains), len(variable.values)))
    for key, value in mechanism.table.items():
        place = tuple(d.index(k) for d, k in zip(domains, key, strict=True))
        table[(*place, variable.rank(value))] = 1.0
    axes = (*(_node(p, copy) for p in mechanism.parents), *mechanism.noise, _node(name, copy))
    return _Factor(axes, table)


def _eliminate(factors: Iterable[_Factor], keep: Sequence[str]) -> _Factor:
    """Multiply the factors and sum out all axes but those to keep, the cheapest first."""
    left = list(factors)
    while True:
        hidden = {a for f in left for a in f.axes if a not in keep}
        if not hidden:
            break
        axis = min(sorted(hidden), key=lambda a: _width(left, a))
        touched = [f for f in left if axis in f.axes]
        left = [f for f in left if axis not in f.axes]
        left.append(_product(touched).without(axis))
    return _product(left)


def _width(factors: Sequence[_Factor], axis: str) -> int:
    """Return how many axes a factor would have that eliminating this one makes."""
    return len({a for f in factors if axis in f.axes for a in f.axes})


def _product(factors: Sequence[_Factor]) -> _Factor:
    result = factors[0]
    for factor in factors[1:]:
        result = result.times(factor)
    return result
