"""Many outputs are judged without a log, a part at a time: the same tables, and it goes on."""

import json
from pathlib import Path

import pandas as pd
import pytest

from contrafact.families.cobe import verifier
from contrafact.families.cobe.data import load_stories
from contrafact.report.build import build_report
from contrafact.report.frames import read_tasks
from contrafact.runs import judging
from contrafact.runs.config import Source
from contrafact.runs.execute import execute
from contrafact.runs.items import PARTS
from contrafact.runs.score import prepare_score

FAMILIES = Path(judging.__file__).parents[1] / "families"
STORIES = FAMILIES / "cobe" / "samples" / "stories.json"
LAST = "Nobody saw it."
PAIRS = FAMILIES / "rfc" / "samples" / "pairs.jsonl"


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.setattr(judging, "MOST_LOGGED", 0)
    monkeypatch.setattr(judging, "PART", 6)


def edits(folder):
    """Answers of two systems to a few stories: right, copied, empty and missing ones."""
    rows = []
    for number, story in enumerate(load_stories(STORIES)[:6]):
        for phrasing in "ABC":
            for system, text in (
                ("b", f"{story.answer} {LAST}" if number == 4 else story.answer),
                ("a", story.text),
            ):
                row = {"story_id": story.id, "phrasing": phrasing, "system": system}
                if number != 3 or system == "a":
                    rows.append({**row, "response": "" if number == 2 else text})
    file = folder / "edits.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def labels(folder):
    """Right and wrong labels of paragraphs, some of them no label."""
    rows = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    said = ("true", "false", "perhaps")
    made = [
        {"id": f"{row['id']}-{which}", "label": said[(number + len(which)) % 3]}
        for number, row in enumerate(rows)
        for which in ("true", "false")
    ]
    file = folder / "labels.csv"
    pd.DataFrame(made).to_csv(file, index=False)
    return file


def sides(folder):
    """Risk counterfactuals alone: nobody was asked for the other side."""
    rows = [{"headline": f"Port {n} reopens", "side": "risk", "text": f"Pier {n} shuts again"}
            for n in range(5)]  # fmt: skip
    file = folder / "sides.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


TASKS = {
    "cobe": (edits, {"data": STORIES, "judges": ("verifier/proof",)}, {}),
    "rfc-detect": (labels, {"data": PAIRS}, {}),
    "finforce": (sides, {}, {"fluency_model": None}),
}


def scored(task, folder):
    """Score outputs into a folder, and return how it ended."""
    folder.mkdir(exist_ok=True)
    make, given, options = TASKS[task]
    prepared = prepare_score(task, Source(score=make(folder)), given, options)
    return execute(prepared, folder / "run")


def what_it_says(folder):
    """The results, but for the times."""
    build_report(read_tasks([folder]), folder, resamples=100)
    found = json.loads((folder / "results.json").read_text())
    for part, names in (
        (found["report"], ["created"]),
        (found["runs"][0], ["started", "finished"]),
    ):
        for name in names:
            del part[name]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_tables_and_report_are_those_of_a_run_with_a_log(task, tmp_path, monkeypatch):
    logged = scored(task, tmp_path / "logged").folder
    monkeypatch.setattr(judging, "MOST_LOGGED", 0)
    monkeypatch.setattr(judging, "PART", 6)
    found = scored(task, tmp_path / "direct").folder
    assert list(logged.glob("*logs/*.eval"))
    assert not list(found.glob("*logs")) and not (found / PARTS).exists()
    for table in ("items.parquet", "verdicts.parquet"):
        if (logged / table).exists():
            pd.testing.assert_frame_equal(
                pd.read_parquet(logged / table), pd.read_parquet(found / table)
            )
    assert (found / "verdicts.parquet").exists() == (task == "cobe")
    assert (found / "usage.csv").read_text() == (logged / "usage.csv").read_text()
    assert what_it_says(found) == what_it_says(logged)


def proof_that(act):
    """Return ``proof``, which does something first, and the list of what it was asked."""
    asked, proof = [], verifier.proof

    def proving(criterion, subject):
        asked.append((criterion, subject["response"]))
        act(len(asked), subject)
        return proof(criterion, subject)

    return proving, asked


def test_a_killed_one_goes_on_behind_its_last_part(tmp_path, monkeypatch, parts):
    whole = scored("cobe", tmp_path / "whole").folder

    def killed(number, _):
        if number == 30:
            raise KeyboardInterrupt

    before, first = proof_that(killed)
    after, second = proof_that(lambda *_: None)
    monkeypatch.setattr(verifier, "proof", before)
    with pytest.raises(KeyboardInterrupt):
        scored("cobe", tmp_path / "killed")
    monkeypatch.setattr(verifier, "proof", after)
    found = scored("cobe", tmp_path / "killed").folder
    a_part = 6 * 5
    verdicts = pd.read_parquet(whole / "verdicts.parquet")
    assert len(verdicts) < len(first) + len(second) <= len(verdicts) + a_part
    pd.testing.assert_frame_equal(verdicts, pd.read_parquet(found / "verdicts.parquet"))
    same = [pd.read_parquet(one / "items.parquet") for one in (whole, found)]
    pd.testing.assert_frame_equal(*same)


def test_one_that_is_stopped_before_its_tables_judges_nothing_again(tmp_path, monkeypatch, parts):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("contrafact.runs.execute.write_tables", stopped)
        with pytest.raises(KeyboardInterrupt):
            scored("cobe", tmp_path)
    proving, asked = proof_that(lambda *_: None)
    monkeypatch.setattr(verifier, "proof", proving)
    ended = scored("cobe", tmp_path)
    assert ended.manifest.status == "finished" and not asked
    assert len(pd.read_parquet(ended.folder / "items.parquet")) == ended.samples


def test_what_a_verifier_fails_on_is_a_failure_that_a_rerun_tries_again(
    tmp_path, monkeypatch, parts
):
    def failing(_, subject):
        if LAST in subject["response"]:
            raise ValueError("no such fact")

    once, _ = proof_that(failing)
    again, asked = proof_that(lambda *_: None)
    monkeypatch.setattr(verifier, "proof", once)
    ended = scored("cobe", tmp_path / "some")
    assert ended.manifest.status == "failed"
    assert {one.cause for one in ended.failures} == {"ValueError: no such fact"}
    assert len(ended.failures) == 3 and {one.system for one in ended.failures} == {"b"}
    lacking = pd.read_parquet(ended.folder / "items.parquet")
    monkeypatch.setattr(verifier, "proof", again)
    ended = scored("cobe", tmp_path / "some")
    assert ended.manifest.status == "finished" and not (ended.folder / "failures.csv").exists()
    assert {text for _, text in asked if LAST in text}
    assert {text for _, text in asked} == {text for _, text in asked if LAST in text}
    assert len(pd.read_parquet(ended.folder / "items.parquet")) == len(lacking) + 3
