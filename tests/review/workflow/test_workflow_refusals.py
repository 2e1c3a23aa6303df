"""What the workflow refuses, and what it lets change under way."""

import pytest

from contrafact.errors import InputError
from contrafact.review.setup import define_project, import_items
from contrafact.review.state import NotAllowed
from contrafact.review.workflow import answer


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answers": {"rating": "Perhaps"}}, "'Perhaps' is no answer"),
        ({"answers": {}}, "'rating' is not answered"),
        ({"answers": {"rating": "Yes", "mood": "good"}}, "'mood' is not asked"),
        ({"item": "i9"}, "there is no item 'i9'"),
        ({"stage": "tasting"}, "there is no stage 'tasting'"),
        ({"round_": 2}, "has gone on"),
        ({"who": "Dia"}, "is not yours"),
        ({"who": "Zoe"}, "is not yours"),
        ({"correction": "New."}, "a new text does not go with"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(office, change, told):
    made = office("cobe-rating")
    made.next("Cem")
    seq = made.state.seq
    right = {"who": "Cem", "item": "i0", "stage": "rating", "round_": 1}
    given = right | {"answers": {"rating": "Yes"}} | change
    with pytest.raises(InputError, match=told):
        answer(made.state, **given, now=made.now, rng=made.rng)
    assert made.state.seq == seq


def test_guidelines_may_change_under_way_and_votes_say_which_were_read(office):
    made = office("cobe-rating")
    made.say("Cem", {"rating": "Yes"})
    project = made.state.project
    clearer = project.model_copy(update={"guidelines": "Judge the edit alone."})
    define_project(made.state, clearer, "Max", made.now)
    made.say("Dia", {"rating": "Yes"})
    read = [vote.guidelines_version for vote in made.item().votes]
    assert read == [project.guidelines_version, clearer.guidelines_version]
    assert read[0] != read[1]
    stricter = project.model_copy(
        update={"stages": (project.stages[0].model_copy(update={"roles": ("rater",) * 5}),)}
    )
    with pytest.raises(NotAllowed, match="do not change once it is under way"):
        define_project(made.state, stricter, "Max", made.now)


def test_items_are_imported_once_and_never_under_a_name_that_is_taken(office, review_team):
    made = office("cobe-rating")
    assert import_items(made.state, {"i0": review_team.item(0)}, "Max", made.now) == []
    with pytest.raises(NotAllowed, match="another item 'i0'"):
        import_items(made.state, {"i0": review_team.item(1)}, "Max", made.now)
    bare = {key: text for key, text in review_team.item(2).items() if key != "edit"}
    with pytest.raises(NotAllowed, match="item i2 has no 'edit'"):
        import_items(made.state, {"i2": bare}, "Max", made.now)
