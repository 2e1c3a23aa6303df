"""A made-up study of headlines, and a writer that is weak, good and malicious by turns."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.made_up_headlines import study

__all__ = ["study"]

_WRITER = Path(__file__).parents[2] / "support" / "writer_server.py"


@pytest.fixture(scope="session")
def writers() -> Iterator[dict[str, str]]:
    """The environment in which ``openai-api/fake/…`` is a writer and its judge."""
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
