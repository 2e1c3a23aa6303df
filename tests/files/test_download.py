"""Downloads against a real HTTP server on the loopback interface, faults and all."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from email.utils import formatdate

import pytest
from tests.support.loopback import Loopback

from contrafact.errors import InputError
from contrafact.files.download import cache_dir, fetch, fetch_text, sha256_of

DATA = random.Random(7).randbytes(300_000)
SUM = hashlib.sha256(DATA).hexdigest()


class Server(Loopback):
    """Serves ``data``; ``faults`` are used up first, one a request."""

    def __init__(self):
        self.data = DATA
        self.faults = []
        self.asked = []
        self.pause = 0.0
        super().__init__()
        self.url += "/file.json"

    def answer(self, handler):
        self.asked.append(dict(handler.headers))
        fault = self.faults.pop(0) if self.faults else self.good
        fault(handler)
        handler.close_connection = True

    def good(self, request, *, most=None):
        request.send_response(200)
        request.send_header("Content-Length", str(len(self.data)))
        request.end_headers()
        body = self.data[:most]
        for start in range(0, len(body), 20_000):
            request.wfile.write(body[start : start + 20_000])
            request.wfile.flush()
            time.sleep(self.pause)

    def drop_after(self, most):
        return lambda request: self.good(request, most=most)


def status(code, **headers):
    def answer(request):
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture
def waits(monkeypatch):
    """The pauses, noted instead of made."""
    made = []
    monkeypatch.setattr("contrafact.files.download.sleep", made.append)
    return made


@pytest.fixture
def get(server, tmp_path, waits):
    """Fetch into ``tmp_path``."""
    return lambda **options: fetch(server.url, tmp_path / "file.json", sha256=SUM, **options)


def left(folder):
    return sorted(
        file.name for file in folder.iterdir() if file.name[0] != "." or ".draft-" in file.name
    )


def test_a_file_comes_whole_with_progress(server, get, tmp_path):
    seen = []
    path = get(progress=lambda size, total: seen.append((size, total)))
    assert path.read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))
    assert [size for size, _ in seen] == sorted(size for size, _ in seen)
    assert left(tmp_path) == ["file.json"]
    assert server.asked[0]["Accept-Encoding"] == "identity"


def test_a_file_at_hand_is_not_fetched_again_but_a_damaged_one_is(server, get, tmp_path):
    get()
    get()
    assert len(server.asked) == 1
    path = tmp_path / "file.json"
    path.write_bytes(b"damaged")
    assert get().read_bytes() == DATA
    assert len(server.asked) == 2


FAULTS = [status(500), status(502), status(503, Retry_After="soon")]


@pytest.mark.parametrize("faults", [(100_000, 50_000), FAULTS])
def test_a_fault_is_tried_again_from_the_start(server, get, tmp_path, faults, waits):
    server.faults = [server.drop_after(one) if isinstance(one, int) else one for one in faults]
    assert get().read_bytes() == DATA
    assert waits == [0.5, 1.0, 2.0][: len(faults)]
    assert left(tmp_path) == ["file.json"]


def test_wrong_bytes_leave_nothing_behind(server, get, tmp_path):
    server.data = b"something else"
    with pytest.raises(InputError) as caught:
        get()
    assert f"not {SUM}" in str(caught.value)
    assert caught.value.file == server.url
    assert left(tmp_path) == []
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("code", "message"), [(404, "not found (404)"), (403, "access is refused (403)"), (418, "418")]
)
def test_a_refusal_is_not_tried_again(server, get, tmp_path, code, message):
    server.faults = [status(code)]
    with pytest.raises(InputError) as caught:
        get()
    assert message in str(caught.value)
    assert caught.value.hint
    assert len(server.asked) == 1
    assert left(tmp_path) == []


def test_retry_after_is_kept_to(server, get, waits):
    date = formatdate(time.time() + 20, usegmt=True)
    server.faults = [status(429, Retry_After="7"), status(503, Retry_After=date)]
    assert get().read_bytes() == DATA
    assert waits[0] == 7
    assert 15 < waits[1] <= 20


def test_a_long_retry_after_is_reported_instead_of_waited_for(server, get, waits):
    server.faults = [status(429, Retry_After="3600")]
    with pytest.raises(InputError, match="asks to wait 3600 seconds"):
        get()
    assert waits == []


def test_attempts_are_bounded(server, get, tmp_path, monkeypatch):
    monkeypatch.setattr("contrafact.files.download.ATTEMPTS", 3)
    server.faults = [server.drop_after(1000)] * 50
    with pytest.raises(InputError, match="could not be downloaded in 3 attempts, the last: peer"):
        get()
    assert len(server.asked) == 3
    assert left(tmp_path) == []


def test_no_connection_is_reported_soon(get, server, waits):
    server.close()
    with pytest.raises(InputError, match="no connection"):
        get()
    assert waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("url", ["http://data.example/x", "ftp://127.0.0.1/x", "file:///etc/hosts"])
def test_plain_addresses_are_refused(url):
    with pytest.raises(InputError, match="is not an https:// address"):
        fetch_text(url, "text/html")


def test_a_redirect_to_a_plain_address_is_refused(server, get, tmp_path):
    server.faults = [status(302, Location="ftp://127.0.0.1/x")]
    with pytest.raises(InputError):
        get()
    assert left(tmp_path) == []


def test_a_folder_in_the_way_is_reported(server, tmp_path):
    (tmp_path / "file.json").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        fetch(server.url, tmp_path / "file.json", sha256=SUM)


def python(script):
    return [sys.executable, "-Bc", textwrap.dedent(script)]


def test_a_full_disk_is_reported_and_nothing_kept(server, tmp_path):
    """A limit on file size stands in for the disk's end: the system refuses the write alike."""
    script = f"""
        import resource
        from contrafact.files.download import fetch
        from contrafact.errors import InputError
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            fetch({server.url!r}, {str(tmp_path / "file.json")!r}, sha256={SUM!r})
        except InputError as error:
            print(error)
    """
    done = subprocess.run(python(script), capture_output=True, text=True, check=True)
    assert "cannot be written: file too large" in done.stdout
    assert left(tmp_path) == []


def test_killed_midway_and_run_again(server, tmp_path):
    server.pause = 0.2
    script = f"""
        from contrafact.files.download import fetch
        fetch({server.url!r}, {str(tmp_path / "file.json")!r}, sha256={SUM!r})
    """
    with subprocess.Popen(python(script)) as process:
        try:
            deadline = time.monotonic() + 60
            while not any(draft.stat().st_size for draft in tmp_path.glob(".file.json.draft-*")):
                assert time.monotonic() < deadline, "nothing was downloaded"
                assert process.poll() is None, "the download ended before it was killed"
                time.sleep(0.02)
        finally:
            os.kill(process.pid, signal.SIGKILL)
    assert len(left(tmp_path)) == 1
    server.pause = 0.0
    assert fetch(server.url, tmp_path / "file.json", sha256=SUM).read_bytes() == DATA
    assert left(tmp_path) == ["file.json"]


def test_two_fetches_of_one_file_take_turns(server, tmp_path):
    server.pause = 0.02
    paths = []
    threads = [
        threading.Thread(
            target=lambda: paths.append(fetch(server.url, tmp_path / "file.json", sha256=SUM))
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sha256_of(path) for path in paths] == [SUM] * 3
    assert len(server.asked) == 1


def test_a_text_that_is_asked_for_is_tried_again_too(server, waits):
    server.data = b'{"sha": "abc"}'
    server.faults = [status(500)]
    assert fetch_text(server.url, "application/json") == '{"sha": "abc"}'


def test_cache_dir(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "own"
    assert cache_dir().is_dir()
    monkeypatch.delenv("CONTRAFACT_CACHE")
    assert cache_dir() == tmp_path / "xdg" / "contrafact"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == tmp_path / "home" / ".cache" / "contrafact"
    (tmp_path / "file").touch()
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path / "file" / "x"))
    with pytest.raises(InputError, match="the cache folder cannot be created"):
        cache_dir()
