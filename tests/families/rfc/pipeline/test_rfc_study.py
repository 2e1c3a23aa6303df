"""The human studies: what is drawn, what is kept from people, and what their answers say."""

import math

import numpy as np
import pandas as pd
import pytest
from tests.support.sheets import fill

from contrafact.families.rfc.records import MANIPULATIONS, Rewrite
from contrafact.family import families
from contrafact.files.tables import write_rows
from contrafact.study.sample import draw_study, read_source
from contrafact.study.score import read_answers, read_key, score_study

COMMAND = "rfc study sample"
GOLD = "gold"
STUDIES = {kind: study.load() for kind, study in families()["rfc"].study.items()}


def pairs(each=30):
    return [
        Rewrite.of(
            manipulation,
            f"=Brackwater rose {n}% ({manipulation}).",
            f"=Brackwater fell {n}% ({manipulation}).",
            article_id=f"n{n % 25}",
        )
        for manipulation in MANIPULATIONS
        for n in range(each)
    ]


def drawn(tmp_path, kind="agreement", n=20, seed=0, each=30):
    file = tmp_path / "pairs.jsonl"
    write_rows(file, (pair.model_dump(mode="json") for pair in pairs(each)))
    spec = STUDIES[kind]
    rng = np.random.default_rng(seed)
    study = draw_study(spec, read_source(spec, [file]), n, rng, kind=kind)
    sheet = tmp_path / "sheet.csv"
    key_path, guidelines = study.write(sheet)
    return sheet, key_path, guidelines


def key_in(path):
    return read_key(path, STUDIES, command=COMMAND)


def figures(files, key_path):
    kind, key = key_in(key_path)
    answers, problems = read_answers(files, STUDIES[kind], key, command=COMMAND)
    assert problems == []
    tables = score_study(STUDIES[kind], key, answers, np.random.default_rng(0), resamples=500)
    (rows,) = [table.frame.to_dict("records") for table in tables if table.name == "pairs"]
    return {(r.get("question"), r["rater"], r["other"], r["category"]): r for r in rows}


def test_twenty_of_each_are_drawn_and_the_sheet_does_not_tell_what_is_right(tmp_path):
    sheet, key_path, guidelines = drawn(tmp_path, "detect")
    shown = pd.read_csv(sheet, dtype=str)
    _, key = key_in(key_path)
    assert len(shown) == 80
    assert list(shown.columns) == ["item", "paragraph", "label", "comment"]
    for category in MANIPULATIONS:
        own = key[key["category"] == category]
        assert len(own) == own["pair_id"].nunique() == 20
        assert own["gold"].value_counts().to_dict() == {"true": 10, "false": 10}
        assert {*own["probability"]} == {20 / 30}
    assert shown["paragraph"].str.startswith("'=").all(), "no spreadsheet takes it for a formula"
    assert "TRUE" in guidelines.read_text(encoding="utf-8")


def test_a_small_category_is_drawn_whole(tmp_path):
    _, key_path, _ = drawn(tmp_path, n=20, each=7)
    _, key = key_in(key_path)
    assert len(key) == 28
    assert {*key["probability"]} == {1.0}


def test_agreement_per_step_and_category_and_undefined_where_it_is(tmp_path):
    sheet, key_path, _ = drawn(tmp_path)
    ann = fill(
        sheet, tmp_path / "ann.csv", lambda _: {"category_correct": "TRUE", "rewrite_valid": "pass"}
    )

    def ben_says(row):
        fails = row["claimed_manipulation"] == "sentiment" and int(row["item"][1:], 16) % 2
        return {"category_correct": "yes", "rewrite_valid": "FAIL" if fails else "Pass"}

    ben = fill(sheet, tmp_path / "ben.csv", ben_says)
    found = figures([ann, ben], key_path)
    numerical = found["rewrite_valid", "ann", "ben", "numerical"]
    assert numerical["percent"] == numerical["macro_f1"] == numerical["ac1"] == 1.0
    assert math.isnan(numerical["kappa"]), "one answer throughout: nothing could disagree"
    assert numerical["n"] == 20
    sentiment = found["rewrite_valid", "ann", "ben", "sentiment"]
    assert 0.0 < sentiment["percent"] < 1.0
    assert sentiment["percent_low"] < sentiment["percent"] < sentiment["percent_high"]
    assert sentiment["kappa"] == 0.0
    assert found["category_correct", "ann", "ben", "overall"]["n"] == 80


def test_macro_f1_is_that_of_the_paper(tmp_path):
    counted = {("true", "true"): 12, ("true", "false"): 3, ("false", "true"): 1}
    cells = [pair for pair, n in (counted | {("false", "false"): 4}).items() for _ in range(n)]
    names = [f"i{n}" for n in range(20)]
    key = pd.DataFrame({"category": "causal", "probability": 1.0, "article_id": names}, index=names)
    rows = [
        (name, person, "rewrite_valid", pair[place])
        for place, person in enumerate(("ann", "ben"))
        for name, pair in zip(names, cells, strict=True)
    ]
    answers = pd.DataFrame(rows, columns=["item", "annotator", "question", "answer"])
    tables = score_study(
        STUDIES["agreement"], key, answers, np.random.default_rng(0), resamples=200
    )
    found = {table.name: table.frame for table in tables}
    row = found["pairs"].iloc[0]
    counts = found["confusion"].set_index(["category", "rater_says"])[["true", "false"]]
    assert counts.loc["causal"].to_numpy().tolist() == [[12, 3], [1, 4]]
    assert counts.loc["causal"].equals(counts.loc["overall"])
    assert row["percent"] == pytest.approx(16 / 20)
    assert row["macro_f1"] == pytest.approx((24 / 28 + 8 / 12) / 2)
    chance = 0.75 * 0.65 + 0.25 * 0.35
    assert row["kappa"] == pytest.approx((0.8 - chance) / (1 - chance))
    p = (0.75 + 0.65) / 2
    assert row["ac1"] == pytest.approx((0.8 - 2 * p * (1 - p)) / (1 - 2 * p * (1 - p)))


def test_every_table_is_in_the_folder_and_what_is_undefined_says_so(quick_contrafact, tmp_path):
    sheet, _, _ = drawn(tmp_path, n=2)
    says = {"category_correct": "TRUE", "rewrite_valid": "FAIL"}
    for name in ("ann", "ben"):
        fill(sheet, tmp_path / f"{name}.csv", lambda _: says)
    asked = ("rfc", "study", "score", "ann.csv", "ben.csv", "--key", "sheet.key.csv", "--out")
    found = quick_contrafact(*asked, "figures", code=0)
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    ratings = {f"ratings_{question}.csv" for question in says}
    assert names == {"raters.csv", "pairs.csv", "confusion.csv"} | ratings
    counts = pd.read_csv(tmp_path / "figures" / "confusion.csv")
    whole = counts[counts["category"].eq("overall")]
    assert whole[["true", "false"]].to_numpy().sum() == 2 * 8
    pairs = pd.read_csv(tmp_path / "figures" / "pairs.csv")
    assert (pairs["kappa"] == "undefined").all() and (pairs["percent"] == 1.0).all()
    assert "undefined" in found.stdout


def test_a_baseline_is_held_against_what_is_right(tmp_path):
    sheet, key_path, _ = drawn(tmp_path, "detect")
    gold = key_in(key_path)[1]["gold"]
    sure = fill(sheet, tmp_path / "sure.csv", lambda row: {"label": gold[row["item"]]})
    always = fill(sheet, tmp_path / "always.csv", lambda _: {"label": "TRUE"})
    found = figures([sure, always], key_path)
    assert found[None, "sure", GOLD, "overall"]["percent"] == 1.0
    assert found[None, "always", GOLD, "causal"]["percent"] == 0.5
    assert found[None, "always", GOLD, "overall"]["kappa"] == 0.0
    assert found[None, "average", GOLD, "overall"]["percent"] == 0.75
    assert (None, "sure", "always", "overall") in found


def test_diagnoses_may_be_written_in_the_papers_words(tmp_path):
    sheet, key_path, _ = drawn(tmp_path, "diagnose", n=5)
    shown = fill(sheet, tmp_path / "ann.csv", lambda _: {"manipulation": "Directional Flipping"})
    found = figures([shown], key_path)
    assert found[None, "ann", GOLD, "flipping"]["percent"] == 1.0
    assert found[None, "ann", GOLD, "overall"]["percent"] == 0.25
