"""``usage.csv`` and the report say what a run cost, by model, method and role."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.lines import write_lines

from contrafact.families.cobe import verifier
from contrafact.families.cobe.data import load_stories
from contrafact.models.prices import FREE, LISTED, UNKNOWN, Tokens, dollars
from contrafact.report.frames import read_tasks
from contrafact.runs.config import Source
from contrafact.runs.execute import execute
from contrafact.runs.score import prepare_score


@pytest.mark.slow
def test_dollars_by_method_and_role(quick_contrafact: Any, service: Any, tmp_path: Path) -> None:
    """A priced model (by its service's name) on a server of this machine, an unpriced judge."""
    environment = service.environment | {
        "DEEPSEEK_BASE_URL": service.environment["FAKE_BASE_URL"], "DEEPSEEK_API_KEY": "none",
    }  # fmt: skip
    model = "openai-api/deepseek/deepseek-chat"
    done = quick_contrafact(
        "run", "finforce", "--model", model, "--judge", service.judge, "--method", "zero-shot",
        "--method", "few-shot", "--limit", "2", "--fluency-model", "none", "--out", "run",
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    used = pd.read_csv(tmp_path / "run" / "usage.csv").set_index(["method", "role"])
    assert set(used.index) == {
        (method, role) for method in ("zero-shot", "few-shot") for role in ("subject", "judge")
    }
    assert used["calls"].to_dict() == {
        (method, role): {"subject": 2, "judge": 8}[role] for method, role in used.index
    }
    for method in ("zero-shot", "few-shot"):
        subject, judge = used.loc[(method, "subject")], used.loc[(method, "judge")]
        known = dollars(
            model, [Tokens(int(subject["input_tokens"]), int(subject["output_tokens"]))]
        )
        assert subject["dollars"] == pytest.approx(float(known), abs=1e-6)
        assert subject["dollars"] > 0 and subject["price"] == LISTED
        assert pd.isna(judge["dollars"]) and judge["price"] == UNKNOWN
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "at list price" in page and f"the price of {service.judge} is unknown" in page
    assert FREE not in page


@pytest.mark.slow
def test_a_verifiers_reader_is_counted_by_its_own_name_and_once_over_all_starts(
    quick_contrafact: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    reader = "embedded/smollm2-135m"
    quick_contrafact(
        "cobe", "synth", "--level", "0", "--n", "4", "--seed", "3", "--out", "st.jsonl", code=0
    )  # few facts: the reader says something of each
    story = load_stories(tmp_path / "st.jsonl")[0]
    row = {"story_id": story.id, "phrasing": "A", "system": "s", "response": "Nobody ever came."}
    edits = write_lines(tmp_path / "edits.jsonl", [row])
    given = {"data": tmp_path / "st.jsonl", "judges": ("proof",)}
    source = Source(score=edits, partial=True)
    options = {"reader": reader}

    def start():
        return execute(prepare_score("cobe", source, given, options), tmp_path / "run")

    def failing(*_):
        raise ValueError("no such fact")

    with monkeypatch.context() as patched:  # it has read by then, and fails twice
        patched.setattr(verifier, "proof", failing)
        assert start().manifest.status == "failed"
    assert start().manifest.status == "finished"
    used = pd.read_csv(tmp_path / "run" / "usage.csv").set_index("role")
    assert set(used.index) == {"judge", "reader"}
    assert used.loc["judge", "model"] == f"verifier/proof:{reader}"
    assert used.loc["judge", "input_tokens"] == used.loc["judge", "output_tokens"] == 0
    assert used.loc["reader", "model"] == reader and used.loc["reader", "price"] == FREE
    assert used.loc["reader", "calls"] == 1
    assert used.loc["reader", "input_tokens"] > 100 and used.loc["reader", "output_tokens"] > 0
    assert not (tmp_path / "run" / "calls.parquet").exists()  # nobody wrote anything here
    (task,) = read_tasks([tmp_path / "run"])
    facts = task.meta.runs[0]
    assert facts.output_tokens == used.loc["reader", "output_tokens"]
    assert (reader, "reader") in {(cost.model, cost.role) for cost in facts.costs}
