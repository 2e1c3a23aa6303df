"""Drawn stories: each answer is what it is said to be, nothing twice, the same from one seed."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.cobe.data import StoryNotes, answers_object, load_stories, write_stories
from contrafact.families.cobe.synth.answers import draw_setting, story_record
from contrafact.families.cobe.synth.cases import cases
from contrafact.families.cobe.synth.compose import domain_named
from contrafact.families.cobe.synth.draw import choose, draw_stories, draw_story
from contrafact.families.cobe.synth.realization import realize
from contrafact.families.cobe.synth.template import bundled_templates
from contrafact.families.cobe.synth.verify import main as verify
from contrafact.families.cobe.synth.verify import violations
from contrafact.records import DOMAINS, GRAPHS

TEMPLATES = bundled_templates()
numbers = st.integers(0, 2**32 - 1)


def template(name):
    return next(t for t in TEMPLATES if t.id == name)


def case_of(name, variable, value, **facts):
    for case in cases(template(name)):
        if (case.variable, case.value) == (variable, value) and case.facts == facts:
            return case
    raise AssertionError("no such case")


def test_templates_cover_every_domain_in_every_graph_type():
    assert len(TEMPLATES) >= 48
    assert {(t.graph, t.domain) for t in TEMPLATES} == {(g, d) for g in GRAPHS for d in DOMAINS}
    assert len({t.id for t in TEMPLATES}) == len({t.number for t in TEMPLATES}) == len(TEMPLATES)


@pytest.mark.parametrize("one", TEMPLATES, ids=lambda t: t.id)
def test_a_template_has_quantities_latents_and_many_surfaces(one):
    found = cases(one)
    assert any(case.moved for case in found)
    assert any(case.latents for case in found)
    assert any(len(case.changed) > 1 for case in found)
    # Words and numbers held, the ways of telling alone make six texts of one case.
    rng = np.random.default_rng(0)
    first = draw_setting(found[0], rng)
    manners = [draw_setting(found[0], rng).style for _ in range(60)]
    assert len({realize(one, first.words, first.before, style) for style in manners}) >= 6
    assert len({tuple(draw_setting(found[0], rng).words.values()) for _ in range(60)}) >= 6


@given(st.sampled_from(TEMPLATES), numbers)
@settings(max_examples=100)  # two of each template; the draw below has many more
def test_a_drawn_story_holds_what_it_says(one, seed):
    drawn = draw_story(one, 1, np.random.default_rng(seed))
    assert violations(drawn) == []
    fails = {answer.fails for answer in drawn.wrong}
    assert {"E1", "E2", "E3"} <= fails
    assert ("E4" in fails) == (drawn.story.numerical is not None)
    assert ("E5" in fails) == (drawn.story.latent is not None)
    assert len(drawn.right) >= 3
    assert drawn.right[0].text == drawn.story.answer


@pytest.mark.slow
def test_five_thousand_stories_hold_and_none_comes_twice():
    texts: Counter[str] = Counter()
    graphs: Counter[str] = Counter()
    for number, drawn in enumerate(draw_stories(TEMPLATES, 5_000, 11)):
        if number % 3 == 0:  # every one of a hundred thousand is what `make verify` is for
            assert violations(drawn) == []
        texts[drawn.story.text] += 1
        graphs[drawn.story.graph] += 1
    assert max(texts.values()) == 1
    assert set(graphs) == set(GRAPHS)
    assert min(graphs.values()) > 500


def test_one_seed_gives_one_file_and_it_reads_back(tmp_path):
    for name in ("one.json", "two.json"):
        drawn = list(draw_stories(TEMPLATES, 100, 5))
        stories = [one.story for one in drawn]
        write_stories(stories, tmp_path / name, [answers_object(one) for one in drawn])
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    notes = StoryNotes()
    assert load_stories(tmp_path / "one.json", notes) == stories
    assert notes.lines() == []
    assert len({story.id for story in stories}) == 100
    others = [one.story.text for one in draw_stories(TEMPLATES, 100, 6)]
    assert set(others).isdisjoint(story.text for story in stories)


def test_a_longer_draw_begins_with_the_shorter_one():
    shorter = [one.story for one in draw_stories(TEMPLATES, 60, 3)]
    longer = [one.story for one in draw_stories(TEMPLATES, 110, 3)]
    assert longer[:60] == shorter


def test_two_processes_draw_what_one_does():
    chosen = choose(TEMPLATES, graph="chain")[:3]
    one = [story_record(drawn) for drawn in draw_stories(chosen, 90, 2)]
    assert [story_record(drawn) for drawn in draw_stories(chosen, 90, 2, processes=2)] == one


def test_what_follows_is_what_a_person_would_say():
    facts = {"outage": "yes", "pump": "no", "flood": "no", "bill": "low"}
    case = case_of("cellar-pump", "pump", "yes", **facts)
    assert case.unchanged == ("outage",)  # setting the pump does not bring the power back
    assert case.changed == ("pump", "flood")
    assert case.moved == {"bill": "up"}
    assert case.latents == {"battery": "yes"}  # why else did the pump run without power?
    assert case.open == ()
    drawn = story_record(draw_story(case.template, 1, np.random.default_rng(4)))
    assert drawn["Proof"]["noise_settings"] >= 1


def test_two_causes_of_which_one_is_enough():
    facts = {"bolt": "yes", "frost": "yes", "train": "yes", "delay": "high", "lights": "yes"}
    case = case_of("frozen-points", "frost", "no", **facts)
    assert set(case.unchanged) == {"bolt", "train", "delay", "lights"}
    assert case.changed == ("frost",)


def test_what_only_goes_along_stays():
    facts = {"pool": "yes", "guards": "yes", "wages": "high", "ices": "yes"}
    case = case_of("pool-and-kiosk", "pool", "no", **facts)
    assert case.unchanged == ("ices",)
    assert set(case.changed) == {"pool", "guards"}
    assert case.moved == {"wages": "down"}


def open_cases():
    return [case for one in TEMPLATES for case in cases(one) if case.open]


def test_what_is_not_determined_is_left_out_of_criteria_and_answers():
    assert open_cases()
    for case in open_cases():
        for name in case.open:
            assert name not in {*case.unchanged, *case.changed, *case.moved, *case.after}


def test_stories_with_something_open_hold_and_leave_it_open():
    for case in open_cases():
        drawn = draw_story(case.template, 1, np.random.default_rng(1), case)
        assert violations(drawn) == []
        words = {**drawn.story.proof["words"], "n": ""}
        for name in case.open:
            variable = case.template.stated[name]
            clauses = [
                clause.realized(words).split("  ")[0] for clause in variable.clauses.values()
            ]
            if not variable.numbers:
                assert not any(clause in drawn.story.answer for clause in clauses)
                # Both ways are offered, by the answer with two options.
                assert all(c.lower() in drawn.right[-1].text.lower() for c in clauses)


def test_a_latent_fact_is_never_stated_nor_quoted_as_unchanged():
    for drawn in draw_stories(TEMPLATES, 200, 8):
        if drawn.story.latent:
            for fact in drawn.story.latent.split(". "):
                fact = fact.rstrip(".").lower()
                assert fact not in drawn.story.text.lower()
                assert fact not in drawn.story.unchanged.lower()


def test_choosing_templates():
    assert {t.graph for t in choose(TEMPLATES, graph="fork")} == {"fork"}
    assert {t.domain for t in choose(TEMPLATES, domain="Engineering")} == {"Engineering"}
    assert domain_named("  arts and  ENTERTAINMENT ") == "Arts and Entertainment"
    with pytest.raises(InputError, match="no graph type 'tree'; use one of chain"):
        choose(TEMPLATES, graph="tree")
    with pytest.raises(InputError, match="no domain 'Cooking'; use one of Health"):
        domain_named("Cooking")


def test_asking_for_more_stories_than_a_template_holds_is_reported(tmp_path):
    from contrafact.families.cobe.synth.template import load_templates

    (tmp_path / "small.toml").write_text(
        'number = 1\ndomain = "Engineering"\ngraph = "chain"\n[words]\n[told]\n'
        'a.yes = ["the pump <failed>", "the failed pump"]\n'
        'a.no = ["the pump <ran|run>", "the running pump"]\n'
        'b.yes = ["the cellar <filled>", "the full cellar"]\n'
        'b.no = ["the cellar <stayed> dry", "the dry cellar"]\n'
        'c.yes = "the cat <fled>"\nc.no = "the cat <slept>"\n'
        '[causes]\nb = "a"\nc = "b"\n'
    )
    with pytest.raises(InputError, match="'small' seems to hold no more than"):
        list(draw_stories(load_templates(tmp_path), 20_000, 0))


def test_verify_counts_and_finds_nothing(capsys):
    assert verify(["--n", "60", "--processes", "1"]) == 0
    assert "60 stories" in capsys.readouterr().out


@pytest.mark.slow
def test_grammar_is_clean():
    from harper import Dialect, Language, Linter

    from contrafact.families.cobe.synth.template import pools

    linter = Linter(dialect=Dialect.BRITISH)
    names = {word for pool in pools().values() for entry in pool for word in entry.split()}
    linter.import_words(sorted(names | {f"{name}'s" for name in names}))
    sentences: dict[str, None] = {}
    for drawn in draw_stories(TEMPLATES, 96, 21):
        record = story_record(drawn)
        texts = [record["Variation text"], *record["Query"], *record["Evaluation criteria"]]
        texts += [a["text"] for a in record["Right answers"] + record["Wrong answers"]]
        parts = (part for text in texts for part in re.findall(r"[^.!?:\n]+[.!?:\n]*", text))
        sentences |= dict.fromkeys(part.strip() for part in parts if part.strip())
    for sentence in sentences:
        lints = linter.lint(sentence, language=Language.PLAINTEXT)
        assert [(lint.problem_text, lint.message) for lint in lints] == [], sentence
