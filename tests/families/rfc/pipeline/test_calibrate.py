"""What example rewrites say of the band and of the contract."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.calibrate import MIN_EXAMPLES, Example, calibrate, examples
from contrafact.families.rfc.pipeline.stages import StageRow


def example(n, length, valid=True, manipulation="flipping"):
    return Example(f"e{n}", manipulation, "x" * 100, "y" * length, valid)


def ratio(original, rewritten):
    return len(rewritten) / len(original)


def lengthy(_, original, rewritten):
    return ["too-long"] * 2 if len(rewritten) > 120 else []


def test_the_band_holds_the_middle_of_the_valid_and_the_rules_are_counted_on_the_invalid():
    given = [example(n, 96 + n) for n in range(MIN_EXAMPLES)]
    given += [example(50, 140, valid=False), example(51, 100, valid=False)]
    given += [example(60, 130), example(70, 50, manipulation="causal")]
    flipping, causal = calibrate(given, check=lengthy, ratio=ratio, coverage=0.9)
    assert (flipping.manipulation, flipping.valid, flipping.invalid) == ("flipping", 21, 2)
    assert flipping.band == (0.95, 1.15)
    assert flipping.quantiles["median"] == 1.06
    assert flipping.quantiles["max"] == 1.3
    assert flipping.outside == ["e60"]
    assert flipping.band_rejects == ["e50"]
    assert flipping.broken == {"e50": ["too-long"], "e51": []}
    assert flipping.rules == {"too-long": 1}
    assert flipping.missed == ["e51"]
    assert flipping.false_alarms == {"e60": ["too-long"]}
    assert not flipping.unsure
    assert causal.unsure
    assert causal.band == (0.5, 0.5)


def test_without_a_valid_example_there_is_no_band():
    (found,) = calibrate([example(1, 300, valid=False)], check=lengthy, ratio=ratio)
    assert found.band is None
    assert found.quantiles == {}
    assert found.band_rejects == []


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=30),
    st.floats(0.01, 1.0),
)
def test_a_band_holds_at_least_its_share_of_the_valid(lengths, coverage):
    given = [example(n, length) for n, length in enumerate(lengths)]
    (found,) = calibrate(given, check=lambda *_: [], ratio=ratio, coverage=coverage)
    low, high = found.band
    assert found.quantiles["min"] <= high
    assert low <= found.quantiles["max"]
    if coverage == 1.0:
        assert found.outside == []


@pytest.mark.parametrize("value", ["maybe", None, "", 3])
def test_a_row_that_is_neither_valid_nor_invalid_is_reported_by_line(value):
    fields = {"id": "a", "manipulation": "causal", "original": "x", "rewritten": "y"}
    with pytest.raises(InputError, match=r"examples\.jsonl:4: "):
        examples([StageRow(4, fields | {"valid": value})], file="examples.jsonl")
    with pytest.raises(InputError, match="no field 'valid'"):
        examples([StageRow(4, fields)], file="examples.jsonl")


def test_valid_may_be_written_in_the_words_of_a_sheet():
    fields = {"id": "a", "manipulation": "causal", "original": "x", "rewritten": "y"}
    rows = [StageRow(1, fields | {"valid": word}) for word in (True, "PASS", "no", False)]
    assert [e.valid for e in examples(rows, file="f")] == [True, True, False, False]
