"""``contrafact finforce``: what belongs to the family FIN-FORCE alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contrafact.families.finforce.commands import build

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

__all__ = ["app"]

app = typer.Typer(
    help="Forward counterfactuals: screening headlines, releasing a set, studies of the judge.",
    no_args_is_help=True,
)
study = typer.Typer(help="The human-model agreement study.", no_args_is_help=True)
app.add_typer(study, name="study")
app.command("screen")(build.screen)
app.command("release")(build.release)


@app.callback()
def group() -> None:
    """Forward counterfactuals: screening headlines, releasing a set, studies of the judge."""


@study.command("sample")
def sample(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders, judged.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sheet to write, a CSV file.")],
    n: Annotated[int, typer.Option("--n", min=1, help="How many counterfactuals to draw.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawing.")] = 0,
) -> None:
    """Draw counterfactuals of all systems, and write a sheet for people to label.

    Beside the sheet stand its key (system, judge's verdict, probability of being drawn; keep it
    from the annotators) and guidelines for them.

    Example: contrafact finforce study sample runs/a runs/b --n 500 --out study/sheet.csv
    """
    import numpy as np

    from contrafact.families.finforce.study import draw
    from contrafact.families.finforce.study_sheet import write_study
    from contrafact.report.frames import read_runs

    items, _ = read_runs(runs, task="finforce")
    sheet, key = draw(items, n, np.random.default_rng(seed))
    key_path, guidelines_path = write_study(sheet, key, out)
    if len(sheet) < n:
        typer.echo(f"These runs hold only {len(sheet):,} judged counterfactuals: all are drawn.")
    systems = key["system"].nunique()
    named = f"{systems} system{'s' if systems > 1 else ''}"
    typer.echo(f"{out}: {len(sheet):,} counterfactuals of {named}")
    typer.echo(f"{key_path}: the key; do not show it to annotators")
    typer.echo(f"{guidelines_path}: guidelines for them")


@study.command("score")
def score(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Filled sheets.")],
    key: Annotated[
        Path | None, typer.Option(help="The key; found beside the first sheet if not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write the tables to, as CSV."),
    ] = None,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Show the paper's figures as well.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals' resampling.")] = 0,
) -> None:
    """Say how far judge and annotators agree, from one filled sheet per person or shared ones.

    Example: contrafact finforce study score study/anna.csv study/ben.csv --out study/figures
    """
    import numpy as np

    from contrafact.families.finforce.study import score as score_study
    from contrafact.families.finforce.study_sheet import read_answers, read_key
    from contrafact.files.sheets import find_key
    from contrafact.files.tables import write_frame

    key_frame = read_key(key or find_key(files))
    answers = read_answers(files, key_frame)
    for problem in answers.problems:
        typer.echo(problem, err=True)
    scores = score_study(answers, key_frame, np.random.default_rng(seed))
    tables = {
        "agreement": scores.agreement,
        "majority": scores.majority,
        "between": scores.between,
        "marks": scores.marks,
    }
    titles = {
        "agreement": "Judge and annotators, in percent and coefficients (95% intervals)",
        "majority": "Judge against the annotators' majority",
        "between": "Annotators among themselves",
        "marks": "Error classes that annotators marked",
    }
    for name, table in tables.items():
        if not table.empty:
            _show(titles[name], table)
    if with_published:
        _show_published()
    if out is not None:
        for name, table in (tables | {"labels": scores.labels}).items():
            if not table.empty:
                write_frame(table, out / f"{name}.csv")
        typer.echo(f"Tables are in {out}")


_SHARES = ("agreement", "unweighted", "sensitivity", "specificity", "share")
_COEFFICIENTS = ("kappa", "ac1")


def _show(title: str, frame: "pd.DataFrame") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = [c for c in frame.columns if not c.endswith(("_low", "_high"))]
    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in frame.to_dict("records"):
        table.add_row(*(Text(_cell(row, column)) for column in columns))
    Console().print(table)


def _cell(row: "Mapping[Hashable, object]", column: str) -> str:
    """Return a figure with its interval, shares in percent; a dash where there is none."""
    if column not in (*_SHARES, *_COEFFICIENTS):
        return str(row[column])
    scale, form = (100.0, "{:.1f}") if column in _SHARES else (1.0, "{:.3f}")
    numbers = [float(str(row.get(c, "nan"))) for c in (column, f"{column}_low", f"{column}_high")]
    estimate, low, high = (form.format(scale * x) if x == x else "–" for x in numbers)
    return f"{estimate} [{low}, {high}]" if low != "–" else estimate


def _show_published() -> None:
    from contrafact.families.finforce.published import published_facts

    facts = published_facts()
    figures = ", ".join(f"{name} {value:.1f}%" for name, value in facts.study_agreement.items())
    typer.echo(
        f"Published, on {facts.study_samples:,} other counterfactuals with another judge and other "
        f"annotators: {figures} (FIN-FORCE, section 3.5)."
    )
