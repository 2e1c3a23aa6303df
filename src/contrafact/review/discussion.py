"""An item's thread, and the discussion in which a group comes to one recorded decision. Pure.

Whoever has the role of a discussion sees the item, what was answered before and everything that is
said, and replies. Once enough people have spoken, one of them records what the group decided.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from contrafact.review.events import NotAllowed
from contrafact.review.project import Stage
from contrafact.review.state import Change, Person, ReviewItem, ReviewState, Vote

__all__ = ["Entry", "can_record", "say", "thread", "under_discussion", "voices"]

LONGEST_REMARK = 10_000  # characters


@dataclass(frozen=True)
class Entry:
    """One entry of a thread: a remark, or the comment that came with a vote, by nobody by name.

    ``depth`` is 0 for one that replies to none, otherwise one more than what it replies to.
    """

    seq: int
    who: str
    when: datetime
    text: str
    depth: int
    vote: Vote | None = None


def say(
    change: Change,
    who: str,
    name: str,
    written: str,
    *,
    reply_to: int | None = None,
    manages: bool = False,
    request: str | None = None,
) -> None:
    """Write into an item's thread: managers into any, others where they discuss.

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
    if item is None:
        raise NotAllowed(f"there is no item '{name[:40]}'")
    if not manages and item not in under_discussion(state, state.people.get(who)):
        raise NotAllowed("this item is not up for discussion by you", hint="go back to the list")
    if not text:
        raise NotAllowed("nothing is written", hint="write what you think")
    if len(written) > LONGEST_REMARK:
        raise NotAllowed(f"this is longer than {LONGEST_REMARK:,} characters", hint="shorten it")
    if reply_to not in (None, *(entry.seq for entry in thread(item))):
        raise NotAllowed("what this replies to is not in the thread")
    body = {"text": text, **({} if reply_to is None else {"reply_to": reply_to})}
    about = {"item": item.id, "stage": item.stage, "round": item.round}
    change.add("said", who, request=request, body=body, **about)


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
    """Return who has spoken about an item at the stage where it is, on this visit."""
    place = (item.stage, item.round)
    return frozenset(r.who for r in item.thread if (r.stage, r.round) == place)


def can_record(stage: Stage, item: ReviewItem, who: str) -> bool:
    """Return whether somebody can record what a group decided: they spoke, and enough others."""
    spoken = voices(item)
    return who in spoken and len(spoken) >= stage.voices


def thread(item: ReviewItem) -> list[Entry]:
    """Return an item's thread: each entry before its replies, each of them in order of time.

    Comments of votes begin threads of their own; those of votes that were set aside are not there,
    and what replied to them stands by itself.
    """
    roots = [
        Entry(vote.seq, "", vote.when, vote.ballot.comment, 0, vote)
        for vote in item.votes
        if vote.ballot.comment
    ]
    known = {entry.seq for entry in roots} | {remark.seq for remark in item.thread}
    replies: dict[int, list[Entry]] = {}
    for remark in item.thread:
        entry = Entry(remark.seq, remark.who, remark.when, remark.text, 0)
        if remark.reply_to in known and remark.reply_to is not None:
            replies.setdefault(remark.reply_to, []).append(entry)
        else:
            roots.append(entry)

    def below(entry: Entry, depth: int) -> Iterator[Entry]:
        yield Entry(entry.seq, entry.who, entry.when, entry.text, depth, entry.vote)
        for reply in replies.get(entry.seq, ()):
            yield from below(reply, depth + 1)

    return [e for root in sorted(roots, key=lambda r: r.seq) for e in below(root, 0)]
