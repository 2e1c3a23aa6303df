"""The manager's pages: what they do, whom they refuse, and what hostile files and names come to."""

import html
import json
import re
from datetime import timedelta

import anyio
import pandas as pd
import pytest

from contrafact.family.review import review_files
from contrafact.review.answers import Decision
from contrafact.review.corrections import withdraw
from contrafact.review.project import load_project, parse_project
from contrafact.review.setup import import_items, set_roles
from contrafact.review.web.serve import settle_all, settling
from contrafact.review.workflow import settle

HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def studio(site):
    made = site()
    made.account("Max", manager=True)
    made.review("ours", "cobe-rating", items=3)
    return made


@pytest.fixture
def max_(studio):
    return studio.browser("Max")


def upload(browser, path, name, content, **fields):
    return browser.post(path, fields, files={"file": (name, content)})


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def story(number, **more):
    return {"id": f"n{number}", "text": "It rained.", "query": "Had it not?", "edit": "Dry.",
            "story_id": "1v1", **more}  # fmt: skip


def test_a_review_that_is_not_there_is_not_found(studio, max_):
    paths = studio.app.openapi()["paths"].items()
    found = [path for path, methods in paths if "{review}" in path and "get" in methods]
    for path in (path for path in found if path.startswith("/manage")):
        path = path.replace("{file}", "decisions.csv") + "?id=i0" * path.endswith("/one")
        for name in ("nowhere", "~Li4vLi4", "%2e%2e", "'; DROP TABLE events; --"):
            assert max_.get(path.replace("{review}", name)).status_code in (404, 405)


def test_a_manager_opens_a_review_and_invites_people_into_it(studio, max_):
    taken = max_.post("/manage", {"name": "new one", "project": "rfc-rewrite"})
    assert taken.status_code == 303
    page = max_.get(taken.headers["location"])
    assert "new one" in page.text and "What to do next" in page.text
    assert "Import the items" in page.text and "Invite the people" in page.text
    again = max_.post("/manage", {"name": "new one", "project": "rfc-rewrite"})
    assert again.status_code == 409 and "already" in again.text
    assert max_.post("/manage", {"name": "x", "project": "tarot"}).status_code == 422
    invited = max_.post("/manage/people/invite", {"name": "Zoë"})
    link = html.unescape(re.search(r'class="link"[^>]*>([^<]+)<', invited.text)[1])
    assert link.startswith("http://testserver/invite/")
    assert studio.accounts.invited(link.rpartition("/")[2]) == "Zoë"
    assert link not in max_.get("/manage/people").text
    team = taken.headers["location"] + "/team/invite"
    page = max_.post(team, {"names": "Zoë\n Yan \n\nZoë\nCem", "roles": ["expert-a", "annotator"]})
    assert page.status_code == 200 and "roles of 3 people" in page.text
    links = re.findall(r'data-copy="([^"]+)">(http://testserver/invite/[\w-]+)<', page.text)
    assert [html.unescape(name) for name, _ in links] == ["Zoë", "Yan"], "Cem has an account"
    for name, link in links:
        assert studio.accounts.invited(link.rpartition("/")[2]) == html.unescape(name)
    person = studio.store.read("new one", lambda b: b.people["Zoë"])
    assert set(person.roles) == {"expert-a", "annotator"} and not person.trained
    wrong = max_.post(team, {"names": "Una", "roles": "pope"})
    assert wrong.status_code == 422 and "pope" in html.unescape(wrong.text)
    rests = max_.post(team, {"names": "Zoë", "roles": "annotator", "active": "false"})
    assert "roles of 1 person" in rests.text and "data-copy" not in rests.text
    person = studio.store.read("new one", lambda b: b.people["Zoë"])
    assert person.roles == ("annotator",) and not person.active


def test_accounts_are_closed_and_opened_and_the_last_manager_stays(studio, max_):
    change = "/manage/people/change"
    assert max_.post(change, {"name": "Cem", "what": "close"}).status_code == 303
    assert not studio.accounts.find("Cem").active
    assert max_.post(change, {"name": "Cem", "what": "open"}).status_code == 303
    assert studio.accounts.find("Cem").active
    refused = max_.post(change, {"name": "Max", "what": "close"})
    assert refused.status_code == 409 and "only manager" in refused.text
    assert max_.post(change, {"name": "Cem", "what": "pope"}).status_code == 422
    assert max_.post(change, {"name": "Nobody", "what": "close"}).status_code == 409


def test_what_managers_do_is_in_the_log(studio, max_):
    max_.post("/manage/people/invite", {"name": "Zoë"})
    max_.post("/manage/r/ours/stage", {"stage": "rating", "what": "close"})
    max_.get("/manage/r/ours/export/history.csv")
    log = max_.get("/manage/log").text
    for message in ("invited", "Zoë", "stage: close", "ours: rating", "exported", "192.0.2.7"):
        assert message in log


def test_items_are_uploaded_in_every_form(studio, max_):
    path = "/manage/r/ours/import/items"
    page = upload(max_, path, "new.jsonl", lines([story(1), story(2)]))
    assert page.status_code == 200 and "2 of 2 items are new." in page.text
    frame = pd.DataFrame([story(2), story(3)])
    assert "1 of 2 items are new." in upload(max_, path, "n.csv", frame.to_csv(index=False)).text
    named = pd.DataFrame([story(4)]).rename(columns={"edit": "answer"})
    names = {"names": "edit = answer\n"}
    parquet = upload(max_, path, "n.parquet", named.to_parquet(), **names)
    assert "1 of 1 items are new." in parquet.text
    assert studio.store.read("ours", lambda b: b.items["n4"].fields["edit"]) == "Dry."
    assert max_.get("/manage/r/ours/import").status_code == 200


BAD_FILES = [
    ("a.jsonl", b'{"text": "x"}\n', "a.jsonl:1: has no 'query'"),
    ("a.jsonl", lines([story(1)]) + b"{", "a.jsonl:2: a JSON object extends over"),
    ("a.csv", b"text,query\nx,y,z\n", "a.csv:2: the row has 3 cells"),
    ("a.parquet", b"PAR1 no", "a.parquet: is not Parquet"),
    ("a.xlsx", b"PK\x03\x04", "a.xlsx: is not an Excel workbook"),
    ("../../etc/passwd", b"root", "passwd:"),
    ("C:\\data\\a.json", b"[3]", "a.json:1: the row is a number"),
    (f"{HOSTILE}.json", b"[3]", "the row is a number"),
    ("", b"", "A field of the form is missing or invalid"),
    ("empty.jsonl", b"", "empty.jsonl: the file is empty"),
    ("a.jsonl", b'{"id": "\\ud800", "text": 3, "query": [], "edit": 1}\n', "a.jsonl:1: "),
]


def test_a_bad_file_is_reported_by_its_line_and_taken_in_no_part(studio, max_):
    before = len(studio.store.history("ours"))
    for name, content, message in BAD_FILES:
        page = upload(max_, "/manage/r/ours/import/items", name, content)
        assert page.status_code == 422, name
        assert message in html.unescape(page.text)
        assert "<script>alert" not in page.text and "/tmp/" not in page.text
    assert len(studio.store.history("ours")) == before


def test_an_upload_over_the_limit_is_refused(site):
    studio = site(upload_limit=20_000)
    studio.account("Max", manager=True)
    studio.review("ours", "cobe-rating", items=0)
    big = lines([story(n) for n in range(500)])
    answer = upload(studio.browser("Max"), "/manage/r/ours/import/items", "a.jsonl", big)
    assert answer.status_code == 413
    assert studio.store.read("ours", lambda b: len(b.items)) == 0


def test_training_items_are_uploaded(site):
    studio = site()
    studio.account("Max", manager=True)
    studio.review("ours", "judge-agreement", items=1)
    row = {"headline": "Corvane Rail opens a line", "side": "risk", "counterfactual": "It closes.",
           "forward_compatibility": True, "directionality": False}  # fmt: skip
    browser = studio.browser("Max")
    path = "/manage/r/ours/import/items"
    page = upload(browser, path, "gold.jsonl", lines([row]), training="true")
    assert "1 of 1 training items are new." in page.text
    assert len(studio.store.read("ours", lambda b: b.gold)) == 1


def test_a_stage_is_closed_and_opened(studio, max_):
    path = "/manage/r/ours/stage"
    assert max_.post(path, {"stage": "rating", "what": "close"}).status_code == 303
    assert studio.store.next("ours", "Cem") is None
    assert "closed" in max_.get("/manage/r/ours").text
    assert max_.post(path, {"stage": "rating", "what": "open"}).status_code == 303
    assert studio.store.next("ours", "Cem") is not None
    wrong = max_.post(path, {"stage": HOSTILE, "what": "close"})
    assert wrong.status_code == 409 and "<script>alert" not in wrong.text
    assert max_.post(path, {"stage": "rating", "what": "settle"}).status_code == 409
    kinds = [e.kind for e in studio.store.history("ours")]
    assert kinds.count("stage") == 2


def test_an_item_is_reopened_and_withdrawn_with_a_reason(studio, max_):
    for who in ("Cem", "Dia", "Eve"):
        given = studio.store.next("ours", who)
        studio.store.answer("ours", who, given, Decision({"rating": "Yes"}))
    name = given.item
    assert studio.store.read("ours", lambda b: b.items[name].outcome) == "final"
    where, about = "/manage/r/ours/items", {"item": name, "stage": "rating"}
    assert max_.post(where, about).status_code == 409
    assert max_.post(where, {**about, "reason": "a slip"}).status_code == 303
    assert studio.store.read("ours", lambda b: b.items[name].stage) == "rating"
    page = max_.get(f"{where}/one?id={name}")
    assert "reopened: a slip" in page.text and page.text.count("(set aside)") == 3
    gone = {"item": [name, "i1", "none"], "reason": "<b>taken back</b>", "what": "withdraw"}
    taken = max_.post(where, gone)
    assert taken.status_code == 409 and "2 of 3 items were changed" in taken.text
    assert "there is no item 'none'" in html.unescape(taken.text)
    assert studio.store.read("ours", lambda b: b.items["i1"].outcome) == "removed"
    assert "withdrawn already" in max_.post(where, gone).text
    several = {"item": [name, "i1"], "reason": "back again", "stage": "rating"}
    to = max_.post(f"{where}?text=&state=removed&page=2", several).headers["location"]
    assert to == f"{where}?text=&state=removed&page=2&changed=2"
    assert "2 were changed" in max_.get(to).text
    assert studio.store.read("ours", lambda b: b.items["i1"].stage) == "rating"
    assert "<b>taken" not in max_.get(f"{where}/one?id=i1").text


def test_items_are_found_by_words_of_them_and_their_votes_and_by_state(studio, max_):
    answers = (("Cem", "Yes", {}), ("Dia", "No", {"flagged": True, "comment": "Odd: rain?"}))
    for who, rating, more in answers:
        given = studio.store.next("ours", who)
        studio.store.answer("ours", who, given, Decision({"rating": rating}, **more))

    def found(**wanted):
        page = max_.get("/manage/r/ours/items", params=wanted)
        assert page.status_code == 200
        return re.findall(r'<th scope="row"><a[^>]*>([^<]+)</a>', page.text)

    assert found() == ["i0", "i1", "i2"]
    assert found(text="I2 RAIN") == ["i2"] and found(text="no such thing") == []
    assert found(text="odd: rain?") == found(text="flag") == found(text="dia no") == ["i0"]
    assert found(state="open") == found(state="rating") == ["i0", "i1", "i2"]
    assert found(state="final") == [] == found(state="withdrawn")
    studio.store.act("ours", withdraw, "Max", "i2", "gone")
    assert found(state="withdrawn") == ["i2"] and found(state="open") == ["i0", "i1"]
    page = max_.get("/manage/r/ours/items/one?id=i0").text
    assert "Dia: No (flag)" in page and "<blockquote>Odd: rain?</blockquote>" in page
    assert max_.get("/manage/r/ours/items/one?id=none").status_code == 404
    many = {f"m{n}": {**made, "text": f"The {n}th"} for n in range(60) for made in [story(n)]}
    studio.store.act("ours", import_items, "Max", many)
    assert len(found()) == 50 and len(found(page=2)) == 13 == len(found(page=99))


def test_the_page_of_figures_shows_progress_and_agreement(studio, max_):
    assert "None yet: fewer than two people" in max_.get("/manage/r/ours/figures").text
    for who in ("Cem", "Dia"):
        for _ in range(3):
            given = studio.store.next("ours", who)
            rating = "Yes" if who == "Cem" else "No"
            studio.store.answer("ours", who, given, Decision({"rating": rating}))
    assert max_.get("/manage/r/ours").status_code == 200
    page = max_.get("/manage/r/ours/figures")
    text = html.unescape(page.text)
    assert "3 items, 2 raters, 6 ratings. Agreement 0.0%" in text
    assert "Of 3 items 0 have ended" in text
    given = studio.store.next("ours", "Eve")
    studio.store.answer("ours", "Eve", given, Decision({"rating": "Yes"}))
    text = html.unescape(max_.get("/manage/r/ours/figures").text)
    assert "Of 3 items 1 have ended" in text and "3 raters, 7 ratings" in text


def test_everything_can_be_exported_at_any_time(studio, max_):
    given = studio.store.next("ours", "Cem")
    studio.store.answer("ours", "Cem", given, Decision({"rating": "Other"}, comment="=cmd()"))
    for what in ("decisions", "items", "ratings", "sheet", "history"):
        for form in ("jsonl", "csv", "parquet"):
            answer = max_.get(f"/manage/r/ours/export/{what}.{form}")
            assert answer.status_code == 200
            assert answer.headers["content-disposition"] == f'attachment; filename="{what}.{form}"'
            if form == "csv" and what in ("decisions", "sheet"):
                assert "'=cmd()" in answer.text and ",=cmd()" not in answer.text
            if form == "jsonl":
                assert all(json.loads(line) for line in answer.text.splitlines())


def test_wrong_exports_are_reported(studio, max_):
    for name in ("decisions.exe", "passwords.csv", "..%2f..%2fdecisions.csv", "decisions"):
        assert max_.get(f"/manage/r/ours/export/{name}").status_code == 404
    given = studio.store.next("ours", "Cem")
    studio.store.answer("ours", "Cem", given, Decision({"rating": "Yes"}))
    assert max_.get("/manage/r/ours/export/labels.csv").status_code == 422
    assert max_.get("/manage/r/ours/export/ratings.csv?stage=nowhere").status_code == 422


def test_hostile_names_and_texts_are_shown_as_texts(site):
    studio = site()
    studio.account("Max", manager=True)
    studio.review("ours", "cobe-rating", items=1, domain=HOSTILE)
    name = HOSTILE
    studio.account(name)
    studio.store.act("ours", set_roles, "Max", name, ["rater"])
    given = studio.store.next("ours", name)
    studio.store.answer("ours", name, given, Decision({"rating": "Other"}, comment=HOSTILE))
    studio.store.next("ours", "Cem")
    browser = studio.browser("Max")
    shown = ("", "/figures", "/team", "/import")
    for path in ("", "/people", "/log", *(f"/r/ours{one}" for one in shown)):
        page = browser.get(f"/manage{path}")
        assert page.status_code == 200 and "<script>alert" not in page.text


def test_the_words_of_a_review_are_changed_and_nothing_else(studio, max_):
    project = load_project("cobe-rating")
    head = f'name = "{project.name}"\ntitle = "Other title"\n'
    text = review_files()["cobe-rating"].read_text("utf-8")
    changed = text.replace('title = "Rating of edited stories"', 'title = "Other title"')
    changed = changed.replace('guidelines = """', f'guidelines = """*Look* twice. {HOSTILE}')
    before = studio.store.read("ours", lambda state: state.project)
    assert "new wording" in upload(max_, "/manage/r/ours/wording", "p.toml", changed).text
    assert "Other title" in max_.get("/manage/r/ours").text
    page = studio.browser("Dia").get("/r/ours").text
    assert "<em>Look</em> twice." in page and HOSTILE not in page
    assert "wording changed" in max_.get("/manage/log").text
    again = max_.get("/manage/r/ours/project.toml")
    assert again.headers["content-type"].startswith("application/toml")
    kept = studio.store.read("ours", lambda state: state.project)
    assert parse_project(again.text, "again") == kept and kept.title == "Other title"
    assert kept.stages == before.stages and kept.guidelines_version != before.guidelines_version
    other = changed.replace('"Other"]', '"Other", "Never"]')
    refused = upload(max_, "/manage/r/ours/wording", "p.toml", other)
    assert refused.status_code == 422 and "stages, rules and answers" in refused.text
    assert upload(max_, "/manage/r/ours/wording", "p.toml", head).status_code == 422
    assert upload(max_, "/manage/r/ours/wording", "p.toml", b"\xff").status_code == 422


def test_what_is_due_goes_on_without_anybodys_click(site):
    studio = site()
    studio.account("Max", manager=True)
    studio.review("ours", "headline-screening", items=8)
    for _ in range(4):
        given = studio.store.next("ours", "Cem")
        studio.store.answer("ours", "Cem", given, Decision({"event_status": "false"}))
    assert studio.store.next("ours", "Fay") is None
    now = studio.store._clock()
    studio.store._clock = lambda: now + timedelta(days=3)

    async def run():
        async with settling(studio.store, every=0.01):
            for _ in range(500):
                if studio.store.read("ours", lambda state: len(state.batches)):
                    return
                await anyio.sleep(0.01)

    anyio.run(run)
    assert studio.store.next("ours", "Fay").stage == "verification"


def test_a_review_that_cannot_be_settled_does_not_stop_the_others(studio, caplog):
    class Broken:
        def __init__(self, store):
            self.store, self.settled = store, []

        def reviews(self):
            return ["broken", "ours"]

        def act(self, review, action):
            assert action is settle
            if review == "broken":
                raise ValueError("damaged")
            self.settled.append(review)

    broken = Broken(studio.store)
    settle_all(broken)
    assert broken.settled == ["ours"]
    assert "failed to release" in caplog.text
