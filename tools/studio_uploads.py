"""How long people wait for their pages while a hostile file is uploaded to the studio.

    python tools/studio_uploads.py [--people 50] [--items 10000] [--files NAME …]

A studio (`contrafact review serve`, SQLite, loopback) holds so many items; so many people, signed
in, each ask for the page they work on once a second. First for ``--quiet`` seconds with no upload,
then while each of the files of `tests/files/test_hostile.py` is uploaded by a manager. The table
has the status that the upload ended in, its seconds, and the pages' median and 95th percentile.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

__all__ = ["main"]

_PASSWORD = "a long enough password"
_PACE = 1.0
"""Seconds between two pages of one person."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print the table as it comes."""
    from reviewers import studio
    from tests.files.test_hostile import FILES

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--quiet", type=float, default=20.0)
    parser.add_argument("--files", nargs="+", choices=list(FILES), default=list(FILES))
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        database, names = str(Path(place) / "review.db"), [f"P{n}" for n in range(asked.people)]
        _fill(database, names, asked.items)
        with studio(database, Path(place) / "log") as server:
            manager, people = _client(server.base, "Max"), [_client(server.base, n) for n in names]
            print("| file | status | seconds | pages | median ms | p95 ms |")
            print("| --- | ---: | ---: | ---: | ---: | ---: |")
            _row("no upload", people, lambda: time.sleep(asked.quiet) or "")
            for name in asked.files:
                content = FILES[name][0]()
                _row(name, people, lambda n=name, c=content: _upload(manager, n, c))
    return 0


def _fill(database: str, names: list[str], items: int) -> None:
    """Make a review of so many items, its people and their accounts."""
    from contrafact.review.project import load_project
    from contrafact.review.setup import import_items, set_roles
    from contrafact.review.web.studio import open_studio

    made = open_studio(database)
    made.store.define("ours", load_project("cobe-rating"), "Max")
    for name in ("Max", *names):
        secret = made.accounts.invite(name, by="Max", manager=name == "Max")
        made.accounts.accept(secret, _PASSWORD)
    for name in names:
        made.store.act("ours", set_roles, "Max", name, ["rater"], trained=True)
    texts = {"text": "It rained.", "query": "Had it not?", "edit": "It was dry."}
    rows = {f"i{n}": {**texts, "edit": f"{n} guests stayed.", "story_id": str(n)}
            for n in range(items)}  # fmt: skip
    made.store.act("ours", import_items, "Max", rows)
    made.store.close()


def _client(base: str, name: str) -> httpx.Client:
    client = httpx.Client(base_url=base, follow_redirects=True, timeout=120)
    page = client.get("/sign-in")
    token = page.text.partition('name="csrf" value="')[2].partition('"')[0]
    client.post("/sign-in", data={"name": name, "password": _PASSWORD, "csrf": token})
    client.get("/r/ours/work" if name != "Max" else "/manage").raise_for_status()
    return client


def _upload(manager: httpx.Client, name: str, content: bytes) -> str:
    path = "/manage/r/ours/import"
    token = manager.get(path).text.partition('name="csrf" value="')[2].partition('"')[0]
    sent = {"file": (name, content)}
    return str(manager.post(f"{path}/items", data={"csrf": token}, files=sent).status_code)


def _row(name: str, people: list[httpx.Client], work: Callable[[], str]) -> None:
    """Do something while people ask for pages, and print how long both took."""
    waits: list[float] = []
    ended = threading.Event()

    def asks(person: httpx.Client, first: float) -> None:
        time.sleep(first)
        while not ended.is_set():
            began = time.perf_counter()
            person.get("/r/ours/work").raise_for_status()
            waits.append(time.perf_counter() - began)
            ended.wait(max(0.0, _PACE - waits[-1]))

    with ThreadPoolExecutor(len(people)) as pool:
        asked = [pool.submit(asks, p, _PACE * n / len(people)) for n, p in enumerate(people)]
        began = time.perf_counter()
        try:
            status = work()
        finally:
            took = time.perf_counter() - began
            ended.set()
        for one in asked:
            one.result()
    middle, high = (1000 * np.quantile(waits, q) for q in (0.5, 0.95))
    print(
        f"| {name} | {status} | {took:.1f} | {len(waits)} | {middle:.0f} | {high:.0f} |", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
