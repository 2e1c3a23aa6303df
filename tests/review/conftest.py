"""A small team, made-up items, and answers for any question."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contrafact.review.answers import asked
from contrafact.review.board import Board
from contrafact.review.intake import define, enlist, import_gold, import_items
from contrafact.review.loading import load_project
from contrafact.review.project import Project

NOW = datetime(2031, 3, 1, 9, 0, tzinfo=UTC)
TEAMS = {
    "rfc-rewrite": {
        "Ada": ["expert-a"],
        "Ben": ["expert-b"],
        "Cem": ["annotator"],
        "Dia": ["annotator"],
        "Eve": ["strict-annotator"],
    },
    "headline-screening": {
        "Cem": ["annotator"],
        "Dia": ["annotator"],
        "Eve": ["annotator"],
        "Fay": ["verifier"],
    },
    "judge-agreement": {"Cem": ["annotator"], "Dia": ["annotator"], "Eve": ["annotator"]},
    "cobe-rating": {"Cem": ["rater"], "Dia": ["rater"], "Eve": ["rater"]},
}
MANIPULATIONS = ("flipping", "numerical", "sentiment", "causal")


def made_item(number: int) -> dict[str, Any]:
    """Return fields that every built-in project can show."""
    return {
        "manipulation": MANIPULATIONS[number % 4],
        "article_id": f"a{number}",
        "original": f"Shares of Alder Works rose {number}% after its report.",
        "rewritten": f"Shares of Alder Works fell {number}% after its report.",
        "headline": f"Alder Works opens plant number {number}",
        "side": ("risk", "opportunity")[number % 2],
        "counterfactual": f"The plant number {number} closes within a year.",
        "text": f"Because of the rain, {number} guests stayed.",
        "query": "What if it had been dry?",
        "edit": f"As it was dry, {number} guests left.",
        "story_id": f"s{number}",
        "domain": "Human Activities and Behavior",
    }


def gold_for(project: Project) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    stage = next(s for s in project.stages if s.kind == "training")
    answers = {q: project.question(q).options[0] for q in stage.questions}
    return {f"g{n}": (made_item(100 + n), answers) for n in range(3)}


def new_board(name: str = "rfc-rewrite", items: int = 0, *, trained: bool = True) -> Board:
    project = load_project(name)
    board = Board(project)
    define(board, project, "Max", NOW)
    for person, roles in TEAMS[name].items():
        enlist(board, person, roles, "Max", NOW, trained=trained)
    if not trained and any(stage.kind == "training" for stage in project.stages):
        import_gold(board, gold_for(project), "Max", NOW)
    import_items(board, {f"i{n}": made_item(n) for n in range(items)}, "Max", NOW)
    return board


def full_answers(project: Project, stage: str, pick: Callable[[Any], str]) -> dict[str, str]:
    """Return an answer to each question that is asked, as ``pick`` chooses of its options."""
    place, answers = project.stage(stage), {}
    for name in place.questions:
        if name in asked(project, place, answers):
            answers[name] = pick(project.question(name).options)
    return answers


@pytest.fixture
def review_team() -> Any:
    """Give tests what they make reviews from."""

    class Team:
        now = NOW
        teams = TEAMS
        item = staticmethod(made_item)
        gold = staticmethod(gold_for)
        board = staticmethod(new_board)
        answers = staticmethod(full_answers)

        @staticmethod
        def rng(seed: int = 0) -> np.random.Generator:
            return np.random.default_rng(seed)

    return Team


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Start a PostgreSQL server of our own on a free port of loopback; yield its URL."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or (debian[-1] if debian else None)
    if found is None:
        pytest.skip("PostgreSQL's server is not installed (apt-get install postgresql)")
    programs = Path(found).resolve().parent
    # The server refuses to run as root; Debian's package brings a user for it.
    user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="contrafact-pg-"))
    if user:
        shutil.chown(folder, **user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = folder / "data"
    quiet: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, **user}
    log = (folder / "log").open("wb")
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "contrafact", "-A", "trust", "-N"],
            check=True,
            stderr=log,
            **quiet,
        )
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder],
            stderr=log,
            **quiet,
        )
        try:
            url = f"postgresql://contrafact@127.0.0.1:{port}/postgres"
            _wait_for(url, server, folder / "log")
            yield url
        finally:
            server.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
            server.wait(timeout=30)
    finally:
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    import psycopg

    for _ in range(300):
        if server.poll() is not None:
            pytest.fail(f"PostgreSQL did not start: {log.read_text()[-1000:]}")
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("PostgreSQL does not answer")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a new database: a file of SQLite, or one on a real PostgreSQL server."""
    if request.param == "sqlite":
        return str(tmp_path / "review.db")
    import psycopg

    url = request.getfixturevalue("postgresql")
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres", f"/{name}")
