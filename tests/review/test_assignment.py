"""Who works on what: training, places, leases, and taking a decision back."""

import pytest

from contrafact.errors import InputError
from contrafact.review.assignment import answer_training, staffing_problems
from contrafact.review.setup import define_project, import_gold, set_roles
from contrafact.review.state import NotAllowed
from contrafact.review.workflow import LEASE, answer, undo


def test_nobody_works_before_they_reach_the_threshold_in_training(office, review_team):
    made = office("judge-agreement", items=1, trained=False)
    right = {"forward_compatibility": "true", "directionality": "true"}
    seen = []
    for number, given in enumerate([{**right, "directionality": "false"}, *[right] * 5]):
        task = made.next("Cem")
        assert task.training and task.round == 1 + number // 3
        seen.append(task.item)
        answer_training(made.state, "Cem", task.item, task.stage, task.round, given, now=made.now)
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
    answer_training(made.state, "Cem", task.item, task.stage, task.round, given, now=made.now)
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
        answer(made.state, "Cem", "i0", "annotation", 1, made.event, now=made.now, rng=made.rng)


def test_a_late_decision_is_taken_where_the_place_is_still_free(office):
    made = office("headline-screening", items=1)
    made.next("Cem")
    made.now += 2 * LEASE
    answer(made.state, "Cem", "i0", "annotation", 1, made.event, now=made.now, rng=made.rng)
    assert made.item().votes[0].who == "Cem"


def test_a_person_has_one_place_even_with_two_roles_for_it(rewritten):
    made = rewritten(("pass", "fail"))
    set_roles(made.state, "Ben", ["expert-b", "strict-annotator"], "Max", made.now)
    made.say("Ben", {"ruling": "pass"})
    assert made.next("Ben") is None
    made.say("Eve", {"ruling": "pass"})
    assert made.item().outcome == "final"


def test_too_few_people_are_reported_before_items_are_stuck(office):
    made = office()
    assert staffing_problems(made.state) == []
    set_roles(made.state, "Dia", ["annotator"], "Max", made.now, active=False)
    shown = staffing_problems(made.state)
    assert "'annotation' needs 2 people in the role 'annotator'" in shown[0]
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
    made.next("Dia")
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
