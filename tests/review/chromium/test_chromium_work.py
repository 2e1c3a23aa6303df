"""Annotating and adjudicating in a real Chromium: by keyboard, on a phone, without scripts."""

import pytest

from contrafact.review.corrections import withdraw

WORK = "/r/ours/work"
PASSWORD = "otter lantern gravel 7"
pytestmark = pytest.mark.slow


@pytest.fixture
def rating(served, open_tab):
    """Open a studio with so many stories to rate; Cem has the first in his tab."""

    def begin(items):
        studio = served().review("ours", "cobe-rating", items=items)
        tab = open_tab(studio.base)
        tab.sign_in("Cem")
        tab.page.goto(WORK)
        return studio, tab

    return begin


def test_ten_items_by_keyboard_alone_then_a_flag_an_undo_and_a_ruling(served, open_tab):
    studio = served().review("ours", "rfc-rewrite", items=10)
    for who, answers in (("Ada", {"review": "pass"}), ("Ben", {"audit": "pass"})):
        browser = studio.browser(who)
        while "answer." in (page := browser.get(WORK)).text:
            browser.submit(page, answers)

    tab = open_tab(studio.base)
    tab.sign_in("Cem")
    tab.page.goto(WORK)
    for number in range(10):
        assert f"You have decided {number};" in tab.page.inner_text("#progress")
        if number == 3:
            tab.page.keyboard.press("f")
            tab.page.keyboard.type("1 figure is not turned")
            tab.page.keyboard.press("Escape")
        # The first question is about the original, which stands alone until it is answered.
        assert "fell" not in tab.page.inner_text("#item-card")
        assert not tab.page.is_visible("#q-rewrite_valid")
        tab.press("1", "Enter")
        assert "fell" in tab.page.inner_text("#item-card")
        # The second question is asked while the first is answered so that it is.
        tab.page.keyboard.press("k")
        tab.page.keyboard.press("2")
        assert not tab.page.is_visible("#q-rewrite_valid")
        tab.page.keyboard.press("1")
        assert tab.page.is_visible("#q-rewrite_valid")
        tab.press("2" if number == 9 else "p", "Enter")
    tab.press("u")
    assert tab.page.is_checked("#q-rewrite_valid input[value=fail]")
    tab.press("k", "j", "1", "Enter")
    assert "Nothing for you now" in tab.page.inner_text("h1")
    votes = studio.store.read("ours", lambda b: [i.votes[-1] for i in b.items.values()])
    cems = [v for v in votes if v.who == "Cem"]
    assert len(cems) == 10 and {v.ballot.verdict for v in cems} == {"pass"}
    assert [v.ballot.comment for v in cems if v.ballot.flagged] == ["1 figure is not turned"]

    dia = studio.browser("Dia")
    while "answer." in (page := dia.get(WORK)).text:
        dia.submit(page, {"category_correct": "true", "rewrite_valid": "pass"})
    ben = open_tab(studio.base)
    ben.sign_in("Ben")
    ben.page.goto(WORK)
    assert "1 figure is not turned" in ben.page.inner_text("main")
    ben.press("1", "1", "Enter")
    assert studio.store.read("ours", lambda state: state.decided["Ben"]) == 1 + sum(
        v.stage == "audit"
        for i in studio.store.read("ours", lambda b: b.items).values()
        for v in i.votes
    )


def test_a_flag_without_a_word_is_stopped_and_keys_can_be_turned_off(rating):
    studio, tab = rating(1)
    for key in ("1", "f", "Escape", "Enter"):
        tab.page.keyboard.press(key)
    assert tab.page.evaluate("document.activeElement.id") == "comment"
    assert studio.store.read("ours", lambda state: state.decided["Cem"]) == 0
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("?")
    assert tab.page.is_visible("#help")
    tab.page.uncheck("#keys-on")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("2")
    assert tab.page.is_checked("input[value=Yes]"), "single keys do nothing any more"


def test_it_works_on_a_phone_and_without_javascript(served, open_tab):
    studio = served().review("ours", "rfc-rewrite", items=1)
    tab = open_tab(
        studio.base,
        java_script_enabled=False,
        viewport={"width": 360, "height": 740},
        has_touch=True,
    )
    tab.page.goto("/sign-in")
    tab.page.fill("#name", "Ada")
    tab.page.fill("#password", PASSWORD)
    tab.follow("main button")
    tab.page.goto(WORK)
    width = tab.page.locator("main").bounding_box()["width"]
    assert width <= 360
    boxes = [s.bounding_box() for s in tab.page.locator(".sides > section").all()]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"] - 1, "one below the other"
    tab.page.check("input[value=revise]")
    tab.page.fill("#correction", "Shares of Alder Works sank.")
    tab.follow("#submit")
    assert "All" in tab.page.inner_text("h1") or "Nothing" in tab.page.inner_text("h1")
    assert studio.store.read("ours", lambda state: state.decided["Ada"]) == 1


def fill(tab, rating, comment):
    tab.page.check(f"#q-rating input[value={rating}]")
    tab.page.fill("#comment", comment)


def test_what_was_typed_comes_back_after_the_session_has_ended(rating):
    studio, tab = rating(2)
    fill(tab, "No", "It rains on.\nThen <b>more</b>.")
    studio.now += 13 * 3600  # the session is over
    tab.follow("#submit")
    assert tab.page.inner_text("h1") == "You are signed out"
    tab.follow("main a.button")
    tab.page.get_by_label("Name").fill("Cem")
    tab.page.get_by_label("Password").fill(PASSWORD)
    tab.page.get_by_role("button", name="Sign in").click()
    tab.page.wait_for_url("**/r/ours/work")
    assert tab.page.input_value("#comment") == "It rains on.\nThen <b>more</b>."
    assert tab.page.is_checked("#q-rating input[value=No]")
    assert "is here again" in tab.page.inner_text("form [role=status]")
    tab.follow("#submit")
    tab.page.wait_for_url("**/r/ours/work")  # without what it came back with
    assert tab.page.input_value("#comment") == "", "it was taken, and is kept no more"
    assert tab.page.evaluate("localStorage.length") == 0
    (vote,) = studio.store.read("ours", lambda b: b.items["i0"].votes)
    assert vote.ballot.comment == "It rains on.\nThen <b>more</b>."
    tab.console.clear()  # Chromium names the page that was refused


def test_what_was_typed_for_an_item_that_went_to_others_is_shown(rating, open_tab):
    studio, tab = rating(2)
    fill(tab, "Yes", "A long thought.")
    studio.store.act("ours", withdraw, "Max", "i0", "the source was taken back")
    tab.follow("#submit")
    assert "was not accepted" in tab.page.inner_text("h1")
    tab.follow("main a.button")
    kept = tab.page.locator("section", has_text="was not accepted")
    assert kept.locator("textarea").input_value() == "A long thought."
    assert tab.page.input_value("#comment") == ""
    tab.page.reload()
    kept.get_by_role("button", name="Discard").click()
    tab.page.reload()
    assert tab.page.locator("text=was not accepted").count() == 0
    other = open_tab(studio.base)
    other.sign_in("Dia")
    other.page.goto(WORK)
    assert "A long thought." not in other.page.content()
    tab.console.clear()


def test_a_database_that_was_down_is_tried_again_with_what_was_typed(rating, monkeypatch):
    from sqlalchemy.exc import OperationalError

    from contrafact.review.store.store import Store

    studio, tab = rating(1)
    fill(tab, "No", "  It rains on.\n\n")
    with monkeypatch.context() as patch:
        error = OperationalError("", {}, Exception("down"))
        patch.setattr(Store, "answer", lambda *_, **__: (_ for _ in ()).throw(error))
        tab.follow("#submit")
        assert tab.page.inner_text("h1") == "The database does not answer"
    tab.follow("text=Send it again")
    assert "Nothing for you now" in tab.page.inner_text("h1")
    (vote,) = studio.store.read("ours", lambda b: b.items["i0"].votes)
    assert vote.ballot.comment == "It rains on."
    assert tab.page.evaluate("localStorage.length") == 0
    tab.console.clear()


def test_findings_follow_what_is_written(served, open_tab):
    studio = served().review("ours", "rfc-rewrite", items=1, manipulation="flipping",
                  rewritten="Shares of Alder Works sank 0% after its report.")  # fmt: skip
    tab = open_tab(studio.base)
    tab.sign_in("Ada")
    tab.page.goto(WORK)
    assert not tab.page.is_visible("#check"), "the text is not being written yet"
    tab.page.check("input[value=revise]")
    tab.page.wait_for_selector("#findings p", timeout=60_000)
    findings = tab.page.locator("#findings")
    tab.page.fill("#correction", "Shares of Alder Works rose 0% after its report.")
    tab.page.wait_for_selector("#findings code")
    assert "Broken" in findings.inner_text()
    tab.page.fill("#correction", "Shares of Alder Works fell 0% after its report.")
    tab.page.wait_for_selector("#findings code", state="detached")
    assert "finds nothing wrong" in findings.inner_text()
    tab.page.click("#check")
    tab.page.wait_for_selector("#findings p")
    assert studio.store.read("ours", lambda state: state.decided["Ada"]) == 0
    tab.follow("#submit")
    tab.page.wait_for_selector("#correction", state="detached")
    assert studio.store.read("ours", lambda state: state.decided["Ada"]) == 1
