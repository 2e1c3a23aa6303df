"""Sorting articles by the manipulations that their words allow.

RFC-BENCH, section 2.2.1 and appendix O: four candidate sets, found by rule before any label is
given. An article may be a candidate for several, or for none.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import typer

from contrafact.console import show_table
from contrafact.corpus.ledger import LedgerEvent, event_time
from contrafact.errors import Reason
from contrafact.families.rfc.candidates import WHY_NOT, Bucketed, bucket, why_not
from contrafact.families.rfc.records import MANIPULATIONS
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

STAGE = "bucket"
RULE = "rule:appendix O"

_EVIDENCE_FIELDS = ("list", "term", "start", "end")


@dataclass(frozen=True)
class BucketStage(NewsStage):
    """``rfc bucket``: articles in, candidates for the four manipulations out.

    It counts articles as ``candidates`` or ``dropped`` and, for each manipulation, as ``kept`` or
    by the reason ``why`` they are not.
    """

    name: str = "`rfc bucket`"
    noun: ClassVar[str] = "articles"

    def facts(self) -> dict[str, Any]:
        return {}

    def repeated(self, output: StageOutput, row: InputRow) -> None:
        """Drop a row that repeats another; the ledger has the events of the first row only."""
        why = f"repeats the article of line {(row.repeats or 0) + 1}"
        reasons = dict.fromkeys(MANIPULATIONS, why)
        output.add(REJECTS, row.index, {**_carried(row), "line": row.line, "reasons": reasons})

    def open(self, wrap: Wrap, at_once: int, each: Callable[[], None] = lambda: None) -> Work:
        async def work(rows: Sequence[InputRow]) -> StageOutput:
            return bucket_news(rows)

        return work

    def show(self, result: StageResult) -> None:
        """Print how many articles are candidates, and why the others are not."""
        counts, kept = result.counts, below(result.counts, "kept")
        rows = []
        for name in MANIPULATIONS:
            reasons = below(counts, "why", name)
            frequent = "; ".join(
                f"{count} x {WHY_NOT[code]}" for code, count in reasons.most_common(4)
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


def bucket_news(rows: Iterable[InputRow]) -> StageOutput:
    alone = Bucketed([], {}, dict.fromkeys(MANIPULATIONS, why_not("title-alone")))
    made, when = StageOutput(), event_time()
    for row in rows:
        item: NewsItem = row.value
        found = bucket(item.paragraph) if item.summary.strip() else alone
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


def _carried(row: InputRow) -> dict[str, Any]:
    item = row.value.model_dump(exclude_none=True)
    inner = row.fields.get("input_item")
    given = {**row.fields, **inner} if isinstance(inner, dict) else row.fields
    known = {*NewsItem.model_fields, "headline", "description", "text", "input_item"}
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
