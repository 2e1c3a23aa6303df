"""The workflow: where items go by people's decisions, audits, and what is refused."""

from datetime import timedelta

import pytest
from review_acts import do, take_next

from contrafact.errors import InputError
from contrafact.family.review import Rule
from contrafact.review.answers import Decision
from contrafact.review.discussion import say, thread
from contrafact.review.events import NotAllowed
from contrafact.review.export import decision_rows
from contrafact.review.project import load_project, parse_project
from contrafact.review.setup import define_project, import_items, set_roles
from contrafact.review.state import ReviewState
from contrafact.review.workflow import (
    agreed_answers,
    answer,
    audit_rows,
    draw_sample,
    settle,
    shortfall,
    undo,
)


@pytest.mark.parametrize(
    ("votes", "stage", "outcome"),
    [
        (("pass", "pass"), None, "final"),
        (("mis-category", "mis-category"), None, "removed"),
        (("fail", "fail"), "revision", None),
        (("fail", "mis-category"), "revision", None),
        (("pass", "fail"), "secondary-review", None),
        (("mis-category", "pass"), "secondary-review", None),
    ],
)
def test_what_two_annotators_say_decides_where_a_rewrite_goes(rewritten, votes, stage, outcome):
    made = rewritten(votes)
    assert (made.item().stage, made.item().outcome) == (stage, outcome)


def test_a_correction_is_what_everybody_sees_from_then_on(office):
    made = office()
    with pytest.raises(InputError, match="needs a new text"):
        made.say("Ada", {"review": "revise"})
    with pytest.raises(InputError, match="equals the old one"):
        made.say("Ada", {"review": "revise"}, correction=made.item().fields["rewritten"])
    old = made.item().text_version
    made.say("Ada", {"review": "revise"}, correction="Shares of Alder Works sank 0%.")
    assert made.item().fields["rewritten"] == "Shares of Alder Works sank 0%."
    assert made.item().votes[0].text_version == old != made.item().text_version
    assert made.item().imported["rewritten"] != made.item().fields["rewritten"]


def test_what_is_revised_and_failed_again_is_removed(rewritten):
    made = rewritten(("fail", "fail"))
    assert made.item().stage == "revision"
    made.say("Ada", {"revision": "revise"}, correction="A new text of Alder Works.")
    for who in ("Cem", "Dia"):
        made.say(who, made.annotated["fail"])
    assert made.item().why == "failed by all, revised or not"
    assert made.item().outcome == "removed"


@pytest.mark.parametrize(
    ("rulings", "arbiter", "outcome"),
    [
        (("pass", "pass"), None, "final"),
        (("fail", "fail"), None, "removed"),
        (("pass", "fail"), "pass", "final"),
        (("pass", "unresolved"), "fail", "removed"),
        (("unresolved", "unresolved"), "unresolved", "hard case"),
    ],
)
def test_a_dispute_is_adjudicated_and_then_arbitrated(rewritten, rulings, arbiter, outcome):
    made = rewritten(("pass", "fail"))
    for who, ruling in zip(("Ben", "Eve"), rulings, strict=True):
        assert made.item().outcome is None
        made.say(who, {"ruling_category": "true", "ruling_rewrite": ruling}, comment="so")
    if arbiter:
        assert made.item().stage == "arbitration"
        made.say("Ada", {"ruling_category": "true", "ruling_rewrite": arbiter}, comment="so")
    assert made.item().outcome == outcome


def test_a_flag_sends_a_rewrite_to_the_adjudicators_whatever_was_voted(office):
    made = office()
    made.say("Ada", {"review": "pass"})
    made.say("Ben", {"audit": "pass"})
    with pytest.raises(InputError, match="a flag needs a comment"):
        made.say("Cem", made.annotated["pass"], flagged=True)
    made.say("Cem", made.annotated["pass"], flagged=True, comment="is 'firm' a hedge?")
    made.say("Dia", made.annotated["pass"])
    assert made.item().stage == "secondary-review"


def test_what_the_auditor_passed_and_the_annotators_fail_is_in_dispute(office):
    made = office()
    made.say("Ada", {"review": "pass"})
    made.say("Ben", {"audit": "pass"})
    for who in ("Cem", "Dia"):
        made.say(who, made.annotated["fail"])
    assert made.item().stage == "secondary-review"


def test_the_disagreement_set_waits_until_it_is_complete(office):
    made = office(items=2)
    made.say_to_all("Ada", {"review": "pass"})
    made.say_to_all("Ben", {"audit": "pass"})
    first = made.say("Cem", made.annotated["pass"]).item
    assert made.say("Dia", made.annotated["fail"]).item == first
    assert made.item(first).stage == "disagreement"
    assert made.next("Eve") is None
    made.say("Cem", made.annotated["pass"])
    made.say("Dia", made.annotated["pass"])
    assert made.item(first).stage == "secondary-review"


def test_a_manager_need_not_wait_for_a_set(office):
    made = office(items=2)
    made.say_to_all("Ada", {"review": "pass"})
    made.say_to_all("Ben", {"audit": "pass"})
    made.say("Cem", made.annotated["pass"])
    made.say("Dia", made.annotated["fail"])
    made.do(settle, force="disagreement")
    assert made.next("Eve") is not None
    with pytest.raises(NotAllowed, match="no items wait"):
        made.do(settle, force="disagreement")
    with pytest.raises(NotAllowed, match="not a stage where items wait"):
        made.do(settle, force="annotation")


def up_for_discussion(office):
    made = office("headline-screening", items=1)
    made.say("Cem", made.event, flagged=True, comment="is it news?")
    assert made.item().stage == "discussion"
    return made


def speak(made, *people):
    for who in people:
        made.do(say, who, "i0", f"{who} thinks so")


@pytest.mark.parametrize(
    ("answers", "flagged", "outcome"),
    [("event", False, "final"), ("none", False, "removed"), ("event", True, "hard case")],
)
def test_a_group_discusses_and_one_of_them_records_what_it_decided(
    office, answers, flagged, outcome
):
    made = up_for_discussion(office)
    assert all(made.next(who) is None for who in ("Cem", "Dia", "Eve")), "it is discussed first"
    speak(made, "Cem", "Dia", "Dia")
    assert made.next("Cem") is None, "two of three have spoken"
    speak(made, "Eve")
    decided = made.event if answers == "event" else {"event_status": "false"}
    made.say("Dia", decided, flagged=flagged, comment="two of three")
    assert made.item().outcome == outcome
    assert made.item().votes[-1].group == ("Cem", "Dia", "Eve")
    row = decision_rows(made.state)[-1]
    assert (row["decided_by"], row["discussed_by"]) == ("Dia", ["Cem", "Dia", "Eve"])


def test_who_may_speak(office):
    made = up_for_discussion(office)
    made.do(say, "Dia", "i0", " It is. ", request="k")
    assert made.do(say, "Dia", "i0", "It is.", request="k") == []
    made.do(say, "Eve", "i0", "No.")
    assert [(by, text) for by, _, text in thread(made.item())] == [
        ("Comment with the vote “event”", "is it news?"), ("Dia", "It is."), ("Eve", "No."),
    ]  # fmt: skip
    for who, text, more in (
        ("Fay", "a verifier", {}), ("Nobody", "so", {}), ("Max", "a manager", {}),
        ("Cem", " ", {}), ("Cem", "x" * 10_001, {}), ("Cem", "so", {"request": "k"}),
    ):  # fmt: skip
        with pytest.raises(NotAllowed):
            made.do(say, who, "i0", text, **more)


def test_what_was_said_stays_when_the_decision_is_taken_back(office):
    made = up_for_discussion(office)
    speak(made, "Cem", "Dia", "Eve")
    made.say("Dia", made.event)
    made.do(undo, "Dia")
    assert made.item().stage == "discussion"
    assert [r.who for r in made.item().thread] == ["Cem", "Dia", "Eve"]
    made.say("Dia", {"event_status": "false"})
    assert made.item().outcome == "removed"


@pytest.mark.parametrize(
    ("categories", "outcome"),
    [((0, 1, 2), "hard case"), ((0, 1, 0), "final"), ((0, 1, None), "hard case")],
)
def test_no_headline_is_final_without_a_category(office, categories, outcome):
    made = office("headline-screening", items=0)
    project = load_project("headline-screening")
    voting = project.stage("annotation").model_copy(
        update={
            "roles": ("annotator",) * 3,
            "rules": (
                Rule(majority=("event",), to="final", why="the majority"),
                Rule(to="hard case", why="no majority"),
            ),
        }
    )
    made.state = ReviewState(project.model_copy(update={"stages": (voting,)}))
    made.do(define_project, "Max", made.state.project)
    for name in ("Cem", "Dia", "Eve"):
        made.do(set_roles, "Max", name, ["annotator"])
    made.do(import_items, "Max", {"i0": made.team.item(0)})
    names = made.state.project.question("market_category").options
    for who, place in zip(("Cem", "Dia", "Eve"), categories, strict=True):
        event = made.event | {"market_category": names[place or 0]}
        made.say(who, {"event_status": "false"} if place is None else event)
    assert made.item().outcome == outcome
    if outcome == "hard case":
        assert made.item().why == "no majority on market_category"
        assert agreed_answers(made.state.project, made.item())["market_category"] is None
        assert made.item().disputed


def test_an_open_answer_goes_to_whoever_settles_it(review_team):
    text = """
name = "tone"
title = "Tone"
show = ["text"]
guidelines = "Polite?"
questions = [
  { id = "polite", text = "Polite?", options = ["yes", "no"] },
  { id = "kind", text = "Which?", options = ["a", "b"], asked_when = { polite = "yes" } },
  { id = "note", text = "Why?", asked_when = { polite = "no" } },
]

[[stages]]
id = "first"
kind = "independent"
title = "First"
roles = ["r", "r"]
questions = ["polite", "kind", "note"]
verdict = "polite"
rules = [{ same = true, to = "final", why = "agreed" }, { to = "last", why = "in dispute" }]

[[stages]]
id = "last"
kind = "arbitration"
title = "Last"
roles = ["lead"]
questions = ["polite", "kind", "note"]
verdict = "polite"
rules = [{ to = "final", why = "decided" }]
"""
    state = ReviewState(parse_project(text, "tone"))
    now, rng = review_team.now, review_team.rng()
    do(state, now, define_project, "Max", state.project)
    for who, role in (("Cem", "r"), ("Dia", "r"), ("Ada", "lead")):
        do(state, now, set_roles, "Max", who, [role])
    do(state, now, import_items, "Max", {f"i{n}": {"text": f"t{n}"} for n in range(2)})

    def say(who, item, answers):
        given, _ = take_next(state, now, who, rng)
        assert given.item == item
        do(state, now, answer, who, given, Decision(answers), rng=rng)

    for who, kind in (("Cem", "a"), ("Dia", "b")):
        say(who, "i0", {"polite": "yes", "kind": kind})
        # What is written freely is never the same, and holds nothing up.
        say(who, "i1", {"polite": "no", "note": f"says {who}"})
    assert (state.items["i0"].stage, state.items["i0"].why) == ("last", "no majority on kind")
    assert state.items["i1"].outcome == "final"
    say("Ada", "i0", {"polite": "yes", "kind": "b"})
    assert state.items["i0"].outcome == "final"


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


def test_an_audit_that_falls_short_returns_its_whole_batch(office):
    made = office(items=8)
    made.say_to_all("Ada", {"review": "pass"})
    batch = made.state.batches["audit-1"]
    assert len(batch.drawn) == 4 and set(batch.drawn.values()) == {0.5}
    verdicts = ["pass", "pass", "pass", "fail"]
    for verdict in verdicts:
        assert {item.stage for item in made.state.items.values()} == {"audit"}
        made.say("Ben", {"audit": verdict}, comment="because")
    assert batch.result == "returned"
    assert {(i.stage, i.round) for i in made.state.items.values()} == {("expert-review", 2)}
    assert "under 80%" in made.item().why and "0 of 1" in made.item().why
    made.say_to_all("Ada", {"review": "pass"})
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
    made.do(settle)
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


def test_items_are_imported_once_and_never_under_a_name_that_is_taken(office, review_team):
    made = office("cobe-rating")
    assert made.do(import_items, "Max", {"i0": review_team.item(0)}) == []
    with pytest.raises(NotAllowed, match=r"another item .*'i0'"):
        made.do(import_items, "Max", {"i0": review_team.item(1)})
    bare = {key: text for key, text in review_team.item(2).items() if key != "edit"}
    with pytest.raises(NotAllowed, match="item 'i2' has no 'edit'"):
        made.do(import_items, "Max", {"i2": bare})
