"""The two ways that the bench times really make the same calls, and it tells where time goes."""

import json
import os
import urllib.request
from pathlib import Path

import inspect_ai
import pytest
from bench._clock import timed

from bench import orchestration


def answered() -> dict[str, int]:
    base = os.environ["BENCH_BASE_URL"].removesuffix("/v1")
    with urllib.request.urlopen(f"{base}/stats", timeout=10) as reply:
        return json.loads(reply.read())["answered"]


@pytest.mark.slow
def test_both_ways_make_the_same_calls(monkeypatch):
    monkeypatch.setattr(orchestration, "LATENCY", 0.0)
    for name in ("BENCH_BASE_URL", "BENCH_API_KEY", "INSPECT_CACHE_DIR"):
        monkeypatch.setenv(name, "")
    texts = ["Tern & Vale raises its dividend", "Norrick Steel cuts output at two mines"]
    with orchestration._serving():
        tables = orchestration._run(texts)
        once = answered()
        orchestration._in_turn(texts)
        twice = answered()
    assert tables > 0
    assert len(once) == len(texts) * orchestration._CALLS
    assert set(once.values()) == {1}
    assert twice == dict.fromkeys(once, 2)


def test_processor_time_is_put_to_the_package_that_spent_it():
    from contrafact.text.diff import normalised_edit_distance

    def work() -> None:
        for _ in range(1_000):
            normalised_edit_distance("a headline about steel " * 8, "a headline about salt " * 9)

    met = orchestration._sampled(work)
    assert met.total() > 0
    assert met.most_common(1)[0][0] == "contrafact"
    assert orchestration._shares(met).startswith("contrafact ")


def test_parts_of_the_engine_are_told_apart():
    class Code:
        co_filename = str(Path(inspect_ai.__file__).parent / "model" / "_model.py")

    class Outer:
        f_code, f_back = Code, None

    class Library:
        f_code = type("Code", (), {"co_filename": json.__file__})
        f_back = Outer

    assert orchestration._package(Library) == "inspect_ai.model"
    assert orchestration._package(None) == "asyncio"


def test_a_ratio_is_per_item():
    from bench import BenchResult, Timing

    result, timing = timed("a way", 3, lambda: "done")
    assert result == "done"
    assert timing.items == 3
    found = BenchResult(
        "b", "calls", 100, Timing("ours", 100, 10.0, 1.0), Timing("theirs", 10, 5.0, 1.0), 2.0, "d"
    )
    assert found.ratio == 5.0
