"""The bench of a failing service: what it counts is what the service met."""

import pytest
from bench.orchestration import CONNECTIONS, LATENCY

from bench import bulk_failing


@pytest.mark.slow
def test_no_command_is_faster_than_the_service_and_some_first_tries_fail(monkeypatch):
    pytest.importorskip("ray")
    for name in ("BENCH_BASE_URL", "BENCH_API_KEY"):
        monkeypatch.setenv(name, "")  # put back afterwards
    monkeypatch.setattr(bulk_failing, "_QUICK_ROWS", 200)
    monkeypatch.setattr(bulk_failing, "_FAILING", ("--faults", "429,500", "--share", "0.3"))
    result = bulk_failing.run(True, None)
    failed = round(result.baseline.seconds * CONNECTIONS / LATENCY) - 200
    assert 30 <= failed <= 90  # 60 on average
    assert 0 < result.ratio < 1
