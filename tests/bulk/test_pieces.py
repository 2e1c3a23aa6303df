"""What bulk work is made of, without a cluster: each rule by itself."""

import asyncio
import hashlib
import json
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tests.support.lines import one_line

from contrafact.corpus.duplicates import Text, find_duplicates, signature_of
from contrafact.errors import InputError
from contrafact.stages.stage import FAILURES, KEPT, Asked, InputRow, StageOutput
from contrafact_ray import calls
from contrafact_ray.calls import Limits
from contrafact_ray.cluster import Cluster, check_address
from contrafact_ray.fragments import BadRow, fragments_of, read_fragment
from contrafact_ray.partitions import OutputFolder, Partition
from contrafact_ray.places import Place, input_files
from contrafact_ray.repeats import repeated_rows
from contrafact_ray.run import counts_in, shared_out
from contrafact_ray.tables import common_schema, from_bytes, part_bytes, recast
from contrafact_ray.work import alone

LINES = st.lists(
    st.one_of(
        st.builds(lambda n: json.dumps({"n": n}), st.integers()),
        st.sampled_from(["", "  ", "{", "[1]", '{"n": "é"}']),
    ),
    max_size=30,
)


@given(LINES, st.integers(1, 7), st.booleans())
@settings(max_examples=60)
def test_every_line_is_in_one_fragment_and_bad_ones_are_told(tmp_path_factory, lines, size, end):
    path = tmp_path_factory.mktemp("lines") / "in.jsonl"
    text = "\n".join(lines) + ("\n" if end and lines else "")
    path.write_bytes(text.encode())
    found = fragments_of(Place(str(path)), size)
    assert all(one.rows <= size for one in found)
    assert sum(one.rows for one in found) == len(text.splitlines())
    read = dict(row for one in found for row in read_fragment(one))
    for number, line in enumerate(text.splitlines()):
        if not line.strip():
            assert number not in read
        elif line in ("{", "[1]"):
            assert isinstance(read[number], BadRow)
        else:
            assert read[number] == json.loads(line)


@pytest.mark.parametrize("group", [3, 10, 100])
def test_parquet_is_divided_by_rows_whatever_its_row_groups(tmp_path, group):
    table = pa.table({"n": range(25)})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=group)
    found = fragments_of(Place(str(tmp_path / "in.parquet")), 7)
    rows = [row for one in found for row in read_fragment(one)]
    assert rows == [(n, {"n": n}) for n in range(25)]
    assert [one.rows for one in found] == [7, 7, 7, 4]


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=2), st.integers()),
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), min_size=1, max_size=6))
@settings(max_examples=80)
def test_rows_come_back_as_they_were_in_the_order_of_their_index(rows):
    numbered = [{**row, "index": 9 - at} for at, row in enumerate(rows)]
    back = list(from_bytes(part_bytes(numbered)))
    assert [row["index"] for row in back] == sorted(row["index"] for row in numbered)
    for row in numbered:
        (found,) = [one for one in back if one["index"] == row["index"]]
        assert _given(found) == _given(row)


def _given(value):
    """A row without what is missing: objects of one column have the same keys."""
    if not isinstance(value, dict):
        return value
    return {key: _given(one) for key, one in value.items() if one is not None}


@given(st.lists(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), min_size=1, max_size=3),
                min_size=1, max_size=4))  # fmt: skip
@settings(max_examples=80)
def test_parts_whose_types_differ_become_of_one_schema_and_keep_their_rows(parts):
    numbered = [[{**row, "index": at} for at, row in enumerate(rows)] for rows in parts]
    made = [part_bytes(rows) for rows in numbered]
    whole = common_schema(parquet.read_schema(pa.BufferReader(part)) for part in made)
    for part, rows in zip(made, numbered, strict=True):
        again = recast(part, whole)
        assert parquet.read_schema(pa.BufferReader(again)).equals(whole)
        assert [_given(row) for row in from_bytes(again)] == [_given(row) for row in rows]


def test_a_glob_a_folder_and_a_uri_name_data_and_no_hidden_or_sidecar_files(tmp_path):
    hidden = ("_rejects/p.parquet", ".part.jsonl", "notes.txt")
    beside = ("b.jsonl.ledger.jsonl", "b.jsonl.dropped.jsonl", "old.csv.answers.jsonl")
    for name in ("b.jsonl", "a/x.parquet", *hidden, *beside):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n")
    for given_path in (str(tmp_path), f"file://{tmp_path}"):
        names = [place.path.removeprefix(str(tmp_path)) for place in input_files(given_path)]
        assert names == ["/a/x.parquet", "/b.jsonl"]
    for pattern, found in (("*.jsonl", "b.jsonl"), ("*.ledger.jsonl", "b.jsonl.ledger.jsonl")):
        named = [one.path for one in input_files(f"{tmp_path}/{pattern}")]
        assert named == [str(tmp_path / found)]
    with pytest.raises(InputError, match="neither Parquet nor JSON Lines"):
        input_files(str(tmp_path / "notes.txt"))
    with pytest.raises(InputError, match="no such file"):
        input_files(str(tmp_path / "nowhere"))


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_rows_that_make_work_fail_fail_alone(poisoned):
    async def work(rows):
        if any(row.fields["bad"] for row in rows):
            raise ValueError("poison")
        made = StageOutput()
        for row in rows:
            made.add(KEPT, row.index, {})
        return made

    rows = [InputRow(at, {"bad": bad}) for at, bad in enumerate(poisoned)]
    made = asyncio.run(alone(work, rows))
    places = {name: [row["index"] for row in rows] for name, rows in made.rows().items()}
    assert places.get(KEPT, []) == [at for at, bad in enumerate(poisoned) if not bad]
    assert places.get(FAILURES, []) == [at for at, bad in enumerate(poisoned) if bad]
    assert {row["reason"] for row in made.rows().get(FAILURES, [])} <= {"ValueError: poison"}


@given(st.lists(st.integers(0, 5), max_size=30))
def test_of_rows_with_one_key_the_first_stays(keys):
    rows = np.random.default_rng(len(keys)).permutation(len(keys))
    batch = {
        "high": np.array(keys, dtype=np.int64)[rows],
        "low": np.zeros(len(keys), dtype=np.int64),
        "index": np.arange(len(keys))[rows],
    }
    expected = {at: keys.index(key) for at, key in enumerate(keys) if keys.index(key) != at}
    places, first = repeated_rows(batch)
    assert list(zip(places.tolist(), first.tolist(), strict=True)) == [*expected.items()]


def test_an_output_knows_what_made_it_and_a_partition_with_failed_calls_is_not_finished(tmp_path):
    output = OutputFolder(Place(str(tmp_path / "out")))
    output.begin({"seed": 1}, "`verb`")
    output.begin({"seed": 1}, "`verb`")
    with pytest.raises(InputError, match=r"begun by another `verb` \(seed was 1, is 2\)"):
        output.begin({"seed": 2}, "`verb`")
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n' * 4)
    pieces = fragments_of(Place(str(tmp_path / "in.jsonl")), 2)
    parts = [Partition(at, at * 2, one) for at, one in enumerate(pieces)]
    made = StageOutput()
    made.add(KEPT, 0, {"a": 1})
    output.write(parts[0], made, {})
    made.fail(InputRow(1, {}), "a call failed", cause="it hung up")
    output.write(parts[1], made, {})
    assert [one for one in parts if one.name not in output.finished()] == [parts[1]]
    assert output.finished() == {parts[0].name}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(InputError, match="that no `verb` has written"):
        OutputFolder(Place(str(tmp_path / "other"))).begin({}, "`verb`")


def test_a_rate_is_kept_and_a_wave_of_refusals_stops_all(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(calls.time, "monotonic", lambda: now[0])
    limits = Limits(requests=600)
    begun = 0
    for _ in range(600):  # a minute, by tenths of a second
        begun += limits.sync(50, 0, 0, 0.0, 0)[0]
        now[0] += 0.1
    assert 590 <= begun <= 620
    limits = Limits(tokens=6_000)
    used = 0
    for _ in range(600):
        granted, _ = limits.sync(1, 0, 0, 0.0, 0)
        used += 40 * granted
        limits.sync(0, granted, 0, 0.0, 40 * granted)
        now[0] += 0.1
    assert 5_800 <= used <= 6_300
    limits = Limits()
    assert limits.sync(5, 40, 1, 9.0, 0) == (5, 0.0)  # one in forty is no wave
    assert limits.sync(5, 10, 6, 7.0, 0) == (0, 7.0)
    now[0] += 7.1
    assert limits.sync(5, 10, 0, 0.0, 0) == (5, 0.0)


VOCABULARY = ("gold", "oil", "up", "down", "3%", "4.5%", "bank", "rate", "cut", "firm", "loan")
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=6, max_size=9)


@given(
    st.lists(st.tuples(WORDS, st.sampled_from([None, "https://x.org/1", "https://y.org/2"])),
             min_size=1, max_size=12),
    st.integers(0, 3),
)  # fmt: skip
@settings(max_examples=60)
def test_duplicates_by_signatures_made_elsewhere_are_those_of_the_texts_themselves(texts, split):
    every = [Text(str(at), " ".join(words), url) for at, (words, url) in enumerate(texts)]
    signed = [replace(one, signature=signature_of(one)) for one in every]
    found, expected = (
        find_duplicates(iter(one[split:]), one[:split], threshold=0.6) for one in (signed, every)
    )
    assert found == expected


def cluster_of(*nodes):
    """A stand-in for Ray, of nodes with so many processors and GPUs."""
    each = [{name: float(n) for name, n in zip(("CPU", "GPU"), one, strict=True) if n}
            for one in nodes]  # fmt: skip
    whole = {name: sum(one.get(name, 0.0) for one in each) for one in each for name in one}
    ray = SimpleNamespace(
        cluster_resources=lambda: whole,
        nodes=lambda: [{"Alive": True, "Resources": one} for one in each],
    )
    return Cluster(ray, "")


@pytest.mark.parametrize(
    ("asked", "actors", "held"),
    [
        (Asked("openai/gpt-4o-mini", 64), 4, {}),
        (Asked("openai/gpt-4o-mini", 400), 12, {}),
        (Asked("verifier/proof", 64), 12, {"num_cpus": 1}),
        (Asked("none/none", 64), 12, {"num_cpus": 1}),
        (Asked("embedded/smollm2-135m", 64), 2, {"num_cpus": 4, "scheduling_strategy": "SPREAD"}),
        (
            Asked("openai/gpt-4o-mini", 64, judges=("verifier/proof", "embedded/smollm2-135m")),
            2,
            {"num_cpus": 4, "scheduling_strategy": "SPREAD"},
        ),
        (Asked("vllm/some/model", 64), 5, {"num_gpus": 1}),
        (Asked("vllm/some/model", 64, model_args={"tensor_parallel_size": 2}), 2, {"num_gpus": 2}),
    ],
)
def test_a_model_is_asked_from_where_it_runs(monkeypatch, asked, actors, held):
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    cluster = cluster_of((0, 0), (4, 1), (8, 4))  # the head has no processors
    assert shared_out(asked, cluster, 100) == (actors, held)
    assert shared_out(asked, cluster, 1) == (1, held)


def test_a_model_that_needs_gpus_is_refused_without_them_unless_its_server_runs(monkeypatch):
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    cluster = cluster_of((2, 0))
    with pytest.raises(InputError, match="1 of the cluster's GPUs, and it has 0"):
        shared_out(Asked("vllm/some/model", 64), cluster, 10)
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:8000/v1")
    assert shared_out(Asked("vllm/some/model", 64), cluster, 10) == (2, {})


@pytest.mark.parametrize("says", [b"HTTP/1.0 505 Not Supported\r\n\r\n", b"hi", b""])
def test_what_listens_at_an_address_and_is_not_ray_is_refused(monkeypatch, says):
    monkeypatch.setattr("contrafact_ray.cluster._ANSWERS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with suppress(OSError):
                channel, _ = server.accept()
                channel.sendall(says)
                held.append(channel)  # left open: it says no more

        held: list[socket.socket] = []
        threading.Thread(target=answer, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        why = "the server there is not Ray" if len(says) > 3 else "timed out"
        with pytest.raises(InputError, match=f"no cluster answers at '{address}': {why}"):
            check_address(address)
        for channel in held:
            channel.close()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        *((one, f"no cluster answers at '{one}'") for one in ("127.0.0.1:1", "127.0.0.1:70000")),
        ("a..b:1", "no cluster answers at 'a..b:1'"),
        ("banana", "'banana' is not a cluster's address"),
        ("ray://127.0.0.1:10001", "ray job submit"),
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_written(
    quick_contrafact, tmp_path, address, says
):
    (tmp_path / "in.jsonl").write_text('{"headline": "Osmery Foods cuts its forecast"}\n')
    command = ["rfc", "bucket", "in.jsonl", "--engine", "ray", "--out", "out"]
    done = quick_contrafact(*command, "--address", address)
    assert says in one_line(done)
    assert not (tmp_path / "out").exists()


def test_parts_of_an_output_get_one_schema_once_and_their_manifests_keep_the_hashes(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n' * 4)
    pieces = fragments_of(Place(str(tmp_path / "in.jsonl")), 2)
    output, manifests = OutputFolder(Place(str(tmp_path / "out"))), {}
    for number, values in enumerate(([[], None], [["oil"], []])):
        partition, made = Partition(number, 2 * number, pieces[number]), StageOutput()
        for place, tags in enumerate(values):
            made.add(KEPT, 2 * number + place, {"tags": tags, **({"n": 1} if number else {})})
        manifests[partition.name] = output.write(partition, made, {})
    output.unify(manifests)
    parts = sorted((tmp_path / "out").glob("part-*.parquet"))
    first, second = map(parquet.read_schema, parts)
    assert first.equals(second) and first.field("tags").type == pa.list_(pa.string())
    for part in parts:
        kept = output.manifest(part.stem)
        assert kept["sha256"][KEPT] == hashlib.sha256(part.read_bytes()).hexdigest()
    before = [part.stat().st_mtime_ns for part in parts]
    output.unify({part.stem: output.manifest(part.stem) for part in parts})
    assert before == [part.stat().st_mtime_ns for part in parts]
    kept = from_bytes(output.file(KEPT, "part-00000").read())
    assert [row["tags"] for row in kept] == [[], None]


def test_counts_of_manifests_are_read_as_they_were_written_before_and_since():
    made = StageOutput()
    made.counts.update([("flipping", "rule", "a|b"), "candidates", "candidates"])
    written = json.loads(json.dumps([[key, count] for key, count in made.counts.items()]))
    assert counts_in(written) == made.counts
    assert counts_in({"kept|numerical": 2, "candidates": 3}) == {
        ("kept", "numerical"): 2,
        "candidates": 3,
    }
