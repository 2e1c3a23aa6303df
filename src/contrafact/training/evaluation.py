"""The evaluation of checkpoints on held-out items, and the tables of a training.

Every checkpoint answers the same items under the same noise, so that checkpoints can be compared
item by item.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contrafact.family.training import ReadReply, TrainingSpec
from contrafact.files.journal import Journal
from contrafact.files.tables import write_frame
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.weights import CausalModel
from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.paired import paired_comparison
from contrafact.training.context import Advance, TrainingContext, read_json, read_lines
from contrafact.training.generation import generate_replies

__all__ = ["evaluate", "metrics_rows", "write_results"]


def evaluate(
    context: TrainingContext,
    causal: CausalModel,
    items: Sequence[str],
    *,
    scorer: CausalModel | None,
    journal: Journal,
    advance: Advance = lambda _: None,
) -> list[dict[str, Any]]:
    """Return a checkpoint's replies to the held-out items, as rows.

    A row has the ``id`` and text of its ``item``, the ``reply`` and whether it ``ended``, a column
    for each part of the answer, the reason if it is ``invalid``, and ``values`` by measure:
    ``valid``, ``clean`` (no repair was needed), ``score`` (of the family's checks, 0 if invalid)
    and, for a valid reply, the family's measures and ``delta_perplexity``.

    Args:
        scorer: The model that scores perplexity, the same for every checkpoint; None for no
            perplexity.
        journal: The journal that keeps the replies.
    """
    spec, config = context.spec, context.config
    ids = [spec.item_id(item) for item in items]
    asked = zip(ids, items, strict=True)
    replies = generate_replies(
        causal,
        {f"held out {id}": context.prompts.answer(item) for id, item in asked},
        settings=config.candidates,
        seed=config.seed,
        journal=journal,
        advance=advance,
    )
    written = [replies[f"held out {id}"] for id in ids]
    read = [spec.read(reply.text, reply.ended) for reply in written]
    perplexity = _perplexities(items, read, scorer)
    rows = []
    for id, item, reply, parsed, checked in zip(
        ids, items, written, read, spec.check(items, read), strict=True
    ):
        values = {
            "valid": float(parsed.answer is not None),
            "clean": float(parsed.answer is not None and not parsed.repairs),
            "score": checked.score,
            **checked.values,
        }
        if parsed.answer is not None:
            parts = [perplexity.get(text, math.nan) for text in parsed.answer.values()]
            change = float(np.mean(parts)) - perplexity.get(item, math.nan)
            if math.isfinite(change):
                values["delta_perplexity"] = change
        reply_of = {"id": id, "item": item, "reply": reply.text, "ended": reply.ended}
        rows.append({**reply_of, **parsed.texts, "invalid": parsed.invalid, "values": values})
    return rows


def _perplexities(
    items: Sequence[str], read: Sequence[ReadReply], scorer: CausalModel | None
) -> dict[str, float]:
    if scorer is None:
        return {}
    parts = (text for reply in read for text in reply.texts.values() if text)
    texts = list(dict.fromkeys([*items, *parts]))
    scored = perplexities(texts, model=scorer)
    return {text: score.perplexity for text, score in zip(texts, scored, strict=True)}


def _measured(
    replies: Sequence[Mapping[str, Any]], spec: TrainingSpec, *, seed: int
) -> dict[str, Any]:
    """Return a checkpoint's figures with 95% intervals: a row of the table of metrics."""
    row: dict[str, Any] = {spec.items: len(replies)}
    for name in ("valid", "clean", "score", *spec.measures, "delta_perplexity"):
        values = [reply["values"][name] for reply in replies if name in reply["values"]]
        figure = cluster_bootstrap(values, None, rng=np.random.default_rng(seed))
        row[name] = figure.estimate
        row[f"{name}_low"], row[f"{name}_high"] = figure.low, figure.high
        row[f"{name}_n"] = len(values)
    return row


def metrics_rows(
    replies: Mapping[str, Sequence[Mapping[str, Any]]], spec: TrainingSpec, *, seed: int
) -> list[dict[str, Any]]:
    """Return a row of figures for each checkpoint.

    ``valid_p`` is the p-value of a paired comparison of validity with the first checkpoint.
    ``replies`` has the rows of `evaluate` by checkpoint, in order, all on the same items.
    """
    rows = []
    base: list[bool] | None = None
    for name, answered in replies.items():
        valid = [bool(reply["values"]["valid"]) for reply in answered]
        row = {"checkpoint": name, **_measured(answered, spec, seed=seed)}
        row["valid_p"] = math.nan
        if base is not None:
            rng = np.random.default_rng(seed)
            row["valid_p"] = paired_comparison(valid, base, None, rng=rng).p_value
        base = valid if base is None else base
        rows.append(row)
    return rows


def write_results(
    out: Path, spec: TrainingSpec, *, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the tables of the finished stages, and return the rows of the first two.

    ``metrics.csv`` has a row for each checkpoint, ``saturation.csv`` for each iteration,
    ``losses.csv`` for each measured step.
    """
    steps = ["base", "warm-up"]
    while (out / f"iteration-{len(steps) - 1}").is_dir():
        steps.append(f"iteration-{len(steps) - 1}")

    def done(name: str) -> dict[str, Path]:
        return {step: path for step in steps if (path := out / step / name).exists()}

    replies = {step: read_lines(path) for step, path in done("evaluation/answers.jsonl").items()}
    losses = [
        {"stage": step, **row}
        for step, path in done("model/losses.jsonl").items()
        for row in read_lines(path)
    ]
    saturation = [
        {"iteration": step.rpartition("-")[2], **read_json(path)}
        for step, path in done("preferences/saturation.json").items()
    ]
    metrics = metrics_rows(replies, spec, seed=seed)
    if losses:
        write_frame(pd.DataFrame(losses), out / "losses.csv")
    if saturation:
        write_frame(pd.DataFrame(saturation), out / "saturation.csv")
    if metrics:
        write_frame(pd.DataFrame(metrics), out / "metrics.csv")
    return metrics, saturation
