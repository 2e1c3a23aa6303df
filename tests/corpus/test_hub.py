"""Datasets of the hub, from a server on the loopback interface that speaks its protocol."""

import json
import socket

import pytest
from huggingface_hub import constants
from tests.support.hub_server import TOKEN, HubServer

from contrafact.corpus.datasets import choose_files, data_source, fetch_table, hub_address
from contrafact.errors import InputError
from contrafact.files.tables import read_rows

ROWS = [{"headline": f"Headline {n} of Port Sable", "n": n} for n in range(400)]
JSONL = "".join(json.dumps(row) + "\n" for row in ROWS)
REPO = "harbour/news"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    server = HubServer()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield server
    server.close()


def rows_of(text):
    found = fetch_table(hub_address(text))
    return [row for _, row in read_rows(found.path)], found.origin


def refused(text):
    with pytest.raises(InputError) as caught:
        fetch_table(hub_address(text))
    assert TOKEN not in str(caught.value)
    return str(caught.value)


def test_a_dataset_is_held_to_its_first_commit_and_downloaded_once(hub, capfd):
    first = hub.commit(REPO, {"news.jsonl": JSONL, "README.md": "# News\n"})
    assert rows_of(f"hf://{REPO}") == (ROWS, f"hf://{REPO}@{first}")
    assert f"hf://{REPO}: taken at commit {first[:12]}" in capfd.readouterr().err
    asked = len(hub.asked)
    second = hub.commit(REPO, {"news.jsonl": JSONL.splitlines()[0]})
    assert rows_of(f"hf://{REPO}") == (ROWS, f"hf://{REPO}@{first}")
    assert len(hub.asked) == asked  # nothing at all was asked
    assert rows_of(f"hf://{REPO}@main") == (ROWS[:1], f"hf://{REPO}@{second}")
    assert rows_of(f"hf://{REPO}@{first}") == (ROWS, f"hf://{REPO}@{first}")
    assert len(hub.downloads()) == 4  # of each commit the card and the file, once


def test_statistics_are_off_and_no_token_is_made_up(hub):
    hub.commit(REPO, {"news.jsonl": JSONL})
    rows_of(f"hf://{REPO}")
    assert all("torch" not in headers.get("user-agent", "").lower() for headers in hub.headers)
    assert all("authorization" not in headers for headers in hub.headers)
    assert {line.split("/")[1] for line in hub.asked} == {"api", "datasets"}
    assert not [line for line in hub.asked if "telemetry" in line or "agent" in line]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_download_that_may_pass_is_tried_again(hub, status):
    hub.commit(REPO, {"news.jsonl": JSONL})
    hub.faults = [(f"/datasets/{REPO}/resolve", status)]
    assert rows_of(f"hf://{REPO}")[0] == ROWS
    assert not hub.faults


def test_what_does_not_pass_is_one_line(hub):
    hub.commit(REPO, {"news.jsonl": JSONL})
    hub.faults = [(f"/api/datasets/{REPO}", 500)]
    assert "the hub answered 500; run the command again" in refused(f"hf://{REPO}")
    assert "the hub has no such dataset, or it is private; check" in refused("hf://a/b")
    assert "there is no revision 'v9'" in refused(f"hf://{REPO}@v9")
    assert "there is no split 'test'; it has: news" in refused(f"hf://{REPO}:test")
    hub.commit("a/empty", {"README.md": "x", "model.bin": "y"})
    assert "there is no table in the dataset" in refused("hf://a/empty")


def test_a_gated_dataset_needs_the_token_which_is_never_shown(hub, monkeypatch, capfd):
    commit = hub.commit(REPO, {"news.jsonl": JSONL})
    hub.gated.add(REPO)
    shown = refused(f"hf://{REPO}")
    assert f"access to the dataset is gated; ask for it at {hub.url}/datasets/{REPO}" in shown
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert rows_of(f"hf://{REPO}") == (ROWS, f"hf://{REPO}@{commit}")
    assert TOKEN not in "".join(capfd.readouterr())


def test_without_a_network_what_is_there_is_read_and_the_rest_is_one_line(hub, monkeypatch):
    commit = hub.commit(REPO, {"news.jsonl": JSONL})
    rows_of(f"hf://{REPO}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
        assert rows_of(f"hf://{REPO}") == (ROWS, f"hf://{REPO}@{commit}")
        shown = refused("hf://harbour/other")
    assert "the hub cannot be reached at http://127.0.0.1:" in shown
    assert "check the connection and run the command again, or name a file" in shown
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert rows_of(f"hf://{REPO}")[0] == ROWS


def test_shards_are_one_table_and_the_card_names_the_splits(hub):
    lines = JSONL.splitlines(keepends=True)
    card = (
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n"
        "    path: data/train-*\n  - split: test\n    path: [data/test.jsonl]\n"
        "- config_name: small\n  data_files: small/*.csv\n---\n# News\n"
    )
    files = {
        "README.md": card,
        "data/train-00000-of-00002.jsonl": "".join(lines[:300]),
        "data/train-00001-of-00002.jsonl": "".join(lines[300:]),
        "data/test.jsonl": lines[0],
        "small/a.csv": "headline;n\nÖl steigt;1\n".encode("cp1252"),
    }
    commit = hub.commit(REPO, files)
    assert rows_of(f"hf://{REPO}:train") == (ROWS, f"hf://{REPO}@{commit}:train")
    assert rows_of(f"hf://{REPO}/default:test")[0] == ROWS[:1]
    assert rows_of(f"hf://{REPO}/small")[0] == [{"headline": "Öl steigt", "n": "1"}]
    assert "several splits: train, test; name one of them" in refused(f"hf://{REPO}")
    assert "no configuration 'big'" in refused(f"hf://{REPO}/big")


@pytest.mark.parametrize(
    ("names", "split", "chosen"),
    [
        (["train.csv", "test.csv"], "test", ["test.csv"]),
        (["data/train-00000-of-00001.parquet"], "", ["data/train-00000-of-00001.parquet"]),
        (["a.csv", "b.csv"], "b", ["b.csv"]),
        (["news-00000-of-00002.csv", "news-00001-of-00002.csv"], "", "all"),
        (["x.csv", ".git/y.csv", "croissant.json", "README.md"], "", ["x.csv"]),
    ],
)
def test_names_of_files_say_what_they_are(names, split, chosen):
    assert choose_files(names, "it", split=split) == (names if chosen == "all" else chosen)


@pytest.mark.parametrize("end", ["", "news", "a/b/c/d", "a/b:c:d", "a b/c", "a/../b", "a/b@"])
def test_what_is_no_address_is_reported_with_the_shape(end):
    with pytest.raises(InputError, match="address; write hf://OWNER/NAME, optionally"):
        hub_address(f"hf://{end}")


def test_a_file_comes_before_a_name_and_the_hub_only_by_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fin-force").write_text("headline\nA\n")
    assert data_source("fin-force").path.read_text() == "headline\nA\n"
    assert data_source("nothing.csv").path.name == "nothing.csv"  # its reader says what is wrong
    with pytest.raises(InputError, match="'cobe' has no public download; get the file"):
        data_source("cobe")
