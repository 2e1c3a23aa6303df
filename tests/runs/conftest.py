"""Runs of the real command line against real and stand-in models."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[1] / "support" / "openai_server.py"


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
