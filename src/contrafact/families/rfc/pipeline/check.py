"""Checking pairs: facts by rule, and meaning by judges, if any are named."""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from contrafact.console import Progress, show_table
from contrafact.errors import InputError
from contrafact.families.rfc.contracts.pair_check import (
    LONGEST,
    NO_VERDICT,
    Options,
    check_pairs,
    open_options,
)
from contrafact.families.rfc.contracts.rules import NOT_CHECKED, OTHER_LANGUAGE, Check, fail, review
from contrafact.families.rfc.labels import load_bands
from contrafact.families.rfc.pipeline.stages import with_text_id
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.files.atomic import atomic_path
from contrafact.files.delimited import Dialect
from contrafact.files.tables import RowNotes, json_line
from contrafact.records import NewsItem
from contrafact.stages.stage import (
    KEPT,
    Asked,
    Failure,
    InputRow,
    RowStage,
    StageOutput,
    StageResult,
    Work,
    Wrap,
    below,
)
from contrafact.text.delimit import replace_surrogates

if TYPE_CHECKING:
    from contrafact.families.rfc.judging import JudgeSettings
    from contrafact.families.rfc.sound import Sound
    from contrafact.models.estimate import CallEstimate

__all__ = ["CheckStage", "undecided_reasons"]

_MEANING = "no fact contradicts them, but a judge or a person must decide what they mean"
_UNREAD = (NOT_CHECKED, OTHER_LANGUAGE)
"""Rules whose findings say why facts leave a pair open, whatever it means."""

_FIELDS = ("id", "manipulation", "original", "rewritten")
_COLUMNS = {
    "pairs": "pairs",
    "pass": "passed",
    "fail": "failed",
    "undecided": "undecided",
    "invalid": "no verdict",
    "review": "to review",
}
"""The counts of each manipulation, and the titles of their columns."""


@dataclass(frozen=True)
class CheckStage(RowStage):
    """``rfc check``: pairs in, checks out; a bad row has its problem as its only violation.

    If judges are named (``settings``), they are asked about pairs that facts leave open. A row's
    ``value`` is its check, once it has been made.
    """

    polarity_model: str | None = None
    bands: str | None = None
    settings: "JudgeSettings | None" = None
    exam: str | None = None
    labels: str | None = None
    name: str = "`rfc check`"
    noun: ClassVar[str] = "pairs"
    keeps_failures: ClassVar[bool] = True
    keeps_bad: ClassVar[bool] = True
    to_pipe: ClassVar[bool] = True
    shows_progress: ClassVar[bool] = True

    @property
    def asked(self) -> Asked | None:
        settings = self.settings
        if settings is None:
            return None
        return Asked(settings.judges[0], settings.max_connections, settings.judges)

    def facts(self) -> dict[str, Any]:
        self._check_sources(None)
        facts = {"polarity-model": self.polarity_model}
        bands = {} if self.bands is None else {"bands": {**load_bands(self.bands)}}
        return {**facts, **bands, **(self.settings.facts() if self.settings else {})}

    def answer_facts(self) -> dict[str, Any]:
        return {"judge-arg": self.settings.asked().get("judge_args") if self.settings else None}

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        row.fields = dict(with_text_id(row.fields))
        title, text = (row.fields.get(name) for name in ("title", "text"))
        if row.fields.get("original") is None and isinstance(text, str):
            whole = NewsItem.of(title if isinstance(title, str) else "", text).paragraph
            row.fields = {**row.fields, "original": whole}
        _check_fields(row.fields)

    def key(self, row: InputRow) -> str | None:
        return str(row.fields["id"])

    def repeated(self, output: StageOutput, row: InputRow) -> None:
        """Fail a row whose id came before."""
        problem = f"the id '{row.fields['id']}' came before, on line {(row.repeats or 0) + 1}"
        output.fail(row, InputError(problem, hint="give each pair an id of its own"))

    def check(
        self, rows: Sequence[InputRow], name: str, out: str | Path | None
    ) -> Iterable[tuple[int, str]]:
        """Read the exam and the labels before a judge is asked."""
        self._check_sources({str(row.fields["id"]) for row in rows})
        return ()

    def _check_sources(self, ids: set[str] | None) -> None:
        settings = self.settings
        if settings is not None and (self.exam or self.labels or settings.numerical == "decide"):
            from contrafact.families.rfc.sound import check_sources

            check_sources(self.exam, self.labels, settings, ids)

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> "list[CallEstimate]":
        """Return what it costs to judge the pairs that facts leave open."""
        if self.settings is None:
            return []
        judging = self.settings.judging()
        with Progress("facts", len(rows)) as shown:
            self._check(rows, each=shown.step)
        open_pairs = [row for row in rows if judging.asks(row.fields["manipulation"], row.value)]
        return self.settings.estimates(_texts(open_pairs), tokens=tokens)

    def most_calls(self, rows: Sequence[InputRow]) -> int | None:
        """Return how many calls there would be if facts left all pairs open."""
        if self.settings is None:
            return None
        judging = self.settings.judging()
        pairs = {pair[0]: pair for pair in _texts(rows)}
        prompts = {kind: len([*judging.prompts(*pair)]) for kind, pair in pairs.items()}
        asked = sum(prompts[row.fields["manipulation"]] for row in rows)
        return asked * len(self.settings.judges)

    @cached_property
    def _options(self) -> Options:
        return open_options(self.polarity_model, self.bands)

    def _check(self, rows: Iterable[InputRow], each: Callable[[], None] = lambda: None) -> None:
        """Set the value of each row that has none to its check by facts."""
        left = [row for row in rows if row.value is None]
        checks = check_pairs((row.fields for row in left), options=self._options)
        for row in left:
            row.value = next(checks)
            each()

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the work on rows: facts come first, checked together as rows may share texts."""
        _ = self._options
        judge_rows = super().open(wrap, at_once, each)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            await asyncio.to_thread(self._check, rows)
            return await judge_rows(rows)

        return work

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Return a function that adds a pair's check; judges decide pairs that facts leave open."""
        settings = self.settings
        if settings is None:

            async def keep(output: StageOutput, row: InputRow) -> None:
                self._add(output, row)

            return keep
        from contrafact.families.rfc.judging import settled

        judging, judges = settings.judging(), [wrap(model) for model in settings.models()]
        decides = settings.numerical == "decide"

        async def judge(output: StageOutput, row: InputRow) -> None:
            pair = kind, original, rewritten = _texts([row])[0]
            if judging.asks(kind, row.value):
                judged = await judging.judge(judges, *pair)
                row.value = settled(row.value, judged, kind, original, rewritten, decide=decides)
            self._add(output, row)

        return judge

    def _add(self, output: StageOutput, row: InputRow) -> None:
        kind, check = row.fields["manipulation"], row.value
        if self.settings is not None:
            from contrafact.families.rfc.sound import counted

            pair = counted(row.fields, check)
            output.counts[pair.kind, "signs", pair.signs] += 1
            if self.exam or self.labels:
                output.figures.append(pair)
        output.add(KEPT, row.index, _as_row(row.fields, check))
        outcome = {True: "pass", False: "fail", None: "undecided"}[check.passed]
        to_review = {finding.rule for finding in check.review}
        if check.passed is None:
            unread = {one.message for one in check.review if one.rule in _UNREAD}
            output.counts.update((kind, "open", why) for why in unread or {_MEANING})
        counts = ["pairs", outcome, *["review"] * bool(to_review)]
        counts += ["invalid"] * (NO_VERDICT in to_review)
        output.counts.update((kind, count) for count in counts)
        broken = {finding.rule for finding in check.violations}
        output.counts.update((kind, "rule", rule) for rule in broken)

    def failed(self, output: StageOutput, failure: Failure) -> None:
        row = failure.row
        if failure.cause:  # the pair stays undecided, and says why
            open_ = review(NO_VERDICT, f"the call of a judge failed: {failure.cause}")
            row.value = replace(row.value, review=(*row.value.review, open_))
            self._add(output, row)
            return
        bad = Check(False, (fail("bad-row", str(failure.error)),), ())
        output.add(KEPT, row.index, _as_row(row.fields, bad))

    def write(
        self, out: str | Path, pieces: Iterable[StageOutput], dialect: Dialect | None = None
    ) -> None:
        """Write the checks, without any other tables."""
        with atomic_path(out) as whole, whole.open("w", encoding="utf-8", newline="") as lines:
            for made in pieces:
                rows = made.table(KEPT)
                lines.writelines(replace_surrogates(json_line(row)) for row in rows)

    def sound(self, result: StageResult) -> "list[Sound]":
        """Return how many pairs are really sound, estimated from the exam, the labels or both."""
        if self.settings is None or not (self.exam or self.labels):
            return []
        from contrafact.families.rfc.sound import Counted, sound_of

        # Partitions count how often each set of verdicts occurred, without naming the pairs.
        pairs = result.made.figures or [
            Counted(kind, signs, f"{signs} {number}")
            for kind in MANIPULATIONS
            for signs, times in below(result.counts, kind, "signs").items()
            for number in range(times)
        ]
        return sound_of(pairs, self.exam, self.labels, self.settings)

    def show(self, result: StageResult) -> None:
        """Print the counts by manipulation and what is undecided; exit with 1 if pairs fail."""
        counts, rows = result.counts, []
        for kind in MANIPULATIONS:
            if counts[kind, "pairs"]:
                broken = below(counts, kind, "rule").most_common()
                rules = ", ".join(f"{rule} {count:,}" for rule, count in broken) or "–"
                rows.append([kind, *(f"{counts[kind, what]:,}" for what in _COLUMNS), rules])
        if rows:
            columns = ("manipulation", *_COLUMNS.values(), "rules broken (pairs)")
            show_table("Pairs by manipulation", columns, rows, stderr=True)
        self._show_sound(result)
        for reason in undecided_reasons(counts) if self.settings is None else ():
            typer.echo(reason, err=True)
        failed = sum(counts[kind, "fail"] for kind in MANIPULATIONS)
        result.code = max(result.code, int(failed > 0))

    def _show_sound(self, result: StageResult) -> None:
        rows = []
        for sound in self.sound(result):
            figure = "–"
            if not math.isnan(sound.estimate):
                figure = f"{sound.estimate:,.0f}"
                if sound.low < sound.high:
                    figure += f" ({sound.low:,.0f} to {sound.high:,.0f})"
            counted = (f"{sound.pairs:,}", f"{sound.passed:,}")
            rows.append([sound.kind, *counted, figure, sound.why or "–"])
        if rows:
            sources = (("labels", self.labels), ("the judge's exam", self.exam))
            by = " and ".join(name for name, path in sources if path)
            title = f"Pairs that are really sound, by {by} (95% intervals)"
            columns = ("manipulation", "pairs", "passed", "really sound", "what to know")
            show_table(title, columns, rows, stderr=True)


def undecided_reasons(counts: Counter[Any]) -> list[str]:
    """Return how many pairs are undecided for which reason, the most frequent ones first."""
    reasons = sum((below(counts, kind, "open") for kind in MANIPULATIONS), Counter[str]())
    return [
        f"{pairs:,} {'pair is' if pairs == 1 else 'pairs are'} undecided: {why}"
        for why, pairs in reasons.most_common(5)
    ]


def _texts(rows: Iterable[InputRow]) -> list[tuple[Any, str, str]]:
    return [
        (row.fields["manipulation"], row.fields["original"], row.fields["rewritten"])
        for row in rows
    ]


def _check_fields(fields: Mapping[str, Any]) -> None:
    for name in _FIELDS:
        value = fields.get(name)
        if value is None:
            raise InputError(f"there is no '{name}'", hint=f"give the row {', '.join(_FIELDS)}")
        if not isinstance(value, str):
            raise InputError(f"'{name}' is not text", hint="write it in quotes")
        if name in ("original", "rewritten") and len(value) > LONGEST:
            raise InputError(
                f"'{name}' has {len(value):,} characters, more than {LONGEST:,}",
                hint="give one paragraph of news",
            )
        if name != "rewritten" and not value.strip():
            raise InputError(f"'{name}' is blank", hint="fill it in, or leave the row out")
    if fields["manipulation"] not in MANIPULATIONS:
        raise InputError(
            f"there is no manipulation '{fields['manipulation'][:40]}'",
            hint=f"use one of {', '.join(MANIPULATIONS)}",
        )


def _as_row(fields: Mapping[str, Any], check: Check) -> dict[str, Any]:
    return {
        "id": fields.get("id"),
        "manipulation": fields.get("manipulation"),
        "passed": check.passed,
        "violations": [finding.as_row() for finding in check.violations],
        "review": [finding.as_row() for finding in check.review],
    }
