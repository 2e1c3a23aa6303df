"""People's labels of a run's items: read from files, and judged rates corrected by them."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.exams.correct import corrected_by_labels, examined_criteria
from contrafact.family.exam_file import Seen
from contrafact.report.build import build_report
from contrafact.report.chapter import Options, chapter_data
from contrafact.report.frames import TaskRuns, check_labels, read_labels
from contrafact.report.summary import summarise
from contrafact.report.tables import corrected_table
from contrafact.report.words import warnings
from contrafact.review.export import write_rows

sys.path.append(str(Path(__file__).parents[1] / "support"))
from made_exams import exam_with, rate


def runs_of(study):
    items = study.make_items(headlines=40, systems=study.systems[:1], scored=False)
    return [TaskRuns("finforce", items, study.make_meta())]


def labels_of(items, share=0.6):
    """Three people label a random part of the items, more strictly than the judge does."""
    rng = np.random.default_rng(2)
    drawn = items[items["directionality"].notna() & (rng.random(len(items)) < share)]
    return [
        {
            "item": f"i{place}", "annotator": who, "question": "directionality",
            "answer": bool(row["directionality"] and rng.random() < 0.7),
            "system": row["system"], "judge": row["judge"], "draw": int(row["draw"]),
            "sample_id": row["sample_id"], "side": row["side"],
        }
        for place, row in drawn.iterrows()
        for who in ("Cem", "Dia", "Eve")
    ]  # fmt: skip


def written(tmp_path, rows, name="labels.csv"):
    path = tmp_path / name
    if path.suffix == ".csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.slow
def test_a_report_shows_what_people_would_pass(study, tmp_path):
    tasks = runs_of(study)
    rows = labels_of(tasks[0].items)
    labels = read_labels([written(tmp_path, rows)])
    assert len(labels) == len(rows)
    paths = build_report(tasks, tmp_path / "out", labels=labels, resamples=200)
    table = pd.read_csv(paths / "tables" / "corrected.csv")
    assert {"corrected", "corrected_low", "corrected_high", "labelled"} <= set(table.columns)
    results = json.loads((paths / "results.json").read_text())
    assert results["labels"] == len(rows)
    rates = {row["criterion"]: row for row in results["judged_rates"]}
    (wanted,) = corrected_by_labels(
        runs_of(study)[0].items, labels, criteria=examined_criteria("finforce"), unit="side"
    ).to_dict("records")
    shown = rates["directionality"]
    assert shown["labelled"] == wanted["labelled"]
    for name in ("corrected", "low", "high", "by", "rests_on", "speaks_of"):
        assert shown[name] == wanted[name]
    assert shown["corrected"] < shown["raw"], "people are stricter here"
    assert rates["forward_compatibility"]["labelled"] is None
    page = (paths / "report.html").read_text()
    assert "prediction-powered inference" in page and "sensitivity is the share" not in page


def found(tasks, labels):
    return chapter_data(tasks[0], Options(resamples=200, labels=labels))


def test_the_rate_by_labels_stands_next_to_it_the_raw_one(study, tmp_path):
    tasks = runs_of(study)
    labels = read_labels([written(tmp_path, labels_of(tasks[0].items))])
    data = found(tasks, labels)
    table = corrected_table(data)
    more = {said.code: said.text for said in summarise(data).more}
    assert "labels of" in more["corrected"]
    columns = ["criterion", "raw", "corrected", "labelled", "n", "rests_on", "speaks_of", "known"]
    assert [c.key for c in table.columns] == columns
    row = table.frame.set_index("criterion").loc["Directionality"]
    assert row["corrected_low"] < row["corrected"] < row["corrected_high"]
    assert row["corrected"] < row["raw"]
    assert "of this run's" in row["rests_on"] and "new outputs of this system" in row["speaks_of"]


def test_without_labels_nothing_of_them_is_shown(study):
    tasks = runs_of(study)
    data = found(tasks, None)
    assert corrected_table(data) is None
    assert not data.labelled


def test_a_report_says_first_that_its_judge_cannot_tell(study):
    known = dict.fromkeys(("forward_compatibility", "directionality"), ((95, 100), (5, 100)))
    sat = exam_with(known, judge=study.judge).model_copy(update={"family": "finforce"})
    opened = summarise(chapter_data(runs_of(study)[0], Options(resamples=200, exams=(sat,))))
    assert "uninformative" in [said.code for said in opened.more]
    assert opened.next.code == "other-judge"


def test_a_report_warns_where_a_run_is_not_like_the_judges_exam(study):
    """Its outputs are longer than the exam's; labels make that of no account."""
    tasks = runs_of(study)
    known = dict.fromkeys(("forward_compatibility", "directionality"), ((90, 100), (80, 100)))
    sat = exam_with(known, judge=study.judge)
    seen = {"long": Seen(right=rate(20, 100), wrong=rate(30, 100))}
    criteria = {name: one.model_copy(update={"seen": seen}) for name, one in sat.criteria.items()}
    sat = sat.model_copy(update={"family": "finforce", "words": 3.0, "criteria": criteria})
    items = pd.concat([tasks[0].items.assign(draw=draw) for draw in (1, 2)])
    run = replace(tasks[0], items=items)
    warned = warnings(chapter_data(run, Options(resamples=50, exams=(sat,))))
    (text,) = (one.text for one in warned if one.code == "unlike-exam")
    assert "100% of these outputs are longer than the exam's median, and 20% to 30%" in text
    drawn = items[items["directionality"].notna()]
    labels = pd.DataFrame(
        {**drawn[["system", "judge", "draw", "sample_id", "side"]].to_dict("list"),
         "question": name, "answer": 1.0} for name in known
    ).explode(["system", "judge", "draw", "sample_id", "side"])  # fmt: skip
    run = replace(run, items=items)  # a chapter takes them
    data = chapter_data(run, Options(resamples=50, exams=(sat,), labels=labels))
    assert "unlike-exam" not in [one.code for one in warnings(data)]


def test_files_say_the_same_in_every_form(study, tmp_path):
    rows = labels_of(runs_of(study)[0].items)[:30]
    marks = [{**row, "question": "trivial_consequences"} for row in rows]
    blank = [{**rows[0], "answer": None}]
    one = read_labels([written(tmp_path, [*rows, *marks, *blank])])
    two = read_labels([written(tmp_path, rows, "labels.jsonl")])
    pd.testing.assert_frame_equal(one, two)
    assert set(one["answer"]) <= {0.0, 1.0} and "probability" not in one
    with_chance = [{**row, "probability": 0.25} for row in rows]
    assert set(read_labels([written(tmp_path, with_chance)])["probability"]) == {0.25}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "perhaps"}, "labels.csv:2: 'perhaps' is neither true nor false"),
        ({"draw": "first"}, "labels.csv:2: 'first' in 'draw' is not a number"),
        ({"question": "mood"}, "there is no label"),
    ],
)
def test_what_is_no_label_is_reported(study, tmp_path, change, message):
    row = labels_of(runs_of(study)[0].items)[0]
    with pytest.raises(InputError) as caught:
        read_labels([written(tmp_path, [row | change])])
    assert message in str(caught.value)


def test_a_reviews_exported_labels_lose_their_guard(study, tmp_path):
    row = labels_of(runs_of(study)[0].items)[0]
    rows = [row | {"annotator": who, "system": "-mine", "item": "=1"} for who in ("=Ann", "Bob")]
    write_rows(rows, tmp_path / "labels.csv")
    write_rows(rows, tmp_path / "labels.jsonl")
    assert "'=Ann" in (tmp_path / "labels.csv").read_text()
    read = [read_labels([tmp_path / f"labels.{form}"]) for form in ("csv", "jsonl")]
    for labels in read:
        assert [*labels["annotator"]] == ["=Ann", "Bob"]
        assert set(labels["system"]) == {"-mine"} and set(labels["item"]) == {"=1"}


def test_labels_of_other_runs_are_refused(study, tmp_path):
    tasks = runs_of(study)
    row = labels_of(tasks[0].items)[0]
    labels = read_labels([written(tmp_path, [row | {"system": "another"}])])
    with pytest.raises(InputError, match="labels of 'another'"):
        check_labels(labels, tasks)
    del row["judge"]
    with pytest.raises(InputError, match="there is no column 'judge'"):
        read_labels([written(tmp_path, [row])])
