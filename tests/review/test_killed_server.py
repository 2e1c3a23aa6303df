"""A server that is killed while people work: what it acknowledged is kept, and counted once."""

import signal
import threading
import time
from collections import Counter

import httpx
import pytest
from reviewers import Browser, studio
from sqlalchemy import update

from contrafact.review.project import load_project
from contrafact.review.setup import import_items, set_roles
from contrafact.review.store.accounts import hash_password
from contrafact.review.store.database import accounts
from contrafact.review.store.store import verify
from contrafact.review.web.studio import open_studio

PASSWORD = "otter lantern gravel 7"
PEOPLE = [f"Rater {number}" for number in range(8)]
ITEMS, HALF = 40, 60


def prepare(database, review_team):
    opened = open_studio(database)
    with opened.store as store:
        store.define("load", load_project("cobe-rating"), "Max")
        for name in PEOPLE:
            store.act("load", set_roles, "Max", name, ["rater"])
            opened.accounts.invite(name, by="Max")
        # One hash is enough: they are slow to make, and every person has the same password.
        with store.engine.begin() as connection:
            connection.execute(update(accounts).values(password=hash_password(PASSWORD)))
        items = {f"i{number}": review_team.item(number) for number in range(ITEMS)}
        store.act("load", import_items, "Max", items)


def insist(act, *arguments, **fields):
    """Do something again until the server answers."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return act(*arguments, **fields)
        except httpx.HTTPError:
            assert time.monotonic() < deadline, "the server does not come back"
            time.sleep(0.1)


def work(browser, name, acknowledged):
    """Answer what there is, and send again what was not acknowledged."""
    while True:
        page = insist(browser.get, "/r/load/work")
        forms = [form for form in page.forms if "item" in form.fields]
        if not forms and page.heading == "All done":
            return
        if not forms:
            time.sleep(0.1)
            continue
        after = insist(browser.send, forms[0], **{"answer.rating": "Yes"})
        assert "not accepted" not in after.heading, after.heading
        acknowledged.append((forms[0].fields["item"], name))
        time.sleep(0.02)


def kept_votes(database):
    with open_studio(database).store as store:
        history = store.history("load")
        assert verify(store, "load") == []
    return Counter((event.item, event.who) for event in history if event.kind == "answered")


@pytest.mark.slow
def test_a_server_killed_under_load_loses_and_doubles_nothing(
    database, review_team, start_contrafact, tmp_path
):
    prepare(database, review_team)
    acknowledged, log = [], tmp_path / "server.log"
    with studio(database, log, start=start_contrafact) as running:
        browsers = [Browser(running.base) for _ in PEOPLE]
        for browser, name in zip(browsers, PEOPLE, strict=True):
            browser.send(browser.get("/sign-in").form("/sign-in"), name=name, password=PASSWORD)
        people = [
            threading.Thread(target=work, args=(browser, name, acknowledged), daemon=True)
            for browser, name in zip(browsers, PEOPLE, strict=True)
        ]
        for person in people:
            person.start()
        while len(acknowledged) < HALF:
            time.sleep(0.02)
        running.process.send_signal(signal.SIGKILL)
        before = list(acknowledged)
        running.process.wait()
        assert set(before) <= set(kept_votes(database))
    port = int(running.base.rpartition(":")[2])
    with studio(database, log, port=port, start=start_contrafact):
        for person in people:
            person.join(120)
            assert not person.is_alive(), (
                "somebody was stopped by an answer that they did not expect"
            )
    kept = kept_votes(database)
    assert set(acknowledged) == set(kept) and set(kept.values()) == {1}
    assert len(kept) == 3 * ITEMS
    for browser in browsers:
        browser.close()
