import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contrafact.text.numerals import number_words, words_value
from contrafact.text.quantities import Quantity, quantities, render


def only(text: str) -> Quantity:
    (quantity,) = quantities(text)
    return quantity


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("$4.6 billion", 6.9e9, "$6.9 billion"),
        ("$750M", 1.2e9, "$1,200M"),
        ("€1,200.50", 2400.75, "€2,400.75"),
        ("₹12,50,000", 2_575_000, "₹25,75,000"),
        ("N2.7tn", 4.1e12, "N4.1tn"),
        ("1.2bn pounds", 1.9e9, "1.9bn pounds"),
        ("12 cents", 0.2, "20 cents"),
        ("3.5%", 5.25, "5.2%"),
        ("3,5 %", 5.2, "5,2 %"),
        ("+0.4%", 0.7, "+0.7%"),
        ("-2.41%", -4.1, "-4.10%"),
        ("twenty-five per cent", 40, "forty per cent"),
        ("twenty-five per cent", 12.5, "12.5 per cent"),
        ("25 bps", 40, "40 bps"),
        ("0.5 percentage points", 75, "0.8 percentage points"),
        ("75-basis-point", 50, "50-basis-point"),
        ("quarter-point", 50, "half-point"),
        ("a half percentage point", 25, "quarter percentage point"),
        ("12,000 jobs", 8500, "8,500"),
        ("1200 jobs", 2024, "2,024"),
        ("50k units", 80_000, "80k"),
        ("Two plants", 3, "Three"),
        ("two million users", 5e6, "five million"),
        ("half a billion euros", 8e8, "0.8 billion euros"),
        ("a hundred and ten thousand", 240_000, "two hundred and forty thousand"),
        ("90-day pause", 45, "45-day"),
        ("doubled", 3, "tripled"),
        ("Doubling", 4, "Quadrupling"),
        ("threefold", 5, "fivefold"),
        ("3x", 4.4, "4x"),
        ("2 1/2 percent", 3.75, "3.8 percent"),
        ("two-thirds of staff", 0.25, "a quarter"),
        ("Two-thirds of staff", 0.6, "Three-fifths"),
        ("a 10-for-1 split", 5, "5-for-1"),
        ("halved", 0.5, "halved"),
    ],
)
def test_renders_in_the_style_it_was_written(text: str, value: float, expected: str) -> None:
    quantity = only(text)
    assert render(quantity, value) == expected
    again = text[: quantity.start] + expected + text[quantity.end :]
    assert only(again).kind == quantity.kind


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("one in five homes", [0.2]),
        ("3 out of 4 dealers", [0.75]),
        ("₹100 in two towns", [100, 2]),
        ("12 in two plants", [12, 2]),
        ("2 in 3 months", [2, 91.3125]),
    ],
)
def test_parts_are_told_from_amounts_that_meet(text: str, values: list[float]) -> None:
    assert [q.value for q in quantities(text)] == values


def test_the_low_end_of_a_range_is_rendered_in_place() -> None:
    text = "sales of $3-5 billion"
    low = quantities(text)[0]
    assert render(low, 4e9) == "$4"
    again = quantities(text.replace(low.text, render(low, 4e9), 1))
    assert [q.value for q in again] == [4e9, 5e9]


def test_the_vague_has_no_other_value() -> None:
    with pytest.raises(ValueError, match="'billions of dollars' states no value"):
        render(only("billions of dollars"), 3)


STYLES = [
    *("${}", "US${} million", "€{}bn", "{} billion dollars", "Rs {} crore", "USD {}"),
    *("{}%", "{} percent", "{} per cent", "{} percentage points", "{} bps", "{} basis points"),
    *("{} jobs", "{} million users", "{}x", "{} weeks", "HK${}"),
]
plain_numbers = st.decimals(
    min_value="0.01", max_value="99999", places=2, allow_nan=False, allow_infinity=False
)


@given(st.sampled_from(STYLES), plain_numbers, st.integers(0, 2), plain_numbers)
def test_what_is_rendered_is_read_back(style: str, old: object, decimals: int, new: object) -> None:
    written = f"{float(str(old)):,.{decimals}f}"
    assume(not re.fullmatch(r"[0.]+", written))
    text = f"Oskarra counts {style.format(written)} so far"
    quantity = only(text)
    same = render(quantity, quantity.value or 0)
    assert only(text.replace(quantity.text, same)).value == pytest.approx(quantity.value)
    value = float(str(new)) * quantity.form.factor
    other = only(f"Oskarra counts {render(quantity, value)}{text[quantity.end :]}")
    assert (other.kind, other.unit) == (quantity.kind, quantity.unit)
    assert other.value == pytest.approx(value, abs=0.5001 * 10**-decimals * quantity.form.factor)


@given(st.integers(2, 999), st.integers(2, 999), st.sampled_from(["", " million", " thousand"]))
def test_words_stay_words(old: int, new: int, scale: str) -> None:
    text = f"It sold {number_words(old)}{scale} units"
    quantity = only(text)
    factor = {"": 1, " million": 1_000_000, " thousand": 1000}[scale]
    rendered = render(quantity, new * factor)
    assert rendered == f"{number_words(new)}{scale}"
    assert words_value(rendered) == new * factor


@pytest.mark.parametrize(
    "variants",
    [
        ["$1.5 billion", "$1.5bn", "$1.5B", "US$1,500 million", "USD 1.5bn", "1.5 billion dollars"],
        ["25 bps", "25 basis points", "a quarter point", "0.25 percentage points", "25bp"],
        ["three quarters of a percentage point", "75-basis-point", "0.75 percentage points"],
        ["12%", "12 percent", "12 per cent", "twelve percent", "12.0%", "12pct"],
        ["12,000 jobs", "12k jobs", "12000 jobs", "twelve thousand jobs"],
        ["€40 million", "40 million euros", "EUR40m", "EUR 40 million"],
        ["₹12 crore", "Rs 120 million", "INR 120m", "Rs. 12 cr"],
        ["3.5 trln won", "3.5 trillion won", "KRW 3,500bn"],
        ["doubled", "twofold", "2x"],
        ["2 1/2 months", "2-1/2 months", "two-and-a-half-month", "2.5 months"],
        ["two and a half million users", "2.5 million users", "2.5m users"],
        ["25 pence", "£0.25"],
    ],
)
def test_one_amount_has_one_value_however_written(variants: list[str]) -> None:
    read = {(q.value, q.kind) for text in variants for q in quantities(text)}
    assert len(read) == 1
    assert all(len(quantities(text)) == 1 for text in variants)
