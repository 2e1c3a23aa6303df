"""What makes a drawn story hard: its size, its structure, and the order in which it is told.

CoBe, section 4.3, finds models failing where causes are correlated and where an effect has several
causes. The traps below are such places in a story: what an editor who follows the words, and not
the causes, gets wrong there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contrafact.errors import InputError
from contrafact.families.cobe.data import PHRASINGS, tells_cause
from contrafact.families.cobe.records import GRAPHS
from contrafact.families.cobe.synth.prove import situation_of

__all__ = ["LEVELS", "TRAPS", "Difficulty", "level_named"]

_OF_STRUCTURE = ("suppositions", "cause_told", "traps", "least_traps", "apart")
"""The parameters that the drawing of a story's structure has to know."""
TRAPS: Mapping[str, str] = {
    "suffices": "a cause changes, and its effect stays: another cause decides it anyway",
    "stands": "an outcome is supposed away although causes that suffice for it stand",
    "held back": "beside what changes a cause stands, and an implied latent holds its effect back",
    "undone": "one supposition undoes what another, alone, would do",
    "together": "one of two effects of an untold cause is supposed, and the other stays",
    "far": "an effect changes three or more steps from everything that is supposed",
    "number stays": "something above the number changes, and the number does not",
}
"""What a story can hold that a careless edit gets wrong."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Which stories are drawn. Ranges include both ends.

    Attributes:
        graphs: Types of causal graph.
        facts: How many facts the causal model of a story has, 3 to 11.
        words: How long a story is, in words, some 30 to 300.
        connectors: How many causes a story tells by a connector, 0 to 3; others follow from its
            rules.
        phrasings: In which of the three phrasings of a query tasks are asked, in turn.
        suppositions: How many facts are supposed to be otherwise, 1 to 3.
        cause_told: Whether the story tells a cause of what is supposed; either if not given.
        traps: What the situation may hold of `TRAPS`; ``least_traps`` is how many of them at least.
        apart: Whether rules and facts stand in any order, and rules before and after the facts.
    """

    graphs: tuple[str, ...] = GRAPHS
    facts: tuple[int, int] = (3, 7)
    words: tuple[int, int] = (1, 250)
    connectors: tuple[int, int] = (0, 4)
    phrasings: str = "ABC"
    suppositions: tuple[int, int] = (1, 3)
    cause_told: bool | None = None
    traps: tuple[str, ...] = tuple(TRAPS)
    least_traps: int = 0
    apart: bool = False

    def __post_init__(self) -> None:
        for name in ("facts", "words", "connectors", "suppositions"):
            low, high = getattr(self, name)
            if not 0 <= low <= high:
                raise InputError(f"{name} is {low} to {high}", hint="give the smaller end first")
        for kind, names, known in (
            ("graph type", self.graphs, GRAPHS),
            ("trap", self.traps, TRAPS),
        ):
            if unknown := sorted(set(names) - set(known)):
                raise InputError(
                    f"there is no {kind} '{unknown[0]}'", hint=f"use some of {', '.join(known)}"
                )
        if not self.phrasings or not set(self.phrasings) <= set(PHRASINGS):
            raise InputError(
                f"phrasings is {self.phrasings!r}, not letters of ABC",
                hint='use for example phrasings="AB"',
            )
        if not 0 <= self.least_traps <= len(self.traps):
            raise InputError(
                f"least_traps is {self.least_traps} of {len(self.traps)}",
                hint="name more traps, or ask for fewer",
            )

    @property
    def structured(self) -> bool:
        """Whether it asks for more than can be seen of a story by its graph and its text."""
        usual = Difficulty()
        return any(getattr(self, name) != getattr(usual, name) for name in _OF_STRUCTURE)

    def fits(self, row: Mapping[str, Any]) -> bool:
        proof, text = row["Proof"], row["Variation text"]
        if not _within(len(proof["told"]), self.facts):
            return False
        if not _within(len(text.split()), self.words):
            return False
        if not _within(len(proof["intervention"]), self.suppositions):
            return False
        if len({*proof.get("traps", ())} & {*self.traps}) < self.least_traps:
            return False
        caused = tells_cause(proof["graph"], proof["told"], proof["intervention"])
        if self.cause_told not in (None, caused):
            return False
        claims = situation_of(row).reader.read(text).claims
        return _within(len(claims), self.connectors)


def _within(number: int, ends: tuple[int, int]) -> bool:
    return ends[0] <= number <= ends[1]


_COUNTED = tuple(name for name in TRAPS if name != "number stays")
"""What levels count: a number stays in about half of their stories, and so tells nothing."""
LEVELS: tuple[Difficulty, ...] = (
    Difficulty(graphs=("chain", "fork"), facts=(3, 4), words=(1, 100), phrasings="B"),
    Difficulty(graphs=("chain", "fork", "collider"), facts=(3, 5), words=(1, 120)),
    Difficulty(facts=(4, 6)),
    Difficulty(facts=(5, 7)),
    Difficulty(
        graphs=("diamond", "hybrid"),
        facts=(7, 9),
        words=(1, 400),
        suppositions=(1, 2),
        traps=_COUNTED,
        least_traps=1,
    ),
    Difficulty(
        graphs=("hybrid",),
        facts=(9, 11),
        words=(1, 400),
        suppositions=(2, 3),
        traps=_COUNTED,
        least_traps=2,
        apart=True,
    ),
)
"""From one short path of causes to whole models, and to models in which words mislead."""


def level_named(number: int) -> Difficulty:
    """Return a level by its number; an `InputError` if there is none."""
    if not 0 <= number < len(LEVELS):
        raise InputError(f"difficulty {number} is no level", hint=f"use 0 to {len(LEVELS) - 1}")
    return LEVELS[number]
