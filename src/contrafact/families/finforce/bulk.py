"""Scenarios in bulk: every row of a table back in order, with its two counterfactuals.

No evaluation is built around the calls; they still go through Inspect's model interface. What
decides the result, and the job that makes it, are the same for a file and for partitions of an
input past one machine (`contrafact.bulk`).

While the output ``scenarios.csv`` is unfinished, its journal (`contrafact.files.journal`) holds the
finished rows (`Piece`), and the models' answers (`contrafact.models.kept`): a row takes several.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspect_ai.model import GenerateConfig, Model

from contrafact.bulk.stage import (
    KEPT,
    REJECTS,
    Asked,
    InputRow,
    Stage,
    StageOutput,
    Work,
    Wrap,
)
from contrafact.errors import InputError
from contrafact.families.finforce.data import bundled_shots, load_headlines
from contrafact.families.finforce.generation import Generation, run_method
from contrafact.families.finforce.judging import Judging
from contrafact.families.finforce.methods import METHODS
from contrafact.families.finforce.settings import FinforceOptions
from contrafact.family.method import Method, MethodContext
from contrafact.family.settings import RunSettings, check_verifiers, judge_names
from contrafact.files.download import sha256_of
from contrafact.files.fields import (
    column_of,
    fold_row,
    guarded,
    is_absent,
    no_column,
    rename_row,
    value_of,
)
from contrafact.files.tables import Row
from contrafact.models.asking import Ask, failure_cause
from contrafact.models.opening import call_config, open_model
from contrafact.options import key_values
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import CRITERIA, SIDES, Headline
from contrafact.secrets import without_secrets
from contrafact.text.degenerate import Batch
from contrafact.text.delimit import printable, replace_surrogates

if TYPE_CHECKING:
    import pandas as pd

    from contrafact.families.finforce.commands.generate import GenerateOptions

__all__ = [
    "GenerateStage",
    "Piece",
    "bad_rows",
    "batch_of",
    "check_columns",
    "column_names",
    "headlines_of",
    "is_nested",
    "result_frame",
    "tally",
]

_SAMPLING = ("temperature", "top_p", "max_tokens")
MAX_HEADLINE = 2_000
_NUMBER = re.compile(r"[\s\d.,:;/%$€£¥₹+()-]+")  # dates and amounts among them
_LINK = re.compile(r"\A\s*(?:https?://|www\.)\S+\s*", re.IGNORECASE)
_VERDICTS = tuple(f"{side}_{name}" for side in SIDES for name in CRITERIA)


Piece = Mapping[str, Any]
"""What was made of a row, as the journal keeps it.

``added`` are our columns by their plain names. ``outcome`` is ``valid``; ``invalid``, the answer
cannot be used; ``degenerate``, it can be read and a scenario is none; ``bad``, there is no
headline; ``failed``, a call failed, which no journal keeps: a rerun tries again.
"""


@dataclass(frozen=True)
class BulkJob:
    """What to do with every row.

    ``columns`` says what the input calls a field's column, where they differ. ``batch`` has all
    headlines, for scenarios that are another row's. ``asked`` is what came of each headline: rows
    that repeat one share it.
    """

    method: Method[Headline, Generation]
    ask: Ask
    judging: Judging | None = None
    judges: tuple[Model, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    batch: Batch | None = None
    asked: dict[tuple[str | None, ...], "asyncio.Future[Mapping[str, Any]]"] = field(
        default_factory=dict
    )

    def added(self, *, headline: bool = False) -> list[str]:
        """Return the names of the columns added to the input's; ``headline``: see `is_nested`."""
        names = ["headline"] if headline else []
        names += ["id", *(f"{side}_counterfactual" for side in SIDES), "valid", "degenerate"]
        names += ["repairs", "error"]
        return names if self.judging is None else names + list(_VERDICTS)

    async def piece(self, row: Mapping[str, Any]) -> Piece:
        """Return what is made of a row; a call that failed raises."""
        added, headline = self._begun(row)
        if headline is None:
            return {"outcome": "bad", "added": added}
        key = _shared_key(headline)
        shared = self.asked.get(key)
        if shared is None:
            shared = self.asked[key] = asyncio.ensure_future(self._made(headline))
        added |= await asyncio.shield(shared)
        outcome = "valid" if added["valid"] else "degenerate" if added["degenerate"] else "invalid"
        return {"outcome": outcome, "added": added}

    def failed(self, row: Mapping[str, Any], cause: str) -> Piece:
        """Return what stands for a row whose call failed."""
        return {
            "outcome": "failed",
            "added": self._begun(row)[0] | {"error": f"call failed: {cause}"},
        }

    def _begun(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], Headline | None]:
        """Return a row's columns before anybody is asked, and its headline, if it has one."""
        text, _ = _headline_of(row, self.columns)
        nested = is_nested(row)
        added: dict[str, Any] = dict.fromkeys(self.added(headline=nested))
        added["valid"] = False
        if nested:
            added["headline"] = text if isinstance(text, str) else None
        if problem := row_problem(text):
            return added | {"error": problem}, None
        headline = _headline_in(row, str(text), self.columns)
        return added | {"id": headline.id}, headline

    async def _made(self, headline: Headline) -> Mapping[str, Any]:
        """Return our columns of a headline, but for what only its row can say."""
        generation = await run_method(self.method, headline, self.ask, batch=self.batch)
        made: dict[str, Any] = {f"{side}_counterfactual": generation.texts[side] for side in SIDES}
        made["repairs"] = ", ".join(generation.repairs) or None
        none = [f"{side} {why}" for side, why in generation.degenerate.items()]
        made["degenerate"] = "; ".join(none) or None
        if generation.invalid:
            made["error"] = "; ".join(dict.fromkeys(generation.invalid.values()))
        if self.judging is not None:
            judged = await self.judging.judge(self.judges, headline, generation.texts)
            for side, verdicts in judged.items():
                for name in CRITERIA:
                    made[f"{side}_{name}"] = verdicts.panel[name].passed
        made["valid"] = not (generation.invalid or generation.degenerate)
        return made


def is_nested(row: Mapping[str, Any]) -> bool:
    """Return whether a row has its headline inside ``input_item``, as the published supplement."""
    return isinstance(row.get("input_item"), dict)


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


def bad_rows(rows: Iterable[Row], columns: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of rows without a headline to work on, with the problem."""
    for line, row in rows:
        if problem := row_problem(_headline_of(row, columns)[0]):
            yield line, problem


def check_columns(
    rows: Sequence[tuple[int, Mapping[str, Any]]], file: str, columns: Mapping[str, str]
) -> None:
    """Check that some row has a headline's column, and those of ``columns``."""
    if not rows:
        raise InputError("the file holds no rows", file=file, hint="give at least one row")
    for want, have in columns.items():
        if not any(rename_row(row, {want: have})[1] for _, row in rows):
            raise no_column(have, want, rows[0][1], file)
    if not any(_headline_of(row, columns)[1] for _, row in rows):
        line, row = rows[0]
        found = ", ".join(printable(str(key)) for key in list(row)[:8]) or "none"
        raise InputError(
            f"no column 'headline' (found: {found})",
            file=file,
            line=line,
            hint="name the column 'headline', 'title' or 'text', or say --columns headline=NAME",
        )


def headlines_of(
    rows: Iterable[tuple[int, Mapping[str, Any]]], columns: Mapping[str, str]
) -> list[Headline]:
    """Return the headlines of rows that can be worked on, each once, with what came with them."""
    texts = ((row, _headline_of(row, columns)[0]) for _, row in rows)
    found = [_headline_in(row, str(text), columns) for row, text in texts if not row_problem(text)]
    return list({_shared_key(headline): headline for headline in found}.values())


def batch_of(rows: Iterable[tuple[int, Mapping[str, Any]]], columns: Mapping[str, str]) -> Batch:
    """Return the headlines of rows, those that can be worked on."""
    texts = (_headline_of(row, columns)[0] for _, row in rows)
    return Batch([str(text) for text in texts if not row_problem(text)])


def _merged(row: Mapping[str, Any], piece: Piece, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the input's columns, then ours under the names they have in the result."""
    return {**row, **{names[key]: value for key, value in piece["added"].items()}}


def result_frame(
    rows: Sequence[Row], pieces: Sequence[Piece], names: Mapping[str, str], *, suffix: str
) -> "pd.DataFrame":
    """Return the results as a table: the input's columns in their order, then ours (``names``).

    For CSV, an apostrophe stands before what a model wrote that a spreadsheet would run as a
    formula.
    """
    import pandas as pd

    columns = [*dict.fromkeys(key for _, row in rows for key in row), *names.values()]
    records = [_merged(row, piece, names) for (_, row), piece in zip(rows, pieces, strict=True)]
    frame = pd.DataFrame(records, columns=columns, dtype=object)
    for plain, name in names.items():
        kind = "boolean" if plain == "valid" or plain in _VERDICTS else "string"
        frame[name] = frame[name].astype(kind)  # type: ignore[call-overload]
    if suffix in (".csv", ".tsv"):
        for plain, name in names.items():
            if plain.startswith(SIDES) and frame[name].dtype == "string":
                frame[name] = frame[name].map(guarded, na_action="ignore")
    return frame


def _shared_key(headline: Headline) -> tuple[str | None, ...]:
    """Return what two rows share that are asked about once: all that a method may read."""
    return " ".join(headline.text.split()), headline.description, headline.date


def _headline_in(row: Mapping[str, Any], text: str, columns: Mapping[str, str]) -> Headline:
    item = row.get("input_item")
    given = fold_row({**row, **item} if isinstance(item, dict) else rename_row(row, columns)[0])
    description, date = (
        None if (value := value_of(given, name)) is None else replace_surrogates(str(value))
        for name in ("description", "date")
    )
    return Headline.of(replace_surrogates(text), description=description, date=date)


def _headline_of(row: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[object, bool]:
    """Return a row's headline, and whether it has a column for one."""
    given = fold_row(row["input_item"] if is_nested(row) else rename_row(row, columns)[0])
    column = column_of(given, "headline")
    return (None, False) if column is None else (given[column], True)


@dataclass(frozen=True)
class GenerateStage(Stage):
    """Headlines in, scenarios out, by the options of the command, its paths whole."""

    options: "GenerateOptions"
    columns: Mapping[str, str] = field(default_factory=dict)
    name: str = "generation"

    @property
    def asked(self) -> Asked:
        """The model that writes, and who judges."""
        options = self.options
        return Asked(options.model, options.max_connections, self.judge_names, self._model_args)

    @property
    def _model_args(self) -> dict[str, Any]:
        return key_values("-M", self.options.model_args)

    @property
    def _judge_args(self) -> dict[str, Any]:
        return key_values("--judge-arg", self.options.judge_arg)

    @cached_property
    def pack(self) -> PromptPack:
        """The prompt pack."""
        return open_pack(self.options.prompts)

    @cached_property
    def spec(self) -> str:
        """The method's name with the options that are not its defaults."""
        return METHODS.spec(self.options.method, self._sampling)

    @cached_property
    def context(self) -> MethodContext:
        """What the method is made from, but for the headlines it is used on."""
        options = self.options
        settings = RunSettings(
            task="finforce",
            models=(options.model,),
            seed=options.seed,
            options=FinforceOptions(shots=options.shots or 0),
        )
        return MethodContext(
            settings,
            pack=self.pack,
            pool=load_headlines(options.shots_from) if options.shots_from else bundled_shots(),
        )

    @cached_property
    def judging(self) -> Judging | None:
        """The rubrics, where judges are named."""
        return (
            Judging(self.pack, structured=self.options.structured) if self.options.judge else None
        )

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Inspect's names of the judges."""
        return tuple(judge_names(self.options.judge or ()))

    def chosen(self, items: Sequence[Headline] = ()) -> Method[Headline, Generation]:
        """Return the method, for headlines that are worked on together."""
        return METHODS.make(self.spec, replace(self.context, items=items))

    def check(self) -> Method[Headline, Generation]:
        """Return the method, having checked all that can be wrong before the first call."""
        chosen = self.chosen()
        check_verifiers("finforce", self.judge_names)
        _ = self.judging
        return chosen

    def facts(self) -> dict[str, Any]:
        """Return what decides the results, once `check` has opened the templates."""
        self.check()
        options = self.options
        arguments = {"-M": self._model_args, "--judge-arg": self._judge_args}
        return {
            "method": self.spec,
            "model": options.model,
            "judge": list(options.judge or ()),
            "shots": options.shots,
            "shots-from": sha256_of(options.shots_from) if options.shots_from else None,
            "seed": options.seed,
            "prompts": self.pack.used_hash,
            "structured": options.structured,
            **{name.replace("_", "-"): getattr(options, name) for name in _SAMPLING},
            **({"columns": dict(self.columns)} if self.columns else {}),
            **{option: without_secrets(dict(own)) for option, own in arguments.items() if own},
        }

    def job(
        self, chosen: Method[Headline, Generation], wrap: Wrap = lambda model: model
    ) -> BulkJob:
        """Return the job, with every model open."""
        if hasattr(chosen, "open"):  # it runs models itself
            chosen.open(self.options.model, self._model_args)
        calls = call_config(self.options.max_connections, **self.options.bounds)
        config = calls.merge(GenerateConfig(**self._sampling))
        writer = wrap(open_model(self.options.model, config=config, **self._model_args))
        return BulkJob(
            method=chosen,
            ask=Ask(writer, structured=self.options.structured),
            judging=self.judging,
            judges=tuple(
                wrap(open_model(name, config=calls, **self._judge_args))
                for name in self.judge_names
            ),
            columns=self.columns,
        )

    def open(self, wrap: Wrap, at_once: int) -> Work:
        """Return the work on a partition; what is worked on together are its headlines."""
        opened = self.job(self.check(), wrap)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            given = [(row.line, row.fields) for row in rows]
            chosen = self.chosen(headlines_of(given, self.columns))
            batch = batch_of(given, self.columns)
            job = replace(opened, method=chosen, batch=batch, asked={})
            taken = {key for row in rows for key in row.fields}
            made, free = StageOutput(), asyncio.Semaphore(at_once)

            async def one(row: InputRow) -> Piece | None:
                async with free:
                    try:
                        return await job.piece(row.fields)
                    except Exception as error:  # noqa: BLE001 - this row's call; a rerun asks again
                        made.counts["failed"] += 1
                        made.fail(row, f"call failed: {failure_cause(error)}", retry=True)
                        return None

            for row, piece in zip(rows, await asyncio.gather(*map(one, rows)), strict=True):
                if piece is None:
                    continue
                made.counts[piece["outcome"]] += 1
                if piece["outcome"] == "bad":
                    reason = {"reason": piece["added"]["error"]}
                    made.add(REJECTS, row.index, {**row.fields, **reason})
                else:
                    names = column_names(piece["added"], taken)
                    made.add(KEPT, row.index, _merged(row.fields, piece, names))
            return made

        return work

    @property
    def _sampling(self) -> dict[str, Any]:
        values = {name: getattr(self.options, name) for name in _SAMPLING}
        return {name: value for name, value in values.items() if value is not None}


OUTCOMES: Mapping[str, str] = {
    "invalid": "with an answer that cannot be used",
    "degenerate": "with a scenario that is none (column 'degenerate')",
    "bad": "without a headline to work on",
    "failed": "failed",
}
"""What is said of rows that are not valid, by what came of them."""


def tally(rows: int, counts: Counter[str]) -> str:
    """Return what became of so many rows, in a line."""
    others = (f"{counts[key]:,} {name}" for key, name in OUTCOMES.items() if counts[key])
    return f"{rows:,} {'row' if rows == 1 else 'rows'}: " + ", ".join(
        [f"{counts['valid']:,} valid", *others]
    )
