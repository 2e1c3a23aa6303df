"""Scenarios for the headlines of a table: every row, in order, with its two counterfactuals.

The calls go through Inspect's model interface, without an evaluation around them. The headlines of
a file, or of a partition on Ray, are processed together.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer
from inspect_ai.model import GenerateConfig, Model

from contrafact.errors import InputError
from contrafact.families.finforce.data import SHOTS, load_headlines
from contrafact.families.finforce.generation import Generation, run_method
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.records import CRITERIA, SIDES, Headline
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.method import Method, MethodContext
from contrafact.family.settings import RunSettings, check_verifiers, judge_names
from contrafact.files.delimited import Dialect
from contrafact.files.download import sha256_of
from contrafact.files.fields import (
    column_of,
    fold_row,
    guarded,
    is_absent,
    no_column,
    pick,
    rename_row,
)
from contrafact.files.tables import TABLE_SUFFIXES, RowNotes, write_frame
from contrafact.files.workbooks import check_cells
from contrafact.models.asking import Ask, failure_cause
from contrafact.models.estimate import CallEstimate, judge_estimates, sampled, subject_estimates
from contrafact.models.kept import kept_piece
from contrafact.models.opening import call_config, open_model
from contrafact.prompts import PromptPack, open_pack
from contrafact.redaction import without_secrets
from contrafact.stages.stage import (
    KEPT,
    REJECTS,
    Asked,
    Failure,
    InputRow,
    Stage,
    StageOutput,
    StageResult,
    Work,
    Wrap,
)
from contrafact.text.degenerate import Batch
from contrafact.text.delimit import printable, replace_surrogates

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["result_frame"]

SAMPLED_BY = ("temperature", "top_p", "max_tokens")
_VERDICT_TOKENS = 12  # of a judge's reply, roughly
MAX_HEADLINE = 2_000
_NUMBER = re.compile(r"[\s\d.,:;/%$€£¥₹+()-]+")  # dates and amounts among them
_LINK = re.compile(r"\A\s*(?:https?://|www\.)\S+\s*", re.IGNORECASE)
_VERDICTS = tuple(f"{side}_{name}" for side in SIDES for name in CRITERIA)


@dataclass
class _Scenarios:
    """A row's headline and result.

    Attributes:
        added: The values of the columns we add, by the columns' plain names.
        headline: The headline; None if the row has no usable one.
        outcome: ``valid``; ``invalid``, the answer cannot be used; ``degenerate``, it can be read
            but a text is no scenario; ``bad``, there is no headline; ``failed``, a call failed.
    """

    added: dict[str, Any]
    headline: Headline | None = None
    outcome: str = "bad"

    @property
    def key(self) -> tuple[str | None, ...]:
        """All fields that a method may read: rows with equal keys are asked about once."""
        assert self.headline is not None
        text = " ".join(self.headline.text.split())
        return text, self.headline.description, self.headline.date


def column_names(added: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return the name of each added column, with ``contrafact_`` in front if it is taken."""
    names = {}
    for plain in added:
        name = plain
        while name in taken:
            name = f"contrafact_{name}"
        names[plain] = name
    return names


def row_problem(text: object) -> str | None:
    if isinstance(text, str) and not text.strip():
        return "the headline is empty"
    if isinstance(text, str) and is_absent(text):
        return f"there is no headline: the cell says {text.strip()}"
    if is_absent(text):
        return "there is no headline"
    if not isinstance(text, str):
        return "the headline is not text"
    if not printable(text).strip():
        return "the headline has no visible character"
    if _NUMBER.fullmatch(text):
        return "the headline is a number"
    if _LINK.fullmatch(text):
        return "the headline is a link, and links are not followed"
    if len(text) > MAX_HEADLINE:
        return f"the headline is over {MAX_HEADLINE:,} characters ({len(text):,})"
    return None


def result_frame(rows: Sequence[InputRow], suffix: str) -> "pd.DataFrame":
    """Return the results as a table: the input's columns in their order, then ours.

    For CSV, model-written text that a spreadsheet would run as a formula gets an apostrophe in
    front.
    """
    import pandas as pd

    taken = dict.fromkeys(key for row in rows for key in row.fields)
    added = ["headline"] if any(_inner(row.fields) for row in rows) else []
    added += [name for row in rows for name in row.value.added]
    names = column_names(dict.fromkeys(added), taken)
    frame = pd.DataFrame(
        [_merged(row, names) for row in rows], columns=[*taken, *names.values()], dtype=object
    )
    for plain, name in names.items():
        kind = "boolean" if plain == "valid" or plain in _VERDICTS else "string"
        frame[name] = frame[name].astype(kind)  # type: ignore[call-overload]
    if suffix in (".csv", ".tsv"):
        for plain, name in names.items():
            if plain.startswith(SIDES) and frame[name].dtype == "string":
                frame[name] = frame[name].map(guarded, na_action="ignore")
    return frame


def _merged(row: InputRow, names: Mapping[str, str]) -> dict[str, Any]:
    return {**row.fields, **{names[key]: value for key, value in row.value.added.items()}}


def _inner(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the object in ``input_item``, where the published supplement has its headlines."""
    inner = fields.get("input_item")
    return inner if isinstance(inner, dict) else None


@dataclass(frozen=True)
class GenerateStage(Stage):
    """Headlines in, scenarios out.

    Attributes:
        columns: The input's name for each field that has another name there.
        shots_from: A file of examples; our own examples if None.
        sampling: The decoding settings that the user gives.
    """

    model: str
    method: str = "zero-shot"
    judges: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    shots: int | None = None
    shots_from: str | None = None
    seed: int = 0
    prompts: str | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    structured: bool = True
    model_args: Mapping[str, Any] = field(default_factory=dict)
    judge_args: Mapping[str, Any] = field(default_factory=dict)
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    limit: int | None = None
    name: str = "generation"
    journal: ClassVar[Literal["answers", "output"]] = "output"
    whole: ClassVar[bool] = True
    decimals: ClassVar[bool] = False
    keeps_failures: ClassVar[bool] = True
    to_pipe: ClassVar[bool] = True

    @property
    def asked(self) -> Asked:
        return Asked(self.model, self.max_connections, self.judge_names, self.model_args)

    @cached_property
    def pack(self) -> PromptPack:
        return open_pack(self.prompts)

    @cached_property
    def spec(self) -> str:
        """The method's name with the options that differ from its defaults."""
        return METHODS.spec(self.method, dict(self.sampling))

    @cached_property
    def context(self) -> MethodContext:
        """The settings, prompts and examples from which the method is made, without headlines."""
        settings = RunSettings(
            task="finforce",
            models=(self.model,),
            seed=self.seed,
            options=FinforceOptions(shots=(self.shots,) if self.shots else ()),
        )
        shots = self.shots_from or self.pack.examples(SHOTS)
        pool = load_headlines(shots)
        return MethodContext(settings, pack=self.pack, pool=pool)

    @cached_property
    def judging(self) -> Judging | None:
        return Judging(self.pack, structured=self.structured) if self.judges else None

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Inspect's names of the judges."""
        return tuple(judge_names(self.judges))

    def chosen(self, items: Sequence[Headline] = ()) -> Method[Headline, Generation]:
        """Return the method for headlines that are processed together."""
        return METHODS.make(self.spec, replace(self.context, items=items))

    def checked(self) -> Method[Headline, Generation]:
        """Return the method; raise an error for any problem found before the first call."""
        chosen = self.chosen()
        check_verifiers("finforce", self.judge_names)
        _ = self.judging
        return chosen

    def facts(self) -> dict[str, Any]:
        self.checked()
        arguments = {"-M": self.model_args, "--judge-arg": self.judge_args}.items()
        return {
            "method": self.spec,
            "model": self.model,
            "judge": list(self.judges),
            "shots": self.shots,
            "shots-from": sha256_of(self.shots_from) if self.shots_from else None,
            "seed": self.seed,
            "prompts": self.pack.used_hash,
            "structured": self.structured,
            **{name.replace("_", "-"): self.sampling.get(name) for name in SAMPLED_BY},
            **({"columns": dict(self.columns)} if self.columns else {}),
            **{option: without_secrets(dict(values)) for option, values in arguments if values},
        }

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        """Set the row's value: its headline, or why it has none."""
        inner, (text, _) = _inner(row.fields), self._headline(row.fields)
        sides = (f"{side}_counterfactual" for side in SIDES)
        names = ("id", *sides, "valid", "degenerate", "repairs", "error")
        added: dict[str, Any] = {} if inner is None else {"headline": None}
        added |= dict.fromkeys((*names, *(_VERDICTS if self.judges else ())))
        if inner is not None and isinstance(text, str):
            added["headline"] = text
        row.value = _Scenarios(added | {"valid": False})
        if problem := row_problem(text):
            row.value.added["error"] = problem
            return
        fields = (
            rename_row(row.fields, self.columns)[0] if inner is None else {**row.fields, **inner}
        )
        description, date = (
            None if value is None else replace_surrogates(str(value))
            for value in pick(fold_row(fields), ("description", "date")).values()
        )
        whole = replace_surrogates(str(text))
        row.value.headline = Headline.of(whole, description=description, date=date)
        row.value.added["id"] = row.value.headline.id

    def _headline(self, fields: Mapping[str, Any]) -> tuple[object, bool]:
        """Return a row's headline, and whether it has a column for one."""
        inner = _inner(fields)
        folded = fold_row(rename_row(fields, self.columns)[0] if inner is None else inner)
        column = column_of(folded, "headline")
        return (None, False) if column is None else (folded[column], True)

    def guard(self, out: str | Path, source: str | Path) -> None:
        if str(out).endswith("/") or Path(out).is_dir():
            raise InputError("is a folder", file=out, hint="name a file in it")
        if Path(out).suffix.lower() not in TABLE_SUFFIXES:
            raise InputError(
                "the result is not written in that format",
                file=out,
                hint=f"name it {', '.join(TABLE_SUFFIXES)}, or - for JSON lines on standard output",
            )

    def check(
        self, rows: Sequence[InputRow], name: str, out: str | Path | None
    ) -> Iterable[tuple[int, str]]:
        """Check the columns, and a workbook's cells; return the faults of headlines by line."""
        for want, have in self.columns.items():
            if not any(rename_row(row.fields, {want: have})[1] for row in rows):
                raise no_column(have, want, rows[0].fields, name)
        if not any(self._headline(row.fields)[1] for row in rows):
            columns = ", ".join(printable(str(key)) for key in list(rows[0].fields)[:8]) or "none"
            raise InputError(
                f"no column 'headline' (found: {columns})",
                file=name,
                line=rows[0].line,
                hint="name the column 'headline', 'title' or 'text', or pass --columns "
                "headline=NAME",
            )
        if out is not None and Path(out).suffix.lower() == ".xlsx":
            check_cells([(row.line, row.fields) for row in rows], name, Path(out))
        return [(row.line, row.value.added["error"]) for row in rows if not row.value.headline]

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        headlines, chosen = _headlines(rows), self.checked()
        some = sampled(headlines)
        times = len(headlines) / max(1, len(some))
        plans = {chosen.name: [call for headline in some for call in chosen.plan(headline)]}
        calls = subject_estimates([self.model], plans, {chosen.name: times}, tokens=tokens)
        if (judging := self.judging) is not None:
            asked = [
                text
                for headline in some
                for side in SIDES
                for text in judging.prompts(headline, side, headline.text)
            ]
            calls += judge_estimates(
                self.judge_names, asked, times, reply_tokens=_VERDICT_TOKENS, tokens=tokens
            )
        return calls

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        if hasattr(chosen := self.checked(), "open"):  # a method that runs models itself
            chosen.open(self.model, dict(self.model_args))
        calls = call_config(self.max_connections, **self.bounds)
        config = calls.merge(GenerateConfig(**self.sampling))
        writer = wrap(open_model(self.model, config=config, **self.model_args))
        ask = Ask(writer, structured=self.structured)
        judges = [
            wrap(open_model(name, config=calls, **self.judge_args)) for name in self.judge_names
        ]

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            output, free = StageOutput(figures=list(rows)), asyncio.Semaphore(at_once)
            batch = Batch([row.value.headline.text for row in rows if row.value.headline])
            method = self.chosen(_headlines(rows))
            write = partial(self._written, method=method, ask=ask, judges=judges, batch=batch)
            asked: dict[tuple[str | None, ...], asyncio.Future[Mapping[str, Any]]] = {}

            async def settle(row: InputRow) -> None:
                value = row.value
                if value.headline is None:
                    return
                async with free:
                    if value.key not in asked:  # rows that repeat a headline share its result
                        asked[value.key] = asyncio.ensure_future(write(value.headline, value.key))
                    try:
                        value.added |= await asyncio.shield(asked[value.key])
                    except Exception as error:  # noqa: BLE001 - one row fails; a rerun asks again
                        cause = failure_cause(error)
                        value.outcome, value.added["error"] = "failed", f"call failed: {cause}"
                        output.fail(row, value.added["error"], cause=cause)
                    else:
                        bad = "degenerate" if value.added["degenerate"] else "invalid"
                        value.outcome = "valid" if value.added["valid"] else bad
                each()

            await asyncio.gather(*map(settle, rows))
            taken = {key for row in rows for key in row.fields}
            for row in rows:
                output.counts[row.value.outcome] += 1
                if row.value.outcome == "bad":
                    reason = {"reason": row.value.added["error"]}
                    output.add(REJECTS, row.index, {**row.fields, **reason})
                elif row.value.outcome != "failed":
                    merged = _merged(row, column_names(row.value.added, taken))
                    output.add(KEPT, row.index, merged)
            return output

        return work

    async def _written(
        self,
        headline: Headline,
        key: Sequence[str | None],
        *,
        method: Method[Headline, Generation],
        ask: Ask,
        judges: Sequence[Model],
        batch: Batch,
    ) -> Mapping[str, Any]:
        """Return the columns we add for a headline, except those that depend on its row."""

        async def write() -> Mapping[str, Any]:
            generation = await run_method(method, headline, ask, batch=batch)
            columns: dict[str, Any] = {
                f"{side}_counterfactual": generation.texts[side] for side in SIDES
            }
            columns["repairs"] = ", ".join(generation.repairs) or None
            degenerate = [f"{side} {why}" for side, why in generation.degenerate.items()]
            columns["degenerate"] = "; ".join(degenerate) or None
            if generation.invalid:
                columns["error"] = "; ".join(dict.fromkeys(generation.invalid.values()))
            if self.judging is not None:
                judged = await self.judging.judge(judges, headline, generation.texts)
                for side, verdicts in judged.items():
                    for name in CRITERIA:
                        columns[f"{side}_{name}"] = verdicts.panel[name].passed
            columns["valid"] = not (generation.invalid or generation.degenerate)
            return columns

        if not hasattr(method, "open"):
            return await write()
        # A method that runs a model itself has no calls to keep for a rerun: its result is kept.
        kept: Mapping[str, Any] = await kept_piece(["scenarios", *key], write)
        return kept

    def failed(self, made: StageOutput, failure: Failure) -> None:
        """Add nothing: a row whose call failed is among the figures already."""

    def write(
        self, out: str | Path, pieces: Iterable[StageOutput], dialect: Dialect | None = None
    ) -> None:
        rows: list[InputRow] = [row for output in pieces for row in output.figures]
        write_frame(result_frame(rows, Path(out).suffix.lower()), out, dialect)

    def show(self, result: StageResult) -> None:
        counts = result.counts
        others = (f"{counts[key]:,} {name}" for key, name in OUTCOMES.items() if counts[key])
        rows = f"{result.given:,} {'row' if result.given == 1 else 'rows'}"
        written = f"; written to {result.out}" if result.out and not result.lines else ""
        outcomes = ", ".join([f"{counts['valid']:,} valid", *others])
        typer.echo(f"{rows}: {outcomes}{written}", err=True)


def _headlines(rows: Iterable[InputRow]) -> list[Headline]:
    return list({row.value.key: row.value.headline for row in rows if row.value.headline}.values())


OUTCOMES: Mapping[str, str] = {
    "invalid": "with an answer that cannot be used",
    "degenerate": "with a text that is no scenario (column 'degenerate')",
    "bad": "without a usable headline",
    "failed": "failed",
}
"""The words for rows of each outcome other than valid."""
