"""What becomes of a rewrite: reviewed, audited, annotated, in dispute, decided."""

from itertools import combinations_with_replacement, product

import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.decisions import ReviewDecision
from contrafact.families.rfc.pipeline.finalize import follow
from contrafact.review.desk import visible_votes
from contrafact.review.loading import load_project
from contrafact.review.recorder import Refused
from contrafact.review.workflow import settle


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


def test_a_removal_by_the_expert_is_the_end_and_needs_a_reason(office):
    made = office()
    with pytest.raises(InputError, match="needs a comment"):
        made.say("Ada", {"review": "remove"})
    made.say("Ada", {"review": "remove"}, comment="reports another event")
    assert made.item().outcome == "removed"
    assert made.item().why == "removed by the expert"


def test_a_correction_is_what_everybody_sees_from_then_on(office):
    made = office()
    with pytest.raises(InputError, match="needs a new text"):
        made.say("Ada", {"review": "revise"})
    with pytest.raises(Refused, match="is the old one"):
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
        made.say(who, {"ruling": ruling}, comment="so")
    if arbiter:
        assert made.item().stage == "arbitration"
        made.say("Ada", {"ruling": arbiter}, comment="so")
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
    for _ in range(2):
        made.say("Ada", {"review": "pass"})
    while made.next("Ben"):
        made.say("Ben", {"audit": "pass"})
    first = made.say("Cem", made.annotated["pass"]).item
    assert made.say("Dia", made.annotated["fail"]).item == first
    assert made.item(first).stage == "disagreement"
    assert made.next("Eve") is None
    made.say("Cem", made.annotated["pass"])
    made.say("Dia", made.annotated["pass"])
    assert made.item(first).stage == "secondary-review"


def test_a_manager_need_not_wait_for_a_set(office):
    made = office(items=2)
    for _ in range(2):
        made.say("Ada", {"review": "pass"})
    while made.next("Ben"):
        made.say("Ben", {"audit": "pass"})
    made.say("Cem", made.annotated["pass"])
    made.say("Dia", made.annotated["fail"])
    settle(made.board, made.now, made.rng, force="disagreement")
    assert made.next("Eve") is not None
    with pytest.raises(Refused, match="nothing waits"):
        settle(made.board, made.now, made.rng, force="disagreement")
    with pytest.raises(Refused, match="no stage where items wait"):
        settle(made.board, made.now, made.rng, force="annotation")


def test_annotators_see_nothing_of_each_other_and_adjudicators_see_both(rewritten):
    made = rewritten(("pass", "fail"))
    item, project = made.item(), made.board.project
    assert visible_votes(project, item, "annotation", 1) == ()
    seen = visible_votes(project, item, "secondary-review", 1)
    assert {(v.who, v.ballot.verdict) for v in seen} >= {("Cem", "pass"), ("Dia", "fail")}
    made.say("Ben", {"ruling": "pass"})
    seen = visible_votes(project, made.item(), "secondary-review", 1)
    assert "secondary-review" not in {v.stage for v in seen}


def paths():
    """Yield ways of one pair through the review, without flags, which decisions do not carry."""
    rulings, votes = ("pass", "fail", "unresolved"), ("pass", "fail", "mis-category")
    disputes = list(product(combinations_with_replacement(rulings, 2), rulings))
    for audit, (one, two) in product(("pass", "fail"), combinations_with_replacement(votes, 2)):
        said = {audit, one, two}
        if said == {"pass"}:
            yield audit, one, two, ("pass", "pass"), *disputes[0]
        elif "pass" in said:
            for dispute in disputes:
                yield audit, one, two, ("pass", "pass"), *dispute
        else:
            for again in combinations_with_replacement(votes, 2):
                yield audit, one, two, again, *disputes[0]
            for dispute in disputes:
                yield audit, one, two, ("pass", "fail"), *dispute


def test_finalize_reads_the_same_fate_from_the_decisions(office, review_team):
    """Two readings of 2.2.3 and 2.2.4, written apart, agree on every way through the review."""
    project = load_project("rfc-rewrite").model_dump(mode="json")
    for stage in project["stages"]:
        stage["floor"] = 0.0
    lenient = type(load_project("rfc-rewrite")).model_validate(project)
    seen = set()
    for audit, one, two, again, pair, arbiter in paths():
        made = office()
        made.board.project = lenient
        script = {
            "expert-review": [{"review": "pass"}],
            "audit": [{"audit": audit}],
            "annotation": [made.annotated[one], made.annotated[two]],
            "revision": [{"revision": "revise"}],
            "re-annotation": [made.annotated[v] for v in again],
            "secondary-review": [{"ruling": r} for r in pair],
            "arbitration": [{"ruling": arbiter}],
        }
        while made.item().outcome is None:
            stage = made.board.project.stage(made.item().stage)
            people = [n for n, p in made.board.people.items() if set(p.roles) & set(stage.roles)]
            for who, said in zip(people, script[stage.id], strict=True):
                text = "Another text." if stage.id == "revision" else None
                made.say(who, said, comment="so", correction=text)
        decisions = [
            ReviewDecision(
                item_id="i0",
                stage=vote.stage,
                decided_by=vote.who,
                decision=vote.ballot.verdict,
                when=vote.when.isoformat(),
                why=vote.ballot.comment,
                rewritten=vote.ballot.correction,
            )
            for vote in made.item().votes
        ]
        fate = follow(decisions)
        assert {"retained": "final"}.get(fate.state, fate.state) == made.item().outcome, decisions
        seen.add((fate.state, made.item().why))
    assert len(seen) == 8
