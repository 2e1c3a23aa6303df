"""Answers that cost something (a model's replies, fetched pages), kept so that none is got twice.

They are appended to a file beside the stage's output as they come, and stay there: a stage that was
killed goes on where it stopped, and one that is repeated asks nobody anything.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem

__all__ = ["AnswerFile"]


class AnswerFile:
    """A file of answers by key, held by one process at a time. Use it in a ``with`` block.

    Args:
        path: The file, JSON Lines; its first line says what the answers were given to.
        facts: What decides the answers (model, prompts, settings), under names a user knows.
    """

    def __init__(self, path: str | Path, facts: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.facts: dict[str, Any] = json.loads(json.dumps(facts))
        self.known: dict[str, Any] = {}
        self._stream: BinaryIO | None = None

    def __enter__(self) -> Self:
        """Open the file and read the answers that are there.

        Raises:
            InputError: The file holds answers to something else, is damaged, cannot be written,
                or another process is using it.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self.path.open("a+b")
        except OSError as error:
            raise os_problem(error, self.path, doing="cannot be written") from error
        try:
            self._lock(self._stream)
            self._read(self._stream)
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    def keep(self, key: str, answer: Any) -> None:
        """Add an answer, on the disk before this returns.

        Raises:
            InputError: The file cannot be written.
        """
        self.known[key] = answer
        self._append({"key": key, "answer": answer})

    def _append(self, entry: Mapping[str, Any]) -> None:
        assert self._stream is not None, "answers are kept in a with block"
        try:
            self._stream.write(json.dumps(entry).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise os_problem(error, self.path, doing="cannot be written") from error

    def _lock(self, stream: BinaryIO) -> None:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "another process is working on this",
                file=self.path,
                hint="wait for it, or name another file with --out",
            ) from None

    def _read(self, stream: BinaryIO) -> None:
        stream.seek(0)
        data = stream.read()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):  # a killed writer leaves at most one torn line
            stream.truncate(len(whole))
        lines = whole.splitlines()
        if not lines:
            self._append({"facts": self.facts})
            return
        try:
            facts = json.loads(lines[0])["facts"]
            entries = [json.loads(line) for line in lines[1:]]
            self.known = {entry["key"]: entry["answer"] for entry in entries}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                "is damaged", file=self.path, hint="remove it; what it held is asked for again"
            ) from error
        if facts != self.facts:
            names = sorted(
                name for name in {*facts, *self.facts} if facts.get(name) != self.facts.get(name)
            )
            raise InputError(
                f"holds answers to something else (it differs in {', '.join(names)})",
                file=self.path,
                hint="name another file with --out, or remove this one",
            )
