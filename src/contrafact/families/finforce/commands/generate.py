"""``contrafact generate``: headlines in, scenarios out, in bulk."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from contrafact.errors import InputError
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
    from contrafact.families.finforce.bulk import GenerateStage, Piece
    from contrafact.families.finforce.generation import Generation
    from contrafact.family.method import Method
    from contrafact.files.delimited import Dialect
    from contrafact.files.journal import Journal
    from contrafact.files.tables import Row
    from contrafact.models.estimate import CallEstimate
    from contrafact.records import Headline

__all__ = ["GenerateOptions", "generate"]

_VERDICT_TOKENS = 12  # of a judge's reply, about
_WRITTEN = "written"
"""The key under which a journal has the hashes of outputs that were written with failed rows."""


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
    from contrafact.families.finforce.bulk import GenerateStage
    from contrafact.families.finforce.data import FIELDS
    from contrafact.files.fields import checked_columns, named_columns
    from contrafact.files.tables import called

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
    if options.out != "-":
        _whole_file(stage, chosen, file)
        return
    with TemporaryDirectory() as folder:
        out = Path(folder) / "scenarios.jsonl"
        own = GenerateOptions(**{**vars(stage.options), "out": str(out)})
        try:
            with called(out, ""):  # nobody has named it
                _whole_file(replace(stage, options=own), chosen, file)
        finally:
            if out.exists():
                sys.stdout.flush()
                if sys.stdout.isatty():
                    sys.stdout.write(out.read_text(encoding="utf-8"))
                else:
                    sys.stdout.buffer.write(out.read_bytes())


def _whole_file(stage: "GenerateStage", chosen: "Method[Headline, Generation]", file: str) -> None:
    """Write the scenarios of a file, or say what they cost."""
    from contrafact.families.finforce.bulk import check_columns, headlines_of
    from contrafact.files.journal import Journal, hash_of
    from contrafact.files.tables import open_table, source_name
    from contrafact.models.estimate import ask_if_many, paid_calls, show_estimate

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
    facts = {**stage.facts(), "input": hash_of(rows)}
    journal = Journal.of_output(out, facts, what="generation")
    if journal.finished():
        typer.echo(f"{out} is finished: no model was called")
        return
    if not options.yes:
        ask_if_many(paid_calls(_estimate(chosen, stage, headlines, tokens=False)))
    _to_file(stage, chosen, file, rows, table.dialect, journal)


def _in_bulk(stage: "GenerateStage", settings: dict[str, Any]) -> None:
    from contrafact.bulk.run import bulk_command
    from contrafact.families.finforce.bulk import tally

    options = stage.options
    for option_, value in (("--limit", options.limit), ("--estimate", options.estimate)):
        if value:
            raise InputError(f"{option_} has no use with --engine ray", hint="leave it out")
    result = bulk_command(stage, options.file, options.out, settings)
    typer.echo(tally(result.given, result.counts), err=True)
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


def _to_file(
    stage: "GenerateStage",
    chosen: "Method[Headline, Generation]",
    file: str,
    rows: "Sequence[Row]",
    dialect: "Dialect | None",
    journal: "Journal",
) -> None:
    from contrafact.families.finforce.bulk import (
        bad_rows,
        batch_of,
        column_names,
        is_nested,
        result_frame,
    )
    from contrafact.files.atomic import atomic_path
    from contrafact.files.download import sha256_of
    from contrafact.files.tables import source_name, write_frame
    from contrafact.models.calls import counted_calls
    from contrafact.models.kept import KeptModel, work_open

    out, outcomes, causes = Path(stage.options.out), Counter[str](), Counter[str]()
    items = {f"row {at}": row for at, (_, row) in enumerate(rows)}
    # Before anything is written: a model may not be there.
    job = replace(stage.job(chosen, KeptModel), batch=batch_of(rows, stage.columns))
    with journal, counted_calls(journal) as calls:
        written: list[str] = journal.known.get(_WRITTEN, [])
        if out.is_file() and sha256_of(out) not in written:
            raise InputError(
                "was changed, or made, since the generation for it began",
                file=out,
                hint="move it away, and run the command again",
            )
        for line, problem in bad_rows(rows, stage.columns):
            typer.echo(f"{source_name(file)}:{line}: {problem}", err=True)
        at_once = stage.options.max_connections
        failures = work_open(items, job.piece, journal, at_once=at_once, noun="rows")
        pieces = [
            job.failed(row, failures[key]) if key in failures else journal.known[key]
            for key, row in items.items()
        ]
        for piece in pieces:
            _count(piece, outcomes, causes)
        names = job.added(headline=any(map(is_nested, items.values())))
        columns = column_names(names, {key for row in items.values() for key in row})
        frame = result_frame(rows, pieces, columns, suffix=out.suffix.lower())
        with atomic_path(out) as draft:
            write_frame(frame, draft, dialect)
            # Kept before it is there: a rerun then knows the output for its own, however this ends.
            journal.keep(_WRITTEN, [*written, sha256_of(draft)])
        if not causes:
            journal.finish(calls.repeated())
    _end(outcomes, causes, source_name(out))  # a temporary file has no name


def _count(piece: "Piece", outcomes: Counter[str], causes: Counter[str]) -> None:
    outcomes[piece["outcome"]] += 1
    if piece["outcome"] == "failed":
        causes[piece["added"]["error"]] += 1


def _end(outcomes: Counter[str], causes: Counter[str], written: str) -> None:
    """Say how it went; exit with 1 if calls failed."""
    from contrafact.families.finforce.bulk import tally

    where = f"; written to {written}" if written else ""
    typer.echo(f"{tally(outcomes.total(), outcomes)}{where}", err=True)
    if not causes:
        return
    failed = causes.total()
    again = "; the same command tries them again" if written else ""
    typer.echo(f"{failed} {'row' if failed == 1 else 'rows'} failed{again}:", err=True)
    for cause, count in causes.most_common(5):
        typer.echo(f"  {count} x {cause}", err=True)
    raise typer.Exit(1)
