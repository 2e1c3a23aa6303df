"""Whatever people do, in any order: the workflow's promises hold, in every built-in project."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from review_acts import do, take_next

from contrafact.errors import InputError
from contrafact.families.rfc.decisions import ReviewDecision, follow
from contrafact.review.answers import Decision
from contrafact.review.assignment import answer_training, staffing_problems
from contrafact.review.corrections import edit, reopen, retract, withdraw
from contrafact.review.discussion import say, under_discussion
from contrafact.review.export import decision_rows
from contrafact.review.project import OUTCOMES, builtin_projects, load_project
from contrafact.review.setup import define_project, import_items, set_roles
from contrafact.review.state import ReviewState, replay
from contrafact.review.workflow import LEASE, answer, settle, undo

TEXTS = st.sampled_from(["Sales at Birch Lane doubled.", "Sales at Birch Lane halved.", "Flat."])


class Machine(RuleBasedStateMachine):
    """Several people at once, who answer, abandon, come late, repeat themselves and undo."""

    team: Any
    project: str
    trained: bool

    def __init__(self) -> None:
        super().__init__()
        self.state = self.team.state(self.project, trained=self.trained)
        # What was before the first rule is rebuilt from the same start.
        self.start = self.team.state(self.project, trained=self.trained)
        self.now = self.team.now
        self.rng = self.team.rng(7)
        self.log: list[Any] = []
        self.screens: dict[str, Any] = {}
        self.shown: Counter[Any] = Counter()
        self.answered: Counter[Any] = Counter()
        self.decisions: dict[int, Any] = {}
        self.imported = 0

    def take(self, events: list[Any]) -> None:
        self.log += events
        for event in events:
            key = (event.item, event.stage, event.round, event.who)
            if event.kind == "assigned":
                assert not self.answered[key], "an item came again to one who had decided on it"
            elif event.kind == "answered":
                self.answered[key] += 1
                assert self.answered[key] == 1, "one person decided twice on one item in one stage"
                self.decisions[event.seq] = key
            elif event.kind == "undone":
                self.answered[key] -= 1
            elif event.kind == "corrected" and "answer" in event.body:
                for seq in event.body["set_aside"]:
                    self.answered[self.decisions[seq]] -= 1

    def act(self, action: Any, *arguments: Any, **options: Any) -> list[Any] | None:
        """Let an action change the review; None where it is refused, and nothing is changed."""
        before = self.state.seq
        try:
            events = do(self.state, self.now, action, *arguments, rng=self.rng, **options)
        except InputError:
            assert self.state.seq == before, "a refusal changed something"
            return None
        self.take(events)
        return events

    @initialize(n=st.integers(1, 6), seed=st.integers(0, 999))
    def begin(self, n: int, seed: int) -> None:
        self.rng = self.team.rng(seed)
        self.bring(n)

    @rule(n=st.integers(1, 3))
    @precondition(lambda self: self.imported < 12)
    def bring(self, n: int) -> None:
        new = {f"i{k}": self.team.item(k) for k in range(self.imported, self.imported + n)}
        self.imported += n
        assert self.act(import_items, "Max", new)

    @rule(data=st.data())
    def ask(self, data: Any) -> None:
        who = data.draw(st.sampled_from(sorted(self.state.people)))
        self.next(who)

    def next(self, who: str) -> Any:
        assignment, events = take_next(self.state, self.now, who, self.rng)
        self.take(events)
        if assignment is not None:
            self.screens[who] = assignment
        return assignment

    @rule(data=st.data(), flagged=st.booleans(), text=TEXTS)
    @precondition(lambda self: self.screens)
    def decide(self, data: Any, flagged: bool, text: str) -> None:
        who = data.draw(st.sampled_from(sorted(self.screens)))

        def pick(options: tuple[str, ...]) -> str:
            return data.draw(st.sampled_from(options))

        self.submit(who, pick, flagged and data.draw(st.booleans()), text)

    def submit(self, who: str, pick: Any, flagged: bool, text: str) -> None:
        screen = self.screens[who]
        answers = self.team.answers(self.state.project, screen.stage, pick)
        if screen.training:
            assert self.act(answer_training, who, screen, Decision(answers)) is not None
            return
        corrects = self.state.project.stage(screen.stage).corrects
        shown: dict[str, Any] = {"flagged": flagged, "comment": "so it seems"}
        if corrects and corrects.on in answers.values():
            shown["correction"] = text
        sent = (answer, who, screen, Decision(answers, **shown))
        if self.act(*sent) is not None:
            seq = self.state.seq
            assert self.act(*sent) == [], "a repeated submit changed something"
            assert self.state.seq == seq

    @rule(data=st.data())
    def take_back(self, data: Any) -> None:
        who = data.draw(st.sampled_from(sorted(self.state.people)))
        if events := self.act(undo, who):
            assert self.state.in_hand[who] == events[0].item, "what is undone is asked again"

    @rule(data=st.data(), out=st.booleans())
    @precondition(lambda self: self.imported)
    def correct(self, data: Any, out: bool) -> None:
        item = data.draw(st.sampled_from(sorted(self.state.items)))
        stages = [s.id for s in self.state.project.flow if not s.barrier]
        about = ("Max", item, "a slip")
        if out:
            if self.act(withdraw, *about):
                assert self.state.items[item].outcome == "removed"
            return
        stage = data.draw(st.sampled_from(stages))
        if self.act(reopen, *about, stage):
            assert self.state.items[item].stage == stage

    @rule(data=st.data(), text=TEXTS)
    def speak(self, data: Any, text: str) -> None:
        who = data.draw(st.sampled_from(sorted(self.state.people)))
        for item in under_discussion(self.state, self.state.people[who]):
            assert self.act(say, who, item.id, text)

    @rule(data=st.data(), text=TEXTS)
    @precondition(lambda self: self.imported)
    def rewrite(self, data: Any, text: str) -> None:
        item = data.draw(st.sampled_from(sorted(self.state.items)))
        field = data.draw(st.sampled_from(self.state.project.show))
        events = self.act(edit, "Max", item, "a slip", {field: text})
        if events is None:
            return
        found = self.state.items[item]
        assert found.fields[field] == text
        if events:
            assert found.stage == self.state.project.start.id
            kinds = {self.state.project.stage(v.stage).kind for v in found.votes}
            assert kinds <= {"audit"}, "a decision on another text still counts"

    @rule(data=st.data())
    @precondition(lambda self: any(item.votes for item in self.state.items.values()))
    def take_one_back(self, data: Any) -> None:
        judged = sorted(name for name, item in self.state.items.items() if item.votes)
        item = data.draw(st.sampled_from(judged))
        vote = data.draw(st.sampled_from(self.state.items[item].votes))
        same = [
            v.seq
            for v in self.state.items[item].votes
            if (v.stage, v.round) == (vote.stage, vote.round) and v is not vote
        ]
        if self.act(retract, "Max", item, "a slip", vote.seq) is None:
            return
        found = self.state.items[item]
        assert found.stage == vote.stage and found.round == vote.round
        assert [v.seq for v in found.here()] == same, "others' decisions of the round stand"
        assert not found.slots[vote.slot].filled

    @rule(minutes=st.sampled_from([1, 20, 31, 2000, 3000]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        assert self.act(settle) is not None

    @rule(data=st.data())
    def hurry(self, data: Any) -> None:
        barriers = [s.id for s in self.state.project.flow if s.barrier]
        if barriers:
            self.act(settle, force=data.draw(st.sampled_from(barriers)))

    @invariant()
    def no_place_has_two_people(self) -> None:
        for item in self.state.items.values():
            here = [
                slot.person
                for slot in item.slots
                if slot.person and (slot.filled or slot.until > self.now)
            ]
            assert len(here) == len(set(here)), "one person has two places of one item"
            places = [(v.stage, v.round, v.slot) for v in item.votes]
            assert len(places) == len(set(places)), "two people filled one place"

    @invariant()
    def an_end_is_an_end_and_only_an_end(self) -> None:
        for item in self.state.items.values():
            assert (item.outcome in OUTCOMES) != (item.stage is not None)
            at = [stage for stage, ids in self.state.at.items() if item.id in ids]
            assert at == ([item.stage] if item.stage else [])

    @invariant()
    def nothing_is_final_with_an_open_disagreement(self) -> None:
        for item in self.state.items.values():
            if item.outcome != "final":
                continue
            voters = [v for v in item.votes if self.state.project.stage(v.stage).kind != "audit"]
            last = [v for v in voters if (v.stage, v.round) == (voters[-1].stage, voters[-1].round)]
            shown = Counter(v.ballot.verdict for v in last).most_common(1)[0]
            assert 2 * shown[1] > len(last), "the last who looked at it did not agree"
            assert len(last) == len(self.state.project.stage(last[0].stage).roles)
            if any(rule.flagged for rule in self.state.project.stage(last[0].stage).rules):
                assert not any(v.ballot.flagged for v in last), "a flag was passed over"
            for question in self.state.project.questions:
                said = Counter(v.ballot.answers.get(question.id) for v in last)
                asked = len(last) - said.pop(None, 0)
                if question.options and 2 * asked > len(last):
                    agreed = 2 * said.most_common(1)[0][1] > len(last)
                    assert agreed, f"no answer to {question.id} is the majority's"
            after = [v for v in item.votes if v.seq > last[-1].seq]
            assert all(v.ballot.verdict in ("pass", "correct") for v in after)

    @invariant()
    def people_see_nothing_while_they_judge_blind(self) -> None:
        for item in self.state.items.values():
            for vote in item.votes:
                assert vote.who in {
                    who
                    for stage, round_, who in item.shown
                    if (stage, round_) == (vote.stage, vote.round)
                }

    def teardown(self) -> None:
        """None is stuck: a team that now works steadily brings every item to an end."""
        if not self.imported:
            return
        assert staffing_problems(self.state) == []
        self.check_history()
        for turn in range(60 * (self.imported + 5)):
            if all(item.outcome for item in self.state.items.values()):
                break
            idle = True
            for who in self.state.people:
                self.speak_to_all(who)
                if self.next(who) is not None:
                    idle = False
                    # At first they differ, flag and correct; then settle on the first answer.
                    wild = turn < 15
                    flagged = wild and self.rng.random() < 0.2
                    self.submit(who, self.any if wild else self.first, flagged, f"Turn {turn}.")
                    self.nothing_is_final_with_an_open_disagreement()
                    self.no_place_has_two_people()
            if idle:
                self.now += LEASE
        stuck = {i.id: i.stage for i in self.state.items.values() if i.outcome is None}
        assert not stuck, f"stuck: {stuck}"
        self.check_history()

    def speak_to_all(self, who: str) -> None:
        for item in under_discussion(self.state, self.state.people[who]):
            place = (item.stage, item.round)
            if who not in {r.who for r in item.thread if (r.stage, r.round) == place}:
                assert self.act(say, who, item.id, "So it seems.")

    def any(self, options: tuple[str, ...]) -> str:
        return options[int(self.rng.integers(len(options)))]

    @staticmethod
    def first(options: tuple[str, ...]) -> str:
        return options[0]

    def check_history(self) -> None:
        for event in self.log:
            if event.seq > self.start.seq:
                self.start.apply(event)
        for name in ("seq", "people", "items", "at", "batches", "trainees", "in_hand", "last"):
            assert getattr(self.start, name) == getattr(self.state, name), name


CASES = [(name, True) for name in builtin_projects()]
CASES += [(name, False) for name in ("headline-screening", "judge-agreement")]


@pytest.mark.parametrize(("project", "trained"), CASES)
def test_whatever_people_do_the_promises_hold(project, trained, review_team):
    class Own(Machine):
        pass

    Own.team, Own.project, Own.trained = review_team, project, trained
    run_state_machine_as_test(
        Own,
        settings=settings(
            max_examples=20,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@given(st.sampled_from(["rfc-rewrite", "rfc-rewrite-three"]), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_replay_of_what_people_decided_ends_where_their_review_did(office, name, random):
    made = office(name, items=6)

    def say(who, stage):
        # The first answer is the better one, and is likely: not every batch comes back.
        likely = 0.95 if stage == "audit" else 0.6
        answers = made.team.answers(
            made.state.project,
            stage,
            lambda options: options[0] if random.random() < likely else random.choice(options),
        )
        new = f"Text {random.random()}." if "revise" in answers.values() else None
        flagged = random.random() < 0.1
        made.say(who, answers, comment="So it is.", flagged=flagged, correction=new)

    for _ in range(40):
        for who in list(made.state.people):
            while (given := made.next(who)) is not None:
                say(who, given.stage)
    decided = {item: [] for item in made.state.items}
    for row in decision_rows(made.state):
        given = {name: value for name, value in row.items() if value is not None}
        decided[row["item_id"]].append(ReviewDecision.model_validate(given))
    for item in made.state.items.values():
        fate = follow(decided[item.id])
        assert {"retained": "final"}.get(fate.state, fate.state) == item.outcome
        if item.outcome == "final" and fate.rewritten is not None:
            assert fate.rewritten == item.fields["rewritten"]


def test_a_history_rebuilds_its_state_and_a_damaged_one_is_refused(review_team):
    project = load_project("cobe-rating")
    state = ReviewState(project)
    log = do(state, review_team.now, define_project, "Max", project)
    log += do(state, review_team.now, set_roles, "Max", "Cem", ["rater"])
    log += do(state, review_team.now, import_items, "Max", {"i1": review_team.item(1)})
    rebuilt = replay(log)
    assert (rebuilt.items, rebuilt.people, rebuilt.seq) == (state.items, state.people, 3)
    with pytest.raises(ValueError, match="does not follow"):
        replay([log[0], log[2]])
    with pytest.raises(ValueError, match="does not begin with"):
        replay(log[1:])
