"""Who works on what: training, places, leases, and taking a decision back."""

import pytest
from review_acts import do, take_next

from contrafact.errors import InputError
from contrafact.review.answers import Assignment, Decision
from contrafact.review.assignment import (
    answer_training,
    people_needed,
    role_warnings,
    roles_in_words,
    staffing_problems,
)
from contrafact.review.discussion import say
from contrafact.review.events import NotAllowed
from contrafact.review.project import builtin_projects, load_project
from contrafact.review.setup import define_project, import_gold, import_items, set_roles
from contrafact.review.state import ReviewState
from contrafact.review.workflow import LEASE, answer, undo


def test_in_training_nobody_is_asked_to_say_why(office):
    made = office("judge-agreement", items=1, trained=False)
    asked = made.state.project.model_dump(mode="json")
    for question in asked["questions"]:
        question["comment_on"] = question["options"][:1]
    made.do(define_project, "Max", type(made.state.project).model_validate(asked))
    task = made.next("Cem")
    given = {"forward_compatibility": "true", "directionality": "true"}
    made.do(answer_training, "Cem", task, Decision(given))
    assert made.state.trainee("Cem", "training").rounds[0][task.item] is True
    made.do(set_roles, "Max", "Dia", ["annotator"], trained=True)
    with pytest.raises(InputError, match="needs a comment"):
        made.say("Dia", given)


def test_training_without_items_is_reported_and_can_be_passed_by(office):
    made = office("judge-agreement", items=1)
    made.do(set_roles, "Max", "Gus", ["annotator"])
    assert "need training" in staffing_problems(made.state)[0]
    with pytest.raises(NotAllowed, match="no items with known answers"):
        made.next("Gus")
    with pytest.raises(NotAllowed, match="is not answered"):
        made.do(import_gold, "Max", {"g": (made.team.item(1), {})})
    made.do(set_roles, "Max", "Gus", ["annotator"], trained=True)
    assert made.next("Gus").item == "i0"


def test_an_abandoned_item_goes_to_somebody_else(office):
    made = office("headline-screening", items=1)
    held = made.next("Cem")
    assert made.next("Cem") == held
    assert made.next("Dia") is None
    made.now += LEASE
    assert made.next("Dia").item == "i0"
    with pytest.raises(NotAllowed, match="went to somebody else"):
        made.do(answer, "Cem", Assignment("i0", "annotation", 1), Decision(made.event))


def test_shuffled_items_come_in_an_order_of_ones_own(office):
    made = office("cobe-rating", items=20)
    stage = made.state.project.stage("rating").model_copy(update={"shuffled": True})
    made.state.project = made.state.project.model_copy(update={"stages": (stage,)})
    given = {}
    for who in ("Cem", "Dia"):
        while made.next(who) is not None:
            given.setdefault(who, []).append(made.say(who, {"rating": "Yes"}).item)
    assert sorted(given["Cem"]) == sorted(given["Dia"]) == sorted(made.state.items)
    assert len({tuple(made.state.items), *map(tuple, given.values())}) == 3


def test_a_late_decision_is_taken_where_the_place_is_still_free(office):
    made = office("headline-screening", items=1)
    made.next("Cem")
    made.now += 2 * LEASE
    made.do(answer, "Cem", Assignment("i0", "annotation", 1), Decision(made.event))
    assert made.item().votes[0].who == "Cem"


def test_a_person_has_one_place_even_with_two_roles_for_it(rewritten):
    made = rewritten(("pass", "fail"))
    made.do(set_roles, "Max", "Ben", ["expert-b", "strict-annotator"])
    made.say("Ben", {"ruling_category": "true", "ruling_rewrite": "pass"})
    assert made.next("Ben") is None
    made.say("Eve", {"ruling_category": "true", "ruling_rewrite": "pass"})
    assert made.item().outcome == "final"


def test_too_few_people_are_reported_before_items_are_stuck(office):
    made = office()
    assert staffing_problems(made.state) == []
    made.do(set_roles, "Max", "Dia", ["annotator"], active=False)
    shown = staffing_problems(made.state)
    assert all(noun in shown[0] for noun in ("Independent annotation", "two annotators", "is one"))
    with pytest.raises(NotAllowed, match="'Dia'"):
        made.next("Dia")


def test_undo_stops_where_others_have_built_on_it(office):
    made = office("headline-screening")
    made.say("Cem", made.event, flagged=True, comment="is it news?")
    for who in ("Cem", "Dia", "Eve"):
        made.do(say, who, "i0", "It is.")
    assert made.next("Dia") is not None
    with pytest.raises(NotAllowed, match="others have already"):
        made.do(undo, "Cem")
    with pytest.raises(NotAllowed, match="you have no decision"):
        made.do(undo, "Eve")


def test_an_undo_never_takes_anybody_elses_decision_along(office):
    made = office("cobe-rating")
    for who in ("Cem", "Dia", "Eve"):
        made.say(who, {"rating": "Yes"})
    with pytest.raises(NotAllowed, match="others have already"):
        made.do(undo, "Cem")
    made.do(undo, "Eve")
    made.do(undo, "Cem")
    assert [vote.who for vote in made.item().votes] == ["Dia"]


def three(review_team, team):
    state = ReviewState(load_project("rfc-rewrite-three"))
    do(state, review_team.now, define_project, "Max", state.project)
    for who, roles in team.items():
        do(state, review_team.now, set_roles, "Max", who, roles)
    do(state, review_team.now, import_items, "Max", {"i0": review_team.item(0)})
    return state


@pytest.mark.parametrize(
    ("team", "message"),
    [
        (
            {"Ann": ["annotator"], "Bob": ["annotator", "adjudicator"]},
            "two annotators and one adjudicator have to be three people, but there are two people",
        ),
        (
            {"Ann": ["annotator"], "Bob": ["annotator"]},
            "needs one adjudicator",
        ),
        (
            {"Ann": ["annotator"], "Bob": ["annotator"], "Cy": ["annotator", "adjudicator"]},
            "nobody left to be its adjudicator, because Cy",
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
        given, _ = take_next(state, now, who, rng)
        sent = Decision(fine | {"rewrite_valid": verdict})
        do(state, now, answer, who, given, sent, rng=rng)
    assert state.items["i0"].stage == "arbitration"
    assert take_next(state, now, "Cy", rng)[0] is None
    with pytest.raises(NotAllowed, match="not assigned to you"):
        ruling = Decision({"ruling_category": "true", "ruling_rewrite": "pass"})
        do(state, now, answer, "Cy", Assignment("i0", "arbitration", 1), ruling, rng=rng)
    assert take_next(state, now, "Dee", rng)[0].stage == "arbitration"


@pytest.mark.parametrize(
    ("stage", "votes"),
    [("secondary-review", ("Ben", "Dia")), ("arbitration", ("Ada", "Dia"))],
)
def test_no_annotator_of_an_item_adjudicates_it_in_the_published_workflow(office, stage, votes):
    made = office()
    made.do(set_roles, "Max", "Dia", ["annotator", "strict-annotator", "expert-a"])
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
