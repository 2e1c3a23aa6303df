"""What every command does with ``--engine ray``: run the stage, say what became of the rows."""

from collections.abc import Mapping
from typing import Any

import typer

from contrafact.bulk.partitions import Output
from contrafact.bulk.places import Place
from contrafact.bulk.run import Engine, Summary, run_bulk
from contrafact.bulk.stage import FAILURES, ModelStage, Stage
from contrafact.errors import InputError

__all__ = ["BulkResult", "bulk_command"]


class BulkResult(Summary):
    """What became of the input, and where it is."""

    out: str = ""

    @property
    def output(self) -> Output:
        """The output."""
        return Output(Place(self.out).whole())

    def end(self) -> None:
        """Say what became of the rows, on standard error.

        Raises:
            typer.Exit: With 1 if rows failed.
        """
        for line in self.lines(self.out):
            typer.echo(line, err=True)
        if self.rows[FAILURES]:
            raise typer.Exit(1)


def bulk_command(
    stage: Stage | ModelStage,
    given: str,
    out: str,
    settings: Mapping[str, Any],
    *,
    noun: str = "rows",
) -> BulkResult:
    """Run a stage with the settings of its command line.

    Args:
        out: The folder or URI of the output.
        settings: The fields of `contrafact.bulk.run.Engine`.
    """
    if given == "-" or out == "-":
        raise InputError(
            "--engine ray reads and writes no pipe", hint="name files, or leave --engine out"
        )
    found = run_bulk(stage, given, out, Engine(**settings), noun=noun)
    result = BulkResult(**vars(found))
    result.out = out
    return result
