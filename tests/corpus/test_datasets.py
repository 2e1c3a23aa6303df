"""Published datasets fetched from a mirror on the loopback interface."""

import hashlib
import json

import pytest
from tests.support.loopback import folder_served

from contrafact.corpus.datasets import (
    dataset_named,
    datasets,
    fetch_dataset,
    files_at_hand,
)
from contrafact.errors import InputError

HUB = "CarolynJiang/RFC-Bench-Dataset"


class Mirror:
    """What a served folder holds; what it was asked for is in ``asked``."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []

    def put(self, path, data):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())

    def hub(self, files, revision="abc123"):
        siblings = [
            {"rfilename": name, "lfs": {"sha256": hashlib.sha256(data).hexdigest()}}
            if name.endswith(".parquet")
            else {"rfilename": name}
            for name, data in files.items()
        ]
        self.put(f"api/datasets/{HUB}", {"sha": revision, "siblings": siblings})
        for name, data in files.items():
            self.put(f"datasets/{HUB}/resolve/{revision}/{name}", data)


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    served = tmp_path / "served"
    served.mkdir()
    running = Mirror(served)
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with folder_served(served, running.asked) as url:
        monkeypatch.setenv("CONTRAFACT_DATA_URL", url + "/")
        yield running


FILES = {
    "data/final set.jsonl": b'{"ticker": "HARW"}\n',
    "hard.parquet": b"PAR1 of a kind",
    ".gitattributes": b"not data",
}


def test_pinned_sources_are_named_by_commit_and_sum():
    assert list(datasets()) == ["fin-force", "fin-force-supplement", "rfc-bench", "cobe"]
    for dataset in datasets().values():
        if dataset.source == "github":
            assert dataset.revision
            assert all(len(bytes.fromhex(known)) == 32 for known in dataset.files.values())


def test_a_pinned_file_with_another_sum_is_refused(mirror):
    mirror.put("keanepotato/fin_force/7a2f584/data/fin_force.json", b"[]")
    with pytest.raises(InputError, match="the SHA-256 of what came is"):
        fetch_dataset("fin-force")
    assert mirror.asked == ["/keanepotato/fin_force/7a2f584/data/fin_force.json"]
    assert files_at_hand(dataset_named("fin-force")) == ([], False)


def test_a_missing_file_is_reported(mirror):
    with pytest.raises(InputError, match="not found"):
        fetch_dataset("fin-force-supplement")


def test_the_hubs_files_are_listed_recorded_and_held_to(mirror):
    mirror.hub(FILES)
    seen = []
    paths = fetch_dataset("rfc-bench", lambda *shown: seen.append(shown))
    dataset = dataset_named("rfc-bench")
    assert [path.relative_to(dataset.folder()).as_posix() for path in paths] == [
        "data/final set.jsonl",
        "hard.parquet",
    ]
    assert [path.read_bytes() for path in paths] == [
        FILES["data/final set.jsonl"],
        FILES["hard.parquet"],
    ]
    assert ("hard.parquet", 14, 14) in seen
    assert files_at_hand(dataset) == (paths, True)
    record = json.loads((dataset.folder() / "sources.json").read_text())
    assert record == {
        "repository": HUB,
        "revision": "abc123",
        "files": [
            {"path": name, "sha256": hashlib.sha256(FILES[name]).hexdigest()}
            for name in ("data/final set.jsonl", "hard.parquet")
        ],
    }

    asked = len(mirror.asked)
    assert fetch_dataset("rfc-bench") == paths
    assert len(mirror.asked) == asked, "what is at hand is not asked for again"

    paths[0].write_bytes(b"damaged")
    mirror.hub({"other.csv": b"new"}, revision="def456")
    assert fetch_dataset("rfc-bench") == paths, "the recorded commit is kept to"
    assert paths[0].read_bytes() == FILES["data/final set.jsonl"]

    paths[0].write_bytes(b"damaged")
    mirror.put(f"datasets/{HUB}/resolve/abc123/data/final set.jsonl", b"changed at the source")
    with pytest.raises(InputError, match="the SHA-256 of what came is"):
        fetch_dataset("rfc-bench")


def test_a_first_fetch_that_broke_off_goes_on_with_its_commit(mirror):
    mirror.hub(FILES)
    (mirror.folder / f"datasets/{HUB}/resolve/abc123/hard.parquet").unlink()
    with pytest.raises(InputError, match="not found"):
        fetch_dataset("rfc-bench")
    assert len(files_at_hand(dataset_named("rfc-bench"))[0]) == 1
    mirror.hub({"other.csv": b"new"}, revision="def456")
    mirror.put(f"datasets/{HUB}/resolve/abc123/hard.parquet", FILES["hard.parquet"])
    assert [path.name for path in fetch_dataset("rfc-bench")] == [
        "final set.jsonl",
        "hard.parquet",
    ]


def test_a_file_that_is_not_what_the_hub_lists_is_refused(mirror):
    mirror.hub(FILES)
    mirror.put(f"datasets/{HUB}/resolve/abc123/hard.parquet", b"tampered with")
    with pytest.raises(InputError, match="the SHA-256 of what came is"):
        fetch_dataset("rfc-bench")


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {"sha": "abc"},
        {"sha": "abc", "siblings": []},
        {"sha": "abc", "siblings": [{"rfilename": "../../escaped"}]},
        {"sha": "abc", "siblings": [{"rfilename": "/etc/escaped"}]},
        {"sha": "abc", "siblings": [{"rfilename": "sources.json"}]},
        {"sha": "abc", "siblings": [{"rfilename": 7}]},
    ],
)
def test_a_list_that_is_not_one_or_leads_outside_is_refused(mirror, answer):
    mirror.put(f"api/datasets/{HUB}", answer)
    with pytest.raises(InputError, match="the hub"):
        fetch_dataset("rfc-bench")
    assert len(mirror.asked) == 1


def test_a_damaged_record_is_reported(mirror):
    folder = dataset_named("rfc-bench").folder()
    folder.mkdir(parents=True)
    (folder / "sources.json").write_text("{")
    with pytest.raises(InputError, match="the record of the first fetch is damaged"):
        fetch_dataset("rfc-bench")


def test_what_cannot_be_fetched_says_what_to_do(mirror):
    with pytest.raises(InputError, match="'cobe' has no public download; get the file from its"):
        fetch_dataset("cobe")
    with pytest.raises(InputError, match="choose one of: fin-force, fin-force-supplement, rfc-b"):
        fetch_dataset("finforce")
