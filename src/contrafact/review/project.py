"""A review project: its questions, stages, roles, and the rules that move items between stages.

Families have projects as TOML files, and users can write their own without code. Errors are found
when a project is read: what `validate_project` proves about its rules holds for every item.
"""

from collections.abc import Callable, Iterator
from itertools import chain
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
"""The kinds of stage in which people see others' answers and decide between them."""

_BARRIERS = ("audit", "disagreement-set")
_ONE_VOTE = ("full-review", "audit", "arbitration", "discussion")
_BLIND = ("training", "independent")
_HINT = "compare it with a built-in project: contrafact review project NAME"


class ReviewQuestion(ConfigPart):
    """A question about an item."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="Its name in files and exports.")
    text: str = Field(min_length=1, description="The question, as people read it.")
    options: tuple[str, ...] = Field(default=(), description="The answers; none for free text.")
    asked_when: dict[str, Names] = Field(
        default={}, description="Asked only if these questions have one of these answers."
    )
    comment_on: Names = Field(default=(), description="Answers that need a comment.")
    required: bool = Field(default=True, description="Whether it must be answered.")


class VerdictRule(ConfigPart):
    """A rule for the verdict: the first rule whose answers were given decides."""

    verdict: str = Field(min_length=1, description="The verdict.")
    when: dict[str, Names] = Field(default={}, description="Answers by question; none for always.")


class CorrectedField(ConfigPart):
    """A field that reviewers may rewrite."""

    field: str = Field(description="The item's field.")
    on: str = Field(description="The verdict that needs a new text.")
    check: str | None = Field(
        default=None,
        description="A family's check, FAMILY/NAME, whose findings are shown during writing.",
    )


class FirstStep(ConfigPart):
    """Questions that are asked before the whole item is shown."""

    asks: Names = Field(min_length=1, description="The questions.")
    sees: Names = Field(min_length=1, description="The fields that are shown with them.")


class Stage(ConfigPart):
    """One step of a review."""

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="Its name in rules and files.")
    kind: StageKind = Field(description="What happens in it.")
    title: str = Field(min_length=1, description="Its name, as people read it.")
    roles: tuple[str, ...] = Field(
        default=(),
        description="One role for each vote that is needed; in training, the roles to train.",
    )
    questions: tuple[str, ...] = Field(default=(), description="The questions asked.")
    verdict: str | tuple[VerdictRule, ...] = Field(
        default=(), description="The question whose answer is the verdict, or rules for it."
    )
    shows: tuple[str, ...] = Field(
        default=(), description="Earlier stages whose votes are shown; none if blind."
    )
    counts: tuple[str, ...] = Field(
        default=(), description="Earlier stages whose votes on the same text also count here."
    )
    apart_from: tuple[str, ...] = Field(
        default=(), description="Stages whose voters on an item do not vote on it here."
    )
    corrects: CorrectedField | None = Field(
        default=None, description="The field that may be rewritten."
    )
    first_step: FirstStep | None = Field(
        default=None, description="The questions asked before the whole item is shown."
    )
    shuffled: bool = Field(
        default=False, description="Whether each person gets the items in a different order."
    )
    rules: tuple[Rule, ...] = Field(default=(), description="Where items go from here.")
    voices: int = Field(
        default=2, ge=2, description="Discussion: how many people must speak before a decision."
    )
    sample: int = Field(default=60, ge=1, description="Training: the number of items in a round.")
    threshold: float = Field(
        default=0.95, gt=0.0, le=1.0, description="Training: the accuracy needed to pass."
    )
    strata: str | None = Field(
        default=None,
        description="Audit: the field whose values are strata, or 'person' for the labeller.",
    )
    rate: float = Field(default=1.0, gt=0.0, le=1.0, description="Audit: the share drawn.")
    rates: dict[str, Annotated[float, Field(gt=0.0, le=1.0)]] = Field(
        default={}, description="Audit: the share drawn from a stratum, where it differs."
    )
    rounding: Literal["down", "up"] = Field(
        default="down", description="Audit: how a stratum's share is rounded to whole items."
    )
    passes: Names = Field(default=(), description="Audit: the verdicts that count as a pass.")
    floor: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Audit: a batch with a lower pass rate returns."
    )
    floor_of: Literal["batch", "stratum"] = Field(
        default="batch", description="Audit: whether the batch or each stratum must reach it."
    )
    returns_to: str | None = Field(
        default=None, description="Audit: the stage to which a batch returns."
    )
    window_days: float | None = Field(
        default=None,
        gt=0.0,
        description="Audit and disagreement set: the most days that an item waits.",
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
        if isinstance(self.verdict, str):
            return questions[self.verdict].options
        return tuple(dict.fromkeys(rule.verdict for rule in self.verdict))


class Project(ConfigPart):
    """The definition of a review: the fields shown, the questions, and the stages."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="Its name in commands.")
    title: str = Field(min_length=1, description="Its name, as people read it.")
    show: tuple[str, ...] = Field(min_length=1, description="The item's fields that are shown.")
    may_lack: tuple[str, ...] = Field(default=(), description="Shown fields that may be empty.")
    compare: tuple[str, str] | None = Field(
        default=None, description="Two fields shown side by side, with differences marked."
    )
    cluster: str | None = Field(
        default=None, description="The field that says which items belong together."
    )
    category: str | None = Field(default=None, description="The field that figures are split by.")
    guidelines: str = Field(min_length=1, description="The instructions to people, as Markdown.")
    questions: tuple[ReviewQuestion, ...] = Field(min_length=1, description="The questions.")
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
        return self.flow[0]

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(role for stage in self.stages for role in stage.roles))

    def stage(self, name: str) -> Stage:
        """Return a stage by its id; KeyError if there is none."""
        return {stage.id: stage for stage in self.stages}[name]

    def question(self, name: str) -> ReviewQuestion:
        """Return a question by its id; KeyError if there is none."""
        return {question.id: question for question in self.questions}[name]

    def upstream(self, name: str) -> frozenset[str]:
        """Return the other stages from which an item can still reach this one."""
        reaching = {name}
        for _ in self.flow:
            reaching |= {s.id for s in self.flow if reaching & set(s.targets())}
        return frozenset(reaching - {name})


def validate_project(project: Project) -> str | None:
    """Return the first error in a project, as a sentence; None if the project is valid."""
    # The order matters: later checks rely on earlier ones.
    checks: tuple[Callable[[Project], Iterator[str]], ...]
    checks = (_names, _questions, _stages, _rules, _paths, _disputes)
    return next((problem for check in checks for problem in check(project)), None)


def _names(project: Project) -> Iterator[str]:
    for what, parts in (("question", project.questions), ("stage", project.stages)):
        names = [part.id for part in parts]
        for name in names:
            if names.count(name) > 1:
                yield f"two {what}s have the id '{name}'"
    if not project.flow:
        yield "the project needs a stage besides training"
    if project.compare and not set(project.compare) <= set(project.show):
        yield "'compare' names a field that 'show' does not"


def _questions(project: Project) -> Iterator[str]:
    before: dict[str, tuple[str, ...]] = {}
    for question in project.questions:
        for other, answers in question.asked_when.items():
            if other not in before:
                yield f"question '{question.id}' depends on '{other}', which is not asked before it"
            elif not set(answers) <= set(before[other]):
                yield f"question '{question.id}' depends on an answer that '{other}' does not have"
        if not set(question.comment_on) <= set(question.options):
            yield f"question '{question.id}' has an answer in 'comment_on' that is not an option"
        if len(set(question.options)) < len(question.options) or len(question.options) == 1:
            yield f"question '{question.id}' needs no options, or two or more different ones"
        before[question.id] = question.options


def _stages(project: Project) -> Iterator[str]:
    known = {question.id for question in project.questions}
    for stage in project.stages:
        missing = [q for q in stage.questions if q not in known]
        if missing:
            yield f"stage '{stage.id}' asks '{missing[0]}', which is not a question"
            return
        for problem in chain(_settings(project, stage), _audit(project, stage)):
            yield f"stage '{stage.id}' {problem}"


def _settings(project: Project, stage: Stage) -> Iterator[str]:
    """Yield errors in a stage's settings, without those of audits."""
    if stage.kind == "disagreement-set":
        if stage.roles or stage.questions:
            yield "is a disagreement set, so it must not have roles or questions"
    elif not stage.roles or not stage.questions:
        yield "needs roles and questions"
    else:
        yield from _verdict(project, stage)
    if not {*stage.shows, *stage.counts, *stage.apart_from} <= {s.id for s in project.flow}:
        yield "names an unknown stage in 'shows', 'counts' or 'apart_from'"
    if step := stage.first_step:
        if stage.kind != "independent":
            yield "has a first step, which only independent stages may have"
        if not set(step.asks) < set(stage.questions):
            yield "must ask some, and not all, of its questions in its first step"
        if not set(step.sees) <= set(project.show):
            yield "shows a field in its first step that 'show' does not name"
        if any(not set(project.question(q).asked_when) <= set(step.asks) for q in step.asks):
            yield "asks a question in its first step that depends on a later one"
    if stage.kind in _BLIND and stage.shows:
        yield "is blind, so it must not have 'shows'"
    if stage.kind in _ONE_VOTE and len(stage.roles) != 1:
        yield "has one vote per item, so it needs exactly one role"
    if stage.corrects and (len(stage.roles) != 1 or stage.kind == "training"):
        yield "has 'corrects', so it needs exactly one role and cannot be training"
    check = stage.corrects.check if stage.corrects else None
    if check is not None and check not in draft_checks():
        yield f"names the check '{check[:40]}', which no installed family has"


def _verdict(project: Project, stage: Stage) -> Iterator[str]:
    """Yield reasons why a stage's answers could give no verdict."""
    asked = {q.id: q for q in project.questions if q.id in stage.questions}
    for question in asked.values():
        if not set(question.asked_when) <= set(asked):
            yield f"asks '{question.id}' without the question that it depends on"
    if isinstance(stage.verdict, str):
        source = asked.get(stage.verdict)
        if source is None or not source.options:
            yield f"takes its verdict from '{stage.verdict}', which it does not ask"
        elif source.asked_when or not source.required:
            yield "takes its verdict from a question that may stay unanswered"
        return
    if not stage.verdict or stage.verdict[-1].when:
        yield "needs a last verdict rule that always holds, without 'when'"
    for rule in stage.verdict:
        for other, answers in rule.when.items():
            if other not in asked or not set(answers) <= set(asked[other].options):
                yield f"has a verdict '{rule.verdict}' that depends on an answer nobody can give"


def _audit(project: Project, stage: Stage) -> Iterator[str]:
    if stage.kind != "audit":
        return
    verdicts = stage.verdicts({q.id: q for q in project.questions})
    if not stage.passes or not set(stage.passes) <= set(verdicts):
        yield "must name some of its verdicts in 'passes'"
    if stage.floor and stage.returns_to not in {s.id for s in project.flow}:
        yield "has a 'floor', so it needs a stage in 'returns_to'"
    elif stage.returns_to and stage.returns_to not in project.upstream(stage.id):
        yield f"returns to '{stage.returns_to}', which does not lead to it again"
    if stage.rates and not stage.strata:
        yield "has 'rates', so it needs 'strata'"


def _rules(project: Project) -> Iterator[str]:
    """Yield rules that lead nowhere or can never hold, and stages where no rule may hold."""
    known = {question.id: question for question in project.questions}
    ends = {*OUTCOMES, *(stage.id for stage in project.flow)}
    for stage in project.stages:
        name = f"stage '{stage.id}'"
        if stage.kind == "training":
            if stage.rules:
                yield f"{name} is training, so it must not have rules"
            continue
        if not stage.rules or not stage.rules[-1].unconditional:
            yield f"{name}: the last rule must hold always, or items may get stuck"
        for place, rule in enumerate(stage.rules, start=1):
            if rule.to not in ends:
                yield f"{name}, rule {place} leads to '{rule.to}', neither a stage nor an outcome"
            if rule.unconditional and place < len(stage.rules):
                yield f"{name}, rule {place} always holds, so later rules are never used"
            if rule.to == stage.id:
                yield f"{name}, rule {place} leads back to the same stage"
            expected = {*rule.all, *rule.some, *rule.none, *rule.majority}
            counted = [stage, *(project.stage(other) for other in stage.counts)]
            possible = {v for s in counted for v in s.verdicts(known)} if stage.roles else set()
            if unknown := expected - possible:
                yield f"{name}, rule {place} waits for '{min(unknown)}', which is not a verdict"


def _paths(project: Project) -> Iterator[str]:
    """Yield stages that no item reaches or leaves, and stages that wait for each other."""
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
    for first in barriers:
        for second in barriers:
            if first in project.upstream(second) and second in project.upstream(first):
                yield f"'{first}' and '{second}' would wait for each other"


def _disputes(project: Project) -> Iterator[str]:
    """Yield rules that make an item final despite an open disagreement."""
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
        # On an item that the auditor failed, the auditor disagrees with earlier voters.
        failed = set(stage.verdicts(questions)) - set(stage.passes)
        return stage.id in entered or not failed <= set(rule.none)
    return not (rule.resolves or (len(stage.roles) == 1 and not stage.counts))


def builtin_projects() -> tuple[str, ...]:
    return tuple(review_files())


def _as_in(base: object, written: dict[str, Any], name: str | Path) -> dict[str, Any]:
    """Return a project's description, completed from a built-in project."""
    if base not in builtin_projects():
        raise InputError(
            f"based_on: there is no built-in project '{str(base)[:40]}'",
            file=name,
            hint=f"use one of {', '.join(builtin_projects())}",
        )
    inherited = load_project(str(base)).model_dump(mode="json")
    stages = written.get("stages")
    described = isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages)
    if described and "questions" not in written:
        asked = {str(name) for stage in stages or () for name in stage.get("questions", ())}
        inherited["questions"] = [q for q in inherited["questions"] if q["id"] in asked]
    return inherited | written


def load_project(name: str | Path) -> Project:
    """Return a built-in project by its name, or the project in a TOML file.

    Raises:
        InputError: There is no such project, or it is not valid.
    """
    if isinstance(name, str) and name in builtin_projects():
        return parse_project(review_files()[name].read_text("utf-8"), name)
    path = Path(name)
    if not path.exists() and path.suffix != ".toml":
        raise InputError(
            f"there is no review project '{name}'",
            hint=f"use one of {', '.join(builtin_projects())}, or a .toml file",
        )
    try:
        return parse_project(path.read_text("utf-8"), path)
    except UnicodeDecodeError as error:
        raise InputError("the file is not UTF-8", file=path, hint="save it as UTF-8") from error
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, hint="check the path") from error
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error


def parse_project(text: str, name: str | Path) -> Project:
    """Return the project that a TOML text describes; ``name`` is for messages.

    ``based_on`` names a built-in project, from which missing settings are taken; its questions are
    taken only if the text's own stages ask them.

    Raises:
        InputError: The text is not TOML, or the project is not valid.
    """
    try:
        described = read_toml(text, name)
        base = described.pop("based_on", None)
        if base is not None:
            described = _as_in(base, described, name)
        project = Project.model_validate(described)
    except RecursionError as error:
        raise InputError("the TOML is nested too deeply", file=name, hint=_HINT) from error
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
