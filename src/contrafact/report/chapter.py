"""A chapter: all that a report shows of one task, as data, and how it was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from contrafact.exam.file import Exam
from contrafact.report.drawing import Figure
from contrafact.report.meta import ReportMeta
from contrafact.report.table import Table

__all__ = ["Chapter", "Fact", "Options", "TaskRuns"]


@dataclass(frozen=True)
class TaskRuns:
    """The runs of one task.

    Attributes:
        task: The task.
        items: Its per-item frame over all runs; the columns are the family's.
        meta: What the runs are.
    """

    task: str
    items: pd.DataFrame
    meta: ReportMeta


@dataclass(frozen=True)
class Options:
    """How a report is made.

    Attributes:
        with_published: Whether to show the paper's rows below the report's own.
        seed: Seed of the intervals, the paired tests and the choice of examples.
        resamples: How many resamples the intervals rest on.
        level: Their confidence level.
        exams: What is known of judges.
        labels: What people said of the runs' items, as `contrafact.report.labels` reads it.
    """

    with_published: bool = False
    seed: int = 0
    resamples: int = 10_000
    level: float = 0.95
    exams: tuple[Exam, ...] = ()
    labels: pd.DataFrame | None = None


@dataclass(frozen=True)
class Fact:
    """A fact at the top of a chapter: a label, a figure or a name, and a line below."""

    label: str
    text: str
    below: str = ""
    is_name: bool = False


@dataclass(frozen=True)
class Chapter:
    """All that a report shows of one task.

    Attributes:
        task: The task, which names its part of ``results.json`` and of the folders.
        meta: What the runs are.
        eyebrow: A word or two above the title.
        title: The chapter's title; the page's, where it is the only one.
        template: The template of its sections, which knows the fields of ``shown``.
        contents: Its sections: anchors and headings.
        facts: What stands at the top.
        summary: Sentences.
        warnings: Headings and texts that come before any figure.
        tables: By key; what is missing is not shown.
        figures: By key; what is missing is not shown.
        runs: The facts of each run: its name, labels and texts, notes.
        results: Its part of ``results.json``.
        shown: What its template shows besides.
    """

    task: str
    meta: ReportMeta
    eyebrow: str
    title: str
    template: str
    contents: Sequence[tuple[str, str]]
    facts: Sequence[Fact]
    summary: Sequence[str]
    warnings: Sequence[tuple[str, str]]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    runs: Sequence[tuple[str, Sequence[tuple[str, str]], Sequence[str]]]
    results: Mapping[str, object]
    shown: Mapping[str, object] = field(default_factory=dict)
