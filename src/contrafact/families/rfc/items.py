"""Make the per-item table of ``rfc-detect`` and ``rfc-diagnose`` from Inspect's samples.

One row per sample that ended with a score; a sample that ended in an error has none (the run
reports its failure). The columns, in this order:

===============  ===================================================================
``task``         ``rfc-detect`` or ``rfc-diagnose``
``system``       the system's name in tables, as the caller gives it
``model``        Inspect's name of the model; ``none/none`` under a baseline
``method``       ``plain``, ``stepwise``, ``reflect``, a baseline's
                 name, or an import path; with its options
``shots``        examples per prompt: 0, 2 or 8 (int)
``draw``         the epoch, from 1 (int)
``sample_id``    detect: ``<pair_id>-true`` or ``<pair_id>-false``; diagnose: the pair's id
``pair_id``      the pair; both members of one pair share it (pairwise accuracy)
``article_id``   the source article; intervals, folds and splits cluster by it
``manipulation`` ``numerical``, ``flipping``, ``sentiment`` or ``causal``, of the pair: also
                 where the sample shows the unmanipulated member
``gold``         detect: ``true`` (unmanipulated) or ``false`` (manipulated); diagnose: the
                 manipulation
``predicted``    a label of the task, or None where the reply was invalid
``invalid_reason``  why the reply was no label, or None where it was one
``p_true``       detect: the model's probability of ``true`` against ``false``, 0 to 1, or a
                 baseline's score on that scale; NaN where there is none
``p_numerical``, ``p_flipping``, ``p_sentiment``, ``p_causal``
                 diagnose: the same for each manipulation against the other three
``rationale``    the reasons the model gave, or None
``original``     the paragraph as published; None where the dataset has no originals
``rewritten``    the manipulated paragraph
``shown``        detect: the paragraph the model saw; diagnose: None (it saw both)
``reply``        the model's last reply, unchanged; None under a baseline
``category``     the article's market category, or None
``ticker``       the stock it was found under, or None
``date``         its day of publication, YYYY-MM-DD, or None
===============  ===================================================================

Nothing is dropped or fixed here: an invalid reply is a row whose ``predicted`` is None.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from inspect_ai.log import EvalSample

from contrafact.families.rfc.answers import item_of
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import TRUE
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.family.task import score_metadata

SCORER = "label"

PROBABILITIES: dict[str, str] = {label: f"p_{label}" for label in (TRUE, *MANIPULATIONS)}
"""The name of each label's column of probabilities."""

ITEM_COLUMNS: tuple[str, ...] = (
    *("task", "system", "model", "method", "shots", "draw", "sample_id", "pair_id"),
    *("article_id", "manipulation", "gold", "predicted", "invalid_reason"),
    *PROBABILITIES.values(),
    *("rationale", "original", "rewritten", "shown", "reply"),
    *("category", "ticker", "date"),
)
"""The columns of a row, in order, as the module's docstring describes them."""


def items_frame(
    log_samples: Iterable[EvalSample], *, system: str, model: str, method: str, shots: int
) -> list[dict[str, Any]]:
    of: dict[str, str | int] = {"system": system, "model": model, "method": method, "shots": shots}
    rows = []
    for sample in log_samples:
        if sample.error is None and (found := score_metadata(sample, SCORER)):
            rows.append(item_row(item_of(sample.metadata), found, draw=sample.epoch, **of))
    return rows


def item_row(item: Item, scored: Mapping[str, Any], **of: str | int) -> dict[str, Any]:
    """Return one row, with the columns that the module's docstring describes."""
    pair, shares = item.pair, scored["probabilities"] or {}
    row = {
        **of,
        "task": item.task,
        "sample_id": item.id,
        "pair_id": pair.id,
        "article_id": pair.article_id,
        "manipulation": pair.manipulation,
        "gold": item.gold,
        "predicted": scored["predicted"],
        "invalid_reason": scored["invalid"],
        **{name: shares.get(label, math.nan) for label, name in PROBABILITIES.items()},
        "rationale": scored["rationale"],
        "original": pair.original or None,
        "rewritten": pair.rewritten,
        "shown": item.shown or None,
        "reply": scored["reply"],
        "category": pair.category,
        "ticker": pair.ticker,
        "date": pair.date,
    }
    return {name: row[name] for name in ITEM_COLUMNS}
