"""Preferences among candidates: the best against the worst, and how saturated the scores are."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

__all__ = ["Preference", "Saturation", "ScoredCandidate", "pair_up"]


@dataclass(frozen=True)
class ScoredCandidate:
    """A candidate reply with what it was given.

    Attributes:
        item: What it is about.
        text: The reply, as the model wrote it.
        ended: Whether it came to its end.
        valid: Whether an answer could be read in it.
        score: Its points, 0 to 10; none where no judge's reply could be read.
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


@dataclass(frozen=True)
class Preference:
    """Of two replies about one item, the better and the worse."""

    item: str
    chosen: str
    rejected: str
    chosen_score: float
    rejected_score: float
    chosen_ended: bool
    rejected_ended: bool


@dataclass(frozen=True)
class Saturation:
    """What an iteration's scores can still tell apart.

    Attributes:
        items: Items with candidates.
        candidates: Candidates in all.
        valid: Candidates that could be read.
        unscored: Candidates that no judge's reply could be read of.
        unreadable_replies: Judge's replies that could not be read.
        mean_score: Over scored candidates.
        spread: Mean over items of the best score less the worst.
        deviation: Standard deviation of all scores.
        ties: Items whose best and worst are equal.
        within_margin: Items whose best and worst differ, by no more than the margin.
        alone: Items with fewer than two different candidates that are scored.
        pairs: Preferences that came of it.
    """

    items: int
    candidates: int
    valid: int
    unscored: int
    unreadable_replies: int
    mean_score: float | None
    spread: float | None
    deviation: float | None
    ties: int
    within_margin: int
    alone: int
    pairs: int

    @property
    def tie_share(self) -> float | None:
        """Ties over the items with at least two scored candidates."""
        compared = self.items - self.alone
        return self.ties / compared if compared else None


def pair_up(
    candidates: Sequence[ScoredCandidate], *, margin: float
) -> tuple[list[Preference], Saturation]:
    """Return a preference for each item whose candidates differ enough, and the figures.

    Equal replies are one candidate, with their mean score; empty ones are none. The chosen reply
    is always one that could be read.

    Args:
        candidates: All candidates, in any order.
        margin: The best must be more than this above the worst.
    """
    grouped: dict[str, dict[str, list[tuple[float, ScoredCandidate]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in candidates:
        own = grouped[one.item]
        if one.score is not None and one.text.strip():
            own[one.text].append((one.score, one))
    made: list[Preference] = []
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
                Preference(
                    item=item,
                    chosen=chosen.text,
                    rejected=rejected.text,
                    chosen_score=best,
                    rejected_score=worst,
                    chosen_ended=chosen.ended,
                    rejected_ended=rejected.ended,
                )
            )
    scores = [one.score for one in candidates if one.score is not None]
    mean = fmean(scores) if scores else None
    return made, Saturation(
        items=len(grouped),
        candidates=len(candidates),
        valid=sum(one.valid for one in candidates),
        unscored=sum(one.score is None for one in candidates),
        unreadable_replies=sum(one.unreadable for one in candidates),
        mean_score=mean,
        spread=fmean(spreads) if spreads else None,
        deviation=(
            None if mean is None else math.sqrt(fmean((score - mean) ** 2 for score in scores))
        ),
        ties=ties,
        within_margin=within,
        alone=alone,
        pairs=len(made),
    )
