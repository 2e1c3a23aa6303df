"""The same counterfactual by a twin network, solved by variable elimination.

Balke and Pearl (1994): two copies of the model, the factual one and the one after surgery, share
their noise; the facts are evidence in the first, the answer is read in the second. What is not
downstream of the intervention is the same in both and is one node. No noise is enumerated jointly,
and no code is shared with `counterfactual`: the two can check each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contrafact.causal.model import Assignment, Model, Value

__all__ = ["twin_joint"]

_AFTER = "*\x00"  # marks the copy after surgery; never the beginning of a name


@dataclass(frozen=True, slots=True)
class _Factor:
    """A table over named axes; what has no entry is zero."""

    axes: tuple[str, ...]
    table: dict[tuple[Value, ...], float]

    def times(self, other: "_Factor") -> "_Factor":
        common = [axis for axis in other.axes if axis in self.axes]
        mine = [self.axes.index(axis) for axis in common]
        theirs = [other.axes.index(axis) for axis in common]
        rest = [place for place, axis in enumerate(other.axes) if axis not in self.axes]
        rows: dict[tuple[Value, ...], list[tuple[tuple[Value, ...], float]]] = {}
        for key, weight in other.table.items():
            match = tuple([key[place] for place in theirs])
            rows.setdefault(match, []).append((tuple([key[place] for place in rest]), weight))
        table = {
            (*key, *added): weight * factor
            for key, weight in self.table.items()
            for added, factor in rows.get(tuple([key[place] for place in mine]), ())
        }
        return _Factor((*self.axes, *(other.axes[place] for place in rest)), table)

    def without(self, axis: str) -> "_Factor":
        place = self.axes.index(axis)
        table: dict[tuple[Value, ...], float] = {}
        for key, weight in self.table.items():
            rest = key[:place] + key[place + 1 :]
            table[rest] = table.get(rest, 0.0) + weight
        return _Factor(self.axes[:place] + self.axes[place + 1 :], table)


def twin_joint(
    model: Model, facts: Assignment, intervention: Assignment
) -> dict[str, dict[tuple[Value, Value], float]]:
    """Return, for every variable, the probability of each (factual, counterfactual) pair.

    Raises:
        ValueError: If the facts are impossible, or name what is not there.
    """
    twin = _Twin(model, facts, intervention)
    return {name: twin.pair(name) for name in model.order}


class _Twin:
    """The network of one situation, its factual half eliminated as far as all answers allow."""

    def __init__(self, model: Model, facts: Assignment, intervention: Assignment) -> None:
        for name, value in (*facts.items(), *intervention.items()):
            model.variable(name).rank(value)
        self.model, self.facts, self.intervention = model, facts, intervention
        self.copied = model.graph.descendants(intervention) | set(intervention)
        factual = [_prior(model, noise.name) for noise in model.noises]
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
        # What is neither asked for nor leads to it sums to one: it is left out.
        needed = self.model.graph.ancestors([name]) | {name}
        factors = [*self.factual, *(self.after[one] for one in self.copied & needed)]
        wanted = {axis for axis in (name, then) if axis not in self.facts}
        # What shares no axis with it, however far removed, is a constant factor.
        factors = _reached(factors, wanted)
        left = _product(_eliminate(factors, keep=wanted))
        total = sum(left.table.values())
        found: dict[tuple[Value, Value], float] = {}
        for key, weight in left.table.items():
            values = dict(zip(left.axes, key, strict=True))
            before = values[name] if name in values else self.facts[name]
            place = (before, values.get(then, before))
            found[place] = found.get(place, 0.0) + weight / total
        return {place: weight for place, weight in found.items() if weight > 0.0}

    def _mechanism(self, name: str, *, after: bool) -> _Factor:
        """Return a mechanism as the list of its rows that the facts allow."""
        own = _AFTER + name if after else name
        if after and name in self.intervention:
            return _Factor((own,), {(self.intervention[name],): 1.0})
        mechanism = self.model.mechanism(name)
        axes = [
            _AFTER + parent if after and parent in self.copied else parent
            for parent in mechanism.parents
        ]
        axes += [*mechanism.noise, own]
        known = [(place, self.facts[axis]) for place, axis in enumerate(axes) if axis in self.facts]
        free = [place for place, axis in enumerate(axes) if axis not in self.facts]
        table = {}
        for key, value in mechanism.table.items():
            row = (*key, value)
            if all(row[place] == fact for place, fact in known):
                table[tuple([row[place] for place in free])] = 1.0
        return _Factor(tuple(axes[place] for place in free), table)


def _prior(model: Model, name: str) -> _Factor:
    table: dict[tuple[Value, ...], float] = {
        (value,): weight for value, weight in enumerate(model.noise(name).probabilities)
    }
    return _Factor((name,), table)


def _reached(factors: Sequence[_Factor], axes: set[str]) -> list[_Factor]:
    """Return the factors that some axes are tied to, by way of others or not."""
    known, left = set(axes), list(factors)
    found: list[_Factor] = []
    while near := [factor for factor in left if not known.isdisjoint(factor.axes)]:
        found += near
        left = [factor for factor in left if known.isdisjoint(factor.axes)]
        known.update(axis for factor in near for axis in factor.axes)
    return found


def _eliminate(factors: Iterable[_Factor], keep: set[str]) -> list[_Factor]:
    """Sum out all axes but those to keep, the cheapest first."""
    left = list(factors)
    hidden = dict.fromkeys(axis for f in left for axis in f.axes if axis not in keep)
    while hidden:
        axis = min(hidden, key=lambda one: _width(left, one))
        del hidden[axis]
        touched = [f for f in left if axis in f.axes]
        left = [f for f in left if axis not in f.axes]
        left.append(_product(touched).without(axis))
    return left


def _width(factors: Sequence[_Factor], axis: str) -> int:
    """Return how many axes a factor would have that eliminating this one makes."""
    return len({a for f in factors if axis in f.axes for a in f.axes})


def _product(factors: Sequence[_Factor]) -> _Factor:
    if not factors:
        return _Factor((), {(): 1.0})
    result, *rest = sorted(factors, key=lambda f: len(f.table))
    for factor in rest:
        result = result.times(factor)
    return result
