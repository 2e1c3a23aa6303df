"""Locks on a folder or a file, so that only one process works on it at a time.

The operating system releases a lock when its process ends in any way.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem, sweep

__all__ = ["LOCK", "locked", "locked_file"]

LOCK = ".lock"


def _acquired(lock: Path, place: Path, problem: str, *, wait: bool = False) -> FileLock:
    """Return a lock that this process holds; `InputError` on ``place`` if another one holds it."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock, blocking=wait)
        held.acquire()
    except Timeout:
        kind = "folder" if lock.parent == place else "file"
        hint = f"wait for it, or name another {kind} with --out"
        raise InputError(problem, file=place, hint=hint) from None
    except OSError as error:
        raise os_problem(error, place, doing="cannot be written") from error
    return held


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; remove drafts of killed processes in it and its subfolders.

    Folders created for it are removed at the end if they are empty.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = _acquired(folder / LOCK, folder, "another process is running in this folder")
    for place in (folder, *(path for path in folder.iterdir() if path.is_dir())):
        sweep(place)
    try:
        yield
    finally:
        if made and [*folder.glob("*")] == [folder / LOCK]:
            (folder / LOCK).unlink()
            for path in made:
                with suppress(OSError):  # another process has written into it
                    path.rmdir()
        lock.release()


@contextmanager
def locked_file(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a file, which need not exist, for this process; remove drafts of killed processes."""
    path = Path(path)
    guard = path.with_name(f".{path.name}{LOCK}")
    lock = _acquired(guard, path, "another process is working on this", wait=wait)
    sweep(path.parent)
    try:
        yield
    finally:
        # Removed while locked: a process that has opened it meanwhile finds that it has no name
        # any more, and opens the next one.
        guard.unlink(missing_ok=True)
        lock.release()
