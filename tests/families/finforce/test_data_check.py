import pytest
from tests.support.lines import write_lines

from contrafact.families.finforce.data import PUBLISHED_COUNTS, RawItem, raw_items
from contrafact.families.finforce.data_check import check_items


def check(tmp_path, rows):
    file = write_lines(tmp_path / "rows.jsonl", rows)
    return check_items(raw_items(file))


def headline(text, category="Technology & innovation", **more):
    return {"headline": text, "classification": "market_event", "category": category, **more}


def supplement(text, *, original=None, scenarios=None, **more):
    pair = {
        "original_headline": original or text,
        "risk_counterfactual_scenario": "It gets worse",
        "opportunity_counterfactual_scenario": "It gets better",
    }
    return {
        "item_index": 0,
        "input_item": headline(text, **more),
        "output": {"scenarios": [pair] if scenarios is None else scenarios},
    }


def full_benchmark():
    return [
        headline(f"Headline number {number} about {name}", name)
        for name, count in PUBLISHED_COUNTS.items()
        for number in range(count)
    ]


def test_a_file_with_table_1s_counts_is_clean(tmp_path):
    report = check(tmp_path, full_benchmark())
    assert (report.layout, report.rows, len(report.first)) == ("benchmark", 1368, 1368)
    assert report.categories == PUBLISHED_COUNTS
    assert not list(report.violations())
    assert not list(report.notes())


def test_a_misspelled_category_is_mapped_counted_and_reported(tmp_path):
    rows = full_benchmark()
    at = next(i for i, row in enumerate(rows) if row["category"].startswith("ESG"))
    rows[at]["category"] = "Macro-economic indicators"
    report = check(tmp_path, rows)
    assert report.categories["Macroeconomic indicators"] == 187
    assert report.categories["ESG & sustainability developments"] == 12
    assert not list(report.violations())
    assert tuple(report.notes()) == (
        "1 row with the category 'Macro-economic indicators', read as 'Macroeconomic indicators'",
        "'ESG & sustainability developments' has 12 headlines where table 1 prints 13",
        "'Macroeconomic indicators' has 187 headlines where table 1 prints 186",
    )


@pytest.mark.parametrize(
    ("row", "violation"),
    [
        (headline("A long enough headline", "Sport"), "1 row with the unknown category 'Sport'"),
        (headline(""), "1 row with an empty headline (line 2)"),
        (headline(None), "1 row with an empty headline (line 2)"),
        (headline(" \t"), "1 row with an empty headline (line 2)"),
        (headline(7), "1 row with a headline that is not text (line 2)"),
        (headline("A long enough headline", ""), "1 row with an empty category (line 2)"),
        (headline("A long enough headline", 7), "1 row with a category that is not text (line 2)"),
        (
            headline(" The first of the headlines "),
            "1 row with a headline met before (line 2 repeats 1)",
        ),
        (
            headline("A long enough headline", risk_counterfactual="It sinks"),
            "1 row with one counterfactual of two (line 2)",
        ),
        (
            headline("A long enough headline", description=["x"]),
            "1 row with a description that is not text (line 2)",
        ),
    ],
)
def test_each_violation_is_one_sentence_with_its_line(tmp_path, row, violation):
    report = check(tmp_path, [headline("The first of the headlines"), row])
    assert list(report.violations()) == [violation]


def test_a_plain_table_needs_no_category(tmp_path):
    report = check(tmp_path, [{"title": "Ore exports rise again"}])
    assert report.layout == "table"
    assert report.without_category == 1
    assert not list(report.violations())
    assert not list(report.notes())


def test_the_supplements_own_faults(tmp_path):
    rows = [
        supplement("The first of the headlines", description="Its first paragraph."),
        supplement("The second of the headlines", original="The second headline"),
        supplement("The third of the headlines", scenarios=[]),
        supplement("The fourth of the headlines", scenarios=[{}]),
        supplement("The fifth of the headlines", scenarios="no list"),
        supplement(
            "The sixth of the headlines", scenarios=[{"risk_counterfactual_scenario": "Worse"}]
        ),
    ]
    report = check(tmp_path, rows)
    assert report.layout == "supplement"
    assert report.with_description == 1
    assert report.with_reference == 2
    assert report.lines["without_scenario"] == [3, 4, 5]
    assert report.lines["half_references"] == [6]
    assert report.lines["original_differs"] == [2]
    assert tuple(report.violations()) == (
        "1 row with one counterfactual of two (line 6)",
        "3 rows without counterfactuals (lines 3, 4, 5)",
    )
    assert tuple(report.notes()) == ("1 row whose original_headline is not the headline (line 2)",)


def test_hostile_characters_are_counted_by_kind_and_row(tmp_path):
    rows = [
        headline("A NUL\0 in the headline\0"),
        headline("Right to left \u202egnisir\u202c shares", description="zero\u200bwidth"),
        headline("An escape \x1b[31mcode in it"),
        headline("Half a character \ud83d in it"),
        headline("Über fünf Straßen — ordinary 你好 😀"),
    ]
    report = check(tmp_path, rows)
    assert {(kind, count, report.hostile_rows[kind]) for kind, count in report.hostile.items()} == {
        ("NUL", 2, 1),
        ("bidirectional control", 2, 1),
        ("zero-width or invisible", 1, 1),
        ("other control character", 1, 1),
        ("half a character (replaced by U+FFFD)", 1, 1),
    }
    assert not list(report.violations())


def test_lengths_and_extremes(tmp_path):
    rows = [headline("Short"), headline("x" * 100), headline("y" * 2_001)]
    report = check(tmp_path, rows)
    assert report.sizes == {"headline": [5, 100, 2001]}
    assert report.lines["near_empty"] == [1]
    assert report.lines["too_long"] == [3]
    assert not list(report.violations())


def test_another_classification_and_mixed_layouts_are_noted(tmp_path):
    rows = [{**headline("A long enough headline"), "classification": "opinion"}]
    rows.append({"title": "Ore exports rise again"})
    report = check(tmp_path, rows)
    assert report.layout == "mixed"
    assert "1 row classified 'opinion', not 'market_event'" in set(report.notes())
    assert "the rows are of more than one layout" in set(report.notes())


def test_two_empty_rows_on_one_line_are_two():
    items = [RawItem(1, "table", headline=7), RawItem(1, "table", headline="")]
    report = check_items(items)
    assert report.not_text == {"headline": [1]}
    assert report.empty == {"headline": [1]}


def test_many_lines_are_cut_short_in_sentences_only(tmp_path):
    rows = [headline("The same headline again") for _ in range(20)]
    report = check(tmp_path, rows)
    assert len(report.duplicates) == 19
    (said,) = report.violations()
    assert said.startswith("19 rows with a headline met before (line 2 repeats 1, ")
    assert said.endswith(", …)")
