"""Templates: a causal model, and English for every value of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from contrafact.causal.model import Graph, Model
from contrafact.families.cobe.synth.mechanism import HIGH
from contrafact.families.cobe.synth.shape import told_graph, unobserved_causes

__all__ = ["Asserted", "Latent", "Numbers", "Phrase", "Template", "Told", "Words"]

Words = Mapping[str, str]
"""What a story puts in each slot of its template's phrases."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A clause in the past tense that can also be put as a hypothesis.

    Written as ``the pump <did not fail|not failed>``: the verb as it is told, and its participle.

    Attributes:
        before: What stands before the verb.
        finite: The verb as it is told.
        participle: The same after "had"; empty where the clause is never a hypothesis.
        after: What stands after the verb.
    """

    before: str
    finite: str
    participle: str
    after: str

    def said(self, words: Words) -> str:
        """Return the clause as it is told: "the pump did not fail"."""
        return f"{self.before}{self.finite}{self.after}".format_map(words)

    def supposed(self, words: Words) -> str:
        """Return the clause as it is supposed: "the pump had not failed"."""
        return f"{self.before}had {self.participle}{self.after}".format_map(words)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers that a level of a quantity can have: from, to, in steps of."""

    least: int
    most: int
    step: int


@dataclass(frozen=True, slots=True)
class Asserted:
    """What a text says of one variable.

    Attributes:
        value: The value.
        number: Its number, for a quantity told in numbers.
        beyond: For a quantity told in words: further out than the story has it.
    """

    value: str
    number: int | None = None
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A variable that the story tells.

    Attributes:
        name: Its name.
        clauses: For every value, its clause.
        nouns: For every value, a noun phrase that refers to it: "the failed pump".
        what: For a quantity, what goes up or down: "the cost of the repair".
        numbers: For a quantity told in numbers, those of each level.
        beyond: For a quantity told in words, for each level a clause further out.
    """

    name: str
    clauses: Mapping[str, Phrase]
    nouns: Mapping[str, str]
    what: str | None
    numbers: Mapping[str, Numbers]
    beyond: Mapping[str, Phrase]

    @property
    def values(self) -> tuple[str, ...]:
        """The two values, the higher last."""
        return tuple(self.clauses)

    @property
    def quantity(self) -> bool:
        """Whether it has more and less."""
        return self.what is not None

    def phrase(self, asserted: Asserted) -> Phrase:
        """Return the clause that asserts it."""
        return (self.beyond if asserted.beyond else self.clauses)[asserted.value]

    def said(self, asserted: Asserted, words: Words) -> str:
        """Return the clause, its slots filled."""
        return self.phrase(asserted).said(_numbered(asserted, words))

    def supposed(self, asserted: Asserted, words: Words) -> str:
        """Return the clause as a hypothesis, its slots filled."""
        return self.phrase(asserted).supposed(_numbered(asserted, words))


@dataclass(frozen=True, slots=True)
class Latent:
    """A fact that the story implies and never tells.

    Attributes:
        name: Its name.
        clauses: For every value, its clause.
    """

    name: str
    clauses: Mapping[str, Phrase]


@dataclass(frozen=True, eq=False)
class Template:
    """A kind of story; each is itself alone, so that what is worked out of it can be kept.

    Attributes:
        id: Its name, that of its file.
        number: Its number, from which its stories' ids are made.
        domain: One of the seven domains.
        graph: One of the six graph types.
        science: Whether a law of nature stands behind it (failure mode 4).
        slots: For every slot of its phrases, the words to choose from.
        told: The variables that are told, by name.
        latents: Those that are not.
        model: The causal model over both.
        signs: For every cause and effect, 1 if the cause furthers the effect, -1 if it hinders it.
    """

    id: str
    number: int
    domain: str
    graph: str
    science: bool
    slots: Mapping[str, tuple[str, ...]]
    told: Mapping[str, Told]
    latents: Mapping[str, Latent]
    model: Model
    signs: Mapping[tuple[str, str], int]

    @cached_property
    def ties(self) -> Graph:
        """The causal graph among what is told."""
        return told_graph(self.model, tuple(self.told))

    @cached_property
    def confounded(self) -> tuple[frozenset[str], ...]:
        """The sets of told variables that have an unobserved common cause."""
        return unobserved_causes(self.model, tuple(self.told))

    def usual(self, cause: str, effect: str, cause_value: str, effect_value: str) -> bool:
        """Tell whether an effect goes the way in which its cause pushes it."""
        same = (cause_value in HIGH) == (effect_value in HIGH)
        return same == (self.signs[cause, effect] > 0)


def _numbered(asserted: Asserted, words: Words) -> Words:
    return words if asserted.number is None else {**words, "n": f"{asserted.number:,}"}
