"""The leak gate of stories: how far surface features alone tell right answers from wrong ones.

The readers are those of `contrafact.judges.surface`; here stories become what they read: an answer,
its story and query, the criteria, and the graph and the template that readers are not to have seen.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from contrafact.families.cobe.data import KnownStory
from contrafact.judges.surface import LeakItem

if TYPE_CHECKING:
    from contrafact.records import Story

__all__ = ["item_of", "items_of"]


def item_of(story: "Story", text: str, verdicts: Mapping[str, bool]) -> LeakItem:
    """Return an answer of a story, with its verdicts, as readers see it."""
    proof = story.proof or {}
    core = str(story.core_set_id)
    graph = proof.get("graph")
    told = set(proof.get("told", graph or ()))
    named = {n: [p for p in parents if p in told] for n, parents in (graph or {}).items()}
    key = json.dumps({n: named[n] for n in sorted(named) if n in told})
    return LeakItem(
        text=text,
        about=(story.text, story.queries[0]),
        asked={
            "E1": story.unchanged,
            "E2": story.changed,
            "E3": "",
            "E4": story.numerical or "",
            "E5": story.latent or "",
        },
        verdicts=verdicts,
        block=core,
        groups={"graph": key if graph else core, "template": str(proof.get("template", core))},
    )


def items_of(stories: Sequence[KnownStory]) -> list[LeakItem]:
    """Return every known answer of the stories as an item."""
    return [
        item_of(known.story, answer.text, known.verdicts(answer))
        for known in stories
        for answer in (*known.right, *known.wrong)
    ]
