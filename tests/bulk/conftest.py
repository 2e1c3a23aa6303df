"""A cluster of two nodes on this machine, one for all tests of this folder."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def store_keys():
    """Keys that a store on loopback takes; nodes have them from the process that starts them."""
    known = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    before = {name: os.environ.get(name) for name in known}
    os.environ |= known
    yield
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(scope="session")
def nodes(store_keys):
    """Two nodes, one processor each; this process has joined them. Ended by their own ids."""
    pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    folder = Path(tempfile.mkdtemp(prefix="cf-"))  # short: Unix sockets lie below it
    (folder / "ray").mkdir()
    os.environ["RAY_TMPDIR"] = str(folder)
    given = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=given)
    cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="CRITICAL")
    yield cluster
    ray.shutdown()
    cluster.shutdown()
    del os.environ["RAY_TMPDIR"]
    shutil.rmtree(folder, ignore_errors=True)
