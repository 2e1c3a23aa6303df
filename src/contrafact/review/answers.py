"""Decisions as people send them, and the ballots made from them."""

from collections.abc import Mapping
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.review.project import Project, Stage


@dataclass(frozen=True)
class Assignment:
    """An item assigned to a person for a decision.

    ``round`` counts the item's visits to the stage, or the person's rounds of training.
    """

    item: str
    stage: str
    round: int
    training: bool = False


@dataclass(frozen=True)
class Decision:
    """What a person sends about an item; ``flagged`` if they are not sure.

    Attributes:
        guidelines_version: The guidelines that the person saw; None for the current ones.
        request: A key; a decision sent again under the same key counts once.
    """

    answers: Mapping[str, str]
    flagged: bool = False
    comment: str = ""
    correction: str | None = None
    guidelines_version: str | None = None
    request: str | None = None


@dataclass(frozen=True)
class Ballot:
    """What a person decided about an item at one stage."""

    answers: Mapping[str, str]
    verdict: str
    flagged: bool = False
    comment: str = ""
    correction: str | None = None


def asked_questions(project: Project, stage: Stage, answers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the questions that apply given the answers so far, in order."""
    asked: list[str] = []
    for name in stage.questions:
        conditions = project.question(name).asked_when
        if all(q in asked and answers.get(q) in wanted for q, wanted in conditions.items()):
            asked.append(name)
    return tuple(asked)


def ballot_of(
    project: Project, stage: Stage, decision: Decision, present: str | None = None
) -> Ballot:
    """Return the ballot for a decision.

    Answers to questions that another answer rules out are dropped. Training needs no comments. A
    new text equal to the ``present`` one is ignored where the verdict needs no new text.

    Raises:
        InputError: An answer is missing, unknown, or lacks the comment or text that it needs.
    """
    answers, correction = decision.answers, decision.correction
    unknown = sorted(set(answers) - set(stage.questions))
    if unknown:
        raise InputError(f"stage '{stage.id}' has no question '{unknown[0][:40]}'")
    comment = decision.comment.strip()
    kept: dict[str, str] = {}
    for name in asked_questions(project, stage, answers):
        question = project.question(name)
        answer = answers.get(name, "").strip()
        if not answer:
            if question.required:
                raise InputError(f"question '{name}' is not answered", hint="answer it")
            continue
        if question.options and answer not in question.options:
            raise InputError(
                f"'{answer[:40]}' is not an answer to question '{name}'",
                hint=f"choose one of {', '.join(question.options)}",
            )
        if answer in question.comment_on and not comment and stage.kind != "training":
            raise InputError(f"the answer '{answer}' needs a comment", hint="give the reason")
        kept[name] = answer
    if decision.flagged and not comment:
        raise InputError("a flag needs a comment", hint="say what is unclear")
    if isinstance(stage.verdict, str):
        verdict = kept[stage.verdict]
    else:
        verdict = next(
            rule.verdict
            for rule in stage.verdict
            if all(kept.get(name) in wanted for name, wanted in rule.when.items())
        )
    if stage.corrects and verdict == stage.corrects.on:
        if not (correction or "").strip():
            raise InputError(
                f"the verdict '{verdict}' needs a new text", hint="write it, or change the answer"
            )
    elif correction is not None and correction.strip() == present:
        correction = None
    elif correction is not None:
        raise InputError(f"the verdict '{verdict}' in stage '{stage.id}' takes no new text")
    return Ballot(kept, verdict, decision.flagged, comment, correction)
