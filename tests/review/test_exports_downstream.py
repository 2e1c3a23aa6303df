"""Every built-in project's export goes into the command that comes after it."""

import json
from importlib.resources import files

import pandas as pd
import pytest

from contrafact.families.finforce.data import CATEGORIES
from contrafact.review.answers import Decision
from contrafact.review.discussion import say, under_discussion, voices
from contrafact.review.setup import set_roles
from contrafact.review.store.store import Store

SCREENERS = {"Cem": "annotator", "Dia": "annotator", "Eve": "annotator", "Fay": "verifier"}
EVENT = {"event_status": "true", "material_relevance": "true"}


@pytest.fixture
def headlines(tmp_path):
    """Write bundled headlines as raw news, and return how many there are."""
    bundled = files("contrafact.families.finforce").joinpath("samples/headlines.jsonl")
    titles = [json.loads(line)["headline"] for line in bundled.read_text("utf-8").splitlines()]
    news = [{"title": title, "date": "2031-02-01", "source": "Example"} for title in titles]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in news), "utf-8")
    return len(titles)


def staff(database, people):
    with Store(str(database), seed=1) as store:
        for name, role in people.items():
            store.act("review", set_roles, "Max", name, [role], trained=True)


def decide(database, reply, turns=4):
    """Let everybody answer what they are given, as ``reply(who, assignment, item)`` says."""
    with Store(str(database), seed=1) as store:
        for who in list(store.read("review", lambda state: list(state.people))) * turns:
            discussed = store.read(
                "review", lambda state, who=who: under_discussion(state, state.people[who])
            )
            for item in discussed:
                if who not in voices(item):
                    store.act("review", say, who, item.id, "I have read it.")
            while given := store.next("review", who):
                item = store.read("review", lambda state, name=given.item: state.items[name])
                answers, more = reply(who, given, item)
                store.answer("review", who, given, Decision(answers, **more))


def screener(doubted):
    """The first headlines are doubted and discussed; every fourth other is no event."""

    def say(who, given, item):
        place = doubted.index(item.id) if item.id in doubted else None
        if given.stage == "verification":
            return {"verified": "correct"}, {}
        if given.stage == "discussion":
            categories = {name: CATEGORIES[n] for n, name in enumerate(sorted(SCREENERS))}
            if place == 0:  # everybody names another category
                more = {"flagged": True, "comment": "we differ on the category"}
                return EVENT | {"market_category": categories[who]}, more
            if place == 1:
                return {"event_status": "false"}, {}
            return EVENT | {"market_category": CATEGORIES[4]}, {}
        if place is not None:
            more = {"flagged": True, "comment": "not sure"}
            return EVENT | {"market_category": CATEGORIES[2]}, more
        if len(item.fields["headline"]) % 4 == 0:
            return {"event_status": "false"}, {}
        return EVENT | {"market_category": CATEGORIES[len(item.id) % 10]}, {}

    return say


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_screening_ends_in_a_release(quick_contrafact, headlines, tmp_path, form):
    run = quick_contrafact("finforce", "screen", "raw.jsonl", "--out", "s.jsonl")
    assert run.returncode == 0, run.stderr
    run = quick_contrafact("review", "import", "s.jsonl", "--project", "headline-screening")
    assert run.returncode == 0, run.stderr
    staff(tmp_path / "review.db", SCREENERS)
    with Store(str(tmp_path / "review.db")) as store:
        doubted = store.read("review", lambda state: list(state.items))[:3]
    decide(tmp_path / "review.db", screener(doubted))
    run = quick_contrafact("review", "export", "--what", "items", "--out", f"items.{form}")
    assert run.returncode == 0, run.stderr
    run = quick_contrafact("finforce", "release", f"items.{form}", "--out", "alone")
    assert run.returncode == 0, run.stderr
    rows = [
        json.loads(line)
        for line in (tmp_path / "alone" / "headlines.jsonl").read_text("utf-8").splitlines()
    ]
    with Store(str(tmp_path / "review.db")) as store:
        items = store.read("review", lambda state: dict(state.items))
    assert all(item.outcome for item in items.values())
    final = {name for name, item in items.items() if item.outcome == "final"}
    assert {row["id"] for row in rows} == final
    assert (items[doubted[0]].outcome, items[doubted[1]].outcome) == ("hard case", "removed")
    by_id = {row["id"]: row for row in rows}
    assert doubted[0] not in by_id and doubted[1] not in by_id
    assert by_id[doubted[2]]["category"] == CATEGORIES[4], "the discussion, not the annotation"
    assert by_id[doubted[2]]["reviewed_by"] == 3


def test_headlines_that_nobody_screened_are_released_from_the_items_alone(
    quick_contrafact, headlines, tmp_path
):
    run = quick_contrafact("review", "import", "raw.jsonl", "--project", "headline-screening")
    assert run.returncode == 0, run.stderr
    staff(tmp_path / "review.db", SCREENERS)
    quick_contrafact("review", "export", "--what", "items", "--out", "early.jsonl")
    early = quick_contrafact("finforce", "release", "early.jsonl", "--out", "early")
    assert early.returncode == 1
    assert "no headline is left to release: all are under way in the review" in early.stderr
    decide(tmp_path / "review.db", screener([]))
    quick_contrafact("review", "export", "--what", "items", "--out", "items.jsonl")
    run = quick_contrafact("finforce", "release", "items.jsonl", "--out", "out")
    assert run.returncode == 0, run.stderr
    released = (tmp_path / "out" / "headlines.jsonl").read_text("utf-8").splitlines()
    assert 0 < len(released) < headlines
    first = json.loads(released[0])
    assert (first["date"], first["source"]) == ("2031-02-01", "Example")
    quick_contrafact("review", "export", "--out", "d.jsonl")
    alone = quick_contrafact("finforce", "release", "d.jsonl", "--out", "again")
    assert alone.returncode == 2
    assert "d.jsonl:1: holds no headline" in alone.stderr


def test_exports_that_cannot_be_used_are_refused(quick_contrafact, headlines, tmp_path):
    quick_contrafact("finforce", "screen", "raw.jsonl", "--out", "s.jsonl")
    row = {
        "item_id": "h1", "headline": "Osk Mills halts trading", "review_outcome": "final",
        "answer_market_category": CATEGORIES[1],
    }  # fmt: skip
    for change, file, more, message in (
        ({"answer_market_category": "Sport"}, "d.jsonl", (), "d.jsonl:1: 'Sport' is not one of"),
        ({"review_outcome": "maybe"}, "d.jsonl", (), "d.jsonl:1: 'maybe' is not an outcome"),
        ({"review_by": "Cem"}, "d.jsonl", (), "d.jsonl:1: review_by is no list of names"),
        ({}, "s.jsonl", ("--decisions", "d.jsonl"), "is a review's export"),
    ):
        (tmp_path / "d.jsonl").write_text(json.dumps(row | change) + "\n")
        run = quick_contrafact("finforce", "release", file, *more, "--out", "out")
        assert (run.returncode, len(run.stderr.splitlines())) == (2, 1), run.stderr
        assert message in run.stderr
        assert not (tmp_path / "out").exists()


RATERS = {"Cem": "rater", "Dia": "rater", "Eve": "rater"}


@pytest.mark.slow
def test_ratings_of_edits_reach_the_study_agree_and_the_report(quick_contrafact, service, tmp_path):
    ran = quick_contrafact(
        "run", "cobe", "--model", service.model, "--judge", service.judge,
        "--limit", "6", "--out", "run", env=service.environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr

    def rate(who, given, item):
        worse = who == "Eve" and len(item.fields["edit"]) % 2
        return {"rating": "No" if worse else "Yes"}, {}

    sampled = quick_contrafact("cobe", "study", "sample", "run", "--n", "12", "--out", "sheet.csv")
    assert sampled.returncode == 0, sampled.stderr
    for source, what, out in (
        ("sheet.csv", "sheet", "answers.csv"),
        ("run/items.parquet", "labels", "labels.csv"),
    ):
        (tmp_path / "review.db").unlink(missing_ok=True)
        done = quick_contrafact("review", "import", source, "--project", "cobe-rating")
        assert done.returncode == 0, done.stderr
        staff(tmp_path / "review.db", RATERS)
        decide(tmp_path / "review.db", rate)
        for export, name in ((what, out), ("ratings", "ratings.csv")):
            done = quick_contrafact("review", "export", "--what", export, "--out", name)
            assert done.returncode == 0, done.stderr
        done = quick_contrafact("agree", "ratings.csv")
        assert done.returncode == 0, done.stderr
    for command in (
        ("cobe", "study", "score", "answers.csv", "--key", "sheet.key.csv", "--out", "scores"),
        ("report", "run", "--labels", "labels.csv", "--out", "report"),
    ):
        done = quick_contrafact(*command)
        assert done.returncode == 0, done.stderr
    scored = pd.read_csv(tmp_path / "scores" / "labels.csv")
    assert scored.groupby("annotator").size().to_dict() == {"Cem": 12, "Dia": 12, "Eve": 12}
    labels = pd.read_csv(tmp_path / "labels.csv")
    assert len(labels) == 18 * 3
    assert "labels" in (tmp_path / "report" / "report.html").read_text("utf-8")
