"""Replies: repaired and counted, or invalid with a reason; never guessed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.judges.replies import read_bool, read_json_object

PLAIN = '{"a": "x", "b": true}'
VALUE = {"a": "x", "b": True}


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (PLAIN, ()),
        (f"```json\n{PLAIN}\n```", ("code fence",)),
        (f"Here it is: {PLAIN} Hope it helps.", ("text around the object",)),
        ('{"a": "x", "b": true,}', ("trailing comma",)),
        ('{"a": "x", "b": True}', ("Python constant",)),
        ("{“a”: “x”, “b”: true}", ("typographic quotes",)),
        (f"{PLAIN}\n{PLAIN}", ("text around the object",)),
    ],
)
def test_what_can_be_repaired_is_and_is_named(text, repairs):
    reply = read_json_object(text)
    assert reply.value == VALUE
    assert reply.repairs == repairs


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty reply"),
        ("I cannot do that.", "no JSON object"),
        ('{"a": "x", "b": tr', "cut off inside the JSON object"),
        ('{"a": 1} {"a": 2}', "several different JSON objects"),
        ("{a: b}", "not JSON"),
        ("[1, 2]", "no JSON object"),
    ],
)
def test_what_cannot_be_repaired_is_invalid_with_a_reason(text, reason):
    reply = read_json_object(text)
    assert reply.value is None
    assert reply.invalid == reason


@given(st.text())
def test_no_reply_crashes_the_reader(text):
    reply = read_json_object(text)
    assert (reply.value is None) == (reply.invalid is not None)


def test_deep_nesting_does_not_crash_the_reader():
    assert read_json_object('{"a":' * 50_000 + "1" + "}" * 50_000).value is None


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.booleans(), st.none(), st.integers())))
def test_every_json_object_reads_as_itself_with_words_around_it(value):
    text = json.dumps(value)
    assert read_json_object(text).value == value
    assert read_json_object(f"Answer: {text} Done.").value == value


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"directionality": {"value": true}}', True),
        ('{"directionality": {"value": false}}', False),
        ('{"directionality": "False"}', False),
        ('{"value": true}', True),
        ("True.", True),
        ("`false`", False),
        ('{"directionality": {"value": "maybe"}}', None),
        ('{"directionality": {"value": 1}}', None),
        ("It is true that markets fell.", None),
        ("true or false", None),
        ('{"forward_compatibility": {"value": true}}', None),
    ],
)
def test_a_verdict_is_read_or_invalid(text, answer):
    found, reason = read_bool(text, "directionality")
    assert found is answer
    assert (reason is None) == (answer is not None)
