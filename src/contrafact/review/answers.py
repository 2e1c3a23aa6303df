"""From what somebody sends to a ballot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.review.project import Project, Stage


@dataclass(frozen=True)
class Assignment:
    """An item that somebody is to decide on.

    ``round`` is the item's visit to the stage, or the person's round of training.
    """

    item: str
    stage: str
    round: int
    training: bool = False


@dataclass(frozen=True)
class Decision:
    """What somebody sends about an item; flagged if they are not sure.

    Attributes:
        evidence: Passages of the item that show why, where the stage asks for them.
        guidelines_version: The guidelines they saw; the present ones if None.
        request: A key under which the same decision may be sent again.
    """

    answers: Mapping[str, str]
    flagged: bool = False
    comment: str = ""
    correction: str | None = None
    evidence: Sequence[str] = ()
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
    """Return the questions that are asked, given the answers so far, in order."""
    found: list[str] = []
    for name in stage.questions:
        conditions = project.question(name).asked_when
        if all(q in found and answers.get(q) in wanted for q, wanted in conditions.items()):
            found.append(name)
    return tuple(found)


def ballot_of(
    project: Project, stage: Stage, decision: Decision, present: str | None = None
) -> Ballot:
    """Return the ballot that a decision makes.

    Answers to questions that are not asked, because another answer rules them out, are left out.
    In training nobody is asked to say why. A new text that is the ``present`` one is none where
    the verdict asks for none.

    Raises:
        InputError: An answer is missing, unknown, or lacks the comment or text that it needs.
    """
    answers, correction = decision.answers, decision.correction
    unknown = sorted(set(answers) - set(stage.questions))
    if unknown:
        raise InputError(f"'{unknown[0][:40]}' is not asked in stage '{stage.id}'")
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
                f"'{answer[:40]}' is no answer to '{name}'",
                hint=f"answer {', '.join(question.options)}",
            )
        if answer in question.comment_on and not comment and stage.kind != "training":
            raise InputError(f"'{answer}' needs a comment", hint="say why in a few words")
        kept[name] = answer
    if decision.flagged and not comment:
        raise InputError("a flag needs a comment", hint="say what is not clear")
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
            raise InputError(f"'{verdict}' needs a new text", hint="write it, or answer otherwise")
    elif correction is not None and correction.strip() == present:
        correction = None
    elif correction is not None:
        raise InputError(f"a new text does not go with '{verdict}' in stage '{stage.id}'")
    return Ballot(kept, verdict, decision.flagged, comment, correction)
