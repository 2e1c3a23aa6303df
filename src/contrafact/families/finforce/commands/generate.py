"""``contrafact generate``: headlines in, scenarios out, in bulk."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from contrafact.options import (
    SAMPLING,
    TRANSPORT,
    CallOptions,
    argument,
    bulk_options,
    option,
    takes,
)

if TYPE_CHECKING:
    from contrafact.families.finforce.bulk import BulkJob, BulkOutput, ResultRow
    from contrafact.families.finforce.generate_stage import GenerateStage
    from contrafact.families.finforce.generation import Generation
    from contrafact.family.method import Method
    from contrafact.models.estimate import CallEstimate
    from contrafact.records import Headline

__all__ = ["GenerateOptions", "generate"]

_VERDICT_TOKENS = 12  # of a judge's reply, about


class GenerateOptions(CallOptions):
    """The options of the command."""

    file: str = argument("FILE", "Headlines: CSV, Excel, JSON(L), Parquet, hf://…, or -.")
    model: str = option("The model that writes.", metavar="M")
    out: str = option("CSV, Excel, JSONL or Parquet, or - (JSONL).", metavar="FILE")
    method: str = option(
        "Generation method, or NAME:OPTION=VALUE,OPTION=VALUE.", "zero-shot", metavar="NAME"
    )
    columns: list[str] | None = option(
        "What FILE calls the columns, e.g. headline.", None, metavar="WANTED=FOUND,…"
    )
    judge: list[str] | None = option(
        "Score the scenarios; several form a panel.", None, metavar="J"
    )
    shots: int | None = option("Examples per few-shot prompt. [3]", None, min=1, metavar="K")
    shots_from: Path | None = option("Pool of examples; our own if none.", None, metavar="FILE")
    limit: int | None = option("Take the first N rows.", None, min=1, metavar="N")
    seed: int = option("Seed of the draw of examples.", 0, min=0, metavar="S")
    prompts: Path | None = option("Another prompt pack.", None, metavar="DIR")
    temperature: float | None = option(None, None, panel=SAMPLING, min=0)
    top_p: float | None = option(None, None, panel=SAMPLING, min=0, max=1)
    max_tokens: int | None = option(None, None, panel=SAMPLING, min=1)
    structured: bool = option("Ask providers for JSON by schema.", True)
    model_args: list[str] | None = option(
        "Provider argument of the model.", None, "-M", panel=TRANSPORT, metavar="KEY=VALUE"
    )
    judge_arg: list[str] | None = option(
        "Provider argument of the judges.", None, panel=TRANSPORT, metavar="KEY=VALUE"
    )
    estimate: bool = option("Say calls, tokens and cost, and call nothing.", False, "--estimate")
    yes: bool = option("Make many paid calls without a question.", False, "--yes", "-y")

    def check(self, bulk: bool) -> None:
        """Refuse an output that is not written, and a pipe where there is none."""
        from contrafact.errors import InputError
        from contrafact.files.tables import TABLE_SUFFIXES, require_tables

        if not bulk:
            require_tables(self.file)
            if self.out.endswith("/") or Path(self.out).is_dir():
                raise InputError("is a folder", file=self.out, hint="name a file in it")
            if self.out != "-" and Path(self.out).suffix.lower() not in TABLE_SUFFIXES:
                raise InputError(
                    "the result is not written in that format",
                    file=self.out,
                    hint=f"name it {', '.join(TABLE_SUFFIXES)}, or - for JSON lines on standard "
                    "output",
                )
        if str(self.shots_from) == "-":
            raise InputError(
                "examples cannot be read from standard input", hint="name a file with --shots-from"
            )


@bulk_options(rates=True)
@takes(GenerateOptions)
def generate(options: GenerateOptions, bulk: dict[str, Any] | None = None) -> None:
    """Write a risk and an opportunity scenario for every headline of a file, in order.

    A headline that comes again is asked about once. Bad rows are reported by line and kept, with an
    error column. Killed and run again, it goes on.

    Example: contrafact generate news.csv --method zero-shot --model embedded/smollm2-135m
    --out scenarios.csv
    """

    options.check(bulk is not None)
    from contrafact.corpus.datasets import data_source
    from contrafact.families.finforce.data import FIELDS
    from contrafact.families.finforce.generate_stage import GenerateStage
    from contrafact.files.fields import checked_columns, named_columns

    names = checked_columns(named_columns(options.columns), FIELDS)
    paths = {name: getattr(options, name) for name in ("shots_from", "prompts")}
    whole: dict[str, Any] = {
        name: None if path is None else path.absolute() for name, path in paths.items()
    }
    stage = GenerateStage(GenerateOptions(**{**vars(options), **whole}), names)
    chosen = stage.check()
    if bulk is not None:
        _in_bulk(stage, bulk)
        return
    file = options.file if options.file == "-" else str(data_source(options.file).path)
    if options.out == "-" and not options.estimate:
        _stream(stage.job(chosen), file, options.limit)
        return
    _whole_file(stage, chosen, file)


def _whole_file(stage: "GenerateStage", chosen: "Method[Headline, Generation]", file: str) -> None:
    """Write the scenarios of a file, or say what they cost."""
    from contrafact.families.finforce.bulk import BulkOutput, check_columns, headlines_of
    from contrafact.files.tables import open_table, source_name
    from contrafact.models.estimate import ask_if_many, paid_calls, show_estimate
    from contrafact.models.kept import KeptModel

    options, out = stage.options, Path(stage.options.out)
    # Read whole before the first call: a file that breaks off half-way is reported now, for free.
    table = open_table(file, decimals=False)
    rows = list(islice(table.rows, options.limit))
    check_columns(rows, source_name(file), stage.columns)
    headlines = headlines_of(rows, stage.columns)
    if options.estimate:
        show_estimate(_estimate(chosen, stage, headlines))
        return
    if out.suffix.lower() == ".xlsx":
        from contrafact.files.workbooks import check_cells

        check_cells(rows, source_name(file), out)
    # What is worked on together is known now: a method drops drafts that are another's headline.
    chosen = stage.chosen(headlines)
    output = BulkOutput(out, rows, stage.facts(), dialect=table.dialect)
    if output.journal.finished():
        typer.echo(f"{out} is finished: no model was called")
        return
    if not options.yes:
        ask_if_many(paid_calls(_estimate(chosen, stage, headlines, tokens=False)))
    _to_file(stage.job(chosen, wrap=KeptModel), file, output)


def _in_bulk(stage: "GenerateStage", settings: dict[str, Any]) -> None:
    from contrafact.bulk.run import bulk_command
    from contrafact.errors import InputError
    from contrafact.families.finforce.generate_stage import tally

    options = stage.options
    for option_, value in (("--limit", options.limit), ("--estimate", options.estimate)):
        if value:
            raise InputError(f"{option_} has no use with --engine ray", hint="leave it out")
    result = bulk_command(stage, options.file, options.out, settings)
    typer.echo(f"{result.given:,} rows: {tally(result.counts)}", err=True)
    result.end()


def _estimate(
    method: "Method[Headline, Generation]",
    stage: "GenerateStage",
    headlines: "Sequence[Headline]",
    *,
    tokens: bool = True,
) -> "list[CallEstimate]":
    from contrafact.models.estimate import judge_estimates, sampled, subject_estimates
    from contrafact.records import SIDES

    some = sampled(headlines)
    times = len(headlines) / max(1, len(some))
    plans = {method.name: [call for one in some for call in method.plan(one)]}
    rows = subject_estimates([stage.options.model], plans, {method.name: times}, tokens=tokens)
    if (judging := stage.judging) is not None:
        asked = [
            text for one in some for side in SIDES for text in judging.prompts(one, side, one.text)
        ]
        rows += judge_estimates(
            stage.judge_names, asked, times, reply_tokens=_VERDICT_TOKENS, tokens=tokens
        )
    return rows


def _stream(job: "BulkJob", file: str, limit: int | None) -> None:
    import asyncio
    import os

    import pandas as pd

    from contrafact.errors import InputError
    from contrafact.families.finforce.bulk import (
        arriving_rows,
        column_names,
        standard_input,
    )
    from contrafact.files.tables import open_table, render_jsonl, source_name

    tally = _Tally(file)
    taken: set[str] = set()

    def each(row: "ResultRow") -> None:
        taken.update(row.given)
        values = row.merged(column_names(row.added, taken))
        sys.stdout.buffer.write(render_jsonl(pd.DataFrame([values], dtype=object)).encode())
        sys.stdout.buffer.flush()
        tally.add(row)

    rows = arriving_rows(standard_input()) if file == "-" else open_table(file, decimals=False).rows
    try:
        asyncio.run(job.run(islice(rows, limit), each))
    except BrokenPipeError:
        # The reader of our output went away; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    if not tally.outcomes:
        raise InputError(
            "there are no rows", file=source_name(file), hint="give at least one headline"
        )
    tally.end(None)


def _to_file(job: "BulkJob", file: str, output: "BulkOutput") -> None:
    import asyncio
    from dataclasses import replace

    from contrafact.families.finforce.bulk import batch_of, is_nested
    from contrafact.models.calls import counted_calls

    with output.journal, counted_calls(output.journal) as calls:
        output.check_unchanged()
        done = output.done()
        job = replace(job, batch=batch_of(output.rows, job.columns))
        results: list[ResultRow] = []
        tally = _Tally(file, len(output.rows), len(done))

        def each(row: "ResultRow") -> None:
            if row.position not in done and row.outcome != "failed":
                output.keep(row)
            results.append(row)
            tally.add(row)

        with tally:
            asyncio.run(job.run(output.rows, each, done))
        nested = any(is_nested(row) for _, row in output.rows)
        output.write(results, job.added(headline=nested))
        if not tally.causes:
            output.journal.finish(calls.repeated())
    tally.end(output.out)


class _Tally:
    def __init__(self, file: str, total: int | None = None, before: int = 0):
        from collections import Counter

        from contrafact.console import Progress
        from contrafact.files.tables import source_name

        self.name = source_name(file)
        self.before = before
        self.outcomes: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.progress = Progress("rows", total)

    def __enter__(self) -> "_Tally":
        self.progress.__enter__()
        if self.before:
            self.progress.say(f"going on: {self.before} of {self.progress.total} rows were done")
        return self

    def __exit__(self, *problem: object) -> None:
        self.progress.__exit__(*problem)

    def add(self, row: "ResultRow") -> None:
        self.outcomes[row.outcome] += 1
        if row.outcome == "bad":
            self.progress.say(f"{self.name}:{row.line}: {row.added['error']}")
        if row.outcome == "failed":
            self.causes[row.added["error"]] += 1
        self.progress.step()

    def end(self, out: Path | None) -> None:
        """Say how it went; exit with 1 if calls failed."""
        from contrafact.files.tables import source_name

        written = source_name(out) if out else ""  # a temporary file has no name
        self.progress.say(
            ", ".join(self._summary()) + (f"; written to {written}" if written else "")
        )
        if not self.causes:
            return
        failed = self.causes.total()
        again = "; the same command tries them again" if written else ""
        self.progress.say(f"{failed} {'row' if failed == 1 else 'rows'} failed{again}:")
        for cause, count in self.causes.most_common(5):
            self.progress.say(f"  {count} x {cause}")
        raise typer.Exit(1)

    def _summary(self) -> Iterator[str]:
        from contrafact.families.finforce.generate_stage import OUTCOMES

        rows = self.outcomes.total()
        yield f"{rows} {'row' if rows == 1 else 'rows'}: {self.outcomes['valid']} valid"
        for outcome, name in OUTCOMES.items():
            if outcome != "valid" and self.outcomes[outcome]:
                yield f"{self.outcomes[outcome]} {name}"
