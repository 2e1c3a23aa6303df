"""What goes in and comes out: tables of every library, and values that are wrong."""

import inspect
import sys
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

import contrafact as cf
from contrafact.exams import ExamOptions
from contrafact.families.finforce.commands.generate import GenerateOptions
from contrafact.families.rfc.commands.check import CheckOptions
from contrafact.families.rfc.commands.rewrite import RewriteOptions
from contrafact.options import parameters_of
from contrafact.runs.config import config_model, score_model

sys.path.append(str(Path(__file__).parents[1] / "support"))

PAIR = {
    "manipulation": "numerical",
    "original": "Tern & Vale shares rose 5% on Monday.",
    "rewritten": "Tern & Vale shares rose 9% on Monday.",
}


def test_what_comes_out_has_the_callers_kind_and_index():
    frame = pd.DataFrame([PAIR, {**PAIR, "rewritten": "Tern sank."}], index=["x", "y"])
    found = cf.check(frame).items
    assert found.index.tolist() == ["x", "y"] and found["passed"].tolist() == [True, False]
    rows = frame.to_dict("records")
    for given in (rows, (row for row in rows)):
        assert cf.check(given).items["passed"].tolist() == [True, False]
    arrow = cf.check(pa.Table.from_pylist(rows))
    assert isinstance(arrow.items, pa.Table) and arrow.items["passed"].to_pylist() == [True, False]
    assert arrow.items["violations"].to_pylist()[1][0]["rule"]
    assert "<table" in arrow.report().html


def test_polars_goes_in_and_comes_out_lazy_or_not():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame([PAIR])
    for given in (frame, frame.lazy()):
        found = cf.check(given)
        assert isinstance(found.items, polars.DataFrame)
        assert found.items["passed"].to_list() == [True]
        assert isinstance(found.dropped, polars.DataFrame) and found.dropped.columns == ["reason"]


def test_columns_are_named_and_doubled_ones_refused(tmp_path):
    other = {"kind": PAIR["manipulation"], "before": PAIR["original"], "after": PAIR["rewritten"]}
    columns = {"manipulation": "kind", "original": "before", "rewritten": "after"}
    frame = pd.DataFrame([other])
    frame.assign(id="a").to_csv(tmp_path / "pairs.csv", index=False)
    for data in (frame, tmp_path / "pairs.csv"):
        assert cf.check(data, columns=columns).items["passed"].tolist() == [True]
    with pytest.raises(cf.InputError, match="'befor'"):
        cf.check(frame, columns={**columns, "original": "befor"})
    frame.columns = ["kind", "before", "before"]
    with pytest.raises(cf.InputError, match="data: two columns are called 'before'"):
        cf.check(frame)
    with pytest.raises(cf.InputError, match="data:2: the row is int"):
        cf.check([other, 3])


def test_what_is_dropped_says_why():
    article = {"title": "Tern & Vale", "summary": "They met.", "manipulation": "numerical"}
    found = cf.rewrite(nw.from_native(pa.Table.from_pylist([article])).to_native())
    assert found.items.num_rows == 0 and "rewritten" in found.items.column_names
    assert found.dropped["reason"].to_pylist()[0]


ARTICLE = {"title": PAIR["original"], "manipulation": "numerical"}
ODD = [
    (lambda: cf.check(), "check: missing a required argument: 'data'"),
    (lambda: cf.check([PAIR], "a/b"), "check: too many positional arguments"),
    (lambda: cf.synth(1, sed=3), "synth has no option 'sed'; did you mean 'seed'?"),
    (lambda: cf.stories(difficulty={"facts": "x"}), "facts: must be a list"),
    (lambda: cf.check(["a", "b"]), "data: no column 'manipulation' (found: text); name it"),
    (lambda: cf.check([{1: "a"}]), "data: no column 'manipulation' (found: 1); name it"),
    (lambda: cf.check([PAIR], columns={"orignal": "x"}), "'orignal' is not a field"),
    (lambda: cf.check([PAIR, {**PAIR, "original": b"x"}]), "data:2: 'original' is bytes"),
    (lambda: cf.check(pd.concat({"a": pd.DataFrame([PAIR])}, axis=1)), "columns of two levels"),
    (lambda: cf.check([PAIR], out="x.csv"), "x.csv: the result is JSON Lines; name it .jsonl"),
    (lambda: cf.check({"original": ["a"]}), "data is dict, not a table"),
    (lambda: cf.check(pd.DataFrame(columns=list(PAIR))), "data has no rows"),
    (lambda: cf.check([PAIR, None]), "data:2: the row is NoneType"),
    (lambda: cf.rewrite([ARTICLE], out="x.xlsx"), "x.xlsx: the result is JSON Lines"),
    (lambda: cf.rewrite(pd.DataFrame([ARTICLE, {**ARTICLE, "title": float("nan")}])),
     "data:2: the title is empty"),
    (lambda: cf.generate("Oil rises today", model="a/b"), "give texts in a list"),
    (lambda: cf.generate([1, 2], model="a/b"), "data:1: the row is int"),
    (lambda: cf.agreement([{"item": 1, "ann": 1}]), "data: there is 1 rater"),
    (lambda: cf.synth(1, out="x.csv"), "x.csv: the result is JSON; name it .json"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), ODD, ids=[message for _, message in ODD])
def test_what_a_new_user_may_hand_in_is_told_in_one_line(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(cf.InputError) as caught:
        call()
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_items_may_be_a_frames_index_and_texts_a_category():
    frame = pd.DataFrame({"item": ["a", "b"], "ann": [1, 0], "bob": [1, 1]}).set_index("item")
    assert cf.agreement(frame).items["item"].tolist() == ["b"]
    pairs = pd.DataFrame([PAIR]).astype("category")
    pairs.index = pd.MultiIndex.from_tuples([("x", 1)], names=["desk", "n"])
    found = cf.check(pairs).items
    assert found["passed"].tolist() == [True] and found.index.names == ["desk", "n"]


DATA = [{"headline": "Oil rises", "id": "a", **PAIR}]
# Every function, called as it should be.
CALLS: dict[str, dict[str, Any]] = {
    "agreement": {"data": [{"item": 1, "ann": 1, "bob": 1}, {"item": 2, "ann": 0, "bob": 0}]},
    "check": {"data": DATA, "judge": "x/y"},
    "correct": {"judged": "nowhere", "exam": "x.json"},
    "exam": {"judge": "x/y", "family": "cobe"},
    "generate": {"data": DATA, "model": "x/y"},
    "load": {"source": "nowhere"},
    "perplexity": {"data": ["a"]},
    "rewrite": {"data": DATA, "model": "x/y"},
    "run": {"task": "finforce", "model": "x/y"},
    "score": {"task": "finforce", "data": DATA},
    "stories": {},
    "synth": {"n": 1},
    "whatif": {"model": "x", "factual_prompt": "a", "counterfactual_prompt": "b"},
}
MODELS = {
    "check": CheckOptions, "exam": ExamOptions, "generate": GenerateOptions,
    "rewrite": RewriteOptions,
}  # fmt: skip
RUNS = {"run": config_model, "score": score_model}
OUT_OF_RANGE = {
    "n": (0, -3, True), "limit": (0, -1, True), "seed": (-1, True), "attempts": (0, -1, True),
    "level": (0, 1, 95), "temperature": (-1, "hot"), "top_p": (2,), "max_tokens": (0,),
    "samples": (0,), "repeats": (0,), "timeout": (0,), "max_connections": (0,),
    "noise": ("nope",), "form": ("nope",), "difficulty": (9,),
    "task": ("no-such-task",), "family": ("none",),
}  # fmt: skip


def _parameters(name):
    verb = getattr(cf, name)
    for one in inspect.signature(verb).parameters.values():
        if one.kind is not one.VAR_KEYWORD:
            yield one.name
    if name in MODELS:
        left_out = ("file", "judge_arg", "estimate", "yes")
        yield from (p.name for p in parameters_of(MODELS[name]) if p.name not in left_out)
    if name in RUNS:
        left_out = ("score", "run", "task", "data")
        yield from (p for p in RUNS[name]("finforce").model_fields if p not in left_out)


@pytest.mark.parametrize(
    "name", sorted(set(cf.__all__) - {"__version__", "InputError", "ModelError"})
)
def test_a_wrong_value_of_any_parameter_is_one_line_that_names_it(name, tmp_path, monkeypatch):
    assert {*CALLS} == {*cf.__all__} - {"__version__", "InputError", "ModelError"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("inspect_ai.model.Model.generate", None)  # no model is called
    for parameter in dict.fromkeys(_parameters(name)):
        for wrong in (object(), *OUT_OF_RANGE.get(parameter, ())):
            with pytest.raises(cf.InputError) as caught:
                getattr(cf, name)(**{**CALLS[name], parameter: wrong})
            message = str(caught.value)
            assert parameter in message and "\n" not in message, (parameter, wrong, message)
