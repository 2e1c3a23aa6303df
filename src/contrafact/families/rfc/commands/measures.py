"""What ``contrafact rfc`` measures of rewrites: their bands of length, and what gives them away."""

import json
from dataclasses import asdict
from pathlib import Path

import typer

from contrafact.console import show_frame
from contrafact.families.rfc.data import PairNotes, load_pairs
from contrafact.families.rfc.labels import LENGTH_BANDS
from contrafact.files.atomic import guard_folder, guard_output, write_text
from contrafact.files.tables import source_name, write_frame
from contrafact.options import Options, argument, command, option


class _CalibrateOptions(Options):
    file: str = argument("FILE", "Rows with id, manipulation, original, rewritten, valid.")
    out: Path | None = option(None, "Write the findings, as JSON.", metavar="FILE")
    coverage: float = option(
        0.95, "The share of valid rewrites that the band holds.", ge=0.01, le=1.0
    )


@command
def calibrate(options: _CalibrateOptions) -> None:
    """Find the band of token-length ratios of rewrites that an expert called valid.

    `rfc rewrite`, `check` and `finalize` take the result with --bands. To check the examples
    against the contract, run `rfc check` on the same file.

    Example: contrafact rfc calibrate examples.jsonl --out calibration.json
    """
    import pandas as pd

    from contrafact.families.rfc.pipeline.calibrate import calibrate as learn
    from contrafact.families.rfc.pipeline.calibrate import valid_ratios
    from contrafact.families.rfc.pipeline.stages import read_stage

    file, out, coverage = options.file, options.out, options.coverage
    if out is not None:
        guard_output(out, file, kind="JSON")
    rows = read_stage(file, ("original", "rewritten"), manipulated=True)
    bands = learn(valid_ratios(rows, file=source_name(file)), coverage=coverage)
    table = [
        {
            "manipulation": one.manipulation,
            "valid": one.valid,
            "band": _band(one.band) + (" (unsure)" if one.unsure and one.band else ""),
            "paper's": _band(LENGTH_BANDS[one.manipulation]),
            "quantiles": ", ".join(f"{q} {v:.2f}" for q, v in one.quantiles.items()) or "–",
        }
        for one in bands
    ]
    show_frame(f"Token-length ratios of {coverage:.0%} of the valid rewrites", pd.DataFrame(table))
    if out is not None:
        findings = {"coverage": coverage, "manipulations": [asdict(one) for one in bands]}
        write_text(out, json.dumps(findings, indent=2, ensure_ascii=False) + "\n")
        typer.echo(f"Findings are in {out}")


def _band(band: tuple[float, float] | None) -> str:
    return "–" if band is None else f"{band[0]:.2f} to {band[1]:.2f}"


class _SurfaceOptions(Options):
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
def surface(options: _SurfaceOptions) -> None:
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
