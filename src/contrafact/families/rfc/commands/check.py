"""``contrafact rfc check``: does every pair do what its manipulation is to do, and only that?"""

import math
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import typer

from contrafact.errors import InputError, ModelError
from contrafact.families.rfc.commands.shared import BANDS, JudgeOptions, absolute, counts_below
from contrafact.files.tables import require_tables
from contrafact.options import argument, bulk_options, option, takes

if TYPE_CHECKING:
    from contrafact.bulk.run import Summary
    from contrafact.families.rfc.checking import JudgeSettings
    from contrafact.families.rfc.contracts import Check
    from contrafact.families.rfc.contracts.pair_check import PairRow
    from contrafact.families.rfc.sound import Counted
    from contrafact.files.journal import Journal

__all__ = ["CheckOptions", "check"]

_SHOWN = 20  # bad rows shown one by one; the rest are counted
_COLUMNS = {
    "pairs": "pairs",
    "pass": "passed",
    "fail": "failed",
    "undecided": "undecided",
    "invalid": "no verdict",
    "review": "to review",
}
"""What is counted of each manipulation, and the heads of its columns."""


class CheckOptions(JudgeOptions):
    """The options of the command."""

    file: str = argument("PAIRS", "Pairs: JSON Lines, JSON, CSV, Parquet, or `-`.")
    out: str | None = option("The checks, JSON Lines. [standard output]", None, metavar="FILE")
    judge: list[str] | None = option(
        "A model that says what pairs mean; several form a panel. Without one that is undecided.",
        None,
        metavar="J",
    )
    numerical: bool = option(
        "Ask about numerical pairs too; for review alone.", False, "--numerical"
    )
    exam: str | None = option(
        "The judge's exam: how many pairs are really sound, by it.", None, metavar="FILE"
    )
    labels: str | None = option(
        "People's labels of some pairs drawn at random (id, sound): how many are, by these.",
        None,
        metavar="FILE",
    )
    rule: list[str] | None = option(
        "Rules of your own that join the contracts: package.module, or package.module:function; "
        "may be repeated.",
        None,
        metavar="PATH",
    )
    polarity_model: Path | None = option(
        "A FinBERT folder that judges tone; nobody does if not given.", None, metavar="DIR"
    )
    bands: Path | None = BANDS

    @property
    def chosen(self) -> tuple[tuple[str, ...], str | None, str | None]:
        """What rules take: rules of others, a model of tone, and bands."""
        return tuple(self.rule or ()), absolute(self.polarity_model), absolute(self.bands)


_ONLY_JUDGED = (
    "each",
    "numerical",
    "exam",
    "labels",
    "estimate",
    "prompts",
    "structured",
    "judge_arg",
)


@bulk_options(rates=True)
@takes(CheckOptions)
def check(options: CheckOptions, bulk: dict[str, Any] | None = None) -> None:
    """Check pairs: facts by rule, and what they mean by a judge.

    Each row needs id, manipulation, original and rewritten. Each gets a row with passed (true,
    false, or null where it is undecided), the violations, and what a person should see, as review.
    A numerical pair is decided by facts. The others need a judge besides, who is asked where facts
    find no fault, and quotes the words that decide. Replies are kept in FILE's name with
    .answers.jsonl as they come: killed and run again, nothing is asked twice.

    Exits with 0, 1 if some fail, 2 if a row is bad; bad rows are named by line, the others are
    checked all the same.

    Example: contrafact rfc check pairs.jsonl --out checks.jsonl
    """
    if bulk is None:
        require_tables(options.file, options.labels)
    settings = options.judging(numerical=options.numerical)
    if settings is None:
        options.refuse(_ONLY_JUDGED, "without --judge", "name a judge")
    if bulk is not None:
        options.refuse(["estimate", "labels"], "with --engine ray", "leave one out")
        summary = _in_bulk(options, settings, bulk)
    else:
        from contrafact.families.rfc.contracts.pair_check import (
            check_rows,
            open_options,
            read_pairs,
        )
        from contrafact.files.atomic import guard_output
        from contrafact.files.tables import source_name

        file, out = options.file, options.out
        if out is not None:
            guard_output(out, file, kind="JSON Lines")
        opened = open_options(*options.chosen)
        facts = check_rows(read_pairs(file), source_name(file), options=opened)
        if settings is not None:
            from contrafact.families.rfc.checking import confirmed, pair_estimates
            from contrafact.models.estimate import show_estimate

            if options.estimate:
                show_estimate(pair_estimates(facts, settings))
                return
            facts = facts if options.yes else iter(confirmed(facts, settings, out))
        summary = _check(file, out, facts, settings)
    summary.show()
    if (options.exam or options.labels) and settings is not None:
        _show_sound(summary, options, settings)
    summary.end(judged=settings is not None)


def _check(
    file: str,
    out: str | None,
    facts: "Iterator[tuple[PairRow, Check | None]]",
    settings: "JudgeSettings | None",
) -> "_Summary":
    from contrafact.console import Progress
    from contrafact.families.rfc.contracts.pair_check import check_object
    from contrafact.files.atomic import atomic_path
    from contrafact.files.tables import json_line, row_count
    from contrafact.text.delimit import replace_surrogates

    summary = _Summary()
    with (
        Progress("pairs", row_count(file)) as progress,
        nullcontext() if out is None else atomic_path(out) as whole,
        TemporaryFile("w+", encoding="utf-8")
        if whole is None
        else whole.open("w", encoding="utf-8", newline="") as lines,
        nullcontext() if settings is None else settings.answers(out) as answers,
    ):
        if settings is not None:
            facts = _judged(facts, settings, answers, summary, progress.step)
        for row, found in facts:
            summary.add(row, found)
            if settings is None and found is not None:
                progress.step()
            lines.write(replace_surrogates(json_line(check_object(row, found))))
        if whole is None:  # now that all of it is there
            lines.seek(0)
            shutil.copyfileobj(lines, sys.stdout)
    return summary


def _judged(
    facts: "Iterator[tuple[PairRow, Check | None]]",
    settings: "JudgeSettings",
    answers: "Journal | None",
    summary: "_Summary",
    step: Callable[[], None],
) -> "Iterator[tuple[PairRow, Check | None]]":
    from contrafact.families.rfc.checking import judge_rows
    from contrafact.families.rfc.sound import counted

    for row, judged in judge_rows(facts, settings, answers=answers, each=step):
        if judged is None:
            yield row, None
            continue
        if judged.failure is not None:
            summary.failures.append(judged.failure)
        summary.counted.append(counted(row.fields, judged))
        yield row, judged.check


def _in_bulk(
    options: CheckOptions, settings: "JudgeSettings | None", bulk: dict[str, Any]
) -> "_Summary":
    from contrafact.bulk.run import bulk_command
    from contrafact.families.rfc.bulk import CheckStage
    from contrafact.families.rfc.contracts import load_rules

    if options.out is None:
        raise InputError("--engine ray writes a folder", hint="name one with --out")
    chosen = options.chosen
    for path in chosen[0]:
        load_rules(path)
    stage = CheckStage(*chosen, settings)
    result = bulk_command(stage, options.file, options.out, bulk, noun="pairs")
    summary = _Summary(result)
    if settings is not None:
        from contrafact.families.rfc.sound import Counted

        for key, times in result.counts.items():
            kind, what, *signs = key.split("|")
            if what == "signs":
                same = (Counted(kind, signs[0], f"{key} {n}") for n in range(times))  # type: ignore[arg-type]
                summary.counted += same
    return summary


def _show_sound(summary: "_Summary", options: CheckOptions, settings: "JudgeSettings") -> None:
    from contrafact.console import show_table
    from contrafact.families.rfc.sound import sound_of

    rows = []
    for one in sound_of(summary.counted, options.exam, options.labels, settings):
        figure = "–"
        if not math.isnan(one.estimate):
            figure = f"{one.estimate:,.0f}"
            if one.low < one.high:
                figure += f" ({one.low:,.0f} to {one.high:,.0f})"
        rows.append([one.kind, f"{one.pairs:,}", f"{one.passed:,}", figure, one.why or "–"])
    columns = ("manipulation", "pairs", "passed", "really sound", "what to know")
    by = " and ".join(
        name
        for name, given in (("labels", options.labels), ("the judge's exam", options.exam))
        if given
    )
    show_table(f"Pairs that are really sound, by {by} (95% intervals)", columns, rows, stderr=True)


class _Summary:
    def __init__(self, bulk: "Summary | None" = None) -> None:
        self.counts: Counter[str] = Counter() if bulk is None else bulk.counts
        self.counted: list[Counted] = []
        self.failures: list[str] = []
        self._bulk = bulk
        self._bad = 0
        self._problems: list[InputError] = []

    def add(self, row: "PairRow", found: "Check | None") -> None:
        from contrafact.families.rfc.contracts.pair_check import check_counts

        if found is None or row.problem is not None:
            self._bad += 1
            if row.problem is not None and len(self._problems) < _SHOWN:
                self._problems.append(row.problem)
            return
        self.counts.update(check_counts(row.fields["manipulation"], found))

    def show(self) -> None:
        from contrafact.console import show_table
        from contrafact.records import MANIPULATIONS

        rows = []
        for name in MANIPULATIONS:
            if not self.counts[f"{name}|pairs"]:
                continue
            figures = [f"{self.counts[f'{name}|{what}']:,}" for what in _COLUMNS]
            broken = counts_below(self.counts, f"{name}|rule|")
            rules = ", ".join(f"{rule} {count:,}" for rule, count in broken.most_common())
            rows.append([name, *figures, rules or "–"])
        if rows:
            columns = ("manipulation", *_COLUMNS.values(), "rules broken (pairs)")
            show_table("Pairs by manipulation", columns, rows, stderr=True)
        for problem in self._problems:
            typer.echo(f"contrafact: {problem}", err=True)
        if self._bad > _SHOWN:
            typer.echo(f"contrafact: and {self._bad - _SHOWN:,} more bad rows", err=True)

    def end(self, *, judged: bool) -> None:
        from contrafact.records import MANIPULATIONS

        undecided, failed = (
            sum(self.counts[f"{name}|{what}"] for name in MANIPULATIONS)
            for what in ("undecided", "fail")
        )
        if undecided and not judged:
            typer.echo(
                f"{undecided:,} pairs are undecided: no fact is against them, and what they mean "
                "is for a judge (--judge) or a person to say",
                err=True,
            )
        if self.failures:
            problem = f"{len(self.failures):,} pairs were not judged; the same command tries again:"
            typer.echo(f"contrafact: {ModelError(problem, self.failures)}", err=True)
        if self._bulk is not None:
            self._bulk.end()
        if self._bad:
            raise typer.Exit(2)
        if failed or self.failures:
            raise typer.Exit(1)
