"""The tone of a sentiment rewrite by a classifier: the paper's check by FinBERT.

RFC-BENCH, section 2.2.2. Without such a model no rule looks at tone: whether good news stayed good
is a question of meaning, and left to a judge.
"""

from collections.abc import Iterator
from typing import Annotated

from contrafact.families.rfc.contracts.pair import Pair
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.models.whitebox.polarity import load_polarity_model

__all__ = ["load_polarity_model"]


@rule(
    "tone-reversed",
    "tone-weaker",
    about="tone",
    paper="2.2.2; R.3",
    manipulations=("sentiment",),
    to_review="a tone that the model finds weaker",
)
def tone_kept(
    pair: Pair,
    *,
    clear: Annotated[float, "ours: a tone from -1 to 1 that a model is sure of"] = 0.2,
    weaker: Annotated[float, "ours: by how much a model finds it weaker"] = 0.1,
) -> Iterator[Finding]:
    """Good news stays good, and bad news bad, by the model of ``--polarity-model``; nothing is
    checked without a model.
    """
    if pair.polarity is None:
        return
    before, after = pair.polarity([pair.original.text, pair.rewritten.text])
    message = f"the tone went from {before:+.2f} to {after:+.2f} by the polarity model"
    if before * after < 0 and min(abs(before), abs(after)) >= clear:
        yield fail("tone-reversed", message)
    elif abs(after) < abs(before) - weaker:
        yield review("tone-weaker", message)
