"""The store on SQLite and on a real PostgreSQL: nothing lost, nothing doubled, all of it proven."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from contrafact.errors import InputError
from contrafact.review.answers import Assignment, Decision
from contrafact.review.events import NotAllowed
from contrafact.review.project import load_project
from contrafact.review.setup import import_items, set_roles
from contrafact.review.store.database import (
    connect,
    database_url,
    events,
    items,
    metadata,
    votes,
)
from contrafact.review.store.store import Store, verify

RATING = {"rating": "Yes"}


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def opened(database, review_team):
    """Return a store with a review of CoBe ratings: three raters, so many stories."""
    made = []

    def open_store(stories=2, fill=True):
        store = Store(database, clock=Clock(review_team.now), seed=5)
        made.append(store)
        if fill:
            store.define("ours", load_project("cobe-rating"), "Max")
            for name in ("Cem", "Dia", "Eve"):
                store.act("ours", set_roles, "Max", name, ["rater"])
            new = {f"i{n}": review_team.item(n) for n in range(stories)}
            assert store.act("ours", import_items, "Max", new) == stories
        return store

    yield open_store
    for store in made:
        store.close()


def rate(store, who, **options):
    given = store.next("ours", who)
    return given, store.answer("ours", who, given, Decision(RATING, **options))


def test_a_review_outlives_its_process_and_is_what_its_events_say(opened):
    store = opened()
    for who in ("Cem", "Dia", "Eve"):
        rate(store, who)
    later = opened(fill=False)
    assert later.reviews() == ["ours"]
    item = later.read("ours", lambda state: state.items["i0"])
    assert (item.outcome, item.verdict, [v.who for v in item.votes]) == (
        "final",
        "Yes",
        ["Cem", "Dia", "Eve"],
    )
    assert item == store.read("ours", lambda state: state.items["i0"])
    assert verify(later, "ours") == []
    last = [e for e in later.history("ours") if e.kind == "answered"][-1]
    project = load_project("cobe-rating")
    assert (last.who, last.body["answers"]) == ("Eve", RATING)
    assert (last.text_version, last.guidelines_version) == (
        item.text_version,
        project.guidelines_version,
    )


def test_two_processes_see_each_others_work(opened):
    one, two = opened(), opened(fill=False)
    first = one.next("ours", "Cem")
    assert two.next("ours", "Cem") == first
    assert two.answer("ours", "Cem", first, Decision(RATING))
    assert not one.answer("ours", "Cem", first, Decision(RATING))
    assert one.next("ours", "Cem").item != first.item


def test_a_repeated_submit_changes_nothing(opened):
    store = opened()
    given, new = rate(store, "Cem", request="form-1")
    before = store.history("ours")
    assert new
    assert not store.answer("ours", "Cem", given, Decision(RATING, request="form-1"))
    assert not store.answer("ours", "Cem", given, Decision(RATING))
    with pytest.raises(NotAllowed, match="already decided"):
        store.answer("ours", "Cem", given, Decision({"rating": "No"}))
    assert store.history("ours") == before


def test_one_form_sent_by_many_hands_at_once_counts_once(opened):
    stores = [opened(), opened(fill=False)]
    given = stores[0].next("ours", "Cem")

    def send(n):
        return stores[n % 2].answer("ours", "Cem", given, Decision(RATING, request="form-1"))

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(send, range(16))) == {True: 1, False: 15}
    assert verify(stores[0], "ours") == []


def test_many_people_at_once_lose_and_double_nothing(opened):
    stores = [opened(stories=12), opened(fill=False)]
    people = [f"P{n}" for n in range(8)]
    for name in people:
        stores[0].act("ours", set_roles, "Max", name, ["rater"])

    def work(number):
        store, done = stores[number % 2], []
        while given := store.next("ours", people[number]):
            assert store.answer(
                "ours", people[number], given, Decision(RATING, request=f"{number} {given}")
            )
            done.append((given.item, people[number]))
        return done

    with ThreadPoolExecutor(8) as pool:
        shown = [pair for done in pool.map(work, range(8)) for pair in done]
    # A place that somebody holds is asked again when everybody is back.
    for number in range(8):
        shown += work(number)
    assert Counter(item for item, _ in shown) == {f"i{n}": 3 for n in range(12)}
    assert len(set(shown)) == len(shown)
    state = stores[1].read("ours", lambda state: state)
    kept = [(item.id, vote.who) for item in state.items.values() for vote in item.votes]
    assert sorted(kept) == sorted(shown)
    assert verify(stores[0], "ours") == []


def test_audits_are_drawn_and_returned_in_the_database_too(database, review_team):
    with Store(database, clock=Clock(review_team.now), seed=5) as store:
        store.define("rfc", load_project("rfc-rewrite"), "Max")
        for name, roles in review_team.teams["rfc-rewrite"].items():
            store.act("rfc", set_roles, "Max", name, roles)
        store.act("rfc", import_items, "Max", {f"i{n}": review_team.item(n) for n in range(8)})
        while given := store.next("rfc", "Ada"):
            store.answer("rfc", "Ada", given, Decision({"review": "pass"}))
        while given := store.next("rfc", "Ben"):
            store.answer("rfc", "Ben", given, Decision({"audit": "fail"}, comment="no"))
        stages = store.read("rfc", lambda b: {(i.stage, i.round) for i in b.items.values()})
        assert stages == {("expert-review", 2)}
        given = store.next("rfc", "Ada")
        new = "Shares of Alder Works slid."
        store.answer("rfc", "Ada", given, Decision({"review": "revise"}, correction=new))
        assert store.read("rfc", lambda b: b.items[given.item].fields["rewritten"]) == new
        assert verify(store, "rfc") == []


def test_what_fails_half_way_never_happened(opened, monkeypatch):
    store = opened()
    given = store.next("ours", "Cem")
    before = store.history("ours")

    def broken(*_):
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("contrafact.review.store.store.item_row", broken)
        with pytest.raises(RuntimeError):
            store.answer("ours", "Cem", given, Decision(RATING))
    assert store.history("ours") == before
    assert store.answer("ours", "Cem", given, Decision(RATING))
    assert verify(store, "ours") == []


@pytest.mark.parametrize(
    "statement", [update(events).values(who="Eve"), delete(events)], ids=["update", "delete"]
)
def test_the_history_cannot_be_changed(opened, statement):
    store = opened()
    with pytest.raises(DBAPIError, match="only ever added"), store.engine.begin() as connection:
        connection.execute(statement)


@pytest.fixture
def unguarded():
    """Return what changes the history all the same, as somebody with the file in hand could."""

    def change(store, *statements):
        lite = store.engine.dialect.name == "sqlite"
        off = ["DROP TRIGGER events_update", "DROP TRIGGER events_delete"]
        with store.engine.begin() as connection:
            for line in off if lite else ["ALTER TABLE events DISABLE TRIGGER events_kept"]:
                connection.execute(text(line))
            for statement in statements:
                connection.execute(statement)

    return change


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([update(events).where(events.c.kind == "answered").values(who="Zoe")], "a vote"),
        ([delete(events).where(events.c.seq == 4)], "event 5 does not follow"),
        ([delete(events).where(events.c.seq == 8)], "the last event is 7"),
    ],
    ids=["who", "left-out", "cut-off"],
)
def test_the_proof_finds_an_event_that_was_edited_by_hand(opened, unguarded, statements, message):
    store = opened()
    rate(store, "Cem")
    assert len(store.history("ours")) == 8 and verify(store, "ours") == []
    unguarded(store, *statements)
    assert any(message in problem for problem in verify(store, "ours"))


def test_the_database_of_a_newer_version_is_one_line(opened, database):
    store = opened()
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="made by a newer version"):
        Store(database)


def test_a_new_file_is_for_its_owner_alone(tmp_path):
    store = Store(str(tmp_path / "review.db"))
    store.define("ours", load_project("cobe-rating"), "Max")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("review.db*")}
    store.close()
    assert modes and set(modes.values()) == {0o600}


def test_the_database_itself_refuses_a_second_vote_in_one_place(opened):
    store = opened()
    rate(store, "Cem")
    with store.engine.begin() as connection:
        row = connection.execute(select(votes)).one()._asdict()
    for change in ({"person": "Zoe"}, {"slot": 1}):
        with pytest.raises(IntegrityError), store.engine.begin() as connection:
            connection.execute(insert(votes).values(row | change))


def test_the_proof_finds_a_state_that_no_event_made(opened):
    store = opened()
    rate(store, "Cem")
    for statement, message in (
        (update(items).where(items.c.id == "i0").values(outcome="final"), "item i0: 'outcome'"),
        (delete(votes), "a vote is lost: i0 rating 1 0 Cem"),
        (delete(items).where(items.c.id == "i1"), "item i1 is in the history"),
    ):
        assert not any(message in problem for problem in verify(store, "ours"))
        with store.engine.begin() as connection:
            connection.execute(statement)
        assert any(message in problem for problem in verify(store, "ours"))


def test_migrations_make_the_tables_that_the_code_knows(opened):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    store = opened()
    with store.engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert "alembic_version" in inspect(connection).get_table_names()


def test_text_of_any_kind_comes_back_as_it_was(opened, review_team):
    store = opened()
    odd = review_team.item(9) | {"edit": "nul \x00, half \ud83d, '; DROP TABLE items; -- %s \u2028"}
    store.act("ours", import_items, "Max", {"Ω 'x'; --": odd})
    assert opened(fill=False).read("ours", lambda b: b.items["Ω 'x'; --"].fields) == odd
    assert verify(store, "ours") == []
    with pytest.raises(NotAllowed, match="item's id"):
        store.act("ours", import_items, "Max", {"a\x00b": odd})
    with pytest.raises(NotAllowed, match="not a short plain text"):
        store.answer("ours", "Cem", Assignment("i0", "rating", 1), Decision(RATING, request="\x00"))


def test_an_unknown_review_is_reported(opened):
    store = opened()
    with pytest.raises(InputError, match="there is no review 'theirs'"):
        store.next("theirs", "Cem")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mysql://root@localhost/x", "'mysql' databases are not supported"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("postgresql://me:secret@127.0.0.1:1/x", "cannot be used"),
        ("postgresql://me:p@secret@127.0.0.1:1/x", "'@'; write it as %40"),
        ("://", "database's URL"),
    ],
)
def test_a_database_that_cannot_be_used_is_reported_without_its_password(given, message):
    with pytest.raises(InputError, match=message) as caught:
        connect(given)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_reported(tmp_path):
    path = tmp_path / "notes.db"
    path.write_text("These are my notes, and no database at all." * 50)
    with pytest.raises(InputError, match="cannot be used"):
        connect(str(path))
    with pytest.raises(InputError, match="folder does not exist"):
        connect(str(tmp_path / "none" / "review.db"))
    assert database_url(str(path)).database == str(path)


def test_sqlite_writes_ahead_and_syncs(tmp_path):
    engine = connect(str(tmp_path / "review.db"))
    with engine.begin() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
    engine.dispose()
