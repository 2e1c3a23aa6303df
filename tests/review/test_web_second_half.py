"""The second half of signing in: codes of an app, recovery codes, and an OpenID provider."""

import base64
import html
import re

import httpx
import pyotp
import pytest
from tests.support.openid_provider import Provider

from contrafact.review.web.openid import OpenIDSettings, ProviderProblem

PASSWORD = "otter lantern gravel 7"
# RFC 6238, appendix B: SHA-1, of which six digits are the last ones of eight.
VECTORS = {59: "94287082", 1111111109: "07081804", 1111111111: "14050471",
           1234567890: "89005924", 2000000000: "69279037"}  # fmt: skip


@pytest.fixture
def studio(site):
    made = site()
    made.review("ours", "cobe-rating", items=1)
    return made


def turn_on(studio, name="Cem"):
    """Ask somebody for a code from now on; return their app and recovery codes."""
    browser = studio.browser(name)
    page = html.unescape(browser.get("/account/code").text)
    secret = re.search(r'class="link">([A-Z2-7 ]+)<', page)[1].replace(" ", "")
    assert f"secret={secret}" in page, "the link says the same key"
    (picture,) = re.findall(r'<svg[^>]*class="qr">.*?</svg>', page, re.DOTALL)
    assert "<path" in picture and "style=" not in picture, "inline styles are not let through"
    app = pyotp.TOTP(secret)
    assert browser.post("/account/code", {"code": "000000"}).status_code in (200, 422)
    taken = browser.post("/account/code", {"code": app.at(int(studio.now))})
    codes = re.findall(r"<code>([0-9a-f-]{20})</code>", taken.text)
    assert taken.status_code == 200 and len(codes) == 10
    assert browser.get("/").status_code == 200, "this browser stays signed in"
    studio.now += 60
    return app, codes


@pytest.mark.parametrize(("at", "code"), VECTORS.items())
def test_codes_are_those_of_the_standard(studio, at, code):
    from sqlalchemy import insert

    from contrafact.review.store.database import second_factors

    secret = base64.b32encode(b"12345678901234567890").decode()
    row = {"account": "Cem", "secret": secret, "since": 0.0, "step": 0}
    with studio.store.engine.begin() as connection:
        connection.execute(insert(second_factors).values(**row))
    studio.now = float(at)
    factors = studio.studio.second_factors
    assert factors.take("Cem", code[-6:])
    assert not factors.take("Cem", code[-6:]), "each is taken once"


def test_a_password_alone_signs_nobody_in_who_has_a_second_factor(studio):
    app, _ = turn_on(studio)
    browser = studio.browser()
    half = browser.sign_in("Cem")
    assert half.headers["location"] == "/sign-in/code"
    assert browser.get("/").status_code == 303, "not signed in yet"
    stranger = studio.browser()
    assert stranger.get("/sign-in/code").headers["location"] == "/sign-in"
    wrong = browser.post("/sign-in/code", {"code": "123456"})
    assert wrong.status_code == 401 and "not right" in wrong.text
    code = app.at(int(studio.now))
    done = browser.post("/sign-in/code", {"code": f"{code[:3]} {code[3:]}"})
    assert done.status_code == 303 and browser.get("/").status_code == 200
    again = studio.browser()
    again.sign_in("Cem")
    assert again.post("/sign-in/code", {"code": code}).status_code == 401, "taken already"
    studio.now += 30 * 60
    assert (
        again.post("/sign-in/code", {"code": app.at(int(studio.now))}).headers["location"]
        == "/sign-in"
    ), "the first half is too old"


def test_clocks_may_differ_by_one_interval_and_no_more(studio):
    app, _ = turn_on(studio)
    factors, now = studio.studio.second_factors, int(studio.now)
    assert not factors.take("Cem", app.at(now - 60)) and not factors.take("Cem", app.at(now + 60))
    assert factors.take("Cem", app.at(now - 30)) and factors.take("Cem", app.at(now + 30))
    assert not factors.take("Cem", app.at(now)), "one that is older than the last is not taken"


def test_guesses_of_codes_are_slowed_and_a_right_password_forgives_none(studio):
    app, _ = turn_on(studio)
    browser, statuses = studio.browser(), []
    for _ in range(12):
        browser.sign_in("Cem")
        statuses.append(browser.post("/sign-in/code", {"code": "000000"}).status_code)
    assert statuses.count(401) < 12 and statuses[-1] == 429
    assert browser.post("/sign-in/code", {"code": app.at(int(studio.now))}).status_code == 429
    assert "code refused" in {line.action for line in studio.accounts.audit_log()}


def test_a_recovery_code_stands_for_the_app_once(studio):
    _, codes = turn_on(studio)
    for expected in (303, 401):
        browser = studio.browser()
        browser.sign_in("Cem")
        taken = browser.post("/sign-in/code", {"code": codes[0].upper()})
        assert taken.status_code == expected
    assert studio.studio.second_factors.left("Cem") == 9
    browser = studio.browser()
    browser.sign_in("Cem")
    browser.post("/sign-in/code", {"code": codes[1]})
    assert "8 recovery codes left" in browser.get("/account/code").text
    assert browser.post("/account/code/off", {"password": "wrong"}).status_code == 422
    assert browser.post("/account/code/off", {"password": PASSWORD}).status_code == 303
    assert studio.browser().sign_in("Cem").headers["location"] == "/"


def test_a_manager_turns_it_off_and_a_new_link_does_not(studio):
    turn_on(studio)
    studio.account("Max", manager=True)
    secret = studio.accounts.invite("Cem", by="Max")
    browser = studio.browser()
    fields = {"password": "basket lamp river 9", "again": "basket lamp river 9"}
    assert browser.post(f"/invite/{secret}", fields).headers["location"] == "/sign-in/code"
    manager = studio.browser("Max")
    assert "Turn the second factor off: Cem" in manager.get("/manage/people").text
    off = manager.post("/manage/people/change", {"name": "Cem", "what": "no-factor"})
    assert off.status_code == 303
    assert studio.browser().sign_in("Cem", fields["password"]).headers["location"] == "/"
    log = {(line.action, line.who, line.detail) for line in studio.accounts.audit_log()}
    assert ("second factor off", "Max", "Cem") in log


@pytest.fixture
def provider():
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def linked(site, provider):
    """A studio with a provider, through which Cem signs in."""
    settings = OpenIDSettings(provider.issuer, provider.client, provider.secret, "Example")
    studio = site(openid=settings)
    provider.now = lambda: studio.now
    studio.review("ours", "cobe-rating", items=1)
    browser = studio.browser("Cem")
    done = come_back(browser, browser.post("/account/provider", {}))
    assert done.headers["location"] == "/account"
    assert "You can sign in with Example" in browser.get("/account").text
    return studio


def come_back(browser, sent):
    """Follow a browser to the provider and back; return what the studio answers."""
    assert sent.status_code == 303, sent.text
    there = httpx.get(sent.headers["location"])
    return browser.get(there.headers["location"].removeprefix("http://testserver"))


def test_whoever_is_linked_signs_in_through_the_provider(linked, provider):
    browser = linked.browser()
    assert "Sign in with Example" in browser.get("/sign-in").text
    done = come_back(browser, browser.get("/sign-in/provider?next=/r/ours/work"))
    assert (done.status_code, done.headers["location"]) == (303, "/r/ours/work")
    assert "Cem" in browser.get("/").text
    assert provider.asked.count("/keys") == 1, "keys are kept"
    provider.rotate()
    linked.now += 61
    other = linked.browser()
    assert come_back(other, other.get("/sign-in/provider")).status_code == 303, "a new key is found"


def test_nobody_else_does(linked, provider):
    provider.subject = "u-18"
    browser = linked.browser()
    refused = come_back(browser, browser.get("/sign-in/provider"))
    assert refused.status_code == 403 and "o account here is linked" in refused.text
    dia = linked.browser("Dia")
    provider.subject = "u-17"
    taken = come_back(dia, dia.post("/account/provider", {}))
    assert taken.status_code == 403 and "another account" in taken.text
    linked.accounts.set_active("Cem", False, by="Max")
    again = linked.browser()
    assert come_back(again, again.get("/sign-in/provider")).status_code == 403


@pytest.mark.parametrize(
    "broken",
    ["state", "denied", "token", "not json", "nonce", "audience", "shared", "expired",
     "token issuer", "nobody", "unsigned", "confused", "forged", "key"],
)  # fmt: skip
def test_a_provider_that_fails_signs_nobody_in(linked, provider, broken):
    provider.broken = broken
    browser = linked.browser()
    answer = come_back(browser, browser.get("/sign-in/provider"))
    assert answer.status_code == 502, answer.text
    assert browser.get("/").status_code == 303
    provider.broken = ""
    assert come_back(browser, browser.get("/sign-in/provider")).status_code == 303
    assert any(line.action == "provider sign-in failed" for line in linked.accounts.audit_log())


@pytest.mark.parametrize("broken", ["discovery", "issuer", "plain token"])
def test_a_provider_that_describes_itself_wrongly_is_not_asked(site, provider, broken):
    provider.broken = broken
    studio = site(openid=OpenIDSettings(provider.issuer, provider.client, provider.secret))
    browser = studio.browser()
    sent = browser.get("/sign-in/provider")
    if broken == "plain token":  # the code would be sent for all to read
        sent = come_back(browser, sent)
    assert sent.status_code == 502 and "rovider" in sent.text


def test_a_way_back_serves_once_and_in_the_browser_that_began(linked):
    browser, thief = linked.browser(), linked.browser()
    sent = browser.get("/sign-in/provider")
    there = httpx.get(sent.headers["location"]).headers["location"]
    back = there.removeprefix("http://testserver")
    assert thief.get(back).status_code == 502
    assert browser.get(back).status_code == 303
    assert browser.get(back).status_code == 502


def test_an_invitation_is_used_without_a_password(linked, provider):
    provider.subject = "u-20"
    secret = linked.accounts.invite("Eva", by="Max")
    browser = linked.browser()
    assert "Sign in with Example instead" in browser.get(f"/invite/{secret}").text
    done = come_back(browser, browser.post(f"/invite/{secret}/provider", {}))
    assert done.status_code == 303 and "Eva" in browser.get("/").text
    assert linked.accounts.find("Eva").ready and linked.accounts.invited(secret) is None
    assert browser.post(f"/invite/{secret}/provider", {}).status_code == 404


def test_a_second_factor_is_asked_for_after_the_provider_too(linked):
    app, _ = turn_on(linked)
    browser = linked.browser()
    half = come_back(browser, browser.get("/sign-in/provider?next=/r/ours"))
    assert half.headers["location"] == "/sign-in/code"
    done = browser.post("/sign-in/code", {"code": app.at(int(linked.now))})
    assert done.headers["location"] == "/r/ours"


def test_without_a_provider_there_is_no_such_page(studio):
    for path in ("/sign-in/provider", "/sign-in/provider/back"):
        assert studio.browser().get(path).status_code == 404


@pytest.mark.parametrize("issuer", ["http://id.example.org", "ftp://x", "id.example.org", ""])
def test_a_provider_is_reached_by_tls(issuer):
    with pytest.raises(ProviderProblem, match="https"):
        OpenIDSettings(issuer, "studio")
