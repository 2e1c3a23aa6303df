"""A degree firmer, of the text's own sign, and never lurid."""

import pytest

from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rules import NoRewrite, rewrite_by_rules
from contrafact.text.words import lexicon

UP = "Sales at Norrick Steel rose 4% on solid demand, and the outlook may improve."
DOWN = "Sales at Norrick Steel fell 4% on soft demand. Margins are under pressure, it said."


@pytest.mark.parametrize("text", [UP, DOWN])
def test_one_to_three_words_are_firmer_and_the_contract_holds(text):
    for seed in range(12):
        result = rewrite_by_rules(text, "sentiment", seed)
        assert 1 <= len(result.edits) <= 3 + text.count(" a ")
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
        ("Shares of Norrick Steel rose.", "no mild word"),
    ],
)
def test_what_leaves_no_room_is_refused(text, reason):
    result = rewrite_by_rules(text, "sentiment", 1)
    assert isinstance(result, NoRewrite)
    assert reason in result.reason


def test_what_is_denied_is_not_made_firmer():
    text = "Demand rose, and Norrick Steel sees no solid sign of a not stable market."
    result = rewrite_by_rules(text, "sentiment", 1)
    assert isinstance(result, NoRewrite)
