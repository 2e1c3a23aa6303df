"""``contrafact report``: tables, figures and the page, from one run or many."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["report"]


def report(
    dirs: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="Run folders, as `contrafact run` wrote.")
    ],
    with_published: Annotated[
        bool,
        typer.Option("--with-published", help="Show the paper's rows below, marked as published."),
    ] = False,
    exam: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="An exam of a judge, as `contrafact exam` wrote; repeat for several. Judged rates "
            "are shown corrected by it beside the raw ones.",
        ),
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="What people said of a random part of the runs' items, as `review export --what "
            "labels` or a family's `study score --out` wrote; repeat for several. Judged rates are "
            "shown corrected by it.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to write into; default: the run's own, or ./report for several runs.",
        ),
    ] = None,
) -> None:
    """Write report.html, results.json, tables and figures from one run or many.

    Example: contrafact report runs/a runs/b --exam exam.json --out report
    """
    from contrafact.family.exam_file import read_exams
    from contrafact.report.build import build_report
    from contrafact.report.frames import read_labels, read_tasks

    exams = read_exams(exam or [])
    given = read_labels(labels) if labels else None
    tasks = read_tasks(dirs)
    folder = out or (dirs[0] if len(dirs) == 1 else Path("report"))
    paths = build_report(tasks, folder, with_published=with_published, exams=exams, labels=given)
    typer.echo(f"report: {paths.page}")
