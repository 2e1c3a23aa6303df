"""Whole-or-nothing writes: a reader sees the old file or the new one, never half of one.

What is being written is a hidden draft next to its target, which its process holds by a lock of the
operating system; one that nobody holds was left by a process that was killed.
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
except ImportError:  # Windows, where a file that is open cannot be renamed: drafts stay
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

_NAME_ROOM = 100  # of a name's 255 bytes, so that dot, random part and suffix always fit
_DRAFT = re.compile(r"\A\..*\.draft-[0-9a-f]{12}(?:\..*)?", re.DOTALL)


def os_problem(error: OSError, file: str | Path | None, *, doing: str) -> InputError:
    """Return what the operating system said as an error that a user can fix."""
    hints = {
        errno.ENOSPC: "free some space and run the command again",
        errno.EDQUOT: "your quota is used up: free some space and run the command again",
        errno.EACCES: "check its permissions",
        errno.EPERM: "check its permissions",
        errno.EROFS: "choose a folder that can be written to",
        errno.ENOENT: "check the path",
        errno.ENOTDIR: "part of the path is a file: check the path",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.ENOLCK: "its file system gives no locks: choose a folder on another",
    }
    reason = (error.strerror or type(error).__name__).lower()
    kind = WriteError if "written" in doing else InputError
    return kind(f"{doing}: {reason}", file=file, hint=hints.get(error.errno or 0))


def guard_output(out: str | Path, *inputs: str | Path | None, kind: str = "") -> None:
    """Refuse an output that could not be written, or that is an input: before any work is done.

    ``kind`` is what is written, JSON or JSON Lines: the name of another kind of table is refused.
    """
    path = Path(out)
    if str(out) == "-":
        raise InputError("standard output is not written to here", hint="name a file with --out")
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
    """Refuse a folder that could not be written into, before any work is done."""
    if Path(out).exists() and not Path(out).is_dir():
        problem = "is a file" if Path(out).is_file() else "is a device or a pipe"
        raise InputError(problem, file=out, hint="name a folder with --out")
    _guard_above(Path(out).resolve(), out)
    sweep(Path(out).resolve().parent)


def _guard_above(folder: Path, out: str | Path) -> None:
    """Refuse an output if the nearest folder above it that is there cannot take it."""
    try:
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        # What is no plain file (/dev/stdout) is written into, and nothing is made next to it.
        special = Path(out).exists() and not (Path(out).is_file() or Path(out).is_dir())
        if not special and not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise os_problem(error, out, doing="cannot be written") from error


def sync(path: Path) -> None:
    """Make a file, or a rename in a folder, last through a power cut.

    Windows opens no folder, and syncs no file that is open to read.
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
                continue  # a process that lives is writing it
            finally:
                os.close(descriptor)


@contextmanager
def _draft_of(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Make an empty draft next to a target and hold it; what is left of it at the end goes."""
    name = target.name.encode()[:_NAME_ROOM].decode(errors="ignore")
    draft = target.with_name(f".{name}.draft-{secrets.token_hex(6)}{target.suffix[:20]}")
    with ExitStack() as held:
        while not draft.exists():  # it may be swept before it is held
            if folder:
                draft.mkdir()
            else:
                # By name, so that the user's umask decides the permissions, as for any new file.
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            if flock is not None:
                with suppress(OSError):  # swept, or some network file systems have no locks
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
    """Yield a temporary file next to ``path`` that takes its place when the block ends well.

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
    """Write ``text`` to ``path`` as UTF-8, whole or not at all; line ends are kept as they are.

    Lone surrogates, which UTF-8 cannot hold, become the replacement character U+FFFD.
    """
    write_bytes(path, replace_surrogates(text).encode())


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write a new folder of texts, whole or not at all; one that holds these very texts stays.

    A fresh git repository is taken for empty. What stands there already, or is the folder that one
    works in, has the parts moved in one by one.
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
                folder.rmdir()  # it is empty
            draft.rename(folder)
    except OSError as error:
        raise os_problem(error, named, doing="cannot be written") from error
