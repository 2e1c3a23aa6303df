"""What a checkpoint is worth, on items that nothing was learned from.

Every checkpoint answers the same items under the same noise, so that two are compared item by item.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrafact.errors import ModelError
from contrafact.family.training import ReadReply, TrainingMeasure, TrainingSpec
from contrafact.files.journal import Journal
from contrafact.models.asking import failure_cause
from contrafact.models.whitebox.noise import Sampling
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.weights import CausalModel
from contrafact.stats.intervals import cluster_bootstrap, clustered_proportion
from contrafact.stats.paired import mcnemar
from contrafact.training.context import TrainingContext
from contrafact.training.generation import Advance, generate_replies

__all__ = ["HeldOutReply", "evaluate", "measure_checkpoint", "measures_of", "metrics_rows"]


def measures_of(spec: TrainingSpec) -> tuple[TrainingMeasure, ...]:
    """Return what is measured, in order.

    ``valid``, ``clean`` (no repair was needed) and ``score`` are of all replies, the others of
    valid ones; ``score`` is of the family's checks, 0 where invalid.
    """
    return (
        TrainingMeasure("valid", "Valid replies", share=True, drawn=True),
        TrainingMeasure("clean", "Replies read without repairs", share=True),
        TrainingMeasure("score", "Points of the checks"),
        *spec.measures,
        TrainingMeasure("delta_perplexity", "Δ perplexity", drawn=True),
    )


@dataclass(frozen=True)
class HeldOutReply:
    """A checkpoint's reply to one held-out item, and what is made of it.

    Attributes:
        id: The item's.
        item: Its text.
        reply: As the model wrote it.
        ended: Whether it came to its end.
        texts: The parts of the answer; None where one is invalid.
        invalid: Why a part is invalid, if one is.
        values: By measure; those that only valid replies have are left out for others.
    """

    id: str
    item: str
    reply: str
    ended: bool
    texts: Mapping[str, str | None]
    invalid: str | None
    values: Mapping[str, float]

    def row(self) -> dict[str, Any]:
        """Return it as a row of a file, each part of the answer in a column."""
        return {
            "id": self.id,
            "item": self.item,
            "reply": self.reply,
            "ended": self.ended,
            **self.texts,
            "invalid": self.invalid,
            "values": self.values,
        }


def evaluate(
    context: TrainingContext,
    causal: CausalModel,
    items: Sequence[str],
    *,
    scorer: CausalModel | None,
    journal: Journal,
    advance: Advance = lambda _: None,
) -> list[HeldOutReply]:
    """Return a checkpoint's replies to the held-out items.

    Args:
        context: The training: how candidates are sampled, and the seed.
        causal: The checkpoint.
        items: The held-out items.
        scorer: Scores perplexity, the same for every checkpoint; none leaves it out.
        journal: Where replies are kept.
        advance: Called with how many more items are answered.
    """
    spec, config = context.spec, context.config
    ids = [spec.item_id(item) for item in items]
    replies = generate_replies(
        causal,
        {
            f"held out {id}": context.prompts.answer(item)
            for id, item in zip(ids, items, strict=True)
        },
        seed=config.seed,
        sampling=Sampling(config.candidates.temperature, config.candidates.top_p),
        max_tokens=config.candidates.max_tokens,
        journal=journal,
        advance=advance,
    )
    own = [replies[f"held out {id}"] for id in ids]
    read = [spec.read(reply.text, reply.ended) for reply in own]
    verdicts = _verdicts(context, dict(zip(ids, items, strict=True)), read, journal)
    perplexity: dict[str, float] = {}
    if scorer is not None:
        parts = (text for one in read for text in one.texts.values() if text)
        texts = list(dict.fromkeys([*items, *parts]))
        found = perplexities(texts, model=scorer)
        perplexity = {text: one.perplexity for text, one in zip(texts, found, strict=True)}
    made = []
    for id, item, reply, one, checked in zip(
        ids, items, own, read, spec.check(items, read), strict=True
    ):
        answer = one.answer
        values = {
            "valid": float(answer is not None),
            "clean": float(answer is not None and not one.repairs),
            "score": checked.score,
            **checked.values,
            **verdicts.get(id, {}),
        }
        if answer is not None:
            of_parts = [perplexity.get(text, math.nan) for text in answer.values()]
            change = float(np.mean(of_parts)) - perplexity.get(item, math.nan)
            if math.isfinite(change):
                values["delta_perplexity"] = change
        made.append(HeldOutReply(id, item, reply.text, reply.ended, one.texts, one.invalid, values))
    return made


_AT_ONCE = 16  # answers that a judge is asked about at the same time


def _verdicts(
    context: TrainingContext,
    items: Mapping[str, str],
    read: Sequence[ReadReply],
    journal: Journal,
) -> dict[str, dict[str, float]]:
    """Return what the judge of held-out answers finds of each valid one, by the item's id.

    Raises:
        ModelError: Calls failed; the same command makes them again, and no other.
    """
    judge, judged = context.config.verdicts_by, context.spec.judged
    if judge is None or judged is None:
        return {}
    answers = {
        f"verdict {id}": (item, one.answer)
        for (id, item), one in zip(items.items(), read, strict=True)
        if one.answer is not None
    }

    async def verdict(key: str) -> dict[str, float]:
        item, answer = answers[key]
        return await judged(context.pack, judge, item, answer)

    failures = asyncio.run(journal.fill(answers, verdict, at_once=_AT_ONCE))
    if failures:
        raise ModelError(
            f"{len(failures)} of {len(answers)} judgements failed:",
            [failure_cause(error) for error in failures.values()],
        )
    return {key.removeprefix("verdict "): journal.known[key] for key in answers}


def measure_checkpoint(
    replies: Sequence[Mapping[str, Any]], spec: TrainingSpec, *, seed: int
) -> dict[str, Any]:
    """Return a checkpoint's figures with 95% intervals: a row of the table of metrics.

    Args:
        replies: Rows of `HeldOutReply.row`.
        spec: What is trained.
        seed: Seed of the resampling.
    """
    row: dict[str, Any] = {spec.items: len(replies)}
    for name in (one.name for one in measures_of(spec)):
        values = [one["values"][name] for one in replies if name in one["values"]]
        found: Any
        if name in ("valid", "clean"):
            found = clustered_proportion(values)
        else:
            found = cluster_bootstrap(values, None, rng=np.random.default_rng(seed))
        row[name] = found.estimate
        row[f"{name}_low"], row[f"{name}_high"] = found.low, found.high
        row[f"{name}_n"] = len(values)
    return row


def metrics_rows(
    replies: Mapping[str, Sequence[Mapping[str, Any]]], spec: TrainingSpec, *, seed: int
) -> list[dict[str, Any]]:
    """Return a row for each checkpoint, and compare its validity with the first's.

    ``valid_p`` is the mid-p value of McNemar's test against the first checkpoint.

    Args:
        replies: Rows of `HeldOutReply.row` by checkpoint, in order; the items are the same.
        spec: What is trained.
        seed: Seed of the resampling.
    """
    rows = []
    base: list[bool] | None = None
    for name, own in replies.items():
        valid = [bool(one["values"]["valid"]) for one in own]
        row = {"checkpoint": name, **measure_checkpoint(own, spec, seed=seed)}
        row["valid_p"] = math.nan if base is None else mcnemar(base, valid)
        base = valid if base is None else base
        rows.append(row)
    return rows
