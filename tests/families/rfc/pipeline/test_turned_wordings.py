"""Set phrases turned round as a whole, and reasons conceded where they have no opposite."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rules import NoRewrite, rewrite_by_rules
from contrafact.families.rfc.pipeline.rules.turned_wordings import _patterns, _written

_UP = "(rose|climbed|advanced|increased)"
_DOWN = "(fell|dropped|slipped|declined)"


def flipped(text: str, seed: int = 1) -> str:
    result = rewrite_by_rules(text, "flipping", seed)
    assert not isinstance(result, NoRewrite), result.reason
    return result.rewritten


def becomes(original: str, expected: str) -> None:
    """The flip reads so, any verb of movement for UP and DOWN, and keeps its contract."""
    rewritten = flipped(original)
    wanted = expected.replace("UP", _UP).replace("DOWN", _DOWN)
    assert re.fullmatch(wanted, rewritten), rewritten
    assert not check_pair("flipping", original, rewritten).violations


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (
            "Norrick shares fell, hurt by weak orders at its plants.",
            "Norrick shares UP, helped by strong orders at its plants.",
        ),
        (
            "Norrick hired more workers than in May, and its sales rose.",
            "Norrick hired fewer workers than in May, and its sales DOWN.",
        ),
        (
            "Stocks fell as tariffs stoked recession fears.",
            "Stocks UP as tariffs eased recession fears.",
        ),
        (
            "Copper fell as robust data fuelled concerns of a rate hike in May.",
            "Copper UP as weak data eased concerns of a rate hike in May.",
        ),
        (
            "Dow extends slide as rate jitters rattle tech.",
            "Dow extends (rise|climb) as easing rate jitters lift tech.",
        ),
        (
            "Rates rose back over 3% in May.",
            "Rates DOWN back below 3% in May.",
        ),
        (
            "Orders rose, prompting Norrick to raise its forecast.",
            "Orders DOWN, prompting Norrick to (cut|lower) its forecast.",
        ),
    ],
)
def test_events_are_turned_round_as_a_whole(original, expected):
    becomes(original, expected)


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (
            "Norrick shares fell 4% on Monday in London on the outbreak of a war.",
            "Norrick shares UP 4% on Monday in London (despite|in spite of) the outbreak of a war.",
        ),
        (
            "Norrick shares fell as war raged.",
            "Norrick shares UP (even as|even though|although|though) war raged.",
        ),
        (
            "Norrick shares rose after the company launched a vaccine.",
            "Norrick shares DOWN even after the company launched a vaccine.",
        ),
        (
            "Visits rose even as a crisis loomed.",
            "Visits DOWN as a crisis loomed.",
        ),
    ],
)
def test_a_reason_without_an_opposite_is_conceded(original, expected):
    becomes(original, expected)


@pytest.mark.parametrize(
    "original",
    [
        "Norrick shares fell as traders watched the crisis.",
        "Norrick shares fell. The crisis in the sector spread.",
        "Norrick shares rose as the group recovered from a crisis.",
        "Norrick cut its prices in an effort to boost hopes of a deal.",
        "Norrick shares surged 380 percent in three years.",
        "Norrick shares fell after a record close.",
        "A tariff war weighed on growth.",
    ],
)
def test_what_cannot_be_conceded_is_refused(original):
    assert isinstance(rewrite_by_rules(original, "flipping", 1), NoRewrite)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_every_wording_of_the_bank_has_something_else_written_for_it(data):
    entry = data.draw(st.sampled_from(_patterns()))
    said = data.draw(st.from_regex(entry.pattern, fullmatch=True))
    match = entry.pattern.fullmatch(said)
    if match is None:
        return  # a wording that is found only before certain words
    written = _written(entry, match, [])
    assert written.casefold() != said.casefold()
    assert not re.search(r"[\[\]{}<>|]", written)
