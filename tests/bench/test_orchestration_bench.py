"""The two ways that the bench times really make the same calls, and it tells where time goes."""

import json
import os
import urllib.request

import pytest

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
