from dataclasses import dataclass
from typing import Any

import pytest


@pytest.fixture(scope="session")
def _running(start_service):
    with start_service() as running:
        yield running


@dataclass(frozen=True)
class Models:
    """What a model server answers to, and where it counts."""

    model: str
    judge: str
    stats: Any


@pytest.fixture
def models(_running, monkeypatch, tmp_path):
    """A model server on loopback whose models this process can name, in a fresh folder.

    Inspect keeps the models of a process by their names, with the address they had: these names
    are of this server alone.
    """
    for name in ("BASE_URL", "API_KEY"):
        monkeypatch.setenv(f"FACE_{name}", _running.environment[f"FAKE_{name}"])
    monkeypatch.chdir(tmp_path)
    writer, judge = (n.replace("/fake/", "/face/") for n in (_running.model, _running.judge))
    assert writer != _running.model
    return Models(writer, judge, _running.stats)
