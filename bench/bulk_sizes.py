"""Bucketing and checking by size: one process against a cluster of two nodes on this machine.

Time should grow with the rows, and memory should not. Memory is what all processes of a way hold of
their own at most (proportional shares of what they share), sampled up to five times a second.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

from bench import BenchResult, Timing
from bench._paragraphs import paragraphs
from contrafact.families.rfc.data import bundled_pairs

TARGET = 1.0

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_CHECKED = _SIZES[:-1]
"""Of `rfc check`: a million pairs take over an hour, both ways together."""

_NAMES = ("Osmery", "Norrick", "Talvane", "Quellor", "Hexam", "Dornay", "Selwick", "Tarrant")
_FIGURE = 97
_GROUP = 20_000


def _rows(verb: str, count: int, texts: list[str]) -> Iterator[dict[str, str]]:
    """Texts, multiplied with changed names and figures; of pairs, the bundled ones so."""
    rng = np.random.default_rng(5)
    pairs = bundled_pairs()
    for number in range(count):
        name = " ".join(rng.choice(_NAMES, 2))
        tail = f" {name} filed {int(rng.integers(_FIGURE))} reports in case {number}."
        if verb == "bucket":
            text = texts[number % len(texts)]
            yield {"headline": f"{name}: {text[:80]}", "description": text + tail}
        else:
            pair = pairs[number % len(pairs)]
            yield {
                "id": str(number),
                "manipulation": pair.manipulation,
                "original": pair.original + tail,
                "rewritten": pair.rewritten + tail,
            }


def _write(path: Path, rows: Iterator[dict[str, str]]) -> None:
    writer = None
    part: list[dict[str, str]] = []

    def flush() -> None:
        nonlocal writer
        table = pa.Table.from_pylist(part)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
        part.clear()

    for row in rows:
        part.append(row)
        if len(part) == _GROUP:
            flush()
    if part:
        flush()
    if writer is not None:
        writer.close()


def _measured(
    way: str, items: int, arguments: list[str], below: Callable[[], list[int]]
) -> tuple[Timing, int]:
    """Run a command; return its timing and the most memory in MiB, its own and its workers'."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "contrafact.cli.main", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    errors: list[bytes] = []
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    most, busy = 0, {}
    at_first = {number: _cpu(number) for number in below()}
    while process.poll() is None:
        looked = time.perf_counter()
        numbers = [process.pid, *_children(process.pid), *below()]
        busy |= {number: _cpu(number) for number in numbers}
        most = max(most, sum(_memory(number) for number in set(numbers)))
        time.sleep(max(_EVERY, _REST * (time.perf_counter() - looked)))
    reader.join()
    if process.returncode not in (0, 1):
        raise RuntimeError(b"".join(errors).decode()[-400:])
    cpu = sum(value - at_first.get(number, 0.0) for number, value in busy.items())
    return Timing(way, items, time.perf_counter() - began, cpu), most


_EVERY = 0.2
_REST = 20
"""A look at all processes' memory takes processor time itself: so many times as long it rests."""


def _children(number: int) -> list[int]:
    try:
        return [one.pid for one in psutil.Process(number).children(recursive=True)]
    except psutil.Error:
        return []


def _cpu(number: int) -> float:
    try:
        times = psutil.Process(number).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _memory(number: int) -> int:
    try:
        text = Path(f"/proc/{number}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return (
        next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)
        >> 10
    )


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time both ways at every size; write a table and a plot beside the results."""
    import ray
    from ray.cluster_utils import Cluster

    texts, source = paragraphs(data)
    sizes = _SIZES[:2] if quick else _SIZES
    found: list[dict[str, object]] = []
    timings: dict[str, Timing] = {}
    node = {"num_cpus": 1, "object_store_memory": 150 * 2**20}
    nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    nodes.add_node(**node)
    own = [one.pid for one in psutil.Process().children(recursive=True)]

    def below() -> list[int]:
        return [number for parent in own for number in (parent, *_children(parent))]

    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for verb in ("bucket", "check"):
                for size in sizes if verb == "bucket" or quick else _CHECKED:
                    given = folder / f"{verb}-{size}.parquet"
                    _write(given, _rows(verb, size, texts))
                    one = ["rfc", verb, str(given), "--out", str(folder / f"{verb}-{size}.jsonl")]
                    out = str(folder / f"{verb}-{size}")
                    bulk = ["rfc", verb, str(given), "--engine", "ray", "--out", out]
                    bulk += ["--address", nodes.address]
                    ways: dict[str, tuple[list[str], Callable[[], list[int]]]] = {
                        "one process": (one, list),
                        "two nodes": (bulk, below),
                    }
                    for way, (command, workers) in ways.items():
                        timing, most = _measured(way, size, command, workers)
                        timings[f"{verb} {way}"] = timing
                        row = {"verb": verb, "rows": size, "way": way, "MiB": most}
                        row |= {"seconds": round(timing.seconds, 1)}
                        found.append(row | {"CPU seconds": round(timing.cpu_seconds, 1)})
                        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
                    given.unlink()
    finally:
        if ray.is_initialized():
            ray.shutdown()
        nodes.shutdown()
    _draw(found, Path(__file__).parent / "results" / "bulk_sizes.png")
    return BenchResult(
        name="bulk_sizes",
        unit="rows",
        total_items=sizes[-1],
        ours=timings["bucket two nodes"],
        baseline=timings["bucket one process"],
        target=TARGET,
        data=f"{sizes[-1]:,} rows from {source}",
        notes=[", ".join(f"{key} {value}" for key, value in row.items()) for row in found],
    )


def _draw(found: list[dict[str, object]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2), ("seconds", "MiB"), strict=True):
        for verb in ("bucket", "check"):
            for way, style in (("one process", "--"), ("two nodes", "-")):
                rows = [one for one in found if one["verb"] == verb and one["way"] == way]
                label = f"{verb}, {way}"
                axes.plot([r["rows"] for r in rows], [r[what] for r in rows], style, label=label)
        axes.set(xscale="log", yscale="log", xlabel="rows", ylabel=what)
    axes.legend(fontsize=7)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
