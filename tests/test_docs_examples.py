"""Every example of the tutorials, the concepts, the recipes and the questions runs as it stands.

A page's blocks are taken in order, in a folder of the page's own: a block with a file's name as its
title is that file; of a block for the shell every command is run; Python is executed; and what is
said to be printed has been. Models are those of a server on loopback.
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq
import pytest
from tools.docs_tables import columns, results_schema

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EMBEDDED = "embedded/smollm2-135m"
PAGES = [
    *(page for page in sorted((DOCS / "tutorials").glob("*.md")) if page.stem != "index"),
    *sorted((DOCS / "concepts").glob("*.md")),
    DOCS / "recipes.md",
    DOCS / "faq.md",
    DOCS / "agree.md",
]
_FENCE = re.compile(
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    kind: str
    title: str
    body: str


def blocks(page: Path) -> list[Block]:
    found = _FENCE.finditer(page.read_text(encoding="utf-8"))
    return [Block(one["kind"], one["title"] or "", one["body"]) for one in found]


def command_lines(block: Block) -> list[str]:
    return [line for line in block.body.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.fixture(scope="module")
def running(start_service):
    with start_service() as one:
        yield one


LONG = [page for page in PAGES if page.parent.name == "tutorials" or page.stem == "recipes"]
"""Pages whose examples are runs and exams one after another."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page in LONG)) for page in PAGES],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)
def test_the_examples_of_a_page_run_as_they_stand(
    page, running, quick_contrafact, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    paths = os.pathsep.join(filter(None, (".", os.environ.get("PYTHONPATH"))))
    environment = {**running.environment, "PYTHONPATH": paths}
    printed, names = "", {}
    for block in blocks(page):
        if block.title == "prints":
            for line in block.body.splitlines():
                assert line in printed, f"this was not printed: {line}"
        elif block.kind == "bash":
            for line in command_lines(block):
                done = run(line, running, quick_contrafact, environment)
                printed += done.stdout + done.stderr
                code = int(block.title.removeprefix("ends with ") or 0)
                assert done.returncode == code, f"$ {line}\n{done.stdout}{done.stderr}"
        elif block.title:
            target = tmp_path / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
        elif block.kind == "python":
            with redirect_stdout(io.StringIO()) as said:
                exec(block.body, names)
            printed += said.getvalue()
        elif block.kind == "toml":
            tomllib.loads(block.body)
    check_columns(tmp_path)


def check_columns(folder):
    """The site's page of columns names every one that the page's runs have; schemas hold."""
    for path in folder.rglob("items.parquet"):
        task = json.loads((path.parent / "manifest.json").read_text("utf-8"))["settings"]["task"]
        tables = {path: columns(task.replace("rfc-diagnose", "rfc-detect"))}
        tables |= {
            path.with_name(f"{name}.parquet"): columns(name) for name in ("verdicts", "calls")
        }
        for table, known in tables.items():
            found = pq.read_schema(table).names if table.exists() else ()
            assert {name for name in found if " · " not in name} <= {*known}, table
    for results in folder.rglob("results.json"):
        jsonschema.validate(json.loads(results.read_text("utf-8")), results_schema())


def run(line, running, quick_contrafact, environment):
    """Run a line of a page, with the models of the server in the place of the embedded one."""
    line, pipe, given = line.removeprefix("PYTHONPATH=. "), "", ""
    if line.startswith("printf "):
        given, pipe, line = line.partition(" | ")
        given = shlex.split(given)[1].replace("\\n", "\n")
    words = shlex.split(line)
    assert words.pop(0) == "contrafact", f"an example that is not the program's: {line}"
    for number, word in enumerate(words):
        if word.startswith(EMBEDDED):
            of_judge = words[number - 1] == "--judge"
            words[number] = running.judge if of_judge else running.model
    return quick_contrafact(*words, env=environment, **({"input": given} if pipe else {}))


def test_an_example_that_fails_would_be_found(running, quick_contrafact):
    done = run("contrafact rfc check none.jsonl", running, quick_contrafact, running.environment)
    assert done.returncode == 2
    kinds = {block.kind for page in PAGES for block in blocks(page)}
    assert {"bash", "python", "csv"} <= kinds
    assert sum(len(command_lines(block)) for page in PAGES for block in blocks(page)) > 30


WRONG = """
import contrafact as cf
cf.check(3)
cf.agreement([{"item": 1}], ratr=["ann"])
cf.stories(seed="one")
"""
KINDS = """
from typing import assert_type
import pandas as pd
import contrafact as cf

rows = [{"original": "Shares rose.", "rewritten": "Shares fell.", "manipulation": "flipping"}]
assert_type(cf.agreement("ratings.csv").scores, pd.DataFrame)
calls: int = cf.check(rows, judge="a/b", estimate=True).calls + cf.exam("a/b", estimate=True).calls
"""


def typed_files(folder):
    """Write every page's Python to files; a block with a docstring or a title is one by itself."""
    for number, page in enumerate([ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]):
        name = f"p{number}_{page.stem.replace('-', '_')}"
        parts = {}
        for place, block in enumerate(one for one in blocks(page) if one.kind == "python"):
            alone = f"{name}_{place}.py" if block.body.startswith('"""') else f"{name}.py"
            parts.setdefault(block.title or alone, []).append(block.body)
        for file, bodies in parts.items():
            target = folder / file
            target.parent.mkdir(exist_ok=True)
            target.write_text("\n\n".join(bodies), encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    (folder / "kinds.py").write_text(KINDS, encoding="utf-8")
    return sorted(str(path) for path in folder.rglob("*.py"))


@pytest.mark.slow
def test_every_example_in_python_is_typed_and_a_wrong_one_is_found(tmp_path):
    pytest.importorskip("polars", reason="polars is not installed")
    files = typed_files(tmp_path)
    assert len(files) > 20
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files],
        capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "MYPYPATH": f"src:examples/flip/src:{tmp_path}"},
    )  # fmt: skip
    lines = [one for one in done.stdout.splitlines() if ": error: " in one]
    assert [one for one in lines if "wrong.py:" not in one] == [], done.stderr
    assert [one.split(":")[1] for one in lines] == ["3", "4", "5"]
