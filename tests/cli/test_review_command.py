"""``contrafact review``: from a file of pairs to decisions that other commands read."""

import json
from importlib.resources import files

import pandas as pd
import pytest

from contrafact.review.answers import Decision
from contrafact.review.store.store import Store

PEOPLE = ("Ada=expert-a", "Ben=expert-b", "Cem=annotator", "Dia=annotator", "Eve=strict-annotator")
ANSWERS = {
    "expert-review": {"review": "pass"},
    "audit": {"audit": "pass"},
    "annotation": {"category_correct": "true", "rewrite_valid": "pass"},
    "secondary-review": {"ruling_category": "true", "ruling_rewrite": "fail"},
}


@pytest.fixture
def pairs(tmp_path):
    """Two bundled pairs of each manipulation, as a user's file."""
    path = tmp_path / "pairs.jsonl"
    bundled = files("contrafact.families.rfc").joinpath("samples/pairs.jsonl").read_text("utf-8")
    path.write_text("".join(bundled.splitlines(keepends=True)[::3]), "utf-8")
    return path


def imported(run, pairs, *more):
    team = [part for person in PEOPLE for part in ("--person", person)]
    return run("review", "import", pairs.name, "--project", "rfc-rewrite", *team, *more)


def work(database, dissent=None):
    """Everybody passes everything; Dia fails one item, and the secondary review agrees with her."""
    with Store(str(database), seed=1) as store:
        people = store.read("review", lambda state: list(state.people))
        for who in people * 3:
            while given := store.next("review", who):
                answers = ANSWERS[given.stage]
                if (who, given.item) == ("Dia", dissent):
                    answers = answers | {"rewrite_valid": "fail"}
                store.answer("review", who, given, Decision(answers, comment="seen"))


def test_a_review_goes_from_pairs_to_a_final_dataset(quick_contrafact, pairs, tmp_path):
    ids = [json.loads(line)["id"] for line in pairs.read_text().splitlines()]
    result = imported(quick_contrafact, pairs)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"{len(ids)} of {len(ids)} items are new" in result.stdout
    assert f"0 of {len(ids)} items are new" in imported(quick_contrafact, pairs).stdout
    work(tmp_path / "review.db", dissent=ids[3])
    proof = quick_contrafact("review", "prove")
    assert proof.returncode == 0 and "the state matches its" in proof.stdout
    for what, name in (("decisions", "d.jsonl"), ("items", "i.parquet"), ("history", "h.csv")):
        done = quick_contrafact("review", "export", "--what", what, "--out", name)
        assert done.returncode == 0, done.stderr
    final = quick_contrafact(
        "rfc", "finalize", pairs.name, "--decisions", "d.jsonl", "--out", "final.jsonl"
    )
    assert final.returncode == 0, final.stderr
    kept = [json.loads(line) for line in (tmp_path / "final.jsonl").read_text().splitlines()]
    items = pd.read_parquet(tmp_path / "i.parquet").set_index("item_id")
    assert items["review_outcome"].value_counts().to_dict() == {"final": len(ids) - 1, "removed": 1}
    assert {row["reviewed_id"] for row in kept} == set(ids) - {ids[3]}
    done = quick_contrafact(
        *("review", "export", "--what", "ratings", "--stage", "annotation"),
        *("--question", "rewrite_valid", "--out", "r.csv"),
    )
    assert done.returncode == 0, done.stderr
    ratings = pd.read_csv(tmp_path / "r.csv")
    assert len(ratings) == 2 * len(ids)
    assert list(ratings[ratings["rating"] == "fail"]["rater"]) == ["Dia"]
    history = pd.read_csv(tmp_path / "h.csv")
    assert list(history["seq"]) == list(range(1, len(history) + 1))


def test_a_state_that_no_event_made_is_an_answer_no(quick_contrafact, pairs, tmp_path):
    import sqlite3

    imported(quick_contrafact, pairs)
    with sqlite3.connect(tmp_path / "review.db") as connection:
        connection.execute("UPDATE items SET outcome = 'final'")
    connection.close()
    proof = quick_contrafact("review", "prove")
    assert proof.returncode == 1
    assert "'outcome' differs from the history" in proof.stdout


def test_training_items_bring_their_answers(quick_contrafact, tmp_path):
    row = {"headline": "Corvane Rail opens a line", "side": "risk", "counterfactual": "It closes."}
    (tmp_path / "items.jsonl").write_text(json.dumps(row) + "\n")
    known = row | {"id": "g1", "forward_compatibility": True, "directionality": False}
    (tmp_path / "gold.jsonl").write_text(json.dumps(known) + "\n")
    first = ("review", "import", "items.jsonl", "--project", "judge-agreement")
    assert "need training" in quick_contrafact(*first, "--person", "Cem=annotator").stderr
    done = quick_contrafact("review", "import", "gold.jsonl", "--training")
    assert "1 of 1 training items are new" in done.stdout
    with Store(str(tmp_path / "review.db")) as store:
        gold = store.read("review", lambda b: b.gold)
    assert gold == {"g1": {"forward_compatibility": "true", "directionality": "false"}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "none.jsonl", "--project", "rfc-rewrite"), "no such file"),
        (("import", "pairs.jsonl", "--project", "cobe-rating"), "has no '"),
        (
            ("import", "pairs.jsonl", "--project", "rfc-rewrite", "--columns", "original=before"),
            "'before'",
        ),
        (
            ("import", "pairs.jsonl", "--project", "rfc-rewrite", "--person", "Ada"),
            "is not of the form NAME=ROLE",
        ),
    ],
)
def test_what_is_wrong_is_reported_in_one_line(quick_contrafact, pairs, arguments, message):
    run = quick_contrafact("review", *arguments)
    assert run.returncode == 2
    assert message in run.stderr and len(run.stderr.strip().splitlines()) == 1


def test_projects_are_listed_and_read_aloud(quick_contrafact):
    assert (
        "headline-screening: Screening of headlines" in quick_contrafact("review", "project").stdout
    )
    rules = quick_contrafact("review", "project", "rfc-rewrite").stdout
    assert "to hard case: unresolved by arbitration" in rules
