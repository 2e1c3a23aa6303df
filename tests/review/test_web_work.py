"""Working in the browser, without JavaScript: items, decisions, undoing, training, adjudication."""

import html
import json
import re
from datetime import timedelta

import pytest

from contrafact.review.field_mapping import read_items
from contrafact.review.project import load_project
from contrafact.review.setup import import_gold, import_items, set_roles
from contrafact.review.store.store import verify
from contrafact.review.web.studio import guidelines_html

SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)>"
WORK = "/r/ours/work"


def gone_to(response):
    assert response.status_code == 303, response.text
    # Which form was taken is for the page's script.
    return re.sub(r"(?<=[?&])taken=[\w-]+&?", "", response.headers["location"]).rstrip("?&")


def plain(page):
    """What a page says, without its tags."""
    text = re.sub(r"<[^>]+>", " ", page.text)
    return " ".join(html.unescape(text).split())


def events(studio, kind):
    return [event for event in studio.store.history("ours") if event.kind == kind]


@pytest.fixture
def rating(site):
    """A studio with a review of stories that three people rate."""
    return site().review("ours", "cobe-rating")


@pytest.fixture
def disputed(site):
    """A studio with a rewrite that two annotators disagree about."""
    studio = site().review("ours", "rfc-rewrite", items=1)
    for who, answers, more in (
        ("Ada", {"review": "pass"}, {}),
        ("Ben", {"audit": "pass"}, {}),
        ("Cem", {"category_correct": "true", "rewrite_valid": "pass"}, {}),
        (
            "Dia",
            {"category_correct": "true", "rewrite_valid": "fail"},
            {"flag": "1", "comment": f"Half of it is not reversed. {SCRIPT}"},
        ),
    ):
        browser = studio.browser(who)
        assert gone_to(browser.submit(browser.get(WORK), answers, **more)) == WORK
    return studio


def test_a_screen_shows_the_item_with_what_differs_marked(rating):
    page = rating.browser("Cem").get(WORK)
    assert "What if it had been dry?" in plain(page)
    assert re.search(r"<del>Because of the rain</del>", page.text)
    assert re.search(r"<ins>As it was dry</ins>", page.text)
    assert "Is this edit a valid answer to the question?" in plain(page)
    assert [f'value="{o}"' in page.text for o in ("Yes", "No", "Other")] == [True] * 3
    assert "What is judged" in plain(page), "the guidelines are at hand"
    assert "You have decided 0; 3 items are at this stage, 0 of 3 finished" in plain(page)


def test_a_decision_is_kept_with_what_the_person_saw(rating):
    cem = rating.browser("Cem")
    page = cem.get(WORK)
    assert gone_to(cem.submit(page, {"rating": "No"}, comment="It rains on.")) == WORK
    (event,) = events(rating, "answered")
    assert (event.who, event.item, event.body["answers"]) == ("Cem", "i0", {"rating": "No"})
    assert event.body["comment"] == "It rains on."
    assert event.guidelines_version == load_project("cobe-rating").guidelines_version
    assert "You have decided 1" in plain(cem.get(WORK))
    assert 'value="i1"' in cem.get(WORK).text
    assert verify(rating.store, "ours") == []


def test_a_key_of_one_persons_form_is_nobody_elses(rating):
    cem, dia = rating.browser("Cem"), rating.browser("Dia")
    page = cem.get(WORK)
    key = cem.fields(page.text, "sheet")["request"]
    cem.submit(page, {"rating": "Yes"})
    dia.submit(dia.get(WORK), {"rating": "No"}, request=key)
    assert [e.who for e in events(rating, "answered")] == ["Cem", "Dia"]


@pytest.mark.parametrize(
    ("answers", "fields", "message"),
    [
        ({}, {"comment": "kept as it is"}, "Not answered yet: Is this edit a valid answer"),
        ({"rating": "Other"}, {"comment": " "}, "'Other' needs a comment"),
        ({"rating": "Perhaps"}, {}, "'Perhaps'"),
        ({"rating": "Yes"}, {"flag": "1"}, "A flag needs a comment"),
        ({"rating": "Yes", "other": "x"}, {}, "no question 'other'"),
    ],
)
def test_a_form_that_is_not_whole_comes_back_as_it_was_typed(rating, answers, fields, message):
    cem = rating.browser("Cem")
    page = cem.submit(cem.get(WORK), answers, **fields)
    assert page.status_code == 422
    assert message in plain(page)
    assert html.escape(fields.get("comment", "")) in page.text
    if answers.get("rating") in ("Yes", "Other"):
        assert re.search(rf'value="{answers["rating"]}" checked', page.text)
    assert ('id="flag" checked' in page.text) == ("flag" in fields)
    assert gone_to(cem.submit(page, {"rating": "Yes"}, flag="", comment="x")) == WORK


@pytest.mark.parametrize(
    "fields",
    [
        {"round": "one"},
        {"round": "9" * 30},
        {"request": "x"},
        {"request": "' OR 1=1 --"},
        {"answer.rating": ["Yes", "No"]},
    ],
)
def test_a_form_that_was_tampered_with_is_refused(rating, fields):
    cem = rating.browser("Cem")
    page = cem.get(WORK)
    refused = cem.submit(page, {"rating": "Yes"}, comment="kept", **fields)
    assert refused.status_code == 422 and "kept" in refused.text
    assert not events(rating, "answered")


@pytest.mark.parametrize(
    "fields",
    [
        {"item": "i2"},
        {"item": "'; DROP TABLE events; --"},
        {"stage": "nowhere\x00"},
        {"round": "2"},
        {"training": "1"},
    ],
)
def test_nobody_decides_on_what_they_were_not_given(rating, fields):
    cem = rating.browser("Cem")
    page = cem.get(WORK)
    sent = cem.submit(page, {"rating": "Yes"}, comment="kept", **fields)
    assert sent.status_code == 409
    assert "This decision was not accepted" in plain(sent) and "kept" in sent.text
    assert not events(rating, "answered")


@pytest.mark.parametrize(("roles", "active", "status"), [([], True, 409), (["rater"], False, 404)])
def test_who_is_taken_off_decides_no_more_and_sees_what_was_typed(rating, roles, active, status):
    cem = rating.browser("Cem")
    page = cem.get(WORK)
    rating.store.act("ours", set_roles, "Max", "Cem", roles, active=active)
    sent = cem.submit(page, {"rating": "Yes"}, comment="kept")
    assert sent.status_code == status and "kept" in sent.text
    assert not events(rating, "answered")


def test_after_the_lease_it_is_reported_clearly_and_what_was_typed_is_shown(site, review_team):
    studio = site()
    now = [review_team.now]
    studio.store._clock = lambda: now[0]
    studio.review("ours", "cobe-rating", items=1)
    for name in ("Fay", "Gus", "Hal"):
        studio.store.act("ours", set_roles, "Max", name, ["rater"])
        studio.account(name)
    cem = studio.browser("Cem")
    page = cem.get(WORK)
    now[0] += timedelta(minutes=31)
    for name in ("Fay", "Gus", "Hal"):
        other = studio.browser(name)
        other.submit(other.get(WORK), {"rating": "Yes"})
    sent = cem.submit(page, {"rating": "No"}, comment=f"Long thought. {SCRIPT}", flag="1")
    assert sent.status_code == 409
    assert "Long thought." in sent.text and "<script>alert" not in sent.text
    assert re.search("the item has moved on without this decision", sent.text, re.IGNORECASE)
    assert "Go on with the next" in plain(sent)
    assert all(e.who != "Cem" for e in events(studio, "answered"))


def test_the_last_decision_can_be_taken_back_and_is_filled_in_again(rating):
    cem = rating.browser("Cem")
    assert "Undo" not in plain(cem.get(WORK))
    cem.submit(cem.get(WORK), {"rating": "Other"}, comment="Half right", flag="1")
    page = cem.get(WORK)
    undo = cem.fields(page.text, "undo")
    back = gone_to(cem.http.post("/r/ours/undo", data=undo))
    again = cem.get(back)
    assert 'value="i0"' in again.text and "Half right" in again.text
    assert re.search('value="Other" checked', again.text) and 'id="flag" checked' in again.text
    assert gone_to(cem.http.post("/r/ours/undo", data=undo)) == back, "sent twice, done once"
    assert len(events(rating, "undone")) == 1
    cem.submit(again, {"rating": "No"}, flag="", comment="")
    assert rating.store.read("ours", lambda b: b.items["i0"].votes[0].ballot.verdict) == "No"
    assert verify(rating.store, "ours") == []


def test_what_was_on_the_desk_while_undoing_comes_back(site):
    studio = site().review("ours", "cobe-rating", items=2)
    cem = studio.browser("Cem")
    cem.submit(cem.get(WORK), {"rating": "Yes"})
    page = cem.get(WORK)
    assert 'value="i1"' in page.text
    again = cem.get(gone_to(cem.http.post("/r/ours/undo", data=cem.fields(page.text, "undo"))))
    cem.submit(again, {"rating": "No"})
    last = cem.get(WORK)
    assert 'value="i1"' in last.text
    cem.submit(last, {"rating": "No"})
    assert studio.store.read("ours", lambda state: state.decided["Cem"]) == 2


def test_undoing_too_late_is_refused(rating):
    browsers = [rating.browser(name) for name in ("Cem", "Dia", "Eve")]
    browsers[0].submit(browsers[0].get(WORK), {"rating": "Yes"})
    early = browsers[0].get(WORK)
    assert "Undo" in plain(early)
    for browser in browsers[1:]:
        browser.submit(browser.get(WORK), {"rating": "Yes"})
    assert "Undo" not in plain(browsers[0].get(WORK)), "nothing is offered that would be refused"
    undo = browsers[0].fields(early.text, "undo")
    refused = browsers[0].http.post("/r/ours/undo", data=undo)
    assert refused.status_code == 409 and "ask a manager" in refused.text


def test_when_there_is_nothing_left_it_says_so(site):
    studio = site().review("ours", "cobe-rating", items=1)
    browsers = [studio.browser(name) for name in ("Cem", "Dia", "Eve")]
    browsers[0].submit(browsers[0].get(WORK), {"rating": "Yes"})
    assert "1 of 1 items are still under way" in plain(browsers[0].get(WORK))
    for browser in browsers[1:]:
        browser.submit(browser.get(WORK), {"rating": "Yes"})
    assert "All items of this review have ended" in plain(browsers[0].get(WORK))


def test_training_tells_what_was_right_and_lets_nobody_pass_by(site, review_team):
    studio = site()
    project = load_project("judge-agreement")
    studio.review("ours", "judge-agreement", items=1)
    studio.store.act("ours", set_roles, "Max", "Cem", ["annotator"], trained=False)
    studio.store.act("ours", import_gold, "Max", review_team.gold(project))
    cem = studio.browser("Cem")
    wrong = {"forward_compatibility": "true", "directionality": "false"}
    right = {"forward_compatibility": "true", "directionality": "true"}
    page = cem.get(WORK)
    assert "Training round 1: 0 of 3 answered" in plain(page)
    assert "flag" not in page.text.split('id="sheet"')[1].split("</form>")[0]
    page = cem.get(gone_to(cem.submit(page, wrong)))
    assert "not the known one" in plain(page)
    page = cem.get(gone_to(cem.submit(page, right)))
    assert "Your last answer was right" in plain(page)
    page = cem.get(gone_to(cem.submit(page, right)))
    assert "That round: 2 of 3 right. Another round follows." in plain(page)
    for _ in range(3):
        page = cem.get(gone_to(cem.submit(page, right)))
    assert "That round: 3 of 3 right. You have passed." in plain(page)
    assert 'value="i0"' in page.text
    assert "known" not in plain(cem.get(f"{WORK}?last=i0")), "of real items nothing is told"


def test_a_correction_is_offered_taken_and_needed(site):
    studio = site().review("ours", "rfc-rewrite", items=2)
    ada = studio.browser("Ada")
    page = ada.get(WORK)
    assert "Shares of Alder Works fell 0% after its report." in page.text.split("correction")[-1]
    same = "Shares of Alder Works fell 0% after its report."
    for given, problem in (
        (" ", "needs a new text"),
        (f"{same}\r\n", "new text equals the old one"),
    ):
        bare = ada.submit(page, {"review": "revise"}, correction=given)
        assert bare.status_code == 422 and problem in bare.text
    odd = ada.submit(page, {"review": "pass"}, correction="Shares sank.")
    assert odd.status_code == 422 and "takes no new text" in odd.text
    assert "Shares sank." in odd.text
    assert ada.submit(odd, {"review": "pass"}, correction=same).status_code == 303
    undo = ada.fields(ada.get(WORK).text, "undo")
    again = ada.get(gone_to(ada.http.post("/r/ours/undo", data=undo)))
    assert gone_to(ada.submit(again, {"review": "revise"}, correction="Shares sank.\r\nDeep."))
    item = studio.store.read("ours", lambda b: b.items["i0"])
    assert item.fields["rewritten"] == "Shares sank.\nDeep."


def test_adjudicators_see_what_was_said_and_not_by_whom(disputed):
    ben = disputed.browser("Ben")
    page = ben.get(WORK)
    shown = plain(page)
    for message in ("annotator 1: pass", "annotator 2: fail", "flagged", "Half of it is not"):
        assert message in shown
    assert "Cem" not in page.text and "Dia" not in page.text
    assert "<script>alert" not in page.text and "&lt;script&gt;alert" in page.text
    assert gone_to(ben.submit(page, {"ruling_category": "true", "ruling_rewrite": "pass"})) == WORK
    assert disputed.store.read("ours", lambda state: state.decided["Ben"]) == 2


def test_annotators_are_blind_to_each_other(site):
    studio = site().review("ours", "rfc-rewrite", items=4)
    for who, answers in (("Ada", {"review": "pass"}), ("Ben", {"audit": "pass"})):
        browser = studio.browser(who)
        for _ in range(4):
            browser.submit(browser.get(WORK), answers, comment="seen by nobody blind")
    cem, dia = studio.browser("Cem"), studio.browser("Dia")
    cem.submit(cem.get(WORK), {"category_correct": "false"}, comment="Cem's own thoughts", flag="1")
    page = dia.get(WORK)
    assert 'value="i0"' in page.text
    assert "thoughts" not in page.text and "seen by nobody" not in page.text


def test_a_dispute_goes_through_arbitration_to_its_end(disputed):
    ben, eve, ada = (disputed.browser(name) for name in ("Ben", "Eve", "Ada"))
    for browser, ruling, why in ((ben, "pass", ""), (eve, "unresolved", "cannot be told")):
        page = browser.get(WORK)
        assert plain(page).count("expert-b: ") == 1, "the audit, and nothing of their own round"
        rulings = {"ruling_category": "true", "ruling_rewrite": ruling}
        assert browser.submit(page, rulings, comment=why).status_code == 303
    page = ada.get(WORK)
    assert "strict-annotator: unresolved" in plain(page) and "cannot be told" in page.text
    failed = {"ruling_category": "true", "ruling_rewrite": "fail"}
    assert ada.submit(page, failed).status_code == 422, "needs a comment"
    assert gone_to(ada.submit(page, failed, comment="not reversed"))
    item = disputed.store.read("ours", lambda b: b.items["i0"])
    assert (item.outcome, item.why) == ("removed", "failed by arbitration")
    assert verify(disputed.store, "ours") == []


def test_nothing_in_an_item_becomes_markup(site):
    studio = site()
    fields = dict.fromkeys(("text", "query", "edit", "domain"), f"\"{SCRIPT}'")
    studio.review("ours", "cobe-rating", items=1, **fields)
    page = studio.browser("Cem").get(WORK)
    assert "<script>alert" not in page.text and "<img" not in page.text
    assert page.text.count("&lt;script&gt;alert") >= 3


def test_guidelines_are_formatted_and_carry_no_markup_of_their_own():
    shown = guidelines_html(
        f"# One\n\n{SCRIPT} *sure* [x](javascript:alert(1)) ![y](http://z/i.png)"
    )
    assert "<h3>One</h3>" in shown and "<em>sure</em>" in shown
    assert "<script" not in shown and "<img" not in shown and 'href="javascript' not in shown


def test_a_text_is_checked_before_it_is_submitted_and_nothing_is_taken(site):
    studio = site().review("ours", "rfc-rewrite", items=1, manipulation="numerical")
    ada = studio.browser("Ada")
    page = ada.get(WORK)
    kept = "Shares of Alder Works fell 0% after its report."

    def check(text, **headers):
        fields = {**ada.fields(page.text, "sheet"), "answer.review": "revise", "correction": text}
        return ada.http.post("/r/ours/check", data=fields, headers=headers)

    whole = check("Shares of Alder Works rose to <b>9 cents</b>.")
    assert whole.status_code == 200 and "Broken" in plain(whole)
    assert "&lt;b&gt;9 cents&lt;/b&gt;" in whole.text, "it is filled in as it was"
    assert 'value="revise" checked' in whole.text
    part = check(kept, accept="application/json")
    assert part.headers["cache-control"] == "no-store"
    assert "<code>" in part.json()["html"]
    assert "are not checked" in check("x" * 20_001).text
    assert studio.store.read("ours", lambda state: state.decided["Ada"]) == 0
    stranger = studio.browser("Cem")
    fields = {**ada.fields(page.text, "sheet"), "csrf": stranger.csrf(), "correction": kept}
    assert stranger.http.post("/r/ours/check", data=fields).status_code == 409
    studio.review("tales", "cobe-rating")
    cem = studio.browser("Cem")
    fields = cem.fields(cem.get("/r/tales/work").text, "sheet")
    assert cem.http.post("/r/tales/check", data=fields).status_code == 409, (
        "nothing is written there"
    )


def test_a_check_gives_nobody_an_item_and_lengthens_no_lease(site, review_team):
    studio = site()
    now = [review_team.now]
    studio.store._clock = lambda: now[0]
    studio.review("ours", "rfc-rewrite", items=3, manipulation="numerical")
    ada, ben = studio.browser("Ada"), studio.browser("Ben")
    fields = ada.fields(ada.get(WORK).text, "sheet")
    before = len(studio.store.history("ours"))

    def check(person):
        sent = {**fields, "csrf": person.csrf(), "correction": "Shares fell."}
        return person.http.post("/r/ours/check", data=sent).status_code

    assert check(ben) == 409, "the item is not Ben's, and he is given none"
    now[0] += timedelta(minutes=31)
    assert check(ada) == 200, "nobody else has taken it"
    assert len(studio.store.history("ours")) == before


def test_a_finding_quotes_the_draft_and_never_as_markup(site, monkeypatch):
    from contrafact.family import DraftFinding
    from contrafact.review.web import item_view

    def check(fields):
        return [DraftFinding("odd", f"{fields['rewritten']} is odd", True, SCRIPT)]

    monkeypatch.setattr(item_view, "draft_check", lambda name: {"rfc/contract": check}[name])
    studio = site().review("ours", "rfc-rewrite", items=1)
    ada = studio.browser("Ada")
    fields = {**ada.fields(ada.get(WORK).text, "sheet"), "correction": SCRIPT}
    for headers in ({}, {"accept": "application/json"}):
        found = ada.http.post("/r/ours/check", data=fields, headers=headers)
        assert "is odd" in found.text and "<script>alert" not in found.text


def test_the_first_step_shows_the_original_alone(site):
    studio = site().review("ours", "rfc-rewrite-three", items=2)
    cem = studio.browser("Cem")
    page = cem.get(WORK)
    assert "Shares of Alder Works rose 0% after its report." in page.text
    assert "fell" not in page.text and "rewrite_valid" not in page.text
    nothing = cem.submit(page, {})
    assert nothing.status_code == 422 and "fell" not in nothing.text, "it is answered first"
    whole = cem.submit(page, {"category_correct": "true"}, comment="close")
    assert whole.status_code == 200
    assert "fell" in plain(whole) and "rewrite_valid" in whole.text and "close" in whole.text
    assert studio.store.read("ours", lambda state: state.decided["Cem"]) == 0
    assert gone_to(cem.submit(whole, {"category_correct": "true", "rewrite_valid": "fail"}))
    # A category that does not suit the original is a decision, and nothing else is shown.
    assert gone_to(cem.submit(cem.get(WORK), {"category_correct": "false"}))
    votes = studio.store.read("ours", lambda b: [i.votes[0].ballot for i in b.items.values()])
    assert sorted(vote.verdict for vote in votes) == ["fail", "mis-category"]
    back = cem.http.post("/r/ours/undo", data=cem.fields(cem.get(WORK).text, "undo"))
    again = cem.get(gone_to(back))
    assert "fell" in plain(again), "what was answered is shown as it was filled in"


@pytest.mark.parametrize(("passed", "shown"), [(None, True), (False, False), (True, False)])
def test_what_a_check_left_undecided_is_shown_as_undecided(site, tmp_path, passed, shown):
    """Rows of `rfc check`, whose ``passed`` is null where meaning was not judged."""
    studio = site()
    studio.account("Max", manager=True)
    studio.review("ours", "rfc-rewrite", items=0)
    row = {
        "id": "p1",
        "manipulation": "flipping",
        "original": "Shares of Alder Works rose.",
        "rewritten": "Shares of Alder Works fell.",
        "passed": passed,
    }
    (tmp_path / "checked.jsonl").write_text(json.dumps(row) + "\n")
    project = studio.store.read("ours", lambda state: state.project)
    studio.store.act("ours", import_items, "Max", read_items(tmp_path / "checked.jsonl", project))
    page = studio.browser("Ada").get("/r/ours/work")
    assert ("Undecided: the check before this review" in page.text) == shown
    managed = studio.browser("Max").get("/manage/r/ours/items/one?id=p1").text
    assert ("<dt>check</dt><dd>undecided</dd>" in managed) == shown
