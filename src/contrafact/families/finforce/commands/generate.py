"""``contrafact generate``: headlines in, scenarios out, in bulk."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from contrafact.families.finforce.bulk import BulkJob, ResultRow
    from contrafact.families.finforce.bulk_journal import Journal

__all__ = ["generate"]

_FORMATS = (".csv", ".jsonl", ".parquet")
_SAMPLING = "How the model writes"
_TRANSPORT = "How calls are made"


def generate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Headlines: CSV, JSONL, JSON, Parquet, or -.")
    ],
    model: Annotated[str, typer.Option("--model", metavar="M", help="The model that writes.")],
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="CSV, JSONL or Parquet, or - (JSONL).")
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME", help="Generation method, or NAME:OPTION=VALUE,OPTION=VALUE."
        ),
    ] = "zero-shot",
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
    seed: Annotated[
        int, typer.Option(min=0, metavar="S", help="Seed of the draw of examples.")
    ] = 0,
    prompts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Another prompt pack.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(min=0, max=1, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, rich_help_panel=_SAMPLING, show_default=False)
    ] = None,
    structured: Annotated[
        bool,
        typer.Option("--structured/--no-structured", help="Ask providers for JSON by schema."),
    ] = True,
    max_connections: Annotated[
        int, typer.Option(min=1, rich_help_panel=_TRANSPORT, help="Rows worked on at once.")
    ] = 16,
    max_retries: Annotated[
        int | None, typer.Option(min=0, rich_help_panel=_TRANSPORT, help="Per call. [5]")
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=_TRANSPORT, help="Seconds for a call, retries and all. [900]"
        ),
    ] = None,
    attempt_timeout: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_TRANSPORT, help="Seconds for one attempt. [300]"),
    ] = None,
) -> None:
    """Write a risk and an opportunity scenario for every headline of a file, in order.

    Bad rows are reported by line and kept, with an error column. Killed and run again, it goes on.

    Example: contrafact generate news.csv --method zero-shot --model embedded/smollm2-135m
    --out scenarios.csv
    """
    from contrafact.errors import InputError

    if out.endswith("/") or Path(out).is_dir():
        raise InputError("is a folder", file=out, hint="name a file in it")
    if out != "-" and Path(out).suffix.lower() not in _FORMATS:
        raise InputError(
            "the result is not written in that format",
            file=out,
            hint="name it .csv, .jsonl or .parquet, or - for JSON lines on standard output",
        )
    if str(shots_from) == "-":
        raise InputError(
            "examples cannot be read from standard input", hint="name a file with --shots-from"
        )
    sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
    transport = {
        "max_connections": max_connections,
        "max_retries": max_retries,
        "timeout": timeout,
        "attempt_timeout": attempt_timeout,
    }
    from contrafact.families.finforce.methods import METHODS
    from contrafact.prompts import open_pack

    pack = open_pack(prompts)
    method = METHODS.spec(method, _given(sampling))
    told = {
        "method": method,
        "model": model,
        "judge": judge or [],
        "shots": shots,
        "shots-from": _hash(shots_from),
        "seed": seed,
        "prompts": pack.hash,
        "structured": structured,
        **{name.replace("_", "-"): value for name, value in sampling.items()},
    }

    def job() -> "BulkJob":
        from inspect_ai.model import GenerateConfig

        from contrafact.families.finforce.bulk import BulkJob
        from contrafact.families.finforce.bundled import bundled_shots
        from contrafact.families.finforce.data import load_headlines
        from contrafact.families.finforce.judging import Judging
        from contrafact.family.method import MethodContext, open_weights
        from contrafact.models.asking import Ask
        from contrafact.models.opening import TRANSPORT, open_model

        pool = load_headlines(shots_from) if shots_from else bundled_shots()
        context = MethodContext(pack=pack, shots=shots or 0, pool=pool, seed=seed, models=(model,))
        chosen = METHODS.make(method, context)
        open_weights(chosen, [model], {})
        calls: dict[str, Any] = TRANSPORT | _given(transport)
        return BulkJob(
            method=chosen,
            ask=Ask(
                open_model(model, config=GenerateConfig(**_given(sampling), **calls)),
                structured=structured,
            ),
            judging=Judging(pack, structured=structured) if judge else None,
            judges=tuple(open_model(name, config=GenerateConfig(**calls)) for name in judge or ()),
            at_once=max_connections,
        )

    if out == "-":
        _stream(job(), file)
        return
    from contrafact.families.finforce.bulk import check_columns
    from contrafact.families.finforce.bulk_journal import Journal
    from contrafact.files.jsonl import read_rows, source_name

    # Read whole before the first call: a file that breaks off half-way is told now, for free.
    rows = list(read_rows(file))
    check_columns(rows, source_name(file))
    journal = Journal(Path(out), rows, told)
    if journal.finished():
        typer.echo(f"{out} is finished: no model was called")
        return
    _to_file(job(), file, journal)


def _stream(job: "BulkJob", file: str) -> None:
    import asyncio
    import os

    import pandas as pd

    from contrafact.errors import InputError
    from contrafact.families.finforce.bulk import added_columns, column_names
    from contrafact.families.finforce.bulk_journal import collect
    from contrafact.families.finforce.bulk_stream import arriving_rows, standard_input
    from contrafact.files.jsonl import read_rows, source_name
    from contrafact.files.tables import render_jsonl

    tally = _Tally(file)
    added = added_columns(judged=job.judging is not None)
    taken: set[str] = set()

    def each(row: "ResultRow") -> None:
        taken.update(row.given)
        values = row.merged(column_names(added, taken))
        sys.stdout.buffer.write(render_jsonl(pd.DataFrame([values], dtype=object)).encode())
        sys.stdout.buffer.flush()
        tally.add(row)

    rows = arriving_rows(standard_input()) if file == "-" else read_rows(file)
    try:
        asyncio.run(collect(job, rows, {}, each))
    except BrokenPipeError:
        # The reader of our output went away; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None
    if not tally.outcomes:
        raise InputError(
            "there are no rows", file=source_name(file), hint="give at least one headline"
        )
    tally.end(None)


def _to_file(job: "BulkJob", file: str, journal: "Journal") -> None:
    import asyncio

    from contrafact.families.finforce.bulk import added_columns
    from contrafact.families.finforce.bulk_journal import collect
    from contrafact.files.lock import locked

    with locked(journal.folder):
        done = journal.resume()
        job = _with_cache(job, journal)
        results: list[ResultRow] = []
        tally = _Tally(file, len(journal.rows), len(done))

        def each(row: "ResultRow") -> None:
            if row.position not in done and row.outcome != "failed":
                journal.keep(row)
            results.append(row)
            tally.add(row)

        with tally:
            asyncio.run(collect(job, journal.rows, done, each))
        journal.write(results, added_columns(judged=job.judging is not None))
        if not tally.causes:
            journal.finish()
    tally.end(journal.out)


def _with_cache(job: "BulkJob", journal: "Journal") -> "BulkJob":
    """Let the job's calls keep their answers in the journal's folder until it is finished."""
    import os
    from dataclasses import replace

    from contrafact.models.asking import cache_policy

    os.environ["INSPECT_CACHE_DIR"] = str(journal.cache.absolute())
    policy = cache_policy(journal.identity)
    judging = replace(job.judging, cache=policy) if job.judging else None
    return replace(job, ask=replace(job.ask, cache=policy), judging=judging)


class _Tally:
    """Progress on standard error: a bar on a terminal, a line every tenth elsewhere."""

    def __init__(self, file: str, total: int | None = None, before: int = 0):
        from collections import Counter

        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        from contrafact.files.jsonl import source_name

        self.name = source_name(file)
        self.total = total
        self.before = before
        self.outcomes: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()
        self.console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self.bar = Progress(
            *columns, console=self.console, disable=not self.console.is_terminal or total is None
        )
        self.task = self.bar.add_task("rows", total=total)

    def __enter__(self) -> "_Tally":
        self.bar.start()
        if self.before:
            self._say(f"going on: {self.before} of {self.total} rows were done")
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def add(self, row: "ResultRow") -> None:
        """Count one row, and tell it if there was no headline in it."""
        self.outcomes[row.outcome] += 1
        if row.outcome == "bad":
            self._say(f"{self.name}:{row.line}: {row.added['error']}")
        if row.outcome == "failed":
            self.causes[row.added["error"]] += 1
        self.bar.advance(self.task)
        rows = self.outcomes.total()
        if self.total and not self.console.is_terminal and self._at_a_tenth(rows, self.total):
            self._say(f"rows: {rows}/{self.total}")

    @staticmethod
    def _at_a_tenth(rows: int, total: int) -> bool:
        return rows == total or rows % max(1, total // 10) == 0

    def _say(self, text: str) -> None:
        if self.console.is_terminal:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self, out: Path | None) -> None:
        """Say how it went.

        Raises:
            typer.Exit: with 1 if calls failed.
        """
        self._say(", ".join(self._summary()) + (f"; written to {out}" if out else ""))
        if not self.causes:
            return
        failed = self.causes.total()
        again = "; the same command tries them again" if out else ""
        self._say(f"{failed} {'row' if failed == 1 else 'rows'} failed{again}:")
        for cause, count in self.causes.most_common(5):
            self._say(f"  {count} x {cause}")
        raise typer.Exit(1)

    def _summary(self) -> Iterator[str]:
        rows = self.outcomes.total()
        yield f"{rows} {'row' if rows == 1 else 'rows'}: {self.outcomes['valid']} valid"
        names = {
            "invalid": "with an answer that cannot be used",
            "bad": "without a headline to work on",
            "failed": "failed",
        }
        for outcome, name in names.items():
            if self.outcomes[outcome]:
                yield f"{self.outcomes[outcome]} {name}"


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _hash(path: Path | None) -> str | None:
    import hashlib

    from contrafact.errors import InputError
    from contrafact.files.atomic import os_problem

    if path is None:
        return None
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise InputError("no such file", file=path, hint="check the path") from None
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error
