"""``contrafact rfc check``: does every pair keep the contract of its manipulation?"""

import os
import shutil
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contrafact.options import bulk_options

if TYPE_CHECKING:
    from contrafact.errors import InputError
    from contrafact.families.rfc.contracts import Check
    from contrafact.families.rfc.contracts.check import PairRow

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
    from contrafact.files.atomic import atomic_path, guard_output
    from contrafact.files.tables import json_line, row_count, source_name
    from contrafact.text.delimit import replace_surrogates

    if bulk is not None:
        _in_bulk(file, out, tuple(rule or ()), polarity_model, bulk)
        return
    if out is not None:
        guard_output(out, file)
    rules = tuple(found for path in rule or () for found in load_rules(path))
    options = Options(rules=rules)
    if polarity_model is not None:
        from contrafact.families.rfc.contracts.polarity import load_polarity_model

        options = Options(polarity=load_polarity_model(polarity_model), rules=rules)
    summary = _Summary()
    with (
        Progress("pairs", row_count(file)) as progress,
        nullcontext() if out is None else atomic_path(out) as whole,
        TemporaryFile("w+", encoding="utf-8")
        if whole is None
        else whole.open("w", encoding="utf-8", newline="") as lines,
    ):
        rows = read_pairs(file)
        for row, found in check_rows(
            rows, source_name(file), options=options, workers=os.cpu_count() or 1
        ):
            lines.write(replace_surrogates(json_line(check_object(row, found))))
            summary.add(row, found)
            if found is not None:
                progress.step()
        if whole is None:  # now that all of it is there
            lines.seek(0)
            shutil.copyfileobj(lines, sys.stdout)
    summary.show()
    if summary.bad:
        raise typer.Exit(2)
    if summary.failed:
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


class _Summary:
    """Counts how many pairs of each manipulation pass, and which rules the others break."""

    def __init__(self) -> None:
        self.bad = 0
        self.failed = 0
        self._problems: list[InputError] = []
        self._figures: dict[str, list[int]] = {}
        self._broken: dict[str, Counter[str]] = {}

    def add(self, row: "PairRow", found: "Check | None") -> None:
        if found is None or row.problem is not None:
            self.bad += 1
            if row.problem is not None and len(self._problems) < _SHOWN:
                self._problems.append(row.problem)
            return
        name = str(row.fields["manipulation"])
        figures = self._figures.setdefault(name, [0, 0, 0, 0])
        failed = found.passed is False
        for place, counts in enumerate((True, bool(found.passed), failed, bool(found.review))):
            figures[place] += counts
        self.failed += failed
        self._broken.setdefault(name, Counter()).update({v.rule for v in found.violations})

    def show(self) -> None:
        """Print the counts, and the rows that are bad."""
        from contrafact.records import MANIPULATIONS

        _table(
            [
                _line(name, tuple(self._figures[name]), self._broken[name])
                for name in MANIPULATIONS
                if name in self._figures
            ]
        )
        for problem in self._problems:
            typer.echo(f"contrafact: {problem}", err=True)
        if self.bad > _SHOWN:
            typer.echo(f"contrafact: and {self.bad - _SHOWN:,} more bad rows", err=True)


def _line(name: str, figures: tuple[int, ...], broken: "Counter[str]") -> list[str]:
    rules = ", ".join(f"{rule} {count}" for rule, count in broken.most_common())
    return [name, *(f"{figure:,}" for figure in figures), rules or "–"]


def _table(rows: list[list[str]]) -> None:
    from contrafact.console import show_table

    if rows:
        columns = ("manipulation", "pairs", "pass", "fail", "to review", "rules broken (pairs)")
        show_table("Pairs by manipulation", columns, rows, stderr=True)
