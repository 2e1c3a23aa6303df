"""Rewriting by rule: deterministic, seeded, without a model (RFC-BENCH, section 2.2.2).

One module per manipulation; each returns a rewrite with its edit log, or why it makes none.
"""

import re

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import NoRewrite, RuleRewrite, apply
from contrafact.records import Manipulation

__all__ = ["NoRewrite", "RuleRewrite", "apply", "rewrite_by_rules"]

_MARKUP = re.compile(r"</?[a-z][^>]{0,200}>", re.IGNORECASE)


def rewrite_by_rules(text: str, manipulation: Manipulation, seed: int) -> RuleRewrite | NoRewrite:
    """Return one manipulated version of a paragraph, or why the rules make none.

    Args:
        text: The paragraph.
        manipulation: What to do to it.
        seed: Which of the possible versions; the same seed gives the same version.
    """
    if _MARKUP.search(text):
        return NoRewrite("holds markup, and is no paragraph")
    # Each manipulation brings its own word lists: loaded when it is first asked for.
    rng = np.random.default_rng(seed)
    if manipulation == "numerical":
        from contrafact.families.rfc.pipeline.rules.numerical import rewrite_numerical

        return rewrite_numerical(text, rng)
    if manipulation == "flipping":
        from contrafact.families.rfc.pipeline.rules.flipping import rewrite_flipping

        return rewrite_flipping(text, rng)
    if manipulation == "sentiment":
        from contrafact.families.rfc.pipeline.rules.sentiment import rewrite_sentiment

        return rewrite_sentiment(text, rng)
    from contrafact.families.rfc.pipeline.rules.causal import rewrite_causal

    return rewrite_causal(text, rng)
