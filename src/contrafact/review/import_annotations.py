"""Annotations made with other tools become decisions of this review, marked as imported. Pure.

They go through the workflow's own rules: whoever decided has a role here, had no hand in a stage
that this one is kept apart from, and fills one free place. What does not fit is left out and
reported with its line; what was imported before is skipped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.review.answers import Assignment, Decision, asked_questions, ballot_of
from contrafact.review.assignment import may_take, record_assignment
from contrafact.review.events import Event, NotAllowed
from contrafact.review.external_formats import ExternalAnnotation
from contrafact.review.project import Project, Question, Stage
from contrafact.review.state import Recorder, ReviewItem, ReviewState
from contrafact.review.workflow import answer

__all__ = ["ImportSource", "import_annotations"]

COMMENT = "comment"
"""The name under which another tool's comments are looked for, unless another is given."""
FLAG = "flag"
"""The name under which its flags are."""

_NO = frozenset(("", "false", "no", "0", "none"))


@dataclass
class ImportedAnnotations:
    """What became of the annotations of a file.

    Attributes:
        imported: How many are decisions of this review now.
        problems: One sentence for each that was left out, with its line.
    """

    imported: int = 0
    duplicates: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ImportSource:
    """Where annotations come from.

    Attributes:
        file: The file they come in, for messages and for the history.
        stage: The stage that they are decisions of; the first blind one if none is named.
        names: By question (or ``comment``, ``flag``), the other tool's name for it, where they
            differ.
        people: By the other tool's name of a person, ours, where they differ.
    """

    tool: str
    file: str
    stage: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)


def import_annotations(
    state: ReviewState,
    annotations: Iterable[ExternalAnnotation],
    source: ImportSource,
    who: str,
    *,
    now: datetime,
    rng: np.random.Generator,
) -> tuple[ImportedAnnotations, list[Event]]:
    """Import annotations into a review, as far as they fit, on behalf of ``who``.

    Raises:
        NotAllowed: There is no such stage, or a name stands for no question.
    """
    place = _stage(state.project, source.stage)
    asked_as = {name: name for name in (*place.questions, COMMENT, FLAG)}
    unknown = sorted(set(source.names) - set(asked_as))
    if unknown:
        raise NotAllowed(
            f"'{unknown[0][:40]}' is not asked in stage '{place.id}'",
            hint=f"it asks {', '.join(place.questions)}",
        )
    asked_as |= source.names
    by_text: dict[tuple[str, ...], list[str]] = {}
    for item in state.items.values():
        by_text.setdefault(shown_texts(state.project, item.fields), []).append(item.id)
    result, events = ImportedAnnotations(), []
    for one in annotations:
        try:
            if one.skipped:
                raise InputError(one.skipped)
            item = match_item(state, one, by_text)
            person = source.people.get(one.by, one.by)
            if person not in state.people:
                raise InputError(
                    f"nobody named '{person[:40]}' works in this review",
                    hint="add them with their roles, or say who it is here",
                )
            if any(
                vote.origin is not None
                and (vote.who, vote.stage) == (person, place.id)
                and (vote.origin.get("tool"), vote.origin.get("key")) == (source.tool, one.key)
                for vote in item.votes
            ):
                result.duplicates += 1
                continue
            origin = {
                "tool": source.tool,
                "file": source.file,
                "line": one.line,
                "by": one.by,
                "by_import": who,
                "key": one.key,
                "when": one.when,
            }
            sent = decision_of(state.project, place, one, asked_as, origin)
            events += import_decision(state, item, place, person, sent, now=now, rng=rng)
            result.imported += 1
        except InputError as error:
            located = InputError(error.problem, file=source.file, line=one.line, hint=error.hint)
            result.problems.append(f"{located}; left out")
    return result, events


def shown_texts(project: Project, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts that a project shows of an item, whatever a tool did to their spaces."""
    needed = (name for name in project.show if name not in project.may_lack)
    return tuple(" ".join(str(fields.get(name) or "").split()) for name in needed)


def match_item(
    state: ReviewState, one: ExternalAnnotation, by_text: Mapping[tuple[str, ...], list[str]]
) -> ReviewItem:
    """Return the item that an annotation is about: by its text, which says most, or by an id.

    Raises:
        InputError: There is none, there are several, or the text is another one here.
    """
    shown = shown_texts(state.project, one.data)
    same = by_text.get(shown, []) if any(shown) else []
    if len(same) == 1:
        return state.items[same[0]]
    named = [name for name in one.ids if name in state.items]
    chosen = [name for name in named if not same or name in same]
    if not chosen:
        item_name = f"'{one.ids[0][:40]}'" if one.ids else "without an id"
        if same:
            raise InputError(
                f"several items have the text of {item_name}", hint="give it an item_id"
            )
        raise InputError(
            f"there is no item {item_name} in this review", hint="import the items first"
        )
    item = state.items[chosen[0]]
    if any(shown) and not same:
        # The tool may repeat only some of the texts.
        ours = shown_texts(state.project, item.fields)
        if any(theirs not in ("", own) for own, theirs in zip(ours, shown, strict=True)):
            raise InputError(
                f"item '{item.id[:40]}' has another text here", hint="check its item_id"
            )
    return item


def decision_of(
    project: Project,
    stage: Stage,
    one: ExternalAnnotation,
    asked_as: Mapping[str, str],
    origin: Mapping[str, Any],
) -> Decision:
    """Return an annotation as a decision.

    Args:
        asked_as: By question, ``comment`` and ``flag``, the other tool's name for it.

    Raises:
        InputError: An answer is missing, or none of the question's.
    """
    matched = {
        name: match_answer(project.question(name), one.answers.get(asked_as[name], ()))
        for name in stage.questions
    }
    answers = {name: text for name, text in matched.items() if text}
    asked = asked_questions(project, stage, answers)
    comment = " ".join(one.answers.get(asked_as[COMMENT], ()))
    flags = one.answers.get(asked_as[FLAG], ())
    flagged = any(flag.casefold() not in _NO for flag in flags)
    decision = Decision(
        {name: answers[name] for name in asked if name in answers},
        flagged=flagged,
        comment=comment or ("; ".join(flags) if flagged else ""),
        origin=origin,
    )
    ballot_of(project, stage, decision)
    return decision


def import_decision(
    state: ReviewState,
    item: ReviewItem,
    stage: Stage,
    person: str,
    decision: Decision,
    *,
    now: datetime,
    rng: np.random.Generator,
) -> list[Event]:
    """Give the item to the person and take the decision; refuse before anything is changed.

    Raises:
        InputError: The item is not at the stage, or the person has no place at it.
    """
    if (item.stage, bool(item.slots)) != (stage.id, True):
        where = f"is at stage '{item.stage}'" if item.stage else f"has ended: {item.outcome}"
        raise InputError(f"item '{item.id[:40]}' {where}, not at '{stage.id}'")
    if any(vote.who == person for vote in item.here()):
        raise InputError(f"'{person}' has decided on item '{item.id[:40]}' here already")
    own = [n for n, slot in enumerate(item.slots) if slot.person == person and not slot.filled]
    free = (
        n for n in range(len(item.slots)) if may_take(state, state.people[person], item, n, now)
    )
    slot = own[0] if own else next(free, None)
    if slot is None:
        raise InputError(f"there is no place for '{person}' at item '{item.id[:40]}'")
    in_hand = state.items.get(state.held.get(person, ""))
    record = Recorder(state, now)
    record_assignment(record, item, slot, person, now + timedelta(seconds=1), decision.origin)
    place = Assignment(item.id, stage.id, item.round)
    answered = answer(state, person, place, decision, now=now, rng=rng)
    again = Recorder(state, now)
    if in_hand is not None and in_hand is not item:
        # What they have open on their screen stays theirs.
        for number, other in enumerate(in_hand.slots):
            if other.person == person and not other.filled and other.until is not None:
                record_assignment(again, in_hand, number, person, other.until, decision.origin)
    return record.events + answered + again.events


def match_answer(question: Question, given: tuple[str, ...]) -> str:
    """Return what another tool gives as an answer in the question's own spelling; empty if nothing.

    Raises:
        InputError: It is no answer to the question, or there are several.
    """
    if not given:
        return ""
    if not question.options:
        return " ".join(given)
    if len(given) > 1:
        raise InputError(f"'{question.id}' has {len(given)} answers")
    spelled = {option.casefold(): option for option in question.options}
    found = spelled.get(given[0].casefold())
    if found is None:
        raise InputError(
            f"'{given[0][:40]}' is no answer to '{question.id}'",
            hint=f"its answers are {', '.join(question.options)}",
        )
    return found


def _stage(project: Project, name: str | None) -> Stage:
    for stage in project.flow:
        if stage.roles and (stage.id == name or (name is None and stage.kind == "independent")):
            return stage
    raise NotAllowed(
        "there is no blind stage to import decisions into"
        if name is None
        else f"'{name[:40]}' is no stage in which people decide",
        hint=f"name one of {', '.join(s.id for s in project.flow if s.roles)}",
    )
