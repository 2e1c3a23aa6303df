"""The state of a review, computed from its events.

`ReviewState.apply` takes one event after another and decides nothing: the same events give the
same state on any machine. *Actions* decide what may happen next. They are the functions of `setup`,
`assignment`, `workflow`, `discussion` and `corrections` whose first argument is a `Change`: each
first checks whether it is allowed, and then adds events to the change. Neither reads a clock, draws
random numbers of its own, or knows the database.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from contrafact.records import content_id
from contrafact.review.answers import Assignment, Ballot, Decision
from contrafact.review.events import (
    SYSTEM,
    Event,
    EventKind,
    NotAllowed,
    current_definition,
    current_kind,
)
from contrafact.review.project import OUTCOMES, Project, Stage


@dataclass(frozen=True)
class Person:
    """A member of a review; if ``trained``, they need no training."""

    name: str
    roles: tuple[str, ...]
    active: bool = True
    trained: bool = False


@dataclass(frozen=True)
class Remark:
    """A remark in an item's thread."""

    seq: int
    who: str
    when: datetime
    stage: str | None
    round: int
    text: str


@dataclass(frozen=True)
class Vote:
    """A ballot, with its author, stage and round.

    ``origin`` is set on votes that an earlier version imported. ``group`` lists who took part in
    the discussion that led to the vote.
    """

    seq: int
    who: str
    when: datetime
    stage: str
    round: int
    slot: int
    ballot: Ballot
    text_version: str
    guidelines_version: str
    batch: str | None = None
    probability: float | None = None
    origin: Mapping[str, Any] | None = None
    group: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slot:
    """A slot for one person's vote: free, taken until a time, or filled."""

    role: str
    person: str | None = None
    until: datetime | None = None
    filled: bool = False

    def lapsed(self, now: datetime) -> bool:
        return self.until is not None and self.until <= now


@dataclass
class ReviewItem:
    """An item under review, and how far it has come.

    Attributes:
        imported: The fields as they were imported.
        fields: The fields as they are now.
        edited: The fields that a manager has changed since the import.
        entered: By stage, the verdict with which the item last arrived, and whether that was
            disputed.
        before: The item as it was before its last decision, as long as that can be undone.
    """

    id: str
    imported: dict[str, Any]
    fields: dict[str, Any]
    text_version: str
    arrived: datetime
    stage: str | None = None
    outcome: str | None = None
    why: str = ""
    verdict: str | None = None
    disputed: bool = False
    withdrawn: bool = False
    batch: str | None = None
    rounds: dict[str, int] = field(default_factory=dict)
    slots: tuple[Slot, ...] = ()
    votes: tuple[Vote, ...] = ()
    shown: frozenset[tuple[str, int, str]] = frozenset()
    before: "ReviewItem | None" = None
    thread: tuple[Remark, ...] = ()
    edited: dict[str, str] = field(default_factory=dict)
    entered: dict[str, tuple[str | None, bool]] = field(default_factory=dict)

    @property
    def round(self) -> int:
        """The number of the item's visits to its stage, from 1; 0 if the item has ended."""
        return self.rounds.get(self.stage or "", 0)

    def here(self) -> tuple[Vote, ...]:
        return tuple(v for v in self.votes if (v.stage, v.round) == (self.stage, self.round))

    def counted(self, stage: Stage) -> tuple[Vote, ...]:
        """Return the votes that count at a stage: its own, and earlier ones on the same text."""
        earlier: dict[tuple[str, str], Vote] = {}
        for vote in self.votes:
            if vote.stage in stage.counts and vote.text_version == self.text_version:
                earlier[vote.stage, vote.who] = vote
        return (*self.here(), *earlier.values())


@dataclass
class Batch:
    """A batch of items under audit, and the items drawn from it, with probabilities."""

    id: str
    stage: str
    members: tuple[str, ...]
    drawn: dict[str, float]
    strata: dict[str, str]
    result: str | None = None


@dataclass
class Trainee:
    """One person's training at one stage: by round, whether each item was answered right."""

    rounds: list[dict[str, bool | None]] = field(default_factory=list)
    passed: bool = False
    answers: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def open(self) -> tuple[str, ...]:
        latest = self.rounds[-1] if self.rounds else {}
        return tuple(item for item, right in latest.items() if right is None)


def _text_version(project: Project, fields: Mapping[str, Any]) -> str:
    shown = {name: fields.get(name) for name in project.show}
    return content_id(json.dumps(shown, sort_keys=True, ensure_ascii=False), prefix="t")


def replay(events: Iterable[Event]) -> "ReviewState":
    """Return the state after a history; a `ValueError` if an event does not fit."""
    state: ReviewState | None = None
    for event in events:
        if state is None:
            if event.kind != "project":
                raise ValueError("the history does not begin with the project's definition")
            state = ReviewState(Project.model_validate(current_definition(event)))
        state.apply(event)
    if state is None:
        raise ValueError("the history is empty")
    return state


class ReviewState:
    """The present state of one review.

    Attributes:
        at: By stage, the items there, in order of arrival.
        gold: By training item, its known answers; ``gold_fields`` has its fields.
        in_hand: By person, the item that they hold.
        last: By person, the item and event of the decision that they may undo.
        decided: By person, the number of their decisions that count.
        requests: By the sender's key, the event that it led to, so that a form counts once.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.seq = 0
        self.people: dict[str, Person] = {}
        self.items: dict[str, ReviewItem] = {}
        self.at: dict[str, dict[str, None]] = {stage.id: {} for stage in project.flow}
        self.gold: dict[str, dict[str, str]] = {}
        self.gold_fields: dict[str, dict[str, Any]] = {}
        self.batches: dict[str, Batch] = {}
        self.trainees: dict[tuple[str, str], Trainee] = {}
        self.in_hand: dict[str, str] = {}
        self.last: dict[str, tuple[str, int]] = {}
        self.decided: Counter[str] = Counter()
        self.requests: dict[str, Event] = {}
        self.closed: set[str] = set()

    def apply(self, event: Event) -> None:
        """Apply one event; a `ValueError` if it does not fit the state."""
        if event.seq != self.seq + 1:
            raise ValueError(f"event {event.seq} does not follow event {self.seq}")
        kind = current_kind(event)
        try:
            if kind is not None:
                getattr(self, f"_{kind.replace('-', '_')}")(event)
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"event {event.seq} ({event.kind}) does not fit: {error!r}") from error
        self.seq = event.seq
        if event.request is not None:
            self.requests[event.request] = event

    def is_repeated(self, place: Assignment, decision: Decision) -> bool:
        """Return whether a form was recorded before; `NotAllowed` if its key had other contents."""
        before = None if decision.request is None else self.requests.get(decision.request)
        if before is None:
            return False
        body, answers, correction = before.body, decision.answers, decision.correction
        text = (correction or "").strip()
        same = (
            (before.item, before.stage, before.round) == (place.item, place.stage, place.round)
            # Answers to questions that other answers rule out were not kept.
            and "answers" in body
            and all(answers.get(name, "").strip() == kept for name, kept in body["answers"].items())
            and body.get("flagged", False) == decision.flagged
            and body.get("comment", "") == decision.comment.strip()
            # A correction equal to the present text was unchanged, or made by that event.
            and (correction in (None, body.get("correction")) or text == self.present_text(place))
        )
        if not same:
            raise NotAllowed(
                "this form was sent before with other answers, which count",
                hint="undo that decision, or go on to the next item",
            )
        return True

    def present_text(self, place: Assignment) -> str | None:
        """Return the text of an item that may be rewritten at a stage; None if there is none."""
        stage = next((s for s in self.project.flow if s.id == place.stage), None)
        item = self.items.get(place.item)
        if item is None or stage is None or stage.corrects is None:
            return None
        return str(item.fields.get(stage.corrects.field) or "").replace("\r\n", "\n").strip()

    def trainee(self, person: str, stage: str) -> Trainee:
        return self.trainees.get((person, stage), Trainee())

    def _project(self, event: Event) -> None:
        self.project = Project.model_validate(current_definition(event))

    def _person(self, event: Event) -> None:
        body = event.body
        person = Person(body["name"], tuple(body["roles"]), body["active"], body["trained"])
        self.people[person.name] = person

    def _imported(self, event: Event) -> None:
        assert event.item is not None
        fields = dict(event.body["fields"])
        if "gold" in event.body:
            self.gold[event.item] = dict(event.body["gold"])
            self.gold_fields[event.item] = fields
            return
        version = _text_version(self.project, fields)
        item = ReviewItem(event.item, fields, fields, version, event.when)
        self.items[item.id] = item
        self._enter(item, self.project.start.id, event.when)

    def _assigned(self, event: Event) -> None:
        item, slot = self._place(event)
        previous = item.slots[slot]
        if previous.person is not None and self.in_hand.get(previous.person) == item.id:
            del self.in_hand[previous.person]
        item.before = None
        if "until" not in event.body:  # an earlier version withdrew an assignment so
            self._fill(item, slot, Slot(previous.role))
            return
        until = datetime.fromisoformat(event.body["until"])
        self._fill(item, slot, Slot(previous.role, event.who, until))
        item.shown |= {(str(event.stage), event.round, event.who)}
        self.in_hand[event.who] = item.id

    def _answered(self, event: Event) -> None:
        item, slot = self._place(event)
        if item.slots[slot].filled:
            raise ValueError(f"event {event.seq} fills a slot of {item.id} a second time")
        item.before = None
        item.before = copy(item)
        body = event.body
        rest = (body["verdict"], body["flagged"], body["comment"], body.get("correction"))
        ballot = Ballot(dict(body["answers"]), *rest)
        batch = self.batches[item.batch] if item.batch else None
        vote = Vote(
            *(event.seq, event.who, event.when, str(event.stage), event.round, slot, ballot),
            text_version=str(event.text_version),
            guidelines_version=str(event.guidelines_version),
            batch=item.batch,
            probability=batch.drawn[item.id] if batch else None,
            origin=body.get("origin"),
            group=tuple(body.get("group", ())),
        )
        item.votes = (*item.votes, vote)
        self._fill(item, slot, Slot(item.slots[slot].role, event.who, None, filled=True))
        stage = self.project.stage(str(event.stage))
        if ballot.correction is not None and stage.corrects:
            item.fields = {**item.fields, stage.corrects.field: ballot.correction}
            item.text_version = _text_version(self.project, item.fields)
        if self.in_hand.get(event.who) == item.id:
            del self.in_hand[event.who]
        self.decided[event.who] += 1
        if "origin" not in body:  # an imported decision cannot be undone
            self.last[event.who] = (item.id, event.seq)

    def _undone(self, event: Event) -> None:
        item = self.items[str(event.item)]
        until = datetime.fromisoformat(event.body["until"])
        vote = next(v for v in item.votes if v.seq == event.body["answer"])
        if (item.stage, item.round) == (vote.stage, vote.round):
            item.votes = tuple(v for v in item.votes if v is not vote)
        elif item.before is not None:
            if item.stage is not None:
                del self.at[item.stage][item.id]
            item = item.before
            self.items[item.id] = item
            self.at[str(item.stage)][item.id] = None
        else:
            raise ValueError(f"event {event.seq} undoes a decision that later events depend on")
        item.before = None
        self._fill(item, vote.slot, Slot(item.slots[vote.slot].role, event.who, until))
        self.in_hand[event.who] = item.id
        del self.last[event.who]
        self.decided[event.who] -= 1

    def _moved(self, event: Event) -> None:
        item = self.items[str(event.item)]
        body = event.body
        if item.stage != event.stage:
            raise ValueError(f"event {event.seq} moves {item.id} from a stage where it is not")
        if body["to"] == "final" and body["disputed"]:
            raise ValueError(f"event {event.seq} ends {item.id} with an open disagreement")
        del self.at[str(item.stage)][item.id]
        item.why, item.verdict, item.disputed = body["why"], body["verdict"], body["disputed"]
        item.batch, item.slots, item.stage = None, (), None
        if body["to"] in OUTCOMES:
            item.outcome = body["to"]
        else:
            self._enter(item, body["to"], event.when)

    def _drawn(self, event: Event) -> None:
        body, stage = event.body, self.project.stage(str(event.stage))
        members, drawn = tuple(body["members"]), dict(body["drawn"])
        batch = Batch(body["batch"], stage.id, members, drawn, dict(body["strata"]))
        self.batches[batch.id] = batch
        for name in batch.members:
            item = self.items[name]
            item.batch, item.before = batch.id, None
            if name in batch.drawn:
                item.slots = tuple(Slot(role) for role in stage.roles)

    def _closed(self, event: Event) -> None:
        batch = self.batches[event.body["batch"]]
        batch.result = event.body["result"]
        for name in batch.members:
            self.items[name].before = None

    def _training_drawn(self, event: Event) -> None:
        trainee = self.trainees.setdefault((event.who, str(event.stage)), Trainee())
        trainee.rounds.append(dict.fromkeys(event.body["items"]))

    def _training_answered(self, event: Event) -> None:
        trainee = self.trainees[event.who, str(event.stage)]
        trainee.rounds[event.round - 1][str(event.item)] = event.body["right"]
        trainee.answers[str(event.item)] = event.body["answers"]
        if not trainee.open:
            right = [bool(answer) for answer in trainee.rounds[-1].values()]
            threshold = self.project.stage(str(event.stage)).threshold
            trainee.passed = sum(right) / len(right) >= threshold

    def _stage(self, event: Event) -> None:
        name = self.project.stage(str(event.stage)).id
        if event.body["open"]:
            self.closed.discard(name)
        else:
            self.closed.add(name)

    def _corrected(self, event: Event) -> None:
        """Apply a manager's correction.

        The event's body has the stage that the item goes ``to`` (absent if it is withdrawn), the
        votes that are ``set_aside``, the ``fields`` that were edited and, if one decision is
        retracted, its number as ``answer``; the item then returns to that visit of the stage.
        """
        item, body = self.items[str(event.item)], event.body
        retracted = next((v for v in item.votes if v.seq == body.get("answer")), None)
        if retracted is not None and self.project.stage(retracted.stage).kind == "audit":
            # The item stays in its batch and waits for another vote.
            self._set_aside(item, (retracted.seq,))
            self._fill(item, retracted.slot, Slot(item.slots[retracted.slot].role))
            item.before = None
            return
        self._leave(item)
        item.edited = {**item.edited, **body.get("fields", {})}
        self._set_aside(item, body.get("set_aside", ()))
        item.fields = {**item.imported, **item.edited}
        for vote in item.votes:
            corrects = self.project.stage(vote.stage).corrects
            if vote.ballot.correction is not None and corrects:
                item.fields = {**item.fields, corrects.field: vote.ballot.correction}
        item.text_version = _text_version(self.project, item.fields)
        item.outcome, item.why, item.withdrawn = None, body["why"], False
        if retracted is not None:
            self._return_to(item, self.project.stage(retracted.stage), event.when)
        elif "to" in body:
            item.verdict, item.disputed = None, False
            self._enter(item, body["to"], event.when)
        else:
            item.outcome, item.withdrawn = "removed", True

    def _said(self, event: Event) -> None:
        item, body = self.items[str(event.item)], event.body
        remark = Remark(event.seq, event.who, event.when, event.stage, event.round, body["text"])
        item.thread = (*item.thread, remark)
        if item.before is not None:  # remarks stay when the last decision is undone
            item.before.thread = item.thread

    def _set_aside(self, item: ReviewItem, seqs: Iterable[int]) -> None:
        aside = set(seqs)
        self.decided.subtract(vote.who for vote in item.votes if vote.seq in aside)
        item.votes = tuple(vote for vote in item.votes if vote.seq not in aside)

    def _leave(self, item: ReviewItem) -> None:
        if item.stage is not None:
            del self.at[item.stage][item.id]
        for person in [name for name, held in self.in_hand.items() if held == item.id]:
            del self.in_hand[person]
        item.stage, item.slots, item.batch, item.before = None, (), None, None

    def _enter(self, item: ReviewItem, name: str, when: datetime) -> None:
        stage = self.project.stage(name)
        item.stage, item.arrived = name, when
        item.entered = {**item.entered, name: (item.verdict, item.disputed)}
        item.rounds = {**item.rounds, name: item.rounds.get(name, 0) + 1}
        item.slots = () if stage.barrier else tuple(Slot(role) for role in stage.roles)
        self.at[name][item.id] = None

    def _return_to(self, item: ReviewItem, stage: Stage, when: datetime) -> None:
        """Return an item to its last visit to a stage, with the votes there that count."""
        item.verdict, item.disputed = item.entered[stage.id]
        item.stage, item.arrived = stage.id, when
        item.slots = tuple(Slot(role) for role in stage.roles)
        for vote in item.here():
            role = stage.roles[vote.slot]
            self._fill(item, vote.slot, Slot(role, vote.who, None, filled=True))
        self.at[stage.id][item.id] = None

    def _place(self, event: Event) -> tuple[ReviewItem, int]:
        item, slot = self.items[str(event.item)], event.slot
        if slot is None or (item.stage, item.round) != (event.stage, event.round):
            raise ValueError(f"event {event.seq} is not at the stage where {item.id} is")
        return item, slot

    @staticmethod
    def _fill(item: ReviewItem, place: int, slot: Slot) -> None:
        item.slots = (*item.slots[:place], slot, *item.slots[place + 1 :])


class Change:
    """A change of a review: the state that actions act on, and the events that they add.

    Args:
        rng: The random generator for audit samples and training rounds.
    """

    def __init__(self, state: ReviewState, now: datetime, rng: np.random.Generator) -> None:
        self.state = state
        self.now = now
        self.rng = rng
        self.events: list[Event] = []

    def add(self, kind: EventKind, who: str = SYSTEM, **fields: Any) -> None:
        """Create an event, apply it to the state and keep it."""
        event = Event(kind, who, self.now, seq=self.state.seq + 1, **fields)
        self.state.apply(event)
        self.events.append(event)
