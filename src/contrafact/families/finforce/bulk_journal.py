"""What stands beside the output of a bulk job: its work folder, and afterwards its record.

While a job for ``scenarios.csv`` is unfinished, the folder ``.scenarios.csv.work`` holds its
finished rows and the models' answers. Once it is finished the file ``.scenarios.csv.done`` says
what made the output, so that the same command has nothing to do and another one is refused.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from contrafact.errors import InputError
from contrafact.families.finforce.bulk import BulkJob, ResultRow, column_names, result_frame
from contrafact.files.atomic import os_problem, write_bytes, write_text
from contrafact.files.tables import write_frame

__all__ = ["Journal", "collect", "work_folder"]


def work_folder(out: Path) -> Path:
    """Return the folder in which a job for this output keeps its work."""
    return out.with_name(f".{out.name}.work")


class Journal:
    """The work of one job for one output.

    Args:
        out: The output.
        rows: The input.
        settings: What else decides the result, by the names users know; no secrets.

    Attributes:
        identity: Equal for jobs that are meant to give equal results.
    """

    def __init__(
        self,
        out: Path,
        rows: Sequence[tuple[int, Mapping[str, Any]]],
        settings: Mapping[str, Any],
    ):
        self.out = out
        self.rows = rows
        self.facts = {**settings, "input": _hash(rows)}
        self.identity = _hash(self.facts)[:12]
        self.folder = work_folder(out)
        self._path = self.folder / "journal.jsonl"
        self._record = out.with_name(f".{out.name}.done")
        self._written: set[str] = set()

    @property
    def cache(self) -> Path:
        """The folder for the answers of models."""
        return self.folder / "cache"

    def finished(self) -> bool:
        """Return whether the output is there and this very job has made it.

        Raises:
            InputError: if another job, or something else, has made it, or an unfinished job for
                the same output is another one.
        """
        begun = self._begun()
        if begun is not None:
            self._same(begun, "another generation for it is not finished")
            return False
        if not self.out.exists():
            return False
        if not self._record.is_file():
            raise InputError(
                "exists, and no generation has written it",
                file=self.out,
                hint="name another file with --out, or move this one away",
            )
        self._same(_load(self._record), "holds the result of another generation")
        return True

    def _same(self, facts: Mapping[str, Any], problem: str) -> None:
        if facts == json.loads(json.dumps(self.facts)):
            return
        names = sorted(name for name in self.facts if facts.get(name) != self.facts[name])
        hint = "name another file with --out"
        if problem.endswith("finished"):
            hint += f", repeat its command to go on, or remove {self.folder} to give it up"
        raise InputError(f"{problem} (it differs in {', '.join(names)})", file=self.out, hint=hint)

    def _begun(self) -> dict[str, Any] | None:
        try:
            with self._path.open("rb") as stream:
                first = stream.readline()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise os_problem(error, self._path, doing="cannot be read") from error
        if not first.endswith(b"\n"):  # killed as it wrote its first line
            return None
        facts: dict[str, Any] = _object(first, self._path)["facts"]
        return facts

    def resume(self) -> dict[int, ResultRow]:
        """Return the results that stand from an earlier start, by position, or begin anew.

        Raises:
            InputError: if the output was changed since it was written, or the journal is damaged.
        """
        if self._begun() is None:
            self._path.write_text(json.dumps({"facts": self.facts}) + "\n", encoding="utf-8")
            return {}
        # A killed writer leaves at most one torn line, the last.
        whole = self._path.read_bytes().rpartition(b"\n")[0] + b"\n"
        os.truncate(self._path, len(whole))
        done: dict[int, ResultRow] = {}
        for data in whole.splitlines()[1:]:
            entry = _object(data, self._path)
            if "written" in entry:
                self._written.add(entry["written"])
                continue
            position = entry["position"]
            line, row = self.rows[position]
            done[position] = ResultRow(position, line, row, entry["added"], entry["outcome"])
        if self.out.is_file() and _file_hash(self.out) not in self._written:
            raise InputError(
                "was changed, or made, since the generation for it began",
                file=self.out,
                hint="move it away, and run the command again",
            )
        return done

    def keep(self, result: ResultRow) -> None:
        """Append a result that no rerun has to repeat."""
        entry = {
            "position": result.position,
            "outcome": result.outcome,
            "added": dict(result.added),
        }
        self._append(entry)

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise os_problem(error, self._path, doing="cannot be written") from error

    def write(self, results: Sequence[ResultRow], added: Iterable[str]) -> None:
        """Write the output, whole or not at all."""
        names = column_names(added, {key for _, row in self.rows for key in row})
        frame = result_frame(results, names, suffix=self.out.suffix.lower())
        draft = self.folder / f"draft{self.out.suffix}"
        write_frame(frame, draft)
        # Said before it is done: a rerun then knows the output for its own, however this ends.
        self._append({"written": _file_hash(draft)})
        write_bytes(self.out, draft.read_bytes())

    def finish(self) -> None:
        """Record what made the output, and remove the work folder."""
        write_text(self._record, json.dumps(self.facts, indent=1) + "\n")
        shutil.rmtree(self.folder)


async def collect(
    job: BulkJob,
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    done: Mapping[int, ResultRow],
    each: Callable[[ResultRow], None],
) -> None:
    """Run a job to its end, handing on each row's result in order."""
    async with aclosing(job.run(rows, done)) as results:
        async for result in results:
            each(result)


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _file_hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _load(path: Path) -> dict[str, Any]:
    return _object(path.read_bytes(), path)


def _object(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InputError("is damaged", file=path, hint="remove it; what it held is done again")
    return value
