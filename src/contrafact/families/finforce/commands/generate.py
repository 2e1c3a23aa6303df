"""``contrafact generate``: headlines in, scenarios out, in bulk."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.options import (
    TRANSPORT,
    AttemptTimeout,
    JudgeArguments,
    MaxConnections,
    MaxRetries,
    MaxTokens,
    Prompts,
    Structured,
    Temperature,
    Timeout,
    TopP,
    bulk_options,
    key_values,
)

if TYPE_CHECKING:
    from contrafact.families.finforce.bulk import BulkJob, BulkOutput, ResultRow
    from contrafact.families.finforce.generate_stage import GenerateStage
    from contrafact.families.finforce.generation import Generation
    from contrafact.family.method import Method
    from contrafact.models.estimate import CallEstimate
    from contrafact.records import Headline

__all__ = ["generate"]

_VERDICT_TOKENS = 12  # of a judge's reply, about


@bulk_options(rates=True)
def generate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Headlines: CSV, Excel, JSON(L), Parquet, hf://…, or -."
        ),
    ],
    model: Annotated[str, typer.Option("--model", metavar="M", help="The model that writes.")],
    out: Annotated[
        str,
        typer.Option("--out", metavar="FILE", help="CSV, Excel, JSONL or Parquet, or - (JSONL)."),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME", help="Generation method, or NAME:OPTION=VALUE,OPTION=VALUE."
        ),
    ] = "zero-shot",
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="WANTED=FOUND,…", help="What FILE calls the columns, e.g. headline."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="J", help="Score the scenarios; several form a panel."),
    ] = None,
    shots: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Examples per few-shot prompt. [3]")
    ] = None,
    shots_from: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pool of examples; our own if none.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Take the first N rows.")
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(metavar="M", help="Ranks drafts; never a judge. Their likelihood if none."),
    ] = None,
    news: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="News that grounded searches: what came before."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="S", help="Seed of the draw of examples.")
    ] = 0,
    prompts: Prompts = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_tokens: MaxTokens = None,
    structured: Structured = True,
    max_connections: MaxConnections = 16,
    max_retries: MaxRetries = None,
    timeout: Timeout = None,
    attempt_timeout: AttemptTimeout = None,
    model_args: Annotated[
        list[str] | None,
        typer.Option(
            "-M",
            metavar="KEY=VALUE",
            rich_help_panel=TRANSPORT,
            help="Provider argument of the model.",
        ),
    ] = None,
    judge_arg: JudgeArguments = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say calls, tokens and cost, and call nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Make many paid calls without a question.")
    ] = False,
    bulk: dict[str, Any] | None = None,
) -> None:
    """Write a risk and an opportunity scenario for every headline of a file, in order.

    A headline that comes again is asked about once. Bad rows are reported by line and kept, with an
    error column. Killed and run again, it goes on.

    Example: contrafact generate news.csv --method zero-shot --model embedded/smollm2-135m
    --out scenarios.csv
    """
    from contrafact.corpus.named import data_source
    from contrafact.errors import InputError
    from contrafact.files.fields import checked_columns, named_columns
    from contrafact.files.tables import TABLE_SUFFIXES, open_table, source_name

    if bulk is None:
        if out.endswith("/") or Path(out).is_dir():
            raise InputError("is a folder", file=out, hint="name a file in it")
        if out != "-" and Path(out).suffix.lower() not in TABLE_SUFFIXES:
            raise InputError(
                "the result is not written in that format",
                file=out,
                hint=f"name it {', '.join(TABLE_SUFFIXES)}, or - for JSON lines on standard output",
            )
    if str(shots_from) == "-":
        raise InputError(
            "examples cannot be read from standard input", hint="name a file with --shots-from"
        )
    from contrafact.families.finforce.data import FIELDS
    from contrafact.families.finforce.generate_stage import GenerateStage

    names = checked_columns(named_columns(columns), FIELDS)
    stage = GenerateStage(
        method=method,
        model=model,
        judges=tuple(judge or ()),
        shots=shots,
        shots_from=_absolute(shots_from),
        verifier=verifier,
        news=_absolute(news),
        seed=seed,
        prompts=_absolute(prompts),
        sampling={"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens},
        structured=structured,
        columns=names,
        max_connections=max_connections,
        bounds={
            "max_retries": max_retries,
            "timeout": timeout,
            "attempt_timeout": attempt_timeout,
        },
        model_args=key_values("-M", model_args),
        judge_args=key_values("--judge-arg", judge_arg),
    )
    chosen = stage.check()
    if bulk is not None:
        _in_bulk(stage, file, out, bulk, useless={"--limit": limit, "--estimate": estimate})
        return
    file = file if file == "-" else str(data_source(file).path)
    if out == "-" and not estimate:
        _stream(stage.job(chosen), file, limit)
        return
    from contrafact.families.finforce.bulk import BulkOutput, check_columns, headlines_of
    from contrafact.models.estimate import ASK_ABOVE, ask_first, paid_calls, show_estimate

    # Read whole before the first call: a file that breaks off half-way is reported now, for free.
    table = open_table(file, decimals=False)
    rows = list(islice(table.rows, limit))
    check_columns(rows, source_name(file), names)
    if estimate:
        headlines = headlines_of(rows, names)
        show_estimate(_estimate(chosen, stage, headlines))
        return
    if Path(out).suffix.lower() == ".xlsx":
        from contrafact.files.workbooks import check_cells

        check_cells(rows, source_name(file), Path(out))
    # What is worked on together is known now: a method drops drafts that are another's headline.
    chosen = stage.chosen(headlines_of(rows, names))
    output = BulkOutput(Path(out), rows, stage.facts(), dialect=table.dialect)
    if output.finished():
        typer.echo(f"{out} is finished: no model was called")
        return
    if not yes:
        left = [row for place, row in enumerate(rows) if place not in output.done()]
        calls = _estimate(chosen, stage, headlines_of(left, names), tokens=False)
        paid = paid_calls(calls)
        ask_first(paid if paid > ASK_ABOVE else 0)
    _to_file(stage.job(chosen), file, output)


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _in_bulk(
    stage: "GenerateStage",
    file: str,
    out: str,
    settings: dict[str, Any],
    useless: dict[str, Any],
) -> None:
    from contrafact.bulk.command import bulk_command
    from contrafact.errors import InputError
    from contrafact.families.finforce.generate_stage import tally

    for option, given in useless.items():
        if given:
            raise InputError(f"{option} has no use with --engine ray", hint="leave it out")
    result = bulk_command(stage, file, out, settings)
    typer.echo(f"{result.given:,} rows: {tally(result.counts)}", err=True)
    result.end()


def _estimate(
    method: "Method[Headline, Generation]",
    stage: "GenerateStage",
    headlines: "Sequence[Headline]",
    *,
    tokens: bool = True,
) -> "list[CallEstimate]":
    """Return what the scenarios of some headlines cost, one estimate a model and role."""
    from contrafact.models.estimate import judge_estimates, sampled, subject_estimates
    from contrafact.records import SIDES

    some = sampled(headlines)
    times = len(headlines) / max(1, len(some))
    plans = {method.name: [call for one in some for call in method.plan(one)]}
    rows = subject_estimates([stage.model], plans, {method.name: times}, tokens=tokens)
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
        collect,
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
        asyncio.run(collect(job, islice(rows, limit), {}, each))
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

    from contrafact.families.finforce.bulk import batch_of, collect, is_nested

    with output:
        done = output.done()
        job = replace(_with_cache(job, output), batch=batch_of(output.rows, job.columns))
        results: list[ResultRow] = []
        tally = _Tally(file, len(output.rows), len(done))

        def each(row: "ResultRow") -> None:
            if row.position not in done and row.outcome != "failed":
                output.keep(row)
            results.append(row)
            tally.add(row)

        with tally:
            asyncio.run(collect(job, output.rows, done, each))
        nested = any(is_nested(row) for _, row in output.rows)
        output.write(results, job.added(headline=nested))
        if not tally.causes:
            output.finish()
    tally.end(output.out)


def _with_cache(job: "BulkJob", output: "BulkOutput") -> "BulkJob":
    """Let the job's calls keep their answers until the output is finished."""
    import os
    from dataclasses import replace

    from contrafact.models.asking import cache_policy

    os.environ["INSPECT_CACHE_DIR"] = str(output.cache.absolute())
    policy = cache_policy(output.identity)
    judging = replace(job.judging, cache=policy) if job.judging else None
    return replace(job, ask=replace(job.ask, cache=policy), judging=judging)


class _Tally:
    """Counts rows by what came of them, and reports on standard error."""

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
        """Count one row, and report it if there was no headline in it."""
        self.outcomes[row.outcome] += 1
        if row.outcome == "bad":
            self.progress.say(f"{self.name}:{row.line}: {row.added['error']}")
        if row.outcome == "failed":
            self.causes[row.added["error"]] += 1
        self.progress.step()

    def end(self, out: Path | None) -> None:
        """Say how it went.

        Raises:
            typer.Exit: with 1 if calls failed.
        """
        self.progress.say(", ".join(self._summary()) + (f"; written to {out}" if out else ""))
        if not self.causes:
            return
        failed = self.causes.total()
        again = "; the same command tries them again" if out else ""
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
