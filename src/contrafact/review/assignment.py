"""Assignment: who gets which item next, training, and whether there are people enough.

FIN-FORCE, section 3.3: people train in rounds of items with known answers until they reach a
threshold, and only then work.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from contrafact.records import content_id
from contrafact.review.answers import Assignment, Decision, ballot_of
from contrafact.review.discussion import can_record
from contrafact.review.events import NotAllowed
from contrafact.review.project import Project, Stage
from contrafact.review.state import Change, Person, ReviewItem, ReviewState, Vote
from contrafact.review.workflow import LEASE

__all__ = [
    "answer_training", "assign", "in_hand", "people_in_words", "people_needed", "role_warnings",
    "roles_in_words", "staffing_problems", "visible_votes",
]  # fmt: skip

_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def assign(change: Change, who: str) -> Assignment | None:
    """Give somebody the next item: the one they have, or one of the latest stage they may work in.

    An item that they let lapse comes to them again only where there is no other. None where there
    is nothing for them now.

    Raises:
        NotAllowed: Nobody of that name works here, or they need training and there are no items
            for it.
    """
    state, now = change.state, change.now
    person = state.people.get(who)
    if person is None or not person.active:
        raise NotAllowed(f"nobody named '{who[:40]}' works in this review")
    to_learn = _training_needed(state, person)
    if to_learn is not None:
        return next_training_item(change, person, to_learn)
    found = _slot_in_hand(state, person) or _next_slot(state, person, now)
    if found is None:
        return None
    item, place = found
    until = item.slots[place].until
    if item.slots[place].person != who or until is None or until <= now:
        until = now + LEASE
        change.add(
            *("assigned", who),
            item=item.id,
            stage=item.stage,
            round=item.round,
            slot=place,
            text_version=item.text_version,
            guidelines_version=state.project.guidelines_version,
            body={"until": until.isoformat()},
        )
    return Assignment(item.id, str(item.stage), item.round)


def in_hand(state: ReviewState, who: str) -> Assignment | None:
    """Return the item that somebody has now; None where `assign` would have to give them one."""
    person = state.people.get(who)
    if person is None or not person.active:
        return None
    to_learn = _training_needed(state, person)
    if to_learn is not None:
        trainee = state.trainee(who, to_learn.id)
        if not trainee.open:
            return None
        return Assignment(trainee.open[0], to_learn.id, len(trainee.rounds), training=True)
    found = _slot_in_hand(state, person)
    return None if found is None else Assignment(found[0].id, str(found[0].stage), found[0].round)


def _may_take(
    state: ReviewState, person: Person, item: ReviewItem, place: int, now: datetime
) -> bool:
    """Return whether somebody may be given a place of an item where it is now.

    No other place of the item here is theirs, and they did not vote in a stage that this one is
    kept apart from.
    """
    slot = item.slots[place]
    if slot.filled or slot.role not in person.roles:
        return False
    if slot.person not in (None, person.name) and not slot.lapsed(now):
        return False
    others = (*item.slots[:place], *item.slots[place + 1 :])
    if any(s.person == person.name and (s.filled or not s.lapsed(now)) for s in others):
        return False
    apart = state.project.stage(str(item.stage)).apart_from
    return not any(
        vote.who == person.name and vote.round == item.rounds[vote.stage]
        for vote in item.votes
        if vote.stage in apart
    )


def visible_votes(project: Project, item: ReviewItem, stage: str, round_: int) -> tuple[Vote, ...]:
    """Return the votes that whoever works at a stage sees: never those of their own round."""
    shown = project.stage(stage).shows
    return tuple(
        v for v in item.votes if v.stage in shown and (v.stage, v.round) != (stage, round_)
    )


def _training_needed(state: ReviewState, person: Person) -> Stage | None:
    """Return the training that somebody has to pass before they work; none if there is none."""
    for stage in state.project.stages:
        wanted = stage.kind == "training" and set(stage.roles) & set(person.roles)
        if wanted and not person.trained and not state.trainee(person.name, stage.id).passed:
            return stage
    return None


def answer_training(change: Change, who: str, place: Assignment, decision: Decision) -> None:
    """Take an answer in training; the round's last one closes it, passed or not.

    An answer is right if every question is answered as is known to be right.

    Raises:
        NotAllowed: The item is not in the person's present round.
        InputError: The answers are not whole.
    """
    state = change.state
    if state.is_repeated(place, decision):
        return
    stage = next((s for s in state.project.stages if s.id == place.stage), None)
    trainee = state.trainee(who, place.stage)
    in_round = place.round == len(trainee.rounds) > 0 and place.item in trainee.rounds[-1]
    if stage is None or not in_round:
        raise NotAllowed("this item is not in your round of training", hint="ask for the next one")
    if place.item not in trainee.open:
        return
    answers = ballot_of(state.project, stage, Decision(decision.answers)).answers
    gold = ballot_of(state.project, stage, Decision(state.gold[place.item])).answers
    change.add(
        *("training-answered", who),
        item=place.item,
        stage=stage.id,
        round=place.round,
        guidelines_version=state.project.guidelines_version,
        request=decision.request,
        body={"answers": dict(answers), "right": answers == gold},
    )


def staffing_problems(state: ReviewState) -> list[str]:
    """Return what keeps items from being done by the people there are, a sentence each.

    Where there is none, no item can be stuck for want of people, however they were assigned.
    """
    people = [person for person in state.people.values() if person.active]
    problems = []
    for stage in state.project.flow:
        if not stage.roles:
            continue
        others = [state.project.stage(name) for name in stage.apart_from]
        short = _too_few_in_role(stage, people) or _too_few_apart(stage, others, people)
        problems += short or _may_run_out(stage, others, people)
    learners = [p for p in people if _training_needed(state, p) is not None]
    if learners and not state.gold:
        problems.append(f"{len(learners)} people need training, and there are no items for it")
    elif learners:
        problems += [
            _too_few_to_train(stage, len(state.gold))
            for stage in state.project.stages
            if stage.kind == "training" and len(state.gold) < stage.sample
        ]
    return list(dict.fromkeys(problems))


def role_warnings(project: Project, person: Person) -> list[str]:
    """Return which of somebody's roles keep them from an item that they had another part in.

    Such roles may be given: the person is refused item by item, and others have to be there.
    """
    warnings = []
    for stage in project.flow:
        for other in (project.stage(name) for name in stage.apart_from):
            if set(stage.roles) & set(person.roles) and set(other.roles) & set(person.roles):
                warnings.append(
                    f"{person.name} has roles in '{other.title}' and in '{stage.title}': whoever "
                    "took part in the one of an item is never given the other of it"
                )
    return warnings


def people_needed(project: Project) -> tuple[dict[str, int], int]:
    """Return by role how many people an item needs, and how many it needs at least in all.

    Stages that are kept apart from each other need different people; others may share them.
    """
    stages = [stage for stage in project.flow if stage.roles]
    need: Counter[str] = Counter()
    for stage in stages:
        need |= _needed(stage)
    least = 0
    groups: list[tuple[tuple[Stage, ...], int]] = [((), 0)]
    for stage in stages:
        for chosen, people in list(groups):
            if all(s.id in stage.apart_from or stage.id in s.apart_from for s in chosen):
                groups.append(((*chosen, stage), people + _needed(stage).total()))
                least = max(least, people + _needed(stage).total())
    return dict(need), least


def _count_of(number: int, noun: str) -> str:
    """Return a number of people in a role, in words: ``two annotators``."""
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    return f"{word} {noun}{'s' if number != 1 else ''}"


def people_in_words(number: int) -> str:
    """Return a number of people in words."""
    return "one person" if number == 1 else _count_of(number, "people").removesuffix("s")


def roles_in_words(roles: Mapping[str, int]) -> str:
    """Return numbers of people by role, in words: ``two annotators and one adjudicator``."""
    *first, last = [_count_of(number, role) for role, number in roles.items()]
    return f"{', '.join(first)} and {last}" if first else last


def _needed(stage: Stage) -> Counter[str]:
    """Return by role how many people a stage needs for one item."""
    if stage.kind == "discussion":
        return Counter(dict.fromkeys(stage.roles, stage.voices))
    return Counter(stage.roles)


def _too_few_in_role(stage: Stage, people: Sequence[Person]) -> list[str]:
    problems = []
    for role, need in _needed(stage).items():
        able = sum(role in person.roles for person in people)
        if able < need:
            there = "is" if able == 1 else "are"
            problems.append(
                f"'{stage.title}' needs {_count_of(need, role)}, and there {there} "
                f"{_count_of(able, role)}"
            )
    return problems


def _too_few_apart(stage: Stage, others: Sequence[Stage], people: Sequence[Person]) -> list[str]:
    """Return the roles that one item needs different people for, and there are not so many."""
    for other in (None, *others):
        roles = Counter(other.roles if other else ()) + Counter(stage.roles)
        able = [person.name for person in people if roles.keys() & set(person.roles)]
        if len(able) < roles.total():
            there = people_in_words(len(able))
            kept = (
                f"whoever took part in '{other.title}' of an item has no part in '{stage.title}'"
                if other
                else f"nobody votes twice on an item in '{stage.title}'"
            )
            return [
                f"{roles_in_words(roles)} need {people_in_words(roles.total())}, and there "
                f"{'is' if len(able) == 1 else 'are'} {there}: {kept}"
            ]
    return []


def _may_run_out(stage: Stage, others: Sequence[Stage], people: Sequence[Person]) -> list[str]:
    """Return where an item can come to a stage when all who could take it have had another part."""
    problems = []
    for role, need in Counter(stage.roles).items():
        able = [person for person in people if role in person.roles]
        places = [r for r in stage.roles if r != role]
        places += [r for other in others for r in other.roles]
        twice = [person for person in able if set(places) & set(person.roles)]
        taken = [r for r in places if any(r in person.roles for person in twice)]
        if len(able) - min(len(twice), len(taken)) < need:
            names = ", ".join(person.name for person in twice)
            problems.append(
                f"an item can come to '{stage.title}' with nobody left to be its {role}, because "
                f"{names} had another part in it: give that role to more people, or to some who "
                "have no other"
            )
    return problems


def _slot_in_hand(state: ReviewState, person: Person) -> tuple[ReviewItem, int] | None:
    """Return the item that somebody has in hand, and their place at it; None if there is none."""
    item = state.items.get(state.in_hand.get(person.name, ""))
    if item is None:
        return None
    for place, slot in enumerate(item.slots):
        if slot.person == person.name and not slot.filled and slot.role in person.roles:
            return item, place
    return None


def _next_slot(state: ReviewState, person: Person, now: datetime) -> tuple[ReviewItem, int] | None:
    """Return the item that somebody may be given next, and the place; None if there is none.

    Items of later stages come first; one that they let lapse comes last. Where a stage is shuffled,
    its items come in an order that is the person's own, and always the same.
    """
    lapsed: tuple[ReviewItem, int] | None = None
    for stage in reversed(state.project.flow):
        if stage.id in state.closed or not set(stage.roles) & set(person.roles):
            continue
        names: Iterable[str] = state.at[stage.id]
        if stage.shuffled:
            names = sorted(names, key=lambda n: content_id(stage.id, person.name, n, prefix="o"))
        for name in names:
            item = state.items[name]
            if stage.kind == "discussion" and not can_record(stage, item, person.name):
                continue  # it is discussed first, by all who have the role
            for place in range(len(item.slots)):
                if _may_take(state, person, item, place, now):
                    if (stage.id, item.round, person.name) not in item.shown:
                        return item, place
                    lapsed = lapsed or (item, place)
    return lapsed


def _too_few_to_train(stage: Stage, present: int) -> str:
    return (
        f"'{stage.title}' asks {stage.sample} items with known answers a round, and there are "
        f"{present}"
    )


def next_training_item(change: Change, person: Person, stage: Stage) -> Assignment:
    """Return the next item of somebody's round of training; draw a round where none is open."""
    state = change.state
    trainee = state.trainee(person.name, stage.id)
    if not trainee.open:
        if not state.gold:
            raise NotAllowed(
                "there are no items with known answers to train on",
                hint="import some, or mark the person as trained",
            )
        if len(state.gold) < stage.sample:
            raise NotAllowed(_too_few_to_train(stage, len(state.gold)), hint="import more")
        names = sorted(state.gold)
        times = {n: sum(n in done for done in trainee.rounds) for n in names}
        # What a person has not seen yet comes first, in random order.
        order = [names[int(i)] for i in change.rng.permutation(len(names))]
        chosen = sorted(order, key=times.__getitem__)[: stage.sample]
        number = len(trainee.rounds) + 1
        body = {"items": chosen}
        change.add("training-drawn", person.name, stage=stage.id, round=number, body=body)
        trainee = state.trainee(person.name, stage.id)
    return Assignment(trainee.open[0], stage.id, len(trainee.rounds), training=True)
