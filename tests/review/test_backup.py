"""Backups, and restoring them."""

import sqlite3

import pytest
from sqlalchemy import text

from contrafact.errors import InputError
from contrafact.review.answers import Decision
from contrafact.review.project import load_project
from contrafact.review.setup import import_items, set_roles
from contrafact.review.store.backup import backup, restore
from contrafact.review.store.store import Store, verify


def fill(store, review_team, name="ours"):
    store.define(name, load_project("cobe-rating"), "Max")
    store.act(name, set_roles, "Max", "Cem", ["rater"])
    store.act(name, import_items, "Max", {f"i{n}": review_team.item(n) for n in range(2)})
    store.answer(name, "Cem", store.next(name, "Cem"), Decision({"rating": "Yes"}))


def test_a_copy_made_while_it_is_served_comes_back_whole(tmp_path, review_team):
    path, copy, again = (str(tmp_path / name) for name in ("review.db", "copy.db", "again.db"))
    with Store(path) as store:
        fill(store, review_team)
        assert backup(path, tmp_path / "copy.db") == 1
        store.answer("ours", "Cem", store.next("ours", "Cem"), Decision({"rating": "No"}))
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert restore(tmp_path / "copy.db", again) == ["ours"]
    assert (tmp_path / "again.db").stat().st_mode & 0o777 == 0o600
    with Store(again) as store:
        assert verify(store, "ours") == []
        assert store.read("ours", lambda state: state.decided["Cem"]) == 1
    for wrong in (
        lambda: backup(path, tmp_path / "copy.db"),
        lambda: restore(tmp_path / copy, path),
    ):
        with pytest.raises(InputError, match="is there already"):
            wrong()
    assert sorted(p.name for p in tmp_path.glob("copy*")) == ["copy.db"]


def test_a_copy_that_was_changed_is_not_put_back(tmp_path, review_team):
    path, copy = str(tmp_path / "review.db"), tmp_path / "copy.db"
    with Store(path) as store:
        fill(store, review_team)
    backup(path, copy)
    with sqlite3.connect(copy) as changed:
        changed.execute("DROP TRIGGER events_update")
        changed.execute("UPDATE events SET who = 'Zoe' WHERE kind = 'answered'")
    with pytest.raises(InputError, match="is not what its events say: "):
        restore(copy, str(tmp_path / "again.db"))
    (tmp_path / "notes.txt").write_text("no database at all " * 100)
    with pytest.raises(InputError):
        restore(tmp_path / "notes.txt", str(tmp_path / "again.db"))
    assert not (tmp_path / "again.db").exists()
    with pytest.raises(InputError, match="use pg_dump"):
        backup("postgresql://me:secret@localhost/x", copy)


def empty(store):
    """Take every row out, as whoever puts a copy of a database back does."""
    lite = store.engine.dialect.name == "sqlite"
    off = "DROP TRIGGER events_delete" if lite else "ALTER TABLE events DISABLE TRIGGER events_kept"
    with store.engine.begin() as connection:
        connection.execute(text(off))
        for table in ("votes", "items", "events", "reviews"):
            connection.execute(text(f"DELETE FROM {table}"))


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_review_that_was_put_back_is_read_anew_by_others(database, review_team, more):
    with Store(database) as serving, Store(database) as other:
        fill(serving, review_team)
        before = serving.read("ours", lambda state: state.seq)
        empty(other)
        # As many events as before, or more: nothing but their times shows that they are others.
        other.define("ours", load_project("cobe-rating"), "Max")
        new = {f"n{k}": review_team.item(k) for k in range(before - 1 + more)}
        other.act("ours", import_items, "Max", new)
        assert other.read("ours", lambda state: state.seq) == before + more
        assert set(serving.read("ours", lambda state: state.items)) == set(new)
        serving.act("ours", set_roles, "Max", "Cem", ["rater"])
        given = serving.next("ours", "Cem")
        assert serving.answer("ours", "Cem", given, Decision({"rating": "Yes"}))
        assert verify(serving, "ours") == [] == verify(other, "ours")
