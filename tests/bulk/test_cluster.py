"""Bulk work on a cluster of two nodes: the same rows as one process, whatever is killed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.support.stages import part_rows, plain, undisturbed

pytest.importorskip("ray")

from contrafact.families.rfc.pipeline.bucket import BucketStage
from contrafact.files.tables import read_rows
from contrafact.stages.stage import FAILURES, KEPT
from contrafact_ray.run import run_on_ray

pytestmark = pytest.mark.slow

TITLES = (
    "Osmery Foods {n} cuts its forecast by {n}% as sales may fall",
    "Museum {n} opens its doors to visitors",
    "Norrick Steel {n} beats estimates after revenue rose {n}%",
    "Court {n} may hear the case because of a surge in claims",
)
SIZED = pa.schema([(name, pa.string()) for name in ("headline", "description", "body")])


@pytest.fixture(autouse=True)
def _by_value():
    """Workers cannot import this file: what it defines goes to them whole."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def news(folder: Path, count: int = 60, files: int = 2) -> list[dict[str, str]]:
    """Articles in Parquet files; the last but one repeats the first."""
    rows = [
        {"headline": TITLES[n % 4].format(n=n), "description": f"What was said, part {n}."}
        for n in range(count)
    ]
    rows[-2] = dict(rows[0])
    folder.mkdir()
    each = -(-count // files)
    for number in range(files):
        part = rows[number * each : (number + 1) * each]
        parquet.write_table(pa.Table.from_pylist(part), folder / f"news-{number}.parquet")
    return rows


def rows_in(out: Path, table: str = "") -> list[dict]:
    return plain(part_rows(out, table))


@dataclass(frozen=True)
class Slow(BucketStage):
    """Takes a while for a partition, and writes down which process is at it."""

    folder: str = ""
    seconds: float = 0.4

    def facts(self):
        return {"folder": self.folder}

    def open(self, wrap, at_once):
        work = super().open(wrap, at_once)

        async def slow(rows):
            import ray

            mark = Path(self.folder) / f"{rows[0].index}.{os.getpid()}"
            mark.write_text(ray.get_runtime_context().get_node_id())
            time.sleep(self.seconds)
            return await work(rows)

        return slow


def test_articles_are_bucketed_as_by_one_process_and_once(quick_contrafact, nodes, tmp_path):
    given = news(tmp_path / "in")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    assert quick_contrafact("rfc", "bucket", "in.jsonl", "--out", "one.jsonl").returncode == 0
    command = ["rfc", "bucket", "in", "--engine", "ray", "--address", nodes.address]
    command += ["--partition-rows", "20", "--out", "out"]
    done = quick_contrafact(*command, code=0)
    assert "60 rows in 4 partitions" in done.stderr and "59 articles" in done.stderr
    for table, side in (("", ""), ("_rejects", ".dropped.jsonl"), ("_ledger", ".ledger.jsonl")):
        own = plain(row for _, row in read_rows(tmp_path / f"one.jsonl{side}"))
        found = rows_in(tmp_path / "out", table)
        assert [row["index"] for row in found] == sorted(row["index"] for row in found)
        bare = [{k: v for k, v in row.items() if k != "index"} for row in found]
        assert sorted(map(str, bare)) == sorted(map(str, own)) != []
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("part-*")}
    again = quick_contrafact(*command)
    assert again.returncode == 0 and "4 of the partitions were finished before" in again.stderr
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("part-*")}


def test_duplicates_are_those_of_one_process(quick_contrafact, nodes, tmp_path):
    given = news(tmp_path / "in")
    given[40] = {**given[4], "description": f"{given[4]['description']}!"}
    given[41] = {**given[10], "headline": given[10]["headline"].replace("beats", "beat")}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    (tmp_path / "old.jsonl").write_text(json.dumps(given[6]) + "\n")
    command = ["news", "dedupe", "in.jsonl", "--against", "old.jsonl", "--near", "0.7"]
    assert quick_contrafact(*command, "--out", "one.jsonl").returncode == 0
    command += ["--engine", "ray", "--address", nodes.address, "--partition-rows", "7"]
    quick_contrafact(*command, "--out", "out", code=0)
    for table, side in (("", ""), ("_rejects", ".dropped.jsonl")):
        own = [row for _, row in read_rows(tmp_path / f"one.jsonl{side}")]
        found = rows_in(tmp_path / "out", table)
        assert own and sorted(row["id"] for row in found) == sorted(row["id"] for row in own)
    kinds = {row["duplicate_of"] for row in found if "duplicate_of" in row}
    assert kinds == {row["duplicate_of"] for row in own if row.get("duplicate_of")}


@pytest.mark.parametrize("what", ["worker", "node"])
def test_a_killed_worker_or_node_costs_no_row_and_doubles_none(nodes, tmp_path, what):
    given = news(tmp_path / "in", 40)
    marks = tmp_path / "marks"
    marks.mkdir()
    node = nodes.add_node(num_cpus=1, object_store_memory=100 * 2**20) if what == "node" else None
    victims = []

    def kill() -> None:
        while not victims:
            for mark in list(marks.iterdir()):
                if node is None or mark.read_text() == node.node_id:
                    victims.append(int(mark.suffix[1:]))
                    break
            time.sleep(0.01)
        if node is None:
            os.kill(victims[0], signal.SIGKILL)
        else:
            nodes.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    stage = Slow(folder=str(marks))
    done = run_on_ray(stage, str(tmp_path / "in"), str(tmp_path / "out"), {"partition_rows": 4})
    killer.join(timeout=10)
    assert victims and done.rows[FAILURES] == 0 and done.given == 40
    begun = [mark.stem for mark in marks.iterdir()]
    assert len(begun) > len(set(begun)), "nothing was begun again: the kill came to nothing"
    found = [*rows_in(tmp_path / "out"), *rows_in(tmp_path / "out", "_rejects")]
    assert sorted(row["index"] for row in found) == list(range(40))
    assert rows_in(tmp_path / "out") == undisturbed(BucketStage(), given)[KEPT]


@dataclass(frozen=True)
class Measured(BucketStage):
    """Writes down how much memory each partition took at most, its reading included."""

    folder: str = ""

    def facts(self):
        return {"folder": self.folder}

    def open(self, wrap, at_once):
        work = super().open(wrap, at_once)

        async def measured(rows):
            made = await work(rows)
            Path(self.folder, str(rows[0].index)).write_text(str(most_memory()))
            return made

        return measured


def most_memory() -> int:
    """MiB that this process held at most since it was last asked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (most,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return most >> 10


def test_ten_times_the_rows_take_no_more_memory_and_none_is_lost(nodes, tmp_path):
    body = 4_000  # characters of a row that is passed on: at 10,000 rows 40 MB
    most, driver = {}, {}
    for size in (1_000, 10_000):
        folder = tmp_path / str(size)
        folder.mkdir()
        with parquet.ParquetWriter(folder / "in.parquet", SIZED) as writer:
            for at in range(0, size, 250):
                numbers = range(at, at + 250)
                columns = {
                    "headline": [TITLES[n % 4].format(n=n) for n in numbers],
                    "description": [f"What was said, part {n}." for n in numbers],
                    "body": [f"{n} {chr(97 + n % 26) * body}" for n in numbers],
                }
                writer.write_table(pa.Table.from_pydict(columns, schema=SIZED))
        marks = folder / "marks"
        marks.mkdir()
        most_memory()
        done = run_on_ray(
            Measured(folder=str(marks)),
            str(folder / "in.parquet"),
            str(folder / "out"),
            {"partition_rows": 250},
        )
        driver[size] = most_memory()
        most[size] = max(int(mark.read_text()) for mark in marks.iterdir())
        assert len(list(marks.iterdir())) == size // 250
        assert done.rows[FAILURES] == 0
        found = [*folder.glob("out/part-*"), *folder.glob("out/_rejects/part-*")]
        places = [n for part in found for n in parquet.read_table(part)["index"].to_pylist()]
        assert sorted(places) == list(range(size))
    assert most[10_000] < most[1_000] + 30, most
    assert driver[10_000] < driver[1_000] + 30, driver


def test_no_headline_is_asked_about_twice_though_calls_fail_and_the_driver_is_killed(
    start_service, tmp_path
):
    # On a cluster that the command starts, which ends with it, however it ends.
    rows = [{"headline": f"Firm {n} beats estimates"} for n in range(80)]
    rows[7] = {"headline": "The doomed firm"}  # the server never answers that
    rows[9] = {"headline": " "}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with start_service("--latency", "0.1", "--faults", "429,500") as service:
        command = ["generate", "in.jsonl", "--model", service.model, "--engine", "ray"]
        command += ["--partition-rows", "20", "--max-connections", "8", "--max-retries", "3"]
        command += ["--out", "out"]
        start = partial(
            subprocess.Popen,
            [sys.executable, "-m", "contrafact.cli.main", *command],
            cwd=tmp_path,
            env=service.environment,
        )
        process = start()
        while process.poll() is None and len(service.stats()["answered"]) < 20:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert ended(process.pid)
        before = len(service.stats()["answered"])
        assert start().wait() == 1
        answered = service.stats()["answered"]
        twice = sum(times > 1 for times in answered.values())
        # What the killed process had asked and not yet heard or kept is asked again.
        assert 20 <= before < 78 == len(answered) and twice <= 8
    kept = rows_in(tmp_path / "out")
    assert [row["index"] for row in kept] == [n for n in range(80) if n not in (7, 9)]
    assert all(row["valid"] and row["risk_counterfactual"] for row in kept)
    (rejected,) = rows_in(tmp_path / "out", "_rejects")
    assert (rejected["index"], rejected["reason"]) == (9, "the headline is empty")
    (failed,) = rows_in(tmp_path / "out", "_failures")
    assert failed["index"] == 7 and "call failed" in failed["reason"]
    # The killed command's folder is removed by the next start, the other's by itself.
    assert not list(Path(tempfile.gettempdir()).glob(f"contrafact-ray-{process.pid}"))


def test_lists_and_objects_are_such_for_readers_of_parquet_as_in_one_process(
    start_service, tmp_path
):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    rows = [
        {"headline": f"Firm {n} beats", "tags": [], "desk": None, "meta": {"a": n}, "mixed": n}
        for n in range(4)
    ]
    rows[2] |= {"tags": ["oil"], "desk": {"name": "x", "floors": [1]}, "mixed": "two"}
    rows[3] |= {"meta": {"a": 0.5, "b": "y"}}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with start_service() as service:
        command = [sys.executable, "-m", "contrafact.cli.main", "generate", "in.jsonl"]
        command += ["--model", service.model, "--judge", service.judge]
        run = partial(subprocess.run, cwd=tmp_path, env=service.environment, check=True)
        run([*command, "--out", "one.parquet"])
        run([*command, "--engine", "ray", "--partition-rows", "2", "--out", "out"])
    one = parquet.read_schema(tmp_path / "one.parquet")
    first, second = (
        parquet.read_schema(part) for part in sorted((tmp_path / "out").glob("part-*.parquet"))
    )
    assert first.equals(second)
    given = list(rows[0])
    kinds = [[str(schema.field(name).type).replace("large_", "") for name in given]
             for schema in (first, one)]  # fmt: skip
    assert kinds[0] == kinds[1]
    assert pa.types.is_list(one.field("tags").type) and pa.types.is_struct(one.field("desk").type)
    whole = polars.scan_parquet(tmp_path / "out" / "part-*.parquet").collect()
    assert whole["tags"].to_list() == [[], [], ["oil"], []]
    assert whole["meta"].struct.field("b").to_list() == [None, None, None, "y"]
    # What is read back is what was given, texts and numbers of one column apart.
    assert [row["mixed"] for row in rows_in(tmp_path / "out")] == [0, 1, "two", 3]


def ended(number: int) -> bool:
    """Whether all processes of the cluster that a command started have ended, after a while."""
    mark = f"contrafact-ray-{number}".encode()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                lines.append(path.read_bytes())
        if not any(mark in line for line in lines):
            return True
        time.sleep(0.1)
    return False
