"""``contrafact report``: make tables, figures and the page from one run or many."""

import json
from pathlib import Path

import typer

from contrafact.options import Options, argument, command, option


class _Options(Options):
    dirs: list[Path] = argument("DIR…", "Run folders, as `contrafact run` wrote.")
    with_published: bool = option(False, "Show the paper's rows below, marked as published.")
    exam: list[Path] | None = option(
        None,
        "An exam of a judge, as `contrafact exam` wrote; repeat for several. Judged rates are "
        "shown corrected by it beside the raw ones.",
        metavar="FILE",
    )
    labels: list[Path] | None = option(
        None,
        "People's labels of a random part of the runs' items, as `review export --what labels` "
        "or a family's `study score --out` wrote; repeat for several. Judged rates are shown "
        "corrected by it.",
        metavar="FILE",
    )
    out: Path | None = option(
        None,
        "Folder to write into; default: the run's own, or ./report for several runs.",
        metavar="DIR",
    )


@command
def report(options: _Options) -> None:
    """Write report.html, results.json, tables and figures from one run or many.

    Example: contrafact report runs/a runs/b --exam exam.json --out report
    """
    from contrafact.family.exam_file import read_exams
    from contrafact.runs.folder import read_manifest

    exams = read_exams(options.exam or [])
    for folder in options.dirs:
        read_manifest(folder)  # refuses a folder that is not a run before anything heavy is loaded
    from contrafact.report.build import build_report
    from contrafact.report.frames import read_labels, read_tasks

    labels = read_labels(options.labels) if options.labels else None
    folder = options.out or (options.dirs[0] if len(options.dirs) == 1 else Path("report"))
    published = options.with_published
    tasks = read_tasks(options.dirs)
    build_report(tasks, folder, with_published=published, exams=exams, labels=labels)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for part in results.get("tasks", {"": results}).values():
        for warning in part["warnings"]:
            if warning["code"] == "not-corrected":
                typer.echo("{title}: {text}".format_map(warning))
    typer.echo(f"report: {folder / 'report.html'}")
