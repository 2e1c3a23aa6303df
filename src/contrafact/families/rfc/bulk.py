"""The stages that build a benchmark, past one machine: the very functions of the commands.

RFC-BENCH, section 2.2, over partitions of any number of rows (`contrafact.bulk`). A stage says what
decides its results (``facts``), what names a row (``key``), and how partitions are worked on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contrafact.bulk.stage import KEPT, LEDGER, REJECTS, Asked, InputRow, StageOutput
from contrafact.corpus.news_items import NewsRow, item_of
from contrafact.errors import InputError
from contrafact.models.asking import failure_cause
from contrafact.models.opening import call_config, open_model
from contrafact.prompts import open_pack

if TYPE_CHECKING:
    from inspect_ai.model import Model

    from contrafact.corpus.ledger import LedgerEvent
    from contrafact.families.rfc.checking import JudgeSettings
    from contrafact.families.rfc.contracts import Check
    from contrafact.families.rfc.contracts.pair_check import PairRow
    from contrafact.families.rfc.pipeline.label import PerArticle
    from contrafact.families.rfc.pipeline.model_rewriter import WriterSettings
    from contrafact.families.rfc.pipeline.stages import StageRow

__all__ = [
    "APART",
    "BucketStage",
    "CheckStage",
    "JudgedCheckStage",
    "LabelStage",
    "ModelLabelStage",
    "ModelRewriteStage",
    "RewriteStage",
]

APART = "apart"

Work = Callable[[Sequence[InputRow]], StageOutput]
AskingWork = Callable[[Sequence[InputRow]], Awaitable[StageOutput]]


@dataclass(frozen=True)
class BucketStage:
    """``rfc bucket``: articles in, candidates for the four manipulations out."""

    titles_alone: bool = False
    name: str = "`rfc bucket`"
    partition_rows: int = 5_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return {"titles-alone": self.titles_alone}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the article's id: rows with the same title and summary have the same."""
        return item_of(fields).id

    def open(self) -> Work:
        """Return the work."""
        return self._work

    def _work(self, rows: Sequence[InputRow]) -> StageOutput:
        from contrafact.families.rfc.pipeline.bucket import bucket_news, repeated_row

        made = StageOutput()
        index = {row.line: row.index for row in rows}
        given = []
        for row in rows:
            news = NewsRow(row.line, item_of(row.fields), row.fields)
            if row.repeats is None:
                given.append(news)
                continue
            made.add(REJECTS, row.index, repeated_row(news, row.repeats + 1))
            made.counts["repeated"] += 1
        result = bucket_news(given, titles_alone=self.titles_alone)
        places = {one.item.id: index[one.line] for one in given}
        for table, found in ((KEPT, result.rows), (REJECTS, result.dropped)):
            for one in found:
                made.add(table, places[one["id"]], one)
        for event in result.events:
            _log(made, places[event.item_id], event)
        made.counts.update(result.counts)
        return made


@dataclass(frozen=True)
class CheckStage:
    """``rfc check``: pairs in, checks out; a row that cannot be checked is a failure."""

    rules: tuple[str, ...] = ()
    polarity_model: str | None = None
    bands: str | None = None
    name: str = "`rfc check`"
    partition_rows: int = 5_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        from contrafact.families.rfc.labels import load_bands

        found = {"rule": list(self.rules), "polarity-model": self.polarity_model}
        return found if self.bands is None else found | {"bands": {**load_bands(self.bands)}}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return what names a row, which no other may have."""
        return str(fields["id"])

    def open(self) -> Work:
        """Return the work."""
        check = self._checker()

        def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            for row, pair, found in check(made, rows):
                _checked(made, row, pair, found)
            return made

        return work

    def _checker(
        self,
    ) -> Callable[[StageOutput, Sequence[InputRow]], "list[tuple[InputRow, PairRow, Check]]"]:
        from contrafact.families.rfc.contracts.pair_check import (
            PairRow,
            check_pairs,
            open_options,
            pair_problem,
        )

        options = open_options(self.rules, self.polarity_model, self.bands)

        def check(
            made: StageOutput, rows: Sequence[InputRow]
        ) -> "list[tuple[InputRow, PairRow, Check]]":
            good = []
            for row in rows:
                pair = PairRow(row.line, row.fields)
                if (problem := pair_problem(pair, "")) is not None:
                    made.fail(row, f"{problem.problem}; {problem.hint}")
                elif row.repeats is not None:
                    first = f"the id '{row.fields['id']}' came before, on line {row.repeats + 1}"
                    made.fail(row, f"{first}; give each pair an id of its own")
                else:
                    good.append((row, pair))
            checks = check_pairs((pair.fields for _, pair in good), options=options)
            return [(*one, found) for one, found in zip(good, checks, strict=True)]

        return check


@dataclass(frozen=True)
class JudgedCheckStage(CheckStage):
    """``rfc check`` with judges, who are asked about pairs that facts leave open."""

    settings: "JudgeSettings" = field(kw_only=True)
    partition_rows: int = 500

    @property
    def asked(self) -> Asked:
        """The judges, the first of whom stands for all."""
        return Asked(self.settings.judges[0], self.settings.max_connections)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return {**super().facts(), **self.settings.facts()}

    def open_models(self, wrap: "Callable[[Model], Model]", at_once: int) -> AskingWork:
        """Return the work, with the models open."""
        from contrafact.families.rfc.checking import judge_pairs
        from contrafact.families.rfc.sound import signs_of

        check = self._checker()
        judging = self.settings.judging()
        judges = [wrap(model) for model in self.settings.models()]

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            good = await asyncio.to_thread(check, made, rows)
            pairs = [(pair.fields, found) for _, pair, found in good]
            judged = await judge_pairs(judging, judges, pairs, at_once=at_once)
            for (row, pair, _), one in zip(good, judged, strict=True):
                if one.failure is not None:
                    made.fail(row, f"the call of a judge failed: {one.failure}", retry=True)
                    continue
                _checked(made, row, pair, one.check)
                kind = pair.fields["manipulation"]
                made.counts[f"{kind}|signs|{signs_of(kind, one)}"] += 1
            return made

        return work


class _Assigned:
    """A stage whose rows are articles with the manipulation that they are to get."""

    def key(self, fields: dict[str, Any]) -> str | None:
        return f"{item_of(fields).id} {fields.get('manipulation')}"


@dataclass(frozen=True)
class RewriteStage(_Assigned):
    """``rfc rewrite`` by rules: labelled articles in, pairs out."""

    seed: int = 0
    attempts: int = 16
    bands: str | None = None
    name: str = "`rfc rewrite`"
    partition_rows: int = 1_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        from contrafact.families.rfc.pipeline.rewrite import rule_facts

        return rule_facts(self.seed, self.attempts, self.bands)

    def open(self) -> Work:
        """Return the work."""
        from contrafact.families.rfc.labels import load_bands
        from contrafact.families.rfc.pipeline.rewrite import assignment_of, rewrite_by_rules

        bands = None if self.bands is None else load_bands(self.bands)

        def one(made: StageOutput, row: InputRow) -> None:
            assignment = assignment_of(row.fields, row.line)
            outcome = rewrite_by_rules(
                assignment, seed=self.seed, attempts=self.attempts, bands=bands
            )
            _rewritten(made, row, assignment, outcome, "rules")

        return _each(one)


@dataclass(frozen=True)
class ModelRewriteStage(_Assigned):
    """``rfc rewrite`` by a model."""

    settings: "WriterSettings"
    name: str = "`rfc rewrite`"
    partition_rows: int = 500

    @property
    def asked(self) -> Asked:
        """The model that writes, and who judges."""
        judges = () if self.settings.judging is None else self.settings.judging.judges
        return Asked(self.settings.model, self.settings.max_connections, judges)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return self.settings.facts()

    def open_models(self, wrap: "Callable[[Model], Model]", at_once: int) -> AskingWork:
        """Return the work, with the models open."""
        from contrafact.families.rfc.pipeline.rewrite import assignment_of

        writer = self.settings.open(wrap)

        async def one(made: StageOutput, row: InputRow) -> None:
            assignment = assignment_of(row.fields, row.line)
            try:
                outcome = await writer.rewrite(assignment)
            except Exception as error:  # noqa: BLE001 - this row's call, which a rerun makes again
                made.fail(row, f"a call failed: {failure_cause(error)}", retry=True)
                return
            _rewritten(made, row, assignment, outcome, f"model:{self.settings.model}")

        return _each_asking(one, at_once)


@dataclass(frozen=True)
class LabelStage:
    """``rfc label`` by rules: bucketed articles in, one row an article and manipulation out."""

    per_article: "PerArticle" = "all"
    name: str = "`rfc label`"
    partition_rows: int = 5_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return {"per-article": self.per_article}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return what names a row, which no other may have."""
        return str(fields["id"])

    def open(self) -> Work:
        """Return the work."""
        return _each(lambda made, row: _labelled(made, row, per_article=self.per_article))


@dataclass(frozen=True)
class ModelLabelStage(LabelStage):
    """``rfc label`` with a model for what rules leave open."""

    model: str = field(kw_only=True)
    prompts: str | None = None
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    partition_rows: int = 500

    @property
    def asked(self) -> Asked:
        """The model that labels."""
        return Asked(self.model, self.max_connections)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        from contrafact.families.rfc.pipeline.label import label_template

        pack = open_pack(self.prompts)
        label_template(pack)
        return super().facts() | {"model": self.model, "prompts": pack.used_hash}

    def open_models(self, wrap: "Callable[[Model], Model]", at_once: int) -> AskingWork:
        """Return the work, with the models open."""
        from contrafact.families.rfc.pipeline.label import (
            ask_label,
            label_template,
            open_rows,
            paragraph_of,
        )

        template = label_template(open_pack(self.prompts))
        config = call_config(self.max_connections, **self.bounds)
        model = wrap(open_model(self.model, config=config))

        async def one(made: StageOutput, row: InputRow) -> None:
            replies: dict[str, str] = {}
            if open_rows([_stage_row(row)], self.per_article):
                try:
                    reply = await ask_label(paragraph_of(row.fields), model, template)
                except Exception as error:  # noqa: BLE001 - this row's call; a rerun makes it again
                    made.fail(row, f"the call failed ({failure_cause(error)})", retry=True)
                    return
                replies[str(row.fields["id"])] = reply
            _labelled(made, row, per_article=self.per_article, replies=replies, model=self.model)

        return _each_asking(one, at_once)


def _checked(made: StageOutput, row: InputRow, pair: "PairRow", found: "Check") -> None:
    from contrafact.families.rfc.contracts.pair_check import check_counts, check_object

    made.add(KEPT, row.index, check_object(pair, found))
    made.counts.update(check_counts(pair.fields["manipulation"], found))


def _repeats(made: StageOutput, row: InputRow) -> bool:
    """Fail a row that has the name of one before it; return whether it has."""
    if row.repeats is not None:
        made.fail(row, f"repeats line {row.repeats + 1}; leave one of them out")
    return row.repeats is not None


def _each(one: Callable[[StageOutput, InputRow], None]) -> Work:
    def work(rows: Sequence[InputRow]) -> StageOutput:
        made = StageOutput()
        for row in rows:
            if not _repeats(made, row):
                one(made, row)
        return made

    return work


def _each_asking(
    one: Callable[[StageOutput, InputRow], Awaitable[None]], at_once: int
) -> AskingWork:
    free = asyncio.Semaphore(at_once)

    async def bounded(row: InputRow) -> StageOutput:
        made = StageOutput()
        async with free:
            try:
                if not _repeats(made, row):
                    await one(made, row)
            except InputError as error:
                made = StageOutput()
                made.fail(row, f"{error.problem}; {error.hint}")
        return made

    async def work(rows: Sequence[InputRow]) -> StageOutput:
        made = StageOutput()
        for found in await asyncio.gather(*map(bounded, rows)):
            made.merge(found)
        return made

    return work


def _rewritten(
    made: StageOutput, row: InputRow, assignment: Any, outcome: Any, rewriter: str
) -> None:
    from contrafact.families.rfc.pipeline.rewrite import decision

    found, event = decision(assignment, outcome, rewriter=rewriter)
    made.add(REJECTS if outcome.rewritten is None else KEPT, row.index, found)
    _log(made, row.index, event)
    made.counts.update(f"{assignment.manipulation}|{name}" for name in outcome.counted)


def _stage_row(row: InputRow) -> "StageRow":
    from contrafact.families.rfc.pipeline.stages import StageRow, require_text

    for name in ("id", "title"):
        require_text(row.fields, name, file="", line=row.line)
    return StageRow(row.line, row.fields)


def _labelled(made: StageOutput, row: InputRow, **settings: Any) -> None:
    from contrafact.families.rfc.pipeline.label import label_rows

    found = label_rows([_stage_row(row)], **settings)
    tables = {KEPT: found.rows, REJECTS: found.dropped, APART: found.apart}
    for table, rows in tables.items():
        for one in rows:
            made.add(table, row.index, one)
    for event in found.events:
        _log(made, row.index, event)
    made.counts.update(found.counts)


def _log(made: StageOutput, index: int, event: "LedgerEvent") -> None:
    made.add(LEDGER, index, event.model_dump(exclude_none=True))
