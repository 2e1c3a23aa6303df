import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.sheets import fill
from typer.testing import CliRunner

from contrafact.cli.main import app
from contrafact.errors import InputError
from contrafact.families.finforce.study import STUDY
from contrafact.files.sheets import find_key
from contrafact.study.sample import DrawnStudy, draw_study
from contrafact.study.score import AVERAGE, read_answers, read_key, score_study

COMMAND = "finforce study sample"
CRITERIA = ("forward_compatibility", "directionality")


def frame(systems: int = 3, headlines: int = 20, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        {
            "system": f"model-{s} · zero-shot",
            "model": f"model-{s}",
            "method": "zero-shot",
            "judge": "judge",
            "draw": 1,
            "sample_id": f"h{h}",
            "side": side,
            "headline": f"Headline number {h} of Velmora",
            "text": f"What model {s} makes of headline {h} on the {side} side",
            "invalid_reason": None,
            "forward_compatibility": float(rng.random() < 0.7),
            "directionality": float(rng.random() < 0.5),
        }
        # Later systems have fewer headlines, so that probabilities differ.
        for s in range(systems)
        for h in range(headlines // (s + 1))
        for side in ("risk", "opportunity")
    ]
    return pd.DataFrame(rows)


def draw(items: pd.DataFrame, n: int, seed: int) -> DrawnStudy:
    return draw_study(STUDY, items, n, np.random.default_rng(seed))


def key_in(path: Path) -> pd.DataFrame:
    return read_key(path, {"": STUDY}, command=COMMAND)[1]


def answers_in(paths: list[Path], key: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    return read_answers(paths, STUDY, key, command=COMMAND)


def score(paths: list[Path], key: pd.DataFrame) -> dict[str, pd.DataFrame]:
    answers, problems = answers_in(paths, key)
    assert problems == [] or all("is empty" in one for one in problems)
    tables = score_study(STUDY, key, answers, np.random.default_rng(0), resamples=200)
    return {table.name: table.frame for table in tables}


def study(folder: Path, items: pd.DataFrame, n: int) -> tuple[Path, pd.DataFrame]:
    path = folder / "sheet.csv"
    draw(items, n, 1).write(path)
    return path, key_in(find_key([path]))


def as_judge(key: pd.DataFrame, flip: Collection[str] = ()) -> Any:
    def answer(row: dict[str, Any]) -> dict[str, str]:
        own, other = key.loc[row["item"]], row["item"] in flip
        return {name: str((own[f"judge_{name}"] == "TRUE") != other).upper() for name in CRITERIA}

    return answer


def test_every_system_and_side_is_seen_and_the_sheet_hides_them() -> None:
    items = frame()
    drawn = draw(items, 30, 5)
    sheet, key = drawn.sheet, drawn.key
    assert list(sheet.columns) == [
        *("item", "headline", "side", "counterfactual", *CRITERIA),
        *("trivial_consequences", "financially_unrealistic", "comment"),
    ]
    assert set(key.groupby(["system", "side"]).size()) == {5}
    assert set(sheet["item"]) == set(key["item"])
    assert (sheet[["forward_compatibility", "directionality", "comment"]] == "").all(axis=None)
    shown = sheet.drop(columns=["counterfactual", "headline"]).to_csv()
    assert "model-" not in shown and "zero-shot" not in shown
    # Probabilities are those of the strata, and weigh back to all.
    sizes = items.groupby(["system", "side"]).size()
    expected = [5 / sizes[s, side] for s, side in zip(key["system"], key["side"], strict=True)]
    assert key["probability"].tolist() == pytest.approx(expected)
    assert (1 / key["probability"]).sum() == pytest.approx(len(items))


def test_invalid_and_unjudged_counterfactuals_are_never_drawn() -> None:
    items = frame(systems=1)
    items.loc[0, ["text", "invalid_reason"]] = [None, "not JSON"]
    items.loc[1, ["forward_compatibility", "directionality"]] = math.nan
    sheet = draw(items, 1000, 0).sheet
    assert len(sheet) == len(items) - 2
    with pytest.raises(InputError, match="--judge"):
        draw(items.iloc[[1]], 10, 0)
    with pytest.raises(InputError, match="at least 6"):
        draw(frame(), 5, 0)


def test_people_are_compared_with_the_judge_each_and_on_average(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(), 30)
    lowest = key["probability"].min()
    rare = {*key.index[key["probability"] == lowest]}
    ann = fill(path, tmp_path / "ann.csv", as_judge(key))
    ben = fill(path, tmp_path / "ben.csv", as_judge(key, flip=rare))
    scores = score([ann, ben], key)
    pairs = scores["pairs"].set_index(["question", "rater", "other"])
    assert len(pairs) == 2 * 4
    figures = ["percent", "weighted", "kappa", "ac1", "macro_f1"]
    assert (pairs.loc[(slice(None), "ann", "judge"), figures] == 1.0).all(axis=None)
    row, mean = (pairs.loc[(CRITERIA[0], who, "judge")] for who in ("ben", AVERAGE))
    weights = 1 / key["probability"]
    flipped = weights[[*rare]].sum() / weights.sum()
    assert row["weighted"] == pytest.approx(1 - flipped), "weighed by how rarely it was drawn"
    assert row["percent"] == pytest.approx(1 - len(rare) / len(key))
    assert row["percent_low"] <= row["percent"] <= row["percent_high"]
    assert mean["percent"] == pytest.approx(1 - len(rare) / len(key) / 2)
    assert mean["kappa"] == pytest.approx((1 + row["kappa"]) / 2)
    assert pairs.loc[(CRITERIA[0], "ann", "ben"), "percent"] == row["percent"]
    labels = scores["labels"].query("annotator == 'ben'")
    assert ((labels["answer"] != labels["judge_verdict"]) == labels["item"].isin(rare)).all()


def test_what_a_judge_is_worth_is_weighed_by_how_rarely_an_item_was_drawn(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(), 30)
    rare = key["probability"].eq(key["probability"].min())
    ann = fill(path, tmp_path / "ann.csv", as_judge(key, flip={*key.index[rare]}))
    judge = score([ann], key)["judge"].set_index(["question", "judge"])
    judged = key[f"judge_{CRITERIA[0]}"].eq("TRUE")
    people, weights = judged ^ rare, 1 / key["probability"]
    row = next(one for name, one in judge.iterrows() if name[0] == CRITERIA[0])
    right = weights[people & judged].sum() / weights[people].sum()
    assert row["recall"] == pytest.approx(right)
    assert row["recall"] != pytest.approx((people & judged).sum() / people.sum())
    wrong = weights[~people & ~judged].sum() / weights[~people].sum()
    assert row["specificity"] == pytest.approx(wrong)


def test_a_judge_is_held_against_the_majority_and_a_split_vote_is_in_neither(
    tmp_path: Path,
) -> None:
    items = frame(systems=1, headlines=30)
    items["forward_compatibility"] = [1.0, 0.0] * 30
    path, key = study(tmp_path, items, 1000)
    passing = key.index[key["judge_forward_compatibility"] == "TRUE"]

    def filled(name: str, rule: Callable[[str], bool]) -> Path:
        says = lambda row: {"forward_compatibility": str(rule(row["item"]))}  # noqa: E731
        return fill(path, tmp_path / f"{name}.csv", says)

    most = [filled(name, lambda item: item not in passing[:6]) for name in ("ann", "ben", "dora")]
    row = score([*most, filled("cara", lambda item: item in passing)], key)["judge"].iloc[0]
    # Three of four pass everything but six that the judge passed: 54 passed, 24 of them by it.
    assert (row["tp"], row["fn"], row["fp"], row["tn"], row["split"]) == (24, 30, 6, 0, 0)
    assert row["recall"] == pytest.approx(24 / 54)
    assert row["specificity"] == 0.0
    two = [most[0], filled("eve", lambda item: item not in passing[:5])]
    assert score(two, key)["judge"].iloc[0]["split"] == 1


def test_judges_are_never_pooled_and_marks_are_labels(tmp_path: Path) -> None:
    both = pd.concat([frame(systems=1), frame(systems=1).assign(judge="strict")])
    path, key = study(tmp_path, both, 1000)
    marks = {"trivial_consequences": "TRUE"}
    ann = fill(path, tmp_path / "ann.csv", lambda row: as_judge(key)(row) | marks)
    scores = score([ann], key)
    assert scores["pairs"].groupby("other")["n"].max().to_dict() == {"judge": 40, "strict": 40}
    counted = scores["judge"].set_index(["question", "judge"])["n"].unstack()
    assert (counted[["judge", "strict", "all judges"]] == [40, 40, 80]).all(axis=None)
    assert scores["labels"]["question"].value_counts()["trivial_consequences"] == 80


def test_blank_and_unreadable_cells_are_reported_by_line(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    copy = tmp_path / "anna.csv"
    fill(path, copy, as_judge(key))
    table = pd.read_csv(copy, dtype=str)
    table.loc[0, "directionality"] = "maybe"
    table.loc[1, "forward_compatibility"] = ""
    table.loc[2, "item"] = "i0"
    table.loc[3, "counterfactual"] = "another text"
    table.loc[4, "directionality"] = " yes "
    table.to_csv(copy, index=False)
    answers, problems = answers_in([copy], key)
    assert sum("is empty" in one for one in problems) == 1
    assert [p.split(": ")[0] for p in problems] == [f"{copy}:{n}" for n in (2, 3, 4, 5)]
    assert "maybe" in problems[0]
    assert len(answers) == 2 * len(key) - 2 - 4


def test_annotators_may_share_a_file_but_not_an_item(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    fill(path, tmp_path / "a.csv", lambda row: as_judge(key)(row) | {"annotator": "anna"})
    fill(path, tmp_path / "b.csv", lambda row: as_judge(key)(row) | {"annotator": "ben"})
    shared = tmp_path / "shared.csv"
    both = [pd.read_csv(tmp_path / f"{name}.csv", dtype=str) for name in "ab"]
    pd.concat(both).to_csv(shared, index=False)
    assert answers_in([shared], key)[0]["annotator"].unique().tolist() == ["anna", "ben"]
    with pytest.raises(InputError, match="twice"):
        answers_in([shared, tmp_path / "a.csv"], key)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    with pytest.raises(InputError, match="no column"):
        key_in(path)
    with pytest.raises(InputError, match="no column"):
        answers_in([path.with_suffix(".key.csv")], key)
    with pytest.raises(InputError, match="filled in"):
        score([path], key)
    other = tmp_path / "elsewhere" / "anna.csv"
    with pytest.raises(InputError, match="no such file"):
        find_key([other])
    other.parent.mkdir()
    other.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match="--key"):
        find_key([other])
    other.replace(tmp_path / "anna.csv")
    assert find_key([tmp_path / "anna.csv"]) == tmp_path / "sheet.key.csv"


def test_score_command_prints_and_writes_the_tables(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(), 40)
    fill(path, tmp_path / "anna.csv", as_judge(key))
    command = ["finforce", "study", "score", str(tmp_path / "anna.csv")]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "100.0" in result.output
    assert "Published" not in result.output
    written = {p.name for p in (tmp_path / "out").iterdir()}
    assert written == {
        *("raters.csv", "judge.csv", "pairs.csv", "confusion.csv", "labels.csv"),
        *(f"ratings_{name}.csv" for name in CRITERIA),
    }
    assert pd.read_csv(tmp_path / "out" / "pairs.csv")["weighted"].eq(1.0).all()
    refused = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out.csv")])
    assert "name a folder" in str(refused.exception)
    published = CliRunner().invoke(app, [*command, "--with-published"])
    assert "89.6%" in published.output
    assert "81.4%" in published.output


def test_where_there_are_too_few_all_are_drawn_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contrafact.study.sample.read_source", lambda spec, runs: frame())
    command = ["finforce", "study", "sample", "run", "--n", "900", "--out"]
    everything = CliRunner().invoke(app, [*command, str(tmp_path / "new" / "all.csv")])
    assert "there are only 72 counterfactuals: all are drawn" in everything.output
    assert not draw(frame(), 72, 3).sheet.duplicated(["counterfactual"]).any()
