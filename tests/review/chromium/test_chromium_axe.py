"""axe-core looks at every page of the studio in a real Chromium."""

import json

import pytest
from tests.support.browser import axe_violations

WORK = "/r/ours/work"
pytestmark = pytest.mark.slow


def test_axe_finds_nothing(served, open_tab, axe):
    studio = served().review("ours", "rfc-rewrite", items=1)
    cem = {"category_correct": "true", "rewrite_valid": "pass"}
    invite = studio.accounts.invite("New", by="Max")
    tab = open_tab(studio.base)

    def check(path=None):
        if path:
            tab.page.goto(path)
        for scheme, only in (("light", ()), ("dark", ("color-contrast",))):
            tab.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            shown = axe_violations(tab.page, axe, *only)
            assert shown == [], scheme + json.dumps(shown, indent=1)

    check("/sign-in")
    check(f"/invite/{invite}")
    check("/invite/none")
    tab.console.clear()  # the browser says that this one was a 404
    tab.sign_in("Ada")
    for path in ("/", "/r/ours", WORK):
        check(path)
    tab.page.keyboard.press("2")
    tab.page.keyboard.press("?")
    check()
    tab.page.keyboard.press("Escape")
    ada = studio.browser("Ada")
    ada.submit(ada.get(WORK), {"review": "pass"})
    check(WORK)  # nothing to do
    ben = studio.browser("Ben")
    ben.submit(ben.get(WORK), {"audit": "pass"}, comment="fine")
    for who, answers in (("Cem", cem), ("Dia", {"category_correct": "false"})):
        browser = studio.browser(who)
        browser.submit(browser.get(WORK), answers, comment="why", flag="1")
    tab.context.clear_cookies()
    tab.sign_in("Eve")
    check(WORK)
    tab.press("Enter")
    tab.page.wait_for_selector(".wrong")
    check()
    tab.console.clear()  # and here, that an answer was missing: a 422
    studio.account("Man", manager=True)
    tab.context.clear_cookies()
    tab.sign_in("Man")
    check("/manage")
    check("/manage/people")
    check("/manage/log")
    item = next(iter(studio.store.read("ours", lambda b: b.items)))
    for path in ("", "/figures", "/items", f"/items/one?id={item}", "/team", "/import"):
        check(f"/manage/r/ours{path}")
    check("/account")
