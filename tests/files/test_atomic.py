import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path, guard_folder, guard_output, write_bytes, write_text
from contrafact.text.delimit import replace_surrogates


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "out.csv"
    write_text(file, "old\r\n")
    with pytest.raises(KeyboardInterrupt), atomic_path(file) as temporary:
        temporary.write_text("half")
        assert file.read_bytes() == b"old\r\n"
        raise KeyboardInterrupt
    assert file.read_bytes() == b"old\r\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_good_write_replaces_and_keeps_the_permissions(tmp_path):
    file = tmp_path / "deep" / "er" / "out.bin"
    write_bytes(file, b"\0old")
    file.chmod(0o640)
    write_bytes(file, b"\0new")
    assert file.read_bytes() == b"\0new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_a_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "out", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_the_temporary_file_has_the_suffix(tmp_path):
    with atomic_path(tmp_path / "table.parquet") as temporary:
        assert temporary.suffix == ".parquet"
        assert temporary.parent == tmp_path


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "x"


def test_a_device_is_written_into_and_stays_a_device():
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_long_names_fit(tmp_path):
    name = "ß" * 120 + ".json"
    write_text(tmp_path / name, "x")
    assert (tmp_path / name).read_text() == "x"


def test_what_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(InputError, match="part of the path is a file"):
        write_text(tmp_path / "file" / "out", "x")
    with pytest.raises(InputError, match="choose a shorter name"):
        write_text(tmp_path / ("x" * 300), "x")


def test_killed_while_writing_the_old_file_stands(tmp_path):
    file = tmp_path / "out.txt"
    write_text(file, "old")
    script = f"""
        import os, signal
        from contrafact.files.atomic import atomic_path
        with atomic_path({str(file)!r}) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert file.read_text() == "old"
    (tmp_path / ".out.txt.draft-of-mine").write_text("not a draft of this program's")
    assert len(list(tmp_path.iterdir())) == 3
    with atomic_path(file) as alive:  # what a process writes that lives stays
        guard_output(file)
        assert alive.exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == [".out.txt.draft-of-mine", "out.txt"]


def test_lone_surrogates_become_the_replacement_character(tmp_path):
    write_text(tmp_path / "out", "a\ud800b\ud83d\ude00")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "a�b😀"
    assert replace_surrogates("plain ß") == "plain ß"


def test_an_output_that_cannot_be_written_is_refused_beforehand_and_nothing_is_made(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    guard_output(tmp_path / "new" / "deep" / "out", tmp_path / "file", "-", None)
    guard_output("/dev/stdout")
    guard_folder(tmp_path / "new" / "deep")
    guard_folder(tmp_path / "folder")
    for out, inputs, message in (
        ("folder", (), "is a folder"),
        ("file", ("file",), "is the input as well"),
        ("folder/../file", ("file",), "is the input as well"),
        ("file/out", (), "part of the path is a file"),
    ):
        with pytest.raises(InputError, match=message):
            guard_output(tmp_path / out, *(tmp_path / given for given in inputs))
    for out, message in (("file", "is a file"), ("file/out", "part of the path is a file")):
        with pytest.raises(InputError, match=message):
            guard_folder(tmp_path / out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_folder_without_permission_is_reported_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may do anything
    for guard in (guard_output, guard_folder):
        with pytest.raises(InputError, match="check its permissions"):
            guard(tmp_path / "new" / "out")
