"""Cases: the situations a template can be in, what can be supposed of each, and what follows.

Every case carries its proof, by both algorithms of `causal`. Cases of one template are few, and
stories share them: they are worked out once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from contrafact.causal.counterfactual import Consequence, Proof, consequences
from contrafact.families.cobe.synth.template import Template

__all__ = ["Case", "cases", "prove"]

_Values = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Case:
    """A situation of a template and an intervention, with what follows.

    Attributes:
        template: The template.
        facts: The values of all variables that the story states.
        variable: The variable that is set.
        value: What it is set to: not what it was.
        proof: What becomes of every variable.
    """

    template: Template
    facts: Mapping[str, str]
    variable: str
    value: str
    proof: Proof

    @cached_property
    def unchanged(self) -> tuple[str, ...]:
        """The stated variables that must stay (E1)."""
        return tuple(c.variable for c in self._stated if c.kind == "stays")

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The variable that is set, and what is stated, is no quantity and must change (E2)."""
        stated = self.template.stated
        return tuple(
            c.variable
            for c in self._stated
            if c.kind == "set" or (c.kind == "changes" and not stated[c.variable].quantity)
        )

    @cached_property
    def moved(self) -> dict[str, str]:
        """The quantities that must move, and which way: "up" or "down" (E4)."""
        stated = self.template.stated
        return {
            c.variable: c.direction
            for c in self._stated
            if c.kind == "changes" and stated[c.variable].quantity and c.direction
        }

    @cached_property
    def latents(self) -> dict[str, str]:
        """The facts that are not stated and that the stated ones imply, with their values (E5)."""
        return {
            name: str(one.before)
            for name in self.template.latents
            if (one := self.proof.of(name)).kind == "stays" and one.before is not None
        }

    @cached_property
    def open(self) -> tuple[str, ...]:
        """The stated variables of which the facts do not say what becomes of them."""
        return tuple(c.variable for c in self._stated if c.kind == "undetermined")

    @cached_property
    def after(self) -> dict[str, str]:
        """The values of the stated variables after the intervention, where they are determined."""
        return {c.variable: str(c.after) for c in self._stated if c.after is not None}

    @property
    def _stated(self) -> tuple[Consequence, ...]:
        return tuple(c for c in self.proof.consequences if c.variable in self.template.stated)


def prove(template: Template, facts: Mapping[str, str], intervention: Mapping[str, str]) -> Proof:
    """Return what follows from an intervention, worked out once per template, facts, intervention.

    Raises:
        ImpossibleFacts: If the template's model cannot give the facts.
        Disagreement: If the two algorithms differ.
    """
    return _proven(template, tuple(sorted(facts.items())), tuple(sorted(intervention.items())))


@cache
def _proven(template: Template, facts: _Values, intervention: _Values) -> Proof:
    return consequences(template.model, dict(facts), dict(intervention))


@cache
def cases(template: Template) -> tuple[Case, ...]:
    """Return every case of a template that makes a story.

    A story needs a fact that must stay, and, when the change is stated, a cause with its effect,
    so that there is a connector.
    """
    return tuple(_find(template))


def _find(template: Template) -> list[Case]:
    situations: dict[_Values, None] = {}
    for setting, _ in template.model.settings():
        values = template.model.predict(setting)
        situations[tuple((name, str(values[name])) for name in template.stated)] = None
    graph = template.stated_graph
    linked = {n for n in template.stated if graph.parents[n] or graph.children[n]}
    linked |= {name for group in template.confounded for name in group}
    found = []
    for situation in sorted(situations):
        facts = dict(situation)
        for name in template.stated:
            if name not in linked or template.stated[name].numbers:
                continue  # what nothing hangs on, and figures, are poor things to suppose
            value = next(v for v in template.stated[name].values if v != facts[name])
            case = Case(template, facts, name, value, prove(template, facts, {name: value}))
            related = any(
                c in case.after for v in case.after if v != name for c in graph.parents[v]
            )
            if case.unchanged and related:
                found.append(case)
    return found
