"""The rewriting stage: rows with a manipulation in, pairs out (RFC-BENCH, section 2.2.2).

A rewriter makes proposals, and the edit contract decides: proposals are made until one passes, up
to a limit; if none passes, the row is dropped with the violations as the reason. By rule, the
outcome of a row depends on the row, the settings and the seed alone, so that a run that was
interrupted and resumed ends in the same bytes.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from contrafact.corpus.news_items import item_of
from contrafact.errors import InputError
from contrafact.families.rfc.contracts import Options, check_pair
from contrafact.families.rfc.contracts.prose import unread_language
from contrafact.families.rfc.labels import Bands
from contrafact.families.rfc.pipeline.edits import RewriteOutcome
from contrafact.families.rfc.records import MANIPULATIONS, Manipulation, Rewrite
from contrafact.records import NewsItem

__all__ = ["assignment_of"]

BY_MODEL_ALONE = "rules write numerical pairs only; this one needs a model"
"""Why a row that rules cannot rewrite is dropped if no model is named."""

_NEWS = {"id", "title", "headline", "summary", "description", "text", "manipulation"}
_NEWS |= {"input_item"}


@dataclass(frozen=True)
class Assignment:
    """One row of the input: an article and the manipulation to apply to it."""

    line: int
    item: NewsItem
    manipulation: Manipulation
    fields: dict[str, Any]


def assignment_of(fields: dict[str, Any], line: int) -> Assignment:
    item = item_of(fields, line=line)
    label = fields.get("manipulation")
    if label not in MANIPULATIONS:
        raise InputError(
            "no manipulation" if label is None else f"unknown manipulation {label!r}",
            hint=f"label it one of {', '.join(get_args(Manipulation))} (see `rfc label`)",
        )
    return Assignment(line, item, label, fields)


def seed_of(seed: int, item_id: str, manipulation: str, attempt: int) -> int:
    """Return the seed of one try, from which all its random choices come."""
    text = f"{seed}\x1f{item_id}\x1f{manipulation}\x1f{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def rewrite_by_rules(
    assignment: Assignment, *, seed: int, attempts: int, bands: Bands | None = None
) -> RewriteOutcome:
    """Rewrite one row by rule: proposals are made until one passes its contract."""
    from contrafact.families.rfc.pipeline.numerical import rewrite_numerical

    item, manipulation = assignment.item, assignment.manipulation
    original = item.paragraph
    if manipulation != "numerical":
        return RewriteOutcome(reason=BY_MODEL_ALONE)
    options = Options(bands=bands)
    tried: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for attempt in range(1, attempts + 1):
        proposal = rewrite_numerical(original, seed_of(seed, item.id, manipulation, attempt))
        if proposal.rewritten is None and not tried:
            # If one seed finds no figures, another hardly will.
            return replace(proposal, reason=unread_language(original) or proposal.reason)
        if proposal.rewritten is None or proposal.rewritten in tried:
            continue
        check = check_pair(
            manipulation, original, proposal.rewritten, title=item.title, options=options
        )
        if check.passed is not False:
            open_ = "; ".join(finding.message for finding in check.review if finding.unchecked)
            return replace(proposal, attempts=attempt, undecided=open_)
        tried[proposal.rewritten] = tuple(finding.as_row() for finding in check.violations)
    return refused(list(tried.values()), attempts)


def refused(tried: Sequence[tuple[Mapping[str, Any], ...]], attempts: int) -> RewriteOutcome:
    """Return the outcome of a row whose proposals all failed, with the best one's violations."""
    best = min(tried, key=len)
    rules = ", ".join(dict.fromkeys(str(violation["rule"]) for violation in best))
    return RewriteOutcome(
        attempts=attempts, reason=f"breaks its contract: {rules}", violations=best
    )


def why_kept(outcome: RewriteOutcome) -> str:
    if outcome.undecided:
        return f"breaks no fact (try {outcome.attempts}); undecided: {outcome.undecided}"
    return f"keeps its contract (try {outcome.attempts})"


def pair_row(assignment: Assignment, outcome: RewriteOutcome, rewriter: str) -> dict[str, Any]:
    item = assignment.item
    pair = Rewrite.of(
        assignment.manipulation,
        item.paragraph,
        outcome.rewritten or "",
        article_id=item.id,
        rewriter=rewriter,
        edits=outcome.edits,
        attempts=outcome.attempts,
        ticker=item.ticker,
        date=item.date,
        url=item.url,
        category=item.category,
    ).model_dump(mode="json")
    carried = {
        name: value
        for name, value in assignment.fields.items()
        if name not in pair and name not in _NEWS
    }
    decided: dict[str, Any] = {"passed": None if outcome.undecided else True}
    if outcome.undecided:
        decided["undecided"] = outcome.undecided
    if item.summary.strip():
        pair["title"] = item.title
    return pair | decided | {k: v for k, v in carried.items() if k not in decided}
