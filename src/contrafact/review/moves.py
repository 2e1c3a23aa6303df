"""Where items go: the rules that move them, audits and disagreement sets. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from contrafact.review.answers import majority_of, rule_for
from contrafact.review.audit import audit_rows, draw_sample, shortfall
from contrafact.review.board import Board, Item
from contrafact.review.project import Rule, Stage
from contrafact.review.recorder import Recorder

__all__ = ["close_if_complete", "leave", "release", "waiting_at"]


def release(record: Recorder, rng: np.random.Generator, force: str | None = None) -> None:
    """Draw every audit that is due and release every disagreement set that is complete.

    Both are due when no item can come to them any more, or their window has run out; ``force``
    names one that is taken to be due.
    """
    board = record.board
    going = True
    while going:
        going = False
        for stage in board.project.flow:
            if not stage.barrier or not (stage.id == force or _due(board, stage, record.now)):
                continue
            items = waiting_at(board, stage)
            going = going or bool(items)
            if stage.kind == "audit" and items:
                _draw(record, stage, items, rng)
            else:
                for item in items:
                    leave(record, item, stage)
        force = None


def _due(board: Board, stage: Stage, now: datetime) -> bool:
    first = next((i for i in board.at[stage.id] if board.items[i].batch is None), None)
    if first is None:
        return False
    if not any(board.at[other] for other in board.project.upstream(stage.id)):
        return True
    window = stage.window_days
    return window is not None and now - board.items[first].arrived >= timedelta(days=window)


def waiting_at(board: Board, stage: Stage) -> list[Item]:
    """Return the items that wait at a stage and are in no batch yet, in order of arrival."""
    items = (board.items[name] for name in board.at[stage.id])
    return [item for item in items if item.batch is None]


def _draw(record: Recorder, stage: Stage, items: Sequence[Item], rng: np.random.Generator) -> None:
    strata = {item.id: _stratum(stage, item) for item in items}
    drawn = draw_sample(stage, strata, rng)
    number = 1 + sum(batch.stage == stage.id for batch in record.board.batches.values())
    body = {
        "batch": f"{stage.id}-{number}",
        "members": list(strata),
        "drawn": drawn,
        "strata": strata,
    }
    record.add("drawn", stage=stage.id, round=number, body=body)


def _stratum(stage: Stage, item: Item) -> str:
    if stage.strata == "person":
        return item.votes[-1].who if item.votes else ""
    return str(item.fields[stage.strata]) if stage.strata else "all"


def close_if_complete(record: Recorder, stage: Stage, name: str) -> None:
    """Decide an audit once its whole sample is judged: its batch goes on, or returns."""
    board = record.board
    batch = board.batches[name]
    verdicts = {i: v.ballot.verdict for i in batch.drawn for v in board.items[i].here()}
    if len(verdicts) < len(batch.drawn):
        return
    rows = audit_rows(stage, batch.strata, verdicts)
    short = shortfall(stage, rows)
    body = {
        "batch": name,
        "result": "returned" if short else "passed",
        "rows": [vars(row) for row in rows],
    }
    record.add("closed", stage=stage.id, body=body)
    for member in batch.members:
        item = board.items[member]
        if short:
            _move(record, item, str(stage.returns_to), short, None, False)
        else:
            leave(record, item, stage)


def leave(record: Recorder, item: Item, stage: Stage) -> None:
    """Move an item on by the first rule that holds."""
    votes = item.counted(stage)
    verdicts = [vote.ballot.verdict for vote in votes]
    flagged = any(vote.ballot.flagged for vote in item.here())
    rule = rule_for(stage, verdicts, flagged=flagged, carried=item.verdict)
    if stage.barrier:
        failed = stage.kind == "audit" and any(v not in stage.passes for v in verdicts)
        _move(record, item, rule.to, rule.why, item.verdict, item.disputed or failed)
        return
    agreed = _agreed(rule, verdicts)
    _move(record, item, rule.to, rule.why, agreed, agreed is None)


def _agreed(rule: Rule, verdicts: Sequence[str]) -> str | None:
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return majority_of(verdicts) if rule.majority else None


def _move(
    record: Recorder, item: Item, to: str, why: str, verdict: str | None, disputed: bool
) -> None:
    body = {"to": to, "why": why, "verdict": verdict, "disputed": disputed}
    record.add("moved", item=item.id, stage=item.stage, round=item.round, body=body)
