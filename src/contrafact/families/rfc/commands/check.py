"""``contrafact rfc check``: does every pair do what its manipulation is to do, and only that?"""

import math
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
    from contrafact.families.rfc.sound import Counted, Sound
    from contrafact.files.journal import Journal

__all__ = ["CheckOptions", "CheckSummary", "check", "check_file"]

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

    def settings(self) -> "JudgeSettings | None":
        """Return who judges and how; without a judge what is for one alone is an `InputError`."""
        found = self.judging(numerical=self.numerical)
        if found is None:
            self.refuse(_ONLY_JUDGED, "without --judge", "name a judge")
        return found


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
    summary = check_file(options) if bulk is None else _in_bulk(options, bulk)
    if summary is not None:
        summary.show()
        summary.end()


def check_file(options: CheckOptions) -> "CheckSummary | None":
    """Check a file of pairs, write the checks, and return what they say; None of an estimate."""
    from contrafact.families.rfc.contracts.pair_check import check_rows, open_options, read_pairs
    from contrafact.files.atomic import guard_output
    from contrafact.files.tables import source_name

    require_tables(options.file, options.labels)
    file, out, settings = options.file, options.out, options.settings()
    if out is not None:
        guard_output(out, file, kind="JSON Lines")
    opened = open_options(*options.chosen)
    facts = check_rows(read_pairs(file), source_name(file), options=opened)
    if settings is not None:
        from contrafact.families.rfc.checking import confirmed, pair_estimates
        from contrafact.families.rfc.sound import check_sources
        from contrafact.models.estimate import show_estimate

        ids = None
        if options.labels is not None and file != "-":
            ids = {str(pair.fields.get("id")) for pair in read_pairs(file)}
        check_sources(options.exam, options.labels, settings, ids)
        if options.estimate:
            show_estimate(pair_estimates(facts, settings))
            return None
        facts = facts if options.yes else iter(confirmed(facts, settings, out))
    summary = CheckSummary(options, settings)
    _check(facts, summary)
    return summary


def _check(facts: "Iterator[tuple[PairRow, Check | None]]", summary: "CheckSummary") -> None:
    from contrafact.console import Progress
    from contrafact.families.rfc.contracts.pair_check import check_object
    from contrafact.files.atomic import atomic_path
    from contrafact.files.tables import json_line, row_count
    from contrafact.text.delimit import replace_surrogates

    file, out, settings = summary.options.file, summary.options.out, summary.settings
    with (
        Progress("pairs", row_count(file)) as progress,
        nullcontext() if out is None else atomic_path(out) as whole,
        TemporaryFile("w+", encoding="utf-8")
        if whole is None
        else whole.open("w", encoding="utf-8", newline="") as lines,
        nullcontext() if settings is None else settings.answers(out) as answers,
    ):
        if settings is not None:
            facts = _judged(facts, answers, summary, progress.step)
        for row, found in facts:
            summary.add(row, found)
            if settings is None and found is not None:
                progress.step()
            lines.write(replace_surrogates(json_line(check_object(row, found))))
        if whole is None:  # now that all of it is there
            lines.seek(0)
            sys.stdout.buffer.writelines(line.encode() for line in lines)  # whatever the locale


def _judged(
    facts: "Iterator[tuple[PairRow, Check | None]]",
    answers: "Journal | None",
    summary: "CheckSummary",
    step: Callable[[], None],
) -> "Iterator[tuple[PairRow, Check | None]]":
    from contrafact.families.rfc.checking import judge_rows
    from contrafact.families.rfc.sound import counted

    assert summary.settings is not None
    for row, judged in judge_rows(facts, summary.settings, answers=answers, each=step):
        if judged is None:
            yield row, None
            continue
        summary.asked += judged.failure is not None or judged.judged is not None
        if judged.failure is not None:
            summary.failures.append(judged.failure)
        summary.counted.append(counted(row.fields, judged))
        yield row, judged.check


def _in_bulk(options: CheckOptions, bulk: dict[str, Any]) -> "CheckSummary":
    from contrafact.bulk.run import bulk_command
    from contrafact.families.rfc.bulk import CheckStage
    from contrafact.families.rfc.contracts import load_rules

    settings = options.settings()
    options.refuse(["estimate", "labels"], "with --engine ray", "leave one out")
    if options.out is None:
        raise InputError("--engine ray writes a folder", hint="name one with --out")
    chosen = options.chosen
    for path in chosen[0]:
        load_rules(path)
    if settings is not None:
        from contrafact.families.rfc.sound import check_sources

        check_sources(options.exam, None, settings, None)
    stage = CheckStage(*chosen, settings)
    result = bulk_command(stage, options.file, options.out, bulk, noun="pairs")
    summary = CheckSummary(options, settings, result)
    if settings is not None:
        from contrafact.families.rfc.sound import Counted

        for key, times in result.counts.items():
            kind, what, *signs = key.split("|")
            if what == "signs":
                same = (Counted(kind, signs[0], f"{key} {n}") for n in range(times))  # type: ignore[arg-type]
                summary.counted += same
    return summary


class CheckSummary:
    """What the checks of a file say together.

    Attributes:
        counts: As `check_counts` counts them.
        counted: What was said of each pair, where judges were asked.
        asked: Pairs that judges were asked about; ``failures``, why calls about some failed.
    """

    def __init__(
        self,
        options: CheckOptions,
        settings: "JudgeSettings | None",
        bulk: "Summary | None" = None,
    ) -> None:
        self.options = options
        self.settings = settings
        self.counts: Counter[str] = Counter() if bulk is None else bulk.counts
        self.counted: list[Counted] = []
        self.asked = 0
        self.failures: list[str] = []
        self._bulk = bulk
        self._bad = 0
        self._problems: list[InputError] = []

    def add(self, row: "PairRow", found: "Check | None") -> None:
        """Count a row's check."""
        from contrafact.families.rfc.contracts.pair_check import check_counts

        if found is None or row.problem is not None:
            self._bad += 1
            if row.problem is not None and len(self._problems) < _SHOWN:
                self._problems.append(row.problem)
            return
        self.counts.update(check_counts(row.fields["manipulation"], found))

    def sound(self) -> "list[Sound]":
        """Return how many pairs are really sound, by the exam and the labels that are named."""
        from contrafact.families.rfc.sound import sound_of

        if self.settings is None or not (self.options.exam or self.options.labels):
            return []
        return sound_of(self.counted, self.options.exam, self.options.labels, self.settings)

    def show(self) -> None:
        """Print what was counted, and what is wrong with rows."""
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
        self._show_sound()

    def _show_sound(self) -> None:
        from contrafact.console import show_table

        rows = []
        for one in self.sound():
            figure = "–"
            if not math.isnan(one.estimate):
                figure = f"{one.estimate:,.0f}"
                if one.low < one.high:
                    figure += f" ({one.low:,.0f} to {one.high:,.0f})"
            rows.append([one.kind, f"{one.pairs:,}", f"{one.passed:,}", figure, one.why or "–"])
        if rows:
            sources = (("labels", self.options.labels), ("the judge's exam", self.options.exam))
            by = " and ".join(name for name, given in sources if given)
            title = f"Pairs that are really sound, by {by} (95% intervals)"
            columns = ("manipulation", "pairs", "passed", "really sound", "what to know")
            show_table(title, columns, rows, stderr=True)

    def end(self) -> None:
        """Say what is left to do; exit with 1 if pairs failed, with 2 if rows are bad."""
        from contrafact.records import MANIPULATIONS

        undecided, failed = (
            sum(self.counts[f"{name}|{what}"] for name in MANIPULATIONS)
            for what in ("undecided", "fail")
        )
        if undecided and self.settings is None:
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
