"""``contrafact rfc surface``: surface diagnostics of pairs, and what artefacts give away."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.options import bulk_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contrafact.families.rfc.leakage import Probe
    from contrafact.records import Rewrite

__all__ = ["report_leaks", "surface"]


@bulk_options(rates=False)
def surface(
    file: Annotated[str, typer.Argument(metavar="PAIRS", help="Pairs with their originals.")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder for the tables.")],
    max_auroc: Annotated[
        float | None,
        typer.Option(
            min=0.5,
            max=1.0,
            help="What a release requires: exit 1 if any artefact tells originals from rewrites "
            "better than this.",
        ),
    ] = None,
    fluency_model: Annotated[
        str | None,
        typer.Option(help="Model that scores perplexity, as for `run`; left out if none."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and resamples.")] = 0,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw the figures.")] = True,
    bulk: dict[str, Any] | None = None,
) -> None:
    """Measure how far rewrites depart from originals, and how well artefacts give them away.

    Writes diagnostics.csv (five measures by manipulation), pairs.csv (the same for every pair),
    leakage.csv (what length, punctuation, numbers, perplexity and n-grams tell, out of fold, with
    intervals over articles) and figures.

    Example: contrafact rfc surface pairs.jsonl --out surface --max-auroc 0.65
    """
    from contrafact.families.rfc.data import PairNotes, load_pairs
    from contrafact.files.atomic import guard_folder

    if bulk is not None:
        _in_bulk(file, out, bulk, max_auroc, fluency_model, seed, plots)
        return
    guard_folder(out)
    notes = PairNotes()
    pairs = load_pairs(file, notes)
    for line in notes.lines():
        typer.echo(line, err=True)
    if _measured(pairs, Path(out), max_auroc, fluency_model, seed, plots):
        raise typer.Exit(1)


def _in_bulk(
    file: str,
    out: str,
    settings: dict[str, Any],
    max_auroc: float | None,
    fluency_model: str | None,
    seed: int,
    plots: bool,
) -> None:
    """Measure every pair in its partition, and a sample of them as one file is measured."""
    from contrafact.bulk.command import bulk_command
    from contrafact.families.rfc.bulk import SAMPLE, SurfaceStage
    from contrafact.records import Rewrite

    told = bulk_command(SurfaceStage(), file, out, settings, noun="pairs")
    pairs = [
        Rewrite.model_validate({key: value for key, value in row.items() if key != "index"})
        for row in told.table(SAMPLE)
    ]
    of = f"a sample of {len(pairs):,} of the pairs" if len(pairs) < told.given else "all pairs"
    typer.echo(f"Tables and tests are of {of}; every pair's measures are in {out}", err=True)
    folder = Path(told.tables_folder("surface"))
    leaking = _measured(pairs, folder, max_auroc, fluency_model, seed, plots)
    told.end()
    if leaking:
        raise typer.Exit(1)


def _measured(
    pairs: "Sequence[Rewrite]",
    out: Path,
    max_auroc: float | None,
    fluency_model: str | None,
    seed: int,
    plots: bool,
) -> bool:
    """Write and show what pairs look like; return whether an artefact leaks more than it may."""
    from contrafact.console import show_frame
    from contrafact.families.rfc.leakage import (
        as_frame,
        diagnostics,
        draw_diagnostics,
        leakage,
        summary,
    )
    from contrafact.files.tables import write_frame

    scored = _perplexities(pairs, fluency_model) if fluency_model else None
    probes = leakage(pairs, perplexity=scored, seed=seed)
    measured = diagnostics(pairs)
    figures, table = summary(measured), as_frame(probes)
    write_frame(figures, out / "diagnostics.csv")
    write_frame(measured, out / "pairs.csv")
    write_frame(table, out / "leakage.csv")
    if plots:
        draw_diagnostics(measured, out)
    show_frame("Surface diagnostics", figures, coefficients=("mean", "sd", "p5", "median", "p95"))
    show_frame("What artefacts give away", table, coefficients=("auroc",))
    typer.echo(f"Tables{' and figures' if plots else ''} are in {out}")
    return max_auroc is not None and report_leaks(probes, max_auroc)


def report_leaks(probes: "Sequence[Probe]", max_auroc: float) -> bool:
    """Report the artefacts that tell rewrites better than is allowed; return whether any does."""
    from contrafact.families.rfc.leakage import leaks

    found = leaks(probes, max_auroc)
    for probe in found:
        typer.echo(
            f"{probe.artefact} tells {probe.manipulation} rewrites from originals: AUROC "
            f"{probe.figure.estimate:.3f}, above {max_auroc}",
            err=True,
        )
    return bool(found)


def _perplexities(pairs: "Sequence[Rewrite]", model: str) -> dict[str, float]:
    from importlib.util import find_spec

    from contrafact.errors import InputError

    if find_spec("torch") is None or find_spec("transformers") is None:
        raise InputError(
            "perplexity needs PyTorch", hint="pip install 'contrafact[whitebox]', or leave it out"
        )
    from contrafact.models.whitebox.perplexity import perplexities
    from contrafact.models.whitebox.weights import load_causal

    texts = list(dict.fromkeys(t for p in pairs if p.original for t in (p.original, p.rewritten)))
    scored = perplexities(texts, model=load_causal(model))
    return {text: one.perplexity for text, one in zip(texts, scored, strict=True)}
