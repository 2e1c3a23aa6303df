"""The family's part of the demo."""

from contrafact.family.demo import DemoPart

__all__ = ["PARTS"]

_LABEL = {"temperature": 0.0, "max_tokens": 16}  # one word is asked for

PARTS = (
    DemoPart(
        task="rfc-detect",
        noun="pairs",
        count=24,
        most=24,
        text="RFC-BENCH, detection. The paragraphs of {count} bundled pairs, one at a time: as "
        "published, or manipulated? Baselines that ask no model are shown with the model.",
        methods=("plain", "majority", "surface", "coherence"),
        generation=_LABEL,
        options={"logprobs": True},
    ),
    DemoPart(
        task="rfc-diagnose",
        noun="pairs",
        count=24,
        most=24,
        text="RFC-BENCH, diagnosis. The same {count} pairs, side by side: which manipulation?",
        methods=("plain", "majority", "surface"),
        generation=_LABEL,
        options={"logprobs": True},
    ),
)
