"""A proxy signs people in and names them in a header; nobody else is believed."""

import html
from unicodedata import normalize

import pytest

from contrafact.review.web.studio import TrustedProxy

PROXY = "198.51.100.4"
CEM = {"X-Remote-User": "Cem"}


@pytest.fixture
def studio(site):
    return site(proxy=TrustedProxy("X-Remote-User", PROXY)).review("ours", "cobe-rating", items=2)


def test_whom_the_proxy_names_works_as_if_signed_in(studio):
    browser = studio.browser(address=PROXY)
    browser.http.headers.update(CEM)
    page = browser.get("/r/ours/work")
    assert page.status_code == 200 and "Sign out" not in page.text
    taken = browser.submit(page, {"rating": "Yes"})
    assert taken.status_code == 303
    votes = studio.store.read("ours", lambda s: [v.who for i in s.items.values() for v in i.votes])
    assert votes == ["Cem"]
    assert browser.get("/manage").status_code == 403, "named, and no manager"


def test_a_form_of_another_browser_is_refused(studio):
    browser, other = (studio.browser(address=PROXY) for _ in range(2))
    for one in (browser, other):
        one.http.headers.update(CEM)
    page = browser.get("/r/ours/work")
    assert other.submit(page, {"rating": "Yes"}).status_code == 403


def test_the_header_is_refused_from_elsewhere(studio):
    browser = studio.browser("Dia", address="203.0.113.9")
    assert browser.get("/r/ours/work").status_code == 200
    browser.http.headers.update(CEM)
    for path in ("/r/ours/work", "/sign-in", "/manage"):
        page = browser.get(path)
        assert page.status_code == 403
        assert "trusted proxy" in html.unescape(page.text)


@pytest.mark.parametrize("name", ["Zoe", "", "x" * 300, "closed"])
def test_a_name_without_an_open_account_gets_a_clear_page(studio, name):
    studio.account("closed")
    studio.accounts.set_active("closed", False, by="Max")
    browser = studio.browser(address=PROXY)
    page = browser.get("/", headers={"X-Remote-User": name})
    assert page.status_code == 403
    assert "who has no open account here" in html.unescape(page.text)
    assert "ask a manager to invite you under this name" in page.text


def test_a_name_beyond_ascii_is_read_as_proxies_write_it(studio):
    studio.account("Zoë")
    page = studio.browser(address=PROXY).get("/", headers={"X-Remote-User": "Zoë".encode()})
    assert page.status_code == 200 and "Zoë" in page.text


@pytest.mark.parametrize("kept", ["NFC", "NFD"])
@pytest.mark.parametrize("sent", ["NFC", "NFD"])
def test_a_name_is_known_however_its_accents_are_written(studio, kept, sent):
    studio.account(normalize(kept, "Åsa Zoë"))
    header = {"X-Remote-User": normalize(sent, "Åsa Zoë").encode()}
    assert studio.browser(address=PROXY).get("/", headers=header).status_code == 200


def test_a_header_that_the_proxy_added_to_a_browsers_own_is_refused(studio):
    named = [("X-Remote-User", "Dia"), ("X-Remote-User", "Cem")]
    page = studio.browser(address=PROXY).get("/r/ours/work", headers=named)
    assert page.status_code == 403 and "occurs twice" in page.text


def test_without_the_header_people_sign_in_with_their_passwords(studio):
    browser = studio.browser(address=PROXY)
    assert browser.get("/r/ours/work").status_code == 303
    assert browser.sign_in("Cem").status_code == 303
    assert browser.get("/r/ours/work").status_code == 200


def test_without_the_setting_no_header_is_looked_at(site):
    plain = site()
    plain.review("ours", "cobe-rating")
    assert plain.browser(address=PROXY).get("/r/ours/work", headers=CEM).status_code == 303
