"""A short load with a SIGKILL in it. The long one is `python tests/support/review_load.py`."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


def load_module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, SUPPORT / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_server_killed_under_load_loses_and_doubles_nothing(database, start_contrafact, tmp_path):
    found = load_module("review_load").run_load(
        *(database, tmp_path),
        people=10,
        items=200,
        decisions=120,
        think=(0.05, 0.3),
        kill=True,
        start=start_contrafact,
    )
    assert found["acknowledged_before_kill"] >= 60
    assert found["lost_by_kill"] == 0
    assert found["acknowledged"] >= 120
    assert (found["lost"], found["doubled"], found["problems"]) == (0, 0, [])
    assert found["refused"] == 0
