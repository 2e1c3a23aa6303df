import pytest
from tests.support.lines import write_lines

from contrafact.families.finforce.data import PUBLISHED_COUNTS, raw_items
from contrafact.families.finforce.data_check import check_items
from contrafact.files.tables import read_rows

LONG = "A long enough headline"


def check(tmp_path, rows):
    file = write_lines(tmp_path / "rows.jsonl", rows)
    return check_items(raw_items(file, read_rows(file)))


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


def found(report):
    """The numbers of the table of categories."""
    return {name: int(number) for name, number, *_ in report.contents[1].rows}


def test_a_file_with_table_1s_counts_is_clean(tmp_path):
    report = check(tmp_path, full_benchmark())
    assert report.contents[0].startswith("Layout: benchmark; 1,368 rows, 1,368 distinct headlines")
    assert found(report) == PUBLISHED_COUNTS
    assert (report.rows, report.violations, report.notes) == (1368, (), ())


def test_a_misspelled_category_is_mapped_counted_and_reported(tmp_path):
    rows = full_benchmark()
    at = next(i for i, row in enumerate(rows) if row["category"].startswith("ESG"))
    rows[at]["category"] = "Macro-economic indicators"
    report = check(tmp_path, rows)
    assert found(report)["Macroeconomic indicators"] == 187
    assert report.violations == ()
    assert report.notes == (
        "1 row with the category 'Macro-economic indicators', read as 'Macroeconomic indicators' "
        f"(line {at + 1})",
        "'ESG & sustainability developments' has 12 headlines where table 1 prints 13",
        "'Macroeconomic indicators' has 187 headlines where table 1 prints 186",
    )


@pytest.mark.parametrize(
    ("row", "violation"),
    [
        (headline(LONG, "Sport"), "1 row with the unknown category 'Sport' (line 2)"),
        (headline(""), "1 row with an empty headline (line 2)"),
        (headline(None), "1 row with an empty headline (line 2)"),
        (headline(" \t"), "1 row with an empty headline (line 2)"),
        (headline(7), "1 row with a headline that is not text (line 2)"),
        (headline(LONG, ""), "1 row with an empty category (line 2)"),
        (headline(LONG, 7), "1 row with a category that is not text (line 2)"),
        (headline(" The first of the headlines "), "line 2: repeats the headline of line 1"),
        (headline(LONG, risk_counterfactual="x"), "1 row with one counterfactual of two (line 2)"),
        (headline(LONG, description=["x"]), "1 row with a description that is not text (line 2)"),
    ],
)
def test_each_violation_is_one_sentence_with_its_line(tmp_path, row, violation):
    report = check(tmp_path, [headline("The first of the headlines"), row])
    assert report.violations == (violation,)


def test_a_plain_table_needs_no_category(tmp_path):
    report = check(tmp_path, [{"title": "Ore exports rise again"}])
    assert report.contents[0].startswith("Layout: table; 1 rows")
    assert report.contents[1] == "No row has a category."
    assert (report.violations, report.notes) == ((), ())


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
    assert report.contents[0] == (
        "Layout: supplement; 6 rows, 6 distinct headlines, 1 with a description, "
        "2 with both counterfactuals."
    )
    assert set(report.violations) == {
        "1 row with one counterfactual of two (line 6)",
        "3 rows without counterfactuals (lines 3, 4, 5)",
    }
    assert report.notes == ("1 row whose original_headline is not the headline (line 2)",)


def test_characters_that_mislead_are_told_by_kind_and_line(tmp_path):
    rows = [
        headline("A NUL\0 in the headline\0"),
        headline("Right to left \u202egnisir\u202c shares", description="zero\u200bwidth"),
        headline("An escape \x1b[31mcode in it"),
        headline("Half a character \ud83d in it"),
        headline("Über fünf Straßen — ordinary 你好 😀"),
    ]
    report = check(tmp_path, rows)
    kinds = (
        "NUL (line 1)",
        "bidirectional control (line 2)",
        "zero-width or invisible (line 2)",
        "other control character (line 3)",
        "half a character (now U+FFFD) (line 4)",
    )
    said = "1 row with characters that mislead or break programs: "
    assert [note for note in report.notes if "table 1" not in note] == [
        said + kind for kind in kinds
    ]
    assert report.violations == ()


def test_lengths_and_what_is_short_or_long(tmp_path):
    rows = [headline("Short"), headline("x" * 100), headline("y" * 2_001)]
    report = check(tmp_path, rows)
    assert report.contents[2].rows == (("headline", "3", "5", "100.0", "702.0", "2,001"),)
    assert report.notes[:2] == (
        "1 row with a headline under 15 characters (line 1)",
        "1 row with a headline over 2,000 characters (line 3)",
    )
    assert report.violations == ()


def test_another_classification_and_mixed_layouts_are_noted(tmp_path):
    rows = [{**headline(LONG), "classification": "opinion"}]
    rows.append({"title": "Ore exports rise again"})
    assert check(tmp_path, rows).notes == (
        "1 row classified 'opinion', not 'market_event' (line 1)",
        "the rows are of more than one layout",
    )
