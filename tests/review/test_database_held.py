"""Another program holds the studio's SQLite file: nothing typed is lost, and work goes on."""

import html
import re
import sqlite3
from contextlib import contextmanager

import pytest

from contrafact.errors import InputError
from contrafact.review.store import database, open_store
from contrafact.review.web.serve import settle_all

TYPED = 'typed for\ntwenty <minutes> & "more"'
PASSWORD = "correct horse 9 battery"


@pytest.fixture
def held(site, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_PATIENCE", 100)
    studio = site().review("ours", "cobe-rating")
    studio.account("Max", manager=True)

    @contextmanager
    def hold():
        other = sqlite3.connect(tmp_path / "review.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
        other.close()

    studio.hold = hold
    return studio


FORMS = {
    "/sign-in": {"name": "Cem", "password": PASSWORD, "next": "/account"},
    "/account": {
        "password": PASSWORD,
        "new": "another long 77",
        "again": "another long 77",
    },
    "/r/ours/undo": {"request": "k-0123456789abcdefghi1"},
    "/r/ours/discuss": {"request": "k-0123456789abcdefghi2", "item": "i0", "text": TYPED},
    "/manage": {"name": "theirs", "project": "cobe-rating"},
    "/manage/people/invite": {"name": "Dora"},
    "/manage/people/change": {"name": "Cem", "what": "close"},
    "/manage/r/ours/stage": {"stage": "rating", "what": "close"},
    "/manage/r/ours/team/invite": {"names": "Dora\nEmil", "roles": "rater"},
    "/manage/r/ours/items": {"item": "i0", "reason": TYPED, "what": "withdraw"},
    "/manage/r/ours/items/edit": {"item": "i0", "reason": TYPED, "field.text": TYPED},
    "/manage/r/ours/items/retract": {"item": "i0", "decision": "1", "reason": TYPED},
    "/invite/SECRET": {"password": "another long 77", "again": "another long 77"},
}


def sent_again(browser, page):
    """Press the button of the page that says that the database does not answer."""
    action = html.unescape(re.search(r'<form method="post" action="([^"]+)">', page.text)[1])
    kept = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', page.text, re.S)
    fields = {name: html.unescape(text) for name, text in kept}
    return fields, browser.http.post(action, data=fields)


@pytest.mark.parametrize("path", FORMS)
def test_every_form_that_writes_is_sent_again_as_it_was_typed(held, path):
    typed, who = FORMS[path], "Cem" if path.startswith("/r/") else "Max"
    browser = held.browser(None if path.startswith(("/sign-in", "/invite")) else who)
    path = path.replace("SECRET", held.accounts.invite("New", by="Max"))
    shown = browser.get("/account" if browser.http.cookies else "/sign-in", follow_redirects=True)
    fields = {"csrf": browser.fields(shown.text)["csrf"], **typed}
    with held.hold():
        page = browser.http.post(path, data=fields)
    assert page.status_code == 503, page.text
    again, answer = sent_again(browser, page)
    assert again == fields
    assert answer.status_code < 500 and "does not answer" not in answer.text


def test_a_vote_is_taken_once_the_file_is_free(held):
    cem = held.browser("Cem")
    page = cem.get("/r/ours/work")
    held.now += 90  # its session is kept alive by a write of its own
    with held.hold():
        lost = cem.submit(page, {"rating": "No"}, comment=TYPED)
    assert lost.status_code == 503
    assert sent_again(cem, lost)[1].status_code == 303
    (event,) = [one for one in held.store.history("ours") if one.kind == "answered"]
    assert (event.body["answers"], event.body["comment"]) == ({"rating": "No"}, TYPED)


def test_settling_goes_on_after_the_file_was_held(held, monkeypatch, caplog):
    with held.hold():
        settle_all(held.store)
    assert "failed to release" in caplog.text
    rounds = []
    monkeypatch.setattr(held.store, "act", lambda review, _: rounds.append(review) or 1 / 0)
    settle_all(held.store)  # whatever else fails
    monkeypatch.undo()
    settle_all(held.store)
    assert rounds == ["ours"]


def test_a_command_says_in_one_line_that_the_file_is_held(held, tmp_path):
    place = str(tmp_path / "review.db")
    with held.hold(), pytest.raises(InputError, match="locked") as told:
        open_store(place)
    assert "another program" in str(told.value)
    with (
        pytest.raises(InputError, match="locked"),
        open_store(place) as store,
        held.hold(),
    ):
        store.act("ours", lambda change: None)
