"""A review project: what is asked, of whom, in which stages, and which rule leads where.

Families bring projects as TOML files, and a user writes another without code. Everything that can
be wrong with one is found when it is read: `validate_project` checks statements about its rules, so
they hold of every item that will ever go through it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from contrafact.errors import InputError, value_problem
from contrafact.family import draft_checks
from contrafact.family.review import Rule, review_files
from contrafact.family.settings import ConfigPart, Names
from contrafact.files.atomic import os_problem
from contrafact.files.config import read_toml
from contrafact.records import content_id

__all__ = ["builtin_projects", "load_project"]

StageKind = Literal[
    "training",
    "full-review",
    "audit",
    "independent",
    "disagreement-set",
    "adjudication",
    "arbitration",
    "discussion",
]
OUTCOMES = ("final", "removed", "hard case")

DELIBERATING: tuple[StageKind, ...] = ("adjudication", "arbitration", "discussion")
"""The kinds of stage whose people see others' answers and decide between them."""

_BARRIERS = ("audit", "disagreement-set")
_ONE_VOTE = ("full-review", "audit", "arbitration", "discussion")
_BLIND = ("training", "independent")
_HINT = "compare it with a built-in project: contrafact review project NAME"


class ReviewQuestion(ConfigPart):
    """One thing that is asked about an item."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="Its name in files and exports.")
    text: str = Field(min_length=1, description="The question, as people read it.")
    options: tuple[str, ...] = Field(default=(), description="The answers; none for free text.")
    asked_when: dict[str, Names] = Field(
        default={}, description="Asked only where these questions have one of these answers."
    )
    comment_on: Names = Field(default=(), description="Answers that need a comment.")
    required: bool = Field(default=True, description="Whether it has to be answered.")


class VerdictRule(ConfigPart):
    """What answers come to: the verdict of the first rule whose answers were given."""

    verdict: str = Field(min_length=1, description="The verdict.")
    when: dict[str, Names] = Field(default={}, description="Answers by question; none for always.")


class CorrectedField(ConfigPart):
    """Lets whoever reviews rewrite a field."""

    field: str = Field(description="The item's field.")
    on: str = Field(description="The verdict that comes with a new text.")
    check: str | None = Field(
        default=None,
        description="A family's check, FAMILY/NAME, whose findings are shown while it is written.",
    )


class FirstStep(ConfigPart):
    """What is asked first, before the rest of an item is shown."""

    asks: Names = Field(min_length=1, description="The questions.")
    sees: Names = Field(min_length=1, description="The fields that are shown with them.")


class Stage(ConfigPart):
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
    corrects: CorrectedField | None = Field(default=None, description="What may be rewritten.")
    first_step: FirstStep | None = Field(
        default=None, description="What is asked before the whole item is shown."
    )
    evidence: Names = Field(
        default=(),
        description="Fields in which passages that show why are marked; none asks for none.",
    )
    shuffled: bool = Field(
        default=False, description="Whether each person gets the items in an order of their own."
    )
    rules: tuple[Rule, ...] = Field(default=(), description="Where items go from here.")
    voices: int = Field(
        default=2, ge=2, description="Discussion: how many people speak before one records it."
    )
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
    rounding: Literal["down", "up"] = Field(
        default="down", description="Audit: how a share of a stratum becomes whole items."
    )
    passes: Names = Field(default=(), description="Audit: the verdicts that are a pass.")
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

    def verdicts(self, questions: dict[str, ReviewQuestion]) -> tuple[str, ...]:
        """Return every verdict that a vote can come to."""
        if isinstance(self.verdict, str):
            return questions[self.verdict].options
        return tuple(dict.fromkeys(rule.verdict for rule in self.verdict))


class Project(ConfigPart):
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
    guidelines: str = Field(min_length=1, description="The instructions to people, as Markdown.")
    questions: tuple[ReviewQuestion, ...] = Field(
        min_length=1, description="Everything that is asked."
    )
    stages: tuple[Stage, ...] = Field(min_length=1, description="The stages, in order.")

    @property
    def guidelines_version(self) -> str:
        """A content hash of the guidelines and of the wording of the questions."""
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
        """Return a stage by its id; KeyError if there is none."""
        for stage in self.stages:
            if stage.id == name:
                return stage
        raise KeyError(name)

    def question(self, name: str) -> ReviewQuestion:
        """Return a question by its id; KeyError if there is none."""
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


def validate_project(project: Project) -> str | None:
    """Return the first thing that is wrong with a project, in a sentence; none if it is valid."""
    # In this order: the later ones rely on what the earlier ones have checked.
    checks: tuple[Callable[[Project], Iterator[str]], ...]
    checks = (_names, _questions, _stages, _rules, _paths, _disputes)
    return next((problem for check in checks for problem in check(project)), None)


def _names(project: Project) -> Iterator[str]:
    """Yield names that are there twice, and names of what is not there."""
    for what, every in (("question", project.questions), ("stage", project.stages)):
        names = [one.id for one in every]
        for name in names:
            if names.count(name) > 1:
                yield f"there are two {what}s '{name}'"
    if not project.flow:
        yield "there is no stage but training"
    if project.compare and not set(project.compare) <= set(project.show):
        yield "'compare' names a field that 'show' does not"


def _questions(project: Project) -> Iterator[str]:
    """Yield questions that can never be asked, or never be answered."""
    before: dict[str, tuple[str, ...]] = {}
    for question in project.questions:
        for other, answers in question.asked_when.items():
            if other not in before:
                yield f"question '{question.id}' hangs on '{other}', which is not asked before it"
            elif not set(answers) <= set(before[other]):
                yield f"question '{question.id}' waits for an answer that '{other}' does not have"
        if not set(question.comment_on) <= set(question.options):
            yield f"question '{question.id}' wants a comment on an answer that it does not have"
        if len(set(question.options)) < len(question.options) or len(question.options) == 1:
            yield f"question '{question.id}' needs two answers or more, each once (or none)"
        before[question.id] = question.options


def _stages(project: Project) -> Iterator[str]:
    """Yield stages that cannot do what their kind is for."""
    known = {question.id for question in project.questions}
    for stage in project.stages:
        missing = [q for q in stage.questions if q not in known]
        if missing:
            yield f"stage '{stage.id}' asks '{missing[0]}', which is no question"
            return
        yield from _asking(project, stage)
        yield from _voting(stage)
        if stage.kind == "audit":
            yield from _audit(project, stage)


def _asking(project: Project, stage: Stage) -> Iterator[str]:
    """Yield what a stage cannot ask, or ask of nobody."""
    name = f"stage '{stage.id}'"
    if stage.kind == "disagreement-set":
        if stage.roles or stage.questions:
            yield f"{name} is a set that items wait in: it has no roles and asks nothing"
    elif not stage.roles or not stage.questions:
        yield f"{name} needs roles and questions"
    else:
        yield from _verdict(project, stage)
    for others in (stage.shows, stage.counts, stage.apart_from):
        if not set(others) <= {s.id for s in project.flow}:
            yield f"{name} names a stage that is not there in shows, counts or apart_from"
    if not set(stage.evidence) <= set(project.show):
        yield f"{name} asks for evidence in a field that 'show' does not name"
    if stage.first_step:
        yield from _first_step(project, stage, stage.first_step)


def _voting(stage: Stage) -> Iterator[str]:
    """Yield how a stage's votes are not what its kind promises."""
    name = f"stage '{stage.id}'"
    if stage.kind in _BLIND and stage.shows:
        yield f"{name} is blind, and shows no other votes"
    if stage.kind in _ONE_VOTE and len(stage.roles) != 1:
        yield f"{name} comes to one person's vote: it has one role"
    if stage.corrects and (len(stage.roles) != 1 or stage.kind == "training"):
        yield f"{name} lets several people rewrite one text"
    check = stage.corrects.check if stage.corrects else None
    if check is not None and check not in draft_checks():
        yield f"{name} names the check '{check[:40]}', which no family here has"


def _first_step(project: Project, stage: Stage, step: FirstStep) -> Iterator[str]:
    """Yield why a stage's first step cannot be asked by itself."""
    name = f"stage '{stage.id}'"
    if stage.kind != "independent":
        yield f"{name} has a first step, which independent stages alone have"
    if not set(step.asks) < set(stage.questions):
        yield f"{name} has a first step that asks all or what the stage does not"
    if not set(step.sees) <= set(project.show):
        yield f"{name} shows a field in its first step that 'show' does not name"
    if any(not set(project.question(q).asked_when) <= set(step.asks) for q in step.asks):
        yield f"{name} asks a question in its first step that hangs on a later one"


def _verdict(project: Project, stage: Stage) -> Iterator[str]:
    """Yield ways in which a stage's answers could come to no verdict."""
    name = f"stage '{stage.id}'"
    asked = {q.id: q for q in project.questions if q.id in stage.questions}
    for question in asked.values():
        if not set(question.asked_when) <= set(asked):
            yield f"{name} asks '{question.id}' without the question that it hangs on"
    if isinstance(stage.verdict, str):
        question_ = asked.get(stage.verdict)
        if question_ is None or not question_.options:
            yield f"{name} takes its verdict from '{stage.verdict}', which it does not ask"
        elif question_.asked_when or not question_.required:
            yield f"{name} takes its verdict from a question that may stay unanswered"
        return
    if not stage.verdict or stage.verdict[-1].when:
        yield f"{name}: the last verdict needs to hold always, without 'when'"
    for rule in stage.verdict:
        for other, answers in rule.when.items():
            if other not in asked or not set(answers) <= set(asked[other].options):
                yield f"{name}: the verdict '{rule.verdict}' hangs on an answer nobody can give"


def _audit(project: Project, stage: Stage) -> Iterator[str]:
    """Yield what an audit lacks to pass a batch or to return it."""
    name = f"stage '{stage.id}'"
    verdicts = stage.verdicts({q.id: q for q in project.questions})
    if not stage.passes or not set(stage.passes) <= set(verdicts):
        yield f"{name} does not say which of its verdicts pass"
    if stage.floor and stage.returns_to not in {s.id for s in project.flow}:
        yield f"{name} has a floor, and no stage to return to"
    elif stage.returns_to and stage.returns_to not in project.upstream(stage.id):
        yield f"{name} returns to '{stage.returns_to}', which does not lead to it again"
    if stage.rates and not stage.strata:
        yield f"{name} has rates of strata, and no strata"


def _rules(project: Project) -> Iterator[str]:
    """Yield rules that lead nowhere or can never hold, and stages where none may hold."""
    known = {question.id: question for question in project.questions}
    ends = {*OUTCOMES, *(stage.id for stage in project.flow)}
    for stage in project.stages:
        name = f"stage '{stage.id}'"
        if stage.kind == "training":
            if stage.rules:
                yield f"{name} is training: it has no rules"
            continue
        if not stage.rules or not stage.rules[-1].unconditional:
            yield f"{name}: its last rule needs to hold always, or items are stuck"
        for place, rule in enumerate(stage.rules, start=1):
            if rule.to not in ends:
                yield f"{name}, rule {place} leads to '{rule.to}', which is no stage and no outcome"
            if rule.unconditional and place < len(stage.rules):
                yield f"{name}, rule {place} always holds, so what follows it never does"
            if rule.to == stage.id:
                yield f"{name}, rule {place} leads back to the stage itself"
            expected = {*rule.all, *rule.some, *rule.none, *rule.majority}
            counted = [stage, *(project.stage(other) for other in stage.counts)]
            possible = {v for s in counted for v in s.verdicts(known)} if stage.roles else set()
            if unknown := expected - possible:
                yield f"{name}, rule {place} waits for '{min(unknown)}', which nobody votes"


def _paths(project: Project) -> Iterator[str]:
    """Yield stages that no item reaches or leaves, and those that would wait for each other."""
    reached = {project.start.id}
    for _ in project.flow:
        for stage in project.flow:
            if stage.id in reached:
                reached |= set(stage.targets())
    for stage in project.flow:
        if stage.id not in reached:
            yield f"no rule leads to stage '{stage.id}'"
    ending: set[str] = set(OUTCOMES)
    for _ in project.flow:
        ending |= {stage.id for stage in project.flow if ending & set(stage.targets())}
    for stage in project.flow:
        if stage.id not in ending:
            yield f"from stage '{stage.id}' no outcome can be reached"
    barriers = [stage.id for stage in project.flow if stage.barrier]
    for one in barriers:
        for other in barriers:
            if one in project.upstream(other) and other in project.upstream(one):
                yield f"'{one}' and '{other}' would wait for each other"


def _disputes(project: Project) -> Iterator[str]:
    """Yield rules that end a disagreement without a vote on it."""
    known = {question.id: question for question in project.questions}
    disputed: set[str] = set()
    for _ in project.flow:
        for stage in project.flow:
            disputed |= {rule.to for rule in stage.rules if _disputed(stage, rule, disputed, known)}
    if "final" not in disputed:
        return
    for stage in project.flow:
        for place, rule in enumerate(stage.rules, start=1):
            if rule.to == "final" and _disputed(stage, rule, disputed, known):
                yield (
                    f"stage '{stage.id}', rule {place} makes an item final "
                    "although people may disagree about it"
                )


def _disputed(
    stage: Stage, rule: Rule, entered: set[str], questions: dict[str, ReviewQuestion]
) -> bool:
    if stage.kind == "disagreement-set":
        return stage.id in entered
    if stage.kind == "audit":
        # What the auditor failed is in dispute between the auditor and whoever voted before.
        failed = set(stage.verdicts(questions)) - set(stage.passes)
        return stage.id in entered or not failed <= set(rule.none)
    return not (rule.resolves or (len(stage.roles) == 1 and not stage.counts))


def builtin_projects() -> tuple[str, ...]:
    """Return the names of the projects that families bring."""
    return tuple(review_files())


def _as_in(base: object, written: dict[str, Any], name: str | Path) -> dict[str, Any]:
    """Return a project's description with what it leaves out as in a built-in one."""
    if base not in builtin_projects():
        raise InputError(
            f"based_on: there is no built-in project '{str(base)[:40]}'",
            file=name,
            hint=f"name one of {', '.join(builtin_projects())}",
        )
    inherited = load_project(str(base)).model_dump(mode="json")
    stages = written.get("stages")
    described = isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages)
    if described and "questions" not in written:
        asked = {str(name) for stage in stages or () for name in stage.get("questions", ())}
        inherited["questions"] = [one for one in inherited["questions"] if one["id"] in asked]
    return inherited | written


def load_project(name: str | Path) -> Project:
    """Return a built-in project, or one from a TOML file; `InputError` says what is wrong."""
    if isinstance(name, str) and name in builtin_projects():
        return parse_project(review_files()[name].read_text("utf-8"), name)
    path = Path(name)
    if not path.exists() and path.suffix != ".toml":
        raise InputError(
            f"there is no review project '{name}'",
            hint=f"name one of {', '.join(builtin_projects())}, or a .toml file",
        )
    try:
        return parse_project(path.read_text("utf-8"), path)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=path, hint="save it as UTF-8") from error
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, hint="check the path") from error
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error


def parse_project(text: str, name: str | Path) -> Project:
    """Return the project that a TOML text describes; ``name`` is for messages.

    ``based_on`` names a built-in project: what the text does not say is as there, without the
    questions that its own stages do not ask.

    Raises:
        InputError: It is no TOML, or no valid project.
    """
    try:
        described = read_toml(text, name)
        base = described.pop("based_on", None)
        if base is not None:
            described = _as_in(base, described, name)
        project = Project.model_validate(described)
    except RecursionError as error:
        raise InputError("is nested too deeply", file=name, hint=_HINT) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        message = value_problem(first)
        raise InputError(
            f"{place}: {message}" if place else message, file=name, hint=_HINT
        ) from error
    if problem := validate_project(project):
        raise InputError(problem, file=name, hint=_HINT)
    return project
