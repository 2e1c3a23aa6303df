"""A made-up study of headlines, and a writer that is weak, good and malicious by turns."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_WRITER = Path(__file__).parents[2] / "support" / "writer_server.py"
_MADE_UP = Path(__file__).parents[2] / "support" / "made_up_headlines.py"


@pytest.fixture(scope="session")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("made_up_headlines", _MADE_UP)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.Study()


@pytest.fixture(scope="session")
def writers() -> Iterator[dict[str, str]]:
    """The environment in which ``openai-api/fake/…`` is a writer, its verifier, its judge."""
    with subprocess.Popen(
        [sys.executable, str(_WRITER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            port = int(process.stdout.readline())  # type: ignore[union-attr]
            yield {
                **os.environ,
                "FAKE_BASE_URL": f"http://127.0.0.1:{port}/v1",
                "FAKE_API_KEY": "sk-not-a-real-key-0123456789",
            }
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait(timeout=10)
