"""A project that could not work is refused when it is read, and the message says why."""

import pytest

from contrafact.errors import InputError
from contrafact.families.finforce.data import CATEGORIES
from contrafact.families.rfc.decisions import ALLOWED
from contrafact.review.project import (
    Project,
    builtin_projects,
    load_project,
    parse_project,
    validate_project,
)

OWN = """
name = "tone"
title = "Tone of replies"
show = ["reply"]
guidelines = "Is the reply polite?"
questions = [{ id = "polite", text = "Polite?", options = ["yes", "no"] }]

[[stages]]
id = "first"
kind = "independent"
title = "First"
roles = ["rater", "rater"]
questions = ["polite"]
verdict = "polite"
rules = [{ same = true, to = "final", why = "agreed" }, { to = "last", why = "disagreed" }]

[[stages]]
id = "last"
kind = "arbitration"
title = "Last"
roles = ["lead"]
questions = ["polite"]
verdict = "polite"
rules = [{ to = "final", why = "decided" }]
"""


def test_five_projects_ship_and_are_sound():
    assert builtin_projects() == (
        "cobe-rating",
        "headline-screening",
        "judge-agreement",
        "rfc-rewrite",
        "rfc-rewrite-three",
    )
    for name in builtin_projects():
        assert load_project(name).name == name


def test_a_users_own_project_is_a_file(tmp_path):
    path = tmp_path / "tone.toml"
    path.write_text(OWN)
    assert [stage.id for stage in load_project(path).stages] == ["first", "last"]


def test_the_words_of_the_built_in_projects_are_those_that_other_commands_read():
    for name in ("rfc-rewrite", "rfc-rewrite-three"):
        rfc = load_project(name)
        known = {q.id: q for q in rfc.questions}
        for stage in rfc.flow:
            if stage.roles:
                assert set(stage.verdicts(known)) <= set(ALLOWED[stage.id])
    assert load_project("headline-screening").question("market_category").options == CATEGORIES


def test_a_project_can_be_another_one_with_other_stages():
    three, whole = load_project("rfc-rewrite-three"), load_project("rfc-rewrite")
    assert three.guidelines == whole.guidelines
    asked = {question for stage in three.stages for question in stage.questions}
    assert {question.id for question in three.questions} == asked
    assert parse_project('based_on = "rfc-rewrite"\nname = "mine"', "x").stages == whole.stages
    with pytest.raises(InputError, match="no built-in project 'none'"):
        parse_project('based_on = "none"', "x.toml")
    with pytest.raises(InputError, match="stages"):
        parse_project('based_on = "rfc-rewrite"\nstages = [3]', "x.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('to = "last", why', 'to = "lost", why', "leads to 'lost', neither a stage"),
        ('{ to = "last", why = "disagreed" }', '{ some = "no", to = "last", why = "x" }', "stuck"),
        ('{ to = "last", why = "disagreed" }', '{ to = "final", why = "x" }', "no rule leads to"),
        (
            'rules = [{ same = true, to = "final", why = "agreed" }',
            'rules = [{ some = "no", to = "final", why = "agreed" }',
            "although people may disagree",
        ),
        ("same = true", 'all = "maybe"', "waits for 'maybe'"),
        ("same = true, ", "", "always holds"),
        ('{ to = "final", why = "decided" }', '{ to = "first", why = "x" }', "rule 2 makes"),
        ('questions = ["polite"]\nverdict', 'questions = ["kind"]\nverdict', "asks 'kind'"),
        ('verdict = "polite"', 'verdict = "mood"', "takes its verdict from 'mood'"),
        ('roles = ["rater", "rater"]', "roles = []", "needs roles and questions"),
        ('roles = ["lead"]', 'roles = ["lead", "lead"]', "one vote per item"),
        ('id = "last"', 'id = "first"', "two stages .* 'first'"),
        ('title = "First"', 'title = "First"\nshows = ["last"]', "is blind"),
        ('options = ["yes", "no"]', 'options = ["yes"]', "'polite'"),
        ('title = "First"', 'title = "First"\nquorum = 2', "quorum"),
        ('title = "First"', 'title = "First', "not TOML"),
    ],
)
def test_what_is_wrong_with_a_project_is_reported(old, new, message):
    assert old in OWN
    broken = OWN.replace(old, new, 1)
    if message == "rule 2 makes":
        message = "no outcome can be reached"
        broken = broken.replace('{ same = true, to = "final"', '{ same = true, to = "last"')
    with pytest.raises(InputError, match=message):
        parse_project(broken, "tone.toml")


def project_of(name, **stages):
    """Return a built-in project with some fields of its stages changed."""
    project = load_project(name).model_dump()
    for stage in project["stages"]:
        stage |= stages.get(stage["id"].replace("-", "_"), {})
    return Project.model_validate(project)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ({"audit": {"passes": ()}}, "'passes'"),
        ({"audit": {"returns_to": None}}, "'returns_to'"),
        ({"audit": {"returns_to": "revision"}}, "does not lead to it again"),
        ({"audit": {"strata": None}}, "'strata'"),
        ({"annotation": {"corrects": {"field": "rewritten", "on": "fail"}}}, "exactly one role"),
        ({"annotation": {"counts": ("tasting",)}}, "unknown stage"),
        ({"disagreement": {"roles": ("annotator",)}}, "disagreement set"),
    ],
)
def test_what_is_wrong_with_an_audit_or_a_set_is_reported(stages, message):
    assert message in str(validate_project(project_of("rfc-rewrite", **stages)))


def test_two_stages_that_would_wait_for_each_other_are_refused():
    back = [
        {"some": ("fail",), "to": "expert-review", "why": "once more"},
        {"to": "arbitration", "why": "not resolved"},
    ]
    project = project_of("rfc-rewrite", secondary_review={"rules": back})
    assert "would wait for each other" in str(validate_project(project))


def test_a_window_of_verified_headlines_cannot_hide_an_error():
    """Were the verifier's 'incorrect' to lead on to the end, it would be an open dispute."""
    verification = load_project("headline-screening").stage("verification").model_dump()
    verification["rules"][0]["none"] = ()
    project = project_of("headline-screening", verification={"rules": verification["rules"]})
    assert "although people may disagree" in str(validate_project(project))


def test_a_name_that_is_no_project_is_answered_with_those_there_are():
    with pytest.raises(InputError, match="use one of cobe-rating, headline-screening"):
        load_project("horoscope")
    with pytest.raises(InputError, match="no such file"):
        load_project("horoscope.toml")


def test_a_check_that_no_family_has_is_refused():
    text = 'name = "own"\nbased_on = "rfc-rewrite-three"\n' + "".join(
        f"[[stages]]\n{stage}\n" for stage in (
            'id = "fix"\nkind = "full-review"\ntitle = "Fix"\nroles = ["expert"]\n'
            'questions = ["revision"]\nverdict = "revision"\n'
            'corrects = { field = "rewritten", on = "revise", check = "tarot/cards" }\n'
            'rules = [{ to = "final", why = "so" }]',
        )
    )  # fmt: skip
    with pytest.raises(InputError, match="check 'tarot/cards'"):
        parse_project(text, "own.toml")
    assert parse_project(text.replace("tarot/cards", "rfc/contract"), "own.toml")
