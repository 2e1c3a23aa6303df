"""Preference pairs of the best and the worst candidate, and the saturation of scores."""

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
        ended: Whether it ended within the token limit.
        valid: Whether an answer could be read in it.
        score: The points, 0 to 10; None if no reply of the judge could be read.
        samples: The scores that were averaged.
        unreadable: The number of the judge's replies that could not be read.
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
    """Return a preference for each item whose best and worst scores differ by more than a margin.

    Equal replies count as one candidate, with their mean score; empty ones do not count. The chosen
    reply always has a readable answer.

    Returns:
        A row for each preference, and the saturation of the scores: counts of items and candidates;
        the mean score, its standard deviation (``deviation``) and the mean over items of the best
        score minus the worst (``spread``), None without scores; items whose best and worst scores
        are equal (``ties``) or differ by no more than the margin (``within_margin``), and items
        with fewer than two different scored candidates (``alone``); the share of ties among the
        items that are not alone (``tie_share``).
    """
    grouped: dict[str, dict[str, list[tuple[float, ScoredCandidate]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for candidate in candidates:
        texts = grouped[candidate.item]  # creates the item's entry in any case
        if candidate.score is not None and candidate.text.strip():
            texts[candidate.text].append((candidate.score, candidate))
    pairs: list[dict[str, Any]] = []
    spreads: list[float] = []
    ties = within = alone = 0
    for item, texts in grouped.items():
        ranked = sorted(
            ((fmean(score for score, _ in same), same[0][1]) for same in texts.values()),
            key=lambda pair: -pair[0],  # stable: of equal ones the first
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
            pairs.append(
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
    scores = [candidate.score for candidate in candidates if candidate.score is not None]
    mean = fmean(scores) if scores else None
    compared = len(grouped) - alone
    return pairs, {
        "items": len(grouped),
        "candidates": len(candidates),
        "valid": sum(candidate.valid for candidate in candidates),
        "unscored": len(candidates) - len(scores),
        "unreadable_replies": sum(candidate.unreadable for candidate in candidates),
        "mean_score": mean,
        "spread": fmean(spreads) if spreads else None,
        "deviation": (
            None if mean is None else math.sqrt(fmean((score - mean) ** 2 for score in scores))
        ),
        "ties": ties,
        "within_margin": within,
        "alone": alone,
        "pairs": len(pairs),
        "tie_share": ties / compared if compared else None,
    }
