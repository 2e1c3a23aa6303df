"""Which headlines are candidates for the benchmark: proposals, and what people decide on them.

FIN-FORCE, sections 3.2 and 3.3 and appendix A.6: a headline reports a market event if it has *event
status* (a current, factual development) and *material relevance* (it concerns one of the ten
categories). Rules decide where a headline's form leaves no doubt; a model is asked about the rest;
what neither settles is left open. People decide on a sheet, and flag what they are not sure of.
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
"""Who labelled a headline that neither a rule nor a model settled."""

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
    """What a rule or a model makes of a headline; none where it says nothing."""

    event_status: bool | None
    material_relevance: bool | None
    category: str | None
    labelled_by: str
    """``rule:<name>``, ``model:<name>`` or ``nobody``."""
    why: str

    @property
    def market_event(self) -> bool | None:
        """Whether both criteria hold; none where that is open."""
        if self.event_status is False or self.material_relevance is False:
            return False
        if self.event_status and self.material_relevance:
            return True
        return None

    def fields(self) -> dict[str, Any]:
        """Return it as the fields of a screened row."""
        return {
            "market_event": self.market_event,
            "event_status": self.event_status,
            "material_relevance": self.material_relevance,
            "proposed_category": self.category,
            "labelled_by": self.labelled_by,
            "why": self.why,
        }


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
    file = resources.files("contrafact.families.finforce").joinpath("screen_rules.toml")
    data = tomllib.loads(file.read_text("utf-8"))

    def rule(entry: dict[str, str]) -> _Rule:
        unless = entry.get("unless")
        return _Rule(
            name=entry["name"],
            pattern=re.compile(entry["pattern"], re.IGNORECASE),
            why=entry["why"],
            criterion=entry.get("criterion"),
            category=entry.get("category"),
            unless=re.compile(unless, re.IGNORECASE) if unless else None,
        )

    return ScreeningRules(
        against=tuple(map(rule, data["against"])),
        in_favour=tuple(map(rule, data["for"])),
        open=tuple(re.compile(pattern, re.IGNORECASE) for pattern in data["open"]),
    )


def proposal_by_rule(headline: str) -> Proposal | None:
    """Return what the rules say of a headline; none where they leave it open."""
    text = " ".join(headline.replace("’", "'").split())
    if len(text) < SHORTEST:
        return _against("event_status", "rule:too short", f"has under {SHORTEST} characters")
    if len(text) > LONGEST:
        return _against("event_status", "rule:too long", f"has over {LONGEST:,} characters")
    rules = screening_rules()
    for rule in rules.against:
        if rule.pattern.search(text):
            return _against(rule.criterion or "event_status", f"rule:{rule.name}", rule.why)
    if any(pattern.search(text) for pattern in rules.open):
        return None
    found = [rule for rule in rules.in_favour if rule.pattern.search(text)]
    if len({rule.category for rule in found}) != 1:
        return None
    if any(rule.unless and rule.unless.search(text) for rule in found):
        return None
    return Proposal(True, True, found[0].category, f"rule:{found[0].name}", found[0].why)


def _against(criterion: str, by: str, why: str) -> Proposal:
    if criterion == "event_status":
        return Proposal(False, None, None, by, why)
    return Proposal(None, False, None, by, why)


def proposal_from_reply(reply: str, model: str, headline: str = "") -> Proposal:
    """Return what a model's reply says of a headline; an invalid one leaves it open, with why.

    It is JSON with ``event_status``, ``material_relevance`` (true or false), ``category`` (one of
    the ten, or null) and ``reason``.
    """
    read = read_json_object(reply, [headline])
    if read.value is None:
        return _invalid(model, read.invalid or "not JSON")
    status, relevance = map(as_bool, map(read.value.get, ("event_status", "material_relevance")))
    if status is None or relevance is None:
        return _invalid(model, "no true or false under event_status or material_relevance")
    named = read.value.get("category")
    category = canonical_category(named)[0] if isinstance(named, str) else None
    if status and relevance and category is None:
        return _invalid(model, f"the category is none of the ten: {str(named)[:40]!r}")
    reason = " ".join(str(read.value.get("reason") or "").split())[:500]
    holds = status and relevance
    return Proposal(status, relevance, category if holds else None, f"model:{model}", reason)


def _invalid(model: str, why: str) -> Proposal:
    return Proposal(None, None, None, NOBODY, f"invalid reply of {model}: {why}")


@dataclass(frozen=True)
class SheetDecision:
    """What one person decided about one headline."""

    item_id: str
    decision: str
    """``yes``, ``no`` or ``unsure``."""
    category: str | None
    decided_by: str
    when: str | None


def screened_row(id: str, item: NewsItem, proposal: Proposal) -> dict[str, Any]:
    """Return a headline with what is proposed about it, as a row of the screened file."""
    return {
        "id": id,
        "headline": item.title,
        "description": item.summary or None,
        "date": item.date,
        "url": item.url,
        "source": item.source,
        "ticker": item.ticker,
        **proposal.fields(),
    }


def sheet_row(row: dict[str, Any]) -> dict[str, str]:
    """Return the row of the sheet on which a person decides about a screened headline."""
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
    """Return the ledger's event of a proposal; an open one is a hard case for people."""
    decision = {True: "kept", False: "dropped", None: "hard case"}[row["market_event"]]
    by = row["labelled_by"] if ":" in row["labelled_by"] else "rule:open"
    return LedgerEvent.of("screen (proposal)", row["id"], decision, by, row["why"])


@dataclass(frozen=True)
class ScreenStage(NewsStage, RowStage):
    """``finforce screen``: headlines in, proposals and a sheet to decide on out.

    Rules decide where they can, a model is asked about the rest; duplicates are left out.

    Attributes:
        against: Files of headlines that must not come again.
        near: Similarity from which two headlines are one.
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
        """The model that screens."""
        return None if self.model is None else Asked(self.model, self.max_connections)

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
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
        """Return the hash of the headlines that are no duplicates."""
        given = [[_id(row), row.value.model_dump()] for row in rows if not row.note]
        return {"input": hash_of(given)}

    def repeated(self, made: StageOutput, row: InputRow) -> None:
        """Leave out a row whose title and summary came before; the notes say so."""

    def prepare(self, survey: Survey) -> Mapping[int, Mapping[str, Any]]:
        """Return what each headline repeats that is a duplicate."""
        ((places, texts),) = survey.map_parts(
            lambda rows: (
                [row.index for row in rows],
                [Text(_id(row), row.value.title, row.value.url) for row in rows],
            )
        )
        others = [
            Text(row.item.id, row.item.title) for path in self.against for row in news_rows(path)
        ]
        found = find_duplicates(texts, others, threshold=self.near)
        return {places[duplicate.position]: vars(duplicate) for duplicate in found}

    def estimates(self, rows: Sequence[InputRow], *, tokens: bool = True) -> list[CallEstimate]:
        """Return a call for each headline that rules leave open; tokens are not counted."""
        calls = sum(not row.note and proposal_by_rule(row.value.title) is None for row in rows)
        model = str(self.model)
        return [CallEstimate(model, "subject", calls, 0, 0, None, is_paid(model))]

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        """Return the work: duplicates first, then what is proposed of the others."""
        propose = super().open(wrap, at_once, each)

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            for row in rows:
                if row.note:
                    self._drop(made, row)
            made.merge(await propose([row for row in rows if not row.note]))
            return made

        return work

    def _drop(self, made: StageOutput, row: InputRow) -> None:
        duplicate, by = Duplicate(**row.note), f"rule:dedupe at {self.near:g}"
        dropped = {
            "id": _id(row),
            "headline": row.value.title,
            "dropped_because": duplicate.reason,
            "duplicate_of": duplicate.of,
        }
        event = LedgerEvent.of("screen (duplicates)", _id(row), "dropped", by, duplicate.reason)
        made.add(REJECTS, row.index, dropped, event)

    def open_row(self, wrap: Wrap) -> Callable[[StageOutput, InputRow], Awaitable[None]]:
        """Return what proposes whether a headline reports a market event, with the model open."""
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
                why = "no rule decides, and no model was asked"
                proposal = Proposal(None, None, None, NOBODY, why)
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
        """Write proposals, duplicates and decisions, and before them the sheet for people."""
        import pandas as pd

        whole = list(pieces)
        rows = [sheet_row(row) for made in whole for row in made.table(KEPT)]
        sheet = pd.DataFrame(rows, columns=list(SHEET_COLUMNS))
        write_frame(sheet, f"{out}.sheet.csv", Dialect(mark=True))
        super().write(out, whole)

    def show(self, result: StageResult) -> None:
        """Print what is proposed, by whom, and the market events by category."""
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
    """Return the id that a row's headline has anywhere in the project."""
    return content_id(row.value.title, prefix="h")


def read_sheets(paths: Sequence[str | Path], known: set[str]) -> dict[str, list[SheetDecision]]:
    """Return what people decided, by headline; rows without a decision are passed over.

    A sheet is a table with ``item_id``, ``decision`` (yes, no or unsure), ``decided_by`` and, where
    the proposed category is not the one, ``category``. A person's later decision on a headline
    replaces an earlier one.

    Raises:
        InputError: An id that is not among those known, a decision that is none, no name, or a
            category that is none of the ten; the message names the line.
    """
    found: dict[str, dict[str, SheetDecision]] = defaultdict(dict)
    for path in paths:
        name = source_name(path)
        for line, row in read_rows(path):
            text = {key: str(value or "").strip() for key, value in row.items()}
            if not text.get("decision"):
                continue
            decision = _decision(text, known, name, line)
            found[decision.item_id][decision.decided_by] = decision
    return {item: list(decisions.values()) for item, decisions in found.items()}


def _decision(text: dict[str, str], known: set[str], file: str, line: int) -> SheetDecision:
    def wrong(problem: str, hint: str) -> InputError:
        return InputError(problem, file=file, line=line, hint=hint)

    item, written = text.get("item_id", ""), text["decision"]
    decision = _DECISIONS.get(written.casefold())
    if item not in known:
        raise wrong(f"'{item[:40]}' is no headline of the file", "is it the right sheet?")
    if decision is None:
        raise wrong(f"'{written[:40]}' is no decision", "write yes, no or unsure")
    if not text.get("decided_by"):
        raise wrong("nobody is named in decided_by", "write who decided")
    named = unguarded(text.get("category", ""))
    category = canonical_category(named)[0] if named else None
    if named and category is None:
        raise wrong(
            f"'{named[:40]}' is none of the ten categories",
            f"write one of: {'; '.join(CATEGORIES)}",
        )
    return SheetDecision(
        item_id=item,
        decision=decision,
        category=category,
        decided_by=text["decided_by"],
        when=text.get("when") or None,
    )


@dataclass(frozen=True)
class Outcome:
    """What the people who decided on a headline come to."""

    decision: Decision
    category: str | None
    why: str
    people: int


def outcome_of(decisions: Sequence[SheetDecision], proposed: str | None) -> Outcome:
    """Return what the majority decides (section 3.3); ties and doubts make a hard case.

    A decision without a category stands for the proposed one. A market event needs a majority for
    one category too.
    """
    votes = Counter(one.decision for one in decisions)
    tally = ", ".join(f"{number} {word}" for word, number in sorted(votes.items()))
    people = len(decisions)
    winner = majority(one.decision for one in decisions)
    if winner is None:
        return Outcome("hard case", None, f"people disagree ({tally})", people)
    if winner == "unsure":
        return Outcome("hard case", None, "people are not sure", people)
    if winner == "no":
        return Outcome("dropped", None, "is no market event", people)
    named = [one.category or proposed for one in decisions if one.decision == "yes"]
    if not any(named):
        return Outcome("hard case", None, "nobody names a category", people)
    category = majority(named)
    if category is None:
        return Outcome("hard case", None, "people disagree on the category", people)
    return Outcome("kept", category, f"is a market event ({tally})", people)


def outcome_event(
    item_id: str, by: Sequence[str], when: str | None, outcome: Outcome
) -> LedgerEvent:
    """Return the ledger's event of what people decided on a headline, now if no time is known."""
    who, when = f"person:{', '.join(sorted(by))}", when or event_time()
    return LedgerEvent.of("screen (people)", item_id, outcome.decision, who, outcome.why, when=when)


@cache
def category_meanings() -> tuple[tuple[str, str], ...]:
    file = resources.files("contrafact.families.finforce").joinpath("screen_categories.toml")
    meanings = tomllib.loads(file.read_text("utf-8"))
    return tuple((name, meanings[name]) for name in CATEGORIES)


def screening_template(pack: PromptPack) -> PromptTemplate:
    """Return the pack's template ``finforce/screen``."""
    return pack.template("finforce/screen", required={"headline", "categories"})


async def ask_screening(headline: str, ask: Ask, template: PromptTemplate) -> str:
    """Ask a model about a headline; return its reply, or in brackets why there is none."""
    prompt = template.render(headline=delimit(headline), categories=category_meanings())
    try:
        return kept_reply(await ask(prompt, _schema()))
    except Unanswered as error:
        return f"[{error}]"


def _schema() -> ResponseSchema:
    properties = {
        "reason": JSONSchema(type="string"),
        "event_status": JSONSchema(type="boolean"),
        "material_relevance": JSONSchema(type="boolean"),
        "category": JSONSchema(
            anyOf=[JSONSchema(type="string", enum=list(CATEGORIES)), JSONSchema(type="null")]
        ),
    }
    return ResponseSchema(
        name="screening",
        json_schema=JSONSchema(
            type="object",
            properties=properties,
            required=list(properties),
            additionalProperties=False,
        ),
        strict=True,
    )
