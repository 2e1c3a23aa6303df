"""What a form of work brings."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import HTTPException, Request
from starlette.datastructures import FormData

from contrafact.review.answers import asked
from contrafact.review.desk import Assignment
from contrafact.review.project import Project, Stage

__all__ = ["ANSWER", "DESCRIBED", "Sent", "Typed", "new_request", "sent", "typed_from"]

ANSWER = "answer."
"""What the name of an answer's field begins with; the question's name follows."""
_TEXT = {"type": "string"}
DESCRIBED = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["csrf", "request", "item", "stage", "round"],
                    "properties": {
                        "csrf": _TEXT,
                        "request": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
                        "item": _TEXT,
                        "stage": _TEXT,
                        "round": {"type": "integer", "minimum": 1},
                        "training": {"type": "string", "enum": ["", "1"]},
                        "guidelines": _TEXT,
                        "comment": _TEXT,
                        "flag": {"type": "string", "enum": ["", "1"]},
                        "correction": _TEXT,
                    },
                    "additionalProperties": _TEXT,
                }
            }
        },
    }
}
"""A form of work, as the app's description tells it; besides, an answer to each question."""
_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")
_VERSION = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class Typed:
    """What somebody has filled in."""

    answers: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    flagged: bool = False
    correction: str | None = None

    def missing(self, project: Project, stage: Stage) -> list[str]:
        """Return the questions that are asked, have to be answered, and are not."""
        return [
            name
            for name in asked(project, stage, self.answers)
            if project.question(name).required and not self.answers.get(name, "").strip()
        ]


@dataclass(frozen=True)
class Sent:
    """A form of work: what was filled in, about what, and the key under which it counts once."""

    assignment: Assignment
    typed: Typed
    guidelines_version: str | None
    request: str


def new_request() -> str:
    """Return a key for a form that is about to be shown."""
    return secrets.token_urlsafe(18)


async def sent(request: Request) -> Sent:
    """Read a form of work.

    Raises:
        HTTPException: 422, a field that says what the form is about is missing or no such thing.
    """
    form = await request.form()
    number, key = _text(form, "round"), _text(form, "request")
    if not re.fullmatch(r"[0-9]{1,9}", number) or not _KEY.fullmatch(key):
        raise HTTPException(422, "The form is not whole. Open its page again.")
    assignment = Assignment(
        _text(form, "item"), _text(form, "stage"), int(number), _text(form, "training") == "1"
    )
    answers = {
        name.removeprefix(ANSWER): _text(form, name) for name in form if name.startswith(ANSWER)
    }
    correction = _text(form, "correction") if "correction" in form else None
    typed = Typed(answers, _text(form, "comment"), _text(form, "flag") == "1", correction)
    version = _text(form, "guidelines")
    return Sent(assignment, typed, version if _VERSION.fullmatch(version) else None, key)


def typed_from(body: Mapping[str, Any] | None) -> Typed:
    """Return what an earlier answer had filled in."""
    if body is None:
        return Typed()
    return Typed(dict(body["answers"]), body["comment"], body["flagged"], body.get("correction"))


def _text(form: FormData, name: str) -> str:
    """Return a field's text, its lines ended as texts' are; nothing for a file or no field."""
    value = form.get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""
