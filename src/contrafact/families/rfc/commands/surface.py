"""``contrafact rfc surface``: surface diagnostics of pairs, and how well artefacts reveal
rewrites.
"""

from pathlib import Path

import typer

from contrafact.console import show_frame
from contrafact.families.rfc.data import PairNotes, load_pairs
from contrafact.files.atomic import guard_folder
from contrafact.files.tables import write_frame
from contrafact.options import Options, argument, command, option


class _Options(Options):
    file: str = argument("PAIRS", "Pairs with their originals.")
    out: Path = option(..., "Folder for the tables.", metavar="DIR")
    max_auroc: float | None = option(
        None,
        "The highest AUROC allowed for an artefact that tells originals from rewrites; beyond it, "
        "exit with 1.",
        ge=0.5,
        le=1.0,
    )
    seed: int = option(0, "Seed of folds and resamples.", ge=0)


@command
def surface(options: _Options) -> None:
    """Measure how far rewrites depart from originals, and how well artefacts reveal them.

    Writes diagnostics.csv (five measures by manipulation), pairs.csv (the same for every pair) and
    leakage.csv (how well length, punctuation, numbers and n-grams tell rewrites from originals,
    out of fold, with intervals over articles).

    Example: contrafact rfc surface pairs.jsonl --out surface --max-auroc 0.65
    """
    from contrafact.families.rfc.leakage import diagnostics, leakage, summary

    out = options.out
    guard_folder(out)
    notes = PairNotes()
    pairs = load_pairs(options.file, notes)
    for line in notes.lines():
        typer.echo(line, err=True)
    probes, measured = leakage(pairs, seed=options.seed), diagnostics(pairs)
    figures = summary(measured)
    write_frame(figures, out / "diagnostics.csv")
    write_frame(measured, out / "pairs.csv")
    write_frame(probes, out / "leakage.csv")
    show_frame("Surface diagnostics", figures, coefficients=("mean", "sd", "p5", "median", "p95"))
    show_frame("How well artefacts reveal rewrites", probes, coefficients=("auroc",))
    typer.echo(f"Tables are in {out}")
    found = probes[probes["auroc"] > (options.max_auroc or 1)].to_dict("records")
    for probe in found:
        typer.echo(
            f"{probe['artefact']} tells {probe['manipulation']} rewrites from originals: AUROC "
            f"{probe['auroc']:.3f}, above {options.max_auroc}",
            err=True,
        )
    if found:
        raise typer.Exit(1)
