"""Items from every family's files, and decisions that were made with other tools."""

import json
import math
from importlib.resources import files

import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.family.review import review_files
from contrafact.review.field_mapping import FileFormats, file_formats, read_items
from contrafact.review.project import builtin_projects, load_project

HEADLINE = "Corvane Rail opens a line to the coast"


def items(path, project, **options):
    return read_items(path, load_project(project), **options)


@pytest.mark.parametrize(
    ("project", "sample", "count"),
    [
        ("rfc-rewrite", "rfc/samples/pairs.jsonl", 1),
        ("headline-screening", "finforce/samples/headlines.jsonl", 1),
        ("judge-agreement", "finforce/samples/shots.jsonl", 2),
        ("cobe-rating", "cobe/samples/stories.json", 4),
    ],
)
def test_the_bundled_files_of_every_family_can_be_reviewed(project, sample, count):
    path = files("contrafact.families").joinpath(sample)
    lines = [line for line in path.read_text("utf-8").splitlines() if len(line) > 2]
    found = items(str(path), project)
    # A headline has two sides, and a story a few known answers.
    assert len(found) == len(lines) * count or (count == 4 and len(found) > len(lines) * count)
    shown = load_project(project)
    for fields in found.values():
        for name in shown.show:
            assert name in shown.may_lack or fields[name]


def test_the_published_supplement_is_read_as_it_comes(tmp_path, written):
    row = {
        "item_index": 0,
        "input_item": {"headline": HEADLINE, "description": "It runs.", "category": "Logistics"},
        "output": {
            "scenarios": [
                {
                    "original_headline": HEADLINE,
                    "risk_counterfactual_scenario": "It closes.",
                    "opportunity_counterfactual_scenario": "It grows.",
                }
            ]
        },
    }
    path = written(tmp_path, "supplement.json", [row])
    sides = list(items(path, "judge-agreement").values())
    assert [(s["headline"], s["side"], s["counterfactual"]) for s in sides] == [
        (HEADLINE, "risk", "It closes."),
        (HEADLINE, "opportunity", "It grows."),
    ]
    (headline,) = items(path, "headline-screening").values()
    assert (headline["headline"], headline["description"]) == (HEADLINE, "It runs.")


def test_published_pairs_have_other_names_and_spellings(tmp_path, written):
    row = {
        "pair_id": "x",
        "original_text": "Sales rose.",
        "misinformation_text": "Sales fell.",
        "manipulation_category": "Directional_Flipping",
        "stock_ticker": "ALD",
    }
    (fields,) = items(written(tmp_path, "pairs.csv", [row]), "rfc-rewrite").values()
    assert (fields["original"], fields["rewritten"]) == ("Sales rose.", "Sales fell.")
    assert (fields["manipulation"], fields["ticker"]) == ("flipping", "ALD")


def test_two_systems_that_write_the_same_are_two_items_and_invalid_outputs_are_none(
    tmp_path, written
):
    base = {"judge": "j", "draw": 1, "sample_id": "h1", "side": "risk", "headline": HEADLINE}
    rows = [
        {**base, "system": "one", "text": "It closes."},
        {**base, "system": "two", "text": "It closes."},
        {**base, "system": "three", "text": None},
    ]
    path = written(tmp_path, "items.parquet", rows)
    found = items(path, "judge-agreement")
    assert {f["system"] for f in found.values()} == {"one", "two"}
    assert items(path, "judge-agreement") == found, "the same run has the same ids"


def test_a_storys_known_answers_are_items_that_do_not_tell_what_is_known(tmp_path, written):
    story = {
        "Core Set ID": 1,
        "Variation ID": 2,
        "Domain": "Engineering",
        "Variation text": "The hose split, so the van stopped.",
        "Query": [f"Rewrite the text had the hose held, {n}." for n in "abc"],
        "Representative answer": "The hose held, and the van went on.",
        "Evaluation criteria": ["Nothing else.", "The hose split; the van stopped."],
        "Right answers": [{"text": "The hose held, and the van went on.", "why": ""}],
        "Wrong answers": [{"text": "The hose held, so the van stopped.", "fails": "E2"}],
    }
    found = items(written(tmp_path, "known.json", [story]), "cobe-rating")
    assert [(f["edit"].split()[-1], f["known_verdict"]) for f in found.values()] == [
        ("on.", "right"),
        ("stopped.", "wrong"),
    ]
    assert all("right" not in name and "wrong" not in name for name in found)
    del story["Representative answer"], story["Right answers"], story["Wrong answers"]
    with pytest.raises(InputError, match=r"bare.json:1: story 1v2 has no answer to rate"):
        items(written(tmp_path, "bare.json", [story]), "cobe-rating")


def test_what_a_table_misses_or_json_cannot_hold_is_plain(tmp_path, written):
    rows = [
        {"id": "a", "headline": HEADLINE, "when": pd.Timestamp("2031-01-02"), "score": math.nan},
        {"id": "b", "headline": HEADLINE, "when": None, "score": 1.5},
    ]
    found = items(written(tmp_path, "h.parquet", rows), "headline-screening")
    assert found["a"]["when"].startswith("2031-01-02") and found["a"]["score"] is None
    json.dumps(found, allow_nan=False)


def test_cells_guarded_for_spreadsheets_are_read_as_they_were(tmp_path):
    (tmp_path / "h.csv").write_text("id,headline\na,'=SUM(A1) rises\nb,'Tis the season\n")
    found = items(tmp_path / "h.csv", "headline-screening")
    assert [f["headline"] for f in found.values()] == ["=SUM(A1) rises", "'Tis the season"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a", "headline": HEADLINE}, {"id": "a", "headline": HEADLINE}], ":2: item 'a' is"),
        ([{"id": "a\nb", "headline": HEADLINE}], ":1: 'a\\nb'"),
        ([{"id": "x" * 201, "headline": HEADLINE}], "item's id"),
        (
            [{"id": "a", "headline": HEADLINE}, {"id": "b", "headline": " "}],
            ":2: has no 'headline'",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_reported_with_its_line(tmp_path, rows, message, written):
    with pytest.raises(InputError) as caught:
        items(written(tmp_path, "h.jsonl", rows), "headline-screening")
    assert message in str(caught.value)


def test_file_formats_fit_the_project_that_they_are_for():
    folders = {path.parent / "formats" for path in review_files().values()}
    named = {path.stem for folder in folders for path in folder.glob("*.toml")}
    assert named
    assert named <= set(builtin_projects())
    for name in named:
        project, formats = load_project(name), file_formats(name)
        questions = {question.id for question in project.questions}
        assert all(set(rename) & set(project.show) for rename in formats.renames)
        if formats.sheet is not None:
            assert set(formats.sheet.shown.values()) <= set(project.show)
            assert set(formats.sheet.answered.values()) <= questions
        assert set(formats.judged) <= questions
    assert file_formats("one-of-somebodys-own") == FileFormats()


def test_a_project_of_ones_own_takes_the_sides_of_a_headline_too(tmp_path, written):
    own = load_project("judge-agreement").model_copy(update={"name": "mine"})
    row = {"id": "h", "headline": HEADLINE, "risk": "It closes.", "opportunity": "It grows."}
    found = read_items(written(tmp_path, "own.jsonl", [row]), own)
    assert [(name, f["counterfactual"]) for name, f in found.items()] == [
        ("h-risk", "It closes."),
        ("h-opportunity", "It grows."),
    ]


def test_a_field_of_another_name_is_added_and_an_invalid_output_passed_over(tmp_path, written):
    project = load_project("cobe-rating").model_copy(update={"show": ("claim",), "compare": None})
    run = {"system": "one", "sample_id": "s1"}
    rows = [{**run, "text": "It closes."}, {**run, "sample_id": "s2", "text": None}]
    path = written(tmp_path, "outputs.jsonl", rows)
    (fields,) = read_items(path, project, {"claim": "Text"}).values()
    assert (fields["claim"], fields["text"]) == ("It closes.", "It closes.")
    with pytest.raises(InputError, match=r"outputs.jsonl:1: there is no field 'nope'; it has sys"):
        read_items(path, project, {"claim": "nope"})
