"""Shared by all tests. In CI a skipped test is a failed one: CI installs what tests need."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be missing: {report.longrepr}"


@pytest.fixture(scope="session", autouse=True)
def _offline(tmp_path_factory: pytest.TempPathFactory):
    """No hub is ever asked, no key of the developer's is ever used, no cache of theirs touched."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            patch.delenv(name)
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setenv("NO_COLOR", "1")
    # Tests share two cores. Threads of llama.cpp and PyTorch that wait for each other on busy
    # cores take forty times as long; one thread each does not.
    patch.setenv("OMP_NUM_THREADS", "1")
    yield
    patch.undo()


@pytest.fixture
def contrafact(tmp_path: Path) -> Run:
    """Run the real command line in a process of its own, in a fresh folder."""

    def run(*arguments: str, timeout: float = 300, **options: object):
        return subprocess.run(
            [sys.executable, "-m", "contrafact.cli.main", *arguments],
            cwd=options.pop("cwd", tmp_path),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,  # type: ignore[call-overload]
        )

    return run


@pytest.fixture(scope="session")
def _forks() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(Path(__file__).parent / "support" / "fork_server.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


@pytest.fixture
def quick_contrafact(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, _forks) -> Run:
    """Run the command line in a process that has its imports already: for many short runs."""

    def run(*arguments: str, env: dict[str, str] | None = None, input: str = ""):
        folder = tmp_path_factory.mktemp("streams")
        files = [folder / name for name in ("in", "out", "err")]
        files[0].write_text(input, encoding="utf-8")
        request = {
            "arguments": arguments,
            "environment": dict(os.environ) if env is None else env,
            "folder": str(tmp_path),
            "files": [str(path) for path in files],
        }
        _forks.stdin.write(json.dumps(request) + "\n")
        _forks.stdin.flush()
        code = int(_forks.stdout.readline())
        out, err = (path.read_text(encoding="utf-8") for path in files[1:])
        return subprocess.CompletedProcess(list(arguments), code, out, err)

    return run


SERVER = Path(__file__).parent / "support" / "openai_server.py"


class Service:
    """A running stand-in for a paid service."""

    def __init__(self, port: int):
        self.port = port
        # Inspect's provider for any OpenAI-compatible service: openai-api/<service>/<model>.
        self.environment = {
            **os.environ,
            "FAKE_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "FAKE_API_KEY": "sk-not-a-real-key-0123456789",
        }
        self.model = "openai-api/fake/writer"
        self.judge = "openai-api/fake/judge"

    def stats(self) -> dict[str, dict[str, int]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=10) as reply:
            return json.loads(reply.read())


@contextmanager
def serving(*arguments: str) -> Iterator[Service]:
    command = [sys.executable, str(SERVER), *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Service(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(timeout=10)


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


@pytest.fixture
def start_service():
    return serving
