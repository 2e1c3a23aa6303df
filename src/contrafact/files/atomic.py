"""Whole-or-nothing writes: a reader sees the old file or the new one, never half of one.

A file is first written as a hidden draft next to its target. Its process locks the draft, so that a
draft without a lock was left by a process that was killed.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from contrafact.errors import InputError, WriteError
from contrafact.text.delimit import replace_surrogates

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows cannot rename an open file: drafts are not locked, and may stay
    flock = None  # type: ignore[assignment]

__all__ = [
    "atomic_path",
    "guard_folder",
    "guard_output",
    "os_problem",
    "sync",
    "write_bytes",
    "write_folder",
    "write_text",
]

_NAME_ROOM = 100  # bytes of a name's 255, so that dot, random part and suffix always fit
_DRAFT = re.compile(r"\A\..*\.draft-[0-9a-f]{12}(?:\..*)?", re.DOTALL)


def os_problem(error: OSError, file: str | Path | None, *, doing: str) -> InputError:
    """Return an operating system's error as an `InputError` with a hint."""
    hints = {
        errno.ENOSPC: "free some space and run the command again",
        errno.EDQUOT: "your quota is used up: free some space and run the command again",
        errno.EACCES: "check its permissions",
        errno.EPERM: "check its permissions",
        errno.EROFS: "choose a folder that can be written to",
        errno.ENOENT: "check the path",
        errno.ENOTDIR: "part of the path is a file: check the path",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ENOLCK: "its file system has no locks: choose a folder on another one",
    }
    reason = (error.strerror or type(error).__name__).lower()
    kind = WriteError if "written" in doing else InputError
    return kind(f"{doing}: {reason}", file=file, hint=hints.get(error.errno or 0))


def guard_output(out: str | Path, *inputs: str | Path | None, kind: str = "") -> None:
    """Raise an error before any work is done if an output cannot be written, or is an input.

    ``kind`` is the format, JSON or JSON Lines; a name with another table's suffix is refused.
    """
    path = Path(out)
    if str(out) == "-":
        raise InputError("this cannot be written to standard output", hint="name a file with --out")
    if kind and path.suffix.lower() in (".csv", ".tsv", ".parquet", ".xlsx"):
        ending = ".jsonl" if kind == "JSON Lines" else ".json"
        raise InputError(f"the result is {kind}", file=out, hint=f"name it {ending}")
    if path.is_dir():
        raise InputError("is a folder", file=out, hint="name a file in it")
    for given in inputs:
        if given is not None and str(given) != "-" and Path(given).resolve() == path.resolve():
            raise InputError("is the input as well", file=out, hint="name another file with --out")
    _guard_above(path.resolve().parent, out)
    sweep(path.resolve().parent)


def guard_folder(out: str | Path) -> None:
    """Raise an error before any work is done if a folder cannot be written into."""
    if Path(out).exists() and not Path(out).is_dir():
        problem = "is a file" if Path(out).is_file() else "is a device or a pipe"
        raise InputError(problem, file=out, hint="name a folder with --out")
    _guard_above(Path(out).resolve(), out)
    sweep(Path(out).resolve().parent)


def _guard_above(folder: Path, out: str | Path) -> None:
    """Raise an error if the nearest existing folder above an output cannot be written into."""
    try:
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        # A device or pipe (/dev/stdout) is written into, without a draft next to it.
        special = Path(out).exists() and not (Path(out).is_file() or Path(out).is_dir())
        if not special and not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise os_problem(error, out, doing="cannot be written") from error


def sync(path: Path) -> None:
    """Sync a file, or a folder after a rename, to the disk, so that it survives a power cut.

    Windows cannot open folders, nor sync files that are open for reading only.
    """
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder; the rename itself has happened.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove the drafts of killed processes from a folder."""
    if flock is None:
        return
    with suppress(OSError):
        for draft in [one for one in folder.iterdir() if _DRAFT.fullmatch(one.name)]:
            descriptor = os.open(draft, os.O_RDONLY)
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
                shutil.rmtree(draft) if draft.is_dir() else draft.unlink()
            except BlockingIOError:
                continue  # a running process is writing it
            finally:
                os.close(descriptor)


@contextmanager
def _draft_of(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a new, locked draft next to a target; it is removed at the end if still there."""
    name = target.name.encode()[:_NAME_ROOM].decode(errors="ignore")
    draft = target.with_name(f".{name}.draft-{secrets.token_hex(6)}{target.suffix[:20]}")
    with ExitStack() as held:
        while not draft.exists():  # another process may remove it before it is locked
            if folder:
                draft.mkdir()
            else:
                # Not by tempfile, so that the user's umask decides the permissions.
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            if flock is not None:
                with suppress(OSError):  # removed meanwhile, or a network file system without locks
                    descriptor = os.open(draft, os.O_RDONLY)
                    held.callback(os.close, descriptor)
                    flock(descriptor, LOCK_EX)
        try:
            yield draft
        finally:
            with suppress(FileNotFoundError):
                shutil.rmtree(draft) if folder else draft.unlink()


def _special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise InputError("is a folder", file=path, hint="name a file in it")
    return not stat.S_ISREG(mode)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` when the block ends without an error.

    The temporary file has the suffix of ``path``. When the block ends, it is synced to the disk and
    renamed; when the block raises, it is removed and ``path`` is as it was. Missing folders are
    made. A symbolic link is followed; a device or pipe (``/dev/stdout``) is written into.
    """
    given = Path(path)
    try:
        target = given.resolve()
        if _special(target):
            with tempfile.TemporaryDirectory() as folder:
                temporary = Path(folder) / f"out{target.suffix}"
                temporary.touch()
                yield temporary
                with temporary.open("rb") as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with _draft_of(target) as temporary:
            yield temporary
            with temporary.open("r+b") as written:
                os.fsync(written.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        sync(target.parent)
    except OSError as error:
        raise os_problem(error, given, doing="cannot be written") from error


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write ``data`` to ``path``, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8, whole or not at all, with its line ends unchanged.

    Lone surrogates, which UTF-8 cannot hold, become the replacement character U+FFFD.
    """
    write_bytes(path, replace_surrogates(text).encode())


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write a new folder of text files, whole or not at all; a folder with the same files stays.

    A new git repository counts as empty. Into it, or the working directory, the files are moved one
    by one.
    """
    named, folder = folder, folder.resolve()
    repository = [folder / ".git"] if (folder / ".git").exists() else []
    if folder.exists():
        texts = {folder / name: replace_surrogates(text) for name, text in files.items()}
        if all(path.is_file() and path.read_bytes() == t.encode() for path, t in texts.items()):
            return
        if not folder.is_dir() or [*folder.iterdir()] != repository:
            raise InputError(
                "holds something else", file=named, hint="name a new folder, or an empty one"
            )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _draft_of(folder, folder=True) as draft:
            for name, text in files.items():
                write_text(draft / name, text)
            if repository or folder == Path.cwd():
                for part in sorted(draft.iterdir()):
                    part.rename(folder / part.name)
                return
            if folder.exists():
                folder.rmdir()  # empty by now
            draft.rename(folder)
    except OSError as error:
        raise os_problem(error, named, doing="cannot be written") from error
