"""Backups, restoring them, and deleting a review with its export first."""

import json
import sqlite3

import pytest
from sqlalchemy import select, text

from contrafact.errors import InputError
from contrafact.review.answers import Decision
from contrafact.review.events import NotAllowed
from contrafact.review.project import load_project
from contrafact.review.store.backup import backup, delete_review, restore
from contrafact.review.store.database import audit
from contrafact.review.store.store import Store, UnknownReview, verify


def fill(store, review_team, name="ours"):
    store.define(name, load_project("cobe-rating"), "Max")
    store.set_roles(name, "Cem", ["rater"], "Max")
    store.import_items(name, {f"i{n}": review_team.item(n) for n in range(2)}, "Max")
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


def test_a_review_is_deleted_with_its_history_first(database, tmp_path, review_team):
    with Store(database) as store:
        fill(store, review_team)
        fill(store, review_team, "theirs")
        count = len(store.history("ours"))
        out = tmp_path / "ours.jsonl"
        assert delete_review(store, "ours", out, "Max") == count
        assert len([json.loads(line) for line in out.read_text().splitlines()]) == count
        assert store.reviews() == ["theirs"] and verify(store, "theirs") == []
        with pytest.raises(UnknownReview):
            store.history("ours")
        with pytest.raises(InputError, match="is there already"):
            delete_review(store, "theirs", out, "Max")
        with store.engine.begin() as connection:
            assert "review deleted" in connection.scalars(select(audit.c.action)).all()
        with pytest.raises(Exception, match="only ever added"), store.engine.begin() as connection:
            connection.execute(text("DELETE FROM events"))
        fill(store, review_team)
        assert verify(store, "ours") == []
        with pytest.raises(NotAllowed):
            store.answer("ours", "Dia", store.next("ours", "Cem"), Decision({"rating": "Yes"}))


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_review_made_anew_under_a_deleted_ones_name_is_read_anew_by_others(
    database, tmp_path, review_team, more
):
    with Store(database) as serving, Store(database) as other:
        fill(serving, review_team)
        before = serving.read("ours", lambda state: state.seq)
        delete_review(other, "ours", tmp_path / "ours.jsonl", "Max")
        # As many events as before, or more: nothing but their times shows that they are others.
        other.define("ours", load_project("cobe-rating"), "Max")
        new = {f"n{k}": review_team.item(k) for k in range(before - 1 + more)}
        other.import_items("ours", new, "Max")
        assert other.read("ours", lambda state: state.seq) == before + more
        assert set(serving.read("ours", lambda state: state.items)) == set(new)
        serving.set_roles("ours", "Cem", ["rater"], "Max")
        given = serving.next("ours", "Cem")
        assert serving.answer("ours", "Cem", given, Decision({"rating": "Yes"}))
        assert verify(serving, "ours") == [] == verify(other, "ours")


def test_what_is_decided_during_the_export_is_not_deleted(
    database, tmp_path, review_team, monkeypatch
):
    from contrafact.review.store import backup as module

    with Store(database) as store:
        fill(store, review_team)
        written = module.write_rows

        def slowly(rows, out):
            written(rows, out)
            store.answer("ours", "Cem", store.next("ours", "Cem"), Decision({"rating": "No"}))

        monkeypatch.setattr(module, "write_rows", slowly)
        with pytest.raises(InputError, match="has gone on while it was exported"):
            delete_review(store, "ours", tmp_path / "ours.jsonl", "Max")
        assert verify(store, "ours") == [] and not (tmp_path / "ours.jsonl").exists()
        assert store.read("ours", lambda state: state.decided["Cem"]) == 2
