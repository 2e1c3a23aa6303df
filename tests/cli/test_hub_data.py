"""Data by name and by address, through the command line, with a hub on the loopback interface."""

import json
import re
import subprocess

import pytest
import yaml
from tests.support.hub_server import TOKEN, HubServer

from contrafact.corpus.datasets import datasets

REPO = "harbour/news"
NEWS = ["Ostrava mill reopens under new owners", "Grain ships leave Port Sable"]


@pytest.fixture
def hub():
    server = HubServer()
    yield server
    server.close()


@pytest.fixture
def call(contrafact, quick_contrafact, hub, service, tmp_path):
    """Run the command line, in a fresh process where the hub is asked."""

    def run(*arguments: str, fresh: bool = False, **more: str):
        environment = {
            **service.environment,
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(tmp_path / "home"),
            "CONTRAFACT_CACHE": str(tmp_path / "cache"),
            **more,
        }
        del environment["HF_HUB_OFFLINE"]
        return (contrafact if fresh else quick_contrafact)(*arguments, env=environment)

    return run


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert TOKEN not in result.stdout + result.stderr
    return result.stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_a_run_is_pinned_and_its_manifest_says_to_what(call, hub, service, tmp_path):
    lines = "".join(json.dumps({"headline": text}) + "\n" for text in NEWS)
    commit = hub.commit(REPO, {"test.jsonl": lines, "train.jsonl": lines})
    asked = ("run", "finforce", "--data", f"hf://{REPO}:test", "--fluency-model", "none")
    asked += ("--model", service.model, "--limit", "9", "--out", "r")
    done = call(*asked, fresh=True)
    assert done.returncode == 0, done.stderr
    assert "test.jsonl: --limit 9 exceeds its size: all 2 are taken" in done.stderr
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["data"]["source"] == f"hf://{REPO}@{commit}:test"
    assert manifest["data"]["items"] == 2
    hub.commit(REPO, {"test.jsonl": lines * 2 + '{"headline": "New"}\n'})
    before = len(hub.asked)
    assert "this run had finished" in call(*asked).stdout
    assert len(hub.asked) == before


@pytest.mark.slow
def test_outputs_of_the_hub_are_scored_and_the_folder_repeats_that(call, hub, tmp_path):
    rows = [{"headline": one, "risk": f"{one}, badly", "opportunity": f"{one}, well"}
            for one in NEWS]  # fmt: skip
    commit = hub.commit(REPO, {"made.jsonl": "".join(json.dumps(row) + "\n" for row in rows)})
    done = call(
        "score", "finforce", f"hf://{REPO}", "--fluency-model", "none", "--out", "a", fresh=True
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert manifest["data"]["source"] == f"hf://{REPO}@{commit}" and manifest["data"]["items"] == 2
    said = yaml.safe_load((tmp_path / "a" / "config.yaml").read_text())
    assert said["score"] == f"hf://{REPO}@{commit}"
    again = call("run", "--config", "a/config.yaml", "--out", "b")
    assert again.returncode == 0, again.stderr
    second = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert second["identity"] == manifest["identity"]
    line = one_line(call("score", "finforce", f"hf://{REPO}:none", "--out", "c"))
    assert "there is no split 'none'" in line


def test_bundled_samples_are_reported_once_before_the_first_call(call, service):
    done = call(
        *("run", "finforce", "--model", service.model, "--fluency-model", "none"),
        *("--limit", "1", "--out", "r"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("--data is not given") == 1
    assert done.stderr.index("--data is not given") < done.stderr.index("samples: 1/1")
    assert "--limit" not in done.stderr


def test_a_published_set_is_taken_by_name_and_downloaded_once(call, hub, tmp_path):
    lines = "".join(json.dumps({"headline": text}) + "\n" for text in NEWS)
    published = datasets()["rfc-bench"].repository
    commit = hub.commit(
        published, {"README.md": "# It", "easy.jsonl": lines, "hard.jsonl": lines[:60]}
    )
    assert re.search(r"rfc-bench +not fetched", call("data", "list").stdout)
    done = call("data", "check", "rfc-bench:easy")
    assert done.returncode == 0, done.stderr
    assert f"hf://{published}:easy: taken at commit {commit[:12]} and kept" in done.stderr
    assert "2 rows, 2 distinct headlines" in done.stdout
    hub.commit(published, {"easy.jsonl": ""})
    before = len(hub.asked)
    again = call("data", "check", "rfc-bench:easy")
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert len(hub.asked) == before
    line = one_line(call("data", "check", "rfc-bench"))
    assert f"hf://{published}: the dataset has several splits: easy, hard; name one of" in line
    whole = call("data", "fetch", "rfc-bench")
    folder = tmp_path / "cache" / "hub" / published / commit / "files"
    assert whole.stdout == "".join(f"{folder / name}.jsonl\n" for name in ("easy", "hard"))
    assert re.search(r"rfc-bench +fetched", call("data", "list").stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "cobe", "--data", "hf://"), "is not a dataset's address; write hf://OWNER/NAME"),
        (("run", "cobe", "--data", "cobe"), "'cobe' has no public download; get the file"),
        (("run", "cobe", "--data", "fin-forse"), "no such file"),
        (("generate", "hf://a", "--model", "m", "--out", "o.csv"), "is not a dataset's address"),
    ],
)
def test_what_is_wrong_is_one_line(call, tmp_path, arguments, message):
    more = ("--model", "mockllm/model") if arguments[0] == "run" else ()
    (tmp_path / "s.jsonl").write_text('{"headline": "Mills close"}\n')
    assert message in one_line(call(*arguments, *more))
    assert not (tmp_path / "r").exists()
