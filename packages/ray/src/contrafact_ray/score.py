"""``contrafact score --engine ray``: the stage that judges outputs, partition by partition."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.model import GenerateConfig, Model

from contrafact.cli.run import given_options
from contrafact.console import show_table
from contrafact.errors import InputError
from contrafact.family.manifest import hash_file
from contrafact.family.run import Prepared
from contrafact.family.settings import RunSettings, flat_settings
from contrafact.files.fields import rename_row
from contrafact.judges.verifier import is_verifier
from contrafact.models.opening import NO_MODEL, call_config, open_model
from contrafact.prompts import open_pack
from contrafact.runs.config import make_config, task_options
from contrafact.runs.folder import place
from contrafact.runs.items import VOTES, sample_rows, with_verdicts
from contrafact.runs.judging import OutputJudge, RecordedSample, recorded_samples
from contrafact.runs.prepare import make_settings
from contrafact.runs.score import OutputReader, prepare_outputs
from contrafact.stages.run import Executor, stage_command
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

__all__ = ["ScoreStage", "score"]

_OF_A_RUN = (
    "partial",
    "limit",
    "estimate",
    "dry_run",
    "with_published",
    "batch",
    "cache",
    "fluency_model",
)
"""Options of ``contrafact score`` that only a run uses."""

_NO_FACTS = ("transport", "shared_cache", "preset", "task", "judges", "judge_args", "limit")
"""Settings that do not affect verdicts, or that are facts of their own."""

_PASSED = {1.0: "passed", 0.0: "failed"}


def score(task: str, values: Mapping[str, Any], executor: Executor) -> None:
    """Judge outputs partition by partition, with no run or report; exit with 1 if rows failed."""
    for name in _OF_A_RUN:
        if values.get(name):
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} has no effect with --engine ray", hint="leave it out")
    file, out = str(values["score"]), values.get("out")
    if out is None:
        raise InputError("--engine ray writes a folder", hint="name one with --out")
    config = make_config(
        task, given_options({name: value for name, value in values.items() if name != "out"})
    )
    given = config.values()
    options, source = given.pop("options", {}), config.source
    stage = ScoreStage(
        task,
        Path(file.partition("?")[0].rstrip("/").rpartition("/")[2]).stem or "outputs",
        source.system if source else None,
        (source and source.columns) or {},
        given,
        options,
    )
    stage.open_judges()  # reports an unusable judge before anything is begun
    stage_command(stage, file, out, executor)


@dataclass(frozen=True)
class ScoreStage(Stage):
    """The stage that judges outputs; ``source`` names the system if nothing else does."""

    task: str
    source: str
    system: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"`score {self.task}`"

    @cached_property
    def settings(self) -> RunSettings:
        options = dict(self.options)
        if "fluency_model" in task_options(self.task).model_fields:
            options["fluency_model"] = None
        return make_settings(self.task, {"methods": (), **self.given}, options)

    @property
    def asked(self) -> Asked:
        """The judges; the first that is a language model, if any, is named as the model asked."""
        settings = self.settings
        names = settings.judges or (NO_MODEL,)
        first = next((name for name in names if not is_verifier(name)), names[0])
        at_once = int(settings.transport.get("max_connections", 16))
        return Asked(first, at_once, settings.judges, settings.judge_args)

    def facts(self) -> dict[str, Any]:
        settings, reader = self.settings, self._key_reading
        pack = open_pack(settings.prompts)
        if settings.judges:
            reader.run.judging(pack, settings)
        flat = sorted(flat_settings(settings).items())
        return {
            "task": f"{self.task} {reader.run.version}",
            "judge": list(settings.judges),
            "system": self.system,
            "data": None if settings.data is None else hash_file(settings.data),
            "prompts": pack.used_hash,
            "columns": dict(self.columns),
            "judge-arg": sorted(settings.judge_args),
            "options": {name: value for name, value in flat if value and name not in _NO_FACTS},
        }

    def open_judges(self, wrap: Wrap = lambda model: model) -> list[Model]:
        given = dict(self.settings.transport)
        calls = call_config(given.pop("max_connections", 16))
        config = calls.merge(GenerateConfig(**given))
        return [
            wrap(open_model(name, config=config, **self.settings.judge_args))
            for name in self.settings.judges
        ]

    def key(self, row: InputRow) -> str | None:
        """Return a key equal for rows with the same part of an output; None for a bad row."""
        try:
            return self._key_reading.key(self._renamed(row.fields))
        except InputError:
            return None

    @cached_property
    def _key_reading(self) -> OutputReader:
        return self._reading(Path(f"{self.source}.jsonl"))

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Reject a second output for an item."""
        first = (row.repeats or 0) + 1
        self._reject(row, f"row {first} has an output for the same item", made)

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        judges, slots = self.open_judges(wrap), asyncio.Semaphore(at_once)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            with TemporaryDirectory(prefix="contrafact-score-") as folder:
                reader, prepared = self._prepare(rows, Path(folder), made)
                if prepared is not None:
                    asked = [*_samples_with_rows(reader, prepared, rows)]
                    judge = OutputJudge(prepared, judges, slots)
                    samples = await judge.judge([sample for sample, _ in asked])
                    given = [*zip(asked, samples, strict=True)]
                    _add_judged(made, prepared, given, Path(folder))
            return made

        return work

    def _prepare(
        self, rows: Sequence[InputRow], folder: Path, made: StageOutput
    ) -> tuple[OutputReader, Prepared | None]:
        """Return the reader of the rows, and the run that judges them; None if no row is usable."""
        file = folder / f"{self.source}.jsonl"
        file.touch()  # only its name is used, for the system; the rows are in memory
        left = list(rows)
        while True:
            reader = self._reading(file)
            for row in left:
                reader.take(row.line, self._renamed(row.fields))
            try:
                prepared = place(prepare_outputs(reader), folder) if reader.parts else None
                break
            except InputError as error:
                bad = next((row for row in left if row.line == error.line), None)
                if bad is None:
                    raise
                # An item is unusable, so the others are read again without it.
                self._reject(bad, error.problem, made)
                left = [row for row in left if row is not bad]
        by_line = {row.line: row for row in rows}
        for line, reason in {one.line: one.reason for one in reader.left_out}.items():
            self._reject(by_line[line], reason, made)
        return reader, prepared

    def show(self, result: StageResult) -> None:
        """Print how many verdicts passed, failed or were invalid, by system, criterion, judge."""
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


def _samples_with_rows(
    reader: OutputReader, prepared: Prepared, rows: Sequence[InputRow]
) -> Iterator[tuple[RecordedSample, dict[str, InputRow]]]:
    """Yield each sample that has an output, with the rows that gave the output's parts.

    Samples without an output are skipped, since another partition may have it.
    """
    by_line = {row.line: row for row in rows}
    for asked in recorded_samples(prepared):
        if held := reader.parts.get((asked.system.name, str(asked.sample.id), asked.draw)):
            yield asked, {part: by_line[line] for part, (line, _) in held.items()}


def _add_judged(
    made: StageOutput,
    prepared: Prepared,
    judged: Iterable[tuple[tuple[RecordedSample, Mapping[str, InputRow]], EvalSample]],
    folder: Path,
) -> None:
    """Add the rows of judged outputs, each at the row that it came from, and the failures."""
    import pandas as pd

    run = prepared.run
    tables: dict[str, list[dict[str, Any]]] = {VOTES: [], KEPT: []}
    for (asked, parts), sample in judged:
        if sample.error is not None:
            cause = sample.error.message
            for source in {row.index: row for row in parts.values()}.values():
                made.fail(source, cause, cause=cause)
            continue
        for name, rows in sample_rows(prepared, asked.system, sample).items():
            for row in rows:
                if (giver := parts.get(row.get(run.part_column, "")) or parts.get("")) is not None:
                    tables[name].append({**row, INDEX: giver.index})
    items, votes = tables[KEPT], tables[VOTES]
    if not items:
        return
    columns = list(dict.fromkeys((*run.columns, *(name for row in items for name in row))))
    table = run.finish(pd.DataFrame(items, columns=columns), None, folder)
    table = with_verdicts(table, pd.DataFrame(votes).drop(columns=INDEX, errors="ignore"))
    for record in table.to_dict("records"):
        made.add(KEPT, record[INDEX], {str(name): value for name, value in record.items()})
    for row in votes:
        made.add(VOTES, row[INDEX], row)
        what = _PASSED.get(row["passed"], "invalid")
        made.counts[row["system"], row["criterion"], row["judge"], what] += 1
