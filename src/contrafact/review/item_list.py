"""A manager's list of items: where each is, who said what of it, what a search finds. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from contrafact.review.project import OUTCOMES, Project
from contrafact.review.state import ReviewItem, ReviewState

__all__ = ["ItemFilter", "find_items", "item_state", "people_of", "states_of", "verdicts_of"]


@dataclass(frozen=True)
class ItemFilter:
    """What is looked for; what is empty does not count.

    Attributes:
        text: Words that stand in the item's id, what it shows, or a comment on it; all of them.
        state: A stage, an outcome, or ``open``: everything whose way has not ended.
        person: Somebody who has decided on it, or has it in hand.
        flagged: Whether somebody was not sure.
    """

    text: str = ""
    state: str = ""
    person: str = ""
    verdict: str = ""
    flagged: bool = False
    commented: bool = False


def find_items(state: ReviewState, wanted: ItemFilter) -> list[ReviewItem]:
    """Return the items that are looked for, in order of arrival."""
    words = wanted.text.casefold().split()
    return [
        item
        for item in state.items.values()
        if _is_at(item, wanted.state)
        and (not wanted.person or wanted.person in people_of(item))
        and (not wanted.verdict or any(v.ballot.verdict == wanted.verdict for v in item.votes))
        and (not wanted.flagged or any(v.ballot.flagged for v in item.votes))
        and (not wanted.commented or any(v.ballot.comment for v in item.votes))
        and (not words or _has(item, state.project, words))
    ]


def people_of(item: ReviewItem) -> set[str]:
    """Return who has decided on an item, or has it in hand."""
    return {v.who for v in item.votes} | {s.person for s in item.slots if s.person is not None}


def item_state(item: ReviewItem, project: Project) -> str:
    """Return where an item is, in words: its stage's title, or its outcome."""
    if item.withdrawn:
        return "withdrawn"
    if item.stage is not None:
        return project.stage(item.stage).title
    return item.outcome or ""


def states_of(state: ReviewState) -> list[tuple[str, str, int]]:
    """Return every state that some item is in: its name, what it is called, how many are there."""
    project = state.project
    named = [("open", "not ended")]
    named += [(stage.id, stage.title) for stage in project.flow]
    named += [(name, name) for name in OUTCOMES]
    named.append(("withdrawn", "withdrawn"))
    counted = [
        (name, title, sum(_is_at(item, name) for item in state.items.values()))
        for name, title in named
    ]
    return [one for one in counted if one[2]]


def verdicts_of(state: ReviewState) -> list[str]:
    """Return every verdict that somebody has come to, in order."""
    return sorted({vote.ballot.verdict for item in state.items.values() for vote in item.votes})


def _is_at(item: ReviewItem, where: str) -> bool:
    if where == "withdrawn":
        return item.withdrawn
    if where == "open":
        return item.outcome is None
    return where in ("", item.stage) or (where == item.outcome and not item.withdrawn)


def _has(item: ReviewItem, project: Project, words: list[str]) -> bool:
    def texts() -> Iterator[str]:
        yield item.id
        yield from (str(item.fields.get(name) or "") for name in project.show)
        yield from (vote.ballot.comment for vote in item.votes)

    whole = "\n".join(texts()).casefold()
    return all(word in whole for word in words)
