import math
from collections import Counter

import pandas as pd

from contrafact.families.finforce.data import CATEGORIES, bundled_headlines, bundled_shots
from contrafact.families.finforce.error_classes import classify_many, entities_lost
from contrafact.records import SIDES
from contrafact.text.parsing import entities


def test_headlines_cover_every_category_alike() -> None:
    headlines = bundled_headlines()
    assert len(headlines) == 30
    assert Counter(h.category for h in headlines) == dict.fromkeys(CATEGORIES, 3)
    assert all(40 <= len(h.text) <= 160 for h in headlines)


def test_shots_cover_every_category_and_all_have_both_sides() -> None:
    shots = bundled_shots()
    assert len(shots) >= 44
    assert {shot.category for shot in shots} == set(CATEGORIES)
    assert all(shot.reference for shot in shots)


def test_headlines_and_shots_are_all_different() -> None:
    ids = [h.id for h in bundled_headlines() + bundled_shots()]
    assert len(set(ids)) == len(ids)


def test_worked_examples_commit_none_of_the_computable_errors() -> None:
    rows = [
        (shot.text, shot.reference.side(side)) for shot in bundled_shots() for side in SIDES
        if shot.reference
    ]  # fmt: skip
    items = pd.DataFrame(rows, columns=["headline", "text"])
    found = classify_many(items.assign(perplexity=math.nan, headline_perplexity=math.nan))
    for one in found.itertuples():
        flags = (one.numeric_prediction, one.similar_semantics, one.fantastical_edit)
        assert not any(flags), one.text
        assert not entities_lost(one.headline, entities(one.headline), one.text), one.text
        assert len(one.text) <= 140, one.text


def test_the_two_sides_of_a_worked_example_differ() -> None:
    pairs = [shot.reference for shot in bundled_shots() if shot.reference]
    items = pd.DataFrame(
        {"headline": [p.risk for p in pairs], "text": [p.opportunity for p in pairs]}
    )
    found = classify_many(items.assign(perplexity=math.nan, headline_perplexity=math.nan))
    assert not found["similar_semantics"].any()


def test_the_first_headlines_already_cover_every_category() -> None:
    assert len({headline.category for headline in bundled_headlines()[:10]}) == 10
