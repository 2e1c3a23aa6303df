from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.lines import write_lines

from contrafact.corpus.news_items import day_of, item_of, news_rows
from contrafact.errors import InputError
from contrafact.files.tables import BAD_DATE, RowNotes
from contrafact.records import NewsItem, content_id


def test_an_item_keeps_its_fields_and_has_the_id_of_its_contents(tmp_path):
    row = {
        "title": "Veltra raises its guidance",
        "summary": "The maker of pumps sees more orders.",
        "ticker": "VLTX",
        "date": "2025-05-02T08:00:00Z",
        "url": "https://news.example/1",
    }
    (found,) = news_rows(write_lines(tmp_path / "n.jsonl", [row]))
    item = found.item
    assert item.id == content_id(row["title"], row["summary"], prefix="n")
    assert (item.ticker, item.date, item.url) == ("VLTX", "2025-05-02", row["url"])
    assert item.paragraph == f"{row['title']}. {row['summary']}"


def test_other_names_of_the_fields_are_read(tmp_path):
    file = tmp_path / "n.csv"
    file.write_text("Headline,Description,Symbol,pubDate,Link\nA b,C d,XX,2025-01-31,u\n")
    (found,) = news_rows(file)
    item = found.item
    assert item == NewsItem.of("A b", "C d", ticker="XX", date="2025-01-31", url="u")


def test_nothing_is_passed_over_in_silence(tmp_path):
    rows = [
        {"title": "A", "summary": "B", "date": "someday"},
        {"title": "A ", "summary": "B"},
        {"title": "C", "id": "other"},
        {"title": "D \ud800", "summary": "E"},
    ]
    notes = RowNotes()
    items = [row.item for row in news_rows(write_lines(tmp_path / "n.jsonl", rows), notes)]
    assert [item.title for item in items] == ["A", "C", "D �"]
    assert items[0].date == "someday"
    assert notes.rows == 4
    assert notes.lines() == [
        f"1 row {BAD_DATE} (line 1)",
        "1 row left out: title and summary came before (line 2)",
        "1 row whose id is not that of their contents, given the right one (line 3)",
        "1 row with a title and no summary (line 3)",
        "1 row with broken characters, replaced by U+FFFD (line 4)",
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"title": " ", "summary": "B"}, "the title is empty"),
        ({"body": "B"}, "no column 'title'"),
        ({"title": 7}, "the title is not text"),
        ({"title": "A", "summary": ["B"]}, "the summary is not text"),
    ],
)
def test_a_bad_row_is_reported_by_its_line(tmp_path, row, problem):
    file = write_lines(tmp_path / "n.jsonl", [{"title": "A"}, row])
    with pytest.raises(InputError, match=f"n.jsonl:2: {problem}"):
        news_rows(file)


def test_a_source_of_two_parts_is_read_by_its_name():
    assert item_of({"title": "A", "source": {"id": None, "name": "The Ledger"}}).source == (
        "The Ledger"
    )


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2025-04-18", "2025-04-18"),
        ("2025/04/18 10:00", "2025-04-18"),
        ("2025-04-18T23:30:00-05:00", "2025-04-19"),
        ("2025-04-18T09:30:00.123Z", "2025-04-18"),
        ("Fri, 18 Apr 2025 23:30:00 GMT", "2025-04-18"),
        ("1744960000", "2025-04-18"),
        ("1744960000000", "2025-04-18"),
        ("2025-04-18T99:00", None),
        ("0001-01-01T00:00:00+14:00", "0001-01-01"),
        ("04/05/2025", None),
        ("2025-13-01", None),
        ("yesterday", None),
        ("2016/6/29 15:07:41", "2016-06-29"),
        ("20250418", "2025-04-18"),
        ("20250418.0", "2025-04-18"),
        ("20250418T233000-0500", "2025-04-19"),
        ("April 18, 2025 at 11:30 PM EDT", "2025-04-19"),
        ("Wed Jun 29 15:07:41 CET 2016", "2016-06-29"),
        ("18/Apr/2025:23:30:00 -0500", "2025-04-19"),
        ("Fri, 18 Apr 25 09:30:00 GMT", "2025-04-18"),
        ("2025-04-18T23:30:00.123456789Z", "2025-04-18"),
        ("1744960000000000000", "2025-04-18"),
        ("18 Apr 2025 10:00 +99:00", None),
        ("2025041809", None),
        ("12041999", None),
        ("31.04.2025", None),
        ("18 Apr 25", None),
        ("2025-04-18 to 2025-04-19", None),
        ("5 May 2016 or 6 May 2016", None),
    ],
)
def test_days_are_read_in_the_forms_that_sources_use(text, day):
    assert day_of(text) == day


_WRITTEN = ("%Y-%m-%d", "%Y/%m/%d %H:%M", "%Y%m%d", "%d %b %Y", "%B %d, %Y", "%d-%b-%Y", "%Y.%m.%d",
            "%d %B, %Y", "%a %b %d %H:%M:%S %Y", "%A, %d %b. %Y", "%I:%M %p, %b %d %Y")  # fmt: skip


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.sampled_from(_WRITTEN))
def test_a_day_is_read_as_itself_however_it_is_written(moment, form):
    assert day_of(moment.strftime(form)) == moment.date().isoformat()


@given(st.dates(date(1900, 1, 1)), st.sampled_from("./-"), st.booleans())
def test_a_day_of_three_numbers_is_read_only_where_it_can_be_one_day(day, sign, american):
    numbers = [day.day, day.month][:: -1 if american else 1]
    two = day.day <= 12 and day.day != day.month
    assert day_of(sign.join(map(str, (*numbers, day.year)))) == (None if two else day.isoformat())


@given(st.text() | st.from_regex(r"[0-9TZapm:./ +-]{1,30}", fullmatch=True))
def test_no_text_fails_to_be_a_day_or_none(text):
    assert (day := day_of(text)) is None or date.fromisoformat(day)
