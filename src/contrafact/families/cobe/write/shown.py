"""The written story that the demo shows: ``samples/written.jsonl``, with its proof and readings."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from contrafact.families.cobe.data import criteria_of, read_story, subject_of
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.verifier import decisions
from contrafact.family import Shown, ShownText

_ABOUT = {
    "E1": "what has to stay",
    "E2": "what has to change",
    "E3": "the words that join clauses",
    "E4": "the number",
    "E5": "what is implied",
}
_FILE = Path(__file__).parents[1] / "samples" / "written.jsonl"


def written_example() -> Iterator[Shown]:
    """Yield a story, a right and a wrong edit with the decisions on them, and what they rest on."""
    row = json.loads(_FILE.read_text(encoding="utf-8"))
    story = read_story(row)
    wrong = next(answer for answer in row["Wrong answers"] if answer["why"] == "backtracks")
    yield ShownText("story", story.text)
    yield ShownText("request", story.queries[0])
    for label, answer in (("right edit", row["Right answers"][0]), ("wrong edit", wrong)):
        yield ShownText(label, story.text, answer["text"], note=_decided(story, answer))
    yield (
        "These verdicts are computed. The story's file holds its causal structure, and what "
        "follows from the change is worked out from it in two ways, which agree. So the basis of "
        "this proof is `structure`."
    )
    yield (
        "Language models that did not know the structure read whether the story tells it, and "
        "what each edit tells. Their readings are in the file; no person has checked them."
    )


def _decided(story: Story, answer: Mapping[str, Any]) -> str:
    decided = decisions({**subject_of(story, answer["text"]), "readings": answer["readings"]})
    for name in criteria_of(story):
        if decided[name].passed is not True:
            verdict = "fails" if decided[name].passed is False else "is open by"
            return f"{verdict} {name} ({_ABOUT[name]}): {decided[name].reason}"
    return f"passes {', '.join(f'{name} ({_ABOUT[name]})' for name in criteria_of(story))}"
