"""The family's part of the demo."""

from contrafact.family.demo import DemoPart

__all__ = ["PARTS"]

PARTS = (
    DemoPart(
        task="cobe",
        noun="stories",
        count=8,  # all six types of graph and all seven domains are among the first eight
        most=14,
        text="CoBe. {count} bundled stories, each asked in three phrasings what would have "
        "happened instead; {model} edits them, and judges its edits criterion by criterion.",
        methods=("plain",),
        judged=True,
        generation={"temperature": 0.0, "max_tokens": 90},  # twice the longest of the stories
    ),
)
