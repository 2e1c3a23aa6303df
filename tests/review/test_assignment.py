"""Who works on what: training, places, leases, and taking a decision back."""

import pytest

from contrafact.errors import InputError
from contrafact.review.answers import Assignment, Decision
from contrafact.review.assignment import (
    answer_training,
    assign,
    people_needed,
    role_warnings,
    roles_in_words,
    staffing_problems,
)
from contrafact.review.corrections import reserve
from contrafact.review.discussion import NewRemark, say
from contrafact.review.events import NotAllowed
from contrafact.review.project import builtin_projects, load_project
from contrafact.review.setup import define_project, import_gold, import_items, set_roles
from contrafact.review.state import ReviewState
from contrafact.review.workflow import LEASE, answer, undo


def test_nobody_works_before_they_reach_the_threshold_in_training(office, review_team):
    made = office("judge-agreement", items=1, trained=False)
    right = {"forward_compatibility": "true", "directionality": "true"}
    seen = []
    for number, given in enumerate([{**right, "directionality": "false"}, *[right] * 5]):
        task = made.next("Cem")
        assert task.training and task.round == 1 + number // 3
        seen.append(task.item)
        answer_training(
            made.state,
            "Cem",
            task,
            Decision(given),
            made.now,
        )
    assert set(seen[:3]) == set(seen[3:]) == set(made.state.gold)
    assert made.state.trainee("Cem", "training").passed
    assert not made.next("Cem").training
    assert made.next("Dia").training


def test_in_training_nobody_is_asked_to_say_why(office):
    made = office("judge-agreement", items=1, trained=False)
    asked = made.state.project.model_dump(mode="json")
    for question in asked["questions"]:
        question["comment_on"] = question["options"][:1]
    define_project(made.state, type(made.state.project).model_validate(asked), "Max", made.now)
    task = made.next("Cem")
    given = {"forward_compatibility": "true", "directionality": "true"}
    answer_training(
        made.state,
        "Cem",
        task,
        Decision(given),
        made.now,
    )
    assert made.state.trainee("Cem", "training").rounds[0][task.item] is True
    set_roles(made.state, "Dia", ["annotator"], "Max", made.now, trained=True)
    with pytest.raises(InputError, match="needs a comment"):
        made.say("Dia", given)


def test_training_without_items_is_reported_and_can_be_passed_by(office):
    made = office("judge-agreement", items=1)
    set_roles(made.state, "Gus", ["annotator"], "Max", made.now)
    assert "need training" in staffing_problems(made.state)[0]
    with pytest.raises(NotAllowed, match="no items with known answers"):
        made.next("Gus")
    with pytest.raises(NotAllowed, match="is not answered"):
        import_gold(made.state, {"g": (made.team.item(1), {})}, "Max", made.now)
    set_roles(made.state, "Gus", ["annotator"], "Max", made.now, trained=True)
    assert made.next("Gus").item == "i0"


def test_an_abandoned_item_goes_to_somebody_else(office):
    made = office("headline-screening", items=1)
    held = made.next("Cem")
    assert made.next("Cem") == held
    assert made.next("Dia") is None
    made.now += LEASE
    assert made.next("Dia").item == "i0"
    with pytest.raises(NotAllowed, match="went to somebody else"):
        answer(
            made.state,
            "Cem",
            Assignment("i0", "annotation", 1),
            Decision(made.event),
            now=made.now,
            rng=made.rng,
        )


def test_assigned_items_come_first_to_one_person_and_last_to_others(office):
    made = office("headline-screening", items=4)

    def give(item, person):
        reserve(made.state, "Max", item, person, made.now)

    give("i2", "Cem")
    give("i0", "Dia")
    assert made.next("Cem").item == "i2"
    made.say("Cem", made.event)
    # What is for somebody else comes when there is nothing else, and never not at all.
    order = []
    while (held := made.next("Cem")) is not None:
        order.append(held.item)
        made.say("Cem", made.event)
    assert order == ["i1", "i3", "i0"]
    with pytest.raises(NotAllowed, match="nobody decides on 'i1' now"):
        give("i1", "Cem")
    with pytest.raises(NotAllowed, match="nobody named 'Nobody'"):
        give("i0", "Nobody")
    with pytest.raises(NotAllowed, match="there is no item 'i9'"):
        give("i9", "Dia")


def test_an_assigned_item_is_free_again_when_it_is_for_nobody_or_goes_on(office):
    made = office("headline-screening", items=3)
    for item in ("i1", "i2"):
        assert reserve(made.state, "Max", item, "Dia", made.now)
        assert reserve(made.state, "Max", item, "Dia", made.now) == []
    assert made.next("Dia").item == "i1"
    made.say("Dia", made.event)
    reserve(made.state, "Max", "i2", None, made.now)
    assert made.state.reserved == {} and made.next("Cem").item == "i0"


def test_a_late_decision_is_taken_where_the_place_is_still_free(office):
    made = office("headline-screening", items=1)
    made.next("Cem")
    made.now += 2 * LEASE
    answer(
        made.state,
        "Cem",
        Assignment("i0", "annotation", 1),
        Decision(made.event),
        now=made.now,
        rng=made.rng,
    )
    assert made.item().votes[0].who == "Cem"


def test_a_person_has_one_place_even_with_two_roles_for_it(rewritten):
    made = rewritten(("pass", "fail"))
    set_roles(made.state, "Ben", ["expert-b", "strict-annotator"], "Max", made.now)
    made.say("Ben", {"ruling_category": "true", "ruling_rewrite": "pass"})
    assert made.next("Ben") is None
    made.say("Eve", {"ruling_category": "true", "ruling_rewrite": "pass"})
    assert made.item().outcome == "final"


def test_too_few_people_are_reported_before_items_are_stuck(office):
    made = office()
    assert staffing_problems(made.state) == []
    set_roles(made.state, "Dia", ["annotator"], "Max", made.now, active=False)
    shown = staffing_problems(made.state)
    assert "'Independent annotation' needs two annotators, and there is one annotator" in shown[0]
    with pytest.raises(NotAllowed, match="nobody named 'Dia'"):
        made.next("Dia")


def test_what_was_undone_can_be_decided_otherwise(office):
    made = office(items=2)
    first = made.say("Ada", {"review": "remove"}, comment="dull").item
    assert made.item(first).outcome == "removed"
    undo(made.state, "Ada", made.now)
    assert (made.item(first).stage, made.item(first).outcome) == ("expert-review", None)
    assert made.next("Ada").item == first
    made.say("Ada", {"review": "pass"})
    assert made.item(first).stage == "audit"


def test_undo_stops_where_others_have_built_on_it(office):
    made = office("headline-screening")
    made.say("Cem", made.event, flagged=True, comment="is it news?")
    for who in ("Cem", "Dia", "Eve"):
        say(made.state, who, NewRemark("i0", "It is."), made.now)
    assert made.next("Dia") is not None
    with pytest.raises(NotAllowed, match="others have gone on"):
        undo(made.state, "Cem", made.now)
    with pytest.raises(NotAllowed, match="no decision of yours"):
        undo(made.state, "Eve", made.now)


def test_an_undo_never_takes_anybody_elses_decision_along(office):
    made = office("cobe-rating")
    for who in ("Cem", "Dia", "Eve"):
        made.say(who, {"rating": "Yes"})
    with pytest.raises(NotAllowed, match="others have gone on"):
        undo(made.state, "Cem", made.now)
    undo(made.state, "Eve", made.now)
    undo(made.state, "Cem", made.now)
    assert [vote.who for vote in made.item().votes] == ["Dia"]


def three(review_team, team):
    state = ReviewState(load_project("rfc-rewrite-three"))
    define_project(state, state.project, "Max", review_team.now)
    for who, roles in team.items():
        set_roles(state, who, roles, "Max", review_team.now)
    import_items(state, {"i0": review_team.item(0)}, "Max", review_team.now)
    return state


@pytest.mark.parametrize(
    ("team", "message"),
    [
        (
            {"Ann": ["annotator"], "Bob": ["annotator", "adjudicator"]},
            "two annotators and one adjudicator need three people, and there are two people: "
            "whoever took part in 'Independent annotation' of an item has no part in",
        ),
        (
            {"Ann": ["annotator"], "Bob": ["annotator"]},
            "needs one adjudicator, and there are no adjudicators",
        ),
        (
            {"Ann": ["annotator"], "Bob": ["annotator"], "Cy": ["annotator", "adjudicator"]},
            "with nobody left to be its adjudicator, because Cy had another part in it",
        ),
    ],
)
def test_lack_of_people_is_told_in_plain_words(review_team, team, message):
    assert message in " ".join(staffing_problems(three(review_team, team)))
    enough = team | {"Dee": ["adjudicator"], "Eva": ["annotator"]}
    state = three(review_team, enough)
    assert staffing_problems(state) == []
    both = state.people.get("Cy") or state.people["Bob"]
    warned = role_warnings(state.project, both)
    assert bool(warned) == ({"annotator", "adjudicator"} <= set(both.roles))
    assert not role_warnings(state.project, state.people["Ann"])


def test_nobody_rules_on_what_they_annotated(review_team):
    team = {"Ann": ["annotator"], "Cy": ["annotator", "adjudicator"], "Dee": ["adjudicator"]}
    state, now, rng = three(review_team, team), review_team.now, review_team.rng()
    fine = {"category_correct": "true", "rewrite_valid": "pass"}
    for who, verdict in (("Cy", "pass"), ("Ann", "fail")):
        given, _ = assign(state, who, now, rng)
        sent = Decision(fine | {"rewrite_valid": verdict})
        answer(state, who, given, sent, now=now, rng=rng)
    assert state.items["i0"].stage == "arbitration"
    assert assign(state, "Cy", now, rng)[0] is None
    with pytest.raises(NotAllowed, match="not yours"):
        answer(
            state,
            "Cy",
            Assignment("i0", "arbitration", 1),
            Decision({"ruling_category": "true", "ruling_rewrite": "pass"}),
            now=now,
            rng=rng,
        )
    assert assign(state, "Dee", now, rng)[0].stage == "arbitration"


@pytest.mark.parametrize(
    ("stage", "votes"),
    [("secondary-review", ("Ben", "Dia")), ("arbitration", ("Ada", "Dia"))],
)
def test_no_annotator_of_an_item_adjudicates_it_in_the_published_workflow(office, stage, votes):
    made = office()
    set_roles(made.state, "Dia", ["annotator", "strict-annotator", "expert-a"], "Max", made.now)
    made.say("Ada", {"review": "pass"})
    made.say("Ben", {"audit": "pass"})
    for who, verdict in (("Cem", "pass"), ("Dia", "fail")):
        made.say(who, made.annotated[verdict])
    assert made.item().stage == "secondary-review"
    assert made.next("Dia") is None
    if stage == "arbitration":
        for who, ruling in (("Ben", "pass"), ("Eve", "fail")):
            made.say(who, {"ruling_category": "true", "ruling_rewrite": ruling}, comment="so")
        assert made.item().stage == "arbitration"
        assert made.next("Dia") is None
    assert made.next(votes[0]).stage == stage


def test_how_many_people_a_project_needs_is_known_before_it_opens():
    needs = {name: people_needed(load_project(name)) for name in builtin_projects()}
    assert needs["rfc-rewrite-three"] == ({"annotator": 2, "adjudicator": 1}, 3)
    assert needs["rfc-rewrite"][1] == 5
    assert needs["headline-screening"] == ({"annotator": 3, "verifier": 1}, 3)
    assert needs["cobe-rating"] == ({"rater": 3}, 3)
    assert roles_in_words({"annotator": 2, "adjudicator": 1}) == (
        "two annotators and one adjudicator"
    )
