"""A cluster that is joined from afar, through Ray's client: driven from inside, shown here."""

import json
import socket
import subprocess
import sys

import pytest

pytest.importorskip("ray")
pytest.importorskip("grpc")

from ray.cluster_utils import Cluster

from contrafact.bulk.tables import from_bytes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def far():
    """The address of a cluster's server for clients."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Ray's server forks while gRPC's threads run: with gRPC's handlers, one fork in a few hangs.
    own = pytest.MonkeyPatch()
    own.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")
    head = {"num_cpus": 2, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={**head, "ray_client_server_port": port})
    address = f"ray://127.0.0.1:{port}"
    join = [sys.executable, "-c", f"import ray; ray.init({address!r})"]
    for _ in range(5):  # a server that has just begun refuses clients
        if subprocess.run(join, capture_output=True, check=False).returncode == 0:
            break
    yield address
    cluster.shutdown()
    own.undo()


def written(folder, count):
    rows = [
        {"title": f"Osmery {n} may cut its forecast by {n}%", "summary": f"It was said, {n}."}
        for n in range(count)
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def kept(folder):
    parts = sorted((folder / "out").glob("part-*.parquet"))
    return [row for path in parts for row in from_bytes(path.read_bytes())]


def test_the_rows_are_those_of_one_process_and_progress_is_shown(quick_contrafact, far, tmp_path):
    written(tmp_path, 50)
    command = ["rfc", "bucket", "in.jsonl", "--out", "out", "--engine", "ray", "--address", far]
    done = quick_contrafact(*command, "--partition-rows", "10")
    assert done.returncode == 0, done.stderr
    assert "articles: 50/50" in done.stderr and "50 rows in 5 partitions" in done.stderr
    assert quick_contrafact("rfc", "bucket", "in.jsonl", "--out", "one.jsonl").returncode == 0
    own = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert [{k: row[k] for k in own[0]} for row in kept(tmp_path)] == own
    again = quick_contrafact(*command, "--partition-rows", "10")
    assert "5 of the partitions were finished before" in again.stderr


def test_what_is_wrong_is_said_in_one_line(quick_contrafact, far, tmp_path):
    command = ["rfc", "bucket", "none.jsonl", "--out", "out", "--engine", "ray", "--address", far]
    done = quick_contrafact(*command)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "none.jsonl" in done.stderr and not (tmp_path / "out").exists()
