"""Calls in bulk: partitions and actors of Ray at 64 connections against the same calls in turn.

Every call is a headline's `generate` to a stand-in server that answers after 200 ms. Ray is up
before the clock starts, as it is for a long job; its workers' own imports are in the figure. Beside
the two stands a run as ``contrafact run`` makes it, an evaluation with its log.
"""

import asyncio
import json
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from inspect_ai.model import get_model

from bench import BenchResult, Timing
from bench._clock import timed
from bench._headlines import headlines
from bench.orchestration import CONNECTIONS, LATENCY, WRITER, _serving
from contrafact.families.finforce.generation import run_method
from contrafact.families.finforce.records import Headline
from contrafact.families.finforce.scenarios import GenerateStage
from contrafact.models.asking import Ask
from contrafact.runs import execute as executing
from contrafact.runs.prepare import make_settings, prepare
from contrafact_ray.cluster import cluster
from contrafact_ray.run import run_on_ray

TARGET = 25.0

_SAMPLE = 0.2


def _with_workers(way: str, items: int, work: Callable[[], object]) -> Timing:
    """Time a piece of work, with the processor time of the processes below this one.

    A process that ends while it is looked for loses its last `_SAMPLE` seconds; the stand-in
    server is one of them and is left out.
    """
    seen: dict[int, float] = {}
    first: dict[int, float] = {}
    ended = threading.Event()

    def look() -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                if "openai_server" not in " ".join(process.cmdline()):
                    times = process.cpu_times()
                    seen[process.pid] = times.user + times.system
            except psutil.Error:
                continue

    def watch() -> None:
        while not ended.wait(_SAMPLE):
            look()

    look()
    first |= seen
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    _, timing = timed(way, items, work)
    look()
    ended.set()
    watcher.join()
    below = sum(seconds - first.get(number, 0.0) for number, seconds in seen.items())
    return Timing(way, items, timing.seconds, timing.cpu_seconds + below)


def _in_turn(texts: list[str]) -> None:
    stage = GenerateStage(WRITER)
    method, writer = stage.checked(), get_model(WRITER)

    async def all_of_them() -> None:
        for text in texts:
            await run_method(method, Headline.of(text), Ask(writer))

    asyncio.run(all_of_them())


def _evaluation(texts: list[str], folder: Path) -> None:
    data = folder / "eval.jsonl"
    data.write_text("".join(json.dumps({"headline": text}) + "\n" for text in texts))
    given = {"models": (WRITER,), "data": data, "transport": {"max_connections": CONNECTIONS}}
    prepared = prepare(make_settings("finforce", given, {"fluency_model": None}))
    result = executing.execute(prepared, folder / "run")
    if result.failures:
        raise RuntimeError(f"the run failed: {result.failures[:1]}")


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time calls in bulk, a part of them one after the other, and a part as an evaluation."""
    every, source = headlines(data)
    some = list(dict.fromkeys(every))
    count = 512 if quick else 8_000
    texts = [some[n % len(some)] + f" ({n})" for n in range(count)]
    part, evaluated = texts[: 8 if quick else 24], texts[: 128 if quick else 512]
    with tempfile.TemporaryDirectory() as name, _serving(), cluster():
        folder = Path(name)
        lines = "".join(json.dumps({"headline": text}) + "\n" for text in texts)
        (folder / "in.jsonl").write_text(lines)
        _in_turn(texts[-1:])
        _, baseline = timed("one after the other", len(part), lambda: _in_turn(part))
        stage = GenerateStage(WRITER, max_connections=CONNECTIONS)
        told: list[Any] = []

        def bulk() -> None:
            rows = max(64, count // 16)
            out = str(folder / "out")
            told.append(run_on_ray(stage, str(folder / "in.jsonl"), out, {"partition_rows": rows}))

        ours = _with_workers(f"in bulk at {CONNECTIONS} connections", count, bulk)
        _, run_of = timed(
            f"an evaluation at {CONNECTIONS}",
            len(evaluated),
            lambda: _evaluation(evaluated, folder),
        )
    if told[0].rows["rows"] != count or told[0].calls["calls"] != count:
        raise RuntimeError(f"rows or calls are missing: {told[0]}")
    each = {one.way: 1000 * one.cpu_seconds / one.items for one in (ours, run_of, baseline)}
    return BenchResult(
        name="bulk_calls",
        unit="calls",
        total_items=count,
        ours=ours,
        baseline=baseline,
        target=TARGET,
        data=f"{count:,} calls, {LATENCY * 1000:.0f} ms each, over {source}",
        notes=[
            "ms of processor time a call: "
            + ", ".join(f"{way} {value:.1f}" for way, value in each.items()),
            f"the evaluation made {run_of.per_second:.0f} calls a second; latency alone allows "
            f"{CONNECTIONS / LATENCY:.0f}",
            f"{os.cpu_count()} processors share actors, driver and server",
        ],
    )
