"""``contrafact rfc study``: agreement on rewrites and human baselines."""

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["app"]

app = typer.Typer(help="Studies with people: agreement, baselines.", no_args_is_help=True)


@app.command("sample")
def sample(
    pairs: Annotated[Path, typer.Argument(metavar="FILE", help="Pairs with their originals.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sheet to write, a CSV file.")],
    kind: Annotated[
        Literal["agreement", "detect", "diagnose"],
        typer.Option(help="Are rewrites good; is a paragraph manipulated; how is it?"),
    ] = "agreement",
    n: Annotated[int, typer.Option("--n", min=1, help="Items of each manipulation.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawing.")] = 0,
) -> None:
    """Draw items of every manipulation, and write a sheet for people to fill in.

    Beside the sheet stand its key (what is right, which pair; keep it from those who answer) and
    guidelines for them.

    Example: contrafact rfc study sample final.jsonl --kind detect --n 20 --out study/sheet.csv
    """
    import numpy as np

    from contrafact.rfc.data import load_pairs
    from contrafact.rfc.study import draw_study
    from contrafact.rfc.study_sheet import write_study

    rows, key = draw_study(load_pairs(pairs), kind, n, np.random.default_rng(seed))
    key_path, guidelines = write_study(kind, rows, key, out)
    typer.echo(f"{out}: {len(rows):,} items")
    for category in dict.fromkeys(item.category for item in key):
        drawn = sum(item.category == category for item in key)
        if drawn < n:
            typer.echo(f"  only {drawn} of {category}: there are no more")
    typer.echo(f"{key_path}: the key; do not show it to those who answer")
    typer.echo(f"{guidelines}: guidelines for them")


@app.command("score")
def score(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Filled sheets.")],
    key: Annotated[
        Path | None, typer.Option(help="The key; found beside the first sheet if not given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table (.csv, .jsonl, .parquet).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals' resampling.")] = 0,
) -> None:
    """Say how far people agree with each other, or with what is right, per category and step.

    Percent, macro-F1, Cohen's kappa and Gwet's AC1, each with a 95% interval, or "undefined".

    Example: contrafact rfc study score study/anna.csv study/ben.csv --out study/figures.csv
    """
    import numpy as np
    import pandas as pd

    from contrafact.cli.rfc.telling import show_table
    from contrafact.files.sheets import find_key
    from contrafact.files.tables import write_frame
    from contrafact.rfc.study import score_study
    from contrafact.rfc.study_sheet import read_answers, read_key

    items = read_key(key or find_key(files))
    answers = read_answers(files, items)
    for problem in answers.problems:
        typer.echo(problem, err=True)
    table = pd.DataFrame(score_study(answers, items, np.random.default_rng(seed)))
    if table.empty:
        typer.echo("Nobody answered an item that somebody else answered: nothing to compare.")
        raise typer.Exit(1)
    for (step, one, other), own in table.groupby(["step", "rater", "other"], sort=False):
        show_table(
            f"{step}: {one} and {other}",
            own.drop(columns=["step", "rater", "other"]),
            shares=("percent", "weighted"),
            coefficients=("macro_f1", "kappa", "ac1"),
        )
    if out is not None:
        named = table.copy()
        for figure in ("percent", "macro_f1", "kappa", "ac1"):
            named[figure] = [
                "undefined" if value != value else value for value in named[figure].tolist()
            ]
        write_frame(named, out)
        typer.echo(f"The table is in {out}")
