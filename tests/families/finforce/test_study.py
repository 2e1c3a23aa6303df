import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.sheets import fill
from typer.testing import CliRunner

from contrafact.cli.main import app
from contrafact.errors import InputError
from contrafact.families.finforce.study import AVERAGE, STUDY
from contrafact.family.study import StudyItem
from contrafact.files.sheets import find_key
from contrafact.files.tables import read_rows
from contrafact.study.sample import DrawnStudy, draw_study
from contrafact.study.score import Filled, read_answers, read_key, score_study

COMMAND = "finforce study sample"
CRITERIA = ("forward_compatibility", "directionality")
HOSTILE = [
    '=HYPERLINK("http://example.invalid","x")',
    "+1+1 jobs",
    "-3% for Oskarra crown",
    "@SUM(A1)",
    "'=quoted already",
    "'plain quote",
    "\ttabbed, with comma",
    'says "enough", and\nbreaks lines\x00\u202e',
    "＝wide",
    "</news><script>alert(1)</script>",
]


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


def key_in(path: Path) -> list[StudyItem]:
    return read_key(path, {"": STUDY}, command=COMMAND)[1]


def answers_in(paths: list[Path], key: list[StudyItem]) -> Filled:
    return read_answers(paths, STUDY, key, command=COMMAND)


def score(filled: Filled, key: list[StudyItem], resamples: int = 200) -> dict[str, pd.DataFrame]:
    tables = score_study(STUDY, key, filled, np.random.default_rng(0), resamples=resamples)
    return {table.name: table.frame for table in tables}


def study(folder: Path, items: pd.DataFrame, n: int) -> tuple[Path, list[StudyItem]]:
    path = folder / "sheet.csv"
    draw(items, n, 1).write(path)
    return path, key_in(find_key([path]))


def as_judge(key: list[StudyItem], flip: Collection[str] = ()) -> Any:
    verdicts = {item.name: item.verdicts for item in key}

    def answer(row: dict[str, Any]) -> dict[str, str]:
        own, other = verdicts[row["item"]], row["item"] in flip
        return {name: str((own[name] == "TRUE") != other).upper() for name in CRITERIA}

    return answer


def test_every_system_and_side_is_seen_and_the_sheet_hides_them() -> None:
    items = frame()
    drawn = draw(items, 30, 5)
    sheet, key = drawn.sheet, drawn.key
    assert len(sheet) == 30
    assert list(sheet.columns) == [
        *("item", "headline", "side", "counterfactual", *CRITERIA),
        *("trivial_consequences", "financially_unrealistic", "comment"),
    ]
    assert set(key.groupby(["system", "side"]).size()) == {5}
    assert set(sheet["item"]) == set(key["item"])
    assert (sheet[["forward_compatibility", "directionality", "comment"]] == "").all(axis=None)
    shown = sheet.drop(columns=["counterfactual", "headline"]).to_csv()
    assert "model-" not in shown
    assert "zero-shot" not in shown


def test_probabilities_are_those_of_the_strata_and_weigh_back_to_all() -> None:
    items = frame()
    key = draw(items, 30, 5).key
    sizes = items.groupby(["system", "side"]).size()
    expected = [5 / sizes[s, side] for s, side in zip(key["system"], key["side"], strict=True)]
    assert key["probability"].tolist() == pytest.approx(expected)
    assert (1 / key["probability"]).sum() == pytest.approx(len(items))


def test_drawing_is_seeded_and_each_item_is_drawn_once() -> None:
    one, other, third = (draw(frame(), 40, seed).sheet for seed in (3, 3, 4))
    assert one.equals(other)
    assert not one.equals(third)
    assert not one.duplicated(["counterfactual"]).any()


def test_small_strata_give_all_and_large_ones_the_rest() -> None:
    items = frame(systems=3, headlines=21)  # 21, 10 and 7 headlines
    key = draw(items, 60, 0).key
    counts = key.groupby("system").size().tolist()
    assert sum(counts) == 60
    assert counts[2] == 14, "the smallest is drawn whole"
    assert len(draw(items, 10_000, 0).sheet) == len(items)


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


def test_hostile_texts_go_through_the_sheet_and_back(tmp_path: Path) -> None:
    items = frame(systems=1, headlines=len(HOSTILE))
    items["text"] = [text for text in HOSTILE for _ in range(2)]
    items["headline"] = [text for text in reversed(HOSTILE) for _ in range(2)]
    path, key = study(tmp_path, items, 1000)
    raw = path.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert b"\x00" not in raw
    for _, row in read_rows(path):
        assert not row["headline"].startswith(("=", "+", "-", "@", "\t"))
    copy = tmp_path / "anna.csv"
    fill(path, copy, as_judge(key))
    answers = answers_in([copy], key)
    assert answers.problems == []
    assert len(answers.answers) == 2 * len(items)


def test_a_judge_that_annotators_share_agrees_wholly(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(), 40)
    for name in ("anna", "ben"):
        fill(path, tmp_path / f"{name}.csv", as_judge(key))
    answers = answers_in([tmp_path / "anna.csv", tmp_path / "ben.csv"], key)
    scores = score(answers, key, 200)
    assert answers.people == ["anna", "ben"]
    assert set(scores["agreement"]["annotator"]) == {"anna", "ben", AVERAGE}
    assert scores["agreement"][["agreement", "unweighted", "kappa", "ac1"]].eq(1.0).all(axis=None)
    assert scores["majority"][["sensitivity", "specificity"]].eq(1.0).all(axis=None)
    assert scores["between"]["agreement"].eq(1.0).all()


def test_disagreement_is_weighed_by_how_rarely_an_item_was_drawn(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(), 30)
    lowest = min(item.probability for item in key)
    rare = {item.name for item in key if item.probability == lowest}
    fill(path, tmp_path / "anna.csv", as_judge(key, flip=rare))
    answers = answers_in([tmp_path / "anna.csv"], key)
    scores = score(answers, key, 500)
    row = scores["agreement"].iloc[0]
    weights = {item.name: 1 / item.probability for item in key}
    flipped = sum(weights[name] for name in rare) / sum(weights.values())
    assert row["agreement"] == pytest.approx(1 - flipped)
    assert row["unweighted"] == pytest.approx(1 - len(rare) / len(key))
    assert row["agreement_low"] <= row["agreement"] <= row["agreement_high"]
    labels = scores["labels"]
    assert ((labels["answer"] != labels["judge_verdict"]) == labels["item"].isin(rare)).all()


def test_sensitivity_and_specificity_go_by_the_majority(tmp_path: Path) -> None:
    items = frame(systems=1, headlines=30)
    items["forward_compatibility"] = [1.0, 0.0] * 30
    path, key = study(tmp_path, items, 1000)
    passing = [item.name for item in key if item.verdicts["forward_compatibility"] == "TRUE"]
    says = {
        "anna": lambda row: row["item"] not in passing[:6],
        "ben": lambda row: row["item"] not in passing[:6],
        "cara": lambda row: row["item"] in passing,
        "dora": lambda row: row["item"] not in passing[:6],
    }
    for name, rule in says.items():
        fill(
            path,
            tmp_path / f"{name}.csv",
            lambda row, rule=rule: {"forward_compatibility": str(rule(row))},
        )
    answers = answers_in([tmp_path / f"{name}.csv" for name in says], key)
    row = score(answers, key, 200)["majority"].iloc[0]
    # Three of four pass everything but six that the judge passed: 54 passed, 24 of them by it.
    assert (row["passed"], row["failed"], row["split"]) == (54, 6, 0)
    assert row["sensitivity"] == pytest.approx(24 / 54)
    assert row["specificity"] == 0.0


def test_a_split_vote_is_counted_and_in_neither(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    first = {key[0].name}
    fill(path, tmp_path / "anna.csv", as_judge(key))
    fill(path, tmp_path / "ben.csv", as_judge(key, flip=first))
    answers = answers_in([tmp_path / "anna.csv", tmp_path / "ben.csv"], key)
    scores = score(answers, key, 200)
    assert scores["majority"]["split"].tolist() == [1, 1]
    average = scores["agreement"][scores["agreement"]["annotator"] == AVERAGE]["unweighted"]
    assert average.tolist() == pytest.approx([1 - 0.5 / len(key)] * 2)


def test_judges_are_never_pooled(tmp_path: Path) -> None:
    both = pd.concat([frame(systems=1), frame(systems=1).assign(judge="strict")])
    path, key = study(tmp_path, both, 1000)
    fill(path, tmp_path / "anna.csv", as_judge(key))
    answers = answers_in([tmp_path / "anna.csv"], key)
    scores = score(answers, key, 50)
    assert set(scores["agreement"]["judge"]) == {"judge", "strict"}
    assert scores["agreement"].groupby("judge")["n"].max().tolist() == [40, 40]


def test_optional_marks_are_shares(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    marked = {item.name for item in key[:10]}
    fill(
        path,
        tmp_path / "anna.csv",
        lambda row: {"trivial_consequences": str(row["item"] in marked), "directionality": "true"},
    )
    answers = answers_in([tmp_path / "anna.csv"], key)
    scores = score(answers, key, 50)
    assert scores["marks"]["error_class"].tolist() == ["trivial_consequences"]
    assert scores["marks"]["share"].tolist() == pytest.approx([10 / len(key)])


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
    answers = answers_in([copy], key)
    assert sum("is empty" in one for one in answers.problems) == 1
    assert [p.split(": ")[0] for p in answers.problems] == [f"{copy}:{n}" for n in (2, 3, 4, 5)]
    assert "maybe" in answers.problems[0]
    assert len(answers.answers) == 2 * len(key) - 2 - 4


def test_annotators_may_share_a_file_but_not_an_item(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    fill(path, tmp_path / "a.csv", lambda row: as_judge(key)(row) | {"annotator": "anna"})
    fill(path, tmp_path / "b.csv", lambda row: as_judge(key)(row) | {"annotator": "ben"})
    shared = tmp_path / "shared.csv"
    both = [pd.read_csv(tmp_path / f"{name}.csv", dtype=str) for name in "ab"]
    pd.concat(both).to_csv(shared, index=False)
    assert answers_in([shared], key).people == ["anna", "ben"]
    with pytest.raises(InputError, match="twice"):
        answers_in([shared, tmp_path / "a.csv"], key)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(systems=1), 1000)
    with pytest.raises(InputError, match="no column"):
        key_in(path)
    with pytest.raises(InputError, match="no column"):
        answers_in([path.with_suffix(".key.csv")], key)
    with pytest.raises(InputError, match="filled in"):
        score(answers_in([path], key), key)
    other = tmp_path / "elsewhere" / "anna.csv"
    with pytest.raises(InputError, match="no such file"):
        find_key([other])
    other.parent.mkdir()
    other.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match="--key"):
        find_key([other])
    other.replace(tmp_path / "anna.csv")
    assert find_key([tmp_path / "anna.csv"]) == tmp_path / "sheet.key.csv"


def test_a_filled_sheet_is_never_overwritten(tmp_path: Path) -> None:
    path, _ = study(tmp_path, frame(), 30)
    study(tmp_path, frame(), 30)  # the same again changes nothing
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="filled in"):
        study(tmp_path, frame(), 30)


def test_score_command_prints_and_writes_the_tables(tmp_path: Path) -> None:
    path, key = study(tmp_path, frame(), 40)
    fill(path, tmp_path / "anna.csv", as_judge(key))
    command = ["finforce", "study", "score", str(tmp_path / "anna.csv")]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "100.0" in result.output
    assert "Published" not in result.output
    written = {p.name for p in (tmp_path / "out").iterdir()}
    assert written == {"agreement.csv", "majority.csv", "labels.csv"}
    assert pd.read_csv(tmp_path / "out" / "agreement.csv")["agreement"].eq(1.0).all()
    published = CliRunner().invoke(app, [*command, "--with-published"])
    assert "89.6%" in published.output
    assert "81.4%" in published.output


def test_sample_command_writes_sheet_key_and_guidelines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contrafact.study.sample.read_source", lambda spec, runs: frame())
    out = tmp_path / "new" / "sheet.csv"
    command = ["finforce", "study", "sample", "run", "--n", "12", "--seed", "1", "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert {p.name for p in out.parent.iterdir()} == {
        "sheet.csv",
        "sheet.key.csv",
        "sheet.guidelines.txt",
    }
    assert len(list(read_rows(out))) == 12
    before = out.read_bytes()
    assert CliRunner().invoke(app, command).exit_code == 0, "the same again changes nothing"
    assert out.read_bytes() == before
    everything = CliRunner().invoke(app, [*command[:5], "900", "--out", str(tmp_path / "all.csv")])
    assert "there are only 72 counterfactuals: all are drawn" in everything.output
