"""The one runner of rows: files and rows in memory, journals of now and of before."""

import asyncio
import json

import pandas as pd
import pytest
from tests.support.lines import read_lines, write_lines

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.bucket import BucketStage
from contrafact.families.rfc.pipeline.label import LabelStage
from contrafact.families.rfc.pipeline.rewrite_stage import RewriteStage
from contrafact.files.journal import Journal
from contrafact.models.calls import counted_calls
from contrafact.models.kept import kept_piece
from contrafact.stages.run import Executor, run_stage
from contrafact.stages.stage import KEPT, REJECTS

NEWS = [
    {"title": "Sales may fall 3%", "summary": "Osmery Foods blames soft demand."},
    {"title": "Museum opens", "summary": "Visitors came."},
    {"title": "Sales may fall 3%", "summary": "Osmery Foods blames soft demand."},
]


@pytest.mark.parametrize("kind", [list, pd.DataFrame])
def test_rows_in_memory_become_what_a_file_of_them_does(tmp_path, kind):
    made = run_stage(BucketStage(), kind(NEWS)).made
    out = tmp_path / "out.jsonl"
    counts = run_stage(BucketStage(), write_lines(tmp_path / "in.jsonl", NEWS), out).counts
    assert made.table(KEPT) == read_lines(out)
    assert made.table(REJECTS) == read_lines(tmp_path / "out.jsonl.dropped.jsonl")
    assert made.counts == counts and len(made.events) == 8


def test_columns_of_a_frame_may_be_named_by_numbers():
    frame = pd.DataFrame([{**row, 0: 7, 2.5: "x"} for row in NEWS])
    made = run_stage(BucketStage(), frame).made
    for row in (*made.table(KEPT), *made.table(REJECTS)):
        assert (row[0], row[2.5]) == (7, "x")


@pytest.mark.parametrize(
    ("stage", "row", "path", "key", "piece"),
    [
        (
            LabelStage("one", "mockllm/model"),
            {"id": "n1", "title": "A ferry gained 8%", "candidates": []},
            "out.jsonl.answers.jsonl",
            "n1",
            "flipping",
        ),
        (
            RewriteStage(),
            NEWS[0] | {"manipulation": "numerical"},
            ".out.jsonl.part",
            "0",
            {"rewritten": None, "reason": "no figure"},
        ),
    ],
)
def test_a_journal_of_an_earlier_version_is_refused_and_kept(
    tmp_path, stage, row, path, key, piece
):
    given, out = write_lines(tmp_path / "in.jsonl", [row]), tmp_path / "out.jsonl"
    facts = stage.answer_facts()
    if stage.journal == "output":
        run_stage(stage, given, tmp_path / "whole.jsonl")
        facts = json.loads((tmp_path / ".whole.jsonl.done").read_text())
    with Journal(tmp_path / path, facts) as journal:
        journal.keep(key, piece)
    before = (tmp_path / path).read_bytes()
    with pytest.raises(InputError, match="earlier version"):
        run_stage(stage, given, out)
    assert (tmp_path / path).read_bytes() == before and not out.exists()


def test_a_bad_row_is_refused_before_the_first_call(tmp_path, monkeypatch):
    monkeypatch.setattr("contrafact.models.opening.open_model", lambda *_, **__: 1 / 0)
    rows = [
        {"id": "n1", "title": "A ferry gained 8%", "candidates": []},
        {"id": "n2", "title": "Another ferry gained 8%", "candidates": "causal"},
    ]
    with pytest.raises(InputError, match=r"in\.jsonl:2: "):
        path = write_lines(tmp_path / "in.jsonl", rows)
        run_stage(LabelStage("one", "mockllm/model"), path, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_piece_that_no_request_makes_is_kept_whole(tmp_path):
    made = []

    async def work():
        made.append(1)
        return {"risk": "It falls."}

    for _ in range(2):
        with Journal(tmp_path / "j.jsonl", {}) as journal, counted_calls(journal):
            assert asyncio.run(kept_piece(["scenario", "a"], work)) == {"risk": "It falls."}
    assert len(made) == 1
    asyncio.run(kept_piece(["scenario", "a"], work))  # no journal: nothing is kept
    assert len(made) == 2


def test_an_engine_that_judges_no_outputs_is_refused_in_one_line():
    def spark(*_):
        raise AssertionError("no stage was to run")

    with pytest.raises(InputError, match="--engine spark judges no outputs; leave --engine out"):
        Executor("spark", spark, {}).score("any", {})
