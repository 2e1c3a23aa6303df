"""The ledger: every decision on every item, by whom, when and why. Events are only ever added.

RFC-BENCH, section 2.2.3 keeps counts of the items that each gate removed; the ledger keeps the
decisions behind such counts, and computes the counts from them: how many items each stage kept and
dropped (appendix E), and how many errors an audit of a stratified sample suggests are left (table
2).
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from contrafact.errors import InputError, Reason, value_problem
from contrafact.files.atomic import atomic_path, os_problem
from contrafact.files.journal import sidecar_path
from contrafact.files.lock import locked_file
from contrafact.files.tables import json_line

__all__ = [
    "Decision",
    "LedgerEvent",
    "append_events",
    "attrition",
    "audit_rates",
    "event_time",
    "read_ledger",
    "reasons",
    "write_stage",
]

Decision = Literal["kept", "dropped", "revised", "hard case"]
DECISIONS: tuple[Decision, ...] = ("kept", "dropped", "revised", "hard case")


def event_time() -> str:
    """Return the present time in the format of events: ISO 8601, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class LedgerEvent(BaseModel):
    """One decision on one item at one stage. Further fields are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")

    item_id: str = Field(min_length=1, description="The item that was decided on.")
    article_id: str | None = Field(default=None, description="The article it comes from.")
    manipulation: str | None = Field(
        default=None,
        min_length=1,
        description="The kind of item, as its family names it; none before it has a kind.",
    )
    stage: str = Field(min_length=1, description="The stage that decided, e.g. 'bucket'.")
    decision: Decision = Field(description="What was decided.")
    by: str = Field(
        pattern=r"^(rule|model|person):.",
        description="Who decided: 'rule:', 'model:' or 'person:' and a name.",
    )
    when: str = Field(default_factory=event_time, description="The time of the decision, ISO 8601.")
    why: str = Field(default="", description="The reason, in a few words.")
    why_code: str | None = Field(
        default=None,
        description="The reason's code: the same for reasons that differ in a word or a figure.",
    )
    inclusion_probability: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="For an item of an audit sample: the probability with which it was drawn.",
    )
    round: int | None = Field(
        default=None, ge=1, description="Which round of an audit that is repeated, from 1."
    )

    @classmethod
    def of(
        cls, stage: str, item: str, decision: str, by: str, why: str | Reason, **more: Any
    ) -> Self:
        """Return a decision at a stage on an item; by default the item is its own article."""
        given = {"stage": stage, "decision": decision, "by": by, "why": str(why)}
        if isinstance(why, Reason):
            given["why_code"] = why.code
        return cls.model_validate({"item_id": item, "article_id": item} | given | more)

    def identity(self) -> bytes:
        """Return a digest of the event without its time: repeated reports have the same digest."""
        if self.model_extra:
            shared = json.dumps(self.model_dump(exclude={"when"}), sort_keys=True, default=str)
        else:  # nearly always, and several times faster
            shared = self.model_dump_json(exclude={"when"})
        return hashlib.blake2b(shared.encode(), digest_size=16).digest()

    def line(self) -> bytes:
        """Return the event as a ledger's line, its line feed included."""
        try:
            return f"{self.model_dump_json(exclude_none=True)}\n".encode()
        except PydanticSerializationError:  # half a character, or a further field of no JSON type
            return json_line(self.model_dump(exclude_none=True)).encode()


def append_events(
    path: str | Path, events: Iterable[LedgerEvent], *, distinct: bool = False
) -> int:
    """Add events at the end of a ledger, synced to the disk, and return how many were new.

    An event that is in the ledger already, apart from its time, is not added again: a stage that
    was interrupted and goes on may report everything once more. Two processes take turns. A line
    that a killed process left half written is removed first. If the caller knows that no two events
    are the same (``distinct``), memory does not grow with their number.
    """
    path = Path(path)
    existed, start, new = path.exists(), 0, 0
    known: set[bytes] = set()
    try:
        with locked_file(path, wait=True), path.open("a+b") as stream:
            stream.seek(0)
            for number, line in enumerate(stream, start=1):
                if line.endswith(b"\n"):
                    start += len(line)
                    if line.strip():
                        known.add(_event(line, number, path, LedgerEvent).identity())
            stream.truncate(start)
            try:
                for event in events:
                    if known or not distinct:
                        if (identity := event.identity()) in known:
                            continue
                        if not distinct:
                            known.add(identity)
                    stream.write(event.line())
                    new += 1
            except BaseException:
                # Making an event may fail while others are written: keep all of them, or none.
                stream.flush()
                stream.truncate(start)
                if not existed:
                    path.unlink(missing_ok=True)
                raise
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise os_problem(error, path, doing="cannot be written") from error
    return new


Piece = tuple[Mapping[str, Iterable[Mapping[str, Any]]], Iterable[LedgerEvent]]
"""A stage's output for a part of its input: rows by table, and decisions."""


def write_stage(
    out: str | Path, pieces: Iterable[Piece], *sidecars: str, distinct: bool = False
) -> None:
    """Write a stage's output, piece by piece: its sidecars, its part of the ledger, and its rows.

    Each file is written whole or not at all, ``out`` last. The table ``rows`` goes to ``out``, and
    each sidecar to a file of its name: ``dropped`` to ``<out>.dropped.jsonl``. ``distinct`` is as
    in `append_events`.
    """
    with ExitStack() as stack:
        sinks = {}
        for name in ("rows", *sidecars):
            path = out if name == "rows" else sidecar_path(out, name)
            draft = stack.enter_context(atomic_path(path))
            sinks[name] = stack.enter_context(draft.open("w", encoding="utf-8", newline=""))

        def events() -> Iterator[LedgerEvent]:
            for tables, decisions in pieces:
                for name, sink in sinks.items():
                    sink.writelines(map(json_line, tables[name]))
                yield from decisions

        append_events(sidecar_path(out, "ledger"), events(), distinct=distinct)


def read_ledger(path: str | Path, event: type[LedgerEvent] = LedgerEvent) -> Sequence[LedgerEvent]:
    """Return the events of a ledger, in the order in which they were added.

    A last line without its line feed was never wholly written, and is skipped. ``event`` is a
    family's own model of its events, if it restricts their fields further.
    """
    try:
        with Path(path).open("rb") as stream:
            return [
                _event(line, number, path, event)
                for number, line in enumerate(stream, start=1)
                if line.strip() and line.endswith(b"\n")
            ]
    except FileNotFoundError as error:
        raise InputError("no such file", file=path, hint="check the path") from error
    except OSError as error:
        raise os_problem(error, path, doing="cannot be read") from error


def _event(line: bytes, number: int, path: str | Path, model: type[LedgerEvent]) -> LedgerEvent:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"is not a ledger event: {place + ': ' if place else ''}{value_problem(first)}",
            file=path,
            line=number,
            hint="fix the line, or leave it out",
        ) from error


ALL = "all"


def _category(event: LedgerEvent) -> str:
    return event.manipulation or "none"


def _last(events: Iterable[LedgerEvent]) -> list[LedgerEvent]:
    """Return the last decision of each stage and round on each item, in order of first mention."""
    found: dict[tuple[object, ...], LedgerEvent] = {}
    for event in events:
        found[(event.stage, event.round, event.item_id, event.manipulation)] = event
    return list(found.values())


def attrition(events: Sequence[LedgerEvent]) -> list[dict[str, Any]]:
    """Return the counts of each stage, by category and overall, in the ledger's order of stages.

    An item counts once per stage and manipulation, by the stage's last decision on it: an article
    that is considered for four manipulations counts as four items.

    Returns:
        Rows with ``stage``, ``category`` (a manipulation, ``none`` or ``all``), ``items``, a count
        of each decision, ``retention`` (the share that was not dropped) and ``articles_left``, the
        number of articles of the items that were not dropped.
    """
    latest = {(event.stage, event.item_id, event.manipulation): event for event in events}
    stages = list(dict.fromkeys(event.stage for event in events))
    groups: dict[tuple[str, str], list[LedgerEvent]] = {}
    for event in latest.values():
        for category in (_category(event), ALL):
            groups.setdefault((event.stage, category), []).append(event)
    rows = []
    for stage, category in sorted(groups, key=lambda g: (stages.index(g[0]), g[1] == ALL, g[1])):
        own = groups[stage, category]
        decisions = Counter(event.decision for event in own)
        left = [event for event in own if event.decision != "dropped"]
        rows.append(
            {
                "stage": stage,
                "category": category,
                "items": len(own),
                **{name.replace(" ", "_"): decisions[name] for name in DECISIONS},
                "retention": len(left) / len(own),
                "articles_left": len({event.article_id or event.item_id for event in left}),
            }
        )
    return rows


def reasons(events: Sequence[LedgerEvent], stage: str) -> list[tuple[str, int]]:
    """Return why a stage dropped items: the five most frequent reasons, with their counts.

    Reasons with the same code are counted together, under the text of the first. In reasons without
    a code, numbers and ids are ignored, so that reasons that differ only in them count together.
    """
    found: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for event in _last(events):
        if event.stage == stage and event.decision == "dropped":
            text = re.sub(r"\b[a-z]?[0-9a-f]{12}\b|\d+(?:[.,]\d+)*%?", "…", event.why)
            code = event.why_code or text
            found[code] += 1
            texts.setdefault(code, text)
    return [(texts[code], count) for code, count in found.most_common(5)]


def audit_rates(events: Sequence[LedgerEvent], *, level: float = 0.95) -> list[dict[str, Any]]:
    """Return the error rates that audits suggest, by stage, round and category and overall.

    An audit's events carry the probability with which their item was drawn, so that samples of
    unequal size per category represent the whole. ``kept`` is sound, ``dropped`` and ``revised``
    are faulty, a ``hard case`` is undecided and left out. Categories, and probabilities within
    them, are the strata of `contrafact.stats.sampling.stratified_share`, articles its clusters.

    Returns:
        Rows with ``stage``, ``round``, ``category``, ``audited``, ``faulty``, ``undecided`` (hard
        cases, which are in neither rate), ``error_rate`` (the share of faulty items among all items
        that the audit drew from, 0 to 1) and ``unaudited_error_rate`` (the share among the items
        not drawn, which is left once the faulty items found are fixed; NaN if every item was
        audited), each with its bounds, ``level`` and ``method``.
    """
    audits = [event for event in _last(events) if event.inclusion_probability is not None]
    groups: dict[tuple[str, int | None, str], list[LedgerEvent]] = {}
    for event in audits:
        for category in (_category(event), ALL):
            groups.setdefault((event.stage, event.round, category), []).append(event)
    order = list(dict.fromkeys((event.stage, event.round) for event in audits))
    ordered = sorted(groups, key=lambda g: (order.index(g[:2]), g[2] == ALL, g[2]))
    return [_rate(key, groups[key], level) for key in ordered]


def _rate(
    key: tuple[str, int | None, str], events: Sequence[LedgerEvent], level: float
) -> dict[str, Any]:
    from contrafact.stats.sampling import stratified_share

    decided = [event for event in events if event.decision != DECISIONS[3]]
    values = [float(event.decision != "kept") for event in decided]
    chances = [event.inclusion_probability or 1.0 for event in decided]
    clusters = [event.article_id or event.item_id for event in decided]
    strata = [(_category(event), event.inclusion_probability) for event in decided]
    rate = stratified_share(
        values, [1.0 / chance for chance in chances], strata, clusters=clusters, level=level
    )
    # An item drawn with probability p represents (1 - p) / p items that were not drawn.
    drawn = [number for number, chance in enumerate(chances) if chance < 1.0]
    residual = stratified_share(
        [values[number] for number in drawn],
        [(1.0 - chances[number]) / chances[number] for number in drawn],
        [strata[number] for number in drawn],
        clusters=[clusters[number] for number in drawn],
        level=level,
    )
    return {
        **dict(zip(("stage", "round", "category"), key, strict=True)),
        "audited": len(events),
        "faulty": int(sum(values)),
        "undecided": len(events) - len(decided),
        **rate.columns("error_rate"),
        **residual.columns("unaudited_error_rate"),
        "level": rate.level,
        "method": rate.method,
    }
