"""``contrafact rfc check``: does every pair keep the contract of its manipulation?"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.families.rfc.contracts import Check

__all__ = ["check"]

_SHOWN = 20  # bad rows shown one by one; the rest are counted


def check(
    file: Annotated[
        str,
        typer.Argument(metavar="PAIRS", help="Pairs: JSON Lines, JSON, CSV, Parquet, or `-`."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The checks, JSON Lines. [standard output]"),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Rules of your own that join the contracts: package.module, or "
            "package.module:function; may be repeated.",
        ),
    ] = None,
    polarity_model: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A FinBERT folder that judges tone; word lists if not given."
        ),
    ] = None,
) -> None:
    """Check pairs against the contract of their manipulation: what must change, what must stay.

    Each row needs id, manipulation, original and rewritten. Each gets a row with passed, the
    violations, and what rules cannot decide, for review by a person. Exits with 0 if all pass, 1
    if some fail, 2 if a row is bad; bad rows are named by line, the others are checked all the
    same.

    Example: contrafact rfc check pairs.jsonl --out checks.jsonl
    """
    from contrafact.console import Progress
    from contrafact.families.rfc.contracts import Options, load_rules
    from contrafact.families.rfc.contracts.check import check_object, check_rows, read_pairs
    from contrafact.files.atomic import guard_output, write_text
    from contrafact.files.tables import json_line, source_name

    if out is not None:
        guard_output(out, file)
    rules = tuple(found for path in rule or () for found in load_rules(path))
    options = Options(rules=rules)
    if polarity_model is not None:
        from contrafact.families.rfc.contracts.sentiment import load_polarity_model

        options = Options(polarity=load_polarity_model(polarity_model), rules=rules)
    rows = read_pairs(file)
    checkable = [row for row in rows if row.problem is None]
    with Progress("pairs", len(checkable)) as progress:
        checked = check_rows(
            checkable,
            source_name(file),
            options=options,
            each=progress.step,
            workers=os.cpu_count() or 1,
        )
    checks = iter(checked)
    lines = [
        json_line(check_object(row, next(checks) if row.problem is None else None)) for row in rows
    ]
    if out is None:
        typer.echo("".join(lines), nl=False)
    else:
        write_text(out, "".join(lines))
    _summary([str(row.fields["manipulation"]) for row in checkable], checked)
    bad = [row.problem for row in rows if row.problem is not None]
    for problem in bad[:_SHOWN]:
        typer.echo(f"contrafact: {problem}", err=True)
    if len(bad) > _SHOWN:
        typer.echo(f"contrafact: and {len(bad) - _SHOWN:,} more bad rows", err=True)
    if bad:
        raise typer.Exit(2)
    if not all(found.passed for found in checked):
        raise typer.Exit(1)


def _summary(manipulations: list[str], checks: "list[Check]") -> None:
    """Print how many pairs of each manipulation pass, and which rules the others break."""
    from collections import Counter

    from contrafact.console import show_table
    from contrafact.records import MANIPULATIONS

    rows = []
    for name in MANIPULATIONS:
        here = [check for check, of in zip(checks, manipulations, strict=True) if of == name]
        if not here:
            continue
        broken = Counter(rule for check in here for rule in {v.rule for v in check.violations})
        passed = sum(check.passed for check in here)
        figures = (len(here), passed, len(here) - passed, sum(bool(c.review) for c in here))
        rules = ", ".join(f"{rule} {count}" for rule, count in broken.most_common())
        rows.append([name, *(f"{figure:,}" for figure in figures), rules or "–"])
    if rows:
        columns = ("manipulation", "pairs", "pass", "fail", "to review", "rules broken (pairs)")
        show_table("Pairs by manipulation", columns, rows, stderr=True)
