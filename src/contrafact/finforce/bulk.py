"""Scenarios in bulk: every row of a table back in order, with its two counterfactuals.

No evaluation is built around the calls; they still go through Inspect's model interface.
Killed and started again, the work goes on: finished rows stand in a journal beside the output,
and the answers of unfinished rows in a cache.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.model import Model

from contrafact.finforce.data import HEADLINE_COLUMNS
from contrafact.finforce.generation import Ask, Method, run_method
from contrafact.finforce.judging import Judging
from contrafact.records import CRITERIA, SIDES, Headline

__all__ = ["MAX_HEADLINE", "BulkJob", "Journal", "ResultRow", "collect", "row_problem"]

MAX_HEADLINE = 2_000


@dataclass(frozen=True)
class ResultRow:
    """One row of the result.

    Attributes:
        position: Its place in the input, from 0.
        values: The input's own columns, then ours.
        final: Whether the row is done with; a row whose calls failed is tried again by a rerun.
    """

    position: int
    values: dict[str, Any]
    final: bool


@dataclass(frozen=True)
class BulkJob:
    """What to do with every row.

    Attributes:
        method: The generation method.
        ask: The model.
        judging: Rubrics, where judges are named.
        judges: The judges.
        at_once: How many rows are worked on at the same time.
    """

    method: Method
    ask: Ask
    judging: Judging | None = None
    judges: tuple[Model, ...] = ()
    at_once: int = 16

    async def run(
        self, rows: Iterable[tuple[int, dict[str, Any]]], done: dict[int, dict[str, Any]]
    ) -> AsyncIterator[ResultRow]:
        """Yield every row's result in input order, reading the input no faster than needed.

        Args:
            rows: Line number and columns of each row.
            done: Results that a journal holds, by position; they are not computed again.
        """
        waiting: asyncio.Queue[asyncio.Task[ResultRow]] = asyncio.Queue()
        source = enumerate(rows)
        exhausted = False

        def fill() -> None:
            nonlocal exhausted
            while not exhausted and waiting.qsize() < self.at_once:
                try:
                    position, (line, row) = next(source)
                except StopIteration:
                    exhausted = True
                    return
                waiting.put_nowait(
                    asyncio.ensure_future(self._one(position, line, row, done.get(position)))
                )

        fill()
        try:
            while not waiting.empty():
                result = await waiting.get_nowait()
                fill()
                yield result
        finally:
            while not waiting.empty():
                waiting.get_nowait().cancel()

    async def _one(
        self, position: int, line: int, row: dict[str, Any], known: dict[str, Any] | None
    ) -> ResultRow:
        if known is not None:
            return ResultRow(position, known, final=True)
        ours: dict[str, Any] = dict.fromkeys(self.columns())
        text = _headline(row)
        ours["valid"] = False
        problem = row_problem(text)
        if problem:
            ours["error"] = f"line {line}: {problem}"
            return ResultRow(position, {**row, **ours}, final=True)
        headline = Headline.of(str(text))
        ours["id"] = headline.id
        try:
            await self._fill(headline, ours)
        except Exception as error:  # noqa: BLE001 - a failed call is this row's result, told there
            ours["error"] = f"call failed: {_cause(error)}"
            return ResultRow(position, {**row, **ours}, final=False)
        return ResultRow(position, {**row, **ours}, final=True)

    async def _fill(self, headline: Headline, ours: dict[str, Any]) -> None:
        generation = await run_method(self.method, headline, self.ask)
        for side in SIDES:
            ours[f"{side}_counterfactual"] = generation.texts[side]
        ours["mended"] = ", ".join(generation.mended) or None
        ours["valid"] = not generation.invalid
        if generation.invalid:
            ours["error"] = "; ".join(dict.fromkeys(generation.invalid.values()))
        if self.judging is None:
            return
        judged = await self.judging.judge(self.judges, headline, generation.texts)
        for side, verdicts in judged.items():
            for name in CRITERIA:
                ours[f"{side}_{name}"] = verdicts.panel[name].passed

    def columns(self) -> list[str]:
        """Return the names of the columns that are added to the input's own."""
        names = ["id", *(f"{side}_counterfactual" for side in SIDES), "valid", "mended", "error"]
        if self.judging is not None:
            names += [f"{side}_{name}" for side in SIDES for name in CRITERIA]
        return names


def row_problem(text: object) -> str | None:
    """Return why a row has no headline to work on, or none if it has one."""
    if text is None or (isinstance(text, float) and text != text):
        return "no headline"
    if not isinstance(text, str):
        return "the headline is not text"
    if not text.strip():
        return "the headline is empty"
    if len(text) > MAX_HEADLINE:
        return f"the headline is over {MAX_HEADLINE:,} characters ({len(text):,})"
    return None


@dataclass
class Journal:
    """The work folder of an unfinished job: its identity, its finished rows, its cache.

    Attributes:
        folder: The folder, beside the output.
        identity: What tells this job from another one.
        done: Results by position.
    """

    folder: Path
    identity: str
    done: dict[int, dict[str, Any]] = field(default_factory=dict)

    def open(self) -> bool:
        """Read what is there; return whether it is this job's (or there was nothing)."""
        path = self.folder / "journal.jsonl"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"identity": self.identity}) + "\n", encoding="utf-8")
            return True
        # A killed writer leaves at most one torn line, the last; what follows starts afresh.
        whole = path.read_bytes().rpartition(b"\n")[0]
        lines = list(_objects(whole))
        if not lines or lines[0].get("identity") != self.identity:
            return not lines and self._restart(path)
        path.write_bytes(whole + b"\n")
        self.done = {entry["position"]: entry["values"] for entry in lines[1:]}
        return True

    def _restart(self, path: Path) -> bool:
        path.unlink()
        return self.open()

    def keep(self, rows: Iterable[ResultRow]) -> None:
        """Append finished rows and see them to the disk."""
        with (self.folder / "journal.jsonl").open("a", encoding="utf-8") as stream:
            for row in rows:
                if row.final and row.position not in self.done:
                    entry = {"position": row.position, "values": row.values}
                    stream.write(json.dumps(entry, default=str) + "\n")
                    self.done[row.position] = row.values
            stream.flush()
            os.fsync(stream.fileno())


async def collect(
    job: BulkJob,
    rows: Iterable[tuple[int, dict[str, Any]]],
    journal: Journal | None,
    each: Callable[[ResultRow], None],
) -> None:
    """Run a job to its end, handing on each row in order and journalling what is final."""
    done = journal.done if journal else {}
    async with aclosing(job.run(rows, dict(done))) as results:
        async for result in results:
            if journal is not None:
                journal.keep([result])
            each(result)


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        if line.strip():
            yield json.loads(line)


def _headline(row: dict[str, Any]) -> object:
    by_name = {str(key).strip().casefold(): value for key, value in row.items()}
    item = by_name.get("input_item")
    if isinstance(item, dict):
        by_name = item
    return next((by_name[name] for name in HEADLINE_COLUMNS if name in by_name), None)


def _cause(error: BaseException) -> str:
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    text = next((line for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text.strip()}"[:300]
