"""Journals, by which killed work can go on: each finished piece is written to disk at once.

A journal is a file of JSON lines next to its output. Its first line holds the *facts*
that decide the results (input, model, prompts, settings), so that its pieces are not used in other
work; every further line is one finished piece under its key. One process at a time holds it.

There are two kinds. A journal of answers (replies of a model, fetched pages) is kept for later work
that needs them. A journal of an output exists while the output is unfinished; then a hidden record
of the facts, ``.name.done``, replaces it, so that the same command has nothing left to do and
another one is refused.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from contrafact.errors import InputError, WriteError
from contrafact.files.atomic import os_problem, write_text
from contrafact.files.fields import as_json
from contrafact.files.lock import locked_file

__all__ = ["Journal", "hash_of", "sidecar_path"]


def sidecar_path(out: str | Path, what: str) -> Path:
    """Return the path of a table next to an output: ``<out>.<what>.jsonl``."""
    return Path(f"{out}.{what}.jsonl")


def hash_of(value: object) -> str:
    """Return a hash of a value's JSON text, as 16 hex digits."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Journal:
    """The finished pieces of one work, by key, for use in a ``with`` block.

    Attributes:
        facts: The facts that decide the results, under names that users know; no secrets.
        known: The finished pieces, in the order in which they were kept.
    """

    def __init__(self, path: str | Path, facts: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.facts: dict[str, Any] = json.loads(json.dumps(facts, default=str))
        self.known: dict[str, Any] = {}
        self._out: Path | None = None
        self._what = ""
        self._stream: FileIO | None = None
        self._held = ExitStack()

    @classmethod
    def of_output(
        cls, out: str | Path, facts: Mapping[str, Any], *, what: str, path: str | Path | None = None
    ) -> Self:
        """Return the journal of an output; ``what`` names the kind of work in messages."""
        out = Path(out)
        journal = cls(path or out.with_name(f".{out.name}.part"), facts)
        journal._out, journal._what = out, what
        return journal

    @property
    def record(self) -> Path:
        """The path of the record with the facts of the finished output."""
        out = self._out or self.path
        return out.with_name(f".{out.name}.done")

    def finished(self) -> bool:
        """Return whether the output exists and was made with the same facts.

        Raises:
            InputError: It was made with other facts, or not by this program; or work with other
                facts on it is unfinished.
        """
        assert self._out is not None, "answers are never finished"
        if (begun := self._begun()) is not None:
            self._check_facts(
                begun,
                f"another {self._what} for it is not finished",
                hint="name another file with --out, repeat its command to go on, or remove "
                f"{self.path} to give it up",
            )
            return False
        if not self._out.exists():
            return False
        if not self.record.exists():
            raise InputError(
                f"exists, and no {self._what} has written it",
                file=self._out,
                hint="name another file with --out, or move this one away",
            )
        try:
            made = _object(self.record.read_bytes(), self.record)
        except OSError as error:
            raise os_problem(error, self.record, doing="cannot be read") from error
        self._check_facts(
            made, f"holds the result of another {self._what}", hint="name another file with --out"
        )
        return True

    def __enter__(self) -> Self:
        with ExitStack() as held:
            held.enter_context(locked_file(self._out or self.path))
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._stream = held.enter_context(self.path.open("a+b", buffering=0))
                self._read(self._stream)
            except OSError as error:
                raise os_problem(error, self.path, doing="cannot be written") from error
            self._held = held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._held:
            self._stream = None
            if self._out is not None and not self.known:
                self.path.unlink(missing_ok=True)  # no pieces to keep: do not block other work

    def keep(self, key: str, piece: Any) -> None:
        """Write a finished piece to the journal; a later piece with the same key replaces it."""
        self._append({"key": key, "answer": piece})
        self.known[key] = piece

    async def fill(
        self,
        keys: Iterable[str],
        work: Callable[[str], Awaitable[Any]],
        *,
        at_once: int,
        each: Callable[[str], None] = lambda _: None,
    ) -> dict[str, Exception]:
        """Do the work for every key without a piece, and keep each piece when it is finished.

        Return the errors of failed work by key; a later start repeats it.
        """
        failures: dict[str, Exception] = {}
        free = asyncio.Semaphore(at_once)

        async def one(key: str) -> None:
            async with free:
                try:
                    piece = await work(key)
                except WriteError:
                    raise
                except Exception as error:  # noqa: BLE001 - this key's failure, for the caller
                    failures[key] = error
                else:
                    self.keep(key, piece)
            each(key)

        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            if key in self.known:
                each(key)
        tasks = [asyncio.create_task(one(key)) for key in wanted if key not in self.known]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return failures

    def finish(self) -> None:
        """Write the output's record, with its facts, and remove the journal."""
        write_text(self.record, json.dumps(self.facts, indent=1) + "\n")
        self.discard()

    def discard(self) -> None:
        """Remove the journal, so that the output can be made anew."""
        self.path.unlink(missing_ok=True)

    def _append(self, entry: Mapping[str, Any]) -> None:
        assert self._stream is not None, "pieces are kept in a with block"
        size = self._stream.seek(0, os.SEEK_END)
        left = json.dumps(entry, default=as_json).encode() + b"\n"
        try:
            while left:
                left = left[self._stream.write(left) :]
            if self._out is None:
                os.fsync(self._stream.fileno())
        except OSError as error:
            self._stream.truncate(size)  # so that the next entry does not follow half a line
            raise os_problem(error, self.path, doing="cannot be written") from error

    def _read(self, stream: FileIO) -> None:
        stream.seek(0)
        data = stream.read()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):  # a killed writer leaves at most one incomplete line, the last
            stream.truncate(len(whole))
        self.known = {}
        if not whole:
            self._append({"facts": self.facts})
            return
        header, *lines = whole.splitlines()
        self._check_facts(
            _facts(header, self.path),
            "holds the answers of other work",
            hint="name another file with --out, or remove this one",
        )
        for line in lines:
            entry = _object(line, self.path)
            if not {"key", "answer"} <= entry.keys():
                raise _damaged(self.path)
            self.known[entry["key"]] = entry["answer"]

    def _begun(self) -> Mapping[str, Any] | None:
        try:
            with self.path.open("rb") as stream:
                header = stream.readline()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise os_problem(error, self.path, doing="cannot be read") from error
        return _facts(header, self.path) if header.endswith(b"\n") else None

    def _check_facts(self, found: Mapping[str, Any], problem: str, *, hint: str) -> None:
        names = sorted(
            name
            for name in self.facts.keys() | found.keys()
            if found.get(name) != self.facts.get(name)
        )
        if names:
            raise InputError(
                f"{problem} (it differs in {', '.join(names)})",
                file=self._out or self.path,
                hint=hint,
            )


def _facts(header: bytes, path: Path) -> dict[str, Any]:
    facts = _object(header, path).get("facts")
    if not isinstance(facts, dict):
        raise _damaged(path)
    return facts


def _object(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise _damaged(path) from error
    if not isinstance(value, dict):
        raise _damaged(path)
    return value


def _damaged(path: Path) -> InputError:
    return InputError("is damaged", file=path, hint="remove it; its work is done again")
