"""A review project: what is asked, of whom, in which stages, and which rule leads where.

Four projects ship as TOML files, and a user writes another without code.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from contrafact.records import content_id

__all__ = [
    "OUTCOMES",
    "Correction",
    "Outcome",
    "Project",
    "Question",
    "Rule",
    "Stage",
    "StageKind",
    "VerdictRule",
]

StageKind = Literal[
    "training",
    "full-review",
    "audit",
    "independent",
    "disagreement-set",
    "adjudication",
    "arbitration",
]
Outcome = Literal["final", "removed", "hard case"]
OUTCOMES: tuple[Outcome, ...] = ("final", "removed", "hard case")
_BARRIERS = ("audit", "disagreement-set")


def _many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_many)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Question(_Part):
    """One thing that is asked about an item."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="Its name in files and exports.")
    text: str = Field(min_length=1, description="The question, as people read it.")
    options: tuple[str, ...] = Field(default=(), description="The answers; none for free text.")
    asked_when: dict[str, Words] = Field(
        default={}, description="Asked only where these questions have one of these answers."
    )
    comment_on: Words = Field(default=(), description="Answers that need a comment.")
    required: bool = Field(default=True, description="Whether it has to be answered.")


class VerdictRule(_Part):
    """What answers come to: the verdict of the first rule whose answers were given."""

    verdict: str = Field(min_length=1, description="The verdict.")
    when: dict[str, Words] = Field(default={}, description="Answers by question; none for always.")


class Rule(_Part):
    """Where an item goes from a stage. The first rule that holds is taken; all parts must hold."""

    to: str = Field(description="A stage, or an outcome: final, removed, hard case.")
    why: str = Field(min_length=1, description="The reason, as the history tells it.")
    all: Words = Field(default=(), description="There are votes, and each is one of these.")
    some: Words = Field(default=(), description="At least one vote is one of these.")
    none: Words = Field(default=(), description="No vote is one of these.")
    same: bool = Field(default=False, description="All votes are the same.")
    majority: Words = Field(default=(), description="More than half are one and the same of these.")
    flagged: bool = Field(default=False, description="Somebody flagged the item.")
    carried: Words = Field(default=(), description="The verdict so far is one of these.")

    @property
    def unconditional(self) -> bool:
        """Whether it always holds."""
        conditions = self.all or self.some or self.none or self.majority or self.carried
        return not (conditions or self.same or self.flagged)

    @property
    def resolves(self) -> bool:
        """Whether several voters that it holds for have come to one verdict."""
        return self.same or bool(self.majority) or len(self.all) == 1


class Correction(_Part):
    """Lets whoever reviews write a field anew."""

    field: str = Field(description="The item's field.")
    on: str = Field(description="The verdict that brings a new text with it.")


class Stage(_Part):
    """One step of a review."""

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="Its name in rules and files.")
    kind: StageKind = Field(description="What happens in it.")
    title: str = Field(min_length=1, description="Its name, as people read it.")
    roles: tuple[str, ...] = Field(
        default=(),
        description="One role for each person whose vote is needed; in training, who takes it.",
    )
    questions: tuple[str, ...] = Field(default=(), description="What is asked.")
    verdict: str | tuple[VerdictRule, ...] = Field(
        default=(), description="The question whose answer is the verdict, or rules for it."
    )
    shows: tuple[str, ...] = Field(
        default=(), description="Earlier stages whose votes are shown; none if blind."
    )
    counts: tuple[str, ...] = Field(
        default=(), description="Earlier stages whose votes on this same text count here too."
    )
    apart_from: tuple[str, ...] = Field(
        default=(), description="Whoever voted in these stages on an item does not vote here."
    )
    corrects: Correction | None = Field(default=None, description="What may be written anew.")
    rules: tuple[Rule, ...] = Field(default=(), description="Where items go from here.")
    sample: int = Field(default=60, ge=1, description="Training: items in a round.")
    threshold: float = Field(
        default=0.95, gt=0.0, le=1.0, description="Training: the accuracy that ends it."
    )
    strata: str | None = Field(
        default=None,
        description="Audit: the field whose values are strata, or 'person': who labelled it.",
    )
    rate: float = Field(default=1.0, gt=0.0, le=1.0, description="Audit: the share to draw.")
    rates: dict[str, Annotated[float, Field(gt=0.0, le=1.0)]] = Field(
        default={}, description="Audit: the share to draw of a stratum, where another."
    )
    passes: Words = Field(default=(), description="Audit: the verdicts that are a pass.")
    floor: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Audit: a pass rate under it returns the batch."
    )
    floor_of: Literal["batch", "stratum"] = Field(
        default="batch", description="Audit: whether all together or each stratum has to reach it."
    )
    returns_to: str | None = Field(default=None, description="Audit: where a batch returns to.")
    window_days: float | None = Field(
        default=None,
        gt=0.0,
        description="Audit and disagreement set: go on after so many days at the latest.",
    )

    @property
    def barrier(self) -> bool:
        """Whether items wait here for each other."""
        return self.kind in _BARRIERS

    def targets(self) -> tuple[str, ...]:
        """Return every stage and outcome that items can go to from here."""
        back = (self.returns_to,) if self.returns_to else ()
        return tuple(dict.fromkeys((*(rule.to for rule in self.rules), *back)))

    def verdicts(self, questions: dict[str, Question]) -> tuple[str, ...]:
        """Return every verdict that a vote can come to."""
        if isinstance(self.verdict, str):
            return questions[self.verdict].options
        return tuple(dict.fromkeys(rule.verdict for rule in self.verdict))


class Project(_Part):
    """A review: items are shown, questions answered, and rules say what becomes of each item."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="Its name in commands.")
    title: str = Field(min_length=1, description="Its name, as people read it.")
    show: tuple[str, ...] = Field(min_length=1, description="The item's fields that are shown.")
    may_lack: tuple[str, ...] = Field(default=(), description="Shown fields that may be empty.")
    compare: tuple[str, str] | None = Field(
        default=None, description="Two fields to show side by side, with what differs marked."
    )
    cluster: str | None = Field(
        default=None, description="The field that says which items belong together."
    )
    category: str | None = Field(default=None, description="The field that figures are split by.")
    guidelines: str = Field(min_length=1, description="What people are told, as Markdown.")
    questions: tuple[Question, ...] = Field(min_length=1, description="Everything that is asked.")
    stages: tuple[Stage, ...] = Field(min_length=1, description="The stages, in order.")

    @property
    def guidelines_version(self) -> str:
        """A content hash of everything that tells people how to decide."""
        asked = [text for q in self.questions for text in (q.id, q.text, *q.options)]
        return content_id(self.guidelines, *asked, prefix="g")

    @property
    def flow(self) -> tuple[Stage, ...]:
        """The stages that items go through: all but training."""
        return tuple(stage for stage in self.stages if stage.kind != "training")

    @property
    def start(self) -> Stage:
        """The stage in which items begin."""
        return self.flow[0]

    @property
    def roles(self) -> tuple[str, ...]:
        """Every role that some stage needs."""
        return tuple(dict.fromkeys(role for stage in self.stages for role in stage.roles))

    def stage(self, name: str) -> Stage:
        """Return a stage by its id.

        Raises:
            KeyError: There is none.
        """
        for stage in self.stages:
            if stage.id == name:
                return stage
        raise KeyError(name)

    def question(self, name: str) -> Question:
        """Return a question by its id.

        Raises:
            KeyError: There is none.
        """
        for question in self.questions:
            if question.id == name:
                return question
        raise KeyError(name)

    def upstream(self, name: str) -> frozenset[str]:
        """Return the other stages from which an item can still come to this one."""
        found = {name}
        while True:
            more = {s.id for s in self.flow if s.id not in found and found & set(s.targets())}
            if not more:
                return frozenset(found - {name})
            found |= more
