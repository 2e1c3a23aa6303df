"""Pairs are judged in partitions as in one process: the same rows, the same counts."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from tests.support.stages import made_by, part_rows

from contrafact.families.rfc.judging import JudgeSettings
from contrafact.families.rfc.pipeline.check import CheckStage
from contrafact.stages.stage import KEPT

sys.path.append(str(Path(__file__).parents[1] / "support"))
from pair_judge import made_pairs

JUDGE = "openai-api/fake/labels"


@pytest.fixture
def known(pair_judge, monkeypatch):
    """The keys of the judges, in this process."""
    pair_judge.make_known(monkeypatch)
    return pair_judge


def test_bad_rows_and_pairs_whose_call_fails_are_failures_and_the_others_are_kept(known):
    rows = made_pairs(16)
    rows[1]["original"] = " "
    for side in ("original", "rewritten"):
        rows[2][side] += " It bought a doomed rival."  # the server never answers that
    settings = JudgeSettings((JUDGE,), bounds={"max_retries": 0})
    made = made_by(CheckStage(settings=settings), rows)
    assert made.retry == 1
    reasons = {row["index"]: row["reason"] for row in made.rows()["failures"]}
    assert sorted(reasons) == [1, 2] and "the call failed" in reasons[2]
    assert [row["index"] for row in made.rows()[KEPT]] == [0, *range(3, 16)]
    assert made.counts["flipping", "signs", "011"] == 1
    assert made.counts["flipping", "signs", "111"] == 3
    assert made.counts["numerical", "signs", "facts"] == 4
    assert made.counts["causal", "fail"] == 0


@pytest.mark.slow
def test_a_cluster_and_one_process_write_the_same_checks(quick_contrafact, known, tmp_path):
    pairs = made_pairs(96)
    folder = tmp_path / "in"
    folder.mkdir()
    pd.DataFrame(pairs).to_parquet(folder / "pairs.parquet")
    command = ["rfc", "check", "in", "--judge", JUDGE, "--engine", "ray", "--partition-rows", "16"]
    command += ["--out", "out"]
    done = quick_contrafact(*command, env=known.environment)
    assert done.returncode == 1, done.stderr  # faulty ones failed
    asked = known.stats()["answered"]
    assert len(asked) == 72 and set(asked.values()) == {1}
    made = [
        {name: value for name, value in row.items() if name != "index"}
        for row in part_rows(tmp_path / "out")
    ]
    (tmp_path / "pairs.json").write_text(json.dumps(pairs), encoding="utf-8")
    alone = quick_contrafact(
        "rfc", "check", "pairs.json", "--out", "c.jsonl", "--judge", JUDGE, env=known.environment
    )
    expected = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert made == expected
    table = alone.stderr[alone.stderr.index("Pairs by manipulation") :].split()
    assert table == done.stderr[done.stderr.index("Pairs by manipulation") :].split()[: len(table)]
    known.forget()
    again = quick_contrafact(*command, env=known.environment)
    assert again.returncode == 1 and not known.stats()["answered"]
