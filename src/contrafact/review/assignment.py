"""Assignment of items to people, training, and checks that a review has enough people.

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
    """Assign the next item: the one that the person holds, else one at the latest possible stage.

    An item whose time ran out with this person is assigned to them again only if there is no other.
    Returns None if no item is available.

    Raises:
        NotAllowed: Nobody of that name works here, or they need training and there are no items
            for it.
    """
    state, now = change.state, change.now
    person = state.people.get(who)
    if person is None or not person.active:
        raise NotAllowed(f"'{who[:40]}' is not a member of this review")
    to_learn = _training_needed(state, person)
    if to_learn is not None:
        return next_training_item(change, person, to_learn)
    free = _slot_in_hand(state, person) or _next_slot(state, person, now)
    if free is None:
        return None
    item, place = free
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
    """Return the item that a person holds now; None if `assign` would have to assign one."""
    person = state.people.get(who)
    if person is None or not person.active:
        return None
    to_learn = _training_needed(state, person)
    if to_learn is not None:
        trainee = state.trainee(who, to_learn.id)
        if not trainee.open:
            return None
        return Assignment(trainee.open[0], to_learn.id, len(trainee.rounds), training=True)
    held = _slot_in_hand(state, person)
    return None if held is None else Assignment(held[0].id, str(held[0].stage), held[0].round)


def _may_take(
    state: ReviewState, person: Person, item: ReviewItem, place: int, now: datetime
) -> bool:
    """Return whether a person may take a slot of an item at its current stage.

    They may not if they have another slot of the item here, or voted on it in a stage that excludes
    voting in this one.
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
    """Return the votes that people at a stage see: never those of the current round."""
    shown = project.stage(stage).shows
    return tuple(
        v for v in item.votes if v.stage in shown and (v.stage, v.round) != (stage, round_)
    )


def _training_needed(state: ReviewState, person: Person) -> Stage | None:
    """Return the training stage that a person must pass before working; None if none is left."""
    for stage in state.project.stages:
        wanted = stage.kind == "training" and set(stage.roles) & set(person.roles)
        if wanted and not person.trained and not state.trainee(person.name, stage.id).passed:
            return stage
    return None


def answer_training(change: Change, who: str, place: Assignment, decision: Decision) -> None:
    """Record an answer in training; the last answer of a round ends it, passed or not.

    An answer is right if all questions have their known answers.

    Raises:
        NotAllowed: The item is not in the person's current round.
        InputError: An answer is missing or unknown.
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
    """Return the reasons why the team cannot finish all items, one sentence each.

    If there are none, no item can get stuck for lack of people, however items are assigned.
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
        problems.append(f"{len(learners)} people need training, but there are no training items")
    elif learners:
        problems += [
            _too_few_to_train(stage, len(state.gold))
            for stage in state.project.stages
            if stage.kind == "training" and len(state.gold) < stage.sample
        ]
    return list(dict.fromkeys(problems))


def role_warnings(project: Project, person: Person) -> list[str]:
    """Return a warning for each pair of roles that a person cannot have on the same item.

    Such roles are allowed: the person gets different items in each, and others must do the rest.
    """
    warnings = []
    for stage in project.flow:
        for other in (project.stage(name) for name in stage.apart_from):
            if set(stage.roles) & set(person.roles) and set(other.roles) & set(person.roles):
                warnings.append(
                    f"{person.name} has roles in '{other.title}' and in '{stage.title}': nobody "
                    "works on the same item in both"
                )
    return warnings


def people_needed(project: Project) -> tuple[dict[str, int], int]:
    """Return how many people an item needs, by role, and the smallest number that can fill them.

    Stages that exclude each other need different people; others may share them.
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
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    return f"{word} {noun}{'s' if number != 1 else ''}"


def people_in_words(number: int) -> str:
    return "one person" if number == 1 else _count_of(number, "people").removesuffix("s")


def roles_in_words(roles: Mapping[str, int]) -> str:
    """Return how many people have each role, in words: ``two annotators and one adjudicator``."""
    *first, last = [_count_of(number, role) for role, number in roles.items()]
    return f"{', '.join(first)} and {last}" if first else last


def _needed(stage: Stage) -> Counter[str]:
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
                f"'{stage.title}' needs {_count_of(need, role)}, but there {there} "
                f"{_count_of(able, role)}"
            )
    return problems


def _too_few_apart(stage: Stage, others: Sequence[Stage], people: Sequence[Person]) -> list[str]:
    """Return the roles that need more different people for one item than the team has."""
    for other in (None, *others):
        roles = Counter(other.roles if other else ()) + Counter(stage.roles)
        able = [person.name for person in people if roles.keys() & set(person.roles)]
        if len(able) < roles.total():
            there = people_in_words(len(able))
            kept = (
                f"nobody works on the same item in '{other.title}' and in '{stage.title}'"
                if other
                else f"nobody votes twice on an item in '{stage.title}'"
            )
            return [
                f"{roles_in_words(roles)} have to be {people_in_words(roles.total())}, but there "
                f"{'is' if len(able) == 1 else 'are'} {there}: {kept}"
            ]
    return []


def _may_run_out(stage: Stage, others: Sequence[Stage], people: Sequence[Person]) -> list[str]:
    """Return the roles of a stage that nobody may be left to fill, as all took part before."""
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
                f"an item can reach '{stage.title}' with nobody left to be its {role}, because "
                f"{names} worked on it before: give that role to more people, or to people without "
                "another role"
            )
    return problems


def _slot_in_hand(state: ReviewState, person: Person) -> tuple[ReviewItem, int] | None:
    """Return the item that a person holds and the index of their slot; None if there is none."""
    item = state.items.get(state.in_hand.get(person.name, ""))
    if item is None:
        return None
    for place, slot in enumerate(item.slots):
        if slot.person == person.name and not slot.filled and slot.role in person.roles:
            return item, place
    return None


def _next_slot(state: ReviewState, person: Person, now: datetime) -> tuple[ReviewItem, int] | None:
    """Return the item that a person may take next and the index of the slot; None if none is left.

    Items of later stages come first, items whose time ran out with this person last. A shuffled
    stage has a fixed order for each person.
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
                continue  # the item must be discussed first
            for place in range(len(item.slots)):
                if _may_take(state, person, item, place, now):
                    if (stage.id, item.round, person.name) not in item.shown:
                        return item, place
                    lapsed = lapsed or (item, place)
    return lapsed


def _too_few_to_train(stage: Stage, present: int) -> str:
    return (
        f"'{stage.title}' needs {stage.sample} items with known answers for a round, but there "
        f"are {present}"
    )


def next_training_item(change: Change, person: Person, stage: Stage) -> Assignment:
    """Return the next item of a person's training round; a new round is drawn if none is open."""
    state = change.state
    trainee = state.trainee(person.name, stage.id)
    if not trainee.open:
        if not state.gold:
            raise NotAllowed(
                "there are no items with known answers to train on",
                hint="import training items, or mark the person as trained",
            )
        if len(state.gold) < stage.sample:
            raise NotAllowed(
                _too_few_to_train(stage, len(state.gold)), hint="import more training items"
            )
        names = sorted(state.gold)
        times = {n: sum(n in done for done in trainee.rounds) for n in names}
        # Items that the person has not seen yet come first, in random order.
        order = [names[int(i)] for i in change.rng.permutation(len(names))]
        chosen = sorted(order, key=times.__getitem__)[: stage.sample]
        number = len(trainee.rounds) + 1
        body = {"items": chosen}
        change.add("training-drawn", person.name, stage=stage.id, round=number, body=body)
        trainee = state.trainee(person.name, stage.id)
    return Assignment(trainee.open[0], stage.id, len(trainee.rounds), training=True)
