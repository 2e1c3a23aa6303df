"""The human studies: what is drawn, what is kept from people, and what their answers say."""

import math

import numpy as np
import pandas as pd
import pytest
from tests.support.sheets import fill

from contrafact.family import families
from contrafact.family.study import Answer, StudyItem
from contrafact.files.tables import write_rows
from contrafact.records import MANIPULATIONS, Rewrite
from contrafact.study.sample import draw_study, read_source
from contrafact.study.score import Filled, read_answers, read_key, score_study

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


def answers_in(files, key_path):
    kind, key = key_in(key_path)
    return read_answers(files, STUDIES[kind], key, command=COMMAND)


def figures(tmp_path, files, key_path):
    kind, key = key_in(key_path)
    answers = answers_in(files, key_path)
    rng = np.random.default_rng(0)
    table = score_study(STUDIES[kind], key, answers, rng, resamples=500)[0]
    rows = table.frame.to_dict("records")
    return answers, {(r["step"], r["rater"], r["other"], r["category"]): r for r in rows}


def test_twenty_of_each_are_drawn_and_the_sheet_does_not_tell_what_is_right(tmp_path):
    sheet, key_path, guidelines = drawn(tmp_path, "detect")
    shown = pd.read_csv(sheet, dtype=str)
    _, key = key_in(key_path)
    assert len(shown) == 80
    assert list(shown.columns) == ["item", "paragraph", "label", "comment"]
    for category in MANIPULATIONS:
        own = [item for item in key if item["category"] == category]
        assert len(own) == len({item["pair_id"] for item in own}) == 20
        assert [sum(i["gold"] == label for i in own) for label in ("true", "false")] == [10, 10]
        assert {item.probability for item in own} == {20 / 30}
    assert shown["paragraph"].str.startswith("'=").all(), "no spreadsheet takes it for a formula"
    assert "TRUE" in guidelines.read_text(encoding="utf-8")


def test_a_small_category_is_drawn_whole(tmp_path):
    _, key_path, _ = drawn(tmp_path, n=20, each=7)
    _, key = key_in(key_path)
    assert len(key) == 28
    assert {item.probability for item in key} == {1.0}


def test_agreement_per_step_and_category_and_undefined_where_it_is(tmp_path):
    sheet, key_path, _ = drawn(tmp_path)
    ann = fill(
        sheet, tmp_path / "ann.csv", lambda _: {"category_correct": "TRUE", "rewrite_valid": "pass"}
    )

    def ben_says(row):
        fails = row["claimed_manipulation"] == "sentiment" and int(row["item"][1:], 16) % 2
        return {"category_correct": "yes", "rewrite_valid": "FAIL" if fails else "Pass"}

    ben = fill(sheet, tmp_path / "ben.csv", ben_says)
    answers, found = figures(tmp_path, [ann, ben], key_path)
    assert answers.people == ["ann", "ben"]
    assert answers.problems == []
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
    # 2 x 2 counts: both true 12, ann only 3, ben only 1, both false 4.

    cells = (
        [("true", "true")] * 12
        + [("true", "false")] * 3
        + [("false", "true")]
        + [("false", "false")] * 4
    )
    key = [StudyItem(f"i{n}", 1.0, "", {"category": "causal"}, cluster=f"n{n}") for n in range(20)]
    rows = [
        Answer(f"i{n}", person, "rewrite_valid", pair[place])
        for place, person in enumerate(("ann", "ben"))
        for n, pair in enumerate(cells)
    ]
    spec, rng = STUDIES["agreement"], np.random.default_rng(0)
    table, confusion = score_study(spec, key, Filled(rows, ["ann", "ben"]), rng, resamples=200)
    row = table.frame.iloc[0]
    counts = confusion.frame.set_index(["category", "rater_says"])[["true", "false"]]
    assert counts.loc["causal"].to_numpy().tolist() == [[12, 3], [1, 4]]
    assert counts.loc["causal"].equals(counts.loc["overall"])
    (chart,) = confusion.charts
    assert [name for name, *_ in chart.panels] == ["ann / ben: causal", "ann / ben: overall"]
    assert chart.columns == ("pass", "fail")
    assert row["percent"] == pytest.approx(16 / 20)
    assert row["macro_f1"] == pytest.approx((24 / 28 + 8 / 12) / 2)
    chance = 0.75 * 0.65 + 0.25 * 0.35
    assert row["kappa"] == pytest.approx((0.8 - chance) / (1 - chance))
    p = (0.75 + 0.65) / 2
    assert row["ac1"] == pytest.approx((0.8 - 2 * p * (1 - p)) / (1 - 2 * p * (1 - p)))


def test_figures_9_and_10_are_drawn_in_a_folder_and_one_file_holds_the_figures(
    quick_contrafact, tmp_path
):
    sheet, _, _ = drawn(tmp_path, n=2)
    says = {"category_correct": "TRUE", "rewrite_valid": "FAIL"}
    for name in ("ann", "ben"):
        fill(sheet, tmp_path / f"{name}.csv", lambda _: says)
    asked = ("rfc", "study", "score", "ann.csv", "ben.csv", "--key", "sheet.key.csv", "--out")
    found = quick_contrafact(*asked, "figures")
    assert found.returncode == 0, found.stderr
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    drawings = {f"{q}.{kind}" for q in says for kind in ("svg", "png")}
    assert names == {"figures.csv", "confusion.csv"} | drawings
    counts = pd.read_csv(tmp_path / "figures" / "confusion.csv")
    whole = counts[counts["category"].eq("overall")]
    assert whole[["true", "false"]].to_numpy().sum() == 2 * 8
    assert "mis" in (tmp_path / "figures" / "category_correct.svg").read_text()
    assert quick_contrafact(*asked, "figures.csv").returncode == 0
    assert "percent" in pd.read_csv(tmp_path / "figures.csv").columns


def test_a_baseline_is_held_against_what_is_right(tmp_path):
    sheet, key_path, _ = drawn(tmp_path, "detect")
    gold = {item.name: item["gold"] for item in key_in(key_path)[1]}
    sure = fill(sheet, tmp_path / "sure.csv", lambda row: {"label": gold[row["item"]]})
    always = fill(sheet, tmp_path / "always.csv", lambda _: {"label": "TRUE"})
    _, found = figures(tmp_path, [sure, always], key_path)
    assert found["label", "sure", GOLD, "overall"]["percent"] == 1.0
    assert found["label", "always", GOLD, "causal"]["percent"] == 0.5
    assert found["label", "always", GOLD, "overall"]["kappa"] == 0.0
    assert ("label", "sure", "always", "overall") in found


def test_diagnoses_may_be_written_in_the_papers_words(tmp_path):
    sheet, key_path, _ = drawn(tmp_path, "diagnose", n=5)
    shown = fill(sheet, tmp_path / "ann.csv", lambda _: {"manipulation": "Directional Flipping"})
    _, found = figures(tmp_path, [shown], key_path)
    assert found["manipulation", "ann", GOLD, "flipping"]["percent"] == 1.0
    assert found["manipulation", "ann", GOLD, "overall"]["percent"] == 0.25
