"""Replies: repaired and counted, or invalid with a reason; never guessed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.judges.replies import (
    answer_text,
    read_bool,
    read_json_object,
    read_label,
    read_letter,
)

DETECT = ("true", "false")
DIAGNOSE = MANIPULATIONS

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
        (f'<think>{{"a": "draft"}}</think>{PLAIN}', ("reasoning",)),
        (f'First {{"a": "draft"}}.\n</think>\n{PLAIN}', ("reasoning",)),
        (f'[THINK]{{"a": 0}}[/THINK]{PLAIN}', ("reasoning",)),
        (
            f'```json\n{{"a": "draft"}}\n```\nFinal answer: {PLAIN}',
            ("text before the final answer",),
        ),
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
        ("{headline} it is", "no JSON object"),
        ('{"a": "x", "b": tr', "cut off inside the JSON object"),
        ('{"a": 1} {"a": 2}', 'several different JSON objects: {"a": 1} and {"a": 2}'),
        ('{"a": 1} or rather {"a": 2', "cut off inside the JSON object"),
        ('{"a": 1} no, {"a": tow}', "not JSON"),
        ('<think>So {"a": 1} may', "the reasoning never ended"),
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
    ("reply", "label"),
    [
        ('{"label": "false"}', "false"),
        ("The answer is _true_, yes: true.", "true"),
        ("[true/false]: false", "false"),
        ("so it is true and also false</think> true", "true"),
        ("<reasoning>false</reasoning><think>true</think>False", "false"),
    ],
)
def test_one_label_in_any_dress_is_read(reply, label):
    assert read_label(reply, DETECT).value == label


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty reply"),
        ("   \n", "empty reply"),
        ("I cannot say.", "no label"),
        ("untrue", "no label"),
        ("falsehood", "no label"),
        ("trueness", "no label"),
        ("true or false", "several labels: true, false"),
        ("It is not true", "a label in another statement: 'It is not true'"),
        ("true: 10%", "a label in another statement: 'true: 10%'"),
        ("<think>it must be false", "the reasoning never ended"),
        ("<think>true</think>", "empty reply"),
    ],
)
def test_none_or_several_or_a_denied_one_is_invalid_with_its_reason(reply, reason):
    reading = read_label(reply, DETECT)
    assert (reading.value, reading.invalid) == (None, reason)


@pytest.mark.parametrize("name", MANIPULATIONS)
def test_each_manipulation_is_read_and_two_are_invalid(name):
    assert read_label(f"{name.title()}.", DIAGNOSE).value == name
    assert read_label("numerical, or flipping", DIAGNOSE).value is None


def test_with_reasons_only_the_last_line_counts_and_the_rest_is_kept():
    reply = "The first figure looks true.\nThe second looks false.\n\nLabel: **FALSE**\n```\n"
    reading = read_label(reply, DETECT, reasons=True)
    assert reading.value == "false"
    assert reading.rationale == "The first figure looks true.\nThe second looks false."
    assert read_label("It is false.\nBecause of the figures.", DETECT, reasons=True).invalid == (
        "no label on the last line"
    )


@given(st.text(max_size=200))
def test_no_reply_breaks_the_reader_and_a_reading_is_a_label_or_a_reason(reply):
    for reasons in (False, True):
        reading = read_label(reply, DETECT, reasons=reasons)
        assert (reading.value is None) != (reading.invalid is None)
        assert reading.value in (*DETECT, None)


@pytest.mark.parametrize("reply", [
    "far from true", "I doubt it is true", "anything but true", "isn't quite true",
    "no longer true", "Nobody could call this true.", "It is not the case that this is true",
    "It fails to be true.", "This is not, in my view, true", "not enough evidence that it is true",
    "It can't possibly be true", "true is wrong", "true only if the date is ignored", "half-true",
    "P(true)=0.02", "!true", "Wrong answer: true", "the claim that it is true is refuted",
    "true of most banks", "It may be true", "Would I call it true? Hardly.", "true-ish",
])  # fmt: skip
def test_a_label_in_another_statement_is_none(reply):
    assert read_label(reply, DETECT).value is None
    assert read_bool(f"{reply}, so the answer is: false", "direction").value is not True
    assert read_label(f"It seems so.\n{reply}", DETECT, reasons=True).value is None


@pytest.mark.parametrize("reply", [
    "The text does not fit its headline, so it is {}.", "No contradiction was found: {}",
    "Since nothing differs, the label is {}.", "I would say that this paragraph is **{}**.",
    "It does not add up and is {}.", "{} - because the figures jump", "The label is {}, overall.",
    "The statement is {} as the text says", "{}: the text says so.", "1. {}", "{} (sure)",
])  # fmt: skip
def test_a_clause_that_says_no_more_than_the_label_gives_it(reply):
    assert {read_label(reply.format(one), DETECT).value for one in DETECT} == {*DETECT}


@pytest.mark.parametrize("reply", [
    "true. Hmm, wait, no.", "True\nOn reflection I was wrong.", "true\n\nOops!",
    "true, I said, and changed my mind", "Is it true? Hardly.", "true ❌",
])  # fmt: skip
def test_a_label_that_is_taken_back_is_none(reply):
    assert read_label(reply, DETECT).value is None


# What stands in the grid of shapes (`test_reply_grid`) is not said again.
BOTH = [
    (True, "**True.**"), (True, "**Verdict:** True"), (True, '{"%K": "True"}'),
    (True, "\\boxed{true}"),
    (True, '```json\n{"%K": {"value": True}}\n```'), (True, '{"%C": {"value": true}}'),
    (True, "It seems false.\n</think>\n\ntrue"),
    (False, '{"%K": {"reason": "it is true that banks lend", "value": false}}'),
    (False, '{"%K": {"value": true}}\n</think>\nfalse'),
    (False, '<reasoning>{"%K": {"value": true}}</reasoning>{"%K": {"value": false}}'),
    (None, "not true"), (None, "untrue"), (None, "true... on reflection, false"),
    (None, "true\nWait, no."), (None, "Is it true? Or false?"),
    (None, '{"%K": {"value": true}} Hm, {"%K": {"value": false}}'),
    (None, '{"%K": {"value": true}}\n\nfalse'), (None, '{"%K": {"value": true}} No, false.'),
    (None, '{"%K": {"value": true}} and {"verdict": false}'), (None, '{"%K": {"value": true}, '),
    (None, '{"%K": true, "%K": false}'), (None, '{"%K": {"value": true}, "value": false}'),
    (None, "!true"), (None, "The answer is true only if the date is ignored"),
    (None, "It is wrong that the answer is true"),
    (False, "~~true~~ false"), (False, "<seed:think>true</seed:think>false"),
    (False, "<rationale>true</rationale>false"), (False, "false<|im_end|>"), (True, "true</s>"),
    (True, "<|START_THINKING|>false<|END_THINKING|>true"),
    (None, "I think this is true of most banks"), (None, '{"%K": {"value": 1}}'),
    (False, '{"%K": "False"}'), (True, '{"value": true}'),
    (None, '{"%K": {"value": "maybe"}}'), (None, '{"%Ks": {"value": true}}'),
    (None, "It is true that markets fell."), (None, "true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "reply"), BOTH)
def test_a_verdict_is_its_last_word_or_none(known, reply):
    named = reply.replace("%K", "direction").replace("%C", "Direction")
    read = read_bool(named, "direction")
    assert read.value is known and (read.invalid is None) == (known is not None)
    if "%" not in reply:
        assert read_letter(reply).value is known


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
AROUND = st.one_of(
    TEXT,
    st.sampled_from((
        "true", "false", "T", "F", "Final answer: true.", "Answer: F", '{"direction": true}',
        '{"direction": {"value": false}}', "<think>", "</think>", "```json", "Wait,", "not ", "{",
    )),
)  # fmt: skip


@given(st.lists(AROUND, max_size=4), st.lists(AROUND, max_size=4), st.booleans())
def test_a_verdict_among_others_is_never_read_as_its_opposite(before, after, verdict):
    reply = "\n".join((*before, str(verdict).lower(), *after))
    final = "nal answer" in reply or "</think>" in "".join(after)
    if not final and not any("<think>" in one for one in before):
        assert read_bool(reply, "direction").value in (verdict, None)


def test_a_final_answer_within_a_sentence_marks_no_free_text():
    assert answer_text("The final answer is always late.").text.startswith("The final")
    assert answer_text("I keep it.\n\n**Final answer:** It held.").text == "It held."


def test_long_replies_are_read():
    for text in ("true\n" + "\n" * 200_000, "true " * 40_000, "final answer: " * 15_000):
        assert read_label(text, DETECT).value in ("true", None)
        assert read_bool(text, "direction").value in (True, None)
