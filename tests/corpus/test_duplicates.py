from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.corpus.duplicates import (
    Text,
    content_of,
    figures_of,
    find_duplicates,
    normal_form,
    same_but_for_form,
)

LONG = (
    "Veltra, the maker of industrial pumps, said on Friday that orders rose 12% in the second "
    "quarter, helped by demand from chemical plants in Europe."
)


REPRINT = LONG.replace("orders", "its orders").replace("helped by", "helped by the")


def texts(*strings):
    return [Text(f"t{number}", string) for number, string in enumerate(strings)]


def test_case_signs_and_spaces_make_no_difference_but_numbers_do():
    found = find_duplicates(
        texts("Rates fall – 4.5%!", "RATES  FALL: 4.5%", "Rates fall 45%", "Rates fall -4.5%"),
        threshold=1.0,
    )
    assert [(d.position, d.of, d.kind) for d in found] == [(1, "t0", "exact")]


def test_a_text_that_another_outlet_changed_a_little_is_a_near_duplicate():
    found = find_duplicates(texts(LONG, "Bank of Norvania cuts its rate.", f"Reuters: {REPRINT}"))
    assert [(d.position, d.of, d.kind) for d in found] == [(2, "t0", "near")]
    assert 0.8 <= found[0].similarity <= 1.0
    assert "the same as t0" in str(found[0].reason)


def test_another_figure_makes_another_text_and_a_missing_one_does_not():
    changed = LONG.replace("12%", "1.2%")
    assert find_duplicates(texts(LONG, changed)) == []
    assert [d.position for d in find_duplicates(texts(LONG, changed), figures=False)] == [1]
    for same in (LONG.replace(" 12%", ""), LONG + " (2/2)"):
        assert [d.kind for d in find_duplicates(texts(LONG, same))] == ["near"]
    # Among those that are alike the one with the same figures is found.
    (found,) = find_duplicates(texts(changed, LONG, REPRINT))
    assert (found.position, found.of) == (2, "t1")


@settings(max_examples=60, deadline=None)
@given(
    st.decimals(0, 99_999, places=2), st.decimals(0, 99_999, places=2), st.sampled_from(["", "-"])
)
def test_texts_that_differ_in_a_number_are_two_by_its_value(one, other, sign):
    before, after = (
        LONG.replace("12%", f"{number}%") for number in (f"{one:,f}", f"{sign}{other:f}")
    )
    copies = find_duplicates(texts(before, after), threshold=0.5)
    value = -other if sign else other
    assert bool(copies) == (value == one)
    assert figures_of(f"{one:,f}") == figures_of(f"{one:f}") == {one}
    assert figures_of(f"Q2: {one:f}%, 2026-01-12") >= {one, Decimal(2), Decimal(2026), Decimal(1)}


def test_the_threshold_decides():
    pair = texts(LONG, LONG.replace("Friday", "Monday"))
    assert find_duplicates(pair, threshold=0.97) == []


def test_one_address_is_one_article_whatever_the_tracking():
    pair = [
        Text("a", "Veltra rises", "https://www.news.example/a/1?id=7&utm_source=x"),
        Text("b", "Shares of the pump maker are up", "https://news.example/a/1/?id=7"),
        Text("c", "Another piece", "https://news.example/a/1?id=8"),
        Text("d", "The front page", "https://news.example/"),
        Text("e", "The front page, later in the day", "https://news.example/"),
        Text("f", "Nowhere", "http://[bad"),
    ]
    assert [(d.position, d.of, d.kind) for d in find_duplicates(pair)] == [(1, "a", "address")]


def test_another_set_counts_as_earlier():
    other = [Text("o", LONG), Text("p", LONG)]
    (found,) = find_duplicates(texts("Something else", LONG.upper()), other)
    assert (found.position, found.of, found.kind, found.other_set) == (1, "o", "exact", True)
    assert "of the other set" in str(found.reason)


@settings(max_examples=40)
@given(
    st.lists(st.text(alphabet="ab 1", max_size=40), max_size=12),
    st.sampled_from([0.5, 0.8, 1.0]),
)
def test_what_it_finds_is_what_comparing_every_pair_finds(strings, threshold):
    found = {d.position: d for d in find_duplicates(texts(*strings), threshold=threshold)}

    def grams(text):
        form = content_of(text)
        return {form[at : at + 5] for at in range(max(1, len(form) - 4))}

    for position, duplicate in found.items():
        one, other = grams(strings[position]), grams(strings[int(duplicate.of[1:])])
        assert len(one & other) / len(one | other) >= threshold
        assert int(duplicate.of[1:]) < position
        assert int(duplicate.of[1:]) not in found
    forms = [normal_form(text) for text in strings]
    for position, form in enumerate(forms):
        if form in forms[:position]:
            assert position in found


@pytest.mark.parametrize("threshold", [0.0, 1.1])
def test_a_threshold_that_makes_no_sense_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold"):
        find_duplicates([], threshold=threshold)


@pytest.mark.parametrize(("one", "other"), [
    ("$5 million", "€5 million"), ("▲ 3%", "▼ 3%"), ("up 📈", "up 📉"), ("rated A+", "rated A-"),
    ("rated BBB-", "rated BBB"), ("> 5%", "< 5%"), ("≥5%", "≤5%"), ("from 5 to 7", "from 7 to 5"),
    ("has sued Harrow", "was sued by Harrow"), ("cut to 5%", "cut by 5%"),
    ("buys from Harrow", "buys for Harrow"), ("5 bn", "5 mn"), ("rates fall", "rates fall no more"),
])  # fmt: skip
def test_no_sign_or_order_that_says_something_is_form(one, other):
    pair = (LONG.replace("orders", f"{said} and its orders") for said in (one, other))
    assert find_duplicates(texts(*pair), threshold=0.5) == []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Veltra", "Velstra"), ("rose", "fell"), ("demand", "a lack of demand"),
        ("helped by", "not helped by"), ("Europe", "Asia"), ("Friday", "Monday"),
        ("second", "third"), ("industrial pumps", "pumps"), ("rose 12%", "rose 12‰"),
        ("orders rose 12%", "orders ▲ 12%"), ("helped by", "helped"), ("12%", ">12%"),
        ("in Europe.", "in Europe, cancelled later."), ("Veltra", "Before it sold them Veltra"),
    ],
)  # fmt: skip
def test_another_name_or_direction_or_a_negation_makes_another_text(was, now):
    other = LONG.replace(was, now)
    assert other != LONG
    assert find_duplicates(texts(LONG, other), threshold=0.7) == []


@pytest.mark.parametrize(
    "same",
    [
        REPRINT, f"Reuters: {LONG}", f"{LONG} - WMTV - NBC15", f"{LONG} More to follow.",
        LONG.replace("12%", "12 per cent"), LONG.replace("orders", "or\u00adders"),
        LONG.replace("quarter", "quar\u200bter"), LONG.replace("helped", "helping"),
        f"Column: {LONG}", f"{LONG[:-1]} | Harrow Business Review", LONG[:-10] + "…",
    ],
)  # fmt: skip
def test_what_differs_in_form_alone_is_one_text(same):
    assert len(find_duplicates(texts(LONG, same), threshold=0.7)) == 1


@pytest.mark.parametrize(("one", "other"), [
    ("Fed raises rates by 25 basis points", "The Fed raised rates by 25bps - Reuters"),
    ("Cuts tariffs by 5 percent", "Cuts tariffs by 5%"), ("Pays $1.2bn", "Pays $1.20 billion"),
    ("Profit of 1,200 at Harrow", "Profit of 1200 at Harrow"), ("Fines of $7", "Fines of $7.00"),
    ("U.S. hiring slows", "US hiring slows | CNBC"), ("Yen rose to 150 | CNBC", "Yen rises to 150"),
    ("Harrow hires 300 - Financial Times", "Harrow hires 300 | Sable Star-Advertiser"),
    ("Harrow buys 5,000 shares", "Harrow bought 5000 shares"),
    ("Harrow to lift dividend - Veltra.com", "Harrow is to lift its dividend"),
])  # fmt: skip
def test_a_short_headline_that_is_printed_again_is_one(one, other):
    assert len(find_duplicates(texts(one, other))) == 1


@pytest.mark.parametrize(("one", "other"), [
    ("Rate rises to 5%", "Rate rises 5%"), ("IT stocks fall", "Stocks fall"),
    ("Fined A$5 million", "Fined $5 million"), ("Loans hit N42tn – CBN", "Loans hit N42tn – NBS"),
    ("Harrow beats - AAPL", "Harrow beats - MSFT"), ("Due 10.1.2026", "Due 10.10.2026"),
    ("Up 1,200", "Up 1.200"), ("Up 5 points", "Up 5 percent"), ("Pays 12,50 €", "Pays 1250 €"),
    ("Yen rose - Reuters", "Yen fell - Bloomberg"), ("25 bps cut", "25% cut"),
])  # fmt: skip
def test_a_short_headline_that_says_something_else_is_another(one, other):
    assert find_duplicates(texts(one, other)) == []


WORDS = ("a", "the", "fed", "cuts", "cut", "rates", "not", "5", "rate")


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_every_text_is_the_same_as_itself_and_not_as_its_negation(words):
    form = " ".join(words)
    assert same_but_for_form(form, form)
    assert not same_but_for_form(form, f"{form} not")
