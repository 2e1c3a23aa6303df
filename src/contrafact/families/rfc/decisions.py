"""What people decided about rewrites: a file with a published schema (RFC-BENCH, 2.2.3, 2.2.4).

One decision a line: who, what, when, at which stage. The schema ships as ``decisions.schema.json``;
whatever collects decisions (a spreadsheet, a script, a review studio) writes files that keep it.

===================  =============================================  ===============================
stage                who                                            decisions
===================  =============================================  ===============================
``expert-review``    expert A, on every rewrite                     pass, fail, revise, remove
``audit``            expert B, on a sample                          pass, fail
``annotation``       two annotators, apart from each other          pass, fail, mis-category
``revision``         expert A, on what all annotators failed        revise, remove
``re-annotation``    the annotators, on what was revised            pass, fail, mis-category
``secondary-review`` expert B with a strict annotator, on disputes  pass, fail, unresolved
``arbitration``      expert A, on what is still in dispute          pass, fail, unresolved
===================  =============================================  ===============================
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from contrafact.errors import InputError
from contrafact.files.sheets import unguarded
from contrafact.files.tables import read_rows, source_name, table_file
from contrafact.files.workbooks import WORKBOOKS

__all__ = [
    "ALLOWED",
    "REVIEW_STAGES",
    "ReviewDecision",
    "ReviewStage",
    "decisions_schema",
    "load_decisions",
    "published_schema",
]

ReviewStage = Literal[
    "expert-review",
    "audit",
    "annotation",
    "revision",
    "re-annotation",
    "secondary-review",
    "arbitration",
]
ReviewAnswer = Literal["pass", "fail", "mis-category", "revise", "remove", "unresolved"]

ALLOWED: dict[ReviewStage, tuple[ReviewAnswer, ...]] = {
    "expert-review": ("pass", "fail", "revise", "remove"),
    "audit": ("pass", "fail"),
    "annotation": ("pass", "fail", "mis-category"),
    "revision": ("revise", "remove"),
    "re-annotation": ("pass", "fail", "mis-category"),
    "secondary-review": ("pass", "fail", "unresolved"),
    "arbitration": ("pass", "fail", "unresolved"),
}
"""The decisions that each stage can end with."""
APART_FROM: dict[ReviewStage, tuple[ReviewStage, ...]] = {
    "secondary-review": ("annotation", "re-annotation"),
    "arbitration": ("annotation", "re-annotation", "secondary-review"),
}
"""Whose own verdicts a stage rules on: nobody decides at it on an item of theirs (2.2.4)."""
REVIEW_STAGES: tuple[ReviewStage, ...] = tuple(ALLOWED)


class ReviewDecision(BaseModel):
    """One person's decision on one rewrite. Further fields are kept as they are."""

    model_config = ConfigDict(
        frozen=True, extra="allow", title="A review decision", str_strip_whitespace=False
    )

    item_id: str = Field(min_length=1, description="The id of the pair, as in the file of pairs.")
    stage: ReviewStage = Field(description="The stage of the review.")
    decided_by: str = Field(min_length=1, description="Who decided: a name, or a role.")
    decision: ReviewAnswer = Field(description="What was decided; each stage has its own answers.")
    when: str = Field(description="The time of the decision, ISO 8601.")
    why: str = Field(default="", description="The reason, in a few words.")
    rewritten: str | None = Field(
        default=None, min_length=1, description="With 'revise', the text as it is to be."
    )
    inclusion_probability: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="In an audit, the probability with which the item was drawn.",
    )
    round: int = Field(default=1, ge=1, description="Which round of an audit that is repeated.")
    flagged: bool = Field(default=False, description="Whether whoever decided was not sure.")
    review_edited: dict[str, str] = Field(
        default={},
        description="Fields of the pair that were changed before it was decided on, as they are.",
    )

    @field_validator("when")
    @classmethod
    def _is_time(cls, value: str) -> str:
        datetime.fromisoformat(value)
        return value

    @field_validator("review_edited", mode="before")
    @classmethod
    def _is_object(cls, value: Any) -> Any:
        if value is None:
            return {}
        return json.loads(value) if isinstance(value, str) else value  # a text table's cell

    @field_validator("item_id", "decided_by")
    @classmethod
    def _is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is blank")
        return value

    @model_validator(mode="after")
    def _fits_its_stage(self) -> Self:
        if self.decision not in ALLOWED[self.stage]:
            raise ValueError(
                f"'{self.decision}' is no decision of {self.stage}: "
                f"use {', '.join(ALLOWED[self.stage])}"
            )
        if (self.decision == "revise") != (self.rewritten is not None):
            raise ValueError("'rewritten' belongs to a decision 'revise', and only there")
        return self

    @property
    def time(self) -> datetime:
        """When it was decided; a time without a zone counts as UTC."""
        time = datetime.fromisoformat(self.when)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


def load_decisions(path: str | Path, item_ids: Iterable[str] | None = None) -> list[ReviewDecision]:
    """Return the decisions of a file, in its order.

    JSON Lines, JSON, CSV or Parquet; in CSV an empty cell is a field that is not there, and the
    apostrophe that guards a cell from being taken for a formula is none of its text.

    Args:
        path: The file.
        item_ids: The items that can be decided on; none to accept any.

    Raises:
        InputError: The file cannot be read, or a row does not keep the schema, decides on an item
            that is not there, repeats a person's decision at one stage and time, or rules on a
            dispute that its own author is part of. The line is named.
    """
    known = None if item_ids is None else set(item_ids)
    name = source_name(path)
    sheet = table_file(path).suffix.lower() in (".csv", ".tsv", *WORKBOOKS)
    found: list[ReviewDecision] = []
    seen: dict[tuple[str, str, str, int, str], int] = {}
    for line, row in read_rows(path):
        given = {
            key: unguarded(value) if sheet and isinstance(value, str) else value
            for key, value in row.items()
            if value not in (None, "")
        }
        try:
            decision = ReviewDecision.model_validate(given)
        except ValidationError as error:
            raise InputError(
                _problem_of(error),
                file=name,
                line=line,
                hint="see `contrafact rfc finalize --schema`",
            ) from error
        if known is not None and decision.item_id not in known:
            raise InputError(
                f"there is no item '{decision.item_id[:40]}' among the pairs",
                file=name,
                line=line,
                hint="give the file of pairs that was reviewed",
            )
        key = (
            decision.item_id,
            decision.stage,
            decision.decided_by,
            decision.round,
            decision.when,
        )
        if key in seen:
            raise InputError(
                f"'{decision.decided_by}' decides on {decision.item_id} twice at one time "
                f"(first on line {seen[key]})",
                file=name,
                line=line,
                hint="leave one of them out",
            )
        seen[key] = line
        found.append(decision)
    if partial := _ruling_on_itself(found, seen.values()):
        raise InputError(partial[1], file=name, line=partial[0], hint=_RULE_APART)
    return found


_RULE_APART = "leave the ruling out, and have somebody rule who took no part in the dispute"


def _ruling_on_itself(
    decisions: Sequence[ReviewDecision], lines: Iterable[int]
) -> tuple[int, str] | None:
    """Return the line of a ruling by somebody whose own verdict it is about, and what is wrong."""
    took_part: dict[tuple[str, str], dict[ReviewStage, int]] = {}
    numbered = list(zip(decisions, lines, strict=True))
    for one, line in numbered:
        own = took_part.setdefault((one.item_id, _folded(one.decided_by)), {})
        own.setdefault(one.stage, line)
    for one, line in numbered:
        own = took_part[one.item_id, _folded(one.decided_by)]
        for stage in APART_FROM.get(one.stage, ()):
            if stage in own:
                return line, (
                    f"'{one.decided_by}' rules at {one.stage} on {one.item_id}, a dispute of their "
                    f"own ({stage}, line {own[stage]})"
                )
    return None


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def decisions_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of one decision, made from the model."""
    schema = ReviewDecision.model_json_schema()
    rules = [
        {
            "if": {"properties": {"stage": {"const": stage}}},
            "then": {"properties": {"decision": {"enum": list(answers)}}},
        }
        for stage, answers in ALLOWED.items()
    ]
    rules.append(
        {
            "if": {"properties": {"decision": {"const": "revise"}}},
            "then": {
                "required": ["rewritten"],
                "properties": {"rewritten": {"type": "string"}},
            },
            "else": {"properties": {"rewritten": {"type": "null"}}},
        }
    )
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "allOf": rules}


def published_schema() -> str:
    """Return the schema as it ships: ``decisions.schema.json``."""
    return files("contrafact.families.rfc").joinpath("decisions.schema.json").read_text("utf-8")


def _problem_of(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    problem = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        problem = "is missing"
    return f"{place + ': ' if place else ''}{problem}"
