"""Discussions through the pages: threads, one recorded decision; another wording."""

import html

import pytest

from contrafact.review.project import builtin_projects, load_project, parse_project
from contrafact.review.store.store import verify
from contrafact.review.web.manage_files import project_toml

HOSTILE = "<script>alert(1)</script>"
EVENT = {
    "event_status": "true",
    "material_relevance": "true",
    "market_category": "Macroeconomic indicators",
}


@pytest.fixture
def studio(site):
    made = site()
    made.account("Max", manager=True)
    made.review("ours", "headline-screening", items=1)
    cem = made.browser("Cem")
    cem.submit(cem.get("/r/ours/work"), EVENT, flag="1", comment="is it news?")
    return made


def speak(browser, text):
    page = browser.get("/r/ours/discuss/one?id=i0").text
    fields = {**browser.fields(page, "say"), "text": text}
    return browser.http.post("/r/ours/discuss", data=fields)


def test_a_discussion_from_the_list_to_the_recorded_decision(studio):
    people = {who: studio.browser(who) for who in ("Cem", "Dia", "Eve", "Fay")}
    assert "Discuss 1 item" in people["Dia"].get("/r/ours/work").text
    assert "0 of 3 have spoken" in people["Dia"].get("/r/ours/discuss").text
    assert "nothing for you to discuss" in people["Fay"].get("/r/ours/discuss").text
    assert people["Fay"].get("/r/ours/discuss/one?id=i0").status_code == 404
    page = people["Dia"].get("/r/ours/discuss/one?id=i0").text
    assert "is it news?" in page and "Cem" not in page, "who voted is not shown"
    for who in ("Cem", "Dia", "Eve"):
        taken = speak(people[who], f"{who} says {HOSTILE}")
        assert taken.status_code == 303
    page = people["Cem"].get("/r/ours/discuss/one?id=i0").text
    assert HOSTILE not in page and html.escape("Eve says <script>") in page
    assert "Record the group" in page
    late = {**people["Cem"].fields(page, "say"), "text": "Too late."}
    sheet = people["Eve"].get("/r/ours/work")
    assert "Dia says" in sheet.text, "the thread stands beside the decision"
    assert people["Eve"].submit(sheet, EVENT).status_code == 303
    item = studio.store.read("ours", lambda state: state.items["i0"])
    assert (item.outcome, item.votes[-1].group) == ("final", ("Cem", "Dia", "Eve"))
    refused = people["Cem"].http.post("/r/ours/discuss", data=late)
    assert refused.status_code == 409 and "cannot discuss" in refused.text
    assert verify(studio.store, "ours") == []


def test_a_remark_that_is_not_taken_is_shown_again(studio):
    dia = studio.browser("Dia")
    refused = speak(dia, "y" * 10_001)
    assert refused.status_code == 422 and "y" * 10_001 in refused.text


@pytest.mark.parametrize("name", builtin_projects())
def test_a_project_written_as_a_file_is_the_same_project(name):
    project = load_project(name)
    odd = 'a "quoted" \\ line\x7f\n\n  """three""" and é'
    for one in (project, project.model_copy(update={"guidelines": odd, "title": odd})):
        assert parse_project(project_toml(one), "own.toml") == one
