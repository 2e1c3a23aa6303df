"""A judge of known worth, over HTTP."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.judge_server import digest, says

SERVER = Path(__file__).parents[1] / "support" / "judge_server.py"


def key(items, examiner) -> dict[str, bool]:
    """Every prompt that an exam on these items can ask, with the verdict it should get."""
    verdicts = {}
    for item in items:
        for criterion, prompt in examiner.prompts(item).items():
            verdicts[digest(prompt)] = item.known[criterion]
    return verdicts


@pytest.fixture(scope="module")
def key_of():
    return key


@pytest.fixture
def start_judge(tmp_path_factory: pytest.TempPathFactory):
    @contextmanager
    def serve(verdicts, *, sensitivity=1.0, specificity=1.0, invalid=0.0, good=None):
        path = tmp_path_factory.mktemp("key") / "key.json"
        rates = {"sensitivity": sensitivity, "specificity": specificity, "invalid": invalid}
        key = {"verdicts": verdicts, **rates}
        if good is not None:
            key["good"] = sorted(good)
        path.write_text(json.dumps(key), encoding="utf-8")
        command = [sys.executable, str(SERVER), str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                port = int(process.stdout.readline())
                yield Known(port, key)
            finally:
                process.stdin.close()
                process.wait(timeout=10)

    return serve


class Known:
    """A running judge of known worth."""

    def __init__(self, port: int, key: dict[str, object]):
        self.key = key
        self.environment = {
            **os.environ,
            "FAKE_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "FAKE_API_KEY": "sk-not-a-real-key-0123456789",
        }
        self.url = f"http://127.0.0.1:{port}"
        self.judge = "openai-api/fake/judge"

    def answered(self) -> int:
        import urllib.request

        with urllib.request.urlopen(f"{self.url}/stats", timeout=10) as reply:
            return sum(json.loads(reply.read())["answered"].values())

    def truth(self, criterion: str, *, known: bool) -> tuple[int, int]:
        """How many FIN-FORCE items of a known verdict it gets right, of how many it answers."""
        from contrafact.families.finforce.exam import examiner as examiner_of
        from contrafact.families.finforce.exam import finforce_items
        from contrafact.family.settings import StructuredOptions
        from contrafact.prompts import open_pack

        examiner = examiner_of(open_pack(), StructuredOptions())
        given = [
            says("judge", examiner.prompts(item)[criterion], self.key)
            for item in finforce_items()
            if item.known.get(criterion) is known
        ]
        read = [verdict for verdict in given if verdict is not None]
        return sum(verdict is known for verdict in read), len(read)
