"""Screening of headlines for the benchmark: proposals, and people's decisions on them.

FIN-FORCE, sections 3.2 and 3.3 and appendix A.6: a headline reports a market event if it has *event
status* (a current, factual development) and *material relevance* (it concerns one of the ten
categories). Rules propose if a headline's form leaves no doubt, a model is asked about the rest,
and headlines that neither settles stay open. People decide in a sheet, and mark doubtful cases.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal

import typer
from inspect_ai.model import GenerateConfig, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.console import show_table
from contrafact.corpus.duplicates import Duplicate, Text, find_duplicates
from contrafact.corpus.ledger import Decision, LedgerEvent, event_time
from contrafact.corpus.news_items import news_rows
from contrafact.errors import InputError
from contrafact.families.finforce.data import CATEGORIES, canonical_category
from contrafact.families.finforce.data_check import LONGEST, SHORTEST
from contrafact.files.delimited import Dialect
from contrafact.files.fields import guarded, unguarded
from contrafact.files.journal import hash_of
from contrafact.files.tables import read_rows, source_name, write_frame
from contrafact.judges.replies import as_bool, read_json_object
from contrafact.models.asking import Ask, Unanswered, kept_reply
from contrafact.models.estimate import CallEstimate
from contrafact.models.opening import call_config, open_model
from contrafact.models.prices import is_paid
from contrafact.models.requests import closed_object
from contrafact.prompts import PromptPack, PromptTemplate, open_pack
from contrafact.records import NewsItem, content_id
from contrafact.stages.news import NewsStage
from contrafact.stages.stage import (
    KEPT,
    REJECTS,
    Asked,
    InputRow,
    RowStage,
    StageOutput,
    StageResult,
    Survey,
    Work,
    Wrap,
    below,
)
from contrafact.stats.votes import majority
from contrafact.text.delimit import delimit, printable

NOBODY = "nobody"
"""``labelled_by`` of a headline that neither a rule nor a model settled."""

SHEET_COLUMNS = (
    *("item_id", "headline", "proposed", "proposed_category", "proposed_by", "why"),
    *("decision", "category", "decided_by", "when", "note"),
)
_DECISIONS = {
    **dict.fromkeys(("yes", "y", "true", "1", "market_event", "kept"), "yes"),
    **dict.fromkeys(("no", "n", "false", "0", "dropped"), "no"),
    **dict.fromkeys(("unsure", "?", "flag", "flagged", "hard case"), "unsure"),
}


@dataclass(frozen=True)
class Proposal:
    """A proposal on a headline by a rule or a model; fields that it leaves open are None."""

    labelled_by: str
    """``rule:<name>``, ``model:<name>`` or ``nobody``."""
    why: str
    event_status: bool | None = None
    material_relevance: bool | None = None
    category: str | None = None

    @property
    def market_event(self) -> bool | None:
        """Whether both criteria hold; None if that is undecided."""
        criteria = (self.event_status, self.material_relevance)
        return False if False in criteria else None if None in criteria else True


@dataclass(frozen=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]
    why: str
    criterion: str | None = None
    category: str | None = None
    unless: re.Pattern[str] | None = None


@dataclass(frozen=True)
class ScreeningRules:
    """The rules of ``screen_rules.toml``, compiled."""

    against: tuple[_Rule, ...]
    in_favour: tuple[_Rule, ...]
    open: tuple[re.Pattern[str], ...]


@cache
def screening_rules() -> ScreeningRules:
    source = resources.files(__package__).joinpath("screen_rules.toml")
    data = tomllib.loads(source.read_text("utf-8"))

    def rule(entry: dict[str, Any]) -> _Rule:
        patterns = ("pattern", "unless")
        compiled = {p: re.compile(entry[p], re.IGNORECASE) for p in patterns if entry.get(p)}
        return _Rule(**{**entry, **compiled})

    return ScreeningRules(
        against=tuple(map(rule, data["against"])),
        in_favour=tuple(map(rule, data["for"])),
        open=tuple(re.compile(pattern, re.IGNORECASE) for pattern in data["open"]),
    )


def proposal_by_rule(headline: str) -> Proposal | None:
    """Return the rules' proposal on a headline; None if they leave it open."""
    text = " ".join(headline.replace("’", "'").split())
    if len(text) < SHORTEST:
        why = f"has under {SHORTEST} characters"
        return Proposal("rule:too short", why, event_status=False)
    if len(text) > LONGEST:
        return Proposal("rule:too long", f"has over {LONGEST:,} characters", event_status=False)
    rules = screening_rules()
    for rule in rules.against:
        if rule.pattern.search(text):
            missed: dict[str, Any] = {rule.criterion or "event_status": False}
            return Proposal(f"rule:{rule.name}", rule.why, **missed)
    if any(pattern.search(text) for pattern in rules.open):
        return None
    matched = [rule for rule in rules.in_favour if rule.pattern.search(text)]
    if len({rule.category for rule in matched}) != 1:
        return None
    if any(rule.unless and rule.unless.search(text) for rule in matched):
        return None
    first = matched[0]
    return Proposal(f"rule:{first.name}", first.why, True, True, first.category)


def proposal_from_reply(reply: str, model: str, headline: str = "") -> Proposal:
    """Return the proposal on a headline in a model's reply; an invalid reply leaves it open.

    A reply is JSON with ``event_status``, ``material_relevance`` (true or false), ``category`` (one
    of the ten, or null) and ``reason``.
    """
    read = read_json_object(reply, [headline])
    value = read.value or {}
    status, relevance = map(as_bool, map(value.get, ("event_status", "material_relevance")))
    named = value.get("category")
    category = canonical_category(named)[0] if isinstance(named, str) else None
    invalid = None
    if read.value is None:
        invalid = read.invalid or "not JSON"
    elif status is None or relevance is None:
        invalid = "no true or false under event_status or material_relevance"
    elif status and relevance and category is None:
        invalid = f"the category is not one of the ten: {str(named)[:40]!r}"
    if invalid is not None:
        return Proposal(NOBODY, f"invalid reply of {model}: {invalid}")
    reason = " ".join(str(value.get("reason") or "").split())[:500]
    both = category if status and relevance else None
    return Proposal(f"model:{model}", reason, status, relevance, both)


@dataclass(frozen=True)
class SheetDecision:
    """One person's decision on one headline, from a sheet."""

    item_id: str
    decision: str
    """``yes``, ``no`` or ``unsure``."""
    category: str | None
    decided_by: str
    when: str | None


def screened_row(id: str, item: NewsItem, proposal: Proposal) -> dict[str, Any]:
    """Return the row of a proposal, as `finforce release` reads it."""
    return {
        "id": id,
        "headline": item.title,
        "description": item.summary or None,
        **{name: getattr(item, name) for name in ("date", "url", "source", "ticker")},
        "market_event": proposal.market_event,
        "event_status": proposal.event_status,
        "material_relevance": proposal.material_relevance,
        "proposed_category": proposal.category,
        "labelled_by": proposal.labelled_by,
        "why": proposal.why,
    }


def sheet_row(row: dict[str, Any]) -> dict[str, str]:
    proposed = {True: "yes", False: "no", None: ""}[row["market_event"]]
    shown = {
        "item_id": row["id"],
        "headline": guarded(printable(row["headline"])),
        "proposed": proposed,
        "proposed_category": row["proposed_category"] or "",
        "proposed_by": row["labelled_by"],
        "why": guarded(printable(row["why"])),
    }
    return {**shown, **dict.fromkeys(SHEET_COLUMNS[len(shown) :], "")}


def proposal_event(row: dict[str, Any]) -> LedgerEvent:
    """Return the ledger's event of a proposal; an open proposal is a hard case, for people."""
    decision = {True: "kept", False: "dropped", None: "hard case"}[row["market_event"]]
    by = row["labelled_by"] if ":" in row["labelled_by"] else "rule:open"
    return LedgerEvent.of("screen (proposal)", row["id"], decision, by, row["why"])


@dataclass(frozen=True)
class ScreenStage(NewsStage, RowStage):
    """``finforce screen``: headlines in; proposals, and a sheet for people's decisions, out.

    Duplicates are left out, rules propose if they can, and a model is asked about the rest.

    Attributes:
        against: Files of headlines whose duplicates are left out too.
        near: The similarity from which two headlines are duplicates.
    """

    model: str | None = None
    against: tuple[str, ...] = ()
    near: float = 0.8
    prompts: str | None = None
    structured: bool = True
    max_connections: int = 16
    bounds: Mapping[str, int | None] = field(default_factory=dict)
    name: str = "`finforce screen`"
    noun: ClassVar[str] = "headlines"
    journal: ClassVar[Literal["answers", "output"]] = "output"
    whole: ClassVar[bool] = True

    @property
    def asked(self) -> Asked | None:
        return None if self.model is None else Asked(self.model, self.max_connections)

    def facts(self) -> dict[str, Any]:
        pack = open_pack(self.prompts)
        screening_template(pack)
        return {
            "model": self.model,
            "prompts": None if self.model is None else pack.used_hash,
            "structured": self.structured,
            "near": self.near,
            "against": list(self.against),
        }

    def input_facts(self, rows: Sequence[InputRow]) -> dict[str, Any]:
        """Return the hash of the headlines that are not duplicates."""
        kept = [[_id(row), row.value.model_dump()] for row in rows if not row.note]
        return {"input": hash_of(kept)}

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Write nothing for a row whose title and summary came before; a note says so."""

    def prepare(self, survey: Survey) -> Mapping[int, Mapping[str, Any]]:
        """Return, by row index, the duplicates among the headlines and what each repeats."""
        ((indices, texts),) = survey.map_parts(
            lambda rows: (
                [row.index for row in rows],
                [Text(_id(row), row.value.title, row.value.url) for row in rows],
            )
        )
        others = [
            Text(row.item.id, row.item.title) for path in self.against for row in news_rows(path)
        ]
        duplicates = find_duplicates(texts, others, threshold=self.near)
        return {indices[duplicate.position]: vars(duplicate) for duplicate in duplicates}

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        calls = sum(not row.note and proposal_by_rule(row.value.title) is None for row in rows)
        model = str(self.model)
        return [CallEstimate(model, "subject", calls, 0, 0, None, is_paid(model))]

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the function that works on rows: it drops duplicates, then makes proposals."""
        propose = super().open(wrap, at_once, each)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            output = StageOutput()
            for row in rows:
                if row.note:
                    self._drop(output, row)
            output.merge(await propose([row for row in rows if not row.note]))
            return output

        return work

    def _drop(self, output: StageOutput, row: InputRow) -> None:
        duplicate, by = Duplicate(**row.note), f"rule:dedupe at {self.near:g}"
        dropped = {
            "id": _id(row),
            "headline": row.value.title,
            "dropped_because": str(duplicate.reason),
            "duplicate_of": duplicate.of,
        }
        event = LedgerEvent.of("screen (duplicates)", _id(row), "dropped", by, duplicate.reason)
        output.add(REJECTS, row.index, dropped, event)

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        ask, template = None, screening_template(open_pack(self.prompts))
        if self.model is not None:
            config = call_config(self.max_connections, **self.bounds)
            model = wrap(open_model(self.model, config=config))
            config = GenerateConfig(temperature=0.0)
            ask = Ask(model, structured=self.structured, config=config)

        async def propose(made: StageOutput, row: InputRow) -> None:
            title = row.value.title
            proposal = proposal_by_rule(title)
            if proposal is None and ask is not None:
                reply = await ask_screening(title, ask, template)
                proposal = proposal_from_reply(reply, str(self.model), title)
                made.counts["invalid"] += proposal.labelled_by == NOBODY
            if proposal is None:
                proposal = Proposal(NOBODY, "no rule decides, and no model was asked")
            screened = screened_row(_id(row), row.value, proposal)
            made.add(KEPT, row.index, screened, proposal_event(screened))
            what = {True: "market event", False: "none", None: "open"}[proposal.market_event]
            made.counts["proposed", what, proposal.labelled_by.partition(":")[0]] += 1
            if proposal.market_event and proposal.category:
                made.counts["category", proposal.category] += 1

        return propose

    def write(
        self, out: str | Path, pieces: Iterable[StageOutput], dialect: Dialect | None = None
    ) -> None:
        """Write the sheet for people, then proposals, duplicates and the ledger."""
        import pandas as pd

        outputs = list(pieces)
        rows = [sheet_row(row) for output in outputs for row in output.table(KEPT)]
        sheet = pd.DataFrame(rows, columns=list(SHEET_COLUMNS))
        write_frame(sheet, f"{out}.sheet.csv", Dialect(mark=True))
        super().write(out, outputs)

    def show(self, result: StageResult) -> None:
        counts, out = result.counts, result.out
        proposed = [
            (what, who, f"{number:,}")
            for what in ("market event", "none", "open")
            for who, number in sorted(below(counts, "proposed", what).items())
        ]
        show_table("Proposals", ("proposal", "by", "headlines"), proposed)
        show_table(
            "Market events by category",
            ("category", "headlines"),
            [(name, f"{counts['category', name]:,}") for name in CATEGORIES],
        )
        if invalid := counts["invalid"]:
            typer.echo(
                f"{invalid:,} replies of the model could not be read; those headlines are open"
            )
        kept, dropped = result.rows[KEPT], result.rows[REJECTS]
        typer.echo(f"{out}: {kept:,} headlines, {dropped:,} duplicates left out")
        typer.echo(f"{out}.sheet.csv: for people to decide on; then finforce release --decisions")


def _id(row: InputRow) -> str:
    return content_id(row.value.title, prefix="h")


def read_sheets(paths: Sequence[str | Path], known: set[str]) -> dict[str, list[SheetDecision]]:
    """Return people's decisions by headline; rows without a decision are skipped.

    A sheet is a table with ``item_id``, ``decision`` (yes, no or unsure), ``decided_by`` and, if
    the proposed category is wrong, ``category``. A person's later decision on a headline replaces
    an earlier one.

    Raises:
        InputError: An unknown id, decision or category, or no name; the message names the line.
    """
    decisions: dict[str, dict[str, SheetDecision]] = defaultdict(dict)
    for path in paths:
        for line, row in read_rows(path):
            cells = {key: str(value or "").strip() for key, value in row.items()}
            if cells.get("decision"):
                try:
                    decision = _decision(cells, known)
                except InputError as error:
                    raise error.at(source_name(path), line) from error
                decisions[decision.item_id][decision.decided_by] = decision
    return {item: list(by_person.values()) for item, by_person in decisions.items()}


def _decision(cells: dict[str, str], known: set[str]) -> SheetDecision:
    item, written = cells.get("item_id", ""), cells["decision"]
    decision = _DECISIONS.get(written.casefold())
    if item not in known:
        raise InputError(
            f"'{item[:40]}' is not a headline of the file", hint="is it the right sheet?"
        )
    if decision is None:
        raise InputError(f"'{written[:40]}' is not a decision", hint="write yes, no or unsure")
    if not cells.get("decided_by"):
        raise InputError("nobody is named in decided_by", hint="write who decided")
    named = unguarded(cells.get("category", ""))
    category = canonical_category(named)[0] if named else None
    if named and category is None:
        hint = f"write one of: {'; '.join(CATEGORIES)}"
        raise InputError(f"'{named[:40]}' is not one of the ten categories", hint=hint)
    return SheetDecision(item, decision, category, cells["decided_by"], cells.get("when") or None)


@dataclass(frozen=True)
class Outcome:
    """The joint decision of the people who decided on a headline."""

    decision: Decision
    category: str | None
    why: str
    people: int


def outcome_of(decisions: Sequence[SheetDecision], proposed: str | None) -> Outcome:
    """Return the majority's decision (section 3.3); a tie or a doubt makes a hard case.

    A yes without a category counts for the proposed category. A market event also needs a majority
    for one category.
    """
    votes = Counter(one.decision for one in decisions)
    tally = ", ".join(f"{number} {word}" for word, number in sorted(votes.items()))
    winner = majority(one.decision for one in decisions)
    named = [one.category or proposed for one in decisions if one.decision == "yes"]
    category: str | None = None
    decision: Decision = "hard case"
    if winner is None:
        why = f"people disagree ({tally})"
    elif winner == "unsure":
        why = "people are not sure"
    elif winner == "no":
        decision, why = "dropped", "is not a market event"
    elif not any(named):
        why = "nobody names a category"
    elif (category := majority(named)) is None:
        why = "people disagree on the category"
    else:
        decision, why = "kept", f"is a market event ({tally})"
    return Outcome(decision, category, why, len(decisions))


def outcome_event(
    item_id: str, by: Sequence[str], when: str | None, outcome: Outcome
) -> LedgerEvent:
    """Return the ledger's event of a joint decision, at the present time if ``when`` is None."""
    who, when = f"person:{', '.join(sorted(by))}", when or event_time()
    return LedgerEvent.of("screen (people)", item_id, outcome.decision, who, outcome.why, when=when)


@cache
def category_meanings() -> tuple[tuple[str, str], ...]:
    source = resources.files(__package__).joinpath("screen_categories.toml")
    meanings = tomllib.loads(source.read_text("utf-8"))
    return tuple((name, meanings[name]) for name in CATEGORIES)


def screening_template(pack: PromptPack) -> PromptTemplate:
    return pack.template("finforce/screen", required={"headline", "categories"})


async def ask_screening(headline: str, ask: Ask, template: PromptTemplate) -> str:
    """Return a model's reply about a headline, or the reason in brackets if there is no reply."""
    prompt = template.render(headline=delimit(headline), categories=category_meanings())
    named = JSONSchema(type="string", enum=list(CATEGORIES))
    properties = {
        "reason": JSONSchema(type="string"),
        "event_status": JSONSchema(type="boolean"),
        "material_relevance": JSONSchema(type="boolean"),
        "category": JSONSchema(anyOf=[named, JSONSchema(type="null")]),
    }
    schema = ResponseSchema(name="screening", json_schema=closed_object(properties), strict=True)
    try:
        return kept_reply(await ask(prompt, schema))
    except Unanswered as error:
        return f"[{error}]"
