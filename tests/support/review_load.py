"""Many annotators at once against the real server, and whether everything they were told is kept.

    python tests/support/review_load.py --db load.db --seconds 180 --kill

Fifty people label 5,000 pairs in the pages, each thinking for two to five seconds an item. The page
with the item and the taking of a decision are timed by those who wait for them; signing in, which
hashes, is apart. With --kill the server is ended by SIGKILL half way and started again. At the end
every decision that was acknowledged has to be in the history once, and the state has to be what the
history says. With --manager somebody keeps the page of figures open meanwhile, and looks again
every two seconds. The server is the real command, with all its limits on.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import update

sys.path.insert(0, str(Path(__file__).parent))
from reviewers import start_command, studio

from contrafact.review.project import Project, load_project
from contrafact.review.store.accounts import hash_password
from contrafact.review.store.database import accounts
from contrafact.review.store.store import verify
from contrafact.review.web.studio import open_studio

REVIEW = "load"
PASSWORD = "correct horse battery staple"
MANAGER = "Manager"
PATIENCE = 300.0
"""Seconds for which a decision is sent again that was not acknowledged."""


@dataclass
class Log:
    """What the annotators saw.

    Attributes:
        pages: Seconds until the page with an item was there.
        answers: Seconds until a decision was acknowledged.
        acknowledged: By item and person, the verdict that the server said it had taken.
        refused: How often it said that it had not.
        failed: How often it did not answer, or with an error of its own.
    """

    pages: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    acknowledged: dict[tuple[str, str], str] = field(default_factory=dict)
    refused: int = 0
    failed: int = 0
    figures: list[float] = field(default_factory=list)


def load_review() -> Project:
    """Return a review of pairs that begins with two annotators each, blind to each other."""
    definition = load_project("rfc-rewrite").model_dump(mode="json")
    kept = ("annotation", "disagreement", "secondary-review", "arbitration")
    stages = {stage["id"]: stage for stage in definition["stages"] if stage["id"] in kept}
    stages["annotation"] |= {
        "counts": [],
        "apart_from": [],
        "rules": [
            {"all": ["pass"], "to": "final", "why": "passed by all"},
            {"some": ["pass"], "to": "disagreement", "why": "the annotators disagree"},
            {"to": "removed", "why": "failed by all"},
        ],
    }
    for name in ("secondary-review", "arbitration"):
        stages[name] |= {"shows": ["annotation"], "apart_from": ["annotation"]}
    stages["arbitration"]["roles"] = ["strict-annotator"]
    stages["secondary-review"]["roles"] = ["strict-annotator"]
    return Project.model_validate(definition | {"stages": list(stages.values())})


def made_pairs(count: int) -> dict[str, dict[str, Any]]:
    """Return pairs of ordinary length, each with its own figures."""
    pairs = {}
    for n in range(count):
        words = (
            f"Aldermoor Mills said that revenue rose {3 + n % 40}% to ${200 + n} million in the "
            f"third quarter, helped by orders from its {1 + n % 9} plants abroad and by lower "
            "freight. Net profit reached {profit} million, and the company kept its outlook for "
            "the year. Analysts had expected less: the shares, which had lost a tenth of their "
            "value since spring, gained 4% in early trading, while those of its larger rival "
            "hardly moved. The state will propose a dividend of 42 cents a share."
        )
        pairs[f"load-{n:05d}"] = {
            "manipulation": ("flipping", "numerical", "sentiment", "causal")[n % 4],
            "article_id": f"a{n}",
            "original": words.replace("{profit}", f"${20 + n % 70}"),
            "rewritten": words.replace("{profit}", f"${95 + n % 70}").replace("rose", "fell"),
        }
    return pairs


def prepare(db: str, people: int, items: int) -> list[str]:
    """Open the review, with its people and their accounts; return their names."""
    names = [f"Annotator {n + 1}" for n in range(people)]
    opened = open_studio(db)
    with opened.store as store:
        store.define(REVIEW, load_review(), "manager")
        for name in names:
            store.set_roles(REVIEW, name, ["annotator"], "manager")
            opened.accounts.invite(name, by="manager")
        opened.accounts.invite(MANAGER, by="manager", manager=True)
        # One hash is enough: they are slow to make, and every person has the same password.
        one = {"password": hash_password(PASSWORD)}
        with store.engine.begin() as connection:
            connection.execute(update(accounts).values(one))
        store.import_items(REVIEW, made_pairs(items), "manager")
    return names


class Annotator:
    """One person at a browser, who answers by chance and sends again what was not acknowledged."""

    def __init__(self, name: str, base: str, seed: int, log: Log, think: tuple[float, float]):
        self.name, self.log, self.think = name, log, think
        self.rng = np.random.default_rng(seed)
        self.client = httpx.AsyncClient(base_url=base, timeout=30)

    async def work(self, enough: Callable[[], bool]) -> None:
        """Work until it is enough; people come one by one, and not all at the same moment."""
        await asyncio.sleep(self.rng.uniform(0, self.think[1]))
        while not enough():
            began = time.monotonic()
            reply = await self._ask("GET", f"/r/{REVIEW}/work")
            if reply is None:
                continue
            self.log.pages.append(time.monotonic() - began)
            fields = _fields(reply.text)
            if "item" not in fields:
                await asyncio.sleep(1)
                continue
            await asyncio.sleep(self.rng.uniform(*self.think))
            verdict = await self._answer(fields)
            if verdict is not None:
                self.log.acknowledged[fields["item"], self.name] = verdict
        await self.client.aclose()

    async def _answer(self, fields: dict[str, str]) -> str | None:
        shown = self.rng.choice(["pass", "fail", "mis-category"], p=[0.8, 0.15, 0.05])
        fields["answer.category_correct"] = "false" if shown == "mis-category" else "true"
        if shown != "mis-category":
            fields["answer.rewrite_valid"] = str(shown)
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            began = time.monotonic()
            reply = await self._ask("POST", f"/r/{REVIEW}/work", fields)
            if reply is None:
                continue
            if reply.status_code == 303:
                self.log.answers.append(time.monotonic() - began)
                return str(shown)
            self.log.refused += 1
            return None
        return None

    async def _ask(
        self, method: str, path: str, fields: dict[str, str] | None = None
    ) -> httpx.Response | None:
        try:
            reply = await self.client.request(method, path, data=fields)
        except httpx.HTTPError:
            reply = None
        if reply is None or reply.status_code >= 500:
            self.log.failed += 1
            await asyncio.sleep(0.5)
            return None
        return reply

    async def sign_in(self) -> None:
        """Sign in, which is not timed."""
        while True:
            page = await self._ask("GET", "/sign-in")
            if page is None:
                continue
            fields = _fields(page.text) | {"name": self.name, "password": PASSWORD}
            reply = await self._ask("POST", "/sign-in", fields)
            if reply is not None and reply.status_code == 303:
                return
            if reply is not None:
                raise RuntimeError(f"{self.name} could not sign in: {reply.status_code}")


class Manager(Annotator):
    """Somebody who keeps the page of figures open."""

    async def work(self, enough: Callable[[], bool]) -> None:
        """Look at the figures again and again."""
        page = f"/manage/r/{REVIEW}/figures"
        while not enough():
            began = time.monotonic()
            reply = await self._ask("GET", page)
            if reply is None:
                continue
            assert reply.status_code == 200, reply.status_code
            self.log.figures.append(time.monotonic() - began)
            await asyncio.sleep(2.0)
        await self.client.aclose()


_INPUT = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def _fields(text: str) -> dict[str, str]:
    # What is hidden in the form is all that is needed: a whole parse would cost the machine that
    # is measured.
    start = text.find('id="sheet"')
    return dict(_INPUT.findall(text, max(0, start)))


def run_load(
    db: str,
    folder: Path,
    *,
    people: int = 50,
    items: int = 5_000,
    seconds: float = 180.0,
    think: tuple[float, float] = (2.0, 5.0),
    kill: bool = False,
    decisions: int | None = None,
    manager: bool = False,
    start: Callable[..., Any] = start_command,
) -> dict[str, Any]:
    """Run all of it, and return what was seen; see the module's text.

    With ``decisions`` it lasts until so many were acknowledged, however long that takes. ``start``
    starts the server's process.
    """
    names = prepare(db, people, items)
    if manager:
        names.append(MANAGER)
    load = os.getloadavg()[0]
    log, port = Log(), _free_port()
    base = f"http://127.0.0.1:{port}"
    found = asyncio.run(
        _drive(db, folder, names, base, port, seconds, decisions, think, kill, log, start)
    )
    return {
        "database": db.split(":")[0] if "://" in db else "sqlite",
        "people": people,
        "items": items,
        "seconds": seconds,
        "load_before_and_after": [round(load, 1), round(os.getloadavg()[0], 1)],
        **found,
        "page": _times(log.pages),
        "decision": _times(log.answers),
        **({"figures": _times(log.figures)} if manager else {}),
        "acknowledged": len(log.acknowledged),
        "refused": log.refused,
        "failed_requests": log.failed,
        **check(db, log),
    }


async def _drive(
    db: str,
    folder: Path,
    names: list[str],
    base: str,
    port: int,
    seconds: float,
    decisions: int | None,
    think: tuple[float, float],
    kill: bool,
    log: Log,
    start: Callable[..., Any],
) -> dict[str, Any]:
    errors = folder / "server.log"
    first = studio(db, errors, port=port, start=start)
    server = (await asyncio.to_thread(first.__enter__)).process
    people = [
        (Manager if name == MANAGER else Annotator)(name, base, n, log, think)
        for n, name in enumerate(names)
    ]
    for at in range(0, len(people), 4):
        await asyncio.gather(*(one.sign_in() for one in people[at : at + 4]))
    started = _server_seconds(server.pid)
    began = time.monotonic()

    def share() -> float:
        if decisions is not None:
            return len(log.acknowledged) / decisions
        return (time.monotonic() - began) / seconds

    workers = [asyncio.create_task(one.work(lambda: share() >= 1.0)) for one in people]
    if not kill:
        try:
            await asyncio.gather(*workers)
            spent = _server_seconds(server.pid) - started
        finally:
            await asyncio.to_thread(first.__exit__, None, None, None)
        requests = len(log.pages) + len(log.answers)
        return {"server_cpu_ms_per_request": round(1000 * spent / max(1, requests), 1)}
    while share() < 0.5:
        await asyncio.sleep(0.05)
    server.send_signal(signal.SIGKILL)
    before = dict(log.acknowledged)
    await asyncio.to_thread(server.wait)
    await asyncio.to_thread(first.__exit__, None, None, None)
    lost = _lost(await asyncio.to_thread(_kept, db), before)
    restarted = time.monotonic()
    second = studio(db, errors, port=port, start=start)
    await asyncio.to_thread(second.__enter__)
    took = round(time.monotonic() - restarted, 2)
    try:
        await asyncio.gather(*workers)
    finally:
        await asyncio.to_thread(second.__exit__, None, None, None)
    return {
        "acknowledged_before_kill": len(before),
        "lost_by_kill": len(lost),
        "seconds_to_start_again": took,
    }


def _server_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check(db: str, log: Log) -> dict[str, Any]:
    """Return what is wrong with what was kept: all of it should be 0 or empty."""
    kept = _kept(db)
    opened = open_studio(db)
    with opened.store as store:
        problems = verify(store, REVIEW)
        state = store.read(REVIEW, lambda found: found)
    votes = [(item.id, vote.who) for item in state.items.values() for vote in item.votes]
    overfull = sum(len(item.votes) > 2 for item in state.items.values())
    return {
        "kept": len(kept),
        "lost": len(_lost(kept, log.acknowledged)),
        "doubled": sum(count > 1 for count in Counter(votes).values()) + overfull,
        "unacknowledged": len(set(kept) - set(log.acknowledged)),
        "problems": problems[:5],
    }


def _kept(db: str) -> dict[tuple[str, str], str]:
    opened = open_studio(db)
    with opened.store as store:
        answered = [event for event in store.history(REVIEW) if event.kind == "answered"]
    return {(str(event.item), event.who): event.body["verdict"] for event in answered}


def _lost(
    kept: dict[tuple[str, str], str], acknowledged: dict[tuple[str, str], str]
) -> list[tuple[str, str]]:
    return [place for place, verdict in acknowledged.items() if kept.get(place) != verdict]


def _times(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {"n": 0}
    found = np.quantile(np.array(seconds) * 1000, [0.5, 0.95, 0.99, 1.0])
    named = zip(("p50_ms", "p95_ms", "p99_ms", "max_ms"), found.tolist(), strict=True)
    return {"n": len(seconds), **{name: round(value, 1) for name, value in named}}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", required=True)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--manager", action="store_true")
    given = parser.parse_args()
    found = run_load(
        given.db,
        Path.cwd(),
        people=given.people,
        items=given.items,
        seconds=given.seconds,
        kill=given.kill,
        manager=given.manager,
    )
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
