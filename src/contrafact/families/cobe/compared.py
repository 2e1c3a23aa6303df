"""What the demo's edits are compared with: proven answers, and texts that must not pass.

Each drawn story brings its right answer, proven by its causal model, and wrong ones. The controls
are the story left as it is, a wrong answer, and the right answer of another story.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from contrafact.families.cobe.data import PHRASINGS
from contrafact.families.cobe.editing import held_out_stories
from contrafact.families.cobe.items import REFERENCE

__all__ = ["compared_texts"]


def compared_texts(count: int) -> Sequence[Mapping[str, Any]]:
    """Return rows for ``contrafact score cobe``: four systems for each drawn story and phrasing."""
    stories = [json.loads(line) for line in held_out_stories(count)]
    found: list[Mapping[str, Any]] = []
    for place, story in enumerate(stories):
        other = stories[(place + 1) % count]
        texts = {
            REFERENCE: story["Representative answer"],
            "control: story unchanged": story["Variation text"],
            "control: wrong answer": story["Wrong answers"][0]["text"],
        }
        if count > 1:
            texts["control: another story's answer"] = other["Representative answer"]
        name = f"{story['Core Set ID']}v{story['Variation ID']}"
        for system, text in texts.items():
            for phrasing in PHRASINGS:
                row = {"id": name, "phrasing": phrasing, "response": text}
                found.append({"system": system, **row})
    return found
