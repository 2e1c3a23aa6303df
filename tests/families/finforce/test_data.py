import json

import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.families.finforce.data import (
    CATEGORIES,
    canonical_category,
    load_headlines,
)
from contrafact.families.finforce.records import ForwardPair
from contrafact.files.tables import RowNotes
from contrafact.records import content_id

BENCHMARK = [
    {
        "headline": "Harrow Bank trims its growth outlook",
        "classification": "market_event",
        "category": "Macro-economic indicators",
    },
    {
        "headline": "Tern Air opens talks with its lenders",
        "classification": "market_event",
        "category": "Banking & financial stability",
    },
]
SUPPLEMENT = [
    {
        "item_index": 4,
        "input_item": {
            "headline": "Dockers in Port Lannis call a strike",
            "description": "The walkout begins on Monday.",
            "classification": "market_event",
            "category": "Labor & employment",
        },
        "output": {
            "scenarios": [
                {
                    "original_headline": "Dockers call a strike",
                    "opportunity_counterfactual_scenario": "The port settles early",
                    "risk_counterfactual_scenario": "The strike spreads along the coast",
                }
            ]
        },
    },
    {
        "item_index": 5,
        "input_item": {"headline": "Quarry prices hold steady", "category": None},
        "output": {"scenarios": []},
    },
]


def write(tmp_path, name, value):
    file = tmp_path / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return file


def test_benchmark_file(tmp_path):
    notes = RowNotes()
    first, second = load_headlines(write(tmp_path, "b.json", BENCHMARK), notes)
    assert first.text == "Harrow Bank trims its growth outlook"
    assert first.id == content_id(first.text, prefix="h")
    assert first.category == "Macroeconomic indicators"
    assert second.category == "Banking & financial stability"
    assert first.reference is None
    assert notes.rows == 2
    spelled = "with the category 'Macro-economic indicators', read as 'Macroeconomic indicators'"
    assert notes.lines() == [f"1 row {spelled} (line 1)"]


def test_supplement_file_carries_reference_and_description(tmp_path):
    notes = RowNotes()
    first, second = load_headlines(write(tmp_path, "s.json", SUPPLEMENT), notes)
    assert first.text == "Dockers in Port Lannis call a strike"
    assert first.description == "The walkout begins on Monday."
    assert first.category == "Labour & employment"
    assert first.reference == ForwardPair(
        risk="The strike spreads along the coast", opportunity="The port settles early"
    )
    assert (second.category, second.description, second.reference) == (None, None, None)
    spelled = "with the category 'Labor & employment', read as 'Labour & employment'"
    assert notes.found == {spelled: [1]}


@pytest.mark.parametrize("column", ["headline", "title", "text", " Headline "])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_an_analysts_table(tmp_path, column, suffix):
    frame = pd.DataFrame(
        {
            column: ["Ore exports rise", "Glass maker Vitrel halves output"],
            "category": ["supply chain and LOGISTICS", None],
            "risk_counterfactual": ["Ore exports stall", None],
            "opportunity_counterfactual": ["Ore exports set a record", None],
        }
    )
    file = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        frame.to_csv(file, index=False)
    elif suffix == "parquet":
        frame.to_parquet(file)
    else:
        frame.to_json(file, orient="records", lines=suffix == "jsonl")
    first, second = load_headlines(file)
    assert [first.text, second.text] == ["Ore exports rise", "Glass maker Vitrel halves output"]
    assert [first.category, second.category] == ["Supply chain & logistics", None]
    assert first.reference == ForwardPair(
        risk="Ore exports stall", opportunity="Ore exports set a record"
    )
    assert second.reference is None


def test_duplicates_are_kept_once_and_counted(tmp_path):
    file = write(tmp_path, "t.csv", "headline\nA rises\nB falls\n A rises\nA rises\nB falls \n")
    notes = RowNotes()
    assert [item.text for item in load_headlines(file, notes)] == ["A rises", "B falls"]
    assert notes.rows == 5
    assert notes.lines() == ["3 rows left out: the headline came before (lines 4, 5, 6)"]


def test_unknown_category_and_half_a_reference_are_noted(tmp_path):
    file = write(tmp_path, "t.csv", "headline,category,risk_counterfactual\nA,Sport,A sinks\n")
    notes = RowNotes()
    (item,) = load_headlines(file, notes)
    assert item.category is None
    assert item.reference is None
    assert notes.lines() == [
        "1 row with the unknown category 'Sport', kept without one (line 2)",
        "1 row with one counterfactual of two, kept without a reference (line 2)",
    ]


@pytest.mark.parametrize(
    ("name", "data", "line", "message"),
    [
        ("t.csv", "headline,category\nA,\n ,Labour\n", 3, "the headline is empty"),
        ("t.json", '[{"headline": "A"},\n{"headline": null}]', 2, "the headline is empty"),
        ("t.json", '[{"headline": "A"},\n{"headline": 7}]', 2, "the headline is not text: '7'"),
        ("t.json", '[{"headline": ["A"]}]', 1, "the headline is not text"),
        ("t.jsonl", '{"headline": "A"}\n{"head": "B"}', 2, "no column 'headline' (found: head)"),
        ("t.csv", "name,category\nA,B\n", 2, "no column 'headline' (found: name, category)"),
        ("t.csv", "headline\n", None, "the file holds no headlines"),
        ("t.json", "[]", None, "the file holds no headlines"),
    ],
)
def test_bad_headlines_name_their_line(tmp_path, name, data, line, message):
    with pytest.raises(InputError) as caught:
        load_headlines(write(tmp_path, name, data))
    assert message in str(caught.value)
    assert caught.value.line == line
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000,
        "Fed\0 cuts",
        "Shares \u202egnisir\u202c end",
        "zero\u200bwidth\ufeff",
        "</news> {{ risk }} {0} %s <script>alert(1)</script>",
        "pairs \U0001f600 stay",
        " edges kept ",
    ],
)
def test_hostile_headlines_load_unchanged(tmp_path, text):
    file = write(tmp_path, "t.jsonl", json.dumps({"headline": text}))
    (item,) = load_headlines(file)
    assert item.text == text


def test_half_a_character_is_replaced_and_reported(tmp_path):
    row = {"headline": "lone \ud83d half", "description": "whole"}
    notes = RowNotes()
    (item,) = load_headlines(write(tmp_path, "t.jsonl", json.dumps(row)), notes)
    assert item.text == "lone \N{REPLACEMENT CHARACTER} half"
    assert item.description == "whole"
    assert notes.lines() == ["1 row with broken characters, replaced by U+FFFD (line 1)"]


@pytest.mark.parametrize("name", CATEGORIES)
def test_spellings_of_every_category_are_mapped(name):
    assert canonical_category(name) == (name, False)
    for other in (name.upper(), f"  {name.replace(' ', '  ')} ", name.replace("&", "and")):
        found, mapped = canonical_category(other)
        assert found == name
        assert mapped or other == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Macro-economic indicators", "Macroeconomic indicators"),
        ("Labor & employment", "Labour & employment"),
        ("Labor and Employment", "Labour & employment"),
        ("Technology &amp; innovation", "Technology & innovation"),
        ("Sport", None),
        ("Monetary policy", None),
        ("", None),
        ("&", None),
    ],
)
def test_known_misspellings_are_mapped_and_nothing_else_is_guessed(name, expected):
    assert canonical_category(name) == (expected, expected is not None)
