"""What a checkpoint is worth, on headlines that nothing was learned from.

FIN-FORCE, figure 5. Every checkpoint answers the same headlines under the same noise, so that two
are compared item by item.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from contrafact.models.whitebox.noise import Sampling
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.weights import CausalModel
from contrafact.records import SIDES, Headline
from contrafact.stats.intervals import cluster_bootstrap
from contrafact.stats.paired import mcnemar
from contrafact.stats.proportions import clustered_proportion
from contrafact.training.checks import KINDS, check_pairs
from contrafact.training.config import TrainConfig
from contrafact.training.dialogue import Dialogue, pair_of, read_answer
from contrafact.training.stages import Journal
from contrafact.training.writing import Said, write_replies

__all__ = ["MEASURES", "Answer", "answer_held_out", "measure", "metrics_rows"]

MEASURES: dict[str, str] = {
    "valid": "Replies with both counterfactuals",
    "clean": "Replies that are JSON as they come",
    "score": "Points of the built-in checks, 0 to 10; 0 where invalid",
    "direction": "Added words of direction that point the right way",
    "subject": "Names of the headline that are kept",
    "edit_distance": "Edit distance to the headline, 0 to 1",
    "delta_perplexity": "Perplexity less the headline's",
}
"""What is measured, and how it is told. The first three are of all replies, the others of valid
ones."""


@dataclass(frozen=True)
class Answer:
    """A checkpoint's reply to one held-out headline, and what is made of it.

    Attributes:
        id: The headline's.
        headline: Its text.
        reply: As the model wrote it.
        ended: Whether it came to its end.
        risk: The counterfactual; none where it is invalid.
        opportunity: The same.
        invalid: Why a side is invalid, if one is.
        values: By measure; those that only valid replies have are left out for others.
    """

    id: str
    headline: str
    reply: str
    ended: bool
    risk: str | None
    opportunity: str | None
    invalid: str | None
    values: Mapping[str, float]

    def row(self) -> dict[str, Any]:
        """Return it as a row of a file."""
        return asdict(self)


def answer_held_out(
    causal: CausalModel,
    dialogue: Dialogue,
    headlines: Sequence[Headline],
    config: TrainConfig,
    *,
    scorer: CausalModel | None,
    journal: Journal,
    said: Said = lambda _: None,
) -> list[Answer]:
    """Return a checkpoint's answers to the held-out headlines.

    Args:
        causal: The checkpoint.
        dialogue: The prompts.
        headlines: The held-out headlines.
        config: The training: how candidates are sampled, and the seed.
        scorer: Scores perplexity, the same for every checkpoint; none leaves it out.
        journal: Where replies are kept.
        said: Called with how many more headlines are answered.
    """
    replies = write_replies(
        causal,
        {f"held out {one.id}": dialogue.ask_pair(one.text) for one in headlines},
        seed=config.seed,
        sampling=Sampling(config.candidates.temperature, config.candidates.top_p),
        max_tokens=config.candidates.max_tokens,
        journal=journal,
        said=said,
    )
    own = [replies[f"held out {one.id}"] for one in headlines]
    read = [read_answer(reply.text, ended=reply.ended) for reply in own]
    points = check_pairs([one.text for one in headlines], read)
    surprise = _perplexities(
        [one.text for one in headlines]
        + [text for generation in read for text in generation.texts.values() if text],
        scorer,
    )
    made = []
    for one, reply, generation, point in zip(headlines, own, read, points, strict=True):
        pair = pair_of(generation)
        values = {
            "valid": float(pair is not None),
            "clean": float(pair is not None and not generation.repairs),
            "score": point.score,
        }
        if pair is not None:
            for kind in KINDS:
                values[kind] = float(np.mean([point.sides[side][kind] for side in SIDES]))
            values["edit_distance"] = float(np.mean(list(point.edit_distance.values())))
            changes = [surprise.get(pair.side(side), math.nan) for side in SIDES]
            change = float(np.mean(changes)) - surprise.get(one.text, math.nan)
            if math.isfinite(change):
                values["delta_perplexity"] = change
        made.append(
            Answer(
                id=one.id,
                headline=one.text,
                reply=reply.text,
                ended=reply.ended,
                risk=generation.texts["risk"],
                opportunity=generation.texts["opportunity"],
                invalid="; ".join(dict.fromkeys(generation.invalid.values())) or None,
                values=values,
            )
        )
    return made


def measure(answers: Sequence[Mapping[str, Any]], *, seed: int) -> dict[str, Any]:
    """Return a checkpoint's figures with 95% intervals: a row of the table of metrics.

    Args:
        answers: Rows of `Answer.row`.
        seed: Seed of the resampling.
    """
    row: dict[str, Any] = {"headlines": len(answers)}
    for name in MEASURES:
        values = [one["values"][name] for one in answers if name in one["values"]]
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
    answers: Mapping[str, Sequence[Mapping[str, Any]]], *, seed: int
) -> list[dict[str, Any]]:
    """Return a row for each checkpoint, and compare its validity with the first's.

    ``valid_p`` is the mid-p value of McNemar's test against the first checkpoint.

    Args:
        answers: Rows of `Answer.row` by checkpoint, in order; the headlines are the same.
        seed: Seed of the resampling.
    """
    rows = []
    base: list[bool] | None = None
    for name, own in answers.items():
        valid = [bool(one["values"]["valid"]) for one in own]
        row = {"checkpoint": name, **measure(own, seed=seed)}
        row["valid_p"] = math.nan if base is None else mcnemar(base, valid).p_mid
        base = valid if base is None else base
        rows.append(row)
    return rows


def _perplexities(texts: Sequence[str], scorer: CausalModel | None) -> dict[str, float]:
    if scorer is None:
        return {}
    once = list(dict.fromkeys(texts))
    found = perplexities(once, model=scorer)
    return {text: one.perplexity for text, one in zip(once, found, strict=True)}
