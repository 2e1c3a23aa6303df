"""Scenarios for the headlines of a table: every row back in order, with its two counterfactuals.

No evaluation is built around the calls; they still go through Inspect's model interface. Headlines
of a file, or of a partition past one machine, are worked on together.
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
from contrafact.families.finforce.data import bundled_shots, load_headlines
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
from contrafact.models.asking import Ask, failure_cause
from contrafact.models.estimate import (
    CallEstimate,
    judge_estimates,
    sampled,
    subject_estimates,
)
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

SAMPLED_BY = ("temperature", "top_p", "max_tokens")
_VERDICT_TOKENS = 12  # of a judge's reply, about
MAX_HEADLINE = 2_000
_NUMBER = re.compile(r"[\s\d.,:;/%$€£¥₹+()-]+")  # dates and amounts among them
_LINK = re.compile(r"\A\s*(?:https?://|www\.)\S+\s*", re.IGNORECASE)
_VERDICTS = tuple(f"{side}_{name}" for side in SIDES for name in CRITERIA)


@dataclass
class _Scenarios:
    """What is made of a row.

    Attributes:
        added: Our columns by their plain names.
        headline: The headline that it has; None where there is none to work on.
        text: The same, as it stands in the row.
        outcome: ``valid``; ``invalid``, the answer cannot be used; ``degenerate``, it can be read
            and a scenario is none; ``bad``, there is no headline; ``failed``, a call failed.
    """

    added: dict[str, Any]
    headline: Headline | None = None
    text: str = ""
    outcome: str = "bad"

    @property
    def key(self) -> tuple[str | None, ...]:
        """What two rows share that are asked about once: all that a method may read."""
        assert self.headline is not None
        text = " ".join(self.headline.text.split())
        return text, self.headline.description, self.headline.date


def column_names(added: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Return the name of each added column; ``contrafact_`` stands before what the input has."""
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

    For CSV, an apostrophe stands before what a model wrote that a spreadsheet would run as a
    formula.
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
    """Return the input's columns, then ours under the names they have in the result."""
    return {**row.fields, **{names[key]: value for key, value in row.value.added.items()}}


def _inner(fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what stands under ``input_item``, where the published supplement has headlines."""
    inner = fields.get("input_item")
    return inner if isinstance(inner, dict) else None


@dataclass(frozen=True)
class GenerateStage(Stage):
    """Headlines in, scenarios out.

    Attributes:
        columns: What the input calls a field's column, where they differ.
        shots_from: A pool of examples; our own if none.
        sampling: How the model decodes, where the user says.
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
        """The model that writes, and who judges."""
        return Asked(self.model, self.max_connections, self.judge_names, self.model_args)

    @cached_property
    def pack(self) -> PromptPack:
        """The prompt pack."""
        return open_pack(self.prompts)

    @cached_property
    def spec(self) -> str:
        """The method's name with the options that are not its defaults."""
        return METHODS.spec(self.method, dict(self.sampling))

    @cached_property
    def context(self) -> MethodContext:
        """What the method is made from, but for the headlines it is used on."""
        settings = RunSettings(
            task="finforce",
            models=(self.model,),
            seed=self.seed,
            options=FinforceOptions(shots=self.shots or 0),
        )
        pool = load_headlines(self.shots_from) if self.shots_from else bundled_shots()
        return MethodContext(settings, pack=self.pack, pool=pool)

    @cached_property
    def judging(self) -> Judging | None:
        """The rubrics, where judges are named."""
        return Judging(self.pack, structured=self.structured) if self.judges else None

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Inspect's names of the judges."""
        return tuple(judge_names(self.judges))

    def chosen(self, items: Sequence[Headline] = ()) -> Method[Headline, Generation]:
        """Return the method, for headlines that are worked on together."""
        return METHODS.make(self.spec, replace(self.context, items=items))

    def checked(self) -> Method[Headline, Generation]:
        """Return the method, having checked all that can be wrong before the first call."""
        chosen = self.chosen()
        check_verifiers("finforce", self.judge_names)
        _ = self.judging
        return chosen

    def facts(self) -> dict[str, Any]:
        """Return what decides the results, once `checked` has opened the templates."""
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
            **{option: without_secrets(dict(given)) for option, given in arguments if given},
        }

    def read(self, row: InputRow, notes: RowNotes | None = None) -> None:
        """Set the row's value to the headline, or to what is wrong with it."""
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
        given = (
            rename_row(row.fields, self.columns)[0] if inner is None else {**row.fields, **inner}
        )
        description, date = (
            None if value is None else replace_surrogates(str(value))
            for value in pick(fold_row(given), ("description", "date")).values()
        )
        row.value.text = str(text)
        row.value.headline = Headline.of(
            replace_surrogates(row.value.text), description=description, date=date
        )
        row.value.added["id"] = row.value.headline.id

    def _headline(self, fields: Mapping[str, Any]) -> tuple[object, bool]:
        """Return a row's headline, and whether it has a column for one."""
        inner = _inner(fields)
        given = fold_row(rename_row(fields, self.columns)[0] if inner is None else inner)
        column = column_of(given, "headline")
        return (None, False) if column is None else (given[column], True)

    def guard(self, out: str | Path, source: str | Path) -> None:
        """Refuse an output that is not written."""
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
        """Check the columns, and the cells of a workbook; return what is wrong with headlines."""
        for want, have in self.columns.items():
            if not any(rename_row(row.fields, {want: have})[1] for row in rows):
                raise no_column(have, want, rows[0].fields, name)
        if not any(self._headline(row.fields)[1] for row in rows):
            found = ", ".join(printable(str(key)) for key in list(rows[0].fields)[:8]) or "none"
            raise InputError(
                f"no column 'headline' (found: {found})",
                file=name,
                line=rows[0].line,
                hint="name the column 'headline', 'title' or 'text', or say --columns "
                "headline=NAME",
            )
        if out is not None and Path(out).suffix.lower() == ".xlsx":
            from contrafact.files.workbooks import check_cells

            check_cells([(row.line, row.fields) for row in rows], name, Path(out))
        return [(row.line, row.value.added["error"]) for row in rows if not row.value.headline]

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        """Return what the method and the judges are asked about the headlines."""
        headlines, chosen = _headlines(rows), self.checked()
        some = sampled(headlines)
        times = len(headlines) / max(1, len(some))
        plans = {chosen.name: [call for headline in some for call in chosen.plan(headline)]}
        found = subject_estimates([self.model], plans, {chosen.name: times}, tokens=tokens)
        if (judging := self.judging) is not None:
            asked = [
                text
                for headline in some
                for side in SIDES
                for text in judging.prompts(headline, side, headline.text)
            ]
            found += judge_estimates(
                self.judge_names, asked, times, reply_tokens=_VERDICT_TOKENS, tokens=tokens
            )
        return found

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the work; what is worked on together are the headlines of its rows."""
        if hasattr(chosen := self.checked(), "open"):  # it runs models itself
            chosen.open(self.model, dict(self.model_args))
        calls = call_config(self.max_connections, **self.bounds)
        config = calls.merge(GenerateConfig(**self.sampling))
        writer = wrap(open_model(self.model, config=config, **self.model_args))
        ask = Ask(writer, structured=self.structured)
        judges = [
            wrap(open_model(name, config=calls, **self.judge_args)) for name in self.judge_names
        ]

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made, free = StageOutput(figures=list(rows)), asyncio.Semaphore(at_once)
            batch = Batch([row.value.text for row in rows if row.value.headline])
            method = self.chosen(_headlines(rows))
            write = partial(self._written, method=method, ask=ask, judges=judges, batch=batch)
            asked: dict[tuple[str | None, ...], asyncio.Future[Mapping[str, Any]]] = {}

            async def settle(row: InputRow) -> None:
                value = row.value
                if value.headline is None:
                    return
                async with free:
                    if value.key not in asked:  # rows that repeat a headline share what it gets
                        asked[value.key] = asyncio.ensure_future(write(value.headline, value.key))
                    try:
                        value.added |= await asyncio.shield(asked[value.key])
                    except Exception as error:  # noqa: BLE001 - this row's call; a rerun asks again
                        cause = failure_cause(error)
                        value.outcome, value.added["error"] = "failed", f"call failed: {cause}"
                        made.fail(row, value.added["error"], cause=cause)
                    else:
                        bad = "degenerate" if value.added["degenerate"] else "invalid"
                        value.outcome = "valid" if value.added["valid"] else bad
                each()

            await asyncio.gather(*map(settle, rows))
            taken = {key for row in rows for key in row.fields}
            for row in rows:
                made.counts[row.value.outcome] += 1
                if row.value.outcome == "bad":
                    reason = {"reason": row.value.added["error"]}
                    made.add(REJECTS, row.index, {**row.fields, **reason})
                elif row.value.outcome != "failed":
                    merged = _merged(row, column_names(row.value.added, taken))
                    made.add(KEPT, row.index, merged)
            return made

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
        """Return our columns of a headline, but for what only its row can say."""

        async def write() -> Mapping[str, Any]:
            generation = await run_method(method, headline, ask, batch=batch)
            made: dict[str, Any] = {
                f"{side}_counterfactual": generation.texts[side] for side in SIDES
            }
            made["repairs"] = ", ".join(generation.repairs) or None
            none = [f"{side} {why}" for side, why in generation.degenerate.items()]
            made["degenerate"] = "; ".join(none) or None
            if generation.invalid:
                made["error"] = "; ".join(dict.fromkeys(generation.invalid.values()))
            if self.judging is not None:
                judged = await self.judging.judge(judges, headline, generation.texts)
                for side, verdicts in judged.items():
                    for name in CRITERIA:
                        made[f"{side}_{name}"] = verdicts.panel[name].passed
            made["valid"] = not (generation.invalid or generation.degenerate)
            return made

        if not hasattr(method, "open"):
            return await write()
        # A method that runs a model itself: what it writes is kept whole.
        kept: Mapping[str, Any] = await kept_piece(["scenarios", *key], write)
        return kept

    def failed(self, made: StageOutput, failure: Failure) -> None:
        """Keep a row whose call failed, which is among the figures."""

    def write(
        self, out: str | Path, pieces: Iterable[StageOutput], dialect: Dialect | None = None
    ) -> None:
        """Write all rows as a table: the input's columns, then ours."""
        rows: list[InputRow] = [row for made in pieces for row in made.figures]
        write_frame(result_frame(rows, Path(out).suffix.lower()), out, dialect)

    def show(self, result: StageResult) -> None:
        """Print what became of the rows, in a line."""
        counts = result.counts
        others = (f"{counts[key]:,} {name}" for key, name in OUTCOMES.items() if counts[key])
        rows = f"{result.given:,} {'row' if result.given == 1 else 'rows'}"
        written = f"; written to {result.out}" if result.out and not result.lines else ""
        outcomes = ", ".join([f"{counts['valid']:,} valid", *others])
        typer.echo(f"{rows}: {outcomes}{written}", err=True)


def _headlines(rows: Iterable[InputRow]) -> list[Headline]:
    """Return the headlines of rows, each once, with what came with them."""
    return list({row.value.key: row.value.headline for row in rows if row.value.headline}.values())


OUTCOMES: Mapping[str, str] = {
    "invalid": "with an answer that cannot be used",
    "degenerate": "with a scenario that is none (column 'degenerate')",
    "bad": "without a headline to work on",
    "failed": "failed",
}
"""What is said of rows that are not valid, by what came of them."""
