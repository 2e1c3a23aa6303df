"""What the files of the three families call the things that the built-in projects show.

Any file of pairs (`rfc`), of headlines, scenarios, run items and study sheets (`finforce`), and of
stories, run items and study sheets (`cobe`) is taken as it comes; one row can hold several items.
"""

import datetime
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from contrafact.errors import InputError
from contrafact.families.cobe.data import read_story
from contrafact.families.rfc.labels import manipulation_named
from contrafact.records import SIDES, content_id
from contrafact.review.project import Project
from contrafact.text.delimit import replace_surrogates

__all__ = ["plain", "spread"]

# By project, the ways in which files name its fields; the first that a row has all fields of is
# taken. What a field is called there stands after the colon.
_SHAPES: dict[str, tuple[dict[str, str], ...]] = {
    "headline-screening": (
        {"headline": "title", "description": "summary"},
        {"headline": "title"},
        {"headline": "text", "description": "description"},
        {"headline": "text"},
    ),
    "judge-agreement": ({"counterfactual": "text"},),
    "cobe-rating": (
        {"text": "original_text", "query": "request", "edit": "response"},
        {"text": "story", "edit": "text", "story_id": "sample_id"},
    ),
}
# What published pairs are called; the first name that is there is taken.
_PAIR_NAMES: dict[str, tuple[str, ...]] = {
    "original": ("original_text", "original_news", "original_paragraph"),
    "rewritten": (
        *("rewritten_text", "rewritten_news", "rewritten_paragraph"),
        *("misinformation", "misinformation_text", "manipulated", "text"),
    ),
    "manipulation": ("manipulation_category", "misinformation_type"),
    "ticker": ("stock_ticker", "stock", "symbol"),
}
_SIDE_NAMES = ("{}", "{}_counterfactual", "{}_counterfactual_scenario")
_STORY = "Variation text"
# What tells two outputs of a run apart whose texts are the same.
_RUN = ("system", "judge", "draw", "sample_id", "side", "phrasing")


def spread(row: Mapping[str, Any], project: Project) -> Iterator[dict[str, Any]]:
    """Yield the items of a file's row, under the names of the project; none of an invalid output.

    A row with a risk and an opportunity is two items where the project shows one side; a story is
    one for each answer that it holds; an output that a run found invalid is none.

    Args:
        row: The row, values as :func:`plain` gives them.
        project: The project.

    Raises:
        InputError: A story is not of the schema.
    """
    row = _flat(row)
    if project.name == "cobe-rating" and _STORY in row:
        yield from _answers(row)
        return
    if "system" in row and "sample_id" in row and "text" in row and row["text"] is None:
        return  # a run's row without an output, which a judge did not see either
    for own in _sides(row, project):
        shape = _shape(own, project)
        made = own | {target: own[source] for target, source in shape.items()}
        if project.name == "rfc-rewrite":
            made = _pair(made)
        yield _named(made)


def plain(value: Any) -> Any:
    """Return a cell as JSON and pages can hold it.

    What is missing is None, times and bytes are texts, and half a character (a lone surrogate),
    which no page can show, is U+FFFD.
    """
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Decimal | datetime.timedelta):
        return str(value)
    if isinstance(value, Mapping):
        return {replace_surrogates(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the published supplement with its parts side by side; another as it is."""
    item, output = row.get("input_item"), row.get("output")
    if not isinstance(item, dict):
        return dict(row)
    rest = {key: value for key, value in row.items() if key not in ("input_item", "output")}
    scenarios = output.get("scenarios") if isinstance(output, dict) else None
    first = scenarios[0] if isinstance(scenarios, list) and scenarios else {}
    return rest | item | (first if isinstance(first, dict) else {})


def _sides(row: dict[str, Any], project: Project) -> Iterator[dict[str, Any]]:
    forms = ([form.format(side) for side in SIDES] for form in _SIDE_NAMES)
    names = next((names for names in forms if all(row.get(name) for name in names)), None)
    if names is None or "counterfactual" not in project.show or "counterfactual" in row:
        yield row
        return
    rest = {key: value for key, value in row.items() if key not in (*names, "id")}
    for side, name in zip(SIDES, names, strict=True):
        own = {"id": f"{row['id']}-{side}"} if row.get("id") else {}
        yield rest | {"side": side, "counterfactual": row[name]} | own


def _shape(row: Mapping[str, Any], project: Project) -> dict[str, str]:
    # A run's items have a 'text' which is not the story's, but the edit.
    own = "edit" in row if project.name == "cobe-rating" else False
    needed = [name for name in project.show if name not in project.may_lack]
    if own or (project.name != "cobe-rating" and all(name in row for name in needed)):
        return {}
    for shape in _SHAPES.get(project.name, ()):
        if all(source in row for source in shape.values()):
            return shape
    return {}


def _pair(row: dict[str, Any]) -> dict[str, Any]:
    """Return a pair under the project's names, its manipulation in the project's spelling."""
    for target, names in _PAIR_NAMES.items():
        source = next((name for name in names if name in row), None)
        if target not in row and source is not None:
            row[target] = row[source]
    named = manipulation_named(row.get("manipulation"))
    return row if named is None else row | {"manipulation": named}


def _named(row: dict[str, Any]) -> dict[str, Any]:
    """Return a run's output with an id of its own: two systems may write the same text."""
    if row.get("id") or row.get("item_id") or "system" not in row or "sample_id" not in row:
        return row
    facts = [str(row.get(name)) for name in _RUN]
    return row | {"id": content_id(*facts, prefix="o")}


def _answers(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an item for each answer of a story; what is known of it is kept, and never shown."""
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
    for text, known in answers.items():
        yield {
            "text": story.text,
            "query": story.queries[0],
            "edit": text,
            "story_id": story.id,
            "domain": story.domain,
            "known_verdict": known,
        }
