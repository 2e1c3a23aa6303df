"""Which manipulations an article could carry, by the words that stand in it.

RFC-BENCH, section 2.2.1 and appendix O: four candidate sets, found by rule before any label is
given. An article may be a candidate for several, or for none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from contrafact.corpus.ledger import Ledger, LedgerEvent, ledger_path
from contrafact.corpus.news_items import NewsRow
from contrafact.records import MANIPULATIONS, Manipulation, NewsItem
from contrafact.rfc.build.stage_files import beside, write_rows
from contrafact.text.words import Spots, Term, lexicon

__all__ = ["Bucketed", "Evidence", "Sorted", "bucket", "bucket_news", "write_buckets"]

STAGE = "bucket"
RULE = "rule:appendix O"

Evidence = dict[str, str | int]
"""What made a text a candidate: ``list``, ``term``, and ``start`` and ``end`` in the paragraph."""

_LISTS = ("directional", "kpi", "hedge", "mild", "extreme", "connector", "catalyst", "reaction")
# A number and what makes it a percentage; the sign of money stands before it.
_NUMBER = re.compile(r"[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(\s?(?:%|per\s?cent\b|pct\b))?", re.ASCII)
_MONEY = frozenset("$€£¥₹₩₦")


@dataclass(frozen=True, slots=True)
class Bucketed:
    """What the rules say of one text.

    Attributes:
        candidates: The manipulations it is a candidate for.
        evidence: For each of them what made it one, in order of place.
        reasons: For each of the others why not.
    """

    candidates: tuple[Manipulation, ...]
    evidence: dict[Manipulation, list[Evidence]]
    reasons: dict[Manipulation, str]


@dataclass
class Sorted:
    """The news items of a file, sorted by the rules.

    Attributes:
        kept: Rows of those that are candidates, with ``candidates`` and ``evidence``.
        dropped: Rows of the others, with ``reasons``.
        events: The ledger's events: one for each article and manipulation.
    """

    kept: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    events: list[LedgerEvent] = field(default_factory=list)

    def counts(self) -> dict[Manipulation, int]:
        """Return how many articles are candidates for each manipulation."""
        return {name: sum(name in row["candidates"] for row in self.kept) for name in MANIPULATIONS}


def bucket(
    paragraphs: Sequence[str], spots: Callable[[Sequence[str], Sequence[str]], Spots] | None = None
) -> list[Bucketed]:
    """Return what the rules of appendix O say of each text.

    - numerical: it has a digit;
    - flipping: a directional term, and a financial term or a percentage (words such as "up" or
      "above", which say a direction only with others beside them, are not enough);
    - sentiment: a financial term, and a hedge or a mild expression, and no extreme one ("surge",
      which S.3 counts as extreme and O.3 does not, is none);
    - causal: a causal connector or a catalyst, and beside it, in other words, a financial term,
      a percentage or a market reaction.

    Args:
        paragraphs: The texts.
        spots: What finds the terms: a function of texts and names of lists; the compiled
            lexicon's if not given.
    """
    found = (spots or lexicon().spots)(paragraphs, _LISTS)
    evidence: list[dict[str, list[Evidence]]] = [{} for _ in paragraphs]
    uses = _uses()
    for number, start, end, term in zip(
        found.text.tolist(), found.start.tolist(), found.end.tolist(), found.term.tolist(),
        strict=True,
    ):  # fmt: skip
        use = uses[term]
        if use is not None:
            name, text = use
            row: Evidence = {"list": name, "term": text, "start": start, "end": end}
            lists = evidence[number]
            if name in lists:
                lists[name].append(row)
            else:
                lists[name] = [row]
    return [
        _decide(_numbers(paragraph), lists)
        for paragraph, lists in zip(paragraphs, evidence, strict=True)
    ]


def bucket_news(rows: Iterable[NewsRow], *, titles_alone: bool = False) -> Sorted:
    """Sort news items by the rules of appendix O.

    Args:
        rows: The news items, with the rows they were read from.
        titles_alone: Whether an item without a summary is sorted as well; it is dropped if not,
            since a title alone is no paragraph.
    """
    given = list(rows)
    whole = [row for row in given if titles_alone or row.item.summary.strip()]
    said = dict(
        zip(
            (row.item.id for row in whole),
            bucket([row.item.paragraph for row in whole]),
            strict=True,
        )
    )
    alone = Bucketed((), {}, dict.fromkeys(MANIPULATIONS, "no summary: a title alone"))
    result = Sorted()
    for row in given:
        one = said.get(row.item.id, alone)
        fields = _carried(row)
        if one.candidates:
            found = {"candidates": list(one.candidates), "evidence": one.evidence}
            result.kept.append({**fields, **found})
        else:
            result.dropped.append({**fields, "reasons": one.reasons})
        result.events += _events(row.item.id, one)
    return result


def write_buckets(result: Sorted, out: str | Path) -> None:
    """Write the candidates to ``out``, and beside it the dropped and the ledger.

    Raises:
        InputError: A file cannot be written, or the ledger there is none.
    """
    Ledger(ledger_path(out)).append(result.events)
    write_rows(beside(out, "dropped"), result.dropped)
    write_rows(out, result.kept)


@cache
def _uses() -> list[tuple[str, str] | None]:
    """Return of each term of the lexicon its list and text, or none where no rule uses it."""

    def use(term: Term) -> tuple[str, str] | None:
        unused = term.list not in _LISTS or term.weak or term.group == "S.3 alone"
        return None if unused else (term.list, term.text)

    return [use(term) for term in lexicon().terms]


def _numbers(text: str) -> dict[str, list[Evidence]]:
    """Return the numbers of a text by kind: ``percent``, ``money`` or ``digits``."""
    found: dict[str, list[Evidence]] = {}
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if match[1] is not None:
            kind = "percent"
        elif start and text[start - 1] in _MONEY:
            kind, start = "money", start - 1
        else:
            kind = "digits"
        row: Evidence = {"list": kind, "term": text[start:end], "start": start, "end": end}
        found.setdefault(kind, []).append(row)
    return found


def _decide(numbers: Mapping[str, list[Evidence]], lists: Mapping[str, list[Evidence]]) -> Bucketed:
    percents, kpis = numbers.get("percent", []), lists.get("kpi", [])
    directional, extreme = lists.get("directional", []), lists.get("extreme", [])
    mild = [*lists.get("hedge", ()), *lists.get("mild", ())]
    causes = [*lists.get("connector", ()), *lists.get("catalyst", ())]
    context = [*kpis, *percents, *lists.get("reaction", ())]
    reasons: dict[Manipulation, str] = {}
    if not numbers:
        reasons["numerical"] = "no digit"
    if not directional:
        reasons["flipping"] = "no directional term"
    elif not (kpis or percents):
        reasons["flipping"] = "no financial term and no percentage"
    if not kpis:
        reasons["sentiment"] = "no financial term"
    elif extreme:
        reasons["sentiment"] = f"extreme language: {extreme[0]['term']}"
    elif not mild:
        reasons["sentiment"] = "no hedge and no mild expression"
    if not causes:
        reasons["causal"] = "no causal connector and no catalyst"
    elif not _some_apart(causes, context):
        reasons["causal"] = "no financial or reaction context"
    found: dict[Manipulation, list[Evidence]] = {
        "numerical": [row for rows in numbers.values() for row in rows],
        "flipping": directional + kpis + percents,
        "sentiment": kpis + mild,
        "causal": causes + context,
    }
    candidates = tuple(name for name in MANIPULATIONS if name not in reasons)
    evidence = {name: sorted(found[name], key=itemgetter("start")) for name in candidates}
    return Bucketed(candidates, evidence, reasons)


def _some_apart(causes: Sequence[Evidence], context: Sequence[Evidence]) -> bool:
    """Return whether some cause and some context are not the same words."""
    return any(
        cause["end"] <= other["start"] or other["end"] <= cause["start"]  # type: ignore[operator]
        for cause in causes
        for other in context
    )


def _carried(row: NewsRow) -> dict[str, Any]:
    """Return the fields of a news item, then those of its row that it does not know."""
    item = row.item.model_dump(exclude_none=True)
    inner = row.fields.get("input_item")
    given = {**row.fields, **inner} if isinstance(inner, dict) else row.fields
    known = {*NewsItem.model_fields, "headline", "description", "input_item"}
    others = {key: value for key, value in given.items() if key.strip().casefold() not in known}
    return {**item, **others}


def _events(article: str, one: Bucketed) -> Iterator[LedgerEvent]:
    for name in MANIPULATIONS:
        kept = name in one.candidates
        terms = dict.fromkeys(str(row["term"]) for row in one.evidence.get(name, ()))
        yield LedgerEvent(
            item_id=article,
            article_id=article,
            manipulation=name,
            stage=STAGE,
            decision="kept" if kept else "dropped",
            by=RULE,
            why=f"candidate: {', '.join([*terms][:4])}" if kept else one.reasons[name],
        )
