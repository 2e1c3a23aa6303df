"""``contrafact rfc calibrate``: the length bands of valid example rewrites."""

import json
from dataclasses import asdict
from pathlib import Path

import typer

from contrafact.console import show_frame
from contrafact.families.rfc.labels import LENGTH_BANDS
from contrafact.files.atomic import guard_output, write_text
from contrafact.files.tables import source_name
from contrafact.options import Options, argument, command, option


class _Options(Options):
    file: str = argument("FILE", "Rows with id, manipulation, original, rewritten, valid.")
    out: Path | None = option(None, "Write the findings, as JSON.", metavar="FILE")
    coverage: float = option(
        0.95, "The share of valid rewrites that the band holds.", ge=0.01, le=1.0
    )


@command
def calibrate(options: _Options) -> None:
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
