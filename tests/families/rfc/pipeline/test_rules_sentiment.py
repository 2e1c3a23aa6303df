"""A degree firmer, of the text's own sign, and never lurid."""

import re

import pytest

from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rules import NoRewrite, rewrite_by_rules
from contrafact.text.words import lexicon

UP = "Sales at Norrick Steel rose 4% on solid demand, and the outlook may improve."
DOWN = "Sales at Norrick Steel fell 4% on soft demand. Margins are under pressure, it said."


@pytest.mark.parametrize("text", [UP, DOWN])
def test_a_word_is_firmer_and_the_contract_holds(text):
    for seed in range(12):
        result = rewrite_by_rules(text, "sentiment", seed)
        assert len(result.edits) == 1
        assert not lexicon().find(result.rewritten, ["extreme", "over_amplified"])
        check = check_pair("sentiment", text, result.rewritten)
        assert check.passed, (result.rewritten, check.violations)


def test_figures_and_names_are_as_they_were():
    for seed in range(8):
        rewritten = rewrite_by_rules(DOWN, "sentiment", seed).rewritten
        assert "Norrick Steel" in rewritten
        assert "4%" in rewritten


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Shares of Norrick Steel crashed on weak demand.", "as strong as it gets"),
        ("Norrick Steel will publish its results on Friday.", "leans neither way"),
        ("Shares of Norrick Steel could rise.", "no mild word"),
        ("Norrick Steel sees that rates may hurt it.", "no mild word"),
    ],
)
def test_what_leaves_no_room_is_refused(text, reason):
    result = rewrite_by_rules(text, "sentiment", 1)
    assert isinstance(result, NoRewrite)
    assert reason in result.reason


def test_what_is_denied_is_not_made_firmer():
    text = "Norrick Steel asked its staff, and sees no solid sign of a not stable market."
    result = rewrite_by_rules(text, "sentiment", 1)
    assert isinstance(result, NoRewrite)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Shares of Norrick Steel fell on Monday.", "Shares of Norrick Steel fell"),
        ("Norrick Steel profit rose more than expected.", "Norrick Steel profit rose"),
        ("Norrick Steel beats profit forecasts as sales grow.", "profit forecasts as sales grow"),
    ],
)
def test_a_movement_a_comparison_and_a_verdict_are_put_more_firmly(text, kept):
    results = [rewrite_by_rules(text, "sentiment", seed) for seed in range(6)]
    assert all(kept in result.rewritten for result in results)
    assert all(len(result.rewritten) > len(text) for result in results)
    assert len({result.rewritten for result in results}) > 1


def test_a_movement_that_is_called_small_or_has_its_figure_gets_no_adverb():
    for text in (
        "Gold edges up. Gold prices climbed on Monday.",
        "Shares of Norrick Steel fell to 0.4 euros.",
    ):
        assert isinstance(rewrite_by_rules(text, "sentiment", 1), NoRewrite)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Weak exports weighed on Norrick Steel's sales.", r"weighed (?:heavily|hard|considerab)"),
        ("Sales at Norrick Steel declined after weak orders.", r"(?:dropped|slid) after"),
        ("Norrick Steel's growth slowed, hurt by weak exports.", r"(?:hammered|battered) by"),
    ],
)
def test_a_wording_takes_the_word_of_degree_or_the_stronger_word_that_fits_it(text, changed):
    results = [rewrite_by_rules(text, "sentiment", seed) for seed in range(40)]
    assert any(re.search(changed, result.rewritten) for result in results)
    assert all(check_pair("sentiment", text, r.rewritten).passed for r in results)


@pytest.mark.parametrize(
    "text",
    [
        "Shares of Norrick Steel inched up, lifted by figures.",  # a move that is called small
        "Norrick Steel may publish its figures in May.",  # nothing to make stronger
        "Norrick Steel said rising costs added 0.2% to prices.",  # a figure says how much
        "Will rising costs hurt Norrick Steel?",
        "Norrick Steel extends declines in Oslo.",  # a noun
    ],
)
def test_no_word_of_degree_where_the_text_says_how_much_or_asserts_nothing(text):
    for seed in range(8):
        assert isinstance(rewrite_by_rules(text, "sentiment", seed), NoRewrite)


def test_what_is_to_lower_something_is_no_adjective():
    text = "Norrick Steel expects to lower volume forecasts on weak demand for pipes."
    for seed in range(12):
        result = rewrite_by_rules(text, "sentiment", seed)
        assert isinstance(result, NoRewrite) or "to lower volume" in result.rewritten
