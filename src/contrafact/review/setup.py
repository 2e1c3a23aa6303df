"""Setup of a review: its project, people, items and training items."""

from collections.abc import Mapping, Sequence
from typing import Any

from contrafact.errors import InputError
from contrafact.review.answers import Decision, ballot_of
from contrafact.review.events import NotAllowed
from contrafact.review.project import Project, validate_project
from contrafact.review.state import Change

__all__ = ["import_gold", "import_items", "set_roles"]


def define_project(change: Change, who: str, project: Project) -> None:
    """Define the project, or change its wording: guidelines, titles and texts of questions.

    Raises:
        NotAllowed: The project is not valid, or more than the wording of a review would change.
    """
    state, problem = change.state, validate_project(project)
    if problem:
        raise NotAllowed(problem)
    if state.seq and _without_wording(project) != _without_wording(state.project):
        raise NotAllowed(
            "the stages, rules and answers of a review cannot change once it exists",
            hint="open another review",
        )
    definition = project.model_dump(mode="json")
    if not state.seq or definition != state.project.model_dump(mode="json"):
        version, body = project.guidelines_version, {"definition": definition}
        change.add("project", who, guidelines_version=version, body=body)


def set_roles(
    change: Change,
    who: str,
    name: str,
    roles: Sequence[str],
    *,
    active: bool = True,
    trained: bool = False,
) -> None:
    """Set a person's roles, in place of earlier ones; `NotAllowed` if a role or the name is bad."""
    state = change.state
    check_person_name(name)
    unknown = sorted(set(roles) - set(state.project.roles))
    if unknown:
        raise NotAllowed(
            f"there is no role '{unknown[0][:40]}'", hint=f"use {', '.join(state.project.roles)}"
        )
    body = {"name": name, "roles": sorted(set(roles)), "active": active, "trained": trained}
    person = state.people.get(name)
    if person is None or body != {**vars(person), "roles": sorted(person.roles)}:
        change.add("person", who, body=body)


def needed_fields(project: Project) -> tuple[str, ...]:
    """Return the fields that every item of a project must have, in order."""
    strata = {stage.strata for stage in project.flow if stage.strata not in (None, "person")}
    return tuple(sorted({*project.show, *(s for s in strata if s)} - {*project.may_lack}))


def import_items(change: Change, who: str, items: Mapping[str, Mapping[str, Any]]) -> int:
    """Import items (fields by id) and return how many are new; known items are skipped.

    Raises:
        NotAllowed: An item lacks a required field, or another item has its id.
    """
    state, project = change.state, change.state.project
    needed = needed_fields(project)
    new = {}
    for name, fields in items.items():
        check_item_id(name)
        missing = [field for field in needed if not str(fields.get(field) or "").strip()]
        if missing:
            raise NotAllowed(
                f"item '{name[:40]}' has no '{missing[0]}'",
                hint=f"the project '{project.name}' shows {', '.join(project.show)}",
            )
        there = state.items.get(name)
        if name in state.gold or (there is not None and there.imported != dict(fields)):
            raise NotAllowed(
                f"another item already has the id '{name[:40]}'", hint="use a different id"
            )
        if there is None:
            new[name] = dict(fields)
    for name, fields in new.items():
        change.add("imported", who, item=name, body={"fields": fields})
    return len(new)


def import_gold(
    change: Change, who: str, items: Mapping[str, tuple[Mapping[str, Any], Mapping[str, str]]]
) -> int:
    """Import training items (fields and known answers by id) and return how many are new.

    Raises:
        NotAllowed: The project has no training, an answer is invalid, or an item under review has
            the same id.
    """
    state = change.state
    stages = [stage for stage in state.project.stages if stage.kind == "training"]
    if not stages:
        raise NotAllowed(f"the project '{state.project.name}' has no training stage")
    for name, (_, gold) in items.items():
        check_item_id(name)
        if name in state.items:
            raise NotAllowed(
                f"item '{name[:40]}' is under review, so it cannot be a training item",
                hint="leave it out, or give it another id",
            )
        for stage in stages:
            try:
                ballot_of(state.project, stage, Decision(gold))
            except InputError as error:
                raise NotAllowed(f"training item '{name[:40]}': {error.problem}") from error
    new = {name: known for name, known in items.items() if name not in state.gold}
    for name, (fields, gold) in new.items():
        body = {"fields": dict(fields), "gold": dict(gold)}
        change.add("imported", who, item=name, body=body)
    return len(new)


def _without_wording(project: Project) -> object:
    """Return the parts of a project that cannot change: all but its wording and its checks."""
    stages = [
        stage.model_copy(
            update={
                "title": "",
                "corrects": stage.corrects and stage.corrects.model_copy(update={"check": None}),
                "rules": tuple(rule.model_copy(update={"why": ""}) for rule in stage.rules),
            }
        )
        for stage in project.stages
    ]
    questions = [(q.id, q.options, q.asked_when) for q in project.questions]
    return (project.name, project.show, questions, stages)


def is_valid_name(name: str) -> bool:
    """Return whether a text can be a name: short, printable, without spaces at its ends."""
    return 0 < len(name) <= 200 and name.isprintable() and name == name.strip()


def check_person_name(name: str) -> None:
    if not is_valid_name(name) or name.startswith("rule:"):
        raise NotAllowed(
            f"{name[:40]!a} cannot be the name of a person", hint="use a short plain text"
        )


def check_item_id(name: str) -> None:
    if not is_valid_name(name):
        raise NotAllowed(f"{name[:40]!a} cannot be an item's id", hint="use a short plain text")
