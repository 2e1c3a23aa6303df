"""Discussions: a group talks about an item in its thread, and one of them records the decision.

Everybody who has the discussion's role sees the item, earlier answers and the whole thread. Once
enough of them have spoken, one records what the group decided.
"""

from datetime import datetime

from contrafact.review.events import NotAllowed
from contrafact.review.project import Stage
from contrafact.review.state import Change, Person, ReviewItem, ReviewState

LONGEST_REMARK = 10_000  # characters


def say(change: Change, who: str, name: str, written: str, *, request: str | None = None) -> None:
    """Add a remark to the thread of an item under discussion.

    ``request`` is the form's key; a form sent again under the same key counts once.

    Raises:
        NotAllowed: The remark is empty or too long, or the person may not discuss the item.
    """
    state, text = change.state, written.strip()
    before = None if request is None else state.requests.get(request)
    if before is not None:
        if (before.kind, before.item, before.body.get("text")) != ("said", name, text):
            raise NotAllowed("this form was sent before with another text", hint="reload the page")
        return
    item = state.items.get(name)
    if item is None or item not in under_discussion(state, state.people.get(who)):
        raise NotAllowed("you cannot discuss this item now", hint="go back to the list")
    if not text:
        raise NotAllowed("the remark is empty", hint="write what you think")
    if len(written) > LONGEST_REMARK:
        raise NotAllowed(
            f"the remark is longer than {LONGEST_REMARK:,} characters", hint="shorten it"
        )
    about = {"item": item.id, "stage": item.stage, "round": item.round}
    change.add("said", who, request=request, body={"text": text}, **about)


def under_discussion(state: ReviewState, person: Person | None) -> list[ReviewItem]:
    """Return the items that a person can discuss now, in order of arrival."""
    if person is None or not person.active:
        return []
    return [
        state.items[name]
        for stage in state.project.flow
        if stage.kind == "discussion" and set(stage.roles) & set(person.roles)
        for name in state.at[stage.id]
    ]


def voices(item: ReviewItem) -> frozenset[str]:
    """Return the people who have spoken about an item in its current stage and round."""
    place = (item.stage, item.round)
    return frozenset(r.who for r in item.thread if (r.stage, r.round) == place)


def can_record(stage: Stage, item: ReviewItem, who: str) -> bool:
    """Return whether a person can record a group's decision: they and enough others have spoken."""
    spoken = voices(item)
    return who in spoken and len(spoken) >= stage.voices


def thread(item: ReviewItem) -> list[tuple[str, datetime, str]]:
    """Return remarks about an item and comments of its votes, by time: author, time and text.

    Voters are not named.
    """
    entries = [(remark.seq, remark.who, remark.when, remark.text) for remark in item.thread]
    entries += [
        (vote.seq, f"Comment with the vote “{vote.ballot.verdict}”", vote.when, comment)
        for vote in item.votes
        if (comment := vote.ballot.comment)
    ]
    return [entry[1:] for entry in sorted(entries)]
