"""Decisions that were made elsewhere become decisions of this review, marked as such. Pure.

They go through the workflow's own rules: whoever decided has a role here, had no hand in a stage
that this one is kept apart from, and fills one free place. What does not fit is left out and told,
with its line; what was brought in before is passed over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.review.answers import asked_questions, ballot_of
from contrafact.review.assignment import may_take
from contrafact.review.external_formats import ExternalAnnotation
from contrafact.review.project import Project, Question, Stage
from contrafact.review.state import ReviewState, Event, ReviewItem, Recorder, NotAllowed
from contrafact.review.workflow import answer

__all__ = ["COMMENT", "FLAG", "ImportedAnnotations", "import_annotations"]


COMMENT = "comment"
"""The name under which another tool's comments are looked for, unless it is told another."""
FLAG = "flag"
"""The name under which its flags are."""

_NO = frozenset(("", "false", "no", "0", "none"))


@dataclass
class ImportedAnnotations:
    """What became of decisions made elsewhere.

    Attributes:
        taken: How many are decisions of this review now.
        known: How many were so before.
        problems: One sentence for each that was left out, with its line.
    """

    taken: int = 0
    known: int = 0
    problems: list[str] = field(default_factory=list)


def import_annotations(
    state: ReviewState,
    decisions: Iterable[ExternalAnnotation],
    who: str,
    *,
    tool: str,
    file: str,
    stage: str | None = None,
    names: Mapping[str, str] | None = None,
    people: Mapping[str, str] | None = None,
    now: datetime,
    rng: np.random.Generator,
) -> tuple[ImportedAnnotations, list[Event]]:
    """Take decisions made elsewhere into a review, as far as they fit.

    Args:
        state: The state.
        decisions: As :func:`contrafact.review.elsewhere.read_foreign` returns them.
        who: Who brings them in.
        tool: Where they were made.
        file: The file they come in, for messages and for the history.
        stage: The stage that they are decisions of; the first blind one if none is named.
        names: By question (or ``comment``, ``flag``), the other tool's name for it, where they
            differ.
        people: By the other tool's name of a person, ours, where they differ.
        now: The time.
        rng: Draws an audit's sample, where a decision completes a batch.

    Raises:
        NotAllowed: There is no such stage, or a name stands for no question.
    """
    place = _stage(state.project, stage)
    asked_as = _names(place, names or {})
    texts = _by_text(state)
    result, events = ImportedAnnotations(), []
    for one in decisions:
        try:
            if one.skipped:
                raise InputError(one.skipped)
            item = _item(state, one, texts)
            person = _person(state, one, people or {})
            if _known(item, place, person, tool, one):
                result.known += 1
                continue
            origin = {"tool": tool, "file": file, "line": one.line, "by": one.by, "by_import": who}
            origin |= {"key": one.key, "when": one.when}
            events += _take(state, item, place, person, one, asked_as, origin, now, rng)
            result.taken += 1
        except InputError as error:
            told = InputError(error.problem, file=file, line=one.line, hint=error.hint)
            result.problems.append(f"{told}; left out")
    return result, events


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


def _names(stage: Stage, names: Mapping[str, str]) -> dict[str, str]:
    asked_as = {name: name for name in (*stage.questions, COMMENT, FLAG)}
    unknown = sorted(set(names) - set(asked_as))
    if unknown:
        raise NotAllowed(
            f"'{unknown[0][:40]}' is not asked in stage '{stage.id}'",
            hint=f"it asks {', '.join(stage.questions)}",
        )
    return asked_as | dict(names)


def _by_text(state: ReviewState) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for item in state.items.values():
        found.setdefault(_shown(state.project, item.fields), []).append(item.id)
    return found


def _shown(project: Project, fields: Mapping[str, Any]) -> tuple[str, ...]:
    needed = (name for name in project.show if name not in project.may_lack)
    return tuple(" ".join(str(fields.get(name) or "").split()) for name in needed)


def _item(state: ReviewState, one: ExternalAnnotation, texts: Mapping[tuple[str, ...], list[str]]) -> ReviewItem:
    """Return the item by its text, which says most, or else by an id."""
    shown = _shown(state.project, one.data)
    same = texts.get(shown, []) if any(shown) else []
    named = [name for name in one.ids if name in state.items]
    if len(same) == 1:
        return state.items[same[0]]
    chosen = [name for name in named if not same or name in same]
    if not chosen:
        told = f"'{one.ids[0][:40]}'" if one.ids else "without an id"
        if same:
            raise InputError(f"several items have the text of {told}", hint="give it an item_id")
        raise InputError(f"there is no item {told} in this review", hint="import the items first")
    item = state.items[chosen[0]]
    if any(shown) and not same and not _agrees(state.project, item, one.data):
        raise InputError(f"item '{item.id[:40]}' has another text here", hint="check its item_id")
    return item


def _agrees(project: Project, item: ReviewItem, data: Mapping[str, Any]) -> bool:
    """Return whether what the other tool showed of an item, as far as it tells, is the same."""
    pairs = zip(_shown(project, item.fields), _shown(project, data), strict=True)
    return all(theirs in ("", ours) for ours, theirs in pairs)


def _person(state: ReviewState, one: ExternalAnnotation, people: Mapping[str, str]) -> str:
    name = people.get(one.by, one.by)
    if name not in state.people:
        raise InputError(
            f"nobody named '{name[:40]}' works in this review",
            hint="add them with their roles, or say who it is here",
        )
    return name


def _known(item: ReviewItem, stage: Stage, person: str, tool: str, one: ExternalAnnotation) -> bool:
    return any(
        vote.origin is not None
        and (vote.who, vote.stage) == (person, stage.id)
        and (vote.origin.get("tool"), vote.origin.get("key")) == (tool, one.key)
        for vote in item.votes
    )


def _take(
    state: ReviewState,
    item: ReviewItem,
    stage: Stage,
    person: str,
    one: ExternalAnnotation,
    asked_as: Mapping[str, str],
    origin: Mapping[str, Any],
    now: datetime,
    rng: np.random.Generator,
) -> list[Event]:
    """Give the item to the person and take the answer; refuse before anything is changed."""
    answers = {
        name: _answer(state.project.question(name), one.answers.get(asked_as[name], ()))
        for name in stage.questions
    }
    given = {name: said for name, said in answers.items() if said}
    given = {name: given[name] for name in asked_questions(state.project, stage, given) if name in given}
    comment = " ".join(one.answers.get(asked_as[COMMENT], ()))
    flags = one.answers.get(asked_as[FLAG], ())
    flagged = any(flag.casefold() not in _NO for flag in flags)
    if flagged and not comment:
        comment = "; ".join(flags)
    ballot_of(state.project, stage, given, flagged=flagged, comment=comment)
    if (item.stage, bool(item.slots)) != (stage.id, True):
        where = f"is at stage '{item.stage}'" if item.stage else f"has ended: {item.outcome}"
        raise InputError(f"item '{item.id[:40]}' {where}, not at '{stage.id}'")
    cast = next((v for v in item.here() if v.who == person), None)
    if cast is not None:
        raise InputError(f"'{person}' has decided on item '{item.id[:40]}' here already")
    slot = _place(state, item, person, now)
    in_hand = state.items.get(state.held.get(person, ""))
    record = Recorder(state, now)
    _assign(record, item, slot, person, now + timedelta(seconds=1), origin)
    answered = answer(
        state,
        person,
        item.id,
        stage.id,
        item.round,
        given,
        now=now,
        rng=rng,
        flagged=flagged,
        comment=comment,
        origin=origin,
    )
    again = Recorder(state, now)
    if in_hand is not None and in_hand is not item:
        # What they have open on their screen stays theirs.
        for number, other in enumerate(in_hand.slots):
            if other.person == person and not other.filled and other.until is not None:
                _assign(again, in_hand, number, person, other.until, origin)
    return record.events + answered + again.events


def _assign(
    record: Recorder,
    item: ReviewItem,
    slot: int,
    person: str,
    until: datetime,
    origin: Mapping[str, Any],
) -> None:
    record.add(
        "assigned",
        person,
        item=item.id,
        stage=item.stage,
        round=item.round,
        slot=slot,
        text_version=item.text_version,
        guidelines_version=record.state.project.guidelines_version,
        body={"until": until.isoformat(), "origin": dict(origin)},
    )


def _place(state: ReviewState, item: ReviewItem, person: str, now: datetime) -> int:
    """Return the free place that the person may fill."""
    own = state.people[person]
    for number, slot in enumerate(item.slots):
        if slot.person == person and not slot.filled:
            return number
    for number in range(len(item.slots)):
        if may_take(state, own, item, number, now):
            return number
    raise InputError(f"there is no place for '{person}' at item '{item.id[:40]}'")


def _answer(question: Question, said: tuple[str, ...]) -> str:
    """Return the answer that a question knows, in its spelling."""
    if not said:
        return ""
    if not question.options:
        return " ".join(said)
    if len(said) > 1:
        raise InputError(f"'{question.id}' has {len(said)} answers")
    spelled = {option.casefold(): option for option in question.options}
    found = spelled.get(said[0].casefold())
    if found is None:
        raise InputError(
            f"'{said[0][:40]}' is no answer to '{question.id}'",
            hint=f"its answers are {', '.join(question.options)}",
        )
    return found
