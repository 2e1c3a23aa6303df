"""The stages that build a benchmark, past one machine: the very functions of the commands.

RFC-BENCH, section 2.2, over partitions of any number of rows (`contrafact.bulk`). A stage says what
decides its results (``facts``), what names a row (``key``), and how partitions are worked on.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
from contrafact.corpus.news_items import NewsRow, item_of
from contrafact.errors import InputError

if TYPE_CHECKING:
    from contrafact.families.rfc.checking import JudgedPair, JudgeSettings
    from contrafact.families.rfc.contracts import Check
    from contrafact.families.rfc.contracts.pair_check import PairRow
    from contrafact.families.rfc.pipeline.label import PerArticle
    from contrafact.families.rfc.pipeline.model_rewriter import WriterSettings
    from contrafact.families.rfc.pipeline.rewrite import Assignment, RewriteOutcome

__all__ = ["BucketStage", "CheckStage", "LabelStage", "RewriteStage"]


@dataclass(frozen=True)
class BucketStage(Stage):
    """``rfc bucket``: articles in, candidates for the four manipulations out."""

    titles_alone: bool = False
    name: str = "`rfc bucket`"

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return {"titles-alone": self.titles_alone}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the article's id: rows with the same title and summary have the same."""
        return item_of(fields).id

    def open(self, wrap: Wrap, at_once: int) -> Work:
        """Return the work."""
        return self._work

    async def _work(self, rows: Sequence[InputRow]) -> StageOutput:
        from contrafact.families.rfc.pipeline.bucket import bucket_news, repeated_row

        made = StageOutput()
        for row in rows:
            news = NewsRow(row.line, item_of(row.fields), row.fields)
            if row.repeats is None:
                made.merge(bucket_news([news], titles_alone=self.titles_alone))
            else:
                made.add(REJECTS, row.index, repeated_row(news, row.repeats + 1))
                made.counts["repeated"] += 1
        return made


@dataclass(frozen=True)
class CheckStage(Stage):
    """``rfc check``: pairs in, checks out; a row that cannot be checked is a failure.

    Where there are judges (``settings``), they are asked about pairs that facts leave open.
    """

    rules: tuple[str, ...] = ()
    polarity_model: str | None = None
    bands: str | None = None
    settings: "JudgeSettings | None" = None
    name: str = "`rfc check`"

    @property
    def asked(self) -> Asked | None:
        """The judges, the first of whom stands for all."""
        one = self.settings
        return None if one is None else Asked(one.judges[0], one.max_connections)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        from contrafact.families.rfc.labels import load_bands

        found = {"rule": list(self.rules), "polarity-model": self.polarity_model}
        bands = {} if self.bands is None else {"bands": {**load_bands(self.bands)}}
        return {**found, **bands, **(self.settings.facts() if self.settings else {})}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return what names a row, which no other may have."""
        return str(fields["id"])

    def open(self, wrap: Wrap, at_once: int) -> Work:
        """Return the work, with the models open."""
        from contrafact.families.rfc.contracts.pair_check import (
            check_counts,
            check_object,
            check_pairs,
            open_options,
        )

        options = open_options(self.rules, self.polarity_model, self.bands)
        judge = None if self.settings is None else self.settings.open(at_once, wrap)

        def check(good: "Sequence[tuple[InputRow, PairRow]]") -> "list[Check]":
            return list(check_pairs((pair.fields for _, pair in good), options=options))

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            good = _pairs(made, rows)
            checks = await asyncio.to_thread(check, good)
            judged: Sequence[JudgedPair | None] = [None] * len(good)
            if judge is not None:
                pairs = [(pair.fields, one) for (_, pair), one in zip(good, checks, strict=True)]
                judged = await judge(pairs)
            for (row, pair), found, one in zip(good, checks, judged, strict=True):
                kind = pair.fields["manipulation"]
                if one is not None and one.failure is not None:
                    made.fail(row, f"the call of a judge failed: {one.failure}", retry=True)
                    continue
                if one is not None:
                    from contrafact.families.rfc.sound import signs_of

                    found = one.check
                    made.counts[f"{kind}|signs|{signs_of(kind, one)}"] += 1
                made.add(KEPT, row.index, check_object(pair, found))
                made.counts.update(check_counts(kind, found))
            return made

        return work


def _pairs(made: StageOutput, rows: Sequence[InputRow]) -> "list[tuple[InputRow, PairRow]]":
    """Return the rows that can be checked; the others fail."""
    from contrafact.families.rfc.contracts.pair_check import PairRow, pair_problem

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
    return good


class _RowByRow(Stage):
    """A stage whose rows are worked on one by one; one that repeats another is a failure."""

    def open(self, wrap: Wrap, at_once: int) -> Work:
        one, free = self.open_row(wrap), asyncio.Semaphore(at_once)

        async def bounded(row: InputRow) -> StageOutput:
            made = StageOutput()
            if row.repeats is not None:
                made.fail(row, f"repeats line {row.repeats + 1}; leave one of them out")
                return made
            async with free:
                try:
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

    @abstractmethod
    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Return what works on a row, with the models open."""


@dataclass(frozen=True)
class RewriteStage(_RowByRow):
    """``rfc rewrite``: labelled articles in, pairs out; by rules where no model writes."""

    seed: int = 0
    attempts: int = 16
    bands: str | None = None
    writing: "WriterSettings | None" = None
    name: str = "`rfc rewrite`"

    @property
    def asked(self) -> Asked | None:
        """The model that writes, and who judges."""
        one = self.writing
        if one is None:
            return None
        judges = () if one.judging is None else one.judging.judges
        return Asked(one.model, one.max_connections, judges)

    @property
    def rewriter(self) -> str:
        """Who writes, as pairs and the ledger have it."""
        return "rules" if self.writing is None else f"model:{self.writing.model}"

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        from contrafact.families.rfc.pipeline.rewrite import rule_facts

        if self.writing is not None:
            return self.writing.facts()
        return rule_facts(self.seed, self.attempts, self.bands)

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the article and the manipulation that it is to get."""
        return f"{item_of(fields).id} {fields.get('manipulation')}"

    def open_writer(
        self, wrap: Wrap
    ) -> "Callable[[Assignment], Coroutine[Any, Any, RewriteOutcome]]":
        """Return what rewrites an article, with the models open."""
        from contrafact.families.rfc.labels import load_bands
        from contrafact.families.rfc.pipeline.rewrite import rewrite_by_rules

        if self.writing is not None:
            return self.writing.open(wrap).rewrite
        bands = None if self.bands is None else load_bands(self.bands)

        async def by_rules(one: "Assignment") -> "RewriteOutcome":
            return rewrite_by_rules(one, seed=self.seed, attempts=self.attempts, bands=bands)

        return by_rules

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Return what works on a row, with the models open."""
        from contrafact.families.rfc.pipeline.rewrite import add_outcome, assignment_of

        rewrite = self.open_writer(wrap)

        async def one(made: StageOutput, row: InputRow) -> None:
            assignment = assignment_of(row.fields, row.line)
            try:
                outcome = await rewrite(assignment)
            except Exception as error:
                if self.writing is None:
                    raise
                # This row's call; a rerun makes it again.
                made.fail(row, f"a call failed: {_cause(error)}", retry=True)
                return
            add_outcome(made, assignment, outcome, rewriter=self.rewriter)

        return one


@dataclass(frozen=True)
class LabelStage(_RowByRow):
    """``rfc label``: bucketed articles in, one row an article and manipulation out.

    Where a model is named, it is asked about what rules leave open.
    """

    per_article: "PerArticle" = "all"
    model: str | None = None
    prompts: str | None = None
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    name: str = "`rfc label`"

    @property
    def asked(self) -> Asked | None:
        """The model that labels."""
        return None if self.model is None else Asked(self.model, self.max_connections)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        found: dict[str, Any] = {"per-article": self.per_article}
        return found if self.model is None else found | self.model_facts()

    def model_facts(self) -> dict[str, Any]:
        """Return what decides a model's reply."""
        from contrafact.families.rfc.pipeline.label import label_template
        from contrafact.prompts import open_pack

        pack = open_pack(self.prompts)
        label_template(pack)
        return {"model": self.model, "prompts": pack.used_hash}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return what names a row, which no other may have."""
        return str(fields["id"])

    def open_labeller(self, wrap: Wrap) -> Callable[[str], Awaitable[str]]:
        """Return what asks the model about a paragraph."""
        from contrafact.families.rfc.pipeline.label import ask_label, label_template
        from contrafact.models.opening import call_config, open_model
        from contrafact.prompts import open_pack

        template = label_template(open_pack(self.prompts))
        config = call_config(self.max_connections, **self.bounds)
        model = wrap(open_model(str(self.model), config=config))
        return lambda paragraph: ask_label(paragraph, model, template)

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Return what works on a row, with the model open."""
        from contrafact.families.rfc.pipeline.label import label_rows, open_rows, paragraph_of
        from contrafact.families.rfc.pipeline.stages import require_text

        ask = None if self.model is None else self.open_labeller(wrap)

        async def one(made: StageOutput, row: InputRow) -> None:
            for name in ("id", "title"):
                require_text(row.fields, name, file="", line=row.line)
            own, replies = [row], dict[str, str]()
            if ask is not None and open_rows(own, self.per_article):
                try:
                    replies[str(row.fields["id"])] = await ask(paragraph_of(row.fields))
                except Exception as error:  # noqa: BLE001 - this row's call; a rerun makes it again
                    made.fail(row, f"the call failed ({_cause(error)})", retry=True)
                    return
            found = label_rows(own, per_article=self.per_article, replies=replies, model=self.model)
            made.merge(found)

        return one


def _cause(error: Exception) -> str:
    from contrafact.models.asking import failure_cause

    return failure_cause(error)
