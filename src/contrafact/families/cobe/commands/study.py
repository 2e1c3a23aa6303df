"""``contrafact cobe study``: people's ratings of edits, and what they say of the judge."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

__all__ = ["app"]

app = typer.Typer(
    help="The human study: rate edits, and the judge with them.", no_args_is_help=True
)


@app.callback()
def group() -> None:
    """The human study: rate edits, and the judge with them."""


@app.command("sample")
def sample(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders, judged.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sheet to write, a CSV file.")],
    n: Annotated[int, typer.Option("--n", min=1, help="How many responses to draw.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawing.")] = 0,
) -> None:
    """Draw responses of all systems, and write a sheet for people to rate Yes, No or Other.

    Beside the sheet stand its key (system, judge's verdict; keep it from the raters) and a rubric
    for them.

    Example: contrafact cobe study sample runs/a runs/b --n 100 --out study/sheet.csv
    """
    import numpy as np

    from contrafact.families.cobe.study import draw_study
    from contrafact.families.cobe.study_sheet import write_study
    from contrafact.report.frames import read_runs

    items, _ = read_runs(runs, task="cobe")
    rows, key = draw_study(items, n, np.random.default_rng(seed))
    key_path, guidelines = write_study(rows, key, out)
    if len(rows) < n:
        typer.echo(f"These runs hold only {len(rows):,} judged responses: all are drawn.")
    systems = len({item.system for item in key})
    typer.echo(f"{out}: {len(rows):,} responses of {systems} system{'s' if systems > 1 else ''}")
    typer.echo(f"{key_path}: the key; do not show it to the raters")
    typer.echo(f"{guidelines}: the rubric for them")


@app.command("score")
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
    """Say how far raters agree, and how well the judge does against their strict majority.

    Example: contrafact cobe study score study/ana.csv study/ben.csv study/cy.csv --out study/out
    """
    import numpy as np

    from contrafact.families.cobe.study import score_study
    from contrafact.families.cobe.study_sheet import read_answers, read_key
    from contrafact.files.sheets import find_key
    from contrafact.files.tables import write_frame

    items = read_key(key or find_key(files))
    answers = read_answers(files, items)
    for problem in answers.problems:
        typer.echo(problem, err=True)
    scores = score_study(answers, items, np.random.default_rng(seed))
    tables = {"raters": scores.raters, "judge": scores.judge, "pairs": scores.pairs}
    titles = {
        "raters": "Raters among themselves",
        "judge": "Judge against the raters' strict majority",
        "pairs": "Every two raters, and each with the judge",
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


_SHARES = ("percent", "unanimous", "accuracy", "precision", "recall")
_COEFFICIENTS = ("fleiss", "ac1", "f1", "kappa")


def _show(title: str, frame: "pd.DataFrame") -> None:
    """Print every row as lines, one to a figure: there are too many for a table's width."""
    typer.echo(f"\n{title}")
    for row in frame.to_dict("records"):
        counts = ", ".join(
            f"{name} {row[name]}"
            for name in row
            if name not in (*_SHARES, *_COEFFICIENTS) and not str(name).endswith(("_low", "_high"))
        )
        typer.echo(f"  {counts}")
        for figure in (*_SHARES, *_COEFFICIENTS):
            if figure in row:
                typer.echo(f"    {figure:<10} {_cell(row, figure)}")


def _cell(row: "Mapping[Hashable, object]", name: str) -> str:
    scale, form = (100.0, "{:.1f}%") if name in _SHARES else (1.0, "{:.3f}")
    numbers = [float(str(row.get(c, "nan"))) for c in (name, f"{name}_low", f"{name}_high")]
    if numbers[0] != numbers[0]:
        return "undefined"
    estimate, low, high = (form.format(scale * x) if x == x else "–" for x in numbers)
    return f"{estimate} [{low}, {high}]" if low != "–" else f"{estimate} (no interval)"


def _show_published() -> None:
    from contrafact.families.cobe.published import published_facts

    study = published_facts().study
    typer.echo(
        f"\nPublished, on {study.items} other responses with another judge and {study.raters} "
        f"other raters: accuracy {study.accuracy:.0%}, precision {study.precision:.1%}, recall "
        f"{study.recall:.1%}, F1 {study.f1:.2f}, kappa {study.judge_kappa:.2f}; raters: Fleiss' "
        f"kappa {study.fleiss_kappa:.2f}, unanimous {study.unanimous:.0%} (CoBe, appendix C.3)."
    )
