"""The task under Inspect and through the command line: three phrasings, five criteria, no guess."""

import json
import math

import pandas as pd
import pytest
from tests.support.replies import evaluated, says

from contrafact.families.cobe.data import bundled_known
from contrafact.families.cobe.items import ITEM_COLUMNS, item_rows
from contrafact.families.cobe.task import RUN
from contrafact.runs.items import verdict_rows

KNOWN = {known.story.text: known for known in bundled_known()}
ANSWERS = {one.text: one for known in KNOWN.values() for one in (*known.right, *known.wrong)}
TITLES = ("had to stay", "had to change", "join its clauses", "amounts have moved", "background")


def writer(choose):
    """A model that gives one of the known answers to the story it is asked about."""

    def reply(prompt):
        story = prompt.rsplit("<text>", 1)[1].split("</text>")[0]
        return choose(KNOWN[story], prompt)

    return says(reply, "writer")


def knowing(prompt):
    """A judge that knows which criterion each known answer fails."""
    text = prompt.rsplit("<response>", 1)[1].split("</response>")[0]
    (asked,) = [f"E{i}" for i, title in enumerate(TITLES, 1) if title in prompt.split("\n")[0]]
    return "F" if ANSWERS[text].fails == asked else "T"


def run(tmp_path, subject, judge=knowing, **arguments):
    roles = {"grader": says(judge, "judge")} if judge else None
    log, rates = evaluated("cobe", subject, tmp_path, roles, **arguments)
    rows = item_rows(log.samples, system="s", model="m", method="plain", shots=0, judge="j")
    return log, rows, rates


@pytest.mark.slow
def test_right_answers_are_correct_in_all_three_phrasings(tmp_path):
    _, rows, rates = run(tmp_path, writer(lambda known, _: known.right[-1].text))
    assert len(rows) == 42
    assert all(tuple(row) == ITEM_COLUMNS for row in rows)
    assert {row["phrasing"] for row in rows} == set("ABC")
    assert rates["correct"] == rates["correct_strict"] == 1.0
    assert all(rates[f"E{i}"] == rates[f"E{i}_strict"] == 1.0 for i in range(1, 6))


@pytest.mark.slow
def test_a_wrong_answer_fails_its_criterion_and_phrasings_are_told_apart(tmp_path):
    def choose_by_phrasing(known, prompt):
        wrong = "Based on the preceding text" in prompt
        return known.wrong[0].text if wrong else known.right[0].text

    log, rows, rates = run(tmp_path, writer(choose_by_phrasing))
    assert {row["phrasing"] for row in rows if row["correct"] == 0.0} == {"B"}
    assert rates["correct"] == rates["E1"] == pytest.approx(2 / 3)
    # The three phrasings of a story are one cluster, and all clusters have the same mean.
    assert rates["correct_stderr"] == pytest.approx(0.0, abs=1e-9)
    wrong = [row for row in rows if row["phrasing"] == "B"]
    assert {(row["E1"], row["E2"], row["correct"]) for row in wrong} == {(0.0, 1.0, 0.0)}
    asked = sum(
        len(row["verdicts"]) for row in (s.scores["contrafact/edit"].metadata for s in log.samples)
    )
    votes = list(verdict_rows(RUN, "s", log.samples))
    assert len(votes) == asked and {one["phrasing"] for one in votes} == set("ABC")


@pytest.mark.slow
def test_invalid_verdicts_and_responses_are_kept_and_never_guessed(tmp_path):
    def judge(prompt):
        return "Perhaps" if TITLES[2] in prompt.split("\n")[0] else knowing(prompt)

    def choose(known, prompt):
        if known.story.id == "1v1":
            return "  "
        if known.story.id == "2v1":
            return known.wrong[0].text
        return known.right[0].text

    _, rows, rates = run(tmp_path, writer(choose), judge, limit=3)
    of = {row["sample_id"]: row for row in rows}
    assert of["1v1"]["text"] is None
    assert of["1v1"]["invalid_reason"] == "empty reply"
    assert of["1v1"]["E1_invalid"] is None
    assert math.isnan(of["1v1"]["correct"])
    assert of["2v1"]["correct"] == 0.0, "one failure decides"
    assert math.isnan(of["3v1"]["correct"]), "an invalid verdict leaves the rest open"
    assert of["3v1"]["E3_invalid"] == "neither T nor F: 'Perhaps'"
    assert math.isnan(of["3v1"]["E3"])
    assert (rates["valid"], rates["correct"]) == (pytest.approx(2 / 3), 0.0)
    assert rates["correct_strict"] == 0.0
    # Of the two that were judged one fails E1; in the strict form so does the invalid one.
    assert (rates["E1"], rates["E1_strict"]) == (0.5, pytest.approx(1 / 3))


@pytest.mark.slow
def test_a_judge_is_needed_unless_left_out_and_examples_where_none_are_shown_are_reported(tmp_path):
    subject = writer(lambda known, _: known.right[0].text)
    log, rows, _ = run(tmp_path, subject, judge=None, limit=1)
    assert rows == []
    assert "no judge is bound" in str([s.error for s in log.samples])
    _, rows, rates = run(tmp_path, subject, judge=None, limit=1, judged=False)
    # One story is one cluster, whose error nothing tells.
    unknown = pytest.approx(float("nan"), nan_ok=True)
    assert rates == {"valid": 1.0, "valid_stderr": unknown}
    assert all(math.isnan(row["correct"]) for row in rows)


@pytest.mark.slow
def test_a_run_over_http_leaves_its_tables_and_feeds_a_study(quick_contrafact, service, tmp_path):
    ran = quick_contrafact(
        "run", "cobe", "--model", service.model, "--judge", service.judge, "--judge-context",
        "--limit", "6", "--out", "run", env=service.environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    items = pd.read_parquet(tmp_path / "run" / "items.parquet")
    assert tuple(items.columns.drop(["invalid", "invalid_cause"])) == ITEM_COLUMNS
    assert len(items) == 18
    assert items["E1"].notna().any()
    assert set(items["E3_invalid"].dropna()) <= {"neither T nor F: 'Perhaps'"}
    verdicts = pd.read_parquet(tmp_path / "run" / "verdicts.parquet")
    assert set(verdicts["criterion"]) == {"E1", "E2", "E3", "E4", "E5"}
    before = service.stats()["answered"]
    again = quick_contrafact(
        "run", "cobe", "--model", service.model, "--judge", service.judge, "--judge-context",
        "--limit", "6", "--out", "run", env=service.environment,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "no model was called" in again.stdout
    assert service.stats()["answered"] == before

    drawn = quick_contrafact("cobe", "study", "sample", "run", "--n", "12", "--out", "s/sheet.csv")
    assert drawn.returncode == 0, drawn.stderr
    sheet = pd.read_csv(tmp_path / "s" / "sheet.csv", dtype=str, keep_default_na=False)
    for person, answers in (("ana", "Yes No"), ("ben", "Yes Yes No"), ("cy", "No Yes Other Yes")):
        cells = answers.split()
        sheet["judgement"] = [cells[place % len(cells)] for place in range(len(sheet))]
        sheet.to_csv(tmp_path / "s" / f"{person}.csv", index=False)
    scored = quick_contrafact(
        "cobe", "study", "score", "s/ana.csv", "s/ben.csv", "s/cy.csv", "--out", "s/out",
        "--key", "s/sheet.key.csv", "--with-published",
    )  # fmt: skip
    assert scored.returncode == 0, scored.stderr
    assert "accuracy 77%, precision 95.8%" in scored.stdout
    labels = pd.read_csv(tmp_path / "s" / "out" / "labels.csv")
    assert labels.groupby("annotator").size().to_dict() == {"ana": 12, "ben": 12, "cy": 12}
    assert len(pd.read_csv(tmp_path / "s" / "out" / "ratings.csv")) == 12
    labelled = quick_contrafact("report", "run", "--labels", "s/out/labels.csv", "--out", "r")
    assert labelled.returncode == 0, labelled.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shots", "2"), "--shots is for worked examples, and no method here shows any"),
        (("--draws", "2"), "--draws is for worked examples"),
        (("--rationale",), "No such option: --rationale"),
        (("--judge-context",), "--judge-context has no effect here: there is no --judge"),
        (("--method", "guess"), "cobe has no method 'guess'"),
        (("--data", "bad.json"), "bad.json:2: 'Query' holds 1 of three phrasings"),
    ],
)
def test_what_makes_no_sense_is_reported_before_the_first_call(
    quick_contrafact, tmp_path, options, message
):
    story = {"Core Set ID": 1, "Variation ID": 1, "Domain": "d", "Variation text": "It rained.",
             "Query": ["one"], "Evaluation criteria": ["a", "b"]}  # fmt: skip
    (tmp_path / "bad.json").write_text(json.dumps([story], indent=1), encoding="utf-8")
    ran = quick_contrafact("run", "cobe", "--model", "mockllm/model", *options)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_data_check_gives_the_tables_and_tells_violations(quick_contrafact, tmp_path):
    from importlib import resources

    path = resources.files("contrafact.families.cobe") / "samples" / "stories.json"
    ran = quick_contrafact("data", "check", str(path))
    assert ran.returncode == 0, ran.stderr
    for part in ("14 stories that can be used", "words per story", "hybrid", "Violations: none"):
        assert part in ran.stdout
    rows = json.loads(path.read_text(encoding="utf-8"))
    rows[3]["Graph type"] = "ring"
    (tmp_path / "ring.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    ran = quick_contrafact("data", "check", "ring.json", "--schema", "cobe")
    assert ran.returncode == 1
    assert "14 rows, 13 stories that can be used" in ran.stdout
    assert "'Graph type' is 'ring'" in ran.stdout
