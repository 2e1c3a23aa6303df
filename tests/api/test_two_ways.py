"""Python and the command line answer alike: one table of cases, run both ways."""

import json

import pandas as pd
import pytest

import contrafact as cf

RISE = "Revenue rose 12 percent to $96 million in the quarter."
FALL = "Profit fell 9 percent to $4 million in the quarter."
DULL = "No figures are in here."
NUMERICAL = {"manipulation": "numerical"}
PAIR = {**NUMERICAL, "original": RISE, "rewritten": RISE.replace("12", "20").replace("96", "160")}
SPANISH = "El beneficio neto subió un 12,4 % hasta 1.250 millones de euros en el trimestre."
BLANK = {**PAIR, "rewritten": ""}

CASES = {
    "ids are text": ("check", [{"id": "a", **PAIR}], [True]),
    "ids are numbers": ("check", [{"id": 1, **PAIR}, {"id": 2, **BLANK}], [True, False]),
    "ids are fractions": ("check", [{"id": 1.0, **PAIR}, {"id": 2.5, **PAIR}], [True, True]),
    "an id comes twice": ("check", [{"id": 1, **PAIR}, {"id": 1, **PAIR}], [True, False]),
    "a manipulation is unknown": ("check", [{"id": "a", **PAIR, "manipulation": "x"}], [False]),
    "a language is not read": (
        "check",
        [{"id": "a", **NUMERICAL, "original": SPANISH, "rewritten": SPANISH.replace("12", "23")}],
        [None],
    ),
    "all are rewritten": ("rewrite", [{"title": RISE, **NUMERICAL}], [True]),
    "one is dropped": (
        "rewrite",
        [{"title": one, **NUMERICAL} for one in (RISE, DULL, FALL)],
        [True, True],
    ),
    "all are dropped": ("rewrite", [{"title": DULL, **NUMERICAL}], []),
    "a row repeats another": ("rewrite", [{"title": RISE, **NUMERICAL}] * 2, "repeats line 1"),
    "no manipulation": ("rewrite", [{"title": RISE}], "no manipulation"),
    "no title": ("rewrite", [NUMERICAL], "no column 'title'"),
}


@pytest.mark.parametrize(("verb", "rows", "passed"), CASES.values(), ids=CASES)
def test_both_answer_alike(quick_contrafact, tmp_path, verb, rows, passed):
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = quick_contrafact("rfc", verb, "in.jsonl", "--out", "out.jsonl")
    function = getattr(cf, verb)
    if isinstance(passed, str):
        assert done.returncode == 2 and passed in done.stderr
        with pytest.raises(cf.InputError, match=passed):
            function(pd.DataFrame(rows))
        return
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    for given in (rows, pd.DataFrame(rows), str(tmp_path / "in.jsonl")):
        items = function(given).items
        assert items["passed"].tolist() == passed == [row["passed"] for row in written]
        assert items["id"].tolist() == [row["id"] for row in written]


def test_pairs_and_dropped_rows_keep_the_frames_index(tmp_path):
    frame = pd.DataFrame({"title": [RISE, DULL, FALL], **NUMERICAL}, index=[10, 20, 30])
    for out in (None, tmp_path / "p.jsonl", tmp_path / "p.jsonl"):  # the last is finished
        made = cf.rewrite(frame, seed=1, out=out)
        assert made.items.index.tolist() == [10, 30]
        assert made.dropped.index.tolist() == [20]
        assert frame.loc[made.items.index, "title"].tolist() == made.items["original"].tolist()
    named = frame.set_index(pd.MultiIndex.from_product([["x"], list("abc")], names=["desk", "n"]))
    assert cf.rewrite(named, seed=1).items.index.tolist() == [("x", "a"), ("x", "c")]
    assert cf.rewrite(named, seed=1).items.index.names == ["desk", "n"]


def test_texts_are_rewritten_by_their_figures():
    texts = [RISE, DULL, FALL]
    found = cf.rewrite(texts, seed=1)
    assert found.items["original"].tolist() == [RISE, FALL]
    assert found.items["manipulation"].unique().tolist() == ["numerical"]
    series = cf.rewrite(pd.Series(texts, index=list("abc"), name="story"), seed=1)
    assert series.items.index.tolist() == ["a", "c"]
    assert series.items["rewritten"].tolist() == found.items["rewritten"].tolist()
