"""A model's suggestions: who sees them when, what they change, and orders of one's own."""

import json

import numpy as np
import pytest

from contrafact.errors import InputError
from contrafact.review.export import decision_rows
from contrafact.review.figures.progress import agreement_by_person
from contrafact.review.project import load_project, parse_project
from contrafact.review.project_file import project_toml
from contrafact.review.setup import define_project, import_items, set_roles
from contrafact.review.state import NotAllowed, ReviewState
from contrafact.review.store.store import verify
from contrafact.review.suggestions import (
    add_suggestions,
    influence,
    own_draw,
    read_suggestions,
    suggestion_before,
)

WORK = "/r/ours/work"


def rating(**stage):
    """Return the project of ratings with another stage."""
    project = load_project("cobe-rating")
    changed = project.stage("rating").model_copy(update=stage)
    return project.model_copy(update={"stages": (changed,)})


@pytest.fixture
def made(office):
    """Makes an office of three raters with suggestions on every item: always No."""

    def make(items=60, **stage):
        own = office("cobe-rating", items=0)
        own.state = ReviewState(rating(**stage))
        define_project(own.state, own.state.project, "Max", own.now)
        for name in ("Cem", "Dia", "Eve"):
            set_roles(own.state, name, ["rater"], "Max", own.now)
        new = {f"i{n}": own.team.item(n) for n in range(items)}
        import_items(own.state, new, "Max", own.now)
        add_suggestions(
            own.state, {name: {"rating": "No"} for name in new}, "judge-1", "Max", own.now
        )
        return own

    return make


@pytest.mark.parametrize("follows", [0.0, 0.5])
def test_influence_is_what_agrees_more_where_suggestions_are_in_sight(made, follows):
    own = made(items=150, suggestions="before", suggestion_share=0.5)
    stage, rng = own.state.project.start, own.team.rng(11)
    for _ in range(150):
        for who in ("Cem", "Dia", "Eve"):
            given = own.next(who)
            seen = suggestion_before(own.state, stage, who, given.item)
            answer = "Yes" if rng.random() < 0.7 else "No"
            if seen and rng.random() < follows:
                answer = seen["rating"]
            own.say(who, {"rating": answer})
    rows = influence(own.state, own.team.rng(1))
    together = rows[0]
    assert [row.person for row in rows] == ["all", "Cem", "Dia", "Eve"]
    assert together.shown[0] + together.hidden[0] == 450
    assert 180 < together.shown[0] < 270, "about half of the decisions"
    estimate, low, high = together.difference
    expected = 0.7 * follows  # of those who would have said Yes, so many go along
    assert low < expected < high and abs(estimate - expected) < 0.12
    assert (low > 0) == (follows > 0)
    shown = [row["suggested"] for row in decision_rows(own.state)]
    assert sum(one == {"rating": "No"} for one in shown) == together.shown[0]


def test_what_is_hidden_is_hidden_from_each_person_apart_and_always_the_same(made):
    own = made(suggestions="before")
    stage = own.state.project.start
    sight = {
        who: [suggestion_before(own.state, stage, who, f"i{n}") is not None for n in range(60)]
        for who in ("Cem", "Dia")
    }
    assert sight["Cem"] != sight["Dia"]
    assert made(items=2, suggestions="none").state.suggestions
    none = made(items=2, suggestions="none")
    assert suggestion_before(none.state, none.state.project.start, "Cem", "i0") is None
    draws = [own_draw("Cem", f"i{n}", "x") for n in range(2000)]
    assert 0.47 < sum(draws) / 2000 < 0.53 and all(0 <= draw < 1 for draw in draws)


def test_what_fits_no_item_question_or_answer_is_refused(made):
    own = made(items=2)
    seq = own.state.seq
    same = {"i0": {"rating": "No"}}
    assert add_suggestions(own.state, same, "judge-1", "Max", own.now) == []
    for wrong in ({"i9": {"rating": "No"}}, {"i0": {"mood": "No"}}, {"i0": {"rating": "Maybe"}}):
        with pytest.raises(NotAllowed):
            add_suggestions(own.state, wrong, "judge-1", "Max", own.now)
    assert own.state.seq == seq


def test_shuffled_people_have_orders_of_their_own_that_stay(made):
    orders = {}
    for who in ("Cem", "Dia"):
        for _ in range(2):
            own = made(items=20, shuffled=True)
            order = [own.say(who, {"rating": "Yes"}).item for _ in range(20)]
            assert orders.setdefault(who, order) == order, "the same again"
            assert sorted(order) == sorted(own.state.items)
    plain = made(items=20)
    arrival = [plain.say("Cem", {"rating": "Yes"}).item for _ in range(20)]
    assert arrival == list(plain.state.items)
    assert len({tuple(arrival), *map(tuple, orders.values())}) == 3


def test_agreement_by_person_counts_pairs_on_one_item(made):
    own = made(items=2)
    for who, answers in (("Cem", ("Yes", "Yes")), ("Dia", ("Yes", "No")), ("Eve", ("No", "Yes"))):
        for answer in answers:
            own.say(who, {"rating": answer})
    assert agreement_by_person(own.state) == {"Cem": (2, 4), "Dia": (1, 4), "Eve": (1, 4)}


def test_verdicts_are_read_from_any_file(tmp_path):
    file = tmp_path / "v.jsonl"
    verdicts = {"a": True, "b": False, "c": None}
    rows = [{"id": name, "correct": verdict} for name, verdict in verdicts.items()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = {"Yes": "true", "No": "false"}
    assert read_suggestions(file, "rating", "correct", words) == {
        "a": {"rating": "Yes"}, "b": {"rating": "No"},
    }  # fmt: skip
    with pytest.raises(InputError, match="no 'verdict' or no id"):
        read_suggestions(file, "rating", "verdict", words)
    file.write_text(file.read_text() + json.dumps({"id": "a", "correct": False}) + "\n")
    with pytest.raises(InputError, match="'a' has two verdicts"):
        read_suggestions(file, "rating", "correct", words)


@pytest.fixture
def studio(site):
    def open_one(**stage):
        made = site()
        project = rating(suggestion_share=1.0, **stage)
        assert parse_project(project_toml(project), "own.toml") == project
        made.store.define("ours", project, "Max")
        for person in ("Cem", "Dia"):
            made.store.set_roles("ours", person, ["rater"], "Max")
            made.account(person)
        fields = {"text": "It rained.", "query": "Had it not?", "edit": "Dry."}
        made.store.import_items("ours", {f"i{n}": fields | {"id": f"i{n}"} for n in "12"}, "Max")
        given = {f"i{n}": {"rating": "No"} for n in "12"}
        assert made.store.suggest("ours", given, "<judge>", "Max") == 2
        assert made.store.suggest("ours", given, "<judge>", "Max") == 0
        return made

    return open_one


def test_a_suggestion_stands_beside_the_form(studio):
    made = studio(suggestions="before")
    cem = made.browser("Cem")
    page = cem.get(WORK)
    assert "A model’s answer" in page.text and "&lt;judge&gt;" in page.text
    assert "checked" not in page.text.split('id="q-rating"')[1].split("</fieldset>")[0]
    cem.submit(page, {"rating": "Yes"})
    (vote,) = made.store.read("ours", lambda state: state.items["i1"].votes)
    assert vote.suggested == {"rating": "No"}
    assert verify(made.store, "ours") == []


def test_a_suggestion_comes_after_ones_own_answer_and_not_before(studio):
    made = studio(suggestions="after")
    cem = made.browser("Cem")
    page = cem.get(WORK)
    assert "&lt;judge" not in page.text
    # Who asks for it before they have answered is shown none.
    assert "&lt;judge" not in cem.get(f"{WORK}?answered=i1").text
    taken = cem.submit(page, {"rating": "Yes"})
    shown = cem.get(taken.headers["location"]).text
    assert "What &lt;judge&gt; says" in shown and "(you: Yes)" in shown
    undone = cem.http.post("/r/ours/undo", data=cem.fields(shown, "undo"))
    again = cem.get(undone.headers["location"])
    taken = cem.submit(again, {"rating": "No"})
    assert "as you do" in cem.get(taken.headers["location"]).text
    assert "&lt;judge" not in made.browser("Dia").get(f"{WORK}?answered=i1").text
    rows = made.store.read("ours", lambda state: influence(state, np.random.default_rng(0)))
    assert (rows[0].shown, rows[0].hidden) == ((1, 1), (0, 0))


def test_suggestions_come_in_by_command_and_figures_show_their_influence(
    quick_contrafact, site, tmp_path
):
    (tmp_path / "own.toml").write_text(project_toml(rating(suggestions="before")))
    fields = {"text": "It rained.", "query": "Had it not?", "edit": "Dry.", "story_id": "s"}
    lines = [json.dumps({"id": f"i{n}", **fields}) for n in range(8)]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    done = quick_contrafact(
        "review", "import", "items.jsonl", "--project", "own.toml", "--person", "Cem=rater"
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "v.csv").write_text("id,verdict\n" + "".join(f"i{n},true\n" for n in range(8)))
    command = ("review", "suggest", "v.csv", "--question", "rating", "--model", "judge-1")
    assert quick_contrafact(*command).returncode == 2, "'true' is none of its answers"
    done = quick_contrafact(*command, "--word", "Yes=true")
    assert "8 of 8 suggestions are new" in done.stdout
    studio = site(str(tmp_path / "review.db"))
    studio.account("Max", manager=True)
    for _ in range(8):
        given = studio.store.next("review", "Cem")
        studio.store.answer("review", "Cem", given, {"rating": "Yes"})
    page = studio.browser("Max").get("/manage/r/review/figures").text
    assert "Influence of suggestions" in page and "agrees with others" in page
    assert quick_contrafact("review", "prove").returncode == 0


PASSAGE = "Because of the rain"


@pytest.fixture
def marking(site):
    """A studio whose raters mark evidence in the story and in its edit."""
    made = site()
    made.account("Max", manager=True)
    made.store.define("ours", rating(evidence=("text", "edit")), "Max")
    for person in ("Cem", "Dia"):
        made.store.set_roles("ours", person, ["rater"], "Max")
        made.account(person)
    fields = {
        "text": "Because of\nthe rain, 3 guests stayed.",
        "query": "Dry?",
        "edit": "They left.",
    }
    made.store.import_items("ours", {"i1": fields}, "Max")
    return made


def test_passages_are_found_where_they_stand_and_nowhere_else(marking):
    cem = marking.browser("Cem")
    page = cem.get(WORK)
    marked = f"{PASSAGE}\r\n\r\n{PASSAGE}\r\nleft"
    refused = cem.submit(page, {"rating": "No"}, evidence="Because of the snow")
    assert refused.status_code == 422 and "is not in the item" in refused.text
    assert "Because of the snow" in refused.text.split('id="evidence"')[1]
    refused = cem.submit(page, {"rating": "No"}, evidence="Dry?")
    assert refused.status_code == 422, "evidence is asked for in other fields"
    for _ in range(2):  # the same form twice is one decision
        assert cem.submit(page, {"rating": "No"}, evidence=marked).status_code == 303
    other = cem.submit(page, {"rating": "No"}, evidence="left")
    assert other.status_code == 409, "the key was used with other passages"
    (row,) = marking.store.read("ours", decision_rows)
    assert [(one["field"], one["text"]) for one in row["evidence"]] == [
        ("text", "Because of\nthe rain"), ("edit", "left"),
    ]  # fmt: skip
    item = marking.store.read("ours", lambda state: state.items["i1"])
    for one in row["evidence"]:
        assert item.fields[one["field"]][one["start"] : one["end"]] == one["text"]
    shown = marking.browser("Max").get("/manage/r/ours/items/one?id=i1").text
    assert "<mark>left</mark>" in shown
    assert verify(marking.store, "ours") == []


def test_suggestions_come_in_through_the_managers_page(site):
    studio = site()
    studio.account("Max", manager=True)
    fields = {"text": "It rained.", "query": "Had it not?", "edit": "Dry.", "story_id": "s"}
    for name, when in (("ours", "before"), ("plain", "none")):
        studio.store.define(name, rating(suggestions=when), "Max")
        studio.store.import_items(name, {f"i{n}": fields for n in range(2)}, "Max")
    manager = studio.browser("Max")
    assert "A model’s answers" not in manager.get("/manage/r/plain/import").text
    page = manager.get("/manage/r/ours/import").text
    assert "A model’s answers" in page
    sent = {"csrf": manager.csrf(), "question": "rating", "model": "judge-1", "words": "Yes=true"}

    def send(content, **more):
        file = {"file": ("v.csv", content)}
        path = "/manage/r/ours/import/suggestions"
        return manager.http.post(path, data={**sent, **more}, files=file)

    refused = send(b"id,verdict\ni0,maybe\n")
    assert refused.status_code == 422 and "Nothing was imported" in refused.text
    assert studio.store.read("ours", lambda state: dict(state.suggestions)) == {}
    taken = send(b"id,verdict\ni0,true\ni1,No\n")
    assert taken.status_code == 200 and "2 of 2 suggestions are new." in taken.text
    found = studio.store.read("ours", lambda state: dict(state.suggestions))
    assert found["i0"]["rating"] == ("Yes", "judge-1")
    assert "suggestions imported" in manager.get("/manage/log").text
