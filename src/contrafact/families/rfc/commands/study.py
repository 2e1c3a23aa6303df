"""``contrafact rfc study``: agreement on rewrites, human baselines, reasons sorted by people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contrafact.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from contrafact.families.rfc.study_sheet import StudyKind

__all__ = ["app"]

app = typer.Typer(help="Studies with people: agreement, baselines, reasons.", no_args_is_help=True)


@app.command("sample")
def sample(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|RUN…", help="Pairs with their originals; for reasons, run folders."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sheet to write, a CSV file.")],
    kind: Annotated[
        Literal["agreement", "detect", "diagnose", "reasons"],
        typer.Option(
            help="Are rewrites good; is a paragraph manipulated; how is it; why did a model say so?"
        ),
    ] = "agreement",
    n: Annotated[
        int,
        typer.Option(
            "--n", min=1, help="Items of each manipulation; wrong and right answers per system."
        ),
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drawing.")] = 0,
) -> None:
    """Draw items of every manipulation, and write a sheet for people to fill in.

    For --kind reasons, name runs of rfc-detect that asked for reasons: of every system so many
    wrong and so many right answers are drawn. Beside the sheet stand its key (what is right, which
    pair, which system; keep it from those who answer) and guidelines for them.

    Example: contrafact rfc study sample final.jsonl --kind detect --n 20 --out study/sheet.csv
    """
    import numpy as np

    from contrafact.families.rfc.study_sheet import write_study

    rng = np.random.default_rng(seed)
    if kind == "reasons":
        from contrafact.families.rfc.study_reasons import draw_reasons
        from contrafact.report.frames import read_runs

        rows, key = draw_reasons(read_runs(sources, task="rfc-detect")[0], n, rng)
    else:
        from contrafact.families.rfc.data import load_pairs
        from contrafact.families.rfc.study import draw_study

        if len(sources) > 1:
            raise InputError(
                f"--kind {kind} draws from one file of pairs, and {len(sources)} are named",
                hint="name one file",
            )
        rows, key = draw_study(load_pairs(sources[0]), kind, n, rng)
    key_path, guidelines = write_study(kind, rows, key, out)
    typer.echo(f"{out}: {len(rows):,} items")
    for system, category in sorted({(item.system, item.category) for item in key}):
        drawn = sum((item.system, item.category) == (system, category) for item in key)
        if drawn < n:
            which = f"{category} answers of {system}" if system else f"of {category}"
            typer.echo(f"  only {drawn} {which}: there are no more")
    typer.echo(f"{key_path}: the key; do not show it to those who answer")
    typer.echo(f"{guidelines}: guidelines for them")


@app.command("score")
def score(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Filled sheets.")],
    key: Annotated[
        Path | None, typer.Option(help="The key; found beside the first sheet if not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to write the tables to, as CSV; or a .csv, .jsonl or .parquet file.",
        ),
    ] = None,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="Show the paper's figures as well.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals' resampling.")] = 0,
) -> None:
    """Say how far people agree with each other, or with what is right, per category and step.

    Percent, macro-F1, Cohen's kappa and Gwet's AC1, each with a 95% interval, or "undefined". Of
    reasons also how people sorted them, and how far they agree with the judge, if one did.

    Example: contrafact rfc study score study/anna.csv study/ben.csv --out study/figures.csv
    """
    import numpy as np
    import pandas as pd

    from contrafact.console import show_frame
    from contrafact.families.rfc.study import score_study
    from contrafact.families.rfc.study_sheet import read_answers, read_key
    from contrafact.files.sheets import find_key

    items = read_key(key or find_key(files))
    reasons = items[0].kind == "reasons"
    if reasons and out is not None and out.suffix:
        raise InputError("a study of reasons has several tables", file=out, hint="name a folder")
    answers = read_answers(files, items)
    for problem in answers.problems:
        typer.echo(problem, err=True)
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(score_study(answers, items, rng))
    tables = {"figures": table}
    if reasons:
        from contrafact.families.rfc.study_reasons import class_shares, sorted_answers

        tables["classes"] = pd.DataFrame(class_shares(answers, items, rng))
        tables["labels"] = pd.DataFrame(sorted_answers(answers, items))
        for (system, outcome), own in tables["classes"].groupby(["system", "answers"], sort=False):
            shown = own.drop(columns=["system", "answers"])
            show_frame(f"{system}: reasons of {outcome} answers", shown, shares=("share",))
    if table.empty:
        typer.echo("Nobody answered an item that somebody else answered: nothing to compare.")
        if not reasons:
            raise typer.Exit(1)
    else:
        for (step, one, other), own in table.groupby(["step", "rater", "other"], sort=False):
            show_frame(
                f"{step}: {one} and {other}",
                own.drop(columns=["step", "rater", "other"]),
                shares=("percent", "weighted"),
                coefficients=("macro_f1", "kappa", "ac1"),
            )
    if with_published:
        _show_published(items[0].kind)
    if out is not None:
        _write(tables, out)


def _show_published(kind: "StudyKind") -> None:
    """Print tables 3 and 7 as printed, of other items and other people."""
    from contrafact.console import show_frame
    from contrafact.families.rfc.published import published_table
    from contrafact.records import MANIPULATIONS

    if kind == "reasons":
        typer.echo("The paper counts no reasons: its classes come from reading (section 3.5).")
    elif kind == "agreement":
        show_frame(
            "Published: two annotators on other rewrites (RFC-BENCH, table 3)",
            published_table("agreement"),
            shares=("accuracy",),
            coefficients=("macro_f1", "cohen_kappa", "gwet_ac1"),
        )
    else:
        human = published_table("human")
        show_frame(
            "Published: accuracy of other people on other items (RFC-BENCH, table 7)",
            human[human["task"].eq(f"rfc-{kind}")],
            shares=("overall", *MANIPULATIONS),
        )


def _write(tables: "dict[str, pd.DataFrame]", out: Path) -> None:
    """Write the tables into a folder, or the only one into a file."""
    from contrafact.files.tables import write_frame

    if not tables["figures"].empty:
        named = tables["figures"].copy()
        for figure in ("percent", "macro_f1", "kappa", "ac1"):
            named[figure] = [
                "undefined" if value != value else value for value in named[figure].tolist()
            ]
        tables = tables | {"figures": named}
    if out.suffix:
        write_frame(tables["figures"], out)
        typer.echo(f"The table is in {out}")
        return
    for name, table in tables.items():
        if not table.empty:
            write_frame(table, out / f"{name}.csv")
    typer.echo(f"Tables are in {out}")
