"""``score TASK FILE`` past one machine: rows of outputs in, the rows of a run's tables out.

What reads outputs, judges them and makes rows of them is what one process uses: a partition is a
small file of outputs. There is no log and no report; verdicts are Inspect's scorer's, called
without an evaluation around it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai.model import GenerateConfig, Model

from contrafact.console import show_table
from contrafact.errors import InputError
from contrafact.family.manifest import hash_file
from contrafact.family.outputs import RecordedSystem
from contrafact.family.run import Evaluated, Prepared, TaskRun
from contrafact.family.settings import RunSettings, flat_settings
from contrafact.files.fields import rename_row
from contrafact.judges.judge import bound_judges
from contrafact.judges.verifier import is_verifier
from contrafact.models.opening import NO_MODEL, call_config, open_model
from contrafact.prompts import open_pack
from contrafact.runs.config import task_options
from contrafact.runs.direct import evaluated, judged_sample
from contrafact.runs.folder import place
from contrafact.runs.items import with_verdicts
from contrafact.runs.prepare import make_settings
from contrafact.runs.score import OutputReader, prepare_outputs
from contrafact.stages.stage import (
    INDEX,
    KEPT,
    REJECTS,
    Asked,
    InputRow,
    Stage,
    StageOutput,
    StageResult,
    Work,
    Wrap,
)

__all__ = ["VERDICTS", "ScoreStage"]

VERDICTS = "verdicts"

_PASSED = {1.0: "passed", 0.0: "failed"}


@dataclass(frozen=True)
class ScoreStage(Stage):
    """Outputs in, the same with verdicts out; ``source`` names the system if nothing else does."""

    task: str
    source: str
    system: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is in messages."""
        return f"`score {self.task}`"

    @cached_property
    def settings(self) -> RunSettings:
        """The settings of the run."""
        options = dict(self.options)
        if "fluency_model" in task_options(self.task).model_fields:
            options["fluency_model"] = None
        return make_settings(self.task, {"methods": (), **self.given}, options)

    @property
    def asked(self) -> Asked:
        """The judges; the one that is waited for is one that is asked, if there is any."""
        settings = self.settings
        names = settings.judges or (NO_MODEL,)
        first = next((name for name in names if not is_verifier(name)), names[0])
        at_once = int(settings.transport.get("max_connections", 16))
        return Asked(first, at_once, settings.judges, settings.judge_args)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        settings, reader = self.settings, self._reading(Path(f"{self.source}.jsonl"))
        pack = open_pack(settings.prompts)
        if settings.judges:
            reader.run.judging(pack, settings)
        flat = flat_settings(settings)
        kept = {name: flat[name] for name in sorted(flat)
                if name not in ("transport", "shared_cache", "preset", "task", "judges",
                                "judge_args", "limit")}  # fmt: skip
        return {
            "task": f"{self.task} {reader.run.version}",
            "judge": list(settings.judges),
            "system": self.system,
            "data": None if settings.data is None else hash_file(settings.data),
            "prompts": pack.used_hash,
            "columns": dict(self.columns),
            "judge-arg": sorted(settings.judge_args),
            "options": {name: value for name, value in kept.items() if value},
        }

    def open_judges(self, wrap: Wrap = lambda model: model) -> list[Model]:
        """Return the judges."""
        given = dict(self.settings.transport)
        calls = call_config(given.pop("max_connections", 16))
        config = calls.merge(GenerateConfig(**given))
        return [
            wrap(open_model(name, config=config, **self.settings.judge_args))
            for name in self.settings.judges
        ]

    def key(self, row: InputRow) -> str | None:
        """Return what rows share that give the same part of an output; None of one that is bad."""
        try:
            return self._key_reading.key(self._renamed(row.fields))
        except InputError:
            return None

    @cached_property
    def _key_reading(self) -> OutputReader:
        """Where keys are read: the data's units are made once for all rows."""
        return self._reading(Path(f"{self.source}.jsonl"))

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Reject a second output of an item."""
        first = (row.repeats or 0) + 1
        self._reject(row, f"row {first} has an output of the same item", made)

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the work on a partition."""
        judges, slots = self.open_judges(wrap), asyncio.Semaphore(at_once)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            bound_judges.set(judges)
            made = StageOutput()
            with TemporaryDirectory(prefix="contrafact-score-") as folder:
                await self._score(rows, Path(folder), slots, made)
            return made

        return work

    async def _score(
        self, rows: Sequence[InputRow], folder: Path, slots: asyncio.Semaphore, made: StageOutput
    ) -> None:
        by_line = {row.line: row for row in rows}
        file = folder / f"{self.source}.jsonl"
        file.touch()  # its name may be the system's; the rows are here already
        reader = self._reading(file)
        for row in rows:
            reader.take(row.line, self._renamed(row.fields))
        dropped = {one.line: one.reason for one in reader.left_out}
        prepared = None
        try:
            if reader.parts:
                prepared = place(prepare_outputs(reader), folder)
        except InputError as error:
            if error.line not in by_line:
                raise
            # An item that cannot be used: the others are read again without it.
            self._reject(by_line[error.line], error.problem, made)
            left = [row for row in rows if row.line != error.line]
            await self._score(left, folder, slots, made)
            return
        for line, reason in dropped.items():
            self._reject(by_line[line], reason, made)
        if prepared is None:
            return
        items: list[dict[str, Any]] = []
        votes: list[dict[str, Any]] = []
        lost: dict[int, str] = {}
        for spec in prepared.baselines:
            for one in await self._judged(prepared, spec, slots):
                (sample,) = one.samples
                held = reader.parts[one.label, str(sample.id), sample.epoch]
                lines = {part: line for part, (line, _) in held.items()}
                if sample.error is not None:
                    lost |= dict.fromkeys(lines.values(), sample.error.message)
                    continue
                for table, own in zip((items, votes), prepared.rows(one), strict=True):
                    for found in own:
                        at = lines.get(prepared.run.part_of(found), lines.get(""))
                        if at is not None:
                            table.append({**found, INDEX: by_line[at].index})
        for line, cause in lost.items():
            made.fail(by_line[line], cause, cause=cause)
        if items:
            self._tables(prepared.run, items, votes, folder, made)

    async def _judged(
        self, prepared: Prepared, spec: str, slots: asyncio.Semaphore
    ) -> list[Evaluated]:
        task = prepared.task(spec)
        system: Any = prepared.baselines[spec]
        recorded: RecordedSystem = system
        by_id = {str(sample.id): sample for sample in task.dataset}

        async def judged(name: str, draw: int) -> Evaluated:
            async with slots:
                sample = await judged_sample(task, by_id[name], draw)
            return evaluated(prepared, recorded, [sample])

        work = [judged(name, draw) for name, draw in recorded.outputs if name in by_id]
        return await asyncio.gather(*work)

    def _tables(
        self,
        run: TaskRun[Any, Any],
        items: Sequence[dict[str, Any]],
        votes: Sequence[dict[str, Any]],
        folder: Path,
        made: StageOutput,
    ) -> None:
        import pandas as pd

        columns = list(dict.fromkeys((*run.columns, *(name for row in items for name in row))))
        table = run.finish(pd.DataFrame(items, columns=columns), None, folder)
        table = with_verdicts(table, pd.DataFrame(votes).drop(columns=INDEX, errors="ignore"))
        for record in table.to_dict("records"):
            made.add(KEPT, record[INDEX], {str(name): value for name, value in record.items()})
        for row in votes:
            made.add(VERDICTS, row[INDEX], row)
            what = _PASSED.get(row["passed"], "invalid")
            made.counts[row["system"], row["criterion"], row["judge"], what] += 1

    def show(self, result: StageResult) -> None:
        """Print how many verdicts passed, failed and are invalid: by system, criterion, judge."""
        counts, outcomes = result.counts, ("passed", "failed", "invalid")
        rows = [
            (*key, *(f"{counts[(*key, outcome)]:,}" for outcome in outcomes))
            for key in sorted({tuple(key[:-1]) for key in counts})
        ]
        if rows:
            columns = ("system", "criterion", "judge", *outcomes)
            show_table("Verdicts", columns, rows, stderr=True)

    @staticmethod
    def _reject(row: InputRow, reason: str, made: StageOutput) -> None:
        made.add(REJECTS, row.index, {**row.fields, "reason": reason})

    def _reading(self, file: Path) -> OutputReader:
        return OutputReader.begin(self.settings, file, self.system, self.columns)

    def _renamed(self, fields: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in fields.items() if name != INDEX}
        return rename_row(own, self.columns)[0] if self.columns else own
