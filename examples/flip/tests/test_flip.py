"""The family from end to end, offline: what its users would miss."""

import csv

import pandas as pd
import pytest
from contrafact_flip.data import SAMPLES, classifier, load_reviews
from contrafact_flip.exam import exam_items
from contrafact_flip.report import diversity
from typer.testing import CliRunner

from contrafact.cli.main import app
from contrafact.errors import InputError
from contrafact.family import families, task_named
from contrafact.runs.prepare import make_settings, prepare

REVIEWS, _ = load_reviews(SAMPLES)


def test_every_sample_proves_itself():
    assert len(REVIEWS) == 40
    for review in REVIEWS:
        assert review.revision not in (None, review.text, review.kept)
    labels = classifier().predict([review.revision for review in REVIEWS])
    assert (labels == [review.other for review in REVIEWS]).mean() > 0.9
    kinds = {item.kind: item.known for item in exam_items()}
    assert kinds["revision"]["flipped"] is not kinds["kept"]["flipped"]


def test_pairs_of_two_rows_are_read_and_bad_rows_name_their_line(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("Sentiment\tText\tbatch_id\nNegative\tBad.\t1\nPositive\tGood.\t1\n")
    (review,), _ = load_reviews(file)
    assert (review.text, review.label, review.revision) == ("Bad.", "negative", "Good.")
    file.write_text("text,label\nFine,maybe\n")
    with pytest.raises(InputError, match="'maybe'"):
        load_reviews(file.rename(tmp_path / "pairs.csv"))


def test_the_human_revisions_are_a_system_of_a_run_and_of_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "flip", "--method", "human", "--fluency-model", "none", "--out", "run"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Reviews edited until their label flips" in page and "human" in page
    rows = list(csv.DictReader((tmp_path / "run" / "tables" / "overall.csv").open()))
    assert len(rows) == 1


def test_an_estimate_counts_both_methods_the_judge_and_several_outputs():
    given = {"models": ("m/x",), "judges": ("m/j",), "methods": ("plain", "mark-then-edit")}
    run = prepare(make_settings("flip", given, {"outputs": 3}))
    calls = {row.role: row.calls for row in run.estimate(tokens=False)}
    assert list(calls.values()) == [120, 240, 480]


def test_diversity_is_over_the_outputs_of_one_review():
    rows = [("a", "r1", "good"), ("a", "r1", "bad"), ("a", "r2", "same"), ("a", "r2", "same")]
    found = diversity(pd.DataFrame(rows, columns=["system", "sample_id", "text"]))
    assert found["diversity"].tolist() == [pytest.approx(0.75), 0.0]


def test_the_family_has_all_that_engines_ask_for():
    assert families()["flip"].exam and families()["flip"].study and task_named("flip").report
