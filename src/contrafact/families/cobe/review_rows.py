"""Stories as the review studio shows them: an item for each answer that is known."""

from collections.abc import Mapping
from typing import Any

from contrafact.errors import InputError
from contrafact.families.cobe.data import read_story

__all__ = ["story_rows"]


def story_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row of the project ``cobe-rating`` for each answer of a story; another as it is.

    What is known of an answer is kept in ``known_verdict``, which the project does not show.

    Args:
        row: A row of a file: a story in the paper's schema, or anything else.

    Raises:
        InputError: The story is not of the schema, or has no answer.
    """
    if "Variation text" not in row:
        return [dict(row)]
    story = read_story(row)
    answers: dict[str, str] = {story.answer: "right"} if story.answer else {}
    for key, known in (("Right answers", "right"), ("Wrong answers", "wrong")):
        for answer in row.get(key) or ():
            text = answer.get("text") if isinstance(answer, dict) else None
            if isinstance(text, str) and text.strip():
                answers.setdefault(text, known)
    if not answers:
        raise InputError(
            f"story {story.id} has no answer to rate",
            hint="import the items of a run instead: its items.parquet",
        )
    return [
        {
            "text": story.text,
            "query": story.queries[0],
            "edit": text,
            "story_id": story.id,
            "domain": story.domain,
            "known_verdict": known,
        }
        for text, known in answers.items()
    ]
