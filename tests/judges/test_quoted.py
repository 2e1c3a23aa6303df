"""Verdicts that quote the words that decide them."""

import json

import pytest

from contrafact.judges.judge import PANEL
from contrafact.judges.quoted import find_words, read_quoted

TEXT = "Shares  “rose” 5% on\u200b Tue–Wed, said\nACME’s boss <b>. The café’s ½ stake, prosecutors."


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ('shares "rose" 5%', "Shares  “rose” 5%"),
        ("Tue-Wed, said ACME's boss", "Tue–Wed, said\nACME’s boss"),
        ("  'boss ‹b>.'  ", "boss <b>"),
        ("Shares … said", "Shares  “rose” 5% on\u200b Tue–Wed, said"),
        ("cafe\u0301’s", "café’s"),
        ("rose", "rose"),
        ("secutor", None),
        ("Shares fell", None),
        ("said … Shares", None),
        ("Shares … fell", None),
        ("", None),
        ("…", None),
    ],
)
def test_words_are_found_as_a_reader_would_and_only_whole(words, found):
    span = find_words(words, TEXT)
    assert (span and TEXT[slice(*span)]) == found


def verdict(reply, name="coherent"):
    (found,) = read_quoted(reply, [name], ["It rose.", "It fell."], judge="j")
    return found


def test_words_of_either_text_decide_and_true_may_come_without():
    for words, value in (("it fell", False), ("It rose", True), ("", True), ("—", True)):
        found = verdict(json.dumps({"coherent": {"words": words, "value": value}}))
        assert found.passed is value and found.invalid is None
        assert found.words == ("" if words == "—" else words)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"words": "It stood", "value": True}, "quotes words that are in no text: 'It stood'"),
        ({"words": "It stood", "value": False}, "quotes words that are in no text: 'It stood'"),
        ({"words": "", "value": False}, "it is false, but no words are quoted"),
        ({"value": True}, "it has no words"),
        ({"words": ["It rose"], "value": True}, "it has no words"),
        ({"words": "It rose"}, "its value is neither true nor false"),
        ({"words": "It rose", "value": 1}, "its value is neither true nor false"),
        (True, "the reply has no words and value under its name"),
    ],
)
def test_what_is_no_verdict_says_why(given, reason):
    found = verdict(json.dumps({"coherent": given}))
    assert found.passed is None and found.invalid == reason


def test_a_reply_that_lacks_one_criterion_still_decides_the_others():
    reply = json.dumps({"a": {"words": "", "value": True}, "c": {"words": "it", "value": "false"}})
    a, b, c = read_quoted(f"Here:\n```json\n{reply}\n```", "abc", ["It rose."], judge="j")
    assert (a.passed, b.passed, c.passed) == (True, None, False)
    assert b.invalid and a.judge == c.judge == "j" != PANEL


def test_a_reply_that_cannot_be_read_decides_nothing():
    for reply, reason in (("", "empty reply"), ('{"a": {"wor', "cut off inside the JSON object")):
        assert verdict(reply).invalid == reason
