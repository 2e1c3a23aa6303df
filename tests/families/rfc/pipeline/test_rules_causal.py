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
        "Shares fell 4% due to a lawsuit by Tallow & Finch.",  # the cause names somebody
        "Shares fell due to 500 job cuts.",  # and here it counts something
        "Did shares fall due to softer demand?",
        "Norrick Steel fell on weak orders. Shares fell 4% due to weak orders, traders said.",
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
