"""Preferences among candidates: the best against the worst, and how saturated the scores are."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any


@dataclass(frozen=True)
class ScoredCandidate:
    """A candidate reply with its scores.

    Attributes:
        ended: Whether it came to its end.
        valid: Whether an answer could be read in it.
        score: Its points, 0 to 10; None where no judge's reply could be read.
        samples: The scores that were averaged.
        unreadable: Judge's replies that could not be read, and do not count.
    """

    item: str
    text: str
    ended: bool
    valid: bool
    score: float | None
    samples: tuple[float, ...] = ()
    unreadable: int = 0


def pair_up(
    candidates: Sequence[ScoredCandidate], *, margin: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a preference for each item whose best candidate is more than a margin above its worst.

    Equal replies are one candidate, with their mean score; empty ones are none. The chosen reply
    is always one that could be read.

    Returns:
        A row for each, and what the scores can still tell apart: counts of items and candidates;
        the mean score, its standard deviation (``deviation``) and the mean over items of the best
        score less the worst (``spread``), None without scores; items whose best and worst are equal
        (``ties``), differ by no more than the margin (``within_margin``), or that have fewer than
        two different scored candidates (``alone``); ties over all but the last (``tie_share``).
    """
    grouped: dict[str, dict[str, list[tuple[float, ScoredCandidate]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in candidates:
        own = grouped[one.item]
        if one.score is not None and one.text.strip():
            own[one.text].append((one.score, one))
    made: list[dict[str, Any]] = []
    spreads: list[float] = []
    ties = within = alone = 0
    for item, texts in grouped.items():
        ranked = sorted(
            ((fmean(score for score, _ in same), same[0][1]) for same in texts.values()),
            key=lambda pair: -pair[0],  # stable: of equals the first
        )
        if len(ranked) < 2:
            alone += 1
            continue
        (best, chosen), (worst, rejected) = ranked[0], ranked[-1]
        spreads.append(best - worst)
        if math.isclose(best, worst):
            ties += 1
        elif best - worst <= margin or not chosen.valid:
            within += 1
        else:
            made.append(
                {
                    "item": item,
                    "chosen": chosen.text,
                    "rejected": rejected.text,
                    "chosen_score": best,
                    "rejected_score": worst,
                    "chosen_ended": chosen.ended,
                    "rejected_ended": rejected.ended,
                }
            )
    scores = [one.score for one in candidates if one.score is not None]
    mean = fmean(scores) if scores else None
    compared = len(grouped) - alone
    return made, {
        "items": len(grouped),
        "candidates": len(candidates),
        "valid": sum(one.valid for one in candidates),
        "unscored": sum(one.score is None for one in candidates),
        "unreadable_replies": sum(one.unreadable for one in candidates),
        "mean_score": mean,
        "spread": fmean(spreads) if spreads else None,
        "deviation": (
            None if mean is None else math.sqrt(fmean((score - mean) ** 2 for score in scores))
        ),
        "ties": ties,
        "within_margin": within,
        "alone": alone,
        "pairs": len(made),
        "tie_share": ties / compared if compared else None,
    }
