"""Sorting articles by the manipulations that their words allow.

RFC-BENCH, section 2.2.1 and appendix O: four candidate sets, found by rule before any label is
given. An article may be a candidate for several, or for none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import typer

from contrafact.console import show_table
from contrafact.corpus.ledger import LedgerEvent, event_time
from contrafact.errors import Reason
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation
from contrafact.records import NewsItem
from contrafact.stages.news import NewsStage
from contrafact.stages.stage import (
    KEPT,
    REJECTS,
    InputRow,
    StageOutput,
    StageResult,
    Work,
    Wrap,
    below,
)
from contrafact.text.words.lexicon import LISTS, spots

STAGE = "bucket"
RULE = "rule:appendix O"

_KINDS = ("percent", "money", "digits")
_NAMES = (*LISTS, *_KINDS)
# The lists whose words are kept as evidence of each manipulation: more than its rules require.
_EVIDENCE: dict[Manipulation, tuple[str, ...]] = {
    "numerical": _KINDS,
    "flipping": ("directional", "kpi", "percent"),
    "sentiment": ("kpi", "hedge", "mild"),
    "causal": ("connector", "catalyst", "kpi", "percent", "reaction"),
}
_CAUSES = ("connector", "catalyst")
_CONTEXT = ("kpi", "percent", "reaction")

# A number, with its percent sign or word, if any; a currency sign stands before it.
_NUMBER = re.compile(r"[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(\s?(?:%|per\s?cent\b|pct\b))?")
_MONEY = frozenset("$€£¥₹₩₦")


_WHY_NOT = {
    "title-alone": "no summary: a title alone",
    "no-digit": "no digit",
    "no-direction": "no directional term",
    "nothing-financial": "no financial term and no percentage",
    "no-kpi": "no financial term",
    "extreme": "extreme language",
    "neither-hedged-nor-mild": "no hedge and no mild expression",
    "no-cause": "no causal connector and no catalyst",
    "no-context": "no financial or reaction context",
}
"""Why an article is not a candidate, by code."""

Evidence = tuple[str, str, int, int]
"""A term that makes a text a candidate: its word list (for a number ``percent``, ``money`` or
``digits``), its base form or the number as written, and its start and end in the text."""

_EVIDENCE_FIELDS = ("list", "term", "start", "end")


class Bucketed(NamedTuple):
    candidates: list[Manipulation]
    """The manipulations for which the text is a candidate."""
    evidence: dict[Manipulation, list[Evidence]]
    """The evidence for each of them, in the order of the text."""
    reasons: dict[Manipulation, Reason]
    """Why the text is not a candidate for each of the others."""


def bucket(paragraph: str) -> Bucketed:
    """Return the manipulations that the rules of appendix O allow for a text.

    - numerical: it has a digit;
    - flipping: a directional term, and a financial term or a percentage (words such as "up" or
      "above", which say a direction only with other words, are not enough);
    - sentiment: a financial term, and a hedge or a mild expression, and no extreme one ("surge" is
      not extreme here: S.3 counts it as such, but O.3 does not);
    - causal: a causal connector or a catalyst and, apart from these words, a financial term,
      a percentage or a market reaction.
    """
    unsorted = [*_numbers(paragraph), *spots(paragraph)]
    cues = sorted(unsorted, key=lambda cue: (cue[2], cue[3], _NAMES.index(cue[0])))
    there = {cue[0] for cue in cues}
    reasons: dict[Manipulation, Reason] = {}
    financial = not there.isdisjoint(("kpi", "percent"))
    # O.1: numerical.
    if there.isdisjoint(_KINDS):
        reasons["numerical"] = _why_not("no-digit")
    # O.2: flipping.
    if "directional" not in there:
        reasons["flipping"] = _why_not("no-direction")
    elif not financial:
        reasons["flipping"] = _why_not("nothing-financial")
    # O.3: sentiment.
    if "kpi" not in there:
        reasons["sentiment"] = _why_not("no-kpi")
    elif "extreme" in there:
        first = next(cue[1] for cue in cues if cue[0] == "extreme")
        reasons["sentiment"] = _why_not("extreme", first)
    elif there.isdisjoint(("hedge", "mild")):
        reasons["sentiment"] = _why_not("neither-hedged-nor-mild")
    # O.4: causal.
    if there.isdisjoint(_CAUSES):
        reasons["causal"] = _why_not("no-cause")
    elif not _apart(cues):
        reasons["causal"] = _why_not("no-context")
    candidates = [name for name in MANIPULATIONS if name not in reasons]
    evidence = {name: [cue for cue in cues if cue[0] in _EVIDENCE[name]] for name in candidates}
    return Bucketed(candidates, evidence, reasons)


@dataclass(frozen=True)
class BucketStage(NewsStage):
    """``rfc bucket``: articles in, candidates for the four manipulations out.

    It counts articles as ``candidates`` or ``dropped`` and, for each manipulation, as ``kept`` or
    by the reason ``why`` they are not.
    """

    titles_alone: bool = False
    name: str = "`rfc bucket`"
    noun: ClassVar[str] = "articles"

    def facts(self) -> dict[str, Any]:
        return {"titles-alone": self.titles_alone}

    def repeated(self, output: StageOutput, row: InputRow) -> None:
        """Drop a row that repeats another; the ledger has the events of the first row only."""
        why = f"repeats the article of line {(row.repeats or 0) + 1}"
        reasons = dict.fromkeys(MANIPULATIONS, why)
        output.add(REJECTS, row.index, {**_carried(row), "line": row.line, "reasons": reasons})

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        async def work(rows: Sequence[InputRow]) -> StageOutput:
            return bucket_news(rows, titles_alone=self.titles_alone)

        return work

    def show(self, result: StageResult) -> None:
        """Print how many articles are candidates, and why the others are not."""
        counts, kept = result.counts, below(result.counts, "kept")
        rows = []
        for name in MANIPULATIONS:
            reasons = below(counts, "why", name)
            frequent = "; ".join(
                f"{count} x {_WHY_NOT[code]}" for code, count in reasons.most_common(4)
            )
            rows.append((name, str(kept[name]), str(reasons.total()), frequent))
        columns = ("manipulation", "candidates", "others", "most frequent reasons")
        show_table("Candidates, and the others by reason", columns, rows, stderr=True)
        candidates, dropped = counts["candidates"], counts["dropped"]
        typer.echo(
            f"{candidates + dropped:,} articles: {candidates:,} are candidates ({kept.total():,} "
            f"with each of their manipulations), {dropped:,} dropped; written to {result.out}",
            err=True,
        )


def bucket_news(rows: Iterable[InputRow], *, titles_alone: bool = False) -> StageOutput:
    alone = Bucketed([], {}, dict.fromkeys(MANIPULATIONS, _why_not("title-alone")))
    made, when = StageOutput(), event_time()
    for row in rows:
        item: NewsItem = row.value
        whole = titles_alone or item.summary.strip()
        found = bucket(item.paragraph) if whole else alone
        fields = _carried(row)
        if found.candidates:
            evidence = {
                name: [dict(zip(_EVIDENCE_FIELDS, cue, strict=True)) for cue in cues]
                for name, cues in found.evidence.items()
            }
            fields |= {"candidates": found.candidates, "evidence": evidence}
        else:
            fields["reasons"] = {name: why.text for name, why in found.reasons.items()}
        table = KEPT if found.candidates else REJECTS
        made.add(table, row.index, fields, *_events(item.id, found, when))
        made.counts["candidates" if found.candidates else "dropped"] += 1
        made.counts.update(("kept", name) for name in found.candidates)
        made.counts.update(("why", name, why.code) for name, why in found.reasons.items())
    return made


def _numbers(text: str) -> Iterator[Evidence]:
    for match in _NUMBER.finditer(text):
        (start, end), kind = match.span(), "digits" if match[1] is None else "percent"
        if kind == "digits" and start and text[start - 1] in _MONEY:
            kind, start = "money", start - 1
        yield kind, text[start:end] if kind == "money" else match[0], start, end


def _why_not(code: str, term: str = "") -> Reason:
    return Reason(code, f"{_WHY_NOT[code]}: {term}" if term else _WHY_NOT[code])


def _apart(cues: Sequence[Evidence]) -> bool:
    """Return whether a cause and a financial or reaction context occur, in separate words."""
    causes, context = ([c for c in cues if c[0] in names] for names in (_CAUSES, _CONTEXT))
    if not context:
        return False
    return (
        min(cue[3] for cue in causes) <= context[-1][2]
        or min(cue[3] for cue in context) <= causes[-1][2]
    )


def _carried(row: InputRow) -> dict[str, Any]:
    item = row.value.model_dump(exclude_none=True)
    inner = row.fields.get("input_item")
    given = {**row.fields, **inner} if isinstance(inner, dict) else row.fields
    known = {*NewsItem.model_fields, "headline", "description", "input_item"}
    # A frame's columns may be named by numbers.
    others = {
        key: value for key, value in given.items() if str(key).strip().casefold() not in known
    }
    return {**item, **others}


def _events(article: str, one: Bucketed, when: str) -> Iterator[LedgerEvent]:
    for name in MANIPULATIONS:
        kept = name in one.candidates
        terms = dict.fromkeys(row[1] for row in one.evidence.get(name, ()))
        decision = "kept" if kept else "dropped"
        why = one.reasons.get(name) or Reason("candidate", f"candidate: {', '.join([*terms][:4])}")
        yield LedgerEvent.of(STAGE, article, decision, RULE, why, manipulation=name, when=when)
