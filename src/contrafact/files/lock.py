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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; remove drafts of killed processes in it and its subfolders.

    Folders created for it are removed at the end if they are empty.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, blocking=False)
        lock.acquire()
    except Timeout:
        raise InputError(
            "another process is running in this folder",
            file=folder,
            hint="wait for it, or name another folder with --out",
        ) from None
    except OSError as error:
        raise os_problem(error, folder, doing="cannot be written") from None
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(guard, blocking=wait)
        lock.acquire()
    except Timeout:
        raise InputError(
            "another process is working on this",
            file=path,
            hint="wait for it, or name another file with --out",
        ) from None
    except OSError as error:
        raise os_problem(error, path, doing="cannot be written") from error
    sweep(path.parent)
    try:
        yield
    finally:
        # Removed while locked: a process that has opened it meanwhile finds that it has no name
        # any more, and opens the next one.
        guard.unlink(missing_ok=True)
        lock.release()
