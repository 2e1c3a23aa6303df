"""How headlines and edits end: verified windows, discussions, strict majorities."""

import pytest

from contrafact.errors import InputError


def test_a_verified_window_ends_by_what_was_annotated(office):
    made = office("headline-screening", items=2)
    first = made.say("Cem", made.event).item
    second = made.say("Dia", {"event_status": "false"}).item
    for _ in range(2):
        made.say("Fay", {"verified": "correct"})
    assert (made.item(first).outcome, made.item(second).outcome) == ("final", "removed")


@pytest.mark.parametrize(("voices", "outcome"), [(2, "final"), (1, "removed")])
def test_flagged_headlines_are_discussed_and_the_majority_decides(office, voices, outcome):
    made = office("headline-screening", items=1)
    made.say("Cem", made.event, flagged=True, comment="is it news?")
    assert made.item().stage == "discussion"
    for number, who in enumerate(("Cem", "Dia", "Eve")):
        made.say(who, made.event if number < voices else {"event_status": "false"})
    assert made.item().outcome == outcome


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        (("Yes", "Yes", "No"), "final"),
        (("No", "No", "No"), "final"),
        (("Yes", "No", "Other"), "hard case"),
        (("Other", "Other", "No"), "hard case"),
    ],
)
def test_a_strict_majority_of_three_rates_an_edit(office, votes, outcome):
    made = office("cobe-rating")
    with pytest.raises(InputError, match="needs a comment"):
        made.say("Cem", {"rating": "Other"})
    for who, vote in zip(("Cem", "Dia", "Eve"), votes, strict=True):
        made.say(who, {"rating": vote}, comment="so")
    assert made.item().outcome == outcome
    assert made.item().verdict == (votes[1] if outcome == "final" else None)
