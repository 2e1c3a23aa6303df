"""Events and items as rows, and back."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from contrafact.review.board import Item, Slot
from contrafact.review.events import Event

__all__ = ["event_of", "event_row", "item_row"]


def event_row(review: str, event: Event) -> dict[str, Any]:
    """Return the row that an event is kept as."""
    return {
        "review": review,
        "seq": event.seq,
        "kind": event.kind,
        "who": event.who,
        "at": event.when.isoformat(),
        "item": event.item,
        "stage": event.stage,
        "round": event.round,
        "slot": event.slot,
        "text_version": event.text_version,
        "guidelines_version": event.guidelines_version,
        "request": event.request,
        "body": _json(event.body),
    }


def event_of(row: Mapping[str, Any]) -> Event:
    """Return the event that a row keeps."""
    fields = {key: value for key, value in row.items() if key not in ("review", "at", "body")}
    when = datetime.fromisoformat(row["at"])
    return Event(**fields, when=when, body=json.loads(row["body"]))


def item_row(review: str, item: Item) -> dict[str, Any]:
    """Return the row that says where an item is now."""
    state = {
        "fields": item.fields,
        "text_version": item.text_version,
        "arrived": item.arrived.isoformat(),
        "why": item.why,
        "verdict": item.verdict,
        "disputed": item.disputed,
        "batch": item.batch,
        "rounds": item.rounds,
        "slots": [_slot(slot) for slot in item.slots],
        "votes": [vote.seq for vote in item.votes],
    }
    return {
        "review": review,
        "id": item.id,
        "stage": item.stage,
        "outcome": item.outcome,
        "state": _json(state),
    }


def _slot(slot: Slot) -> list[Any]:
    return [slot.role, slot.person, slot.until and slot.until.isoformat(), slot.filled]


def _json(value: object) -> str:
    # Escapes keep what a database's text cannot hold: NUL and lone surrogates.
    return json.dumps(value, sort_keys=True, ensure_ascii=True)
