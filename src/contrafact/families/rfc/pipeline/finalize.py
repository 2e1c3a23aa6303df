"""Finalization: reviewed pairs become the dataset and its hard cases (RFC-BENCH, 2.2.3, 2.2.4).

`decisions.follow` gives the outcome of the decisions on one pair; this module combines it with
what facts and judges say.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from contrafact.corpus.ledger import Decision, LedgerEvent
from contrafact.families.rfc.decisions import REVIEW_STAGES, Fate, ReviewDecision, follow
from contrafact.families.rfc.records import MANIPULATIONS, Rewrite
from contrafact.stages.stage import KEPT, REJECTS, InputRow, StageOutput
from contrafact.stats.sampling import stratified_share

if TYPE_CHECKING:
    import pandas as pd

STAGE = "finalize"
HARD = "hard"
REVIEW = "review"
"""The table of pairs that nobody has decided."""
_LEDGER_WORD: dict[str, Decision] = {"pass": "kept", "revise": "revised", "unresolved": "hard case"}

_TABLES: dict[str, tuple[str, Decision]] = {
    "retained": (KEPT, "kept"),
    "hard case": (HARD, "hard case"),
    "to review": (REVIEW, "hard case"),
    "dropped": (REJECTS, "dropped"),
}
"""By outcome, the table to which pairs are written, and the ledger's word for the outcome."""

Unreviewed = Literal["drop", "keep"]
Undecided = Literal["review", "keep", "drop"]


@dataclass(frozen=True)
class Standing:
    """The verdict of facts and judges on a pair: the rules it breaks, and why it is undecided."""

    broken: Sequence[str] = ()
    undecided: str = ""


Contract = Callable[[Mapping[str, Any]], Standing]


def finalize(
    rows: Sequence[InputRow],
    decisions: Sequence[ReviewDecision],
    *,
    contract: Contract,
    annotators: int = 2,
    unreviewed: Unreviewed = "drop",
    undecided: Undecided = "review",
    required: Sequence[str] = (),
    each: Callable[[object], None] = lambda _: None,
) -> StageOutput:
    """Return the final dataset, the hard cases and the removed pairs.

    Pairs that people retained then go through the integrity checks: they must have the fields that
    the release needs, and keep their contract. An expert's decision overrides a rule: the pair is
    kept, and ``against_rules`` and ``review`` give both reasons. A pair that only annotators pass
    and the contract fails is ambiguous, and so a hard case. A pair that people passed is decided
    (``passed`` is true), even if judges left it open.
    """
    by_item: dict[str, list[ReviewDecision]] = defaultdict(list)
    for decision in decisions:
        by_item[decision.item_id].append(decision)
    result = StageOutput()
    for row in rows:
        own = by_item.get(str(row.fields["id"]), [])
        fate = follow(own, annotators=annotators)
        result.events += [(row.index, event) for event in _of_people(row.fields, own)]
        edited = {name: text for one in own for name, text in one.review_edited.items()}
        final = _revised(row.fields, edited, fate.rewritten)
        place, why, by = _settled(final, fate, contract, unreviewed, undecided, required)
        final["review"] = "unreviewed" if fate.state == "unreviewed" else why
        _put(result, row, final, place, why, by)
        each(row.fields["id"])
    counted = {"retained": KEPT, "hard cases": HARD, "dropped": REJECTS}
    counted |= {"to review": REVIEW} if result.table(REVIEW) else {}
    result.counts.update({name: len(result.table(table)) for name, table in counted.items()})
    if left := sum(row["passed"] is None for row in result.table(KEPT)):
        result.counts["retained undecided"] = left
    return result


def retention_table(rows: Sequence[InputRow], result: StageOutput) -> "pd.DataFrame":
    """Return table 4: pairs before and after adjudication, per category and in all.

    Columns: ``category``, ``before``, ``retained``, of these ``undecided``, ``hard_cases``,
    ``to_review``, ``removed``, ``retention`` (a share from 0 to 1) with ``retention_low`` and
    ``retention_high``, the bounds of a 95% interval in which articles are clusters.
    """
    import pandas as pd

    kept, hard, waiting = (
        {row["reviewed_id"] for row in result.table(name)} for name in (KEPT, HARD, REVIEW)
    )
    open_ = {row["reviewed_id"] for row in result.table(KEPT) if row["passed"] is None}
    table = []
    for category in (*MANIPULATIONS, "overall"):
        own = [r.fields for r in rows if category in ("overall", r.fields["manipulation"])]
        ids = {row["id"] for row in own}
        sizes = [len(some & ids) for some in (kept, hard, waiting)]
        table.append(
            {
                "category": category,
                "before": len(own),
                "retained": sizes[0],
                "undecided": len(open_ & ids),
                "hard_cases": sizes[1],
                "to_review": sizes[2],
                "removed": len(own) - sum(sizes),
                **_share("retention", own, [row["id"] in kept for row in own]),
            }
        )
    return pd.DataFrame(table)


def audit_table(rows: Sequence[InputRow], decisions: Sequence[ReviewDecision]) -> "pd.DataFrame":
    """Return table 2: each category's last audit, and all of them; empty without an audit.

    A category that a later round does not audit keeps the result of its own last round: a failed
    category does not pass because others were audited later.

    Columns: ``category``, ``sample``, ``passed``, ``failed``, ``pass_rate`` with its bounds
    ``pass_rate_low`` and ``pass_rate_high`` (95%, articles are clusters).
    """
    import pandas as pd

    kind_of = {row.fields["id"]: row.fields["manipulation"] for row in rows}
    audits = [d for d in decisions if d.stage == "audit" and d.item_id in kind_of]
    last: dict[str, int] = {}
    for decision in audits:
        kind = kind_of[decision.item_id]
        last[kind] = max(last.get(kind, 0), decision.round)
    passed = {
        decision.item_id: decision.decision == "pass"
        for decision in sorted(audits, key=lambda decision: decision.time)
        if decision.round == last[kind_of[decision.item_id]]
    }
    table = []
    for category in (*MANIPULATIONS, "overall"):
        own = [
            r.fields
            for r in rows
            if r.fields["id"] in passed and category in ("overall", r.fields["manipulation"])
        ]
        if own:
            verdicts = [passed[row["id"]] for row in own]
            counts = {"sample": len(own), "passed": sum(verdicts)}
            counts["failed"] = len(own) - counts["passed"]
            table.append({"category": category, **counts, **_share("pass_rate", own, verdicts)})
    return pd.DataFrame(table)


def _share(name: str, own: Sequence[Mapping[str, Any]], hits: Sequence[bool]) -> dict[str, float]:
    found = stratified_share(
        [float(hit) for hit in hits],
        [1.0] * len(own),
        clusters=[str(row["article_id"]) for row in own],
    )
    return found.columns(name)


def _settled(
    final: dict[str, Any],
    fate: Fate,
    contract: Contract,
    unreviewed: Unreviewed,
    undecided: Undecided,
    required: Sequence[str],
) -> tuple[str, str, str]:
    """Return where a pair goes, why, and who decided, after the integrity checks (2.2.4)."""
    seen = fate.state != "unreviewed"
    if not seen and unreviewed == "drop":
        return "dropped", f"{fate.why}: not reviewed", fate.by
    if seen and fate.state != "retained":
        return {"removed": "dropped"}.get(fate.state, fate.state), fate.why, fate.by
    missing = [name for name in required if not str(final.get(name) or "").strip()]
    if missing:
        return "dropped", f"lacks {', '.join(missing)}", "rule:finalize"
    standing = contract(final)
    final.pop("undecided", None)
    final["passed"] = True
    rules = ", ".join(standing.broken)
    if rules and not seen:
        return "dropped", f"breaks {rules}", "rule:contract"
    if rules and not fate.experts:
        return "hard case", f"{fate.why}, but it breaks {rules}", "rule:contract"
    if rules:
        final["against_rules"] = list(standing.broken)
        reasons = "; ".join(
            f"{one.decided_by}: {one.why or f'{one.decision}, without a reason'}"
            for one in fate.experts
        )
        return "retained", f"{fate.why}, against {rules}; {reasons}", fate.by
    if seen or not standing.undecided:
        return "retained", fate.why, fate.by
    final |= {"passed": None, "undecided": standing.undecided}
    place = {"keep": "retained", "drop": "dropped", "review": "to review"}[undecided]
    return place, f"undecided: {standing.undecided}", fate.by


def _put(
    result: StageOutput, row: InputRow, final: dict[str, Any], place: str, why: str, by: str
) -> None:
    table, decision = _TABLES[place]
    undecided = place in ("retained", "to review") and final["passed"] is None
    more: dict[str, Any] = {"undecided": True} if undecided else {}
    event = _event(row.fields, decision, by, why, **more)
    result.add(table, row.index, final if table == KEPT else {**final, "reason": why}, event)


def _revised(
    row: Mapping[str, Any], edited: Mapping[str, str], rewritten: str | None
) -> dict[str, Any]:
    final: dict[str, Any] = {**row, **edited, "reviewed_id": row["id"]}
    if rewritten is not None:
        final["rewritten"] = rewritten
    texts = ("manipulation", "original", "rewritten")
    if all(final[name] == row[name] for name in texts):
        return final
    pair = Rewrite.of(*(final[name] for name in texts), article_id=final["article_id"])
    # The log of edits and the verdicts are about the rewriter's text, not about the revised one.
    for name in ("passed", "undecided"):
        final.pop(name, None)
    return final | {"id": pair.id, "edits": [], "revised": True}


def _of_people(row: Mapping[str, Any], own: Sequence[ReviewDecision]) -> list[LedgerEvent]:
    """Return an event for each decision, and one for the outcome of several at the same stage."""
    events = []
    for stage in REVIEW_STAGES:
        latest: dict[str, ReviewDecision] = {}
        at = (decision for decision in own if decision.stage == stage)
        for one in sorted(at, key=lambda d: (d.time, d.decided_by)):
            more: dict[str, Any] = {"stage": stage, "when": one.when}
            if stage == "audit":
                more |= {"inclusion_probability": one.inclusion_probability, "round": one.round}
            by, word = f"person:{one.decided_by}", _LEDGER_WORD.get(one.decision, "dropped")
            events.append(_event(row, word, by, one.why or one.decision, **more))
            latest[one.decided_by] = one
        if len(latest) > 1:
            answers = {_LEDGER_WORD.get(d.decision, "dropped") for d in latest.values()}
            outcome = answers.pop() if len(answers) == 1 else "hard case"
            votes = ", ".join(f"{who} {d.decision}" for who, d in sorted(latest.items()))
            events.append(_event(row, outcome, "rule:finalize", votes, stage=stage))
    return events


def _event(
    row: Mapping[str, Any], decision: str, by: str, why: str, *, stage: str = STAGE, **more: Any
) -> LedgerEvent:
    named = {name: row[name] for name in ("article_id", "manipulation")}
    return LedgerEvent.of(stage, row["id"], decision, by, why, **named, **more)
