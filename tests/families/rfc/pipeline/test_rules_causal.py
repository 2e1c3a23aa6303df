"""Another cause for a stated, realised effect; nothing else."""

import pytest

from contrafact.families.rfc.contracts import check_pair
from contrafact.families.rfc.pipeline.rules import NoRewrite, rewrite_by_rules

CHAINS = [
    ("Shares of Norrick Steel fell 4% on Tuesday due to ", "softer demand for its pipes", "."),
    ("Revenue at Norrick Steel rose 9% in May, driven by ", "repeat shipments of pipes", "."),
    ("Copper prices climbed 3% on Monday because of ", "low stocks in warehouses", "."),
    ("", "A shortage of drivers", " led to a drop in sales at Norrick Steel in May."),
]


@pytest.mark.parametrize(("before", "cause", "after"), CHAINS)
def test_the_cause_changes_and_only_the_cause(before, cause, after):
    text = before + cause + after
    seen = set()
    for seed in range(10):
        result = rewrite_by_rules(text, "causal", seed)
        assert not isinstance(result, NoRewrite), result.reason
        assert result.rewritten.startswith(before)
        assert result.rewritten.endswith(after)
        new = result.rewritten[len(before) : len(result.rewritten) - len(after)]
        assert new != cause
        assert not any(c.isdigit() for c in new)
        seen.add(new)
    assert len(seen) > 1


@pytest.mark.parametrize(("before", "cause", "after"), CHAINS)
def test_some_variant_keeps_the_contract(before, cause, after):
    text = before + cause + after
    results = [rewrite_by_rules(text, "causal", seed).rewritten for seed in range(8)]
    assert any(check_pair("causal", text, rewritten).passed for rewritten in results)


@pytest.mark.parametrize(
    "text",
    [
        "Revenue at Norrick Steel rose and sales increased.",  # no cause is stated
        "Lower rates could lead to a rise in spending.",  # nothing has happened
        "Shares fell due to 500 job cuts.",  # and here it counts something
        "Did shares fall due to softer demand?",
        "Norrick Steel: weak orders. Shares fell 4% due to weak orders, traders said.",
    ],
)
def test_other_texts_are_refused(text):
    assert isinstance(rewrite_by_rules(text, "causal", 1), NoRewrite)


def test_the_new_cause_goes_with_the_direction_of_the_effect():
    up = "Copper prices rose 3% on Monday because of low stocks in warehouses."
    down = "Copper prices fell 3% on Monday because of high stocks in warehouses."
    ups = {rewrite_by_rules(up, "causal", seed).edits[0].after for seed in range(20)}
    downs = {rewrite_by_rules(down, "causal", seed).edits[0].after for seed in range(20)}
    assert not ups & downs


def test_headline_and_body_get_one_cause_in_the_form_that_each_needs():
    text = (
        "Retail sales fall as demand softens. Retail sales fell in May, traders said on Friday, "
        "hurt by softer demand, though the outlook for the rest of the year was unchanged."
    )
    result = rewrite_by_rules(text, "causal", 3)
    assert "demand" not in result.rewritten
    assert len(result.edits) == 2
    assert check_pair("causal", text, result.rewritten).passed


def test_a_long_cause_is_replaced_by_as_many_causes_as_keep_the_length():
    text = (
        "Shares fell on Monday in a quiet session at the exchange, hurt by the slower repair of "
        "older plants and the late start of new ones."
    )
    result = rewrite_by_rules(text, "causal", 1)
    assert check_pair("causal", text, result.rewritten).passed
    assert len(result.rewritten.split()) >= 0.9 * len(text.split())


def test_every_cause_of_the_bank_has_a_clause_whose_verb_has_a_past():
    from contrafact.families.rfc.pipeline.rules.causal import _bank

    causes = [cause for causes in _bank().values() for cause in causes]
    assert len(causes) > 300
    for cause in causes:
        assert cause.worded("past").startswith(cause.subject)
        assert cause.worded("past") != cause.worded("present") or cause.verb in ("cut", "put")
