"""``contrafact rfc check``: does every pair keep the contract of its manipulation?"""

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.options import bulk_options

if TYPE_CHECKING:
    from contrafact.families.rfc.contracts import Check

__all__ = ["check"]

_SHOWN = 20  # bad rows shown one by one; the rest are counted


@bulk_options(rates=False)
def check(
    file: Annotated[
        str,
        typer.Argument(metavar="PAIRS", help="Pairs: JSON Lines, JSON, CSV, Parquet, or `-`."),
    ],
    out: Annotated[
        str | None,
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
    bulk: dict[str, Any] | None = None,
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

    if bulk is not None:
        _in_bulk(file, out, tuple(rule or ()), polarity_model, bulk)
        return
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


def _in_bulk(
    file: str,
    out: str | None,
    rules: tuple[str, ...],
    polarity_model: Path | None,
    settings: dict[str, Any],
) -> None:
    from contrafact.bulk.command import bulk_command
    from contrafact.errors import InputError
    from contrafact.families.rfc.bulk import CheckStage
    from contrafact.families.rfc.contracts import load_rules
    from contrafact.records import MANIPULATIONS

    if out is None:
        raise InputError("--engine ray writes a folder", hint="name one with --out")
    for path in rules:
        load_rules(path)
    model = None if polarity_model is None else str(polarity_model.absolute())
    result = bulk_command(CheckStage(rules, model), file, out, settings, noun="pairs")
    rows = []
    for name in MANIPULATIONS:
        if not (pairs := result.counts[f"{name}|pairs"]):
            continue
        start = f"{name}|rule|"
        broken = Counter(
            {
                key.removeprefix(start): n
                for key, n in result.counts.items()
                if key.startswith(start)
            }
        )
        figures = [result.counts[f"{name}|{what}"] for what in ("pass", "fail", "review")]
        rows.append(_line(name, (pairs, *figures), broken))
    _table(rows)
    result.end()
    if any(result.counts[f"{name}|fail"] for name in MANIPULATIONS):
        raise typer.Exit(1)


def _summary(manipulations: list[str], checks: "list[Check]") -> None:
    """Print how many pairs of each manipulation pass, and which rules the others break."""
    from contrafact.records import MANIPULATIONS

    rows = []
    for name in MANIPULATIONS:
        here = [check for check, of in zip(checks, manipulations, strict=True) if of == name]
        if not here:
            continue
        broken = Counter(rule for check in here for rule in {v.rule for v in check.violations})
        passed = sum(check.passed for check in here)
        figures = (len(here), passed, len(here) - passed, sum(bool(c.review) for c in here))
        rows.append(_line(name, figures, broken))
    _table(rows)


def _line(name: str, figures: tuple[int, ...], broken: "Counter[str]") -> list[str]:
    rules = ", ".join(f"{rule} {count}" for rule, count in broken.most_common())
    return [name, *(f"{figure:,}" for figure in figures), rules or "–"]


def _table(rows: list[list[str]]) -> None:
    from contrafact.console import show_table

    if rows:
        columns = ("manipulation", "pairs", "pass", "fail", "to review", "rules broken (pairs)")
        show_table("Pairs by manipulation", columns, rows, stderr=True)
