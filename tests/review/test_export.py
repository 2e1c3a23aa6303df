"""What comes out: files that no spreadsheet runs, and that other commands read as they are."""

import csv
import io
import json
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from review_acts import do, take_next

from contrafact.errors import InputError
from contrafact.families.finforce.study import STUDY
from contrafact.families.rfc.decisions import ReviewDecision, load_decisions
from contrafact.families.rfc.pipeline.finalize import follow
from contrafact.files.fields import unguarded
from contrafact.review.answers import Decision
from contrafact.review.export import (
    available_exports,
    decision_rows,
    export_rows,
    history_rows,
    item_rows,
    label_rows,
    render_rows,
    sheet_rows,
    write_rows,
)
from contrafact.review.field_mapping import read_items
from contrafact.review.setup import import_items
from contrafact.review.workflow import answer
from contrafact.study.sample import draw_study

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(["=1+1", "@x", "-3", "+4.5", "'quoted", "\tx", "－x", "-x", "\ud800"]),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=3), max_size=2),
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "=b", "c"]), CELLS), min_size=1, max_size=6)


@settings(max_examples=25)
@given(ROWS)
def test_any_rows_become_any_form(rows):
    rows = [row for row in rows if row] or [{"a": 1}]
    lines = render_rows(rows, "jsonl").decode().splitlines()
    assert len([line for line in lines if line]) >= 1
    for line in render_rows(rows, "jsonl").decode().split("\n")[:-1]:
        json.loads(line)
    frame = pd.read_parquet(io.BytesIO(render_rows(rows, "parquet")))
    assert len(frame) == len(rows)
    table = list(csv.reader(io.StringIO(render_rows(rows, "csv").decode(), newline="")))
    for cell in (cell for row in table for cell in row):
        if cell[:1] in ("+", "-"):
            float(cell)  # a number is none that a spreadsheet runs
        else:
            assert cell[:1] not in "=@\t\r＝＋－＠" or not cell


def test_what_is_guarded_is_read_back_as_it_was(tmp_path):
    texts = ["=1+1", "'Tis", "-3", "- a list", "plain", "@ada", "''", "+4.5"]
    write_rows([{"text": text} for text in texts], tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as stream:
        cells = [row["text"] for row in csv.DictReader(stream)]
    assert [unguarded(cell) for cell in cells] == texts
    assert cells[2] == "-3" and cells[0] == "'=1+1"
    with pytest.raises(InputError, match=r"'\.xlsx'"):
        write_rows([], tmp_path / "x.xlsx")


def played(team, seed, items=5, project="rfc-rewrite"):
    """A whole RFC review in which everybody answers at random, flags and revises."""
    state, now, rng = team.state(project, items=items), team.now, team.rng(seed)
    ease = (0.0, 0.3, 0.6)[seed % 3]  # how often an answer is the first, which lets an item pass
    for turn in range(2000):
        busy = False
        for who in state.people:
            given, _ = take_next(state, now, who, rng)
            now += timedelta(seconds=7)
            if given is None:
                continue
            busy = True
            steady = turn > 40

            def pick(options, steady=steady):
                first = steady or rng.random() < ease
                return options[0] if first else options[int(rng.integers(len(options)))]

            answers = team.answers(state.project, given.stage, pick)
            shown = {"comment": "so it seems", "flagged": not steady and rng.random() < 0.25}
            corrects = state.project.stage(given.stage).corrects
            if corrects and corrects.on in answers.values():
                shown["correction"] = f"- Shares fell, as of turn {turn}."
            do(state, now, answer, who, given, Decision(answers, **shown), rng=rng)
        if not busy and all(item.outcome for item in state.items.values()):
            return state
        now += timedelta(minutes=1 if busy else 31)
    raise AssertionError("the review does not end")


STATES = {"final": "retained", "removed": "removed", "hard case": "hard case"}


@pytest.mark.parametrize(("project", "ways"), [("rfc-rewrite", 8), ("rfc-rewrite-three", 10)])
def test_finalize_comes_to_what_the_review_came_to(review_team, tmp_path, project, ways):
    """Two readings of 2.2.3 and 2.2.4, written apart, agree however a review goes."""
    seen = set()
    for seed in range(24):
        state = played(review_team, seed, project=project)
        path = tmp_path / ("decisions.csv", "decisions.jsonl", "decisions.parquet")[seed // 3 % 3]
        write_rows(decision_rows(state), path)
        by_item = {}
        for decision in load_decisions(path, state.items):
            by_item.setdefault(decision.item_id, []).append(decision)
        for item in state.items.values():
            fate = follow(by_item[item.id])
            seen.add(item.why)
            assert fate.state == STATES[item.outcome], [
                (d.stage, d.decision, d.flagged) for d in by_item[item.id]
            ]
            if item.outcome == "final":
                text = fate.rewritten or item.imported["rewritten"]
                assert text == item.fields["rewritten"]
    assert len(seen) >= ways


def decided(stage, who, what, minute, **more):
    when = f"2031-03-01T09:{minute:02}:00+00:00"
    facts = {"item_id": "i", "stage": stage, "decided_by": who, "decision": what, "when": when}
    return ReviewDecision.model_validate(facts | more)


def test_a_flag_sends_an_item_to_the_secondary_review_in_finalize_too():
    votes = [
        decided("annotation", "Cem", "pass", 1),
        decided("annotation", "Dia", "pass", 2, flagged=True),
    ]
    assert follow(votes).state == "hard case"
    second = [decided("secondary-review", who, "fail", 3) for who in ("Ben", "Eve")]
    assert follow([*votes, *second]).state == "removed"
    assert follow([votes[0], decided("annotation", "Dia", "pass", 2)]).state == "retained"


def test_a_batch_that_was_returned_keeps_its_revision_and_drops_the_old_audit():
    path = [
        decided("expert-review", "Ada", "pass", 1),
        decided("audit", "Ben", "fail", 2),
        decided("expert-review", "Ada", "revise", 3, rewritten="Shares fell."),
        decided("expert-review", "Ada", "pass", 4),
        decided("annotation", "Cem", "pass", 5),
        decided("annotation", "Dia", "pass", 6),
    ]
    fate = follow(path)
    assert (fate.state, fate.rewritten) == ("retained", "Shares fell.")


def test_every_export_says_what_it_is_about(review_team):
    state = played(review_team, 3)
    assert len(item_rows(state)) == 5
    assert available_exports(state.project) == ("decisions", "items", "ratings", "history")
    with pytest.raises(InputError, match="no study"):
        sheet_rows(state)
    with pytest.raises(InputError, match="run, so it has no labels"):
        label_rows(state)
    with pytest.raises(InputError, match="no stage 'nowhere'"):
        export_rows(state, "ratings", ["nowhere"])
    with pytest.raises(InputError, match="no question 'mood'"):
        export_rows(state, "ratings", (), "mood")
    verdicts = export_rows(state, "ratings", ["annotation"])
    assert {row["rating"] for row in verdicts} <= {"pass", "fail", "mis-category"}
    events = []
    assert history_rows(events) == []


def judged_items():
    """The items frame of a run, as far as the studies need it."""
    rows = []
    for number in range(6):
        for side in ("risk", "opportunity"):
            rows.append(
                {
                    "system": "m zero-shot", "model": "m", "method": "zero-shot", "judge": "j",
                    "draw": 1, "sample_id": f"h{number}", "side": side,
                    "headline": f"Alder Works opens plant {number}",
                    "text": f"Plant {number} {'closes' if side == 'risk' else 'grows'}.",
                    "invalid_reason": None,
                    "forward_compatibility": 1.0, "directionality": float(number % 2),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def rate(state, team, people, say):
    now = team.now
    for who in people:
        while True:
            given, _ = take_next(state, now, who)
            if given is None:
                break
            sent = Decision(say(who, state.items[given.item]), comment="=so")
            do(state, now, answer, who, given, sent, rng=team.rng())


def test_a_study_can_be_answered_in_the_studio_and_scored(quick_contrafact, review_team, tmp_path):
    drawn = draw_study(STUDY, judged_items(), 8, np.random.default_rng(0))
    drawn.write(tmp_path / "study.csv")
    state = review_team.state("judge-agreement")
    new = read_items(tmp_path / "study.csv", state.project)
    assert set(new) == set(drawn.key["item"])
    do(state, review_team.now, import_items, "Max", new)
    rate(state, review_team, ["Cem", "Dia", "Eve"], lambda who, _: {
        "forward_compatibility": "true", "directionality": "true" if who == "Cem" else "false",
    })  # fmt: skip
    write_rows(sheet_rows(state), tmp_path / "answers.csv")
    run = quick_contrafact(
        *("finforce", "study", "score", "answers.csv", "--key", "study.key.csv"),
        *("--out", "scores"),
    )
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    labels = pd.read_csv(tmp_path / "scores" / "labels.csv")
    assert len(labels) == 8 * 3 * 2
    assert set(labels["annotator"]) == {"Cem", "Dia", "Eve"}


def test_labels_of_a_runs_items_correct_its_judge(review_team, tmp_path):
    from contrafact.exams.correct import corrected_by_labels, examined_criteria

    frame = judged_items()
    frame.to_parquet(tmp_path / "items.parquet")
    state = review_team.state("judge-agreement")
    do(
        state,
        review_team.now,
        import_items,
        "Max",
        read_items(tmp_path / "items.parquet", state.project),
    )
    rate(state, review_team, ["Cem", "Dia", "Eve"], lambda _, item: {
        "forward_compatibility": "true",
        "directionality": "true" if item.fields["side"] == "risk" else "false",
    })  # fmt: skip
    labels = pd.DataFrame(label_rows(state)).drop(columns="probability")
    assert len(labels) == 12 * 3 * 2
    found = corrected_by_labels(
        frame, labels, criteria=examined_criteria("finforce"), unit="side"
    ).set_index("criterion")
    assert found.loc["directionality", "labelled"] == 12
    assert found.loc["directionality", "corrected"] == pytest.approx(0.5)
    assert found.loc["forward_compatibility", "corrected"] == 1.0
    other = review_team.state("judge-agreement", items=1)
    rate(other, review_team, ["Cem"], lambda *_: {
        "forward_compatibility": "true", "directionality": "true",
    })  # fmt: skip
    with pytest.raises(InputError, match="is not from a run"):
        label_rows(other)
