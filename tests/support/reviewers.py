"""Simulated people who review rewrites in the studio's pages, as a browser without JavaScript.

Each sees what its page shows, and no more: it reads the rewritten text, knows (because the world
knows) whether that text is as it should be, and errs at known rates, by chance of its own.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import numpy as np

RIGHT, FLAWED, MISPLACED = "right", "flawed", "misplaced"


@dataclass
class Form:
    """A form as a browser holds it: what it would send if it were submitted as it is."""

    action: str
    method: str = "get"
    fields: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)


class Page(HTMLParser):
    """What a browser without JavaScript has of a page: its heading, its forms, its texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.heading = ""
        self.forms: list[Form] = []
        self.texts: list[str] = []
        self.rows: list[tuple[str, ...]] = []
        self.links: list[str] = []
        self._area: str | None = None
        self._into: str | None = None
        self._cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        form = self.forms[-1] if self.forms else Form("")
        if tag == "form":
            self.forms.append(Form(known.get("action", ""), known.get("method", "get")))
        elif tag == "input" and "name" in known:
            kind = known.get("type", "text")
            if kind in ("radio", "checkbox"):
                form.options.setdefault(known["name"], []).append(known.get("value", "on"))
                if "checked" not in known:
                    return
            form.fields[known["name"]] = known.get("value", "")
        elif tag == "textarea" and "name" in known:
            self._area = known["name"]
            form.fields[self._area] = ""
        elif tag == "p" and known.get("class") == "text":
            self._into = "text"
            self.texts.append("")
        elif tag == "span" and known.get("class") == "link":
            self._into = "link"
            self.links.append("")
        elif tag == "h1":
            self._into = tag
        elif tag == "tr":
            self._cells = []
        elif tag in ("td", "th"):
            self._into = "cell"
            self._cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            # A browser drops the line feed that directly follows the tag.
            own = self.forms[-1].fields
            own[self._area] = own[self._area].removeprefix("\n")
            self._area = None
        elif tag in ("p", "h1", "td", "th", "span"):
            self._into = None
        elif tag == "tr":
            self.rows.append(tuple(cell.strip() for cell in self._cells))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1].fields[self._area] += data
        elif self._into == "text":
            self.texts[-1] += data
        elif self._into == "h1":
            self.heading += data.strip()
        elif self._into == "link":
            self.links[-1] += data.strip()
        elif self._into == "cell":
            self._cells[-1] += data

    def form(self, ending: str) -> Form:
        """Return the last form whose action ends so."""
        return next(form for form in reversed(self.forms) if form.action.endswith(ending))


class Browser:
    """A browser without JavaScript: cookies, links, forms."""

    def __init__(self, base: str) -> None:
        self.client = httpx.Client(base_url=base, follow_redirects=True, timeout=60)

    def get(self, path: str) -> Page:
        reply = self.client.get(path)
        reply.raise_for_status()
        return Page(reply.text)

    def send(self, form: Form, *, file: Path | None = None, **fields: str | list[str]) -> Page:
        given = {**form.fields, **fields}
        files = None
        if "file" in given:
            # An empty choice of a file is sent as one without a name.
            content = b"" if file is None else file.read_bytes()
            files = {"file": ("" if file is None else file.name, content)}
            del given["file"]
        reply = self.client.post(form.action, data=given, files=files)
        reply.raise_for_status()
        return Page(reply.text)

    def save(self, path: str, to: Path) -> None:
        """Download a file."""
        reply = self.client.get(path)
        reply.raise_for_status()
        to.write_bytes(reply.content)

    def join(self, link: str, password: str) -> None:
        """Use a one-time link: choose a password, and be signed in."""
        path = link.removeprefix(str(self.client.base_url).rstrip("/"))
        self.send(self.get(path).form(path), password=password, again=password)

    def close(self) -> None:
        self.client.close()


@dataclass
class World:
    """What is true of every text that anybody may see.

    Attributes:
        truth: By rewritten text, whether it is right, flawed, or in the wrong category.
        repairs: The chance that a text that was written anew is right.
    """

    truth: dict[str, str]
    repairs: float = 0.9

    def rewrite(self, text: str, rng: np.random.Generator) -> str:
        """Return a text written anew, and know from now on whether it is right."""
        new = text.replace(" ", "  ", 1)
        while new in self.truth:
            new = new.replace(" ", "  ", 1)
        self.truth[new] = RIGHT if rng.random() < self.repairs else FLAWED
        return new


@dataclass
class Reviewer:
    """Somebody who reviews, with known chances of erring.

    Attributes:
        name: Their name.
        roles: Their roles.
        misses: The chance that they pass what is not right.
        alarms: The chance that they fail what is.
        doubts: The chance that they flag an item, or leave a dispute unresolved.
    """

    name: str
    roles: tuple[str, ...]
    misses: float
    alarms: float
    doubts: float = 0.0
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    browser: Browser | None = None
    decided: int = 0

    def step(self, review: str, world: World) -> bool:
        """Look for an item and decide on it; return whether there was one."""
        assert self.browser is not None
        page = self.browser.get(f"/r/{review}/work")
        forms = [form for form in page.forms if "item" in form.fields]
        if not forms:
            return False
        if "step" in forms[0].fields:
            # What the rewrite is like is not shown yet.
            page = self.browser.send(forms[0], **{"answer.category_correct": "true"})
            forms = [form for form in page.forms if "item" in form.fields]
        after = self.browser.send(forms[0], **self.decision(page, forms[0], world))
        assert "not accepted" not in after.heading, after.heading
        self.decided += 1
        return True

    def decision(self, page: Page, form: Form, world: World) -> dict[str, str]:
        """Return what is filled in on a page."""
        text = page.texts[-1]
        truth = world.truth[text]
        seen = truth
        if truth == RIGHT:
            if self.rng.random() < self.alarms:
                seen = FLAWED if self.rng.random() < 0.9 else MISPLACED
        elif self.rng.random() < self.misses:
            seen = RIGHT
        asked = {name.removeprefix("answer.") for name in form.options if "answer." in name}
        filled = self._answers(asked, seen)
        if filled.get("answer.review") == "revise" or filled.get("answer.revision") == "revise":
            filled["correction"] = world.rewrite(text, self.rng)
        if "annotation" in form.fields["stage"] and self.rng.random() < self.doubts:
            filled |= {"flag": "1", "comment": "I cannot tell."}
        for name, value in filled.items():
            assert name not in form.options or value in form.options[name], (name, value)
        return filled

    def _answers(self, asked: set[str], seen: str) -> dict[str, str]:
        good = seen == RIGHT
        if "review" in asked:
            if good:
                return {"answer.review": "pass"}
            if seen == FLAWED and self.rng.random() < 0.6:
                return {"answer.review": "revise"}
            return {"answer.review": "remove", "comment": "It does not keep the rules."}
        if "audit" in asked:
            verdict = "pass" if good else "fail"
            return {"answer.audit": verdict, "comment": "" if good else "A rule is broken."}
        if "category_correct" in asked:
            if seen == MISPLACED:
                return {"answer.category_correct": "false"}
            valid = "pass" if good else "fail"
            return {"answer.category_correct": "true", "answer.rewrite_valid": valid}
        if "revision" in asked:
            if seen == MISPLACED:
                return {"answer.revision": "remove", "comment": "Wrong category."}
            return {"answer.revision": "revise"}
        assert "ruling_rewrite" in asked, asked
        if self.rng.random() < self.doubts:
            return {"answer.ruling_category": "unresolved", "comment": "Not even now."}
        if seen == MISPLACED:
            return {"answer.ruling_category": "false", "comment": "Wrong category."}
        ruling = {"answer.ruling_category": "true", "answer.ruling_rewrite": "pass"}
        if not good:
            ruling |= {"answer.ruling_rewrite": "fail", "comment": "A rule is broken."}
        return ruling


def five_people(seed: int) -> list[Reviewer]:
    """Return two experts, two annotators, and the strict one, who annotates nothing.

    They are in a hurry: half of what is wrong gets past the first expert, and so much past the
    annotators that both pass about one wrong item in thirteen.
    """
    sources = np.random.SeedSequence(seed).spawn(5)
    rngs = [np.random.default_rng(source) for source in sources]
    return [
        Reviewer("Ada", ("expert-a",), misses=0.50, alarms=0.02, doubts=0.02, rng=rngs[0]),
        Reviewer("Ben", ("expert-b",), misses=0.10, alarms=0.03, doubts=0.05, rng=rngs[1]),
        Reviewer("Cem", ("annotator",), misses=0.30, alarms=0.06, doubts=0.02, rng=rngs[2]),
        Reviewer("Dia", ("annotator",), misses=0.25, alarms=0.08, doubts=0.02, rng=rngs[3]),
        Reviewer("Eve", ("strict-annotator",), misses=0.25, alarms=0.08, doubts=0.02, rng=rngs[4]),
    ]


def world_of(pairs: Mapping[str, str], flawed: float, rng: np.random.Generator) -> World:
    """Return a world in which a share of the texts is not right, drawn by chance."""
    truth = {}
    for text in pairs.values():
        bad = rng.random() < flawed
        truth[text] = RIGHT if not bad else (FLAWED if rng.random() < 0.85 else MISPLACED)
    return World(truth)


def review_all(people: list[Reviewer], review: str, world: World, rng: np.random.Generator) -> int:
    """Let everybody work, in random order, until nobody finds an item; return the decisions."""
    busy = True
    while busy:
        busy = False
        for at in rng.permutation(len(people)).tolist():
            # A few items in a row, as people work who take turns.
            for _ in range(int(rng.integers(1, 6))):
                if not people[at].step(review, world):
                    break
                busy = True
    return sum(one.decided for one in people)


def open_review(
    manager: Browser, review: str, project: str, items: Path, people: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Open a review, import items, invite everybody and give them roles; return their links."""
    opened = manager.send(manager.get("/manage").form("/manage"), name=review, project=project)
    assert opened.heading == review
    imported = manager.get(f"/manage/r/{review}/import").form("/import/items")
    manager.send(imported, file=items)
    links = {}
    for roles in dict.fromkeys(people.values()):
        names = [name for name, own in people.items() if own == roles]
        form = manager.get(f"/manage/r/{review}/team").form("/team/invite")
        page = manager.send(form, names="\n".join(names), roles=list(roles))
        links |= dict(zip(names, page.links, strict=True))
    return links


@dataclass
class Studio:
    """A server that runs: where, and as which process."""

    base: str
    process: Any


def start_command(*arguments: str, **streams: Any) -> "subprocess.Popen[bytes]":
    """Start the command line in a process of its own."""
    command = [sys.executable, "-m", "contrafact.cli.main", *arguments]
    return subprocess.Popen(command, **streams)


@contextmanager
def studio(
    database: str, log: Path, *, port: int = 0, start: Callable[..., Any] = start_command
) -> Iterator[Studio]:
    """Run the real server in a process of its own, which ``start`` starts."""
    output = log.with_suffix(".out")
    with log.open("a") as errors, output.open("w") as out:
        process = start(
            *("review", "serve", "--db", database, "--port", str(port)),
            stdout=out.fileno(),
            stderr=errors.fileno(),
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        base = _wait_for(process, output, log)
        yield Studio(base, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def _wait_for(process: Any, output: Path, log: Path) -> str:
    """Return the address of a server once it answers there."""
    for _ in range(1200):
        assert process.poll() is None, f"the server did not start: {log.read_text()}"
        found = re.search(r"http://[0-9.]+:\d+", output.read_text())
        if found is not None:
            try:
                httpx.get(f"{found.group()}/sign-in", timeout=60).raise_for_status()
            except httpx.ConnectError:
                pass
            else:
                return found.group()
        time.sleep(0.1)
    raise AssertionError("the server does not answer")
