"""``contrafact rfc calibrate``: what example rewrites say of the length band and the contract."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.families.rfc.pipeline.calibrate import Calibration

__all__ = ["calibrate"]


def calibrate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Rows with id, manipulation, original, rewritten, valid."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the findings, as JSON.")
    ] = None,
    coverage: Annotated[
        float,
        typer.Option(min=0.01, max=1.0, help="The share of valid rewrites that the band holds."),
    ] = 0.95,
) -> None:
    """Learn from rewrites that an expert called valid or invalid.

    The valid ones give the band of token-length ratios per manipulation, with its quantiles; the
    invalid ones show which rules of the contract they break, and which of them nothing catches.

    Example: contrafact rfc calibrate examples.jsonl --out calibration.json
    """
    import json

    from contrafact.families.rfc.contracts import check_pair
    from contrafact.families.rfc.pipeline.calibrate import calibrate as learn
    from contrafact.families.rfc.pipeline.calibrate import examples
    from contrafact.families.rfc.pipeline.stages import read_stage
    from contrafact.files.atomic import guard_output, write_text
    from contrafact.files.tables import source_name

    rows = read_stage(file, ("original", "rewritten"), manipulated=True)
    given = examples(rows, file=source_name(file))
    found = learn(
        given,
        check=lambda *pair: [broken.rule for broken in check_pair(*pair).violations],
        coverage=coverage,
    )
    _show(found, coverage)
    if out is not None:
        guard_output(out, file)
        findings = {"coverage": coverage, "manipulations": [one.as_dict() for one in found]}
        write_text(out, json.dumps(findings, indent=2, ensure_ascii=False) + "\n")
        typer.echo(f"Findings are in {out}")


def _show(found: "list[Calibration]", coverage: float) -> None:
    import pandas as pd

    from contrafact.console import show_frame
    from contrafact.families.rfc.labels import LENGTH_BANDS

    table = [
        {
            "manipulation": one.manipulation,
            "valid": one.valid,
            "band": _band(one.band) + (" (unsure)" if one.unsure and one.band else ""),
            "paper's": _band(LENGTH_BANDS[one.manipulation]),
            "quantiles": ", ".join(f"{q} {v:.2f}" for q, v in one.quantiles.items()) or "–",
            "false alarms": len(one.false_alarms),
            "invalid": one.invalid,
            "caught": one.invalid - len(one.missed),
            "missed": ", ".join(one.missed) or "–",
        }
        for one in found
    ]
    show_frame(f"Token-length ratios of {coverage:.0%} of the valid rewrites", pd.DataFrame(table))
    for one in found:
        for name, rules in one.broken.items():
            typer.echo(f"{one.manipulation} {name}: {', '.join(rules) or 'no rule is broken'}")
        for name, rules in one.false_alarms.items():
            typer.echo(f"{one.manipulation} {name}: valid, and yet breaks {', '.join(rules)}")


def _band(band: "tuple[float, float] | None") -> str:
    return "–" if band is None else f"{band[0]:.2f} to {band[1]:.2f}"
