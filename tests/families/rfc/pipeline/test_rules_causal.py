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
        "Rising rates would hit profits at Norrick Steel.",
        "Consumers boosted spending in May.",  # who acts is no cause
        "Tallow Partners LP boosts holdings in stocks.",
        "Salaries rise as a squeeze tightens in the jobs market.",
        "Shares fell on Monday. Weak orders weigh on prospects for the year.",
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


def causes(text: str) -> list[str]:
    results = [rewrite_by_rules(text, "causal", seed) for seed in range(12)]
    return [result.edits[0].after for result in results]


def test_the_verb_after_a_cause_still_agrees_with_it():
    plural = causes("Weak orders are pushing copper prices lower.")
    single = causes("A weak order book is pushing copper prices lower.")
    assert "ample inventories" in {cause.casefold() for cause in plural}
    assert not set(plural) & set(single)


def test_a_cause_begins_with_a_capital_only_where_a_sentence_does():
    inside = "Copper prices fall as Norrick says stocks are high, traders said."
    first = "Weak orders pushed copper prices lower."
    assert all(cause[0].islower() for cause in causes(inside))
    assert all(cause[0].isupper() for cause in causes(first))


def test_what_is_said_of_a_cause_goes_with_it():
    text = (
        "Gold fell on Monday in a quiet session as robust figures stoked hopes, which could "
        "make the metal dear to hold."
    )
    result = rewrite_by_rules(text, "causal", 1)
    assert "which" not in result.rewritten
    assert check_pair("causal", text, result.rewritten).passed


def test_a_cause_ends_where_a_clause_with_its_own_subject_begins():
    result = rewrite_by_rules("Copper falls amid a stock glut, kiwi steadies - Wire.", "causal", 1)
    assert result.rewritten.endswith(", kiwi steadies - Wire.")


def test_a_cause_of_which_the_text_speaks_already_is_not_put_in():
    text = (
        "Retail sales rose in May because of milder days in the north. Wages are unchanged, and "
        "so is fuel."
    )
    for cause in causes(text):
        assert "wage" not in cause
        assert "fuel" not in cause


def test_every_cause_of_the_bank_has_a_clause_whose_verb_has_a_past():
    from contrafact.families.rfc.pipeline.rules.causal import _bank

    causes = [cause for causes in _bank().values() for cause in causes]
    assert len(causes) > 300
    for cause in causes:
        assert cause.worded("past").startswith(cause.subject)
        assert cause.worded("past") != cause.worded("present") or cause.verb in ("cut", "put")


def test_a_cause_takes_no_main_clause_along():
    text = (
        "Norrick Steel grows. After a strong quarter driven by pipes, wire, and rails, Norrick "
        "Steel is hiring in two towns."
    )
    for seed in range(8):
        result = rewrite_by_rules(text, "causal", seed)
        assert isinstance(result, NoRewrite) or "is hiring in two towns" in result.rewritten
