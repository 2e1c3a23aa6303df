"""Build a report from runs' items: tables, figures, results and the page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from contrafact.errors import InputError
from contrafact.family.display import listed
from contrafact.family.exam_file import Exam
from contrafact.files.atomic import write_bytes, write_text
from contrafact.report.chapter import Chapter, Options, make_chapter
from contrafact.report.frames import TaskRuns, check_exams, check_labels, read_tasks
from contrafact.report.html import render_page
from contrafact.report.write import render_json, render_latex, render_markdown, render_table_csv

if TYPE_CHECKING:
    from contrafact.runs.execute import RunResult

__all__ = ["build_report", "make_chapters", "report_runs", "write_chapters"]

RESULTS_VERSION = 1
"""The version of ``results.json``'s format, raised when a field is removed or changes meaning."""
_FOLDERS = ("tables", "figures")
_EXAM_NAMED = {"judge", "family", "task_version", "n", "seed"}


def build_report(
    tasks: Sequence[TaskRuns],
    out: Path,
    *,
    exams: Sequence[Exam] = (),
    labels: pd.DataFrame | None = None,
    **how: Any,
) -> Path:
    """Write ``tables``, ``figures``, ``results.json`` and ``report.html`` into a folder; return it.

    With several tasks, each has its own folder of tables and figures. Everything is computed before
    the first file is written, and each file is written whole or not at all, the page last. The same
    items and seed give the same files. ``how`` are the other fields of
    `contrafact.report.chapter.Options`.
    """
    check_exams(exams, tasks)
    if labels is not None:
        check_labels(labels, tasks)
    options = Options(exams=tuple(exams), labels=labels, **how)
    write_chapters(make_chapters(tasks, options), options, out)
    return out


def report_runs(results: "Sequence[RunResult]", out: Path, *, with_published: bool = False) -> bool:
    """Write the report of runs unless it exists; return whether there is anything to report."""
    if (
        (out / "report.html").exists()
        and not with_published
        and not any(result.ran for result in results)
    ):
        return True
    tasks = [runs for runs in read_tasks([result.folder for result in results]) if len(runs.items)]
    if tasks:
        build_report(tasks, out, with_published=with_published)
    return bool(tasks)


def make_chapters(tasks: Sequence[TaskRuns], options: Options) -> list[Chapter]:
    if not tasks:
        raise InputError("there is nothing to report", hint="name a run that has finished samples")
    return [make_chapter(runs, options) for runs in tasks]


def write_chapters(chapters: Sequence[Chapter], options: Options, out: Path) -> None:
    """Write a report of chapters, as ``build_report`` does; several reports may share a chapter."""
    alone = len(chapters) == 1
    title = (
        chapters[0].title if alone else "Counterfactual text: " + listed([c.task for c in chapters])
    )
    created = max((chapter.data.meta.created or "" for chapter in chapters), default="") or None
    results = render_json(_results(chapters, options))
    html = render_page(title, created, chapters, options.examples)
    for chapter in chapters:
        tables, figures = (out / of / ("" if alone else chapter.task) for of in _FOLDERS)
        for key, table in chapter.tables.items():
            write_text(tables / f"{key}.csv", render_table_csv(table))
            write_text(tables / f"{key}.md", render_markdown(table))
            write_text(tables / f"{key}.tex", render_latex(table, chapter.task))
        for figure in chapter.figures.values():
            write_bytes(figures / f"{figure.key}.svg", figure.svg)
            write_bytes(figures / f"{figure.key}.png", figure.png)
    write_text(out / "results.json", results)
    write_text(out / "report.html", html)


def _results(chapters: Sequence[Chapter], options: Options) -> dict[str, object]:
    """Return ``results.json``: shares from 0 to 1, null for missing values, tasks by name."""
    head: dict[str, object] = {
        "format": "contrafact-report",
        "version": RESULTS_VERSION,
        "settings": {"seed": options.seed, "resamples": options.resamples, "level": options.level},
        "published_shown": options.with_published,
        "exams": [exam.model_dump(include=_EXAM_NAMED) for exam in options.exams],
        "labels": 0 if options.labels is None else len(options.labels),
    }
    parts = {chapter.task: _part(chapter) for chapter in chapters}
    if len(chapters) > 1:
        return {**head, "tasks": parts}
    ((task, part),) = parts.items()
    return {**head, "task": task, **part}


def _part(chapter: Chapter) -> dict[str, object]:
    meta = chapter.data.meta.model_dump(exclude={"panel"})
    return {
        "runs": meta.pop("runs"),
        "report": {**meta, "title": chapter.title},
        "warnings": [warning._asdict() for warning in chapter.warnings],
        "summary": [*map(str, (chapter.summary.sentence, *chapter.summary.more))],
        **chapter.results,
    }
