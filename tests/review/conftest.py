"""A small team, made-up items, and answers for any question."""

import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from contrafact.review.answers import Decision, asked_questions
from contrafact.review.project import Project, load_project
from contrafact.review.setup import define_project, import_gold, import_items, set_roles
from contrafact.review.state import ReviewState
from contrafact.review.workflow import answer

sys.path.append(str(Path(__file__).parents[1] / "support"))
from review_acts import do, take_next

NOW = datetime(2031, 3, 1, 9, 0, tzinfo=UTC)
TEAMS = {
    "rfc-rewrite": {
        "Ada": ["expert-a"],
        "Ben": ["expert-b"],
        "Cem": ["annotator"],
        "Dia": ["annotator"],
        "Eve": ["strict-annotator"],
    },
    "rfc-rewrite-three": {"Cem": ["annotator"], "Dia": ["annotator"], "Ada": ["adjudicator"]},
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


def with_short_rounds(project: Project) -> Project:
    """Return a project whose rounds of training have three items."""
    short = [
        stage.model_copy(update={"sample": 3}) if stage.kind == "training" else stage
        for stage in project.stages
    ]
    return project.model_copy(update={"stages": tuple(short)})


def new_state(name: str = "rfc-rewrite", items: int = 0, *, trained: bool = True) -> ReviewState:
    project = with_short_rounds(load_project(name))
    state = ReviewState(project)
    do(state, NOW, define_project, "Max", project)
    for person, roles in TEAMS[name].items():
        do(state, NOW, set_roles, "Max", person, roles, trained=trained)
    if not trained and any(stage.kind == "training" for stage in project.stages):
        do(state, NOW, import_gold, "Max", gold_for(project))
    do(state, NOW, import_items, "Max", {f"i{n}": made_item(n) for n in range(items)})
    return state


def full_answers(project: Project, stage: str, pick: Callable[[Any], str]) -> dict[str, str]:
    """Return an answer to each question that is asked, as ``pick`` chooses of its options."""
    place, answers = project.stage(stage), {}
    for name in place.questions:
        if name in asked_questions(project, place, answers):
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
        state = staticmethod(new_state)
        answers = staticmethod(full_answers)

        @staticmethod
        def rng(seed: int = 0) -> np.random.Generator:
            return np.random.default_rng(seed)

    return Team


class Office:
    """A review in which named people answer what they are given."""

    annotated: ClassVar = {
        "pass": {"category_correct": "true", "rewrite_valid": "pass"},
        "fail": {"category_correct": "true", "rewrite_valid": "fail"},
        "mis-category": {"category_correct": "false"},
    }
    event: ClassVar = {
        "event_status": "true",
        "material_relevance": "true",
        "market_category": "Macroeconomic indicators",
    }

    def __init__(self, team, name="rfc-rewrite", items=1, **options):
        self.team, self.now, self.rng = team, team.now, team.rng(3)
        self.state = team.state(name, items, **options)
        self.events = []
        self.own = "i0"

    def next(self, who):
        given, made = take_next(self.state, self.now, who, self.rng)
        self.events += made
        return given

    def do(self, action, *arguments, **options):
        made = do(self.state, self.now, action, *arguments, rng=self.rng, **options)
        self.events += made
        return made

    def say(self, who, answers, seconds=60, **options):
        given = self.next(who)
        assert given is not None, f"nothing for {who}"
        self.now += timedelta(seconds=seconds)
        sent = Decision(answers(given.item) if callable(answers) else answers, **options)
        self.do(answer, who, given, sent)
        return given

    def say_to_all(self, who, answers):
        """Have somebody answer everything that they are given."""
        while self.next(who) is not None:
            self.say(who, answers)

    def item(self, name=None):
        return self.state.items[name or self.own]


@pytest.fixture
def office(review_team):
    return lambda *arguments, **options: Office(review_team, *arguments, **options)


@pytest.fixture
def rewritten(office):
    """Makes an office where a rewrite, not audited itself, has been reviewed and annotated."""

    def made_by(votes=("pass", "pass")):
        made = office(items=0)
        items = {name: made.team.item(0) for name in ("i0", "i1")}
        made.do(import_items, "Max", items)
        for _ in items:
            made.say("Ada", {"review": "pass"})
        audited = made.say("Ben", {"audit": "pass"}).item
        made.own = next(name for name in items if name != audited)
        for who, vote in zip(("Cem", "Dia"), votes, strict=True):
            for _ in items:
                mine = made.next(who).item == made.own
                made.say(who, made.annotated[vote if mine else "pass"])
        return made

    return made_by


@pytest.fixture(scope="session")
def memory_folder() -> Iterator[Path]:
    """Return a folder in memory where there is one: a studio's test mostly waits for the disk."""
    memory = Path("/dev/shm")
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**25
    with tempfile.TemporaryDirectory(
        prefix="contrafact-review-", dir=memory if roomy else None
    ) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(memory_folder: Path) -> Iterator[Path]:
    """Return a new folder, as pytest's own ``tmp_path`` does; it is removed after the test."""
    with tempfile.TemporaryDirectory(dir=memory_folder) as folder:
        yield Path(folder)


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
        # What is committed need not survive the machine (-F): only clients are killed here.
        listen = ["-p", str(port), "-h", "127.0.0.1", "-k", folder]
        server = subprocess.Popen(
            [programs / "postgres", "-F", "-D", data, *listen],
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
    return str(request.getfixturevalue("postgresql_database"))


@pytest.fixture
def postgresql_database(postgresql: str) -> str:
    """Return a new database on a real PostgreSQL server."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgresql.replace("/postgres", f"/{name}")


PASSWORD = "otter lantern gravel 7"


class Browser:
    """A browser without JavaScript: cookies, pages, and their forms."""

    def __init__(self, client: Any) -> None:
        self.http = client

    def get(self, path: str, **options: Any) -> Any:
        return self.http.get(path, **options)

    def fields(self, page: str, form: str = "") -> dict[str, str]:
        """The hidden fields of the form with an id, or of the first one with a token."""
        start = page.index(f'id="{form}"') if form else page.index("<form")
        body = page[start : page.index("</form>", start)]
        found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', body)
        return {name: html.unescape(value) for name, value in found}

    def csrf(self) -> str:
        page = self.get("/sign-in", follow_redirects=True).text
        return self.fields(page)["csrf"]

    def post(self, path: str, fields: dict[str, str], **options: Any) -> Any:
        return self.http.post(path, data={"csrf": self.csrf(), **fields}, **options)

    def sign_in(self, name: str, password: str = PASSWORD) -> Any:
        return self.post("/sign-in", {"name": name, "password": password})

    def submit(self, page: Any, answers: dict[str, str], **fields: str) -> Any:
        """Fill in the form of the item that a page shows, and send it."""
        action = html.unescape(re.search(r'action="([^"]+)" id="sheet"', page.text)[1])
        given = {f"answer.{name}": answer for name, answer in answers.items()}
        return self.http.post(action, data={**self.fields(page.text, "sheet"), **given, **fields})


class Site:
    """A studio on a database, and browsers for it."""

    def __init__(self, database: Any, **options: Any) -> None:
        from contrafact.review.web.serve import create_app
        from contrafact.review.web.studio import open_studio

        self.now = 1_900_000_000.0
        self.studio = open_studio(database, clock=lambda: self.now, **options)
        self.store, self.accounts = self.studio.store, self.studio.accounts
        self.app = create_app(self.studio)
        self.base = ""

    def account(self, name: str, *, manager: bool = False) -> str:
        """Make an account with a password."""
        secret = self.accounts.invite(name, by="Max", manager=manager)
        self.accounts.accept(secret, PASSWORD)
        return name

    def browser(self, name: str | None = None, *, address: str = "192.0.2.7") -> Browser:
        """A browser, signed in if somebody is named."""
        from starlette.testclient import TestClient

        # Where it comes from is what slows attempts.
        client = TestClient(
            self.app,
            base_url="https://testserver" if self.studio.secure else "http://testserver",
            client=(address, 50000),
            follow_redirects=False,
        )
        browser = Browser(client)
        if name is not None:
            assert browser.sign_in(name).status_code == 303
        return browser

    def review(self, name: str, project: str, items: int = 3, **fields: str) -> "Site":
        """Open a review with its usual team, each with an account, and made-up items."""
        self.store.define(name, with_short_rounds(load_project(project)), "Max")
        for person, roles in TEAMS[project].items():
            self.store.act(name, set_roles, "Max", person, roles, trained=True)
            if self.accounts.find(person) is None:
                self.account(person)
        made = {f"i{n}": {**made_item(n), **fields} for n in range(items)}
        self.store.act(name, import_items, "Max", made)
        return self


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Site]]:
    """Open studios whose passwords are hashed quickly."""
    from argon2 import PasswordHasher

    from contrafact.review.store import accounts

    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(accounts, "password_hasher", lambda: quick)
    accounts.unknown_password_hash.cache_clear()
    made: list[Site] = []

    def open_site(database: Any = None, **options: Any) -> Site:
        made.append(Site(database or str(tmp_path / "review.db"), **options))
        return made[-1]

    yield open_site
    for one in made:
        one.store.close()
    accounts.unknown_password_hash.cache_clear()


@pytest.fixture
def served(site: Callable[..., Site]) -> Iterator[Callable[..., Site]]:
    """Serve studios over HTTP, each on a free port of loopback."""
    import uvicorn

    from contrafact.review.web.connections import TimedProtocol
    from contrafact.review.web.serve import bind

    started: list[tuple[uvicorn.Server, threading.Thread, socket.socket]] = []

    def serve(database: Any = None, **options: Any) -> Site:
        studio = site(database, **options)
        listening = bind("127.0.0.1", 0, tls=False, allow_remote=False)
        config = uvicorn.Config(
            studio.app,
            access_log=False,
            log_config=None,
            http=TimedProtocol,
            h11_max_incomplete_event_size=32 * 1024,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        started.append((server, thread, listening))
        studio.base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        return studio

    yield serve
    for server, thread, listening in started:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()


@pytest.fixture
def written() -> Callable[..., Path]:
    """Write rows into a file of the form that its name says."""

    def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
        path = folder / name
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif path.suffix == ".json":
            path.write_text(json.dumps(rows))
        elif path.suffix == ".csv":
            pd.DataFrame(rows).to_csv(path, index=False)
        else:
            pd.DataFrame(rows).to_parquet(path)
        return path

    return write
