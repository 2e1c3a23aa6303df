"""``contrafact rfc check``: does every pair keep the contract of its manipulation?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contrafact.families.rfc.contracts import Check
    from contrafact.families.rfc.contracts.reading import PairRow

__all__ = ["check"]

_TOLD = 20  # bad rows told one by one; the rest are counted


def check(
    file: Annotated[
        str,
        typer.Argument(metavar="PAIRS", help="Pairs: JSON Lines, JSON, CSV, Parquet, or `-`."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The checks, JSON Lines. [standard output]"),
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
    if some fail, 2 if a row is bad; bad rows are told by line, the others are checked all the same.

    Example: contrafact rfc check pairs.jsonl --out checks.jsonl
    """
    from contrafact.families.rfc.contracts import Options
    from contrafact.families.rfc.contracts.reading import read_pairs
    from contrafact.files.atomic import guard_output, write_text

    if out is not None:
        guard_output(out, file)
    options = Options()
    if polarity_model is not None:
        from contrafact.families.rfc.contracts.polarity_model import load_polarity_model

        options = Options(polarity=load_polarity_model(polarity_model))
    rows = read_pairs(file)
    checks = _check(rows, options)
    lines = [_line(row, found) for row, found in zip(rows, checks, strict=True)]
    if out is None:
        typer.echo("".join(lines), nl=False)
    else:
        write_text(out, "".join(lines))
    _summary([(row, found) for row, found in zip(rows, checks, strict=True) if found is not None])
    bad = [row.problem for row in rows if row.problem is not None]
    for problem in bad[:_TOLD]:
        typer.echo(f"contrafact: {problem}", err=True)
    if len(bad) > _TOLD:
        typer.echo(f"contrafact: and {len(bad) - _TOLD:,} more bad rows", err=True)
    if bad:
        raise typer.Exit(2)
    if not all(found.passed for found in checks if found is not None):
        raise typer.Exit(1)


def _check(rows: "list[PairRow]", options: object) -> "list[Check | None]":
    """Return the check of each row, none for a bad one."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from contrafact.families.rfc.contracts import Options, check_pairs

    assert isinstance(options, Options)
    console = Console(stderr=True)
    found: list[Check | None] = []
    columns = (TextColumn("pairs"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("pairs", total=len(rows))
        checked = check_pairs((r.fields for r in rows if r.problem is None), options=options)
        for row in rows:
            found.append(next(checked) if row.problem is None else None)
            bar.advance(task)
    return found


def _line(row: "PairRow", found: "Check | None") -> str:
    import json

    from contrafact.text.delimit import replace_surrogates

    if found is None:
        violations = [
            {
                "rule": "bad-row",
                "message": str(row.problem),
                "original_span": None,
                "rewritten_span": None,
            }
        ]
        review = []
    else:
        violations = [finding.as_row() for finding in found.violations]
        review = [finding.as_row() for finding in found.review]
    told = {
        "id": row.fields.get("id"),
        "manipulation": row.fields.get("manipulation"),
        "passed": found is not None and found.passed,
        "violations": violations,
        "review": review,
    }
    return replace_surrogates(json.dumps(told, ensure_ascii=False)) + "\n"


def _summary(found: "list[tuple[PairRow, Check]]") -> None:
    """Print how many pairs of each manipulation pass, and which rules the others break."""
    from collections import Counter

    from rich import box
    from rich.console import Console
    from rich.table import Table

    from contrafact.records import MANIPULATIONS

    table = Table(title="Pairs by manipulation", box=box.SIMPLE, title_justify="left")
    for name in ("manipulation", "pairs", "pass", "fail", "to review", "rules broken (pairs)"):
        table.add_column(name, justify="left" if name[0] in "mr" else "right", overflow="fold")
    for name in MANIPULATIONS:
        checks = [check for row, check in found if row.fields["manipulation"] == name]
        if not checks:
            continue
        rules = Counter(rule for c in checks for rule in {v.rule for v in c.violations})
        broken = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
        passed = sum(c.passed for c in checks)
        seen = sum(bool(c.review) for c in checks)
        figures = (len(checks), passed, len(checks) - passed, seen)
        table.add_row(name, *(f"{figure:,}" for figure in figures), broken or "–")
    if found:
        Console(stderr=True).print(table)
