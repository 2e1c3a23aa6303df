"""Whatever is sent to whichever route: the studio answers, and never with a failure of its own."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow


def text(value):
    """A form's field, of whatever the description allows."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def codes_of(operation, browser, token, examples):
    """Send what an operation's description allows; return the statuses that came back."""
    codes = set()

    @settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), real=st.booleans())
    def check(case, real):
        if real and "review" in case.path_parameters:
            case.path_parameters["review"] = "ours"
        fields = dict(case.body) if isinstance(case.body, dict) else {}
        sent = {**{name: text(value) for name, value in fields.items()}, "csrf": token}
        # The client raises what the app did not deal with.
        answer = browser.http.request(
            case.method,
            case.formatted_path,
            params=case.query,
            data=None if case.method == "GET" else sent,
        )
        assert answer.status_code < 500
        codes.add(answer.status_code)

    check()
    return codes


@pytest.mark.parametrize("who", [None, "Ben", "Man"])
def test_nothing_that_is_sent_makes_the_studio_fail(site, who, request):
    schemathesis = pytest.importorskip("schemathesis")
    # A manager's forms reach the database, and PostgreSQL takes fewer texts than SQLite.
    studio = site(request.getfixturevalue("postgresql_database") if who == "Man" else None).review(
        "ours", "rfc-rewrite"
    )
    studio.account("Man", manager=True)
    browser = studio.browser(who)
    token = browser.csrf() if who is None else browser.fields(browser.get("/").text)["csrf"]
    schema = schemathesis.openapi.from_dict(studio.app.openapi())
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 10
    for operation in operations:
        # Where everything is refused before it is read, many examples prove no more than two.
        refused = who != "Man" and operation.path.startswith("/manage")
        signed_out = who is None and "{review}" in operation.path
        if operation.path != "/sign-out":  # it would end what the others need
            examples = 2 if refused or signed_out else 8
            assert codes_of(operation, browser, token, examples), operation.label
    assert studio.browser("Man").get("/").status_code == 200
