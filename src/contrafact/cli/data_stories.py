"""What ``contrafact data check`` says of a file of stories."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from contrafact.console import show_table

if TYPE_CHECKING:
    from contrafact.families.cobe.check import Share, StoryReport

__all__ = ["check_story_file"]

_NAMES = {
    "stories": "stories",
    "domains": "domains",
    "words_per_story": "words per story",
    "sentences_per_story": "sentences per story",
    "clauses_per_story": "clauses per story",
    "clauses_per_sentence": "clauses per sentence",
}


def check_story_file(file: str) -> None:
    """Check a file of stories and print what is in it, beside what the paper prints of its own.

    Raises:
        InputError: The file cannot be read.
        typer.Exit: with 1 if a story cannot be used.
    """
    from contrafact.families.cobe.check import check_stories

    report = check_stories(file)
    typer.echo(f"{report.rows:,} rows, {report.stories:,} stories that can be used.")
    if report.stories:
        _show(report)
    for title, sentences in (("Violations", report.violations), ("Notes", report.notes)):
        typer.echo(f"{title}: {'none' if not sentences else len(sentences)}")
        for sentence in sentences:
            shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence)
            typer.echo(f"  - {shown}")
    if report.violations:
        raise typer.Exit(1)


def _show(report: "StoryReport") -> None:
    show_table(
        "Statistics (published: CoBe, table 2)",
        ("statistic", "found", "published"),
        [
            (_NAMES[one.name], _number(one.found), _number(one.published))
            for one in report.statistics
        ],
    )
    for title, shares in (
        ("Domains (published: table 3)", report.domains),
        ("Types of graph (published: table 4)", report.graphs),
        ("Criteria asked", report.criteria),
        ("Failure modes labelled (appendix B.1)", report.failure_modes),
    ):
        if shares:
            _show_shares(title, shares)


def _show_shares(title: str, shares: "Sequence[Share]") -> None:
    published = any(one.published is not None for one in shares)
    columns = ("name", "stories", "share", *(("published",) if published else ()))
    rows = [
        (
            one.name,
            f"{one.count:,}",
            f"{one.share:.1%}",
            *(("" if one.published is None else f"{one.published:.1%}",) if published else ()),
        )
        for one in shares
    ]
    show_table(title, columns, rows)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
