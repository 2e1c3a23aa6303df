"""A manager's figures: true to the state, equal to what `contrafact agree` prints."""

import json
import math
from datetime import timedelta

import pandas as pd

from contrafact.review.answers import Decision
from contrafact.review.assignment import answer_training
from contrafact.review.figures import (
    agreement_table,
    audits_table,
    figure_tables,
    rated_agreement,
    review_progress,
    stage_ratings,
    training_table,
    write_tables,
)
from contrafact.review.project import load_project
from contrafact.review.setup import import_gold, import_items, set_roles
from contrafact.review.store.store import Store
from contrafact.review.workflow import set_stage_open

PASS = {"category_correct": "true", "rewrite_valid": "pass"}
FAIL = {"category_correct": "true", "rewrite_valid": "fail"}


def annotated(office):
    """Eight rewrites; all but one that Dia fails are passed by everybody."""
    made = office(items=8)
    made.say_to_all("Ada", {"review": "pass"})
    made.say_to_all("Ben", {"audit": "pass"})
    for _ in range(8):
        made.say("Cem", PASS)
        made.say("Dia", lambda item: FAIL if item == "i5" else PASS)
    return made


def test_progress_counts_every_item_once_and_every_open_decision(office):
    made = office(items=8)
    for _ in range(3):
        made.say("Ada", {"review": "pass"})
    made.next("Ada")
    found = review_progress(made.state, made.now)
    at = {one.stage.id: one for one in found.stages}
    assert (found.items, found.ended, found.places) == (8, 0, 5)
    assert (at["expert-review"].items, at["audit"].items) == (5, 3)
    assert (at["expert-review"].in_hand, at["expert-review"].votes) == (1, 3)
    assert (at["audit"].waiting, at["audit"].forced) == (3, 3)
    assert sum(stage.items for stage in found.stages) == 8
    kinds = ("flipping", "numerical", "sentiment", "causal")
    assert at["expert-review"].by_category + at["audit"].by_category == dict.fromkeys(kinds, 2)
    assert dict(found.by_role) == {"expert-a": 5}
    late = review_progress(made.state, made.now + timedelta(hours=1))
    assert {s.stage.id: s.in_hand for s in late.stages}["expert-review"] == 0


def test_progress_tells_outcomes_by_category_and_closed_stages(office):
    made = annotated(office)
    made.do(set_stage_open, "Max", "annotation", False)
    found = review_progress(made.state, made.now)
    assert found.ended == 7
    # i5 is of the second category; its annotators disagree.
    assert dict(found.outcomes["final"]) == {
        "flipping": 2, "numerical": 1, "sentiment": 2, "causal": 2
    }  # fmt: skip
    assert [one.stage.id for one in found.stages if one.closed] == ["annotation"]
    assert [one.stage.id for one in found.stages if one.items] == ["secondary-review"]


def test_audits_have_rates_per_category_and_what_came_of_the_batch(office):
    made = office(items=8)
    made.say_to_all("Ada", {"review": "pass"})
    made.say("Ben", {"audit": "fail"}, comment="wrong")
    overall = audits_table(made.state).rows[-1]
    assert overall[1:4] == ("overall", "8", "1") and overall[-1] == "under way, 1 of 4 judged"
    made.say_to_all("Ben", {"audit": "pass"})
    *strata, overall = audits_table(made.state).rows
    # Four items are too few for an interval.
    assert overall[1:] == ("overall", "8", "4", "3", "75.0%", "–", "returned")
    assert sum(int(row[3]) for row in strata) == 4


def test_an_audit_of_many_has_intervals(office):
    made = office(items=240)
    made.say_to_all("Ada", {"review": "pass"})
    made.say_to_all("Ben", {"audit": "pass"})
    overall = audits_table(made.state).rows[-1]
    assert overall[3:6] == ("30", "30", "100.0%")
    low, high = overall[6].split(" to ")
    assert 80 < float(low.rstrip("%")) < 100 and high == "100.0%"


def test_training_is_reported_round_by_round(office):
    made = office("judge-agreement", items=1, trained=False)
    right = {"forward_compatibility": "true", "directionality": "true"}
    wrong = {"forward_compatibility": "true", "directionality": "false"}
    for message in (right, right, wrong, right):
        given = made.next("Cem")
        made.do(answer_training, "Cem", given, Decision(message))
        made.next("Cem")
    first, second = training_table(made.state).rows
    assert first == ("Cem", "1", "3 of 3", "2", "66.7%", "–", "95.0%", "not passed")
    assert (*second[1:3], *second[6:]) == ("2", "1 of 3", "95.0%", "under way")


def test_every_figure_is_written_as_a_table(office, tmp_path):
    made = annotated(office)
    tables = {one.key: one for one in figure_tables(made.state, made.now)}
    assert set(tables) == {
        "progress",
        "audits",
        *(f"agreement-annotation.{q}" for q in ("verdict", "category_correct", "rewrite_valid")),
        "agreement-re-annotation.verdict",
    }  # fmt: skip
    assert "Of 8 items 7 have ended (87.5%)" in tables["progress"].text
    assert "rated differently: 1 items" in tables["agreement-annotation.verdict"].text
    assert "None yet" in tables["agreement-re-annotation.verdict"].text
    files = write_tables([*tables.values()], tmp_path)
    for file, table in zip(files, tables.values(), strict=True):
        assert all(len(row) == len(table.columns) for row in table.rows)
        written = pd.read_csv(file, dtype=str, keep_default_na=False) if table.rows else ()
        assert len(written) == len(table.rows)
        if table.rows:
            assert list(written.columns) == list(table.columns)


def test_figures_are_written_by_the_command_line(quick_contrafact, review_team, tmp_path):
    with Store(str(tmp_path / "review.db"), seed=4) as store:
        store.define("review", load_project("headline-screening"), "Max")
        for name in ("Cem", "Dia", "Fay"):
            store.act(
                "review", set_roles, "Max", name, ["verifier" if name == "Fay" else "annotator"]
            )
        known = review_team.gold(load_project("headline-screening"))["g0"]
        gold = {f"g{n}": known for n in range(60)}
        store.act("review", import_gold, "Max", gold)
        store.act("review", import_items, "Max", {"i0": review_team.item(0)})
        for _ in range(60):
            given = store.next("review", "Cem")
            store.answer("review", "Cem", given, Decision(gold["g0"][1]))
    run = quick_contrafact("review", "figures", "--out", "figures")
    assert run.returncode == 0, run.stderr
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert files == ["audits.csv", "progress.csv", "training.csv"]
    (row,) = pd.read_csv(tmp_path / "figures" / "training.csv").to_dict("records")
    assert (row["person"], row["answered"], row["right"]) == ("Cem", "60 of 60", 60)
    assert (row["accuracy"], row["threshold"], row["result"]) == ("100.0%", "95.0%", "passed")


def test_the_managers_figures_are_those_that_agree_prints(quick_contrafact, review_team, tmp_path):
    database = tmp_path / "review.db"
    with Store(str(database), seed=4) as store:
        store.define("review", load_project("cobe-rating"), "Max")
        for name in ("Cem", "Dia", "Eve"):
            store.act("review", set_roles, "Max", name, ["rater"])
        store.act("review", import_items, "Max", {f"i{n}": review_team.item(n) for n in range(40)})
        rng = review_team.rng(8)
        for who in ("Dia", "Cem", "Eve"):
            while given := store.next("review", who):
                message = str(rng.choice(["Yes", "No", "Other"], p=[0.6, 0.3, 0.1]))
                store.answer(
                    "review", who, given, Decision({"rating": message}, comment="so it seems")
                )
        (ratings,) = store.read("review", stage_ratings)
    found, panel = rated_agreement(ratings.cells), agreement_table(ratings)
    for suffix in ("csv", "parquet"):
        export = ("review", "export", "--what", "ratings", "--out", f"ratings.{suffix}")
        assert quick_contrafact(*export).returncode == 0
        run = quick_contrafact("agree", f"ratings.{suffix}", "--out", f"{suffix}.json")
        assert run.returncode == 0, run.stderr
        shown = json.loads((tmp_path / f"{suffix}.json").read_text())
        ours = [
            [one.name, list(one.raters), *map(_plain, (one.estimate, one.low, one.high)), one.n]
            for one in found.coefficients
        ]
        theirs = [
            [c["name"], c["raters"], c["estimate"], c["low"], c["high"], c["n"]]
            for c in shown["coefficients"]
        ]
        assert ours == theirs
    printed = [" ".join(line.replace("│", " ").split()) for line in run.stdout.splitlines()]
    assert len(panel.rows) == len(found.coefficients)
    for row in panel.rows:
        assert " ".join(row) in " ".join(printed), row


def _plain(value):
    return None if math.isnan(value) else value
