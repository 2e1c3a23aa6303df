"""What a manager corrects: items reopened and withdrawn, and all that follows from it."""

import json
from importlib.resources import files

import pytest

from contrafact.families.rfc.decisions import ReviewDecision
from contrafact.families.rfc.pipeline.finalize import follow
from contrafact.review.corrections import reopen, withdraw
from contrafact.review.export import decision_rows, item_rows, rating_rows
from contrafact.review.state import NotAllowed
from contrafact.review.store.store import Store, verify
from contrafact.review.workflow import answer


def annotate(made, *verdicts):
    for who, verdict in zip(("Cem", "Dia"), verdicts, strict=True):
        made.say(who, made.annotated[verdict])


def fate(made):
    return follow([ReviewDecision.model_validate(row) for row in decision_rows(made.state)])


def correct(made, how, reason="a slip", **more):
    return how(made.state, "Max", "i0", reason, made.now, made.rng, **more)


def test_a_reopened_item_is_decided_anew_and_finalize_follows(office):
    made = office("rfc-rewrite-three")
    annotate(made, "fail", "fail")
    made.say("Ada", {"revision": "revise"}, correction="Shares of Alder Works fell by 9%.")
    annotate(made, "fail", "fail")
    assert made.item().outcome == "removed"
    assert made.item().fields["rewritten"] == "Shares of Alder Works fell by 9%."
    (event,) = correct(made, reopen, stage="annotation")
    assert (event.kind, event.who, event.body["why"]) == ("reopened", "Max", "reopened: a slip")
    assert len(event.body["set_aside"]) == 5
    assert made.item().fields == made.item().imported, "the text is that of before"
    assert (made.item().stage, made.item().outcome) == ("annotation", None)
    assert decision_rows(made.state) == [] == rating_rows(made.state)
    assert made.state.decided.total() == 0
    annotate(made, "pass", "pass")
    assert (made.item().outcome, fate(made).state) == ("final", "retained")


def test_reopening_keeps_what_was_decided_before(office):
    made = office()
    made.say("Ada", {"review": "revise"}, correction="Shares of Alder Works fell by 9%.")
    made.say("Ben", {"audit": "pass"})
    annotate(made, "mis-category", "mis-category")
    correct(made, reopen, stage="annotation")
    assert made.item().fields["rewritten"] == "Shares of Alder Works fell by 9%."
    assert {row["stage"] for row in decision_rows(made.state)} == {"expert-review", "audit"}
    annotate(made, "pass", "pass")
    assert (made.item().outcome, fate(made).state) == ("final", "retained")
    correct(made, reopen)
    assert made.item().stage == "expert-review"
    assert made.item().fields == made.item().imported


def test_whoever_has_a_reopened_or_withdrawn_item_in_hand_is_told(office):
    for how in (reopen, withdraw):
        made = office("rfc-rewrite-three")
        given = made.next("Cem")
        correct(made, how)
        assert "Cem" not in made.state.held
        with pytest.raises(NotAllowed):
            answer(
                *(made.state, "Cem", "i0", given.stage, given.round, made.annotated["pass"]),
                now=made.now, rng=made.rng,
            )  # fmt: skip


def test_a_withdrawn_item_counts_no_more_and_can_come_back(office):
    made = office("rfc-rewrite-three")
    annotate(made, "pass", "pass")
    correct(made, withdraw, "taken back")
    (row,) = item_rows(made.state)
    assert (row["review_outcome"], row["review_why"]) == ("removed", "withdrawn: taken back")
    assert decision_rows(made.state) == [] == rating_rows(made.state)
    with pytest.raises(NotAllowed, match="withdrawn already"):
        correct(made, withdraw)
    correct(made, reopen)
    assert made.item().stage == "annotation" and not made.item().withdrawn


def test_what_cannot_be_corrected_is_refused(office):
    made = office(items=2)
    with pytest.raises(NotAllowed, match="needs a reason"):
        correct(made, withdraw, " ")
    with pytest.raises(NotAllowed, match="use expert-review"):
        correct(made, reopen, stage="annotation")
    with pytest.raises(NotAllowed, match="no item 'i9'"):
        withdraw(made.state, "Max", "i9", "so", made.now, made.rng)
    for _ in range(2):
        made.say("Ada", {"review": "pass"})
    for how in (reopen, withdraw):
        with pytest.raises(NotAllowed, match="an audit that speaks for 'i0' is under way"):
            correct(made, how)


def test_the_last_that_others_wait_for_can_be_withdrawn(office):
    made = office("rfc-rewrite-three", items=2)
    made.own = made.say("Cem", made.annotated["pass"]).item
    made.say("Dia", made.annotated["fail"])
    assert made.item().stage == "disagreement"
    other = next(name for name in made.state.items if name != made.own)
    withdraw(made.state, "Max", other, "so", made.now, made.rng)
    assert made.item().stage == "arbitration"


def test_corrections_go_through_the_command_line_and_are_proven(quick_contrafact, tmp_path):
    lines = files("contrafact.families.rfc").joinpath("samples/pairs.jsonl").read_text("utf-8")
    (tmp_path / "pairs.jsonl").write_text("".join(lines.splitlines(keepends=True)[:2]), "utf-8")
    first, second = (json.loads(line)["id"] for line in lines.splitlines()[:2])
    team = [part for one in ("Cem=annotator", "Dia=annotator", "Ada=adjudicator")
            for part in ("--person", one)]  # fmt: skip
    done = quick_contrafact(
        "review", "import", "pairs.jsonl", "--project", "rfc-rewrite-three", *team
    )
    assert (done.returncode, done.stderr) == (0, "")
    database = str(tmp_path / "review.db")

    def work(verdict):
        with Store(database) as store:
            for who in ("Cem", "Dia"):
                while given := store.next("review", who):
                    answers = {"category_correct": "true", "rewrite_valid": verdict}
                    store.answer("review", who, given, answers)

    work("pass")
    for command in (
        ("reopen", first, "--stage", "annotation", "--by", "Max"),
        ("withdraw", second, "--by", "Max"),
    ):
        done = quick_contrafact("review", *command, "--reason", "the source was corrected")
        assert done.returncode == 0, done.stderr
    work("pass")
    with Store(database) as store:
        assert verify(store, "review") == []
        kinds = {event.kind: event.body["why"] for event in store.history("review")
                 if event.kind in ("reopened", "withdrawn")}  # fmt: skip
    assert kinds == {
        "reopened": "reopened: the source was corrected",
        "withdrawn": "withdrawn: the source was corrected",
    }
    assert quick_contrafact("review", "prove").returncode == 0
    quick_contrafact("review", "export", "--out", "d.jsonl")
    done = quick_contrafact(
        "rfc", "finalize", "pairs.jsonl", "--decisions", "d.jsonl", "--out", "final.jsonl"
    )
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "final.jsonl").read_text("utf-8").splitlines()
    assert json.loads(kept)["id"] == first
    refused = quick_contrafact("review", "withdraw", "i9", "--reason", "so")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
