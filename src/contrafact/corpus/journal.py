"""What lets a stage that was killed go on: its work so far, and afterwards a record of its making.

While the stage that makes ``news.jsonl`` is unfinished, ``.news.jsonl.part`` holds its settings and
what it has done; once it is finished, ``.news.jsonl.done`` holds the settings alone, so that the
same command has nothing left to do.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem, write_text

__all__ = ["Journal", "hash_of"]


def hash_of(value: object) -> str:
    """Return 16 hex digits that differ for values that differ as JSON."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Journal:
    """The work of one stage for one output.

    Args:
        out: The output that the stage makes.
        settings: What decides the output, by the names users know; no secrets.
        what: What the stage is called in messages, as in ``"news fetch"``.
    """

    def __init__(self, out: str | Path, settings: Mapping[str, Any], *, what: str) -> None:
        self.out = Path(out)
        self.settings: dict[str, Any] = json.loads(json.dumps(settings, default=str))
        self.what = what
        self._part = self.out.with_name(f".{self.out.name}.part")
        self._done = self.out.with_name(f".{self.out.name}.done")
        self._stream: BinaryIO | None = None
        self._entries = 0

    def finished(self) -> bool:
        """Return whether the output is there and was made with these very settings.

        Raises:
            InputError: The output was made otherwise, or another stage for it is unfinished.
        """
        begun = _first_object(self._part)
        if begun is not None:
            self._same(begun, "is unfinished, with other settings", give_up=True)
            return False
        if not self.out.exists():
            return False
        made = _first_object(self._done)
        if made is None:
            raise InputError(
                f"exists, and no `{self.what}` has written it",
                file=self.out,
                hint="name another file with --out, or move this one away",
            )
        self._same(made, "was made with other settings", give_up=False)
        return True

    @contextmanager
    def open(self) -> Iterator[list[dict[str, Any]]]:
        """Hold the journal, and yield what stands in it from an earlier start.

        Raises:
            InputError: It cannot be written, or another process is at the same work.
        """
        try:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            with self._part.open("a+b") as stream:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(
                        "another process is at work on it", file=self.out, hint="let it finish"
                    ) from None
                self._stream = stream
                done = self._resume(stream)
                self._entries = len(done)
                try:
                    yield done
                finally:
                    if not self._entries:  # nothing to go on with: leave the way free
                        self._part.unlink(missing_ok=True)
        except OSError as error:
            raise os_problem(error, self._part, doing="cannot be written") from error
        finally:
            self._stream = None

    def keep(self, entry: Mapping[str, Any]) -> None:
        """Add a piece of work that no later start has to repeat."""
        if self._stream is None:
            raise RuntimeError("the journal is not open")
        self._write(entry)
        self._entries += 1

    def finish(self) -> None:
        """Record what made the output, and remove the work."""
        write_text(self._done, json.dumps(self.settings) + "\n")
        self._part.unlink(missing_ok=True)

    def give_up(self) -> None:
        """Remove the work, so that the output can be made anew."""
        self._part.unlink(missing_ok=True)

    def _resume(self, stream: BinaryIO) -> list[dict[str, Any]]:
        stream.seek(0)
        data = stream.read()
        whole = data[: data.rfind(b"\n") + 1]  # a killed writer leaves one torn line, the last
        if len(whole) < len(data):
            stream.truncate(len(whole))
        if not whole:
            self._write(self.settings)
            return []
        try:
            return [json.loads(line) for line in whole.splitlines()[1:]]
        except ValueError as error:
            raise InputError(
                "is damaged", file=self._part, hint="remove it; what it held is done again"
            ) from error

    def _write(self, entry: Mapping[str, Any]) -> None:
        assert self._stream is not None
        self._stream.write(json.dumps(entry).encode() + b"\n")
        self._stream.flush()

    def _same(self, found: Mapping[str, Any], problem: str, *, give_up: bool) -> None:
        names = sorted(
            name
            for name in self.settings.keys() | found.keys()
            if found.get(name) != self.settings.get(name)
        )
        if names:
            hint = "name another file with --out"
            if give_up:
                hint += f", or remove {self._part} to give that work up"
            raise InputError(f"{problem} ({', '.join(names)})", file=self.out, hint=hint)


def _first_object(path: Path) -> dict[str, Any] | None:
    """Return the object on a file's first line; none if there is no such file or no whole line."""
    try:
        with path.open("rb") as stream:
            line = stream.readline()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
    if not line.endswith(b"\n"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InputError("is damaged", file=path, hint=f"remove {os.fspath(path)}")
    return value
