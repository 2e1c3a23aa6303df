"""The effect of an intervention on every variable of a situation, and its proof.

CoBe, section 3.2: variables that are not downstream of the intervention stay, downstream ones
change, quantities move in one direction, latent facts stay. Here this is derived by the three steps
of section 1, after Pearl: keep the noise settings under which the model gives the facts
(abduction), change the model (action), and run it under each of them (prediction). A variable must
stay, must change, or is undetermined; a second algorithm, the twin network of
`contrafact.causal.twin`, must agree.
"""

from collections.abc import Iterable
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
    """The joint noise settings that are consistent with the facts, with their probabilities."""

    settings: tuple[NoiseSetting, ...]
    weights: tuple[float, ...]


def abduct(model: Model, facts: Assignment) -> Posterior:
    """Return the posterior over noise settings given the facts (step 1 of section 1).

    Variables are processed causes first, and settings that contradict a fact are dropped at once,
    so that most joint settings are never built.

    Raises:
        ImpossibleFacts: If no setting gives the facts.
        ValueError: If a fact names an unknown variable, or a value that it cannot have.
    """
    for name, value in facts.items():
        model.variable(name).rank(value)
    # The settings so far: noise terms, the variables' values, the weight.
    states: list[tuple[dict[str, int], dict[str, Value], float]] = [({}, {}, 1.0)]
    drawn: set[str] = set()

    def draw(terms: Iterable[str]) -> None:
        nonlocal states
        for term in terms:
            if term in drawn:
                continue
            drawn.add(term)
            shares = model.noise(term).probabilities
            states = [
                ({**noise, term: value}, values, weight * share)
                for noise, values, weight in states
                for value, share in enumerate(shares)
            ]

    for name in model.order:
        mechanism = model.mechanism(name)
        draw(mechanism.noise)
        kept = []
        for noise, values, weight in states:
            value = mechanism(values, noise)
            if facts.get(name, value) == value:
                kept.append((noise, {**values, name: value}, weight))
        states = kept
    draw(noise.name for noise in model.noises)  # noise terms that no mechanism uses
    if not states:
        raise ImpossibleFacts(f"no noise gives the facts {dict(facts)}")
    total = sum(weight for *_, weight in states)
    posterior = sorted(
        (tuple(noise[term.name] for term in model.noises), weight) for noise, _, weight in states
    )
    return Posterior(
        tuple(setting for setting, _ in posterior), tuple(weight / total for _, weight in posterior)
    )


def counterfactual(model: Model, posterior: Posterior, intervention: Assignment) -> Joint:
    """Return the joint distribution of each variable's two values (steps 2 and 3 of section 1)."""
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
    """The results of the two algorithms differ: one is wrong, and nothing is proven."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """The effect on a variable: it is "set", "stays", "changes", or is "undetermined".

    ``before`` and ``after`` are its values, None if the facts leave them open. ``direction`` is the
    direction in which an ordered variable moves under every noise setting, None if they differ.
    """

    variable: str
    kind: Kind
    before: Value | None
    after: Value | None
    direction: Direction | None


@dataclass(frozen=True, slots=True)
class Proof:
    """The consequences of an intervention, causes before effects, with facts and intervention."""

    facts: Assignment
    intervention: Assignment
    posterior: Posterior
    consequences: tuple[Consequence, ...]

    def of(self, variable: str) -> Consequence:
        """Return the consequence for one variable; KeyError if the name is unknown."""
        for consequence in self.consequences:
            if consequence.variable == variable:
                return consequence
        raise KeyError(variable)


def consequences(model: Model, facts: Assignment, intervention: Assignment) -> Proof:
    """Return the effect of the intervention on every variable, given the facts.

    Raises:
        ImpossibleFacts: If the model cannot give the facts.
        Disagreement: If enumeration and the twin network differ.
        ValueError: If the model does not have a name or value.
    """
    posterior = abduct(model, facts)
    joint = counterfactual(model, posterior, intervention)
    for name, twin in twin_joint(model, facts, intervention).items():
        pairs = joint[name]
        if pairs.keys() != twin.keys() or not all(
            isclose(p, twin[pair], abs_tol=_CLOSE) for pair, p in pairs.items()
        ):
            raise Disagreement(f"'{name}': enumeration {pairs}, twin network {twin}")
    derived = tuple(_consequence(model.variable(name), joint, intervention) for name in model.order)
    return Proof(dict(facts), dict(intervention), posterior, derived)


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
