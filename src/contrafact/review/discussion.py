"""An item's thread, and the discussion in which a group comes to one recorded decision. Pure.

Whoever has the role of a discussion sees the item, what was answered before and everything that is
said. Once enough people have spoken, one of them records what the group decided.
"""

from datetime import datetime

from contrafact.review.events import NotAllowed
from contrafact.review.project import Stage
from contrafact.review.state import Change, Person, ReviewItem, ReviewState

LONGEST_REMARK = 10_000  # characters


def say(change: Change, who: str, name: str, written: str, *, request: str | None = None) -> None:
    """Write into the thread of an item that is up for discussion.

    ``request`` is a key under which the same form may be sent again.

    Raises:
        NotAllowed: Nothing or too much is written, or the item is not theirs to discuss.
    """
    state, text = change.state, written.strip()
    before = None if request is None else state.requests.get(request)
    if before is not None:
        if (before.kind, before.item, before.body.get("text")) != ("said", name, text):
            raise NotAllowed("this form was sent before, as something else")
        return
    item = state.items.get(name)
    if item is None or item not in under_discussion(state, state.people.get(who)):
        raise NotAllowed("this item is not up for discussion by you", hint="go back to the list")
    if not text:
        raise NotAllowed("nothing is written", hint="write what you think")
    if len(written) > LONGEST_REMARK:
        raise NotAllowed(f"this is longer than {LONGEST_REMARK:,} characters", hint="shorten it")
    about = {"item": item.id, "stage": item.stage, "round": item.round}
    change.add("said", who, request=request, body={"text": text}, **about)


def under_discussion(state: ReviewState, person: Person | None) -> list[ReviewItem]:
    """Return the items that somebody discusses now, in order of arrival."""
    if person is None or not person.active:
        return []
    return [
        state.items[name]
        for stage in state.project.flow
        if stage.kind == "discussion" and set(stage.roles) & set(person.roles)
        for name in state.at[stage.id]
    ]


def voices(item: ReviewItem) -> frozenset[str]:
    """Return who has spoken about an item at its present stage, in its present round."""
    place = (item.stage, item.round)
    return frozenset(r.who for r in item.thread if (r.stage, r.round) == place)


def can_record(stage: Stage, item: ReviewItem, who: str) -> bool:
    """Return whether somebody can record what a group decided: they spoke, and enough others."""
    spoken = voices(item)
    return who in spoken and len(spoken) >= stage.voices


def thread(item: ReviewItem) -> list[tuple[str, datetime, str]]:
    """Return what was said of an item, and comments of votes that stand: by whom, when, what.

    Who voted is not named. All are in order of time.
    """
    entries = [(one.seq, one.who, one.when, one.text) for one in item.thread]
    entries += [
        (vote.seq, f"Comment with the vote “{vote.ballot.verdict}”", vote.when, comment)
        for vote in item.votes
        if (comment := vote.ballot.comment)
    ]
    return [entry[1:] for entry in sorted(entries)]
