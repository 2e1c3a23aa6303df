"""The human study: what is drawn, what sheets may hold, and the paper's own figures recomputed."""

import csv
import math

import numpy as np
import pandas as pd
import pytest
from contrafact.families.cobe.study_sheet import (
    Answers,
    KeyItem,
    read_answers,
    read_key,
    write_study,
)

from contrafact.errors import InputError
from contrafact.families.cobe.published import (
    published_facts,
    published_notes,
    published_rows,
    residuals,
)
from contrafact.families.cobe.study import draw_study, majority_of, score_study


def rng():
    return np.random.default_rng(0)


def items(stories=20, systems=("a", "b")):
    return pd.DataFrame(
        [
            {
                "system": system, "model": f"m/{system}", "method": "plain", "judge": "j/judge",
                "draw": 1, "sample_id": f"{story}v1", "phrasing": phrasing, "domain": "Engineering",
                "graph": None, "story": f"Story {story}.", "query": f"Query {phrasing}?",
                "text": f"=Response {system} {story} {phrasing}",
                "correct": [1.0, 0.0, math.nan][(story + ord(phrasing)) % 3],
            }
            for system in systems for story in range(stories) for phrasing in "ABC"
        ]
    )  # fmt: skip


def key(n, verdicts):
    return [
        KeyItem(
            item=f"i{place}", system="s", model="m", method="plain", judge="j", draw="1",
            sample_id=f"{place}v1", phrasing="A", domain="", graph="",
            judge_verdict=verdicts[place], probability=0.5, check="",
        )
        for place in range(n)
    ]  # fmt: skip


def test_every_system_has_its_share_and_stories_come_once_before_twice():
    rows, drawn = draw_study(items(), 30, rng())
    assert len(rows) == len(drawn) == 30
    for system in "ab":
        own = [item.sample_id for item in drawn if item.system == system]
        assert len(own) == 15
        assert len(set(own)) == 15
    _, everything = draw_study(items(), 500, rng())
    assert len(everything) == 120
    assert {item.judge_verdict for item in everything} == {"yes", "no", ""}
    shown = " ".join(value for row in rows for value in row.values())
    assert "m/a" not in shown
    assert "judge" not in shown
    with pytest.raises(InputError, match="cannot show every system"):
        draw_study(items(), 1, rng())
    with pytest.raises(InputError, match="run them with --judge"):
        draw_study(items().assign(judge=None), 10, rng())


def fill(path, answers, **extra):
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row, answer in zip(rows, answers, strict=False):
        row |= {"judgement": answer, **extra}
    target = path.with_name(f"{extra.get('comment', 'ana')}.csv")
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return target


def test_sheets_come_back_with_answers_problems_and_blanks(tmp_path):
    sheet = tmp_path / "sheet.csv"
    rows, drawn = draw_study(items(), 6, rng())
    key_path, guidelines = write_study(rows, drawn, sheet)
    assert "'=Response" in sheet.read_text(encoding="utf-8-sig"), "no spreadsheet takes a formula"
    assert "Other" in guidelines.read_text(encoding="utf-8")
    assert read_key(key_path) == drawn
    write_study(rows, drawn, sheet)  # the same again changes nothing
    with pytest.raises(InputError, match="another study under this name"):
        write_study(rows[:3], drawn[:3], sheet)
    filled = fill(sheet, ["Yes", "no", "OTHER", "maybe", ""])
    answers = read_answers([filled], drawn)
    assert list(answers.given["ana"].values()) == ["yes", "no", "other"]
    assert answers.blanks == 2
    assert any("'maybe', not Yes, No or Other" in told for told in answers.problems)
    text = filled.read_text(encoding="utf-8").replace("Story", "Tale", 1)
    filled.write_text(text, encoding="utf-8")
    assert any("another text than was drawn" in p for p in read_answers([filled], drawn).problems)
    with pytest.raises(InputError, match="twice"):
        read_answers([filled, filled], drawn)
    with pytest.raises(InputError, match="no column 'item'"):
        read_key(guidelines_as_csv(tmp_path))


def guidelines_as_csv(folder):
    path = folder / "other.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("answers", "majority"),
    [
        (["yes", "yes", "no"], "yes"),
        (["yes", "no"], None),
        (["yes", "no", "other"], None),
        (["other", "other", "no"], "other"),
        (["no"], "no"),
        ([], None),
    ],
)
def test_a_majority_is_more_than_half(answers, majority):
    assert majority_of(answers) == majority


def test_the_papers_confusion_gives_the_papers_figures():
    cells = [("yes", "yes")] * 46 + [("no", "yes")] * 2 + [("yes", "no")] * 21 + [("no", "no")] * 31
    answers = Answers(
        given={name: {f"i{p}": m for p, (m, _) in enumerate(cells)} for name in ("a", "b", "c")}
    )
    found = score_study(answers, key(100, [judge for _, judge in cells]), rng(), resamples=500)
    row = found.judge.iloc[0]
    assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (46, 2, 21, 31)
    facts = published_facts().study
    assert row["accuracy"] == pytest.approx(facts.accuracy)
    assert row["precision"] == pytest.approx(facts.precision, abs=5e-4)
    assert row["recall"] == pytest.approx(facts.recall, abs=5e-4)
    assert row["f1"] == pytest.approx(facts.f1, abs=5e-3)
    assert row["kappa"] == pytest.approx(facts.judge_kappa, abs=5e-3)
    for figure in ("accuracy", "precision", "recall", "f1", "kappa"):
        assert row[f"{figure}_low"] < row[figure] < row[f"{figure}_high"]
    raters = found.raters.iloc[0]
    assert raters["unanimous"] == raters["fleiss"] == 1.0
    assert len(found.pairs) == 6
    assert set(found.labels.columns) >= {"item", "a", "b", "c", "majority", "judge"}


def test_what_decides_nothing_is_counted_and_left_out():
    given = {
        "a": {"i0": "yes", "i1": "yes", "i2": "other", "i3": "yes"},
        "b": {"i0": "yes", "i1": "no", "i2": "other", "i3": "yes"},
    }
    found = score_study(Answers(given=given), key(5, ["yes", "yes", "yes", "", "no"]), rng())
    row = found.judge.iloc[0]
    assert (row["n"], row["split"], row["open"]) == (1, 2, 1)
    assert found.raters.iloc[0]["other"] == 2
    assert len(found.labels) == 4, "an item that nobody rated is in no table"
    with pytest.raises(InputError, match="no cell of these sheets"):
        score_study(Answers(given={"a": {}}), key(1, ["yes"]), rng())


def test_fleiss_kappa_is_that_of_statsmodels():
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    random = rng()
    table = random.choice(["yes", "no", "other"], size=(40, 3), p=[0.5, 0.4, 0.1])
    given = {f"r{c}": {f"i{r}": str(table[r, c]) for r in range(40)} for c in range(3)}
    found = score_study(Answers(given=given), key(40, ["yes"] * 40), rng(), resamples=200)
    counts, _ = aggregate_raters(table)
    assert found.raters.iloc[0]["fleiss"] == pytest.approx(fleiss_kappa(counts))


def test_published_figures_follow_from_each_other_or_a_note_says_so():
    rows = published_rows()
    assert len(rows) == 8
    assert rows["accuracy"].max() == 0.557
    noted = {note.key for note in published_notes()}
    for row in residuals():
        assert abs(row["residual"]) <= row["tolerance"] or row["key"] in noted, row
