"""A judge corrected on the run itself: drawn, labelled, corrected, and how often it holds."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support.sheets import read_sheet

import contrafact

TOOL = Path(__file__).parents[2] / "tools" / "simulate_correction.py"
N, DRAWN = 240, 60


@pytest.fixture(scope="module")
def simulated():
    """The program that simulates corrections."""
    spec = importlib.util.spec_from_file_location("simulate_correction", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate_correction"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(simulated, tmp_path):
    """A judged run of two systems, half of whose responses ask E3, and what is true of each."""
    items = simulated.run_items(0.3, simulated.REGIMES["together"], 2, N, [4])
    items.loc[items.index % 2 == 0, ["E3", "E3_probability"]] = np.nan
    folder = tmp_path / "run"
    folder.mkdir()
    simulated.write_run(folder, items)
    return folder, items


def test_what_is_drawn_for_calibration_is_labelled_and_corrects_every_rate(run, quick_contrafact):
    folder, items = run
    sheet, key = (folder.parent / name for name in ("sheet.csv", "sheet.key.csv"))
    drawn = ("cobe", "study", "sample", "run", "--for", "calibration", "--n", str(DRAWN))
    done = quick_contrafact(*drawn, "--out", "sheet.csv")
    assert done.returncode == 0, done.stderr
    facts = {row["item"]: row for row in read_sheet(key)}
    shown = read_sheet(sheet)
    assert len(shown) == 2 * DRAWN and not {"probability", "system", "stratum"} & {*shown[0]}
    found = pd.DataFrame(facts.values())
    for system, own in found.groupby("system"):
        of = items[items["system"] == system]
        # Each stratum is of one verdict on the whole, and stands for its part of the system.
        assert (own.groupby("stratum")["judge_verdict"].nunique() == 1).all()
        assert (own.groupby("stratum").size() >= 10).all()
        assert (1 / own["probability"].astype(float)).sum() == pytest.approx(len(of))
    truth = items.set_index(["system", "sample_id"])
    filled = []
    for row in shown:
        true = truth.loc[(facts[row["item"]]["system"], facts[row["item"]]["sample_id"])]
        assert (row["E3"] == "n/a") == np.isnan(true["E3"])
        answers = {name: str(bool(true[f"true_{name}"])) for name in ("E1", "E2")}
        if row["E3"] != "n/a":
            answers["E3"] = str(bool(true["true_E3"]))
        filled.append(row | answers | {"judgement": "yes" if true["true_correct"] else "no"})
    pd.DataFrame(filled).to_csv(folder.parent / "ann.csv", index=False)
    scored = ("cobe", "study", "score", "ann.csv", "--key", "sheet.key.csv", "--out", "figures")
    done = quick_contrafact(*scored)
    assert done.returncode == 0, done.stderr
    assert "E3" not in done.stderr  # what is not asked is no omission
    scores = contrafact.correct(folder, labels=folder.parent / "figures" / "labels.csv").scores
    assert set(scores["criterion"]) == {"E1", "E2", "E3", "correct"}
    assert (scores["by"] == "labels").all() and scores["usable"].all()
    for row in scores.to_dict("records"):
        of = items[items["system"].eq(row["system"]) & items[row["criterion"]].notna()]
        true = of[f"true_{row['criterion']}"].mean()
        # Four standard errors of as many labels alone.
        assert abs(row["corrected"] - true) < 4 * np.sqrt(0.25 / row["labelled"])
        assert row["low"] < row["corrected"] < row["high"]
    whole = scores[scores["criterion"] == "correct"].iloc[0]
    assert whole["labelled"] == DRAWN and whole["rests_on"].startswith(f"labels of {DRAWN} of")


def test_without_labels_the_share_that_passes_everything_is_refused(simulated, run, tmp_path):
    folder, _ = run
    exam = simulated.exam(simulated.REGIMES["together"], "judge/0", np.random.default_rng(0))
    simulated.write_exam(tmp_path / "exam.json", exam)
    scores = contrafact.correct(folder, exam=tmp_path / "exam.json").scores.set_index(
        ["system", "criterion"]
    )
    whole, one = scores.loc[("s0", "correct")], scores.loc[("s0", "E1")]
    assert not whole["usable"] and np.isnan(whole["corrected"]) and whole["by"] == ""
    assert "labels of a part of the run" in whole["why"]
    assert one["usable"] and one["by"] == "exam" and "an exam of" in one["rests_on"]


def test_labels_decide_with_and_without_an_exam_as_the_estimator_alone_does(simulated, tmp_path):
    regime = simulated.REGIMES["half hard"]
    items = simulated.run_items(0.5, regime, 2, N, [7])
    simulated.write_run(tmp_path, items)
    labels = simulated.drawn_labels(items, DRAWN, np.random.default_rng(7))
    labels.to_csv(tmp_path / "labels.csv", index=False)
    simulated.write_exam(
        tmp_path / "exam.json", simulated.exam(regime, "judge/0", np.random.default_rng(0))
    )
    files = {"labels": tmp_path / "labels.csv"}
    alone, both = (
        found[found["criterion"].isin(("correct", "E1"))].set_index(["system", "criterion"])
        for found in (
            contrafact.correct(tmp_path, **files).scores,
            contrafact.correct(tmp_path, **files, exam=tmp_path / "exam.json").scores,
        )
    )
    figures = ["corrected", "low", "high", "by"]
    pd.testing.assert_frame_equal(alone[figures], both[figures])
    for (system, name), row in alone.iterrows():
        own = items[items["system"] == system]
        asked = labels[(labels["system"] == system) & (labels["question"] == name)]
        known = own[["sample_id"]].merge(asked, on="sample_id", how="left")
        parts = [*simulated.CRITERIA]
        found = simulated.ppi_share(
            known["answer"].astype(float),
            own[name],
            levels=simulated.verdict_levels(
                own[parts].to_numpy(float), own[[f"{one}_probability" for one in parts]].to_numpy()
            ),
            probabilities=known["probability"],
        )
        assert (row["low"], row["high"]) == pytest.approx((found.low, found.high)), (system, name)


@pytest.mark.slow
@pytest.mark.parametrize("regime", ["together", "shift 0", "shift .2", "half hard", "weak"])
def test_intervals_by_labels_cover_whatever_the_judge_is_worth(simulated, regime):
    """A quick version of ``tools/simulate_correction.py --by estimator``."""
    times = 400
    found = simulated.summary(
        pd.DataFrame(
            row
            for place, rate in enumerate(simulated.RATES)
            for row in simulated.quick_studies(regime, rate, times, [9, place], n=400, labelled=100)
        )
    )
    assert (found["known"] == 1).all()
    # 93% less three standard errors of so many studies, and 97% and as many more.
    assert (found["coverage"] >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / times)).all(), found
    inner = found[found["rate"].between(0.1, 0.9)]
    assert (inner["coverage"] <= 0.97 + 3 * np.sqrt(0.97 * 0.03 / times)).all(), found
    assert (found["to_wilson"] <= 1.1).all(), found
