"""Input and output in a folder and, by servers on loopback, in S3 and Google's store."""

import json
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.support.stages import part_rows, plain, undisturbed

pytest.importorskip("ray")

from contrafact.errors import InputError
from contrafact.families.rfc.pipeline.bucket import BucketStage
from contrafact.stages.stage import KEPT, LEDGER, REJECTS
from contrafact_ray.places import Place, input_files

pytestmark = pytest.mark.slow

TITLES = ("Osmery Foods {n} cuts its forecast by {n}%", "Museum {n} opens", "Court {n} may rule")


@contextmanager
def amazons() -> Iterator[str]:
    from pyarrow import fs

    module = pytest.importorskip("moto.server")
    server = module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    query = f"?endpoint_override={host}:{port}&scheme=http&region=us-east-1"
    system, _ = fs.FileSystem.from_uri(f"s3://news{query}&allow_bucket_creation=true")
    system.create_dir("news")
    yield "s3://news/{}" + query
    server.stop()


@contextmanager
def googles() -> Iterator[str]:
    server_module = pytest.importorskip("gcp_storage_emulator.server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = server_module.create_server("127.0.0.1", port, in_memory=True, default_bucket="news")
    server.start()
    yield "gs://anonymous@news/{}" + f"?endpoint_override=127.0.0.1:{port}&scheme=http"
    server.stop()


@contextmanager
def folders() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield folder + "/{}"


@pytest.fixture(scope="module", params=[folders, amazons, googles])
def bucket(request, store_keys):
    """A bucket, whose query says where it is, or a folder."""
    with request.param() as places:
        yield places.format


def manifests(place: str) -> dict[str, bytes]:
    folder = Place(place).child("_manifest")
    return {name: folder.child(name).read() for name in folder.names() if name.startswith("part-")}


def test_a_file_is_read_written_and_removed_and_a_missing_one_is_none(bucket):
    place = Place(bucket("files/a.jsonl"))
    place.write(b'{"a": 1}\n')
    assert place.read() == b'{"a": 1}\n'
    assert [one.given for one in input_files(bucket("files"))] == [bucket("files/a.jsonl")]
    assert [one.given for one in input_files(bucket("fil*/*.jsonl"))] == [bucket("files/a.jsonl")]
    place.remove()
    place.remove()
    assert place.read() is None and Place(bucket("nowhere")).names() == []
    with pytest.raises(InputError, match="no such file or folder"):
        input_files(bucket("nowhere"))
    with pytest.raises(InputError, match="keys in a URI"):
        Place("s3://KEY:SECRET@news/files").names()
    with pytest.raises(InputError, match="keys in a URI"):
        Place("gs://token@news/files").names()
    with pytest.raises(InputError, match="keys in a URI"):
        Place("s3://anonymous@news/files").names()


def test_a_killed_driver_goes_on_where_it_stopped(start_contrafact, bucket, nodes):
    rows = [{"headline": TITLES[n % 3].format(n=n), "description": f"Part {n}."} for n in range(60)]
    rows[-2] = dict(rows[0])
    for number in range(2):
        text = "".join(json.dumps(row) + "\n" for row in rows[number * 30 : number * 30 + 30])
        Place(bucket(f"raw/news-{number}.jsonl")).write(text.encode())
    command = ["rfc", "bucket", bucket("raw"), "--engine", "ray", "--address", nodes.address]
    command += ["--partition-rows", "4", "--out", bucket("out")]
    process = start_contrafact(*command)
    while process.poll() is None and len(manifests(bucket("out"))) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() != 0
    finished = manifests(bucket("out"))
    assert 0 < len(finished) < 16
    assert start_contrafact(*command).wait() == 0
    ended = manifests(bucket("out"))
    assert len(ended) == 16 and all(ended[name] == data for name, data in finished.items())
    expected = undisturbed(BucketStage(), rows)
    for table, name in ((KEPT, ""), (REJECTS, "_rejects"), (LEDGER, "_ledger")):
        assert plain(part_rows(bucket("out"), name)) == expected[table] != []
