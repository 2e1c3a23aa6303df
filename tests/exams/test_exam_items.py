"""The items that come with the program: their verdicts are certain, and draws are balanced."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from contrafact.exams.score import surface_rows
from contrafact.families.finforce.data import CATEGORIES, bundled_headlines, bundled_shots
from contrafact.families.finforce.error_classes import classify_many
from contrafact.families.finforce.exam import (
    EXAM,
    finforce_items,
    hard_items,
    surface_items,
)
from contrafact.families.finforce.records import SIDES
from contrafact.family.exam import draw_crossed, draw_items
from contrafact.family.settings import LevelOptions
from contrafact.judges.surface import CRITERION_LIMIT, OVERALL_LIMIT


def test_the_ten_categories_stand_alike_and_there_are_fails_of_every_kind():
    items = finforce_items()
    assert Counter(item.material.category for item in items) == dict.fromkeys(CATEGORIES, 74)
    kinds = Counter(item.kind for item in items)
    assert kinds == {
        "pass": 160, "denied": 160, "wrong-side": 240, "restated": 80, "turned": 80, "vague": 20,
    }  # fmt: skip
    assert len({item.id for item in items}) == len(items) == 740


def test_every_text_is_right_as_often_as_wrong_or_on_two_items_of_five():
    for criterion in ("forward_compatibility", "directionality"):
        verdicts = defaultdict(list)
        for item in finforce_items():
            if criterion in item.known and item.kind != "vague":
                verdicts[item.text].append(item.known[criterion])
        shares = Counter(sum(own) / len(own) for own in verdicts.values())
        assert shares == ({0.5: 160} if criterion != "directionality" else {0.5: 80, 0.4: 80})


def test_of_short_headlines_and_of_long_ones_equal_shares_pass():
    short = {item.about for item in finforce_items() if item.kind in ("pass", "denied")}
    passes = defaultdict(list)
    for item in finforce_items():
        if item.kind != "vague":
            passes[item.about in short].append(all(item.known.values()))
    assert {sum(own) / len(own) for own in passes.values()} == {1 / 3}


def test_a_party_that_the_event_meets_and_one_that_it_does_not_are_told_in_the_same_words():
    words = defaultdict(set)
    for item in finforce_items():
        if item.kind in ("pass", "denied"):
            words[item.text].add(" ".join(sorted(item.about.lower().replace(",", "").split())))
    assert all(len(headlines) == 1 for headlines in words.values())


def test_a_reader_of_no_headline_is_at_chance():
    rows = surface_rows(surface_items(finforce_items()), seed=0)
    assert rows["forward_compatibility"].auroc.estimate == pytest.approx(0.5)
    assert rows["directionality"].auroc.estimate < CRITERION_LIMIT
    assert rows["response"].auroc.estimate < OVERALL_LIMIT
    assert not any(row.leaks for row in rows.values())


def test_no_headline_is_one_that_a_model_is_shown_or_run_on():
    own = {item.cluster for item in finforce_items()}
    assert own.isdisjoint(h.id for h in (*bundled_headlines(), *bundled_shots()))


def test_a_wrong_side_is_the_other_sides_pass_and_a_restated_text_turns_after_the_other():
    items = finforce_items()
    passes = {(i.about, i.facts["side"], i.text) for i in items if i.kind == "pass"}
    turned = {(i.text, i.facts["side"]) for i in items if i.kind == "turned"}
    for item in items:
        other = SIDES[1 - SIDES.index(item.facts["side"])]
        if item.kind == "wrong-side":
            assert (item.about, other, item.text) in passes or (item.text, other) in turned
            assert item.known == {"directionality": False}
        elif item.kind == "restated":
            assert (item.text, item.facts["side"]) in turned
            assert item.known == {"directionality": False}
        elif item.kind == "denied":
            assert (item.about, item.facts["side"], item.text) not in passes
            assert item.known == {"forward_compatibility": False}


@pytest.mark.slow
def test_what_passes_has_no_forbidden_number_and_is_no_copy():
    import pandas as pd

    passes = [item for item in finforce_items() if item.kind in ("pass", "turned")]
    frame = pd.DataFrame(
        {
            "headline": [item.material.text for item in passes],
            "text": [item.text for item in passes],
            "invalid_reason": None,
            "perplexity": np.nan,
            "headline_perplexity": np.nan,
        }
    )
    found = classify_many(frame)
    assert not found["similar_semantics"].any()
    assert not found["numeric_prediction"].any()


def test_a_draw_has_texts_once_right_and_once_wrong_and_depends_on_nothing_but_the_seed():
    drawn = draw_crossed(finforce_items(), 60, seed=3)
    texts = defaultdict(list)
    for item in drawn:
        texts[item.text].append(item.should_pass)
    assert len(drawn) == 60 and set(map(tuple, map(sorted, texts.values()))) == {(False, True)}
    again = draw_crossed(finforce_items(), 60, seed=3)
    assert [item.id for item in again] == [item.id for item in drawn]
    assert draw_crossed(finforce_items(), None, seed=0) == list(finforce_items())


def test_an_even_draw_is_half_right_and_what_one_half_lacks_the_other_gives():
    drawn = draw_items(finforce_items(), 60, seed=3)
    assert sum(item.should_pass for item in drawn) == 30
    assert all(7 <= n <= 15 for n in Counter(item.kind for item in drawn).values())
    drawn = draw_items(finforce_items(), 600, seed=3)
    assert len(drawn) == 600
    assert sum(item.should_pass for item in drawn) == 240


def test_hard_items_of_every_kind_are_right_as_often_as_wrong():
    items = hard_items()
    verdicts = defaultdict(list)
    for item in items:
        (known,) = item.known.values()
        verdicts[item.kind].append(known)
    assert {sum(own) / len(own) for own in verdicts.values()} == {0.5}
    assert {kind: len(own) for kind, own in verdicts.items()} == {
        "hard, two words": 28, "hard, not its party": 12, "hard, half said": 6,
        "hard, beside the event": 4, "hard, mechanism": 12, "hard, words against": 12,
        "hard, one party": 8, "hard, mood or money": 8,
    }  # fmt: skip
    assert len({item.id for item in (*items, *finforce_items())}) == 90 + 740
    assert {item.material.category for item in items} == set(CATEGORIES)


def test_a_reader_of_no_headline_learns_little_from_hard_items():
    rows = surface_rows(surface_items(hard_items()), seed=0)
    assert rows["directionality"].auroc.estimate < CRITERION_LIMIT
    assert rows["response"].auroc.estimate < OVERALL_LIMIT
    assert not any(row.leaks for row in rows.values())


def test_the_level_chooses_the_items_and_is_no_setting_of_how_a_judge_is_asked():
    assert EXAM.items(LevelOptions(), None, 0) == list(finforce_items())
    assert EXAM.items(LevelOptions(level="hard"), None, 0) == list(hard_items())
    drawn = EXAM.items(LevelOptions(level="hard"), 40, 1)
    assert sum(item.should_pass for item in drawn) == 20
    assert LevelOptions(level="hard").model_dump() == {"structured": True}
