"""One process at a time in a folder, and on a file."""

import errno
import fcntl
import multiprocessing
import shutil
import subprocess
import sys
import threading

import pytest

from contrafact.errors import InputError
from contrafact.files.lock import locked, locked_file

HOLD = """
import sys
from contrafact.files.lock import locked_file
with locked_file(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def count_up(path):
    for _ in range(50):
        with locked_file(path, wait=True):
            path.write_text(str(int(path.read_text()) + 1))


def test_processes_take_turns_and_leave_no_lock(tmp_path):
    path = tmp_path / "count"
    path.write_text("0")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=count_up, args=(path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert path.read_text() == "150"
    assert [p.name for p in tmp_path.iterdir()] == ["count"]


def test_a_file_that_another_process_holds_is_refused_until_that_ends(tmp_path):
    path = tmp_path / "out.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError) as caught, locked_file(path):
            pass
        assert str(caught.value) == (
            f"{path}: another process is working on this; "
            "wait for it, or name another file with --out"
        )
        other.kill()
    with locked_file(path):  # the lock went with the process, though its file is still there
        assert (tmp_path / ".out.jsonl.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_one_process_holds_a_file_once(tmp_path):
    order = []

    def wait():
        with locked_file(tmp_path / "a", wait=True):
            order.append("second")

    with locked_file(tmp_path / "a"):
        with pytest.raises(InputError, match="another process"), locked_file(tmp_path / "a"):
            pass
        thread = threading.Thread(target=wait)
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_folder_is_held_and_made(tmp_path):
    folder = tmp_path / "deep" / "run"
    with (
        locked(folder),
        pytest.raises(InputError, match="another process is running in this folder"),
        locked(folder),
    ):
        pass
    assert not folder.parent.exists()  # nothing was written
    with locked(folder):
        (folder / "a").touch()
    assert (folder / "a").exists()
    with locked(folder.with_name("gone")):
        shutil.rmtree(folder.with_name("gone"))


def test_a_place_that_cannot_be_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"), locked_file(tmp_path / "file" / "x"):
        pass
    with pytest.raises(InputError, match="cannot be written"), locked(tmp_path / "file" / "x"):
        pass


@pytest.mark.parametrize("lock", [locked, locked_file])
def test_a_file_system_without_locks_is_one_clear_error(lock, tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    problem = "no locks available; its file system has no locks"
    with pytest.raises(InputError, match=problem), lock(tmp_path / "runs"):
        pass
