import pytest
from tests.support.lines import write_lines

from contrafact.corpus.news_items import NewsNotes, day_of, item_of, news_rows
from contrafact.errors import InputError
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
    notes = NewsNotes()
    items = [row.item for row in news_rows(write_lines(tmp_path / "n.jsonl", rows), notes)]
    assert [item.title for item in items] == ["A", "C", "D �"]
    assert items[0].date == "someday"
    assert notes.rows == 4
    assert [(row.line, first) for row, first in notes.repeated] == [(2, 1)]
    assert notes.lines() == [
        "1 row with a date that cannot be read, kept as it stands (line 1)",
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
        ("2025-04-18T99:00", "2025-04-18"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01"),
        ("04/05/2025", None),
        ("2025-13-01", None),
        ("yesterday", None),
    ],
)
def test_days_are_read_in_the_forms_that_sources_use(text, day):
    assert day_of(text) == day
