"""The family's part of the demo."""

from contrafact.family.demo import DemoPart

__all__ = ["PARTS"]

PARTS = (
    DemoPart(
        task="finforce",
        noun="headlines",
        count=24,
        most=30,
        text="FIN-FORCE. {count} bundled headlines about fictional companies; {model} writes, and "
        "judges what it wrote.",
        # Without examples so small a model writes little that can be read.
        methods=("few-shot",),
        judged=True,
        # Two headlines and JSON around them; what is longer has lost its way.
        generation={"temperature": 0.0, "max_tokens": 150},
    ),
)
