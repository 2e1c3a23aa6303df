"""``usage.csv`` and the report say what a run cost, by model, method and role."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contrafact.models.prices import FREE, LISTED, UNKNOWN, Tokens, dollars


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
    assert "at list price" in page and f"price unknown of {service.judge}" in page
    assert FREE not in page
