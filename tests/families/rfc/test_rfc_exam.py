"""Items of the exam of a judge of pairs: certain, unguessable from surface, and free of facts."""

from collections import Counter, defaultdict

import pytest

from contrafact.exams.questions import questions_of
from contrafact.exams.score import surface_rows
from contrafact.families.rfc.contracts.pair_check import check_pairs
from contrafact.families.rfc.exam import (
    EXAM,
    WHOLES,
    crossed_items,
    examiner,
    hard_items,
    labelled_items,
    rfc_items,
    surface_items,
)
from contrafact.families.rfc.judging import CRITERIA
from contrafact.family.settings import LevelOptions, StructuredOptions
from contrafact.judges.surface import CRITERION_LIMIT, OVERALL_LIMIT, leak_rows
from contrafact.prompts import open_pack


@pytest.fixture(scope="module")
def asks():
    return examiner(open_pack(), StructuredOptions())


def facts_of(items):
    rows = [
        {"manipulation": i.facts["manipulation"], "original": i.about, "rewritten": i.text}
        for i in items
    ]
    return list(check_pairs(rows))


def test_every_criterion_has_enough_sound_and_faulty_items_and_every_id_is_one_items():
    known = Counter((name, value) for i in rfc_items() for name, value in i.known.items())
    for kind in WHOLES:
        for name in (kind, *(f"{kind}:{one.name}" for one in CRITERIA[kind])):
            assert min(known[name, True], known[name, False]) >= 40, name
        assert known[f"{kind}:control", False] >= 15 and not known[f"{kind}:control", True]
    assert len({i.id for i in rfc_items()}) == len(rfc_items()) == 999


def test_facts_find_nothing_that_is_asked_of_meaning_and_every_control():
    meaning = [item for item in rfc_items() if item.whole is not None]
    controls = [i for i in rfc_items() if i.whole is None and False in i.known.values()]
    assert len(controls) > 60
    for items, broken in ((meaning, False), (controls, True)):
        checks = zip(items, facts_of(items), strict=True)
        assert not [(i.kind, i.text) for i, check in checks if bool(check.violations) != broken]


@pytest.mark.slow
def test_readers_of_surface_guess_no_criterion():
    readers = ("words", "overlap", "connectors", "quotes", "all")
    rows = list(leak_rows(surface_items(rfc_items()), readers=readers, least=40))
    assert {row.target for row in rows} == {"overall"} | {
        f"{kind}:{one.name}" for kind in WHOLES for one in CRITERIA[kind]
    }
    best = {(r.target, r.reader, r.model): round(r.auroc, 3) for r in rows}
    assert max(value for key, value in best.items() if key[0] == "overall") <= OVERALL_LIMIT, best
    assert max(best.values()) <= CRITERION_LIMIT, best


def test_one_rewrite_is_right_for_one_original_and_wrong_for_another():
    sides = defaultdict(set)
    for item in crossed_items():
        for name, value in item.known.items():
            sides[name, item.text].add(value)
    both = Counter(name for (name, _), values in sides.items() if len(values) == 2)
    faulty = Counter(name for (name, _), values in sides.items() if False in values)
    for kind in WHOLES:
        for one in CRITERIA[kind]:
            name = f"{kind}:{one.name}"
            # What contradicts itself does so beside every original.
            assert (both[name] == 0) if one.name == "coherent" else both[name] >= 20, name
            if name not in ("flipping:reversed", "flipping:coherent", "causal:coherent"):
                assert both[name] == faulty[name], name


def test_half_of_what_contradicts_itself_stands_where_it_does_not():
    """Headline and statement, or cause and denial: each is as often beside what fits it."""
    items = [i for i in crossed_items() if i.facts["manipulation"] == "flipping"]
    for cluster in {i.cluster for i in items}:
        own = [i for i in items if i.cluster == cluster]
        coherent, not_so = (
            {i.text.split(". ")[0] for i in own if i.known.get("flipping:coherent") is value}
            for value in (True, False)
        )
        assert not_so == coherent & not_so and len(not_so) == 2


def test_a_prompt_is_of_one_item(asks):
    prompts = [prompt for item in rfc_items() for prompt in asks.prompts(item).values()]
    assert len(set(prompts)) == len(prompts) == len(rfc_items())


def test_a_pair_is_one_question(asks):
    items = rfc_items()[:50]
    asked = questions_of(items, asks, ["openai/a", "openai/b"])
    assert len(asked) == 50 * 2
    assert len({one.key for one in asked}) == len(asked)


def test_a_draw_has_what_a_judge_decides_half_of_it_sound_and_rests_on_the_seed():
    options = LevelOptions()
    drawn = EXAM.items(options, 200, 5)
    assert [i.id for i in drawn] == [i.id for i in EXAM.items(options, 200, 5)]
    assert [i.id for i in drawn] != [i.id for i in EXAM.items(options, 200, 6)]
    assert sum(i.should_pass for i in drawn) == 100
    known = {one for i in drawn for one in i.known.items() if not one[0].endswith(":control")}
    assert {(name, not verdict) for name, verdict in known} == known, "either verdict of each"
    assert EXAM.items(options, None, 0) == list(rfc_items())


def test_labelled_pairs_say_what_their_label_says():
    kinds = Counter(i.kind.split(", ")[1] for i in labelled_items())
    assert kinds["sound"] > 100
    for item in labelled_items():
        made = item.kind.split(", ")[1]
        if made == "sound":
            assert all(item.known.values()) and item.whole in (True, None)
        else:
            assert False in item.known.values() and item.whole in (False, None)


def test_hard_pairs_are_right_as_often_as_wrong_and_break_no_fact():
    items = hard_items()
    whole = defaultdict(list)
    for item in items:
        whole[item.kind].append(item.whole)
    assert len(whole) == 9 and {sum(own) / len(own) for own in whole.values()} == {0.5}
    assert not [i.text for i, check in zip(items, facts_of(items), strict=True) if check.violations]
    assert len({i.id for i in (*items, *rfc_items())}) == 132 + 999
    failed = {name for item in items for name, known in item.known.items() if not known}
    assert failed == {*WHOLES} | {f"{kind}:{c.name}" for kind in WHOLES for c in CRITERIA[kind]}
    assert EXAM.items(LevelOptions(level="hard"), None, 0) == list(items)


def test_readers_of_surface_learn_little_from_hard_pairs():
    rows = surface_rows(surface_items(hard_items()), seed=0)
    assert rows["response"].auroc.estimate <= OVERALL_LIMIT
    assert not any(row.leaks for row in rows.values())
