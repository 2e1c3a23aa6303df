"""Which schemas leave only a few replies open."""

import json

import pytest
from inspect_ai.util import json_schema
from pydantic import BaseModel

from contrafact.judges.judge import bool_schema
from contrafact.models.whitebox.finite import MOST_REPLIES, finite_replies

BOOLEAN = {"type": "boolean"}


def test_a_judges_schema_leaves_two_replies():
    schema = bool_schema("directionality").json_schema.model_dump(exclude_none=True)
    replies = finite_replies(schema)
    assert replies is not None
    assert [json.loads(reply) for reply in replies] == [
        {"directionality": {"value": True}},
        {"directionality": {"value": False}},
    ]


def test_labels_and_alternatives_are_listed():
    schema = {
        "type": "object",
        "properties": {
            "label": {"enum": ["up", "down"]},
            "sure": {"anyOf": [BOOLEAN, {"type": "null"}]},
        },
        "required": ["label", "sure"],
    }
    replies = finite_replies(schema)
    assert replies is not None and len(replies) == 6
    assert '{"label": "down", "sure": null}' in replies


class Free(BaseModel):
    value: bool
    why: str


@pytest.mark.parametrize(
    "schema",
    [
        json_schema(Free).model_dump(exclude_none=True),
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": BOOLEAN}, "required": []},
        {"enum": [1, 12]},  # the end of 1 cannot be told from the middle of 12
        {"anyOf": [BOOLEAN, {"type": "number"}]},
        {"type": "array", "items": BOOLEAN},
        {},
    ],
)
def test_what_cannot_be_listed_is_not(schema):
    assert finite_replies(schema) is None


def test_too_many_replies_are_not_listed():
    names = [f"n{number}" for number in range(40)]
    many = {"type": "object", "properties": dict.fromkeys(names, BOOLEAN), "required": names}
    assert finite_replies(many) is None
    assert finite_replies({"enum": [str(n) for n in range(MOST_REPLIES + 1)]}) is None
    some = finite_replies({"enum": [str(n) for n in range(MOST_REPLIES)]})
    assert some is not None and len(some) == MOST_REPLIES
