import datetime
import json
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families import rfc
from contrafact.text.quantities import identifiers, quantities
from contrafact.text.quantities.grammar import found_quantities


def read(text: str) -> list[tuple[str, str, str]]:
    return [(i.text, i.kind, i.value) for i in identifiers(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("2025", "year", "2025"),
        ("1990s", "year", "1990s"),
        ("2024-25", "year", "2024-2025"),
        ("FY25", "year", "FY2025"),
        ("FY2026", "year", "FY2026"),
        ("fiscal 2025", "year", "FY2025"),
        ("fiscal year 2025", "year", "FY2025"),
        ("FY2024-25", "year", "FY2025"),
        ("Q2", "quarter", "Q2"),
        ("2Q", "quarter", "Q2"),
        ("second quarter", "quarter", "Q2"),
        ("second-quarter", "quarter", "Q2"),
        ("fourth quarter", "quarter", "Q4"),
        ("Q2 2025", "quarter", "2025-Q2"),
        ("2Q25", "quarter", "2025-Q2"),
        ("Q2'25", "quarter", "2025-Q2"),
        ("second quarter of 2025", "quarter", "2025-Q2"),
        ("2019Q1", "quarter", "2019-Q1"),
        ("Q3 FY24", "quarter", "FY2024-Q3"),
        ("third quarter of fiscal 2024", "quarter", "FY2024-Q3"),
        ("H1", "half", "H1"),
        ("2H24", "half", "2024-H2"),
        ("first half", "half", "H1"),
        ("second half of 2021", "half", "2021-H2"),
        ("May 5", "date", "--05-05"),
        ("May 5, 2025", "date", "2025-05-05"),
        ("5 May 2025", "date", "2025-05-05"),
        ("5th of May 2025", "date", "2025-05-05"),
        ("2025-05-05", "date", "2025-05-05"),
        ("05/06/2025", "date", "2025-05-06"),
        ("25/06/2025", "date", "2025-06-25"),
        ("Sept. 30", "date", "--09-30"),
        ("June 2024", "date", "2024-06"),
        ("October", "date", "--10"),
        ("Monday", "date", "mon"),
        ("last month", "date", "last month"),
        ("9:30 a.m.", "time", "09:30"),
        ("2 pm", "time", "14:00"),
        ("12 a.m.", "time", "00:00"),
        ("14:05", "time", "14:05"),
        ("noon", "time", "12:00"),
        ("iPhone 17", "version", "iphone17"),
        ("GPT-5", "version", "gpt5"),
        ("Model 3", "version", "model3"),
        ("737 MAX", "version", "737max"),
        ("A320neo", "version", "a320neo"),
        ("5G", "version", "5g"),
        ("v2.1", "version", "v2.1"),
        ("Top 10", "ranking", "top 10"),
        ("top ten", "ranking", "top 10"),
        ("No. 1", "ranking", "#1"),
        ("number one", "ranking", "#1"),
        ("#3", "ranking", "#3"),
        ("third-largest", "ranking", "3 largest"),
        ("3rd largest", "ranking", "3 largest"),
        ("0800-123-456", "other", "0800 123 456"),
        ("S&P 500", "index", "s&p 500"),
        ("Russell 2000", "index", "russell 2000"),
        ("Nasdaq-100", "index", "nasdaq 100"),
        ("Fortune 500", "index", "fortune 500"),
        ("10-year Treasury", "index", "10 year treasury"),
        ("ten-year Treasuries", "index", "10 year treasury"),
        ("30-share", "index", "30 share"),
        ("10-K", "form", "10k"),
        ("8-K", "form", "8k"),
        ("401(k)", "form", "401k"),
        ("401k", "form", "401k"),
        ("13F", "form", "13f"),
        ("0700.HK", "ticker", "0700.hk"),
        ("9988 HK", "ticker", "9988 hk"),
        ("7-Eleven", "ticker", "7-eleven"),
        ("52-week high", "other", "52 week high"),
        ("2 1/2-week high", "other", "2 1/2 week high"),
        ("24/7", "other", "24/7"),
        ("Unit 3", "other", "unit 3"),
        ("aged 16 to 24", "other", "aged 16 to 24"),
        ("16-year-olds", "other", "16 year old"),
    ],
)
def test_names_have_values_that_compare(text: str, kind: str, value: str) -> None:
    sentence = f"the report on {text} came out"
    assert read(sentence) == [(text, kind, value)]
    assert quantities(sentence) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It may rise, May he march on", []),
        ("Prices rose in May and in March", ["May", "March"]),
        ("3M said it has 3M users", ["3M"]),
        ("Dow at 15,800 and USD500, RM20, N300bn", []),
        ("a quarter-point cut, a half stake", []),
        ("2000 jobs and 2025 units", []),
        ("Covid-19 cases on Friday, May 6", ["Covid-19", "Friday", "May 6"]),
    ],
)
def test_quantities_and_plain_words_are_no_names(text: str, found: list[str]) -> None:
    assert [i.text for i in identifiers(text)] == found


PIECES = [
    *("Q2", " 2025", "FY24", "-25", "second quarter", " of ", "May ", "5", ", ", "Monday", "'25"),
    *("S&P ", "500", "Top ", "10", "-year ", "Treasury", "No. ", "GPT-", "H1", "$", "%", ":30 pm"),
    *("iPhone ", "10-K", "third", "-largest", "0700.HK", " ", "/", "2/", "noon", "1990s", "1/2-"),
]


@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=10).map("".join), st.text(max_size=60)))
def test_names_are_in_order_and_apart_from_quantities(text: str) -> None:
    end = 0
    covered = set[int]()
    for name in identifiers(text):
        assert text[name.start : name.end] == name.text
        assert name.start >= end
        assert name.value
        end = name.end
        covered.update(range(name.start, name.end))
    for quantity in quantities(text):
        assert covered.isdisjoint(range(quantity.start, quantity.end))


@given(st.integers(1, 4), st.integers(2000, 2099))
def test_a_quarter_has_one_value_in_all_spellings(quarter: int, year: int) -> None:
    word = ("first", "second", "third", "fourth")[quarter - 1]
    spellings = [
        f"Q{quarter} {year}",
        f"{quarter}Q{year % 100:02}",
        f"Q{quarter}'{year % 100:02}",
        f"{word} quarter of {year}",
    ]
    assert {tuple(i.value for i in identifiers(s)) for s in spellings} == {(f"{year}-Q{quarter}",)}


@given(st.dates(min_value=datetime.date(1990, 1, 1), max_value=datetime.date(2099, 12, 31)))
def test_a_date_has_one_value_in_all_spellings(date: datetime.date) -> None:
    spellings = [
        date.isoformat(),
        f"{date:%B} {date.day}, {date.year}",
        f"{date.day} {date:%b} {date.year}",
        f"{date:%b}. {date.day}, {date.year}"
        if date.month != 5
        else f"May {date.day}, {date.year}",
    ]
    assert {tuple(i.value for i in identifiers(s)) for s in spellings} == {(date.isoformat(),)}


def test_the_odd_letters_that_patterns_take_for_plain_ones_can_be_read():
    lines = (files(rfc) / "samples" / "contract_pairs_tuning.jsonl").read_text("utf-8").splitlines()
    plain = [json.loads(line)["rewritten"] for line in lines[::4]]
    # Such a pattern takes these for "i", "s" and "k" besides.
    odd = [text.translate(str.maketrans("iskIK", "ıſKİK")) for text in plain]
    assert sum(len([*identifiers(text), *found_quantities(text)]) for text in odd) > len(odd)
