"""Orchestration of samples of one generation and four judgements: 64 at once against in turn.

Both ways make the same calls to a stand-in server that answers after 200 ms. Ours is a whole run
as ``contrafact run`` makes it: evaluation set, log, cache for resuming, retries and scoring. The
baseline is a loop that asks Inspect's model interface for one answer after the other and keeps
nothing; a bare HTTP client would save it a few milliseconds of the 200 a call.
"""

import asyncio
import json
import os
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from inspect_ai.model import get_model

from bench import BenchResult
from bench._clock import timed
from bench._headlines import headlines
from contrafact.families.finforce.generation import run_method
from contrafact.families.finforce.judging import criteria_of
from contrafact.families.finforce.records import SIDES
from contrafact.judges.judge import judge_once
from contrafact.models.asking import Ask
from contrafact.runs import execute as executing
from contrafact.runs import items
from contrafact.runs.prepare import Prepared, make_settings, prepare

TARGET = 10.0
LATENCY = 0.2
CONNECTIONS = 64
WRITER, JUDGE = "openai-api/bench/writer", "openai-api/bench/judge"

_SERVER = Path(__file__).parents[1] / "tests" / "support" / "openai_server.py"
_CALLS = 5
_TICK = 0.002


@contextmanager
def _serving(*options: str) -> Iterator[None]:
    """Run the stand-in server in a process of its own, and name it to Inspect's provider."""
    command = [sys.executable, str(_SERVER), "--latency", str(LATENCY), *options]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # Told to stop, it complains of the connections that are still open.
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True, **pipes) as server:
        assert server.stdin is not None and server.stdout is not None
        port = int(server.stdout.readline())
        os.environ |= {"BENCH_BASE_URL": f"http://127.0.0.1:{port}/v1", "BENCH_API_KEY": "none"}
        try:
            yield
        finally:
            server.stdin.close()
            server.wait(timeout=10)


def _prepared(texts: list[str], folder: Path) -> Prepared:
    data = folder / "headlines.jsonl"
    lines = [json.dumps({"headline": text}) + "\n" for text in texts]
    data.write_text("".join(lines), encoding="utf-8")
    given = {
        "models": (WRITER,),
        "judges": (JUDGE,),
        "data": data,
        "transport": {"max_connections": CONNECTIONS},
    }
    return prepare(make_settings("finforce", given, {"fluency_model": None}))


def _run(texts: list[str]) -> float:
    """Make a whole run of the texts; return the seconds that its tables took after the calls."""
    tables = 0.0

    def timed(name: str) -> Any:
        work = getattr(items, name)

        def call(*arguments: Any) -> Any:
            nonlocal tables
            began = time.perf_counter()
            made = work(*arguments)
            tables += time.perf_counter() - began
            return made

        return patch.object(executing, name, call)

    with (
        timed("tables_of"),
        timed("write_tables"),
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        result = executing.execute(_prepared(texts, folder), folder / "run")
    if result.failures or result.samples != len(texts):
        raise RuntimeError(f"the run failed: {result.failures[:1]}")
    return tables


def _in_turn(texts: list[str]) -> None:
    """Make the calls that a run of the texts makes, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        prepared = _prepared(texts, Path(name))
    writer = get_model(WRITER)
    judge = get_model(JUDGE)
    (method,) = prepared.methods.values()
    judging = prepared.judging
    assert judging is not None

    async def all_of_them() -> None:
        for headline in prepared.items:
            generation = await run_method(method, headline, Ask(writer))
            for side in SIDES:
                text = generation.texts[side]
                assert text is not None
                prompts = judging.prompts(headline, side, text)
                for criterion, prompt in zip(criteria_of(side), prompts, strict=True):
                    await judge_once(judge, prompt, criterion.name, structured=True)

    asyncio.run(all_of_them())


def _sampled(work: Callable[[], object]) -> Counter[str]:
    """Do a piece of work and return how often each package was met at work.

    Every two milliseconds of processor time the main thread's stack is looked at. What the
    standard library does is put to the package that called it; what nobody called, to asyncio.
    """
    met: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        met[_package(frame)] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return met


def _package(frame: FrameType | None) -> str:
    own = str(Path(executing.__file__).parents[2]) + os.sep
    roots = [own, *(folder + os.sep for folder in site.getsitepackages())]
    while frame is not None:
        path = frame.f_code.co_filename
        for root in roots:
            if path.startswith(root):
                parts = Path(path.removeprefix(root)).parts
                # The engine is large: its parts are told apart.
                named = parts[:2] if parts[0] == "inspect_ai" else parts[:1]
                return ".".join(named).removesuffix(".py")
        frame = frame.f_back
    return "asyncio"


def _shares(met: Counter[str]) -> str:
    total = met.total()
    shown = [f"{name} {count / total:.0%}" for name, count in met.most_common(9)]
    rest = 1 - sum(count for _, count in met.most_common(9)) / total
    return ", ".join([*shown, f"others {rest:.0%}"])


def _starting(module: str) -> float:
    """Seconds that a new process takes to import a module, its own start included; best of two."""
    took = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        took.append(time.perf_counter() - began)
    return min(took)


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time a run at 64 connections, and a part of its calls one after the other."""
    every, source = headlines(data)
    distinct = list(dict.fromkeys(every))
    texts, part = distinct[: 60 if quick else 400], distinct[: 4 if quick else 8]
    with _serving():
        _run(distinct[-4:])  # imports, and loads what the tables need
        _, baseline = timed("one after the other", len(part) * _CALLS, lambda: _in_turn(part))
        tables, ours = timed(
            f"a run at {CONNECTIONS} connections", len(texts) * _CALLS, lambda: _run(texts)
        )
        met = _sampled(lambda: _run(texts[: 40 if quick else 100]))
    calls, shares = ours.items, _shares(met)
    least = LATENCY * calls / CONNECTIONS
    return BenchResult(
        name="orchestration",
        unit="calls",
        total_items=calls,
        ours=ours,
        baseline=baseline,
        target=TARGET,
        data=f"{len(texts)} samples of {_CALLS} calls each, {LATENCY * 1000:.0f} ms a call, "
        f"over {source}",
        notes=[
            f"{1000 * ours.cpu_seconds / calls:.1f} ms of processor time a call in the run, tables "
            f"and all; {1000 * baseline.cpu_seconds / baseline.items:.1f} ms in the loop",
            f"the run's seconds include {tables:.1f} for its tables "
            f"({1000 * tables / len(texts):.1f} ms a sample); latency alone allows {least:.1f}",
            f"where the run's processor time goes, sampled in a smaller run: {shares}",
            f"start-up, not in the figures: {_starting('inspect_ai'):.1f} s for the engine alone, "
            f"{_starting('contrafact.runs.execute'):.1f} s for all that a run imports",
        ],
    )
