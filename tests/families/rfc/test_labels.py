"""Labels are read strictly: exactly one, any case, after the reasoning is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.labels import labels_of, manipulation_named, read_label
from contrafact.records import MANIPULATIONS

DETECT = labels_of("rfc-detect")
DIAGNOSE = labels_of("rfc-diagnose")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("true", "true"),
        (" FALSE.\n", "false"),
        ("**False**", "false"),
        ("Label: true", "true"),
        ('{"label": "false"}', "false"),
        ("The answer is _true_, yes: true.", "true"),
        ("<think>It says false here, or true?</think>\nfalse", "false"),
        ("so it is true and also false</think> true", "true"),
        ("<reasoning>false</reasoning><think>true</think>False", "false"),
        ("“True”", "true"),
    ],
)
def test_one_label_in_any_dress_is_read(reply, label):
    assert read_label(reply, DETECT).label == label


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
        ("[true/false]: false", "several labels: true, false"),
        ("It is not true", "a denied label: not true"),
        ("this isn't really false", "a denied label: not false"),
        ("<think>it must be false", "the reasoning never ended"),
        ("<think>true</think>", "empty reply"),
    ],
)
def test_none_or_several_or_a_denied_one_is_invalid_with_its_reason(reply, reason):
    reading = read_label(reply, DETECT)
    assert (reading.label, reading.invalid) == (None, reason)


@pytest.mark.parametrize("name", MANIPULATIONS)
def test_each_manipulation_is_read_and_two_are_invalid(name):
    assert read_label(f"{name.title()}.", DIAGNOSE).label == name
    assert read_label("numerical, not flipping", DIAGNOSE).label is None


def test_with_reasons_only_the_last_line_counts_and_the_rest_is_kept():
    reply = "The first figure looks true.\nThe second looks false.\n\nLabel: **FALSE**\n```\n"
    reading = read_label(reply, DETECT, reasons=True)
    assert reading.label == "false"
    assert reading.rationale == "The first figure looks true.\nThe second looks false."
    assert read_label("It is false.\nBecause of the figures.", DETECT, reasons=True).invalid == (
        "no label on the last line"
    )


@given(st.text(max_size=200))
def test_no_reply_breaks_the_reader_and_a_reading_is_a_label_or_a_reason(reply):
    for reasons in (False, True):
        reading = read_label(reply, DETECT, reasons=reasons)
        assert (reading.label is None) != (reading.invalid is None)
        assert reading.label in (*DETECT, None)


def test_published_names_of_the_manipulations_are_known_and_others_are_not():
    assert manipulation_named("Directional Flipping") == "flipping"
    assert manipulation_named("SENTIMENT_AMPLIFICATION") == "sentiment"
    assert manipulation_named("Corporate strategy & operations") is None
    assert manipulation_named(None) is None
