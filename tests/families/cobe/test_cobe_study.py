"""The human study: what is drawn, what sheets may hold, and the paper's own figures recomputed."""

import itertools
import math

import numpy as np
import openpyxl
import pandas as pd
import pytest
from tests.support.sheets import fill

from contrafact.errors import InputError
from contrafact.families.cobe.study import STUDY
from contrafact.family.published import published_facts, published_notes, published_table
from contrafact.report.frames import read_labels
from contrafact.study.sample import draw_study
from contrafact.study.score import read_answers, read_key, score_study

PAPER = "contrafact.families.cobe"


def rng():
    return np.random.default_rng(0)


def items(stories=20, systems=("a", "b")):
    return pd.DataFrame(
        [
            {
                "system": system, "model": f"m/{system}", "method": "plain", "judge": "j/judge",
                "draw": 1, "sample_id": f"{story}v1", "phrasing": phrasing, "domain": "Engineering",
                "graph": None, "story": f"Story {story}.", "query": f"Query {phrasing}?",
                "text": f"=Response\x00\u202e, {system} </news>\n{story} {phrasing}",
                "correct": [1.0, 0.0, math.nan][(story + ord(phrasing)) % 3],
            }
            for system in systems for story in range(stories) for phrasing in "ABC"
        ]
    )  # fmt: skip


COMMAND = "cobe study sample"


def draw(frame, n):
    return draw_study(STUDY, frame, n, rng())


def key_in(path):
    return read_key(path, {"": STUDY}, command=COMMAND)[1]


def answers_in(paths, key):
    return read_answers(paths, STUDY, key, command=COMMAND)


def key(n, verdicts):
    """Items of one judge and system; a verdict of "" was open."""
    facts = {"judge": "j", "system": "s", "draw": "1", "phrasing": "A", "probability": 0.5}
    frame = pd.DataFrame(facts, index=[f"i{place}" for place in range(n)])
    names = [f"{place}v1" for place in range(n)]
    verdicts = pd.Series([one or None for one in verdicts], frame.index, object)
    return frame.assign(sample_id=names, judge_verdict=verdicts)


def filled(given):
    """Answers by person and item."""
    rows = [
        (item, person, "judgement", answer)
        for person, own in given.items()
        for item, answer in own.items()
    ]
    return pd.DataFrame(rows, columns=["item", "annotator", "question", "answer"])


def score(given, items, resamples=10_000):
    tables = score_study(STUDY, items, filled(given), rng(), resamples=resamples)
    return {table.name: table.frame for table in tables}


def test_every_system_has_its_share_and_stories_come_once_before_twice():
    drawn = draw(items(), 30)
    assert len(drawn.sheet) == len(drawn.key) == 30
    for system in "ab":
        own = drawn.key.loc[drawn.key["system"] == system, "sample_id"]
        assert len(own) == 15
        assert len(set(own)) == 15
    everything = draw(items(), 500).key
    assert len(everything) == 120
    assert set(everything["judge_verdict"]) == {"yes", "no", ""}
    shown = " ".join(drawn.sheet.to_numpy().ravel())
    assert "m/a" not in shown
    assert "judge" not in shown
    with pytest.raises(InputError, match="cannot show every system"):
        draw(items(), 1)
    with pytest.raises(InputError, match="run them with --judge"):
        draw(items().assign(judge=None), 10)


def test_sheets_come_back_with_answers_problems_and_blanks(tmp_path):
    sheet = tmp_path / "sheet.csv"
    study = draw(items(), 6)
    key_path, guidelines = study.write(sheet)
    raw = sheet.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") and b"\x00" not in raw
    assert b"'=Response, " in raw, "no spreadsheet takes a formula"
    assert "Other" in guidelines.read_text(encoding="utf-8")
    drawn = key_in(key_path)
    wanted = study.key.assign(judge_verdict=study.key["judge_verdict"].replace("", None))
    pd.testing.assert_frame_equal(
        drawn.fillna("").astype(str), wanted.set_index(drawn.index).fillna("").astype(str)
    )
    study.write(sheet)  # the same again changes nothing
    with pytest.raises(InputError, match="another study under this name"):
        draw(items(), 3).write(sheet)
    said = iter(["Yes", "no", "OTHER", "maybe", ""])
    copy = fill(sheet, tmp_path / "ana.csv", lambda _: {"judgement": next(said, "")})
    answers, problems = answers_in([copy], drawn)
    assert answers["answer"].tolist() == ["yes", "no", "other"]
    assert sum("is empty" in one for one in problems) == 2
    assert any("'maybe', not Yes, No or Other" in message for message in problems)


def test_the_papers_confusion_gives_the_papers_figures():
    cells = [("yes", "yes")] * 46 + [("no", "yes")] * 2 + [("yes", "no")] * 21 + [("no", "no")] * 31
    given = {name: {f"i{p}": m for p, (m, _) in enumerate(cells)} for name in ("a", "b", "c")}
    found = score(given, key(100, [judge for _, judge in cells]), 500)
    row = found["judge"].iloc[0]
    assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (46, 2, 21, 31)
    study = published_facts(PAPER)["study"]
    for name, digits in (("accuracy", 5e-6), ("precision", 5e-4), ("recall", 5e-4), ("f1", 5e-3)):
        assert row[name] == pytest.approx(study[name], abs=digits)
    assert row["kappa"] == pytest.approx(study["judge_kappa"], abs=5e-3)
    for figure in ("accuracy", "precision", "recall", "f1", "kappa"):
        assert row[f"{figure}_low"] < row[figure] < row[f"{figure}_high"]
    raters = found["raters"].iloc[0]
    assert raters["unanimous"] == raters["fleiss"] == 1.0
    assert len(found["pairs"]) == 7  # the raters' average with the judge is one
    assert set(found["ratings"].columns) >= {"item", "a", "b", "c", "majority", "judge"}


def test_what_decides_nothing_is_counted_and_left_out():
    given = {
        "a": {"i0": "yes", "i1": "yes", "i2": "other", "i3": "yes"},
        "b": {"i0": "yes", "i1": "no", "i2": "other", "i3": "yes"},
    }
    found = score(given, key(5, ["yes", "yes", "yes", "", "no"]))
    row = found["judge"].iloc[0]
    assert (row["n"], row["split"], row["open"]) == (1, 2, 1)
    assert found["raters"].iloc[0]["other"] == 2
    assert len(found["ratings"]) == 4, "an item that nobody rated is in no table"
    with pytest.raises(InputError, match="no cell of these sheets"):
        score({"a": {}}, key(1, ["yes"]))


def test_an_answer_that_decides_nothing_is_no_label(tmp_path):
    given = {"i0": "yes", "i1": "no", "i2": "other"}
    labels = score({"ann": given}, key(3, ["yes", "no", "yes"]), 50)["labels"]
    assert labels["answer"].tolist() == [True, False, None]
    labels.to_csv(tmp_path / "labels.csv", index=False)
    read = read_labels([tmp_path / "labels.csv"])
    assert len(read) == 2 and set(read["judge"]) == {"j"} and set(read["phrasing"]) == {"A"}


def test_published_figures_follow_from_each_other_or_a_note_says_so():
    rows = published_table(PAPER, "performance")
    assert len(rows) == 8
    assert rows["accuracy"].max() == 0.557
    noted = set(published_notes(PAPER))
    for key, printed, computed, tolerance in followed_figures():
        assert abs(printed - computed) <= tolerance or key in noted, key


def followed_figures():
    """Every published figure that follows from others, with the residual that rounding leaves."""
    facts = published_facts(PAPER)
    study, count = facts["study"], facts["study"]["confusion"]
    both = count["true_positive"] + count["true_negative"]
    judge_yes = count["true_positive"] + count["false_positive"]
    people_yes = count["true_positive"] + count["false_negative"]
    n = study["items"]
    expected = (judge_yes * people_yes + (n - judge_yes) * (n - people_yes)) / n**2
    frontier = published_table(PAPER, "performance")["accuracy"].iloc[:3].mean()
    statistics = facts["statistics"]
    return [
        ("study:accuracy", study["accuracy"], both / n, 0.005),
        ("study:precision", study["precision"], count["true_positive"] / judge_yes, 0.0005),
        ("study:recall", study["recall"], count["true_positive"] / people_yes, 0.0005),
        ("study:f1", study["f1"], 2 * count["true_positive"] / (judge_yes + people_yes), 0.005),
        ("study:judge_kappa", study["judge_kappa"], (both / n - expected) / (1 - expected), 0.005),
        ("frontier_accuracy", facts["frontier_accuracy"], float(frontier), 0.00005),
        ("domains", 1.0, sum(facts["domains"].values()), 0.0035),
        ("graphs", 1.0, sum(facts["graphs"].values()), 0.003),
        (
            "statistics:clauses_per_sentence",
            statistics["clauses_per_sentence"],
            statistics["clauses_per_story"] / statistics["sentences_per_story"],
            0.1,
        ),
    ]


def test_a_reading_sheet_shows_whole_stories_and_scores_readers_against_the_proof(
    quick_contrafact, tmp_path
):
    made = quick_contrafact("cobe", "synth", "--n", "24", "--seed", "6", "--out", "few.jsonl")
    assert made.returncode == 0, made.stderr
    words = ("cobe", "study", "sample", "few.jsonl", "--sheet", "reading", "--n", "9")
    drawn = quick_contrafact(*words, "--out", "sheet.csv")
    assert drawn.returncode == 0, drawn.stderr
    sheet = pd.read_csv(tmp_path / "sheet.csv", dtype=str, keep_default_na=False)
    key = pd.read_csv(tmp_path / "sheet.key.csv", dtype=str).set_index("item")
    assert list(sheet.columns[:4]) == ["item", "story", "query", "fact"]
    together = key.loc[sheet["item"], "story_id"].tolist()
    assert len(set(together)) == 9 and "sheet.csv: 9 stories\n" in drawn.stdout
    turns = sum(one != other for one, other in itertools.pairwise(together))
    assert turns == 8  # a story's facts stand together
    assert set(key["due"]) >= {"stays", "changes", "up"} and "due" not in sheet
    words = ("cobe", "study", "sample", "few.jsonl", "--sheet", "reading", "--n", "30")
    every = quick_contrafact(*words, "--out", "all.csv")
    assert "all.csv: 24 stories\n  there are only 24 stories: all are drawn" in every.stdout
    sheet["outcome"] = key.loc[sheet["item"], "due"].tolist()
    sheet.loc[0, "outcome"] = "changes" if sheet.loc[0, "outcome"] == "stays" else "stays"
    sheet.loc[0, "sound"] = "odd"
    sheet.to_csv(tmp_path / "ann.csv", index=False)
    words = ("cobe", "study", "score", "ann.csv", "--key", "sheet.key.csv", "--out", "figures")
    scored = quick_contrafact(*words)
    assert scored.returncode == 0, scored.stderr
    found = pd.read_csv(tmp_path / "figures" / "readers.csv").iloc[0]
    assert found["facts"] == pytest.approx(1 - 1 / len(sheet))
    assert found["stories"] == pytest.approx(8 / 9)
    assert found["odd"] == 1.0

    sheet.to_excel(tmp_path / "ben.xlsx", index=False, sheet_name="data")
    book = openpyxl.load_workbook(tmp_path / "ben.xlsx")
    for row in (3, 4):  # a view of the sheet that was saved with it
        book["data"].row_dimensions[row].hidden = True
    book.save(tmp_path / "ben.xlsx")
    words = ("cobe", "study", "score", "ben.xlsx", "--key", "sheet.key.csv", "--out", "of-ben")
    scored = quick_contrafact(*words)
    assert scored.returncode == 0, scored.stderr
    assert pd.read_csv(tmp_path / "of-ben" / "readers.csv").iloc[0]["n"] == len(sheet)
