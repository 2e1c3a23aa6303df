"""What is earlier and later, for certain."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.corpus.related import Dated, Related, comes_before, load_dated, moment_of
from contrafact.records import NewsItem

DATES = st.builds(
    "{}{}".format,
    st.sampled_from(["2025-04-16", "2025-04-17", "2025-04-18", "2025-04-19"]),
    st.sampled_from(
        [
            "",
            "T00:00:00Z",
            "T09:30:00Z",
            "T23:30:00-05:00",
            "T09:30:00",
            " 10:00:00",
            "T01:00+09:00",
        ]
    ),
)


@pytest.mark.parametrize(
    ("text", "day", "instant"),
    [
        ("2025-04-18", "2025-04-18", False),
        ("2025-04-18T09:30:00Z", "2025-04-18", True),
        ("2025-04-18T23:30:00-05:00", "2025-04-19", True),
        ("Fri, 18 Apr 2025 09:30:00 GMT", "2025-04-18", True),
        ("1744968600", "2025-04-18", True),
        # A day that a program wrote with a time, and a time of nobody knows where.
        ("2025-04-18T00:00:00Z", "2025-04-18", False),
        ("2025-04-18 09:30:00", "2025-04-18", False),
    ],
)
def test_a_date_is_a_moment_only_where_time_and_zone_are_known(text, day, instant):
    moment = moment_of(text)
    assert (moment.day, moment.instant is not None) == (day, instant)


def test_what_is_no_date_is_none():
    assert moment_of("last week") is None
    assert moment_of("04/05/2025") is None


@given(DATES, DATES, DATES)
def test_before_is_an_order(first, second, third):
    one, two, three = map(moment_of, (first, second, third))
    assert not comes_before(one, one)
    assert not (comes_before(one, two) and comes_before(two, one))
    if one.instant and two.instant and three.instant:
        chain = comes_before(one, two) and comes_before(two, three)
        assert not chain or comes_before(one, three)


def test_a_same_day_is_earlier_by_the_clock_alone():
    at = [moment_of(f"2025-04-18{end}") for end in ("", "T08:00:00Z", "T09:00:00Z")]
    before = [
        pair for pair in itertools.permutations(range(3), 2) if comes_before(*(at[i] for i in pair))
    ]
    assert before == [(1, 2)]


def test_news_is_found_before_the_moment_and_within_the_window(tmp_path):
    file = tmp_path / "news.csv"
    file.write_text(
        "title,date\nRates rise in Norwind,2025-03-01\nRates rise again,2025-04-17\n"
        "Rates may rise soon,2025-04-18\nRates rise at last,2025-04-19\nA rate rise,undated\n",
        encoding="utf-8",
    )
    index = Related(load_dated(file))
    moment = moment_of("2025-04-18T12:00:00Z")
    before = index.before(moment, "Rates rise today", days=30, count=5)
    assert [one.title for one in before] == ["Rates rise again"]


def test_the_same_story_is_no_background():
    titles = ("Norwind bank cuts key rate", "Norwind bank cuts its key rate", "Key rate row")
    news = [Dated(NewsItem.of(title), moment_of("2025-04-10")) for title in titles]
    found = Related(news).before(moment_of("2025-04-18"), titles[0], days=30, count=3)
    assert [one.title for one in found] == ["Key rate row"]
