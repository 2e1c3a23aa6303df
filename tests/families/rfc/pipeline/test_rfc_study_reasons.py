"""The study of reasons: what is drawn and hidden, and what people's classes add up to."""

import numpy as np
import pandas as pd
import pytest
from contrafact.families.rfc.study_reasons import (
    UNDECIDED,
    class_shares,
    draw_reasons,
    sorted_answers,
)
from contrafact.families.rfc.study_sheet import read_answers, read_key, write_study

from contrafact.errors import InputError
from contrafact.families.rfc.labels import ERROR_CLASSES
from contrafact.families.rfc.study import JUDGE, OVERALL, score_study

SYSTEMS = ("tern/one · plain", "tern/two · reflect")


def items(articles=40, judged=True):
    """Two systems' answers; every third of the first is wrong, every second of the other."""
    rows = []
    for system, every in zip(SYSTEMS, (3, 2), strict=True):
        for n in range(articles):
            gold = ("true", "false")[n % 2]
            wrong = n % every == 0
            said = gold if not wrong else {"true": "false", "false": "true"}[gold]
            rows.append(
                {
                    "system": system,
                    "model": system.split(" ")[0],
                    "draw": 1,
                    "sample_id": f"p{n}-{gold}",
                    "pair_id": f"p{n}",
                    "article_id": f"n{n}",
                    "gold": gold,
                    "predicted": said,
                    "rationale": f"=Item {n}: it may or may not be so.",
                    "error_class": ("other" if wrong else "sound") if judged else None,
                    "original": f"Tarn Rail rose {n}%.",
                    "shown": f"Tarn Rail {'rose' if gold == 'true' else 'fell'} {n}%.",
                }
            )
    found = pd.DataFrame(rows)
    spoilt = found.iloc[:3].assign(predicted=[None, "true", "true"], sample_id=["x", "y", "z"])
    spoilt = spoilt.assign(rationale=["It says so.", None, "1 contradiction"])
    spoilt["model"] = ["tern/one", "tern/one", "none/none"]
    return pd.concat([found, spoilt], ignore_index=True)


def drawn(tmp_path, frame=None, n=10):
    rows, key = draw_reasons(items() if frame is None else frame, n, np.random.default_rng(4))
    sheet = tmp_path / "sheet.csv"
    key_path, guidelines = write_study("reasons", rows, key, sheet)
    return sheet, read_key(key_path), guidelines


def fill(sheet, path, answer):
    frame = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    frame.assign(reason_class=[answer(row) for row in frame.to_dict("records")]).to_csv(
        path, index=False
    )
    return path


def test_wrong_and_right_answers_of_every_system_are_drawn_and_nothing_says_whose(tmp_path):
    sheet, key, guidelines = drawn(tmp_path)
    shown = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    assert list(shown.columns) == [
        *("item", "paragraph", "original", "right_label", "given_label", "reasons"),
        *("reason_class", "comment"),
    ]
    counted = pd.DataFrame([vars(one) for one in key]).groupby(["system", "category"]).size()
    assert counted.to_dict() == {(s, c): 10 for s in SYSTEMS for c in ("right", "wrong")}
    probability = {(one.system, one.category): one.probability for one in key}
    assert probability[SYSTEMS[0], "wrong"] == 10 / 14
    assert probability[SYSTEMS[1], "right"] == 10 / 20
    text = sheet.read_text("utf-8")
    assert not any(told in text for told in ("tern", "reflect", "sound", "contradiction"))
    as_drawn = {one.item: one for one in key}
    for row in shown.to_dict("records"):
        one = as_drawn[row["item"]]
        assert (row["right_label"] == row["given_label"]) == (one.category == "right")
        assert bool(row["original"]) == (row["right_label"] == "false")
        assert one.sample_id.endswith(row["right_label"])
    assert all(name in guidelines.read_text("utf-8") for name in ERROR_CLASSES)


def test_shares_follow_the_strict_majority_and_what_has_none_is_counted(tmp_path):
    sheet, key, _ = drawn(tmp_path)
    of = {one.item: one for one in key}

    def ann(row):
        return "Sound" if of[row["item"]].category == "right" else "forward looking"

    def ben(row):
        return "sound" if of[row["item"]].category == "right" else "journalistic_form"

    files = [
        fill(sheet, tmp_path / f"{name}.csv", say) for name, say in (("ann", ann), ("ben", ben))
    ]
    answers = read_answers(files, key)
    assert answers.problems == []
    rows = class_shares(answers, key, np.random.default_rng(0), resamples=300)
    shares = {(r["system"], r["answers"], r["reason_class"]): r for r in rows}
    for system in SYSTEMS:
        assert shares[system, "right", "sound"]["share"] == 1.0
        assert shares[system, "right", "sound"]["share_low"] < 1.0
        assert shares[system, "wrong", UNDECIDED]["count"] == 10
        assert shares[system, "wrong", "forward-looking"]["count"] == 0
        assert (system, "wrong", "sound") not in shares
        assert (system, "right", UNDECIDED) not in shares
    figures = {
        (r["rater"], r["other"], r["category"]): r
        for r in score_study(answers, key, np.random.default_rng(0), resamples=300)
    }
    assert figures["ann", "ben", "right"]["percent"] == 1.0
    assert figures["ann", "ben", "wrong"]["percent"] == 0.0
    assert figures["ann", JUDGE, OVERALL]["percent"] == 0.5
    assert figures["ann", JUDGE, OVERALL]["n"] == 40
    traced = pd.DataFrame(sorted_answers(answers, key))
    assert set(traced["majority"]) == {"sound", UNDECIDED}
    assert set(traced["judge"]) == {"sound", "other"}
    assert traced.set_index("item")["ann"].to_dict() == answers.given["reason_class"]["ann"]


def test_one_person_without_a_judge_sorts_all_the_same(tmp_path):
    sheet, key, _ = drawn(tmp_path, items(judged=False))
    alone = fill(sheet, tmp_path / "ann.csv", lambda _: "other")
    answers = read_answers([alone], key)
    assert score_study(answers, key, np.random.default_rng(0), resamples=100) == []
    rows = class_shares(answers, key, np.random.default_rng(0), resamples=100)
    assert {r["share"] for r in rows if r["reason_class"] == "other"} == {1.0}
    assert {row["judge"] for row in sorted_answers(answers, key)} == {None}


def test_classes_of_right_answers_are_refused_for_wrong_ones(tmp_path):
    sheet, key, _ = drawn(tmp_path, n=1)
    said = fill(
        sheet,
        tmp_path / "ann.csv",
        lambda row: "sound" if row["right_label"] != row["given_label"] else "who knows",
    )
    problems = read_answers([said], key).problems
    assert sum("is for right answers only; left out" in problem for problem in problems) == 2
    assert sum("not forward-looking, journalistic-form" in problem for problem in problems) == 2


def test_runs_without_reasons_are_refused():
    with pytest.raises(InputError, match="came with reasons"):
        draw_reasons(items().assign(rationale=None), 5, np.random.default_rng(0))
