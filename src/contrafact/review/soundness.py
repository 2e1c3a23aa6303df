"""What has to hold of a project before anybody works in it: no dead end, no open dispute at an end.

These are statements about the project's rules, so they hold of every item that will ever go
through it.
"""

from collections.abc import Callable, Iterator

from contrafact.review.project import OUTCOMES, Project, Question, Rule, Stage

__all__ = ["first_problem"]

_BLIND = ("training", "independent")


def first_problem(project: Project) -> str | None:
    """Return the first thing that is wrong with a project, in a sentence; none if it is sound."""
    checks: tuple[Callable[[Project], Iterator[str]], ...] = (
        _names,
        _questions,
        _stages,
        _rules,
        _paths,
        _disputes,
    )
    return next((problem for check in checks for problem in check(project)), None)


def _names(project: Project) -> Iterator[str]:
    for what, names in (
        ("question", [q.id for q in project.questions]),
        ("stage", [s.id for s in project.stages]),
    ):
        for name in names:
            if names.count(name) > 1:
                yield f"there are two {what}s '{name}'"
    if not project.flow:
        yield "there is no stage but training"
    if project.compare and not set(project.compare) <= set(project.show):
        yield "'compare' names a field that 'show' does not"


def _questions(project: Project) -> Iterator[str]:
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
    known = {question.id: question for question in project.questions}
    seen: set[str] = set()
    for stage in project.stages:
        name = f"stage '{stage.id}'"
        missing = [q for q in stage.questions if q not in known]
        if missing:
            yield f"{name} asks '{missing[0]}', which is no question"
            return
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
        if stage.kind in _BLIND and stage.shows:
            yield f"{name} is blind, and shows no other votes"
        if stage.kind in ("full-review", "audit", "arbitration") and len(stage.roles) != 1:
            yield f"{name} is one person's work: it has one role"
        if stage.corrects and (len(stage.roles) != 1 or stage.kind == "training"):
            yield f"{name} lets several people write one text anew"
        if stage.kind == "audit":
            yield from _audit(project, stage)
        seen.add(stage.id)


def _verdict(project: Project, stage: Stage) -> Iterator[str]:
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
            told = {*rule.all, *rule.some, *rule.none, *rule.majority}
            counted = [stage, *(project.stage(other) for other in stage.counts)]
            possible = {v for s in counted for v in s.verdicts(known)} if stage.roles else set()
            if told - possible:
                yield f"{name}, rule {place} waits for '{min(told - possible)}', which nobody votes"


def _paths(project: Project) -> Iterator[str]:
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
    """A disagreement that enters a stage leaves it only by a vote: never straight to the end."""
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


def _disputed(stage: Stage, rule: Rule, entered: set[str], questions: dict[str, Question]) -> bool:
    if stage.kind == "disagreement-set":
        return stage.id in entered
    if stage.kind == "audit":
        # What the auditor failed is in dispute between the auditor and whoever voted before.
        failed = set(stage.verdicts(questions)) - set(stage.passes)
        return stage.id in entered or not failed <= set(rule.none)
    return not (rule.resolves or (len(stage.roles) == 1 and not stage.counts))
