"""The checker finds what is wrong: in answers, criteria, connectors, queries."""

import copy
import json

import numpy as np
import pytest

from contrafact.families.cobe.synth.answers import story_record
from contrafact.families.cobe.synth.check import Lexicon, check_story, read
from contrafact.families.cobe.synth.draw import draw_stories, draw_story
from contrafact.families.cobe.synth.realization import draw_style, realize, stated_edges
from contrafact.families.cobe.synth.template import Asserted, bundled_templates

TEMPLATES = bundled_templates()
PUMP = next(t for t in TEMPLATES if t.id == "cellar-pump")
WORDS = {"town": "Ashmere", "family": "Birkett"}


@pytest.fixture(scope="module")
def record():
    """The power is out, the pump runs all the same; what if it had stopped?"""
    for seed in range(200):
        drawn = draw_story(PUMP, 1, np.random.default_rng(seed))
        facts, intervention = drawn.story.proof["facts"], drawn.story.proof["intervention"]
        if facts["outage"] == "yes" and facts["pump"] == "no" and intervention == {"pump": "yes"}:
            return json.loads(json.dumps(story_record(drawn)))
    raise AssertionError("the case was not drawn")


def problems_of(record, **changes):
    changed = copy.deepcopy(record)
    for key, value in changes.items():
        changed[key.replace("_", " ")] = value
    return check_story(PUMP, changed)


def test_a_drawn_story_is_in_order(record):
    assert check_story(PUMP, record) == []


def test_every_answer_put_under_another_label_is_found(record):
    for place, answer in enumerate(record["Wrong answers"]):
        for label in ("E1", "E2", "E3", "E4", "E5"):
            if label != answer["fails"]:
                wrong = copy.deepcopy(record["Wrong answers"])
                wrong[place]["fails"] = label
                found = problems_of(record, Wrong_answers=wrong)
                assert any(f"for {label}" in problem for problem in found)


def test_a_wrong_answer_among_the_right_ones_is_found(record):
    for answer in record["Wrong answers"]:
        right = [*record["Right answers"], {"text": answer["text"], "why": ""}]
        found = problems_of(record, Right_answers=right)
        assert [f"fails {answer['fails']}" in problem for problem in found] == [True]


def test_a_right_answer_among_the_wrong_ones_is_found(record):
    wrong = [*record["Wrong answers"], {**record["Right answers"][1], "fails": "E1"}]
    assert any("for E1: []" in problem for problem in problems_of(record, Wrong_answers=wrong))


def test_criteria_that_do_not_follow_are_found(record):
    stays, changes, number, latent = record["Evaluation criteria"]
    for criteria, about in (
        ([changes, stays, number, latent], "E1 is not about"),
        ([f"{stays} {latent.removeprefix('Latent: ')}", changes, number, latent], "E1"),
        ([stays, changes, number.replace("higher", "lower"), latent], "E4"),
        ([stays, changes, number], "E5"),
        ([stays, changes, latent], "E4"),
        ([stays, changes, number, latent, "Be brief."], "no known kind"),
    ):
        found = problems_of(record, Evaluation_criteria=criteria)
        assert any(about in problem for problem in found), (criteria, found)


def test_queries_that_differ_are_found(record):
    queries = [*record["Query"][:2], record["Query"][2].replace("stopped", "kept running")]
    assert any("queries do not suppose" in p for p in problems_of(record, Query=queries))


def test_a_missing_kind_of_wrong_answer_is_found(record):
    wrong = [answer for answer in record["Wrong answers"] if answer["fails"] != "E4"]
    assert problems_of(record, Wrong_answers=wrong) == ["wrong answers for E4: too few or too many"]


STOPPED, RAN = "the cellar pump stopped", "the cellar pump kept running"
OUT, ON = "the power in Ashmere went out", "the power in Ashmere stayed on"
WET, DRY = "the Birkett cellar filled with water", "the Birkett cellar stayed dry"


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"{OUT}, so {STOPPED}.", [("outage", "pump", True)]),
        (f"{OUT}, but {RAN}.", [("outage", "pump", False)]),
        (f"{STOPPED} because {OUT}.", [("outage", "pump", True)]),
        (f"Although {OUT}, {RAN}. As a result, {DRY}.",
         [("outage", "pump", False), ("pump", "flood", True)]),
        (f"{OUT}. {STOPPED}. Even so, {DRY}.", [("pump", "flood", False)]),
        (f"Despite the power cut, {RAN}, and so {DRY}.",
         [("outage", "flood", False), ("pump", "flood", True)]),
        (f"{OUT}, and {STOPPED}.", []),
        (f"{WET} because of the stopped pump, despite the steady power supply.",
         [("pump", "flood", True), ("outage", "flood", False)]),
    ],
)  # fmt: skip
def test_connectors_are_read_as_english(text, claims):
    found = read(Lexicon(PUMP, WORDS), text)
    shown = [(claim.cause.name, claim.effect.name, claim.follows) for claim in found.claims]
    assert sorted(shown) == sorted(claims)


def test_a_connector_that_joins_nothing_is_reported():
    lexicon = Lexicon(PUMP, WORDS)
    assert read(lexicon, f"As a result, {STOPPED}.").loose
    assert read(lexicon, f"Because {OUT}.").loose
    assert not read(lexicon, "So far, so good! But let us begin.").loose


def test_numbers_are_read_in_any_size():
    lexicon = Lexicon(PUMP, WORDS)
    spent = "the Birkett family spent {} dollars on the house that month"
    for text, asserted in (
        (spent.format("1,800"), Asserted("high", 1800)),
        (spent.format("only 120"), Asserted("low", 120)),
        (spent.format("2300000"), Asserted("high", 2_300_000)),
    ):
        assert [m.asserted for m in read(lexicon, text).mentions] == [asserted]


def test_every_style_says_just_what_is_asserted():
    """Whatever is asserted, the connectors that telling chooses are read back as true."""
    rng = np.random.default_rng(3)
    for template in TEMPLATES:
        for _ in range(25):
            words = {slot: choice[0] for slot, choice in template.slots.items()}
            asserted = {
                name: Asserted(
                    variable.values[int(rng.integers(2))], 7 if variable.numbers else None
                )
                for name, variable in template.stated.items()
            }
            text = realize(template, words, asserted, draw_style(template, rng))
            found = read(Lexicon(template, words), text)
            assert {m.name: m.asserted.value for m in found.mentions} == {
                name: one.value for name, one in asserted.items()
            }
            edges = stated_edges(template, asserted)
            assert not found.loose
            assert {(c.cause.name, c.effect.name): c.follows for c in found.claims} == edges


def test_a_turned_connector_is_always_found():
    rng = np.random.default_rng(4)
    for drawn in draw_stories(TEMPLATES, 96, 9):
        template = next(t for t in TEMPLATES if t.id == drawn.story.proof["template"])
        asserted = {
            name: Asserted(value, 7 if template.stated[name].numbers else None)
            for name, value in drawn.story.proof["facts"].items()
        }
        edges = stated_edges(template, asserted)
        for edge, follows in edges.items():
            style = draw_style(template, rng)
            turned = {edge: not follows}
            text = realize(template, drawn.story.proof["words"], asserted, style, joined=turned)
            found = read(Lexicon(template, drawn.story.proof["words"]), text)
            shown = {(c.cause.name, c.effect.name): c.follows for c in found.claims}
            assert shown == {**edges, **turned}
