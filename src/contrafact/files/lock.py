"""A folder or a file that one process works on at a time.

The operating system lets go of a lock when its process ends, however it ends.
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
    """Hold a folder for this process; drafts of killed ones in it, and right below, go.

    Folders that are made for it, and in which nothing is written, go again.
    """
    made = [one for one in (folder, *folder.parents) if not one.exists()]
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
    for place in (folder, *(one for one in folder.iterdir() if one.is_dir())):
        sweep(place)
    try:
        yield
    finally:
        if made and [*folder.glob("*")] == [folder / LOCK]:
            (folder / LOCK).unlink()
            for one in made:
                with suppress(OSError):  # another has written into it
                    one.rmdir()
        lock.release()


@contextmanager
def locked_file(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a file, which need not be there yet, for this process; drafts of killed ones go."""
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
        # While it is held: whoever opened it meanwhile finds that it has no name any more, and
        # opens the next one.
        guard.unlink(missing_ok=True)
        lock.release()
