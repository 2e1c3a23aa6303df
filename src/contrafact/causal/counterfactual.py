"""What an intervention does to every variable of a situation, and the proof of it.

CoBe, section 3.2: what is not downstream stays, what is downstream changes, quantities move one
way, latent facts stay. Here each is derived, by Pearl's three steps done literally: keep the noise
settings under which the model gives the facts (abduction), change the model (action), and run it
under each of them (prediction). A variable must stay, must change, or is not determined; and
another algorithm, the twin network of `contrafact.causal.twin`, has to agree.
"""

from dataclasses import dataclass
from math import isclose
from typing import Literal

from contrafact.causal.model import Assignment, Model, NoiseSetting, Value, Variable
from contrafact.causal.twin import twin_joint

__all__ = [
    "Consequence",
    "Direction",
    "Disagreement",
    "ImpossibleFacts",
    "Joint",
    "Kind",
    "Posterior",
    "Proof",
    "abduct",
    "consequences",
    "counterfactual",
]

Joint = dict[str, dict[tuple[Value, Value], float]]
"""For every variable: the probability of each (factual, counterfactual) pair of values."""


class ImpossibleFacts(ValueError):
    """The model cannot give these facts under any noise."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """The joint noise settings that are consistent with the facts, and their probabilities."""

    settings: tuple[NoiseSetting, ...]
    weights: tuple[float, ...]


def abduct(model: Model, facts: Assignment) -> Posterior:
    """Return the posterior over noise settings given the facts.

    Raises:
        ImpossibleFacts: If no setting gives the facts.
        ValueError: If a fact names no variable, or a value that it cannot have.
    """
    for name, value in facts.items():
        model.variable(name).rank(value)
    place = {noise.name: at for at, noise in enumerate(model.noises)}
    # What the mechanisms so far allow: noise by place, the variables' values, the weight.
    states: list[tuple[dict[int, int], dict[str, Value], float]] = [({}, {}, 1.0)]
    known: set[str] = set()
    steps: list[str | None] = [*model.order, None]
    for step in steps:
        terms = (
            [n for n in model.mechanism(step).noise if n not in known]
            if step is not None
            else [n.name for n in model.noises if n.name not in known]
        )
        for term in dict.fromkeys(terms):
            known.add(term)
            at, weights = place[term], model.noise(term).probabilities
            states = [
                ({**noise, at: value}, values, weight * share)
                for noise, values, weight in states
                for value, share in enumerate(weights)
            ]
        if step is None:
            break
        mechanism, kept = model.mechanism(step), []
        own = [place[term] for term in mechanism.noise]
        for noise, values, weight in states:
            key = (*[values[p] for p in mechanism.parents], *[noise[at] for at in own])
            value = mechanism.table[key]
            if facts.get(step, value) == value:
                kept.append((noise, {**values, step: value}, weight))
        states = kept
    if not states:
        raise ImpossibleFacts(f"no noise gives the facts {dict(facts)}")
    total = sum(weight for *_, weight in states)
    found = sorted(
        (tuple(noise[at] for at in range(len(model.noises))), weight) for noise, _, weight in states
    )
    return Posterior(
        tuple(setting for setting, _ in found), tuple(weight / total for _, weight in found)
    )


def counterfactual(model: Model, posterior: Posterior, intervention: Assignment) -> Joint:
    """Return the joint of every variable's factual and counterfactual value."""
    joint: Joint = {name: {} for name in model.order}
    for setting, weight in zip(posterior.settings, posterior.weights, strict=True):
        before, after = model.predict(setting), model.predict(setting, intervention)
        for name, pairs in joint.items():
            pair = (before[name], after[name])
            pairs[pair] = pairs.get(pair, 0.0) + weight
    return joint


Kind = Literal["set", "stays", "changes", "undetermined"]
Direction = Literal["up", "down"]
_CLOSE = 1e-9


class Disagreement(AssertionError):
    """The two algorithms differ: one of them is wrong, and nothing is proven."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """What becomes of a variable: it is "set", "stays", "changes", or is "undetermined".

    ``before`` and ``after`` are its values, None where the facts leave them open. ``direction`` is
    the way an ordered variable moves under every noise setting, None where that differs.
    """

    variable: str
    kind: Kind
    before: Value | None
    after: Value | None
    direction: Direction | None


@dataclass(frozen=True, slots=True)
class Proof:
    """The consequences of an intervention, causes before effects, and what they rest on."""

    facts: Assignment
    intervention: Assignment
    posterior: Posterior
    consequences: tuple[Consequence, ...]

    def of(self, variable: str) -> Consequence:
        """Return the consequence for one variable; KeyError if there is none of that name."""
        for one in self.consequences:
            if one.variable == variable:
                return one
        raise KeyError(variable)


def consequences(model: Model, facts: Assignment, intervention: Assignment) -> Proof:
    """Return what the intervention does to every variable, given the facts.

    Raises:
        ImpossibleFacts: If the model cannot give the facts.
        Disagreement: If enumeration and the twin network differ.
        ValueError: If a name or value is not the model's.
    """
    posterior = abduct(model, facts)
    joint = counterfactual(model, posterior, intervention)
    for name, twin in twin_joint(model, facts, intervention).items():
        pairs = joint[name]
        if pairs.keys() != twin.keys() or not all(
            isclose(p, twin[pair], abs_tol=_CLOSE) for pair, p in pairs.items()
        ):
            raise Disagreement(f"'{name}': enumeration {pairs}, twin network {twin}")
    found = tuple(_consequence(model.variable(name), joint, intervention) for name in model.order)
    return Proof(dict(facts), dict(intervention), posterior, found)


def _consequence(variable: Variable, joint: Joint, intervention: Assignment) -> Consequence:
    name = variable.name
    pairs = joint[name]
    before, after = ({pair[side] for pair in pairs} for side in (0, 1))
    moves = {variable.rank(then) - variable.rank(was) for was, then in pairs}
    kind: Kind = "stays" if moves == {0} else "undetermined" if 0 in moves else "changes"
    if name in intervention:
        kind = "set"
    direction: Direction | None = None
    if kind in ("set", "changes") and variable.ordered:
        direction = "up" if min(moves) > 0 else "down" if max(moves) < 0 else None
    return Consequence(
        variable=name,
        kind=kind,
        before=next(iter(before)) if len(before) == 1 else None,
        after=next(iter(after)) if len(after) == 1 else None,
        direction=direction,
    )
