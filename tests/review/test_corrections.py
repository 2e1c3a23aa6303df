"""What a manager corrects: items reopened and withdrawn, and all that follows from it."""

import json
from importlib.resources import files

import pytest

from contrafact.families.rfc.decisions import ReviewDecision
from contrafact.families.rfc.pipeline.finalize import follow
from contrafact.review.answers import Decision
from contrafact.review.corrections import edit, reopen, retract, withdraw
from contrafact.review.events import NotAllowed
from contrafact.review.export import decision_rows, item_rows, rating_rows
from contrafact.review.store.store import verify
from contrafact.review.workflow import answer


def annotate(made, *verdicts):
    for who, verdict in zip(("Cem", "Dia"), verdicts, strict=True):
        made.say(who, made.annotated[verdict])


def fate(made):
    return follow([ReviewDecision.model_validate(row) for row in decision_rows(made.state)])


def correct(made, how, reason="a slip", **more):
    return made.do(how, "Max", "i0", reason, **more)


def test_a_reopened_item_is_decided_anew_and_finalize_follows(office):
    made = office("rfc-rewrite-three")
    annotate(made, "fail", "fail")
    made.say("Ada", {"revision": "revise"}, correction="Shares of Alder Works fell by 9%.")
    annotate(made, "fail", "fail")
    assert made.item().outcome == "removed"
    assert made.item().fields["rewritten"] == "Shares of Alder Works fell by 9%."
    (event,) = correct(made, reopen, stage="annotation")
    assert (event.kind, event.who, event.body["why"]) == (
        "corrected",
        "Max",
        "reopened: a slip",
    )
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
        assert "Cem" not in made.state.in_hand
        with pytest.raises(NotAllowed):
            sent = Decision(made.annotated["pass"])
            made.do(answer, "Cem", given, sent)


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


def test_an_edited_item_begins_anew_and_comes_out_as_it_is_now(office):
    made = office("rfc-rewrite-three")
    annotate(made, "fail", "fail")
    new = {"original": "Shares of Alder Works rose 3%.", "rewritten": "Shares fell 3%."}
    (event,) = correct(made, edit, "the source was corrected", fields=new)
    assert (event.kind, event.who, event.body["fields"]) == ("corrected", "Max", new)
    assert (made.item().stage, made.item().votes) == ("annotation", ())
    assert made.item().imported != made.item().fields, "what was imported stays known"
    made.say("Cem", made.annotated["pass"])
    made.say("Dia", made.annotated["fail"])
    made.say("Ada", {"ruling_category": "true", "ruling_rewrite": "pass"})
    rows = decision_rows(made.state)
    assert all(row["review_edited"] == new for row in rows)
    assert item_rows(made.state)[0]["rewritten"] == new["rewritten"]
    assert correct(made, edit, fields=new) == []
    for fields, problem in (({"rewritten": " "}, "empty"), ({"x": "y"}, "no field 'x'")):
        with pytest.raises(NotAllowed, match=problem):
            correct(made, edit, fields=fields)


def test_one_decision_taken_back_leaves_the_others_and_what_was_built_on_it_goes(office):
    made = office("rfc-rewrite-three")
    annotate(made, "pass", "fail")
    made.say("Ada", {"ruling_category": "true", "ruling_rewrite": "fail"}, comment="no")
    assert made.item().outcome == "removed"
    first, second, ruling = (vote.seq for vote in made.item().votes)
    (event,) = correct(made, retract, "misread", decision=second)
    assert event.body["set_aside"] == [second, ruling]
    assert (made.item().stage, made.item().round) == ("annotation", 1)
    assert [vote.seq for vote in made.item().votes] == [first]
    assert [row["decided_by"] for row in decision_rows(made.state)] == ["Cem"]
    assert [row["rater"] for row in rating_rows(made.state)] == ["Cem"]
    assert dict(made.state.decided) == {"Cem": 1, "Dia": 0, "Ada": 0}
    assert made.next("Cem") is None, "nobody decides twice"
    made.say("Dia", made.annotated["pass"])
    assert (made.item().outcome, fate(made).state) == ("final", "retained")
    with pytest.raises(NotAllowed, match="no decision"):
        correct(made, retract, decision=second)


def test_a_correction_taken_back_takes_its_text_back(office):
    made = office("rfc-rewrite-three")
    annotate(made, "fail", "fail")
    made.say("Ada", {"revision": "revise"}, correction="Shares of Alder Works fell by 9%.")
    revised = made.item().votes[-1].seq
    annotate(made, "pass", "pass")
    assert made.item().outcome == "final"
    correct(made, retract, decision=revised)
    assert made.item().fields == made.item().imported
    assert made.item().stage == "revision" and len(made.item().votes) == 2
    correct(made, reopen)
    annotate(made, "fail", "fail")
    old = made.item().votes[0]
    made.say("Ada", {"revision": "revise"}, correction="Shares of Alder Works fell by 8%.")
    assert made.item().stage == "re-annotation"
    correct(made, reopen, "once more", stage="revision")
    correct(made, retract, decision=old.seq)
    assert [vote.who for vote in made.item().votes] == ["Dia"]


def test_an_audits_decision_is_taken_back_while_it_is_open_and_never_after(office):
    made = office(items=8)
    made.say_to_all("Ada", {"review": "pass"})
    drawn = [name for name, item in made.state.items.items() if item.slots]
    assert len(drawn) > 1
    done = made.say("Ben", {"audit": "fail"}, comment="no").item
    seq = made.item(done).votes[-1].seq
    made.do(retract, "Max", done, "misread", seq)
    assert made.item(done).stage == "audit" and len(made.item(done).votes) == 1
    for _ in drawn:
        made.say("Ben", {"audit": "pass"})
    seq = next(v.seq for v in made.item(done).votes if v.stage == "audit")
    with pytest.raises(NotAllowed, match="the audit has ended"):
        made.do(retract, "Max", done, "misread", seq)


def test_what_cannot_be_corrected_is_refused(office):
    made = office(items=2)
    with pytest.raises(NotAllowed, match="needs a reason"):
        correct(made, withdraw, " ")
    with pytest.raises(NotAllowed, match="use expert-review"):
        correct(made, reopen, stage="annotation")
    with pytest.raises(NotAllowed, match="no item 'i9'"):
        made.do(withdraw, "Max", "i9", "so")
    made.say_to_all("Ada", {"review": "pass"})
    for how in (reopen, withdraw):
        with pytest.raises(NotAllowed, match=r"an audit .*'i0' is under way"):
            correct(made, how)


def test_the_last_that_others_wait_for_can_be_withdrawn(office):
    made = office("rfc-rewrite-three", items=2)
    made.own = made.say("Cem", made.annotated["pass"]).item
    made.say("Dia", made.annotated["fail"])
    assert made.item().stage == "disagreement"
    other = next(name for name in made.state.items if name != made.own)
    made.do(withdraw, "Max", other, "so")
    assert made.item().stage == "arbitration"


def test_corrections_made_on_the_pages_go_into_finalize(quick_contrafact, site, tmp_path):
    lines = files("contrafact.families.rfc").joinpath("samples/pairs.jsonl").read_text("utf-8")
    pair = json.loads(lines.splitlines()[0])
    (tmp_path / "pairs.jsonl").write_text(lines.splitlines(keepends=True)[0], "utf-8")
    team = [part for one in ("Cem=annotator", "Dia=annotator", "Ada=adjudicator")
            for part in ("--person", one)]  # fmt: skip
    done = quick_contrafact(
        "review", "import", "pairs.jsonl", "--project", "rfc-rewrite-three", *team
    )
    assert done.returncode == 0, done.stderr
    studio = site(str(tmp_path / "review.db"))
    for name in ("Max", "Cem", "Dia"):
        studio.account(name, manager=name == "Max")
    manager, page = studio.browser("Max"), "/manage/r/review/items"

    def work():
        for who in ("Cem", "Dia"):
            browser = studio.browser(who)
            while 'id="sheet"' in (page := browser.get("/r/review/work")).text:
                answers = {"category_correct": "true", "rewrite_valid": "pass"}
                assert browser.submit(page, answers).status_code == 303

    work()
    text = pair["rewritten"].rstrip(".") + ", the company said."
    fields = {"item": pair["id"], "field.rewritten": text}
    refused = manager.post(f"{page}/edit", fields)
    assert refused.status_code == 409 and "needs a reason" in refused.text
    assert "the company said." in refused.text, "what was typed is still there"
    taken = manager.post(f"{page}/edit", {**fields, "reason": "a slip in the source"})
    assert taken.status_code == 303
    shown = manager.get(taken.headers["location"]).text
    assert "edited: a slip in the source" in shown and "set aside" in shown
    (tmp_path / "new.jsonl").write_text(json.dumps(pair | {"id": "new"}) + "\n", "utf-8")
    assert quick_contrafact("review", "import", "new.jsonl").returncode == 0
    work()
    seq = studio.store.read("review", lambda state: state.items["new"].votes[0].seq)
    about = {"item": "new", "decision": str(seq)}
    assert manager.post(f"{page}/retract", about).status_code == 409
    assert manager.post(f"{page}/retract", {**about, "reason": "misread"}).status_code == 303
    assert studio.store.read("review", lambda state: state.items["new"].stage) == "annotation"
    work()
    log = manager.get("/manage/log").text
    assert all(said in log for said in ("item edited", "decision taken back"))
    assert verify(studio.store, "review") == []
    assert quick_contrafact("review", "prove").returncode == 0
    for what in ("items", "decisions"):
        quick_contrafact("review", "export", "--what", what, "--out", f"{what}.csv")
    done = quick_contrafact(
        "rfc", "finalize", "items.csv", "--decisions", "decisions.csv", "--out", "final.jsonl"
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in
            (tmp_path / "final.jsonl").read_text("utf-8").splitlines()]  # fmt: skip
    assert {row["reviewed_id"]: row["rewritten"] for row in rows} == {
        pair["id"]: text, "new": pair["rewritten"],
    }  # fmt: skip
    own = tmp_path / "one.jsonl"
    decided = quick_contrafact("review", "export", "--what", "decisions", "--out", "d.jsonl")
    assert decided.returncode == 0
    of_pair = [line for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()
               if json.loads(line)["item_id"] == pair["id"]]  # fmt: skip
    own.write_text("\n".join(of_pair), "utf-8")
    done = quick_contrafact(
        "rfc", "finalize", "pairs.jsonl", "--decisions", "one.jsonl", "--out", "one-final.jsonl"
    )
    assert done.returncode == 0, done.stderr
    (row,) = map(json.loads, (tmp_path / "one-final.jsonl").read_text("utf-8").splitlines())
    assert row["rewritten"] == text and row["revised"] and row["id"] != pair["id"]
