"""The study of reasons: people sort answers by them, as a judge does (RFC-BENCH, section 3.5).

A model that was asked for reasons gave them with its label. People read those of wrong and of right
answers and name a class for each; they see neither the model nor the class that a judge gave. Of
every system, wrong and right answers are drawn apart, so that both are seen.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contrafact.errors import InputError
from contrafact.families.rfc.labels import ERROR_CLASSES, FALSE, RIGHT_ONLY
from contrafact.families.rfc.study_sheet import RIGHT, WRONG, Answers, KeyItem, shown_columns
from contrafact.files.sheets import item_check, item_names
from contrafact.models.opening import NO_MODEL
from contrafact.stats.intervals import cluster_bootstrap
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["UNDECIDED", "class_shares", "draw_reasons", "sorted_answers"]

UNDECIDED = "undecided"
"""Stands for the class where no class has more than half of the people."""


def draw_reasons(
    items: "pd.DataFrame", n: int, rng: np.random.Generator
) -> tuple[list[dict[str, str]], list[KeyItem]]:
    """Draw answers with reasons for people to sort.

    Args:
        items: The rows of runs of detection, as `contrafact.families.rfc.items` describes them.
        n: How many wrong and how many right answers to draw of each system, or all where there
            are fewer.
        rng: Where randomness comes from.

    Returns:
        The sheet's rows in random order, and the key's items in order of their names.

    Raises:
        InputError: No valid answer of a model came with reasons.
    """
    reasoned = items["rationale"].notna() & items["predicted"].notna()
    pool = items[reasoned & items["model"].ne(NO_MODEL)].reset_index(drop=True)
    if pool.empty:
        raise InputError(
            "no valid answer in these runs came with reasons",
            hint="run rfc-detect with --rationale, or with the method stepwise or reflect",
        )
    outcome = np.where(pool["predicted"].eq(pool["gold"]), RIGHT, WRONG)
    drawn: list[tuple[int, str, float]] = []
    for (_, category), own in pool.groupby(["system", outcome], sort=True):
        size = min(n, len(own))
        chosen = rng.permutation(len(own))[:size]
        drawn += [(int(own.index[i]), str(category), size / len(own)) for i in chosen]
    names = item_names(len(drawn), rng)
    rows, key = [], []
    for name, place in zip(names, rng.permutation(len(drawn)), strict=True):
        position, category, probability = drawn[int(place)]
        row = pool.iloc[position]
        shown = _shown(row)
        rows.append({"item": name} | shown)
        sorted_as = row["error_class"]
        key.append(
            KeyItem(
                item=name,
                kind="reasons",
                pair_id=str(row["pair_id"]),
                article_id=str(row["article_id"]),
                category=category,
                gold=sorted_as if isinstance(sorted_as, str) else "",
                probability=probability,
                check=item_check(shown[column] for column in shown_columns("reasons")),
                system=str(row["system"]),
                sample_id=str(row["sample_id"]),
                draw=str(row["draw"]),
            )
        )
    return rows, sorted(key, key=lambda item: item.item)


def class_shares(
    answers: Answers,
    key: Sequence[KeyItem],
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
) -> list[dict[str, Any]]:
    """Return how people sorted the answers of each system.

    What more than half of those who sorted an answer say is its class; without such a majority it
    is undecided.

    Returns:
        One row per system, outcome and class, and one for the undecided where there are any:
        ``system``, ``answers`` ("wrong" or "right"), ``reason_class``, ``count``, ``n`` (answers
        that somebody sorted), ``share`` of them with ``share_low`` and ``share_high``, from
        resampling articles. Within a system and outcome answers were drawn alike, so that the
        share speaks of all its answers with that outcome that came with reasons.
    """
    given = answers.given["reason_class"]
    rows = []
    for system in dict.fromkeys(sorted(item.system for item in key)):
        for outcome in (WRONG, RIGHT):
            own = [item for item in key if item.system == system and item.category == outcome]
            told = [[given[p][item.item] for p in given if item.item in given[p]] for item in own]
            classes = {item: _majority(said) for item, said in zip(own, told, strict=True) if said}
            articles = [item.article_id for item in classes]
            possible = [c for c in ERROR_CLASSES if outcome == RIGHT or c not in RIGHT_ONLY]
            undecided = [UNDECIDED] if UNDECIDED in classes.values() else []
            for name in [*possible, *undecided] if classes else []:
                hits = [float(one == name) for one in classes.values()]
                share = cluster_bootstrap(hits, articles, level=level, resamples=resamples, rng=rng)
                rows.append(
                    {
                        "system": system,
                        "answers": outcome,
                        "reason_class": name,
                        "count": int(sum(hits)),
                        "n": len(hits),
                        "share": share.estimate,
                        "share_low": share.low,
                        "share_high": share.high,
                    }
                )
    return rows


def sorted_answers(answers: Answers, key: Sequence[KeyItem]) -> list[dict[str, Any]]:
    """Return one row per answer that somebody sorted, to lead from a class back to its run.

    Returns:
        ``item``, ``system``, ``sample_id``, ``draw``, ``pair_id``, ``article_id``, ``answers``
        ("wrong" or "right"), ``probability``, what each person said by their name, ``majority``
        and ``judge`` (None where no judge gave a class).
    """
    given = answers.given["reason_class"]
    rows = []
    for item in key:
        told = {person: own.get(item.item) for person, own in given.items()}
        said = [one for one in told.values() if one is not None]
        if said:
            about = ("item", "system", "sample_id", "draw", "pair_id", "article_id")
            row: dict[str, Any] = {column: getattr(item, column) for column in about}
            row |= {"answers": item.category, "probability": item.probability}
            rows.append(row | told | {"majority": _majority(said), "judge": item.gold or None})
    return rows


def _shown(row: "pd.Series[Any]") -> dict[str, str]:
    """Return what people see; the text before the change only where there was one."""
    manipulated = row["gold"] == FALSE and isinstance(row["original"], str)
    texts = {
        "paragraph": row["shown"],
        "original": row["original"] if manipulated else "",
        "right_label": row["gold"],
        "given_label": row["predicted"],
        "reasons": row["rationale"],
    }
    return {column: printable(str(text)) for column, text in texts.items()}


def _majority(said: Sequence[str]) -> str:
    name, count = Counter(said).most_common(1)[0]
    return name if 2 * count > len(said) else UNDECIDED
