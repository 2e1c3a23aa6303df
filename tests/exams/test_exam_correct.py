"""Judged rates of a run, corrected by an exam or by people."""

import numpy as np
import pandas as pd
import pytest
from tests.support.made_exams import examined

from contrafact.exams.correct import (
    corrected_by_labels,
    corrected_scores,
    examined_criteria,
)
from contrafact.family.exam_file import Rate
from contrafact.family.manifest import PackRecord
from contrafact.stats.correction import correct_rate
from contrafact.stats.intervals import clustered_proportion

FORWARD = "forward_compatibility"
CRITERIA = examined_criteria("finforce")


def exam(sensitivity, specificity, *, n=200, judge="j", unsure=None, sways=0, **options):
    """An exam whose longer items pass by ``sways`` more often, and with this share unsure."""
    rows = []
    for number in range(n):
        known = number % 2 == 0
        share = sensitivity if known else specificity
        right = number // 2 < share * n / 2
        chance = 0.5 if number % 10 < (unsure or 0) * 10 else 0.99
        rows.append(
            {
                "item": f"x{number}", "criterion": FORWARD, "known": known,
                "passed": known == right,
                "probability": chance if unsure is not None else None,
                "words": 9 + (known == right if sways else number // 2 % 2),
            }
        )  # fmt: skip
    pack = PackRecord(name="default", hash="p", templates={"finforce/judge": "p"})
    return examined(rows, judge=judge, **({"family": "finforce", "pack": pack} | options))


def items(truth, sensitivity, specificity, *, n=500, system="s", judge="j", seed=0):
    rng = np.random.default_rng(seed)
    really = rng.random(n) < truth
    judged = np.where(really, rng.random(n) < sensitivity, rng.random(n) >= specificity)
    return pd.DataFrame(
        {
            "system": system,
            "judge": judge,
            "draw": 1,
            "sample_id": [f"h{i // 2}" for i in range(n)],
            "side": ["risk", "opportunity"] * (n // 2),
            FORWARD: judged.astype(float),
            "directionality": np.nan,
            "really": really.astype(float),
        }
    )


def scores_by(frame, *exams, **options):
    rng = np.random.default_rng(0)
    return corrected_scores(frame, exams, family="finforce", criteria=CRITERIA, rng=rng, **options)


def test_an_exam_corrects_what_the_raw_rate_gets_wrong():
    found = scores_by(items(0.8, 0.7, 0.9), exam(0.7, 0.9))
    assert list(found["criterion"]) == [FORWARD]  # the other one has no verdicts
    row = found.iloc[0]
    assert row["usable"]
    assert row["examined"]
    assert row["raw_high"] < 0.8
    assert row["low"] < 0.8 < row["high"]
    assert (row["n"], row["clusters"], row["exam_right"], row["exam_wrong"]) == (500, 250, 100, 100)


@pytest.mark.parametrize(
    ("exams", "options", "code"),
    [
        ([], {}, "not-examined"),
        ([exam(0.7, 0.9, judge="other")], {}, "not-examined"),
        ([exam(0.7, 0.9, family="cobe")], {}, "not-examined"),
        ([exam(0.7, 0.9)], {"packs": {"s": {"finforce/judge": "q"}}}, "other-prompts"),
        (
            [exam(0.7, 0.9, settings={"structured": True})],
            {"settings": {"s": {"structured": False}}},
            "asked-otherwise",
        ),
        ([exam(0.4, 0.6)], {}, "uninformative"),
        ([exam(0.7, 0.9, n=40)], {}, "few-exam-items"),
    ],
)
def test_what_cannot_be_corrected_keeps_its_row_with_the_reason(exams, options, code):
    row = scores_by(items(0.8, 0.7, 0.9), *exams, **options).iloc[0]
    assert not row["usable"]
    assert row["why_code"] == code and row["why"]
    assert np.isnan(row["low"])
    assert 0.5 < row["raw"] < 0.7


@pytest.mark.parametrize(("unsure", "refused"), [(0.2, False), (0.5, True)])
def test_a_judge_that_is_unsure_of_more_than_in_its_exam_met_other_items(unsure, refused):
    frame = items(0.8, 0.7, 0.9)
    chance = np.where(np.arange(500) % 100 < unsure * 100, 0.4, 0.95)
    frame = frame.assign(**{f"{FORWARD}_probability": chance})
    row = scores_by(frame, exam(0.7, 0.9, unsure=0.2)).iloc[0]
    assert row["usable"] == (not refused)
    assert ("unsure of 50% of these outputs, and of 20% of the exam's" in row["why"]) == refused
    assert np.isnan(row["low"]) == refused


@pytest.mark.parametrize("sways", [False, True])
def test_longer_outputs_are_named_and_decide_where_length_sways_the_judge(sways):
    frame = items(0.8, 0.7, 0.9).assign(text="word " * 30)
    row = scores_by(frame, exam(0.7, 0.9, sways=sways)).iloc[0]
    assert "100% of these outputs are longer than the exam's median" in row["unlike"]
    assert row["usable"] == (not sways)
    alike = ["word " * (9 + n % 2) for n in range(500)]
    assert scores_by(frame.assign(text=alike), exam(0.7, 0.9)).iloc[0]["unlike"] == ""


def test_a_run_of_one_cluster_is_compared_with_no_exam_since_nothing_says_how_clusters_vary():
    frame = items(0.8, 0.7, 0.9, n=40).assign(sample_id="h", text="word " * 30)
    frame.loc[:9, "text"] = "word"
    assert scores_by(frame, exam(0.7, 0.9)).iloc[0]["unlike"] == ""


def test_what_an_exam_saw_of_right_items_alone_says_nothing_of_a_run():
    frame = items(0.8, 0.7, 0.9).assign(text="word " * 30)
    known = exam(0.7, 0.9)
    part = known.criteria[FORWARD]
    none = part.seen["long"].wrong.model_copy(update={"k": 0, "n": 0, "n_effective": 0.0})
    seen = {"long": part.seen["long"].model_copy(update={"wrong": none})}
    known = known.model_copy(update={"criteria": {FORWARD: part.model_copy(update={"seen": seen})}})
    row = scores_by(frame, known).iloc[0]
    assert row["usable"] and row["unlike"] == ""


def test_unjudged_systems_and_unread_verdicts_count_for_nothing():
    frame = items(0.8, 0.7, 0.9)
    frame.loc[:99, FORWARD] = np.nan
    unjudged = items(0.8, 0.7, 0.9, system="t", judge=None)
    found = scores_by(pd.concat([frame, unjudged]), exam(0.7, 0.9))
    assert list(found["system"]) == ["s"]
    assert found.iloc[0]["n"] == 400


def labels_of(frame, rows, *, annotators=3, **changed):
    shown = []
    for place in rows:
        row = frame.iloc[place]
        for annotator in range(annotators):
            shown.append(
                {
                    "system": row["system"], "judge": row["judge"], "item": f"i{place}",
                    "sample_id": row["sample_id"], "side": row["side"],
                    "annotator": f"a{annotator}", "question": FORWARD,
                    "answer": bool(row["really"]), "probability": 0.2,
                }
            )  # fmt: skip
    return pd.DataFrame(shown).assign(**changed)


def by_labels(frame, labels):
    return corrected_by_labels(frame, labels, criteria=CRITERIA, unit="side")


def test_peoples_labels_of_a_part_correct_the_whole():
    frame = items(0.8, 0.6, 0.7, n=600)
    rows = np.random.default_rng(1).choice(600, 120, replace=False)
    found = by_labels(frame, labels_of(frame, rows)).iloc[0]
    assert (found["n"], found["labelled"]) == (600, 120)
    assert found["usable"]
    assert found["low"] < frame["really"].mean() < found["high"]
    assert found["raw"] < found["low"]


def test_sides_drawn_with_unequal_probabilities_are_weighed_back():
    """Mostly one side was labelled, and the sides differ."""
    frame = items(0.5, 1.0, 1.0, n=800)
    risk = frame["side"] == "risk"
    really = np.random.default_rng(3).random(800) < np.where(risk, 0.9, 0.1)
    frame["really"] = really.astype(float)
    frame[FORWARD] = np.random.default_rng(0).integers(0, 2, 800).astype(float)
    rng = np.random.default_rng(2)
    chosen = [
        *rng.choice(np.flatnonzero(risk), 200, replace=False),
        *rng.choice(np.flatnonzero(~risk), 50, replace=False),
    ]
    labels = labels_of(frame, chosen)
    labels["probability"] = np.where(labels["side"] == "risk", 200 / 400, 50 / 400)
    found = by_labels(frame, labels).iloc[0]
    assert found["low"] < frame["really"].mean() < found["high"]
    plain = np.mean([frame.iloc[place]["really"] for place in chosen])
    assert plain > found["high"]


def test_items_on_which_people_are_split_have_no_label():
    frame = items(0.8, 0.6, 0.7, n=200)
    labels = labels_of(frame, range(50), annotators=2)
    labels.loc[labels.index[::2][:10], "answer"] = ~labels.loc[
        labels.index[::2][:10], "answer"
    ].astype(bool)
    found = by_labels(frame, labels).iloc[0]
    assert found["labelled"] == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "sensitivity", "specificity", "headlines", "stories"),
    [(0.6, 0.8, 0.8, 40, 250), (0.3, 0.7, 0.75, 100, 100), (0.8, 0.95, 0.6, 60, 500)],
)
def test_corrected_intervals_cover_where_items_and_errors_cluster(
    truth, sensitivity, specificity, headlines, stories
):
    """Exam and run come in pairs whose verdicts, and whose judge's errors, resemble each other."""
    rng = np.random.default_rng(7)

    def pairs(rate, clusters):
        """Outcomes of pairs that correlate by one half."""
        shared, own = rng.random((clusters, 1)) < rate, rng.random((clusters, 2)) < rate
        return np.where(rng.random((clusters, 2)) < np.sqrt(0.5), shared, own)

    covered, raw_covered, studies = 0, 0, 400
    for _ in range(studies):
        rates = [
            Rate.of(
                clustered_proportion(
                    pairs(rate, headlines).ravel(), np.repeat(np.arange(headlines), 2)
                )
            ).exam_rate
            for rate in (sensitivity, specificity)
        ]
        really = pairs(truth, stories)
        judged = np.where(really, pairs(sensitivity, stories), ~pairs(specificity, stories))
        labels = np.repeat(np.arange(stories), 2)
        found = correct_rate(
            judged.ravel().astype(float), labels, sensitivity=rates[0], specificity=rates[1]
        )
        assert found.usable, found.why
        covered += found.low <= truth <= found.high
        raw = clustered_proportion(judged.ravel(), labels)
        raw_covered += raw.low <= truth <= raw.high
    assert 0.92 <= covered / studies <= 0.985
    assert raw_covered / studies < 0.93
