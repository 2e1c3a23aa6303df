"""The human studies: agreement on rewrites (table 3) and human baselines (table 7).

RFC-BENCH, sections 2.2.3 and 3.3, appendix F. The same number of items is drawn from each
manipulation; figures are of that sample, and the percentage in all is also weighted back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from contrafact.errors import InputError
from contrafact.families.rfc.labels import ERROR_CLASSES, FALSE, TRUE
from contrafact.families.rfc.study_sheet import (
    CATEGORIES,
    STEPS,
    Answers,
    KeyItem,
    StudyKind,
    shown_columns,
)
from contrafact.files.sheets import item_check, item_names
from contrafact.records import MANIPULATIONS, Rewrite
from contrafact.stats.agreement import cohen_kappa, gwet_ac1, percent_agreement, with_interval
from contrafact.stats.classification import classification
from contrafact.stats.sampling import horvitz_thompson_mean
from contrafact.text.delimit import printable

__all__ = ["GOLD", "JUDGE", "OVERALL", "draw_study", "score_study"]

GOLD = "gold"
"""What stands for the second rater where answers are held against what is right."""
JUDGE = "judge"
"""The same in a study of reasons, where they are held against the class that a judge gave."""
OVERALL = "overall"
_LABELS = {"manipulation": MANIPULATIONS, "reason_class": ERROR_CLASSES}


@dataclass(frozen=True)
class _Drawn:
    pair: Rewrite
    probability: float
    member: str = ""


def draw_study(
    pairs: Sequence[Rewrite], kind: StudyKind, per_category: int, rng: np.random.Generator
) -> tuple[list[dict[str, str]], list[KeyItem]]:
    """Draw items for people: so many of each manipulation, or all where there are fewer.

    In a study of detection every item is one member of a pair, and of each manipulation half are
    unmanipulated; no two items come from one pair.

    Args:
        pairs: Pairs with their originals.
        kind: ``agreement``: is the manipulation the right one, and does the rewrite keep its
            rules? ``detect``: is the paragraph unmanipulated? ``diagnose``: which manipulation?
        per_category: How many items to draw of each manipulation.
        rng: Where randomness comes from.

    Returns:
        The sheet's rows in random order, and the key's items in order of their names.

    Raises:
        InputError: There are no pairs, or one has no original.
    """
    if not pairs:
        raise InputError("there are no pairs to draw from")
    if any(not pair.original for pair in pairs):
        raise InputError(
            "some pairs have no original to show",
            hint="give them back with `contrafact rfc hydrate`",
        )
    drawn: list[_Drawn] = []
    for category in MANIPULATIONS:
        own = [pair for pair in pairs if pair.manipulation == category]
        size = min(per_category, len(own))
        chosen = rng.permutation(len(own))[:size]
        for place, index in enumerate(chosen):
            member = (TRUE, FALSE)[place % 2] if kind == "detect" else ""
            drawn.append(_Drawn(own[int(index)], size / len(own), member))
    names = item_names(len(drawn), rng)
    rows, key = [], []
    for name, place in zip(names, rng.permutation(len(drawn)), strict=True):
        one = drawn[int(place)]
        shown = _shown(kind, one)
        rows.append({"item": name} | shown)
        key.append(
            KeyItem(
                item=name,
                kind=kind,
                pair_id=one.pair.id,
                article_id=one.pair.article_id,
                category=one.pair.manipulation,
                gold=_gold(kind, one),
                probability=one.probability,
                check=item_check(shown[column] for column in shown_columns(kind)),
            )
        )
    return rows, sorted(key, key=lambda item: item.item)


def score_study(
    answers: Answers,
    key: Sequence[KeyItem],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
) -> list[dict[str, Any]]:
    """Return the figures of a study, per step, pair of raters and category.

    Raters are every two people; in a study of detection or diagnosis also each person and what
    is right, in one of reasons each person and the judge, if one sorted them. A row has ``step``,
    ``rater``, ``other``, ``category`` ("overall" for all), ``n`` and

    - ``percent``: the share of equal answers, with ``percent_low`` and ``percent_high``; against
      what is right it is the accuracy;
    - ``macro_f1``: the mean F1 of the answers that occur, one rater taken for the truth (with two
      raters it does not matter which);
    - ``kappa`` (Cohen) and ``ac1`` (Gwet);
    - ``weighted``: the percentage weighted back to all pairs by inverse probability.

    Each has its ``_low`` and ``_high``, from resampling articles. A figure is NaN where it is
    undefined, as kappa where both raters gave one and the same answer throughout.

    Raises:
        InputError: No cell holds an answer.
    """
    kind = key[0].kind
    if not any(person for step in answers.given.values() for person in step.values()):
        raise InputError(
            "no cell of these sheets is filled in",
            hint=f"write answers in {' and '.join(STEPS[kind])}",
        )
    held_against = {item.item: item.gold for item in key if item.gold}
    second_rater = JUDGE if kind == "reasons" else GOLD
    rows = []
    for step in STEPS[kind]:
        given = answers.given[step]
        raters = [person for person in answers.people if person in given]
        against = [(person, second_rater) for person in raters if held_against]
        for one, other in [*against, *combinations(raters, 2)]:
            second = held_against if (one, other) in against else given[other]
            for category in (*CATEGORIES[kind], OVERALL):
                own = [
                    item
                    for item in key
                    if category in (OVERALL, item.category)
                    and item.item in given[one]
                    and item.item in second
                ]
                if own:
                    about = {"step": step, "rater": one, "other": other, "category": category}
                    left = [given[one][item.item] for item in own]
                    right = [second[item.item] for item in own]
                    figures = _figures(step, own, left, right, rng, level, resamples)
                    rows.append(about | {"n": len(own)} | figures)
    return rows


def _figures(
    step: str,
    items: Sequence[KeyItem],
    left: Sequence[str],
    right: Sequence[str],
    rng: np.random.Generator,
    level: float,
    resamples: int,
) -> dict[str, float]:
    labels = _LABELS.get(step, (TRUE, FALSE))
    table = np.array(list(zip(left, right, strict=True)), dtype=object)
    clusters = [item.article_id for item in items]
    settings: dict[str, Any] = {"level": level, "resamples": resamples, "rng": rng}
    percent, kappa, ac1 = (
        with_interval(function, table, clusters=clusters, **settings)
        for function in (percent_agreement, cohen_kappa, partial(gwet_ac1, categories=labels))
    )
    matched = classification(list(right), list(left), labels, clusters, **settings)
    weighted = horvitz_thompson_mean(
        [float(a == b) for a, b in zip(left, right, strict=True)],
        [item.probability for item in items],
        clusters=clusters,
        **settings,
    )
    return (
        percent.columns("percent")
        | matched.figures["f1", "valid"].columns("macro_f1")
        | kappa.columns("kappa")
        | ac1.columns("ac1")
        | weighted.columns("weighted")
    )


def _shown(kind: StudyKind, one: _Drawn) -> dict[str, str]:
    pair = one.pair
    if kind == "detect":
        return {"paragraph": printable(pair.original if one.member == TRUE else pair.rewritten)}
    both = {"original": printable(pair.original), "rewritten": printable(pair.rewritten)}
    return ({"claimed_manipulation": pair.manipulation} if kind == "agreement" else {}) | both


def _gold(kind: StudyKind, one: _Drawn) -> str:
    return {"detect": one.member, "diagnose": one.pair.manipulation}.get(kind, "")
