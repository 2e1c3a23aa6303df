"""Audits: a stratified random sample of a batch, its pass rates, and whether the batch returns.

RFC-BENCH, section 2.2.3 and table 2; FIN-FORCE, section 3.3 (verification). Every
item's probability of being drawn is recorded, so that figures of the sample speak for the batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contrafact.review.project import Stage

__all__ = ["AuditRow", "audit_rows", "draw_sample", "shortfall"]


@dataclass(frozen=True)
class AuditRow:
    """A line of table 2: a stratum's sample and how much of it passed.

    Attributes:
        stratum: The stratum; ``overall`` for all.
        size: Items of it in the batch.
        sample: Items drawn.
        passed: Of these, those that passed.
    """

    stratum: str
    size: int
    sample: int
    passed: int

    @property
    def rate(self) -> float:
        """The share of the sample that passed, from 0 to 1; NaN without a sample."""
        return self.passed / self.sample if self.sample else float("nan")


def draw_sample(
    stage: Stage, strata: Mapping[str, str], rng: np.random.Generator
) -> dict[str, float]:
    """Return the drawn items, each with the probability with which it was drawn.

    Of every stratum its rate's share is drawn, rounded down as in table 2, and at least one item.

    Args:
        stage: The audit.
        strata: By item, its stratum; in order.
        rng: Where randomness comes from.
    """
    members: dict[str, list[str]] = {}
    for item, stratum in strata.items():
        members.setdefault(stratum, []).append(item)
    drawn: set[str] = set()
    probability: dict[str, float] = {}
    for stratum in sorted(members):
        own = members[stratum]
        # 0.15 of 20 is 3 items, and 0.29 of 100 is 29: not the float's 28.999...
        size = max(1, int(round(stage.rates.get(stratum, stage.rate) * len(own), 9)))
        chosen = rng.choice(len(own), size=size, replace=False)
        drawn |= {own[int(index)] for index in chosen}
        probability |= dict.fromkeys(own, size / len(own))
    return {item: probability[item] for item in strata if item in drawn}


def audit_rows(
    stage: Stage, strata: Mapping[str, str], verdicts: Mapping[str, str]
) -> list[AuditRow]:
    """Return a row for each stratum, in order of names, and one over all.

    Args:
        stage: The audit.
        strata: By item of the batch, its stratum.
        verdicts: By item of the sample, the auditor's verdict.
    """
    names = sorted(set(strata.values()))
    rows = []
    for name in (*names, "overall"):
        own = [item for item, stratum in strata.items() if name in (stratum, "overall")]
        seen = [verdicts[item] for item in own if item in verdicts]
        passed = sum(verdict in stage.passes for verdict in seen)
        rows.append(AuditRow(name, len(own), len(seen), passed))
    return rows


def shortfall(stage: Stage, rows: Sequence[AuditRow]) -> str | None:
    """Return why the batch has to return, in a sentence; none where the audit lets it through."""
    short = [
        row
        for row in rows
        if (row.stratum == "overall") == (stage.floor_of == "batch") and row.rate < stage.floor
    ]
    if not short:
        return None
    told = ", ".join(f"{row.stratum} {row.passed} of {row.sample}" for row in short)
    return f"the audit's pass rate is under {stage.floor:.0%}: {told}"
