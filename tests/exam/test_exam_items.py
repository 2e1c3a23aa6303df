"""The items that come with the program: their verdicts are certain, and draws are balanced."""

from collections import Counter

import numpy as np
import pytest

from contrafact.exam.questions import other_order
from contrafact.families.finforce.data import CATEGORIES, bundled_headlines, bundled_shots
from contrafact.families.finforce.error_classes import classify_many
from contrafact.families.finforce.exam import examiner, finforce_items
from contrafact.family.exam import draw_items
from contrafact.family.settings import StructuredOptions
from contrafact.prompts import open_pack
from contrafact.records import SIDES


def test_forty_pairs_over_the_ten_categories_and_fails_of_every_kind():
    items = finforce_items()
    headlines = {item.cluster: item.material for item in items}
    assert Counter(h.category for h in headlines.values()) == dict.fromkeys(CATEGORIES, 4)
    kinds = Counter(item.kind for item in items)
    assert kinds == {
        "pass": 80, "unchanged": 80, "wrong-direction": 80, "contradiction": 40, "unrelated": 40,
    }  # fmt: skip
    assert len({item.id for item in items}) == len(items)
    for criterion in ("forward_compatibility", "directionality"):
        known = [item.known[criterion] for item in items if criterion in item.known]
        assert known.count(True) >= 80
        assert known.count(False) >= 80


def test_no_headline_is_one_that_a_model_is_shown_or_run_on():
    own = {item.cluster for item in finforce_items()}
    assert own.isdisjoint(h.id for h in (*bundled_headlines(), *bundled_shots()))


def test_a_wrong_direction_is_the_other_sides_pass_and_unchanged_is_the_headline():
    items = finforce_items()
    passes = {(i.cluster, i.facts["side"]): i.text for i in items if i.kind == "pass"}
    for item in items:
        if item.kind == "wrong-direction":
            other = SIDES[1 - SIDES.index(item.facts["side"])]
            assert item.text == passes[item.cluster, other]
            assert item.known == {"directionality": False}
        elif item.kind == "unchanged":
            assert item.text == item.material.text
        elif item.kind in ("contradiction", "unrelated"):
            assert item.known == {"forward_compatibility": False}


@pytest.mark.slow
def test_what_passes_has_no_forbidden_number_and_is_no_copy():
    import pandas as pd

    passes = [item for item in finforce_items() if item.kind == "pass"]
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


def test_a_draw_is_half_right_and_even_over_kinds_and_does_not_depend_on_anything_but_the_seed():
    drawn = draw_items(finforce_items(), 60, seed=3)
    kinds = Counter(item.kind for item in drawn)
    assert kinds["pass"] == 30
    assert all(7 <= kinds[kind] <= 8 for kind in kinds if kind != "pass")
    again = draw_items(finforce_items(), 60, seed=3)
    assert [item.id for item in again] == [item.id for item in drawn]
    assert draw_items(finforce_items(), None, seed=0) == list(finforce_items())


def test_what_one_half_lacks_the_other_gives():
    drawn = draw_items(finforce_items(), 300, seed=3)
    assert len(drawn) == 300
    assert sum(item.kind == "pass" for item in drawn) == 80


def test_the_other_order_has_the_same_lines_with_the_texts_first():
    asks = examiner(open_pack(), StructuredOptions())
    for item in finforce_items()[::37]:
        for prompt in asks.prompts(item).values():
            other = other_order(prompt, asks.shown(item))
            assert sorted(filter(None, other.split("\n"))) == sorted(
                filter(None, prompt.split("\n"))
            )
            assert other.startswith("<news>")
            assert prompt.endswith("</response>")


@pytest.mark.parametrize(
    ("prompt", "shown", "other"),
    [
        ("Is it so?\n\nText: abc\nAnswer:", ("abc",), "Text: abc\n\nIs it so?\n\nAnswer:"),
        ("Text: abc\n\nIs it so?", ("abc",), "Is it so?\n\nText: abc"),
        ("Judge abc.", ("abc",), None),
        ("Judge this.\n\nabc", ("not there",), None),
        ("Judge this.\n\nabc", ("",), None),
    ],
)
def test_the_other_order_of_other_packs(prompt, shown, other):
    assert other_order(prompt, shown) == other
