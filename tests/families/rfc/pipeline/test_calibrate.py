"""What example rewrites say of the band of lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.calibrate import MIN_EXAMPLES, calibrate, valid_ratios
from contrafact.stages.stage import InputRow


def test_the_band_holds_the_middle_of_the_valid_ones():
    ratios = [(96 + n) / 100 for n in range(MIN_EXAMPLES)]
    flipping, causal = calibrate({"causal": [0.5], "flipping": [*ratios, 1.3]}, coverage=0.9)
    assert (flipping.manipulation, flipping.valid) == ("flipping", 21)
    assert flipping.band == (0.95, 1.15)
    assert flipping.quantiles["median"] == 1.06
    assert flipping.quantiles["max"] == 1.3
    assert not flipping.unsure
    assert causal.unsure
    assert causal.band == (0.5, 0.5)


def row(line, valid, rewritten="y y y y", manipulation="causal"):
    texts = {"original": "x x", "rewritten": rewritten}
    return InputRow(
        line - 1, {"id": f"e{line}", "manipulation": manipulation, "valid": valid} | texts
    )


def test_only_valid_examples_count_and_without_one_there_is_no_band():
    ratios = valid_ratios([row(1, True), row(2, "no"), row(3, "fail", manipulation="flipping")],
                          file="f")  # fmt: skip
    assert ratios == {"causal": [2.0], "flipping": []}
    (found, _) = calibrate(ratios)
    assert (found.band, found.quantiles) == (None, {})


@given(
    st.lists(st.floats(0.01, 4.0), min_size=1, max_size=30),
    st.floats(0.01, 1.0),
)
def test_a_band_holds_at_least_its_share_of_the_valid(ratios, coverage):
    (found,) = calibrate({"causal": ratios}, coverage=coverage)
    low, high = found.band
    assert found.quantiles["min"] <= high
    assert low <= found.quantiles["max"] + 1e-4
    inside = sum(low - 1e-9 <= one <= high + 1e-9 for one in ratios)
    assert coverage < 1.0 or inside == len(ratios)


@pytest.mark.parametrize("value", ["maybe", None, "", 3])
def test_a_row_that_is_neither_valid_nor_invalid_is_reported_by_line(value):
    with pytest.raises(InputError, match=r"examples\.jsonl:4: "):
        valid_ratios([row(4, value)], file="examples.jsonl")
    with pytest.raises(InputError, match="no field 'valid'"):
        fields = {"id": "a", "manipulation": "causal", "original": "x", "rewritten": "y"}
        valid_ratios([InputRow(3, fields)], file="examples.jsonl")


def test_valid_may_be_written_in_the_words_of_a_sheet():
    rows = [row(n, word) for n, word in enumerate((True, "PASS", "no", False))]
    assert len(valid_ratios(rows, file="f")["causal"]) == 2
