"""The study of reasons: what is drawn and hidden, and what people's classes add up to."""

import numpy as np
import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.labels import ERROR_CLASSES
from contrafact.families.rfc.study import OVERALL, REASONS, UNDECIDED
from contrafact.study.sample import draw_study
from contrafact.study.score import read_answers, read_key, score_study

COMMAND = "rfc study sample"
JUDGE = "judge"
SYSTEMS = ("tern/one · plain", "tern/two · reflect")


def items(articles=40, judged=True):
    """Two systems' answers; every third of the first is wrong, every second of the other."""
    rows = []
    for system, every in zip(SYSTEMS, (3, 2), strict=True):
        for n in range(articles):
            gold = ("true", "false")[n % 2]
            wrong = n % every == 0
            shown = gold if not wrong else {"true": "false", "false": "true"}[gold]
            rows.append(
                {
                    "system": system,
                    "model": system.split(" ")[0],
                    "draw": 1,
                    "sample_id": f"p{n}-{gold}",
                    "pair_id": f"p{n}",
                    "article_id": f"n{n}",
                    "gold": gold,
                    "predicted": shown,
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
    source = items() if frame is None else frame
    study = draw_study(REASONS, source, n, np.random.default_rng(4), kind="reasons")
    sheet = tmp_path / "sheet.csv"
    key_path, guidelines = study.write(sheet)
    return sheet, read_key(key_path, {"reasons": REASONS}, command=COMMAND)[1], guidelines


def answers_in(files, key):
    return read_answers(files, REASONS, key, command=COMMAND)


def score(answers, key, resamples):
    rng = np.random.default_rng(0)
    tables = score_study(REASONS, key, answers, rng, resamples=resamples)
    return {table.name: table.frame.to_dict("records") for table in tables}


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
    counted = pd.DataFrame([one.facts for one in key]).groupby(["system", "category"]).size()
    assert counted.to_dict() == {(s, c): 10 for s in SYSTEMS for c in ("right", "wrong")}
    probability = {(one["system"], one["category"]): one.probability for one in key}
    assert probability[SYSTEMS[0], "wrong"] == 10 / 14
    assert probability[SYSTEMS[1], "right"] == 10 / 20
    text = sheet.read_text("utf-8")
    assert not any(message in text for message in ("tern", "reflect", "sound", "contradiction"))
    as_drawn = {one.name: one for one in key}
    for row in shown.to_dict("records"):
        one = as_drawn[row["item"]]
        assert (row["right_label"] == row["given_label"]) == (one["category"] == "right")
        assert bool(row["original"]) == (row["right_label"] == "false")
        assert one["sample_id"].endswith(row["right_label"])
    assert all(name in guidelines.read_text("utf-8") for name in ERROR_CLASSES)


def test_shares_follow_the_strict_majority_and_what_has_none_is_counted(tmp_path):
    sheet, key, _ = drawn(tmp_path)
    of = {one.name: one for one in key}

    def ann(row):
        return "Sound" if of[row["item"]]["category"] == "right" else "forward looking"

    def ben(row):
        return "sound" if of[row["item"]]["category"] == "right" else "journalistic_form"

    files = [
        fill(sheet, tmp_path / f"{name}.csv", say) for name, say in (("ann", ann), ("ben", ben))
    ]
    answers = answers_in(files, key)
    assert answers.problems == []
    found = score(answers, key, 300)
    shares = {(r["system"], r["answers"], r["reason_class"]): r for r in found["classes"]}
    for system in SYSTEMS:
        assert shares[system, "right", "sound"]["share"] == 1.0
        assert shares[system, "right", "sound"]["share_low"] < 1.0
        assert shares[system, "wrong", UNDECIDED]["count"] == 10
        assert shares[system, "wrong", "forward-looking"]["count"] == 0
        assert (system, "wrong", "sound") not in shares
        assert (system, "right", UNDECIDED) not in shares
    figures = {(r["rater"], r["other"], r["category"]): r for r in found["figures"]}
    assert figures["ann", "ben", "right"]["percent"] == 1.0
    assert figures["ann", "ben", "wrong"]["percent"] == 0.0
    assert figures["ann", JUDGE, OVERALL]["percent"] == 0.5
    assert figures["ann", JUDGE, OVERALL]["n"] == 40
    traced = pd.DataFrame(found["labels"])
    assert set(traced["majority"]) == {"sound", UNDECIDED}
    assert set(traced["judge"]) == {"sound", "other"}
    assert traced.set_index("item")["ann"].to_dict() == {
        one.item: one.answer for one in answers.answers if one.person == "ann"
    }


def test_one_person_without_a_judge_sorts_all_the_same(tmp_path):
    sheet, key, _ = drawn(tmp_path, items(judged=False))
    alone = fill(sheet, tmp_path / "ann.csv", lambda _: "other")
    answers = answers_in([alone], key)
    found = score(answers, key, 100)
    assert found["figures"] == []
    assert {r["share"] for r in found["classes"] if r["reason_class"] == "other"} == {1.0}
    assert {row["judge"] for row in found["labels"]} == {None}


def test_classes_of_right_answers_are_refused_for_wrong_ones(tmp_path):
    sheet, key, _ = drawn(tmp_path, n=1)
    shown = fill(
        sheet,
        tmp_path / "ann.csv",
        lambda row: "sound" if row["right_label"] != row["given_label"] else "who knows",
    )
    problems = answers_in([shown], key).problems
    assert sum("is for right answers only; left out" in problem for problem in problems) == 2
    assert sum("not forward-looking, journalistic-form" in problem for problem in problems) == 2


def test_runs_without_reasons_are_refused():
    with pytest.raises(InputError, match="came with reasons"):
        draw_study(REASONS, items().assign(rationale=None), 5, np.random.default_rng(0))
