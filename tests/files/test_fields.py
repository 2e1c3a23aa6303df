"""What files call their fields: one table, one rule."""

import math

import pytest

from contrafact.corpus.news_items import item_of
from contrafact.families.finforce.data import raw_items
from contrafact.families.rfc.data import load_pairs
from contrafact.files.fields import FIELD_NAMES, column_of, fold, fold_row, names_of, pick
from contrafact.files.tables import line_list, read_rows


@pytest.mark.parametrize(
    "name", ["News Headline", "news_headline", "NEWS-HEADLINE", " newsHeadline ", "newsheadline"]
)
def test_case_spaces_hyphens_and_underscores_are_no_part_of_a_name(name):
    assert fold(name) == "newsheadline"
    assert column_of(fold_row({name: "Ore exports rise"}), "headline") == "newsheadline"


@pytest.mark.parametrize("field", FIELD_NAMES)
def test_no_field_has_one_name_twice(field):
    assert len(set(names_of(field))) == len(names_of(field))


def test_of_several_columns_the_first_that_is_filled_counts():
    row = fold_row({"Title": " ", "Headline": "Ore exports rise", "Symbol": math.nan})
    assert pick(row, ("title", "ticker")) == {"title": "Ore exports rise", "ticker": None}
    assert column_of(row, "ticker") == "symbol"


def test_a_headline_is_not_taken_from_another_column_because_its_own_is_empty(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text("Headline,Text\n,The whole article.\n", encoding="utf-8")
    assert [item.headline for item in raw_items(path, read_rows(path))] == [None]


def test_every_loader_matches_names_by_this_rule(tmp_path):
    headlines = tmp_path / "headlines.csv"
    headlines.write_text("News Headline,Risk Counterfactual\nOre rises,Ore falls\n", "utf-8")
    (item,) = raw_items(headlines, read_rows(headlines))
    assert (item.headline, item.risk) == ("Ore rises", "Ore falls")
    news = item_of({"News Headline": "Ore rises", "Pub-Date": "2025-04-18", "Stock Ticker": "ORE"})
    assert (news.title, news.date, news.ticker) == ("Ore rises", "2025-04-18", "ORE")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(
        "Original-Text,Rewritten Text,Misinformation Type\nOre rises,Ore falls,flipping\n", "utf-8"
    )
    (pair,) = load_pairs(pairs)
    assert (pair.original, pair.rewritten) == ("Ore rises", "Ore falls")


def test_lines_are_named_up_to_a_few():
    assert line_list([4]) == "line 4"
    assert line_list([2, 9]) == "lines 2, 9"
    assert line_list(range(1, 9)) == "lines 1, 2, 3, 4, 5, 6, …"
