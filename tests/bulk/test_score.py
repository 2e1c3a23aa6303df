"""Outputs are judged in partitions as in one process: the same rows of the same tables."""

import json
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pytest
from tests.support.stages import made_by, part_rows

from contrafact.errors import InputError
from contrafact.runs.items import VOTES
from contrafact.stages.stage import KEPT, REJECTS, InputRow
from contrafact_ray.run import run_on_ray
from contrafact_ray.score import ScoreStage
from contrafact_ray.tables import from_bytes, part_bytes

SAMPLES = Path(__file__).parents[2] / "src" / "contrafact" / "families"
TITLES = ("Lathe maker {n} cuts its outlook", "Port {n} reopens", "Regulator fines bank {n}")


def wide() -> list[dict]:
    """Both sides of a headline in a row; some rows cannot be used, one comes again otherwise."""
    rows = [
        {
            "headline": TITLES[n % 3].format(n=n),
            "risk_counterfactual": f"Rivals of firm {n} follow as lenders call in loans",
            "opportunity_counterfactual": f"Orders of firm {n} return as profit rises",
        }
        for n in range(20)
    ]
    rows[5]["headline"] = ""
    rows[7] = {**rows[0], "risk_counterfactual": "Another risk comes to light at the maker"}
    rows[9]["risk_counterfactual"] = None
    rows[11] = dict(rows[2])
    return rows


def long() -> list[dict]:
    """A side a row, all risks first, so that no partition has both sides of a headline."""
    return [
        {"headline": row["headline"], "side": side, "text": row[f"{side}_counterfactual"]}
        for side in ("risk", "opportunity")
        for row in wide()[:4]
    ]


def edits() -> list[dict]:
    stories = json.loads((SAMPLES / "cobe" / "samples" / "stories.json").read_text())[:3]
    said = ("It held.", "The bridge would have stood.", "")
    return [
        {**story, "phrasing": phrasing, "response": said[at]}
        for at, story in enumerate(stories)
        for phrasing in "ABC"
    ]


def labels() -> list[dict]:
    lines = (SAMPLES / "rfc" / "samples" / "pairs.jsonl").read_text().splitlines()[:4]
    return [
        {**pair, "id": f"{pair['id']}-{gold}", "label": label, "pair_id": pair["id"]}
        for pair in map(json.loads, lines)
        for gold, label in (("true", "true"), ("false", "perhaps"))
    ]


def in_partitions(stage: ScoreStage, rows: list[dict], size: int) -> dict[str, list[dict]]:
    """What the stage makes of rows, partition by partition, repeated ones marked as by a shuffle.

    Parts are written as Parquet and read back.
    """
    first: dict[str, int] = {}
    repeats = {}
    for index, row in enumerate(rows):
        key = stage.key(InputRow(index, row))
        known = index if key is None else first.setdefault(key, index)
        repeats |= {} if known == index else {index: known}
    tables = made_by(stage, rows, size=size, repeats=repeats).rows()
    return {name: list(from_bytes(part_bytes(found))) for name, found in tables.items()}


def assert_same(found: list[dict], expected: pd.DataFrame) -> None:
    frame = pd.DataFrame(found).drop(columns="index")
    assert set(frame) == set(expected)
    keys = [name for name in ("system", "sample_id", "draw", "side", "criterion", "judge")
            if name in frame]  # fmt: skip
    pd.testing.assert_frame_equal(
        frame.sort_values(keys, ignore_index=True)[list(expected)].astype(object).fillna("none"),
        expected.sort_values(keys, ignore_index=True).astype(object).fillna("none"),
    )


@pytest.mark.parametrize(
    ("task", "made", "judges"),
    [
        ("finforce", wide, ("service",)),
        ("finforce", long, ()),
        ("cobe", edits, ("verifier/proof",)),
        ("rfc-detect", labels, ()),
    ],
)
@pytest.mark.slow
def test_the_tables_are_those_of_a_run(
    quick_contrafact, service, tmp_path, monkeypatch, task, made, judges
):
    service.make_known(monkeypatch)
    judges = tuple(service.judge if one == "service" else one for one in judges)
    rows = made()
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", task, "o.jsonl", "--out", "run", "--yes"]
    command += [word for one in judges for word in ("--judge", one)]
    command += ["--fluency-model", "none"] if task == "finforce" else []
    quick_contrafact(*command, env=service.environment, code=0)
    found = in_partitions(ScoreStage(task, "o", given={"judges": judges}), rows, 4)
    expected = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert_same(found[KEPT], expected)
    if judges:
        assert_same(found[VOTES], pd.read_parquet(tmp_path / "run" / "verdicts.parquet"))
    reasons = {row["index"]: row["reason"] for row in found.get(REJECTS, [])}
    by_row = defaultdict(list)
    for row in found[KEPT]:
        by_row[row["index"]].append(row)
    assert not reasons.keys() & by_row.keys()
    assert sorted([*reasons, *by_row]) == list(range(len(rows)))  # no row is lost
    if made is wide:
        assert reasons == {
            5: "the headline is empty",
            7: "row 1 has an output for the same item",
            11: "row 3 has an output for the same item",
        }
        assert all(by_row[n][0]["headline"] == rows[n]["headline"] for n in by_row)


def test_a_judge_that_fails_makes_its_row_fail_and_is_asked_again(start_service, monkeypatch):
    rows = wide()[:4]
    rows[2]["risk_counterfactual"] = "The doomed firm"  # the server never answers that
    with start_service() as service:
        service.make_known(monkeypatch)
        bounds = {"max_retries": 0, "max_connections": 4}
        stage = ScoreStage("finforce", "o", given={"judges": (service.judge,), "transport": bounds})
        made = made_by(stage, rows)
    assert made.retry == 1
    (failed,) = made.rows()["failures"]
    assert failed["index"] == 2 and failed["reason"]
    assert {row["index"] for row in made.rows()[KEPT]} == {0, 1, 3}


@pytest.mark.slow
def test_rows_are_judged_on_a_cluster(quick_contrafact, nodes, tmp_path):
    rows = edits()
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "made.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["score", "cobe", "in", "--judge", "verifier/proof", "--engine", "ray"]
    command += ["--address", nodes.address, "--partition-rows", "5", "--out", "out"]
    done = quick_contrafact(*command, code=0)
    assert "9 rows in 2 partitions: 9 kept, 0 rejected, 0 failed" in done.stderr
    found = in_partitions(ScoreStage("cobe", "in", given={"judges": ("verifier/proof",)}), rows, 5)
    assert_same(part_rows(tmp_path / "out"), pd.DataFrame(found[KEPT]).drop(columns="index"))
    verdicts = pd.DataFrame(found[VOTES]).drop(columns="index")
    assert_same(part_rows(tmp_path / "out", "_verdicts"), verdicts)
    again = quick_contrafact(*command)
    assert "2 of the partitions were finished before" in again.stderr
    refused = quick_contrafact(*command, "--limit", "3")
    assert refused.returncode == 2 and "--limit has no effect with --engine ray" in refused.stderr


def test_settings_that_no_output_can_use_are_refused_before_the_work(tmp_path):
    (tmp_path / "o.jsonl").write_text(json.dumps(wide()[0]) + "\n")
    stage = ScoreStage("finforce", "o", columns={"nothing": "x"})
    with pytest.raises(InputError, match="there is no field 'nothing'"):
        run_on_ray(stage, str(tmp_path / "o.jsonl"), str(tmp_path / "out"), {})
    assert not (tmp_path / "out" / "_manifest").exists()
