"""``contrafact rfc statistics``: what each gate left, over time and by ticker."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["statistics"]


def statistics(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="The stages' files in order, from bucket to final."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the tables.")],
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw the figures.")] = True,
) -> None:
    """Count items per manipulation before and after each gate, over time, and by ticker.

    Every file stands for the gate that wrote it, under the file's name. Over time is after every
    gate, by ticker after the last.

    Example: contrafact rfc statistics bucketed.jsonl labelled.jsonl pairs.jsonl --out statistics
    """
    from contrafact.console import show_frame
    from contrafact.errors import InputError
    from contrafact.families.rfc.pipeline.stage_files import read_stage
    from contrafact.families.rfc.pipeline.statistics import (
        Gate,
        by_gate,
        by_ticker,
        draw_figures,
        items_of,
        over_time,
    )
    from contrafact.files.atomic import guard_folder
    from contrafact.files.tables import write_frame

    guard_folder(out)
    names = [path.stem for path in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two files are called '{twice}'", hint="rename one of them")
    gates = [
        Gate(
            path.stem,
            items_of([row.fields for row in read_stage(path, unique=(), allow_empty=True)]),
        )
        for path in files
    ]
    counts = by_gate(gates)
    write_frame(counts, out / "by_gate.csv")
    write_frame(over_time(gates), out / "over_time.csv")
    write_frame(by_ticker(gates[-1]), out / "by_ticker.csv")
    show_frame("Items after each gate", counts, shares=("of_first", "of_previous"))
    if plots:
        draw_figures(gates, out)
    typer.echo(f"Tables{' and figures' if plots else ''} are in {out}")
