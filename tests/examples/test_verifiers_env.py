"""The taskset for verifiers: installed by itself, driven by its own evaluation command."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from tests.support.loopback import Loopback

from contrafact.families.cobe.stories import LEVELS, Stories

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "verifiers_env"
SEED, TASKS = 3, 6

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def programs(make_once) -> Path:
    """The programs of an environment that has verifiers and, without its needs, contrafact."""

    def fill(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        # Only what is imported is compiled, when it is.
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*pip, "uv", str(EXAMPLE)], check=True)
        subprocess.run([*pip, "--no-deps", str(ROOT)], check=True)

    return make_once("verifiers-env", fill) / "bin"


@pytest.fixture
def editor():
    """A model that streams, and is right on every other task."""
    tasks = islice(Stories(SEED, LEVELS[1]), TASKS)
    right = {one.prompt: one.story.answer for one in list(tasks)[::2]}

    class Editor(Loopback):
        protocol = "HTTP/1.1"

        def answer(self, handler) -> None:
            request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
            content = request["messages"][-1]["content"]
            prompt = content if isinstance(content, str) else content[0]["text"]
            deltas = (
                ({"role": "assistant", "content": right.get(prompt, "Nothing else.")}, None),
                ({}, "stop"),
            )
            body = b"data: [DONE]\n\n"
            for delta, end in reversed(deltas):
                choice = {"index": 0, "delta": delta, "finish_reason": end}
                chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1}
                chunk |= {"model": request["model"], "choices": [choice]}
                body = f"data: {json.dumps(chunk)}\n\n".encode() + body
            self.send(handler, 200, {"Content-Type": "text/event-stream"}, body)

    server = Editor()
    yield f"{server.url}/v1"
    server.close()


def test_its_own_command_scores_answers_by_proof(programs: Path, editor: str, tmp_path: Path):
    bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    found = {"PATH": f"{programs}:{os.environ['PATH']}", "EDITOR_KEY": "none"}
    command = [str(programs / "vf-eval"), "contrafact-stories", "-n", str(TASKS), "-m", "editor"]
    command += ["--env.taskset.seed", str(SEED), "--env.taskset.level", "1"]
    command += ["--env.taskset.processes", "2", "--env.agent.runtime.type", "subprocess"]
    command += ["--client.base-url", editor, "--client.api-key-var", "EDITOR_KEY"]
    command += ["--no-push", "--no-rich", "--output-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=bare | found, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]

    (traces,) = tmp_path.glob("*/traces.jsonl")
    episodes = [json.loads(line)["traces"][0] for line in traces.read_text().splitlines()]
    assert [one["errors"] for one in episodes] == [[]] * TASKS
    episodes.sort(key=lambda one: one["task"]["data"]["idx"])
    assert [one["rewards"]["proven"]["score"] for one in episodes] == [1, 0] * (TASKS // 2)
    for place, one in enumerate(episodes):
        assert one["metrics"]["open"] == place % 2
        assert one["metrics"]["E3"] == 1 - place % 2
