"""What a ledger tells: how many items each stage kept and dropped, and how many errors are left.

RFC-BENCH, appendix E and section 2.2.3 (counts before and after each gate; audit of a stratified
sample, table 2).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from contrafact.corpus.ledger import DECISIONS, LedgerEvent

__all__ = ["ALL", "attrition", "audit_rates", "reasons"]

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
    """Return the counts of each stage, by category and over all, in the ledger's order of stages.

    An item counts once a stage and manipulation, by the stage's last decision on it: an article
    that is looked at for four manipulations is four items then.

    Returns:
        Rows with ``stage``, ``category`` (a manipulation, ``none`` or ``all``), ``items``, these by
        decision, ``retention`` (the share that was not dropped) and ``articles_left``, the articles
        of the items that were not dropped.
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

    Numbers and ids in a reason are passed over, so that reasons that differ in them alone are one.
    """
    import re

    dropped = [event for event in _last(events) if event.stage == stage]
    found = Counter(
        re.sub(r"\b[a-z]?[0-9a-f]{12}\b|\d+(?:[.,]\d+)*%?", "…", event.why)
        for event in dropped
        if event.decision == "dropped"
    )
    return found.most_common(5)


def audit_rates(events: Sequence[LedgerEvent], *, level: float = 0.95) -> list[dict[str, Any]]:
    """Return the error rates that audits suggest, by stage, round and category and over all.

    An audit's events carry the probability with which their item was drawn, so that samples of
    unequal size per category speak of the whole. ``kept`` is sound, ``dropped`` and ``revised`` are
    faulty, a ``hard case`` is undecided and left out. Categories, and chances within them, are the
    strata of `contrafact.stats.sampling.stratified_share`, articles its clusters.

    Returns:
        Rows with ``stage``, ``round``, ``category``, ``audited``, ``faulty``, ``undecided`` (hard
        cases, which are in neither rate), ``error_rate`` (the share of faulty items in what was
        audited from, 0 to 1) and ``unaudited_error_rate`` (among those that were not drawn: what is
        left once the faulty ones that were found are fixed; NaN where every item was audited), each
        with its bounds, ``level`` and ``method``.
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
    # An item drawn with probability p stands for (1 - p) / p that were not drawn.
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
