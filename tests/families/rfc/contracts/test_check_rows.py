"""Files of pairs are checked as they are read: in order, with bad rows in their places."""

import pytest
from tests.support.lines import read_lines, write_lines

from contrafact.families.rfc.pipeline.check import CheckStage
from contrafact.stages.run import run_stage
from contrafact.stages.stage import KEPT

PAIR = {
    "manipulation": "flipping",
    "original": "Norrick Steel shares rose 5% on Tuesday after it beat Q2 estimates.",
    "rewritten": "Norrick Steel shares fell 5% on Tuesday after it missed Q2 estimates.",
}


def test_checks_are_written_before_the_file_has_been_read(tmp_path, monkeypatch):
    monkeypatch.setattr("contrafact.stages.run.PART", 20)
    read, written = [], []

    def rows():
        for number in range(200):
            read.append(number)
            yield PAIR | {"id": str(number)}

    class Watched(CheckStage):
        def write(self, out, pieces, dialect=None):
            written.extend(len(read) for _ in pieces)

    run_stage(Watched(), rows(), tmp_path / "checks.jsonl")
    assert written == list(range(20, 201, 20))


@pytest.mark.parametrize("in_memory", [True, False])
def test_bad_rows_keep_their_places(tmp_path, monkeypatch, in_memory):
    monkeypatch.setattr("contrafact.stages.run.PART", 40)
    rows = [
        PAIR | {"id": str(number)} if number % 7 else {"id": str(number)} for number in range(150)
    ]
    if in_memory:
        result = run_stage(CheckStage(), rows)
        checks = result.made.table(KEPT)
    else:
        path, out = write_lines(tmp_path / "pairs.jsonl", rows), tmp_path / "checks.jsonl"
        result = run_stage(CheckStage(), path, out)
        checks = read_lines(out)
    assert [check["id"] for check in checks] == [row["id"] for row in rows]
    bad = [[one["rule"] for one in check["violations"]] == ["bad-row"] for check in checks]
    assert bad == [number % 7 == 0 for number in range(len(rows))]
    assert result.counts["flipping", "pairs"] == bad.count(False)
    assert len(result.bad) == 20 and result.bad[0].line == 1
