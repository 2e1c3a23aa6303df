import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.identifiers import identifiers
from contrafact.text.quantities import new_quantities, quantities

# Pieces that the grammar knows, set beside each other in any order.
PIECES = [
    *("$", "US$", "€", "Rs ", "N", "3", "1,200", "0.5", "12,50,000", "2030", "-", "–", "+", " "),
    *("%", " percent", " basis points", "bps", " percentage points", " million", "bn", "k", "x"),
    *("two", "a hundred and ten", " thousand", "half a billion", "double", "-digit", "halved"),
    *(" to ", " and ", "between ", "Q3", "FY24", "March ", "S&P ", "500", "10-K", "one-third"),
    *("-for-", " months", "-year", " Treasury", " dollars", ",", ".", "/", ":", "GPT", "0", "−"),
]
financial = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def read(text: str) -> list[tuple[str, float | None, str]]:
    return [(q.text, q.value, q.kind) for q in quantities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Veltrane earns $1.5bn", [("$1.5bn", 1.5e9, "money")]),
        ("$1099 million, by its form 1099", [("$1099 million", 1.099e9, "money")]),
        ("a €40 million plant", [("€40 million", 4e7, "money")]),
        ("Rs 1,200 crore", [("Rs 1,200 crore", 1.2e10, "money")]),
        ("₹12,50,000", [("₹12,50,000", 1.25e6, "money")]),
        ("fine of 40 million crowns", [("40 million crowns", 4e7, "money")]),
        ("5 cents a share", [("5 cents", 0.05, "money")]),
        ("loan of N300bn", [("N300bn", 3e11, "money")]),
        ("half a billion euros", [("half a billion euros", 5e8, "money")]),
        ("up 3.5%", [("3.5%", 3.5, "percent")]),
        ("at -0.2 percent", [("-0.2 percent", -0.2, "percent")]),
        ("twenty-five per cent", [("twenty-five per cent", 25, "percent")]),
        ("cut by 25 bps", [("25 bps", 25, "basis points")]),
        ("0.5 percentage points", [("0.5 percentage points", 50, "basis points")]),
        ("a half-point cut", [("half-point", 50, "basis points")]),
        ("quarter percentage point", [("quarter percentage point", 25, "basis points")]),
        ("12,000 jobs and two mills", [("12,000", 12000, "number"), ("two", 2, "number")]),
        ("a hundred and ten thousand", [("a hundred and ten thousand", 110_000, "number")]),
        ("three hundred and forty-two", [("three hundred and forty-two", 342, "number")]),
        ("50k units", [("50k", 50_000, "number")]),
        ("2000 jobs go by 2030", [("2000", 2000, "number")]),
        ("90-day pause", [("90-day", 90, "duration")]),
        ("in two weeks", [("two weeks", 14, "duration")]),
        ("sales doubled, stock halved", [("doubled", 2, "ratio"), ("halved", 0.5, "ratio")]),
        ("3x cover, threefold rise", [("3x", 3, "ratio"), ("threefold", 3, "ratio")]),
        ("two-thirds of staff", [("two-thirds", 2 / 3, "ratio")]),
        ("a 10-for-1 split", [("10-for-1", 10, "ratio")]),
        ("billions of dollars lost", [("billions of dollars", None, "money")]),
        ("double-digit growth", [("double-digit", None, "number")]),
        # An unusual unit or a shifted number stays one quantity, whatever stands around it.
        ("March 25 bps cut", [("25 bps", 25, "basis points")]),
        ("sub-5% growth", [("5%", 5, "percent")]),
        ("8 quarter-point cuts", [("8", 8, "number"), ("quarter-point", 25, "basis points")]),
    ],
)  # fmt: skip
def test_reads(text: str, expected: list[tuple[str, float, str]]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "values", "kind"),
    [
        ("3-5%", [3, 5], "percent"),
        ("between 3 and 5 percent", [3, 5], "percent"),
        ("25 to 50 basis points", [25, 50], "basis points"),
        ("0.25 to 0 percentage points", [25, 0], "basis points"),
        ("$3-5 billion", [3e9, 5e9], "money"),
        ("$1 to $2 billion", [1e9, 2e9], "money"),
        ("$900 to $1.2 billion", [900, 1.2e9], "money"),
        ("10 to 12 million crowns", [1e7, 1.2e7], "money"),
    ],
)
def test_ranges_have_one_kind_and_magnitude(text: str, values: list[float], kind: str) -> None:
    found = quantities(text)
    assert [q.value for q in found] == values
    assert {q.kind for q in found} == {kind}


@pytest.mark.parametrize(
    "text",
    [
        "in 2024, by 2030, the 1990s, FY24, 2024-25, fiscal 2023",
        "Q3 2024, 1Q25, H1, 2H24",
        "March 3, 2025 and 14 Feb 2024, 2024-03-01, 9:30 a.m., 10am, 24/7",
        "S&P 500, FTSE 100, Nikkei 225, ASX 200 shares, Russell 2000",
        "10-K, 8-K, 13F, Form 4, Rule 144A, Chapter 11, 401(k), Section 301",
        "GPT-4, COVID-19, A320, 5G, G20, v2.1, 3.11.2, iPhone 16",
        "10-year Treasury yield, ten-year bonds, 52-week high, two hundred-day moving average",
        "No. 1, #3, 21st, 3rd",
        "doubling down, a double dip, triple-A, one of them, the third quarter, first half",
        "UPDATE 2-Central bank of Oskarra holds",
        "1" * 5000,
    ],
)
def test_names_are_no_quantities(text: str) -> None:
    assert read(text) == []


def test_names_say_what_they_are() -> None:
    kinds = [(n.text, n.kind) for n in identifiers("S&P 500 at Q3 2024 close, 10-K due by 2025")]
    assert kinds == [
        ("S&P 500", "index"),
        ("Q3 2024", "quarter"),
        ("10-K", "form"),
        ("2025", "year"),
    ]


@given(st.one_of(financial, st.text(max_size=80)))
def test_spans_are_right_in_order_and_apart(text: str) -> None:
    end = 0
    for quantity in quantities(text):
        assert text[quantity.start : quantity.end] == quantity.text
        assert quantity.text == quantity.text.strip() != ""
        assert quantity.start >= end
        end = quantity.end
    for name in identifiers(text):
        assert text[name.start : name.end] == name.text


@given(st.one_of(financial, st.text(max_size=80)))
def test_a_text_has_nothing_new_to_itself(text: str) -> None:
    assert new_quantities(text, text) == []
    assert new_quantities("", text) == quantities(text)


@given(
    st.integers(1, 9_999_999), st.sampled_from(["$", "€", "£"]), st.sampled_from(["", " million"])
)
def test_written_amounts_are_read_back(number: int, symbol: str, magnitude: str) -> None:
    (quantity,) = quantities(f"Oskarra Rail pays {symbol}{number:,}{magnitude} for Dunmere")
    assert quantity.value == number * (1e6 if magnitude else 1)
    assert quantity.text == f"{symbol}{number:,}{magnitude}"


def test_new_quantities_go_by_worth_not_wording() -> None:
    original = "Bank cuts by 25 bps as $1.5bn flows out; billions of dollars at stake"
    assert (
        new_quantities(original, "A quarter-point cut, $1,500 million, Billions of dollars") == []
    )
    assert [q.text for q in new_quantities(original, "50 bps cut, 25% fall and $1.5bn")] == [
        "50 bps",
        "25%",
    ]
    assert [q.text for q in new_quantities("up 2%", "up -2%, hundreds lose jobs")] == [
        "-2%",
        "hundreds",
    ]


@pytest.mark.parametrize("text", ["EBİTDA rose 4%", "the ındex fell 4%", "ınflatıon of 4%"])
def test_a_turkish_i_in_a_word_that_cues_a_figure_is_read(text):
    assert [quantity.value for quantity in quantities(text)] == [4.0]
    assert [quantity.value for quantity in quantities("$4 bıllıon")] == [4e9]
