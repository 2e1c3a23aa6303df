"""The task and the provider as users of Inspect meet them: ``inspect eval contrafact/finforce``."""

import json
import os
import subprocess
import sys

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import get_model
from tests.support.replies import counted

from contrafact.errors import InputError
from contrafact.families.finforce.task import finforce

MODEL = "embedded/smollm2-135m"


@pytest.mark.slow
def test_inspect_eval_finds_task_and_provider_and_scores_a_sample(
    short_prompts, chance_path, tmp_path
):
    news = tmp_path / "news.csv"
    news.write_text("headline\nVeltrane Motors to shut two plants and move vans to Tarsenia\n")
    path = os.pathsep.join([chance_path, *filter(None, sys.path)])
    result = subprocess.run(
        [
            sys.executable, "-m", "inspect_ai", "eval", "contrafact/finforce", "--model", MODEL,
            "--model-role", f"grader={MODEL}", "-T", f"data={news}", "-T",
            f"prompts={short_prompts}", "--limit", "1", "-M", "threads=1", "--max-tokens", "160",
            "--temperature", "1", "--seed", "1", "--display", "plain",
        ],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, text=True, timeout=300,
        capture_output=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    (info,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(info)
    assert log.status == "success"
    (sample,) = log.samples
    texts = json.loads(sample.scores["contrafact/counterfactuals"].answer)
    judged = sample.scores["contrafact/counterfactuals"].metadata["verdicts"]
    assert set(texts) == {"risk", "opportunity"}
    # What the model wrote was judged, each side by both criteria, by the model in the role.
    assert {side for side, text in texts.items() if text} == set(judged) != set()
    for verdicts in judged.values():
        assert set(verdicts) == {"forward_compatibility", "directionality"}
        for verdict in verdicts.values():
            assert [member["judge"] for member in verdict["members"]] == [MODEL]


def test_without_a_grader_nothing_is_asked_and_the_hint_is_shown(tmp_path):
    (log,) = inspect_eval(
        "contrafact/finforce", model=MODEL, limit=1, display="none", log_dir=str(tmp_path)
    )
    assert log.status == "error"
    assert "no judge is bound to the role 'grader'" in log.error.message
    assert "--model-role grader=" in log.error.message
    events = [event for sample in read_eval_log(log.location).samples for event in sample.events]
    assert not any(event.event == "model" for event in events)


def test_judging_can_be_left_out_by_a_task_argument(tmp_path):
    pair = {"risk_counterfactual": "It sinks", "opportunity_counterfactual": "It soars"}
    (log,) = inspect_eval(
        "contrafact/finforce",
        model=get_model("mockllm/model", custom_outputs=[counted(json.dumps(pair))]),
        task_args={"judged": False, "method": "zero-shot"},
        limit=1,
        display="none",
        log_dir=str(tmp_path),
    )
    assert log.status == "success"
    assert {name: metric.value for name, metric in log.results.scores[0].metrics.items()} == {
        "valid": 1.0,
        "valid_stderr": pytest.approx(float("nan"), nan_ok=True),  # of one headline
    }


def test_a_wrong_task_argument_is_reported_before_anything_runs(tmp_path):
    with pytest.raises(Exception, match="finforce has no method 'zero-shoot'"):
        inspect_eval(
            "contrafact/finforce",
            model=MODEL,
            task_args={"method": "zero-shoot"},
            display="none",
            log_dir=str(tmp_path),
        )
    assert list_eval_logs(str(tmp_path)) == []
    with pytest.raises(InputError, match="finforce has no argument 'judge_fault'"):
        finforce(judge_fault=True)
