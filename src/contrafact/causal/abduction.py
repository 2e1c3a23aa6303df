"""Abduction by enumeration: the posterior over noise, given the facts.

Pearl's three steps, done literally: keep the noise settings under which the model gives the facts
(abduction), change the model (action), and run it under each of them (prediction).
"""

from dataclasses import dataclass

from contrafact.causal.model import Assignment, Model, NoiseSetting, Value

__all__ = ["ImpossibleFacts", "Joint", "Posterior", "abduct", "counterfactual"]

Joint = dict[str, dict[tuple[Value, Value], float]]
"""For every variable: the probability of each (factual, counterfactual) pair of values."""


class ImpossibleFacts(ValueError):
    """The model cannot give these facts under any noise."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """What the facts say of the noise.

    Attributes:
        settings: The joint noise settings that are consistent with the facts.
        weights: Their posterior probabilities, one in sum.
    """

    settings: tuple[NoiseSetting, ...]
    weights: tuple[float, ...]


def abduct(model: Model, facts: Assignment) -> Posterior:
    """Return the posterior over noise settings given the facts.

    Args:
        model: The model.
        facts: Values of some or all variables.

    Raises:
        ImpossibleFacts: If no setting gives the facts.
        ValueError: If a fact names no variable, or a value that it cannot have.
    """
    for name, value in facts.items():
        model.variable(name).rank(value)
    kept = []
    for setting, weight in model.settings():
        values = model.predict(setting)
        if all(values[name] == value for name, value in facts.items()):
            kept.append((setting, weight))
    total = sum(weight for _, weight in kept)
    if not kept:
        raise ImpossibleFacts(f"no noise gives the facts {dict(facts)}")
    return Posterior(
        tuple(setting for setting, _ in kept), tuple(weight / total for _, weight in kept)
    )


def counterfactual(model: Model, posterior: Posterior, intervention: Assignment) -> Joint:
    """Return the joint of every variable's factual and counterfactual value.

    Args:
        model: The model.
        posterior: What the facts say of its noise.
        intervention: The variables that are set, and to what.
    """
    acted = model.act(intervention)
    joint: Joint = {name: {} for name in model.order}
    for setting, weight in zip(posterior.settings, posterior.weights, strict=True):
        before, after = model.predict(setting), acted.predict(setting)
        for name, pairs in joint.items():
            pair = (before[name], after[name])
            pairs[pair] = pairs.get(pair, 0.0) + weight
    return joint
