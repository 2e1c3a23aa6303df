"""``contrafact generate``: headlines in, scenarios out, in bulk."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from contrafact.finforce.bulk import BulkJob, Journal, ResultRow

__all__ = ["generate"]


def generate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Headlines: CSV, JSONL, JSON, Parquet, or -.")
    ],
    model: Annotated[str, typer.Option("--model", metavar="M", help="The model that writes.")],
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="CSV, JSONL or Parquet, or - (JSONL).")
    ],
    method: Annotated[str, typer.Option("--method", metavar="NAME")] = "zero-shot",
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="J", help="Score the scenarios; several form a panel."),
    ] = None,
    shots: Annotated[int | None, typer.Option(min=1, metavar="K")] = None,
    shots_from: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S")] = 0,
    prompts: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    temperature: Annotated[float | None, typer.Option(min=0)] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1)] = None,
    max_connections: Annotated[int, typer.Option(min=1, help="Rows at once.")] = 16,
    structured: Annotated[
        bool,
        typer.Option("--structured/--no-structured", help="Ask providers for JSON by schema."),
    ] = True,
) -> None:
    """Write a risk and an opportunity scenario for every headline of a file, in order.

    Bad rows are reported by line and kept, with an error column. Killed and run again, it goes on.

    Example: contrafact generate news.csv --method zero-shot --model embedded/smollm2-135m
    --out scenarios.csv
    """
    from inspect_ai.model import GenerateConfig

    from contrafact.errors import InputError
    from contrafact.finforce.bulk import BulkJob
    from contrafact.finforce.bundled import bundled_shots
    from contrafact.finforce.data import load_headlines
    from contrafact.finforce.generation import Ask
    from contrafact.finforce.judging import Judging
    from contrafact.finforce.methods import MethodContext, make_method
    from contrafact.prompts import open_pack
    from contrafact.runs.execute import TRANSPORT
    from contrafact.runs.prepare import open_model

    if out != "-" and Path(out).suffix.lower() not in (".csv", ".jsonl", ".parquet"):
        raise InputError(
            "the result is not written in that format",
            file=out,
            mend="name it .csv, .jsonl or .parquet, or - for JSON lines on standard output",
        )
    if file != "-" and not Path(file).is_file():
        raise InputError("no such file", file=file)
    pack = open_pack(prompts)
    pool = load_headlines(shots_from) if shots_from else bundled_shots()
    chosen = make_method(method, MethodContext(pack=pack, shots=shots or 0, pool=pool, seed=seed))
    transport = {**TRANSPORT, "max_connections": max_connections}
    sampling = {"temperature": temperature, "max_tokens": max_tokens}
    config = GenerateConfig(**{k: v for k, v in sampling.items() if v is not None}, **transport)
    job = BulkJob(
        method=chosen,
        ask=Ask(open_model(model, config=config), structured=structured),
        judging=Judging(pack, structured=structured) if judge else None,
        judges=tuple(open_model(j, config=GenerateConfig(**transport)) for j in judge or ()),
        at_once=max_connections,
    )
    told = {
        "method": method,
        "model": model,
        "judges": judge or [],
        "shots": shots,
        "shots_from": _hash(shots_from),
        "seed": seed,
        "pack": pack.hash,
        "sampling": sampling,
        "structured": structured,
    }
    if out == "-":
        _stream(job, file)
    else:
        _to_file(job, file, Path(out), told)


def _stream(job: "BulkJob", file: str) -> None:
    import asyncio

    from contrafact.files.jsonl import read_rows
    from contrafact.files.tables import render_jsonl
    from contrafact.finforce.bulk import collect

    tally = _Tally(None)

    def each(row: "ResultRow") -> None:
        import pandas as pd

        sys.stdout.write(render_jsonl(pd.DataFrame([row.values], dtype=object)))
        sys.stdout.flush()
        tally.add(row)

    asyncio.run(collect(job, read_rows(file), None, each))
    tally.end(None)


def _to_file(job: "BulkJob", file: str, out: Path, told: dict[str, Any]) -> None:
    import asyncio
    import hashlib
    import json
    import shutil

    import pandas as pd

    from contrafact.errors import InputError
    from contrafact.files.jsonl import read_rows
    from contrafact.files.tables import write_frame
    from contrafact.finforce.bulk import Journal, collect

    # Read whole before the first call: a file that breaks off half-way is told now, for free.
    rows = list(read_rows(file))
    content = json.dumps([rows, told], sort_keys=True, default=str)
    identity = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    journal = Journal(out.with_name(f".{out.name}.work"), identity)
    finished = out.with_name(f".{out.name}.identity")
    if out.exists() and finished.exists() and finished.read_text() == identity:
        typer.echo(f"{out} is finished: no model was called")
        return
    if not journal.open():
        raise InputError(
            "another generation was begun for this file and is not finished",
            file=out,
            mend=f"repeat its command to go on, or remove {journal.folder} to give it up",
        )
    job = _with_cache(job, journal)
    results: list[dict[str, Any]] = []
    tally = _Tally(len(rows))

    def each(row: "ResultRow") -> None:
        results.append(row.values)
        tally.add(row)

    with tally:
        asyncio.run(collect(job, rows, journal, each))
    columns = list(dict.fromkeys([*(key for row in results for key in row), *job.columns()]))
    write_frame(pd.DataFrame(results, columns=columns, dtype=object), out)
    if not tally.failed:
        finished.write_text(identity)
        shutil.rmtree(journal.folder)
    tally.end(out)


def _with_cache(job: "BulkJob", journal: "Journal") -> "BulkJob":
    """Let the job's calls keep their answers in the journal's folder until it is finished."""
    import os
    from dataclasses import replace

    from contrafact.finforce.task import cache_policy

    os.environ["INSPECT_CACHE_DIR"] = str((journal.folder / "cache").absolute())
    policy = cache_policy(journal.identity)
    judging = replace(job.judging, cache=policy) if job.judging else None
    return replace(job, ask=replace(job.ask, cache=policy), judging=judging)


class _Tally:
    """Progress on standard error: a bar on a terminal, a line every tenth elsewhere."""

    def __init__(self, total: int | None):
        from rich.console import Console
        from rich.progress import Progress

        self.total = total
        self.rows = self.valid = self.bad = self.failed = 0
        self.console = Console(stderr=True)
        self.bar = Progress(console=self.console, disable=not self.console.is_terminal)
        self.task = self.bar.add_task("scenarios", total=total)

    def __enter__(self) -> "_Tally":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def add(self, row: "ResultRow") -> None:
        """Count one row, and tell it if it went wrong."""
        self.rows += 1
        self.valid += bool(row.values["valid"])
        self.failed += not row.final
        if row.values["error"]:
            self.bad += 1
            self.console.print(
                f"row {row.position + 1}: {row.values['error']}", markup=False, highlight=False
            )
        self.bar.advance(self.task)
        step = max(1, (self.total or 0) // 10)
        if self.total and not self.console.is_terminal and self.rows % step == 0:
            print(f"{self.rows}/{self.total}", file=sys.stderr, flush=True)

    def end(self, out: Path | None) -> None:
        """Say how it went.

        Raises:
            typer.Exit: with 1 if calls failed.
        """
        where = f", written to {out}" if out else ""
        print(
            f"{self.rows} rows: {self.valid} valid, {self.bad} with an error{where}",
            file=sys.stderr,
        )
        if self.failed:
            print(
                f"{self.failed} rows' calls failed; the same command tries them again",
                file=sys.stderr,
            )
            raise typer.Exit(1)


def _hash(path: Path | None) -> str | None:
    import hashlib

    return None if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
