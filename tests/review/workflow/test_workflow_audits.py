"""Samples that are looked at again: their sizes, and what falls short."""

from datetime import timedelta

import pytest

from contrafact.review.project import load_project
from contrafact.review.workflow import audit_rows, draw_sample, settle, shortfall


def test_an_audit_that_falls_short_returns_its_whole_batch(office):
    made = office(items=8)
    for _ in range(8):
        made.say("Ada", {"review": "pass"})
    batch = made.state.batches["audit-1"]
    assert len(batch.drawn) == 4 and set(batch.drawn.values()) == {0.5}
    verdicts = ["pass", "pass", "pass", "fail"]
    for verdict in verdicts:
        assert {item.stage for item in made.state.items.values()} == {"audit"}
        made.say("Ben", {"audit": verdict}, comment="because")
    assert batch.result == "returned"
    assert {(i.stage, i.round) for i in made.state.items.values()} == {("expert-review", 2)}
    assert "under 80%" in made.item().why and "0 of 1" in made.item().why
    for _ in range(8):
        made.say("Ada", {"review": "pass"})
    for _ in verdicts:
        made.say("Ben", {"audit": "pass"})
    assert {item.stage for item in made.state.items.values()} == {"annotation"}
    assert made.state.batches["audit-2"].result == "passed"


def test_samples_are_the_published_sizes_and_carry_their_probabilities(review_team):
    """Table 2: 10% or 15% of each category, rounded down; only flipping has a remainder more."""
    stage = load_project("rfc-rewrite").stage("audit")
    sizes = {"flipping": 557, "numerical": 775, "sentiment": 315, "causal": 395}
    strata = {f"{name}{n}": name for name, size in sizes.items() for n in range(size)}
    drawn = draw_sample(stage, strata, review_team.rng())
    rows = {row.stratum: row for row in audit_rows(stage, strata, dict.fromkeys(drawn, "pass"))}
    assert {name: rows[name].sample for name in sizes} == {
        "flipping": 55,
        "numerical": 77,
        "sentiment": 47,
        "causal": 59,
    }
    assert drawn.keys() != draw_sample(stage, strata, review_team.rng(1)).keys()
    for name, size in sizes.items():
        own = {p for item, p in drawn.items() if strata[item] == name}
        assert own == {rows[name].sample / size}


@pytest.mark.parametrize(
    ("failed", "short"), [(0, False), (2, False), (3, True)], ids=["none", "5%", "over 5%"]
)
def test_over_five_percent_errors_send_a_window_back(failed, short):
    stage = load_project("headline-screening").stage("verification")
    strata = {f"h{n}": ("Cem", "Dia")[n % 2] for n in range(40)}
    verdicts = {f"h{n}": "incorrect" if n < failed else "correct" for n in range(40)}
    assert (shortfall(stage, audit_rows(stage, strata, verdicts)) is not None) == short


def screened(office, hours=0):
    made = office("headline-screening", items=8)
    for who in ("Cem", "Dia") * 2:
        made.say(who, made.event)
    made.now += timedelta(hours=hours)
    settle(made.state, made.now, made.rng)
    return made


def test_a_quarter_of_each_annotators_headlines_is_verified_every_two_days(office):
    assert screened(office, hours=47).state.batches == {}
    made = screened(office, hours=49)
    batch = made.state.batches["verification-1"]
    assert sorted(batch.strata[item] for item in batch.drawn) == ["Cem", "Dia"]
    assert set(batch.drawn.values()) == {0.5}


def test_one_wrong_of_two_has_the_window_annotated_again(office):
    made = screened(office, hours=49)
    made.say("Fay", {"verified": "correct"})
    made.say("Fay", {"verified": "incorrect"}, comment="is an opinion")
    window = made.state.batches["verification-1"].members
    assert {(made.item(n).stage, made.item(n).round) for n in window} == {("annotation", 2)}
