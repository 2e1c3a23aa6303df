"""Recorded reviews of every built-in project come out as they did, event for event, cell for cell.

The recording is a studio's database of schema 0004 (as SQL), with reviews that ran undisturbed, and
busy ones with every correction that a manager can make. ``studio-0004.json.xz`` has what was
exported from it then.
"""

import json
import lzma
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from review_acts import do, take_next
from sqlalchemy import Boolean, MetaData, create_engine, func, select
from sqlalchemy.exc import DBAPIError

from contrafact.review.answers import Assignment, Decision
from contrafact.review.assignment import answer_training
from contrafact.review.corrections import edit, reopen, retract, withdraw
from contrafact.review.discussion import say
from contrafact.review.events import current_definition, current_kind
from contrafact.review.export import export_rows
from contrafact.review.project import Project
from contrafact.review.setup import define_project, import_gold, import_items, set_roles
from contrafact.review.state import ReviewState
from contrafact.review.store.accounts import Accounts
from contrafact.review.store.database import database_url, metadata
from contrafact.review.store.sessions import Sessions
from contrafact.review.store.store import Store, verify
from contrafact.review.workflow import answer, set_stage_open, settle, undo

DATA = Path(__file__).parent / "data"
SQL = lzma.decompress((DATA / "studio-0004.sql.xz").read_bytes()).decode()
EXPORTED = json.loads(lzma.decompress((DATA / "studio-0004.json.xz").read_bytes()))


def old_studio(path):
    """Write the recorded studio's database into a file."""
    with sqlite3.connect(path) as database:
        database.executescript(SQL)
    database.close()
    return str(path)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    with Store(old_studio(tmp_path_factory.mktemp("old") / "review.db")) as store:
        yield store


@pytest.mark.parametrize("review", EXPORTED)
def test_a_recorded_review_exports_what_it_did(recorded, review):
    assert verify(recorded, review) == []
    state = recorded.read(review, lambda found: found)
    for what, rows in EXPORTED[review].items():
        if isinstance(rows, str):  # this project's answers have no such export
            continue
        found = json.loads(json.dumps(export_rows(state, what)))
        gone = ("suggested", "evidence")  # columns that are no longer exported
        kept = [{name: cell for name, cell in row.items() if name not in gone} for row in rows]
        assert found == kept, what


@pytest.mark.parametrize("review", EXPORTED)
def test_the_same_acts_come_to_the_same_events(recorded, review):
    made = Acts(recorded.history(review)).repeat()
    assert made > 20


def test_a_database_of_then_opens_with_every_decision_and_account(database):
    """On PostgreSQL the recorded rows are put into tables of that time first."""
    names = ("reviews", "events", "items", "votes", "accounts", "invites", "attempts", "audit")
    dropped = ("devices", "second_factors", "recovery_codes", "identities", "pending")
    with closing(sqlite3.connect(":memory:")) as recording:
        recording.executescript(SQL)
        counted = {
            name: recording.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]
            for name in (*names, *dropped)
        }
        assert [name for name, count in counted.items() if not count] == ["attempts"]
        if database.startswith("postgresql"):
            copy_into(database, recording, [*names, *dropped, "alembic_version"])
        else:
            old_studio(database)
    with Store(database) as store:
        present = MetaData()
        with store.engine.begin() as connection:
            present.reflect(connection)
            for name in set(names) - {"attempts"}:
                count = connection.scalar(select(func.count()).select_from(present.tables[name]))
                assert count == counted[name], name
        assert not set(dropped) & set(present.tables)
        assert "chain" not in present.tables["events"].c
        for review in EXPORTED:
            assert verify(store, review) == []
        accounts = Accounts(store.engine)
        # Whoever had a second factor, or came through a provider, chooses a password at a link.
        for name in ("Ada", "Fay"):
            accounts.accept(accounts.invite(name, by="Max"), "otter lantern gravel 7")
            Sessions(accounts).prove(name, "otter lantern gravel 7")
        with pytest.raises(DBAPIError, match="only ever added"), store.engine.begin() as connection:
            connection.execute(present.tables["events"].delete())


def test_a_database_from_before_there_were_accounts_opens_too(tmp_path):
    path = old_studio(tmp_path / "review.db")
    later = ("invites", "sessions", "attempts", "audit", "devices", "second_factors",
             "recovery_codes", "identities", "pending", "accounts")  # fmt: skip
    with closing(sqlite3.connect(path)) as database:
        for name in later:
            database.execute(f"DROP TABLE {name}")
        database.execute("DROP INDEX ix_votes_person")
        for name in ("events", "reviews"):
            database.execute(f"ALTER TABLE {name} DROP COLUMN chain")
        database.execute("UPDATE alembic_version SET version_num = '0001'")
        database.commit()
    with Store(path) as store:
        with store.engine.begin() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        for review in EXPORTED:
            assert verify(store, review) == []


def copy_into(database, recording, names):
    """Copy the recorded tables and their rows into a new database."""
    engine = create_engine(database_url(database))
    known = MetaData()
    with NamedTemporaryFile() as file:
        source = create_engine(database_url(old_studio(file.name)))
        known.reflect(source)
        source.dispose()
    with engine.begin() as connection:
        known.create_all(connection)
        for name in names:
            found = recording.execute(f"SELECT * FROM {name}")
            heads = [column[0] for column in found.description]
            rows = [dict(zip(heads, row, strict=True)) for row in found]
            for head in heads:
                if isinstance(known.tables[name].c[head].type, Boolean):
                    for row in rows:
                        row[head] = None if row[head] is None else bool(row[head])
            for row in rows:
                row.pop("id" if name == "audit" else "", None)  # a sequence numbers them
            if rows:
                connection.execute(known.tables[name].insert(), rows)
    engine.dispose()


def test_the_recording_shows_what_the_papers_describe(recorded):
    kinds, results = Counter(), Counter()
    for review in recorded.reviews():
        for event in recorded.history(review):
            kinds[event.kind] += 1
            results[event.body.get("result")] += 1
            results[event.stage] += event.kind == "answered"
    assert results["returned"] >= 2 and results["passed"] >= 5, "audits pass, and send back"
    for stage in ("expert-review", "audit", "annotation", "secondary-review", "arbitration"):
        assert results[stage], stage
    assert results["discussion"] and kinds["said"], "a group has discussed and recorded"


class Acts:
    """Does again what people did in a history, and compares what follows from it."""

    def __init__(self, history):
        # As they would be called today.
        self.history = [replace(event, kind=current_kind(event) or event.kind) for event in history]
        self.state = ReviewState(Project.model_validate(current_definition(history[0])))
        self.reserved = set()

    def retired(self, event):
        """Whether an event is of what nobody can do any more, or was given out because of it."""
        if event.kind == "reserved":
            self.reserved |= {event.item}
        elif event.kind == "answered":
            self.reserved -= {event.item}
        if event.kind == "assigned" and ("until" not in event.body or self.reserved):
            return True
        added = event.kind == "imported" and "why" in event.body
        remark = event.kind == "said" and event.who == "Max"
        gone = current_kind(event) is None or "origin" in event.body
        return gone or added or remark

    def repeat(self):
        acts, waiting = 0, []
        for recorded in self.history:
            if self.retired(recorded):
                assert not waiting, recorded
                self.state.apply(recorded)
                continue
            if not waiting:
                act = getattr(self, f"_{recorded.kind.replace('-', '_')}", self._settled)
                waiting = act(recorded, np.random.default_rng([3, recorded.seq - 1]))
                acts += 1
            made = waiting.pop(0)
            gone = ("suggested", "reply_to", "evidence")
            body = {name: part for name, part in recorded.body.items() if name not in gone}
            if recorded.kind == "project":
                body = {"definition": Project.model_validate(current_definition(recorded))}
                made = replace(made, body={"definition": Project(**made.body["definition"])})
            assert made == replace(recorded, body=body)
        return acts

    def _settled(self, event, rng):
        return do(self.state, event.when, settle, rng=rng)

    def _project(self, event, rng):
        definition = Project.model_validate(current_definition(event))
        return do(self.state, event.when, define_project, event.who, definition)

    def _person(self, event, rng):
        body = event.body
        options = {"active": body["active"], "trained": body["trained"]}
        return do(
            self.state, event.when, set_roles, event.who, body["name"], body["roles"], **options
        )

    def _imported(self, event, rng):
        body, about = event.body, (self.state, event.when)
        if "gold" in body:
            gold = {event.item: (body["fields"], body["gold"])}
            return do(*about, import_gold, event.who, gold)
        return do(*about, import_items, event.who, {event.item: body["fields"]})

    def _assigned(self, event, rng):
        return take_next(self.state, event.when, event.who, rng)[1]

    _training_drawn = _assigned

    def _training_answered(self, event, rng):
        place = Assignment(event.item, event.stage, event.round, training=True)
        decision = Decision(event.body["answers"], request=event.request)
        return do(self.state, event.when, answer_training, event.who, place, decision)

    def _answered(self, event, rng):
        body, place = event.body, Assignment(event.item, event.stage, event.round)
        decision = Decision(
            body["answers"],
            flagged=body["flagged"],
            comment=body["comment"],
            correction=body.get("correction"),
            guidelines_version=event.guidelines_version,
            request=event.request,
        )
        return do(self.state, event.when, answer, event.who, place, decision, rng=rng)

    def _undone(self, event, rng):
        return do(self.state, event.when, undo, event.who, request=event.request)

    def _stage(self, event, rng):
        return do(
            self.state, event.when, set_stage_open, event.who, event.stage, event.body["open"]
        )

    def _said(self, event, rng):
        about = (event.who, event.item, event.body["text"])
        return do(self.state, event.when, say, *about, request=event.request)

    def _corrected(self, event, rng):
        body, when = event.body, event.when
        about = (event.who, event.item, body["why"].partition(": ")[2])
        if "answer" in body:
            return do(self.state, when, retract, *about, body["answer"], rng=rng)
        if "fields" in body:
            return do(self.state, when, edit, *about, body["fields"], rng=rng)
        if "to" in body:
            return do(self.state, when, reopen, *about, stage=body["to"], rng=rng)
        return do(self.state, when, withdraw, *about, rng=rng)
