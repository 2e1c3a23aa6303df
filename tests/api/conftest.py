import pytest


@pytest.fixture(scope="session")
def _running(start_service):
    with start_service() as running:
        yield running


@pytest.fixture
def models(_running, monkeypatch, tmp_path):
    """A model server on loopback whose models this process can name, in a fresh folder."""
    for name in ("FAKE_BASE_URL", "FAKE_API_KEY"):
        monkeypatch.setenv(name, _running.environment[name])
    monkeypatch.chdir(tmp_path)
    return _running
