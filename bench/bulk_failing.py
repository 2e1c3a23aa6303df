"""`generate` in bulk by a slow service that refuses or fails one first try in twenty.

The command runs as a user runs it, Ray's start and end included. What it is compared with is no
other way but the least time there is: every try, the failed ones too, at the service's latency, as
many at once as there are connections.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from pyarrow import parquet

from bench import BenchResult, Timing
from bench._headlines import headlines
from bench.orchestration import CONNECTIONS, LATENCY, WRITER, _serving

TARGET = 0.77  # the least time over 1.3 times it

_ROWS, _QUICK_ROWS = 20_000, 2_000
_FAILING = ("--faults", "429,500", "--share", "0.05")


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time one command, and count what the service was asked and what it answered."""
    texts, source = headlines(data)
    some = list(dict.fromkeys(texts))
    count = _QUICK_ROWS if quick else _ROWS
    with tempfile.TemporaryDirectory() as name, _serving(*_FAILING):
        folder = Path(name)
        rows = (json.dumps({"headline": f"{some[n % len(some)]} ({n})"}) for n in range(count))
        (folder / "in.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        command = [sys.executable, "-m", "contrafact.cli.main", "generate", "in.jsonl", "--yes"]
        command += ["--engine", "ray", "--model", WRITER, "--out", "out"]
        command += ["--max-connections", str(CONNECTIONS)]
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        seconds = time.perf_counter() - began
        parts = (folder / "out").glob("part-*.parquet")
        written = sum(parquet.read_metadata(part).num_rows for part in parts)
        with urllib.request.urlopen(f"{os.environ['BENCH_BASE_URL'][:-3]}/stats") as reply:
            stats: dict[str, Any] = json.load(reply)
    failed, answered = sum(stats["met"].values()), stats["answered"]
    if not written == len(answered) == count or set(answered.values()) != {1}:
        raise RuntimeError(f"{written} rows of {count}, {len(answered)} questions answered")
    least = (count + failed) * LATENCY / CONNECTIONS
    return BenchResult(
        name="bulk_failing",
        unit="calls",
        total_items=count,
        ours=Timing("in bulk, Ray's start included", count, seconds, None),
        baseline=Timing(f"the latency alone, {CONNECTIONS} at once", count, least, None),
        target=TARGET,
        data=f"{count:,} headlines of {source}",
        notes=[
            f"{stats['met'].get('429', 0)} first tries were refused (429) and "
            f"{stats['met'].get('500', 0)} failed (500); every question was answered once",
            f"the command takes {seconds / least:.2f} times the least time",
        ],
    )
