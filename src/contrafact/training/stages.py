"""Stages as folders: each is there whole or not at all, and one that is there is not done again.

A stage works in a hidden folder next to its own, ``.name.part``, and takes its name when it is
done. What a killed stage left there is its journal, and it goes on from it.
"""

import errno
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem, sync, write_text
from contrafact.files.journal import Journal

__all__ = ["read_json", "read_lines", "run_stage", "stage_journal", "write_json"]

_DOING = "the stage cannot be written"
_NO_ROOM = (
    *("no space left", "disk quota", "file too large", "os error 28", "os error 27"),
    *("pytorchstreamwriter failed", "inline_container", "iostream error", "unexpected pos"),
)


def run_stage(folder: Path, work: Callable[[Path], None]) -> bool:
    """Do a stage, unless it is done; return whether there was anything to do.

    Args:
        folder: The stage's folder, which is there if and only if the stage is done.
        work: Does it, in the folder it is given, which may hold its journal from a killed start.

    Raises:
        InputError: The disk is full, or the folder cannot be written. What other stages made is
            as it was, and what this one got is gone on from when there is room.
    """
    if folder.is_dir():
        return False
    part = folder.with_name(f".{folder.name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        work(part)
        for path in sorted(part.rglob("*")):
            sync(path)
        part.rename(folder)
        sync(folder.parent)
    except InputError:
        raise
    except OSError as error:
        raise os_problem(error, folder, doing=_DOING) from error
    except Exception as error:
        # safetensors and PyTorch have errors of their own for a disk that is full.
        if any(sign in str(error).casefold() for sign in _NO_ROOM):
            full = OSError(errno.ENOSPC, "no space left on device")
            raise os_problem(full, folder, doing=_DOING) from error
        raise
    return True


@contextmanager
def stage_journal(folder: Path) -> Iterator[Journal]:
    """Hold the journal of what a stage has got so far, and remove it when the stage has all.

    Args:
        folder: The folder in which the stage works; it is for one config alone.
    """
    with Journal(folder / ".journal.jsonl", {}) as journal:
        yield journal
        journal.discard()


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Return what `write_json` wrote.

    Raises:
        InputError: It is not there, or not whole.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    except ValueError as error:
        raise _damaged(path) from error


def read_lines(path: Path) -> list[Any]:
    """Return the rows of a file that a stage wrote.

    Raises:
        InputError: It is not there, or not whole.
    """
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    except ValueError as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> InputError:
    return InputError(
        "is damaged", file=path, hint=f"remove the folder {path.parent.name} to do it again"
    )
