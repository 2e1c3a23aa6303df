"""A folder or file that one process works on at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from contrafact.errors import InputError

__all__ = ["LOCK", "locked"]

LOCK = ".lock"
"""The name of a folder's lock file."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; the lock goes with the process, however it ends.

    Raises:
        InputError: if another process holds it, or the folder cannot be made.
    """
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
        raise InputError(f"cannot write there ({error.strerror})", file=folder) from None
    try:
        yield
    finally:
        lock.release()
