"""Rewriting by rule: deterministic, seeded, without a model (RFC-BENCH, section 2.2.2).

One module per manipulation; each returns rewrites with their edit logs, or why it makes none.
"""

import re
from collections.abc import Sequence

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import NoRewrite, RuleRewrite, apply
from contrafact.records import Manipulation

__all__ = ["NoRewrite", "RuleRewrite", "apply", "rewrite_by_rules", "versions_by_rules"]

_MARKUP = re.compile(r"</?[a-z][^>]{0,200}>", re.IGNORECASE)


def versions_by_rules(
    text: str, manipulation: Manipulation, seed: int
) -> Sequence[RuleRewrite] | NoRewrite:
    """Return manipulated versions of a paragraph, or why the rules make none.

    Args:
        text: The paragraph.
        manipulation: What to do to it.
        seed: The order of the versions, all of them for sentiment and causal; which ones, for
            flipping; and which one, for numerical, whose versions are too many to list.
    """
    if _MARKUP.search(text):
        return NoRewrite("holds markup, and is no paragraph")
    # Each manipulation brings its own word lists: loaded when it is first asked for.
    rng = np.random.default_rng(seed)
    if manipulation == "sentiment":
        from contrafact.families.rfc.pipeline.rules.sentiment import sentiment_versions

        return sentiment_versions(text, rng)
    if manipulation == "causal":
        from contrafact.families.rfc.pipeline.rules.causal import causal_versions

        return causal_versions(text, rng)
    if manipulation == "flipping":
        from contrafact.families.rfc.pipeline.rules.flipping import flipping_versions

        return flipping_versions(text, rng)
    from contrafact.families.rfc.pipeline.rules.numerical import rewrite_numerical

    made = rewrite_numerical(text, rng)
    return made if isinstance(made, NoRewrite) else [made]


def rewrite_by_rules(text: str, manipulation: Manipulation, seed: int) -> RuleRewrite | NoRewrite:
    """Return one manipulated version of a paragraph, or why the rules make none.

    Args:
        text: The paragraph.
        manipulation: What to do to it.
        seed: Which of the possible versions; the same seed gives the same version.
    """
    versions = versions_by_rules(text, manipulation, seed)
    return versions if isinstance(versions, NoRewrite) else versions[0]
