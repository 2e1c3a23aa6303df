import difflib
import math
from collections import Counter

import pandas as pd

from contrafact.families.finforce.data import CATEGORIES, bundled_headlines, bundled_shots
from contrafact.families.finforce.error_classes import classify_many, entities_lost
from contrafact.families.finforce.records import SIDES
from contrafact.text.parsing import entities


def test_headlines_and_shots_are_all_different_and_cover_every_category() -> None:
    headlines, shots = bundled_headlines(), bundled_shots()
    assert len(headlines) == 30
    assert Counter(h.category for h in headlines) == dict.fromkeys(CATEGORIES, 3)
    assert len({h.category for h in headlines[:10]}) == 10, "the first ones already do"
    assert all(40 <= len(h.text) <= 160 for h in headlines)
    assert len(shots) >= 44
    assert {shot.category for shot in shots} == set(CATEGORIES)
    assert all(shot.reference for shot in shots)
    assert len({h.id for h in headlines + shots}) == len(headlines) + len(shots)


def test_worked_examples_commit_none_of_the_computable_errors() -> None:
    shots = bundled_shots()
    rows = [(shot.text, shot.reference.side(side)) for shot in shots for side in SIDES]
    items = pd.DataFrame(rows, columns=["headline", "text"])
    found = classify_many(items.assign(perplexity=math.nan, headline_perplexity=math.nan))
    for one in found.itertuples():
        flags = (one.numeric_prediction, one.similar_semantics, one.fantastical_edit)
        assert not any(flags), one.text
        assert not entities_lost(one.headline, entities(one.headline), one.text), one.text
        assert len(one.text) <= 140, one.text
    sides = [(shot.reference.risk, shot.reference.opportunity) for shot in shots]
    items = pd.DataFrame(sides, columns=["headline", "text"])
    found = classify_many(items.assign(perplexity=math.nan, headline_perplexity=math.nan))
    assert not found["similar_semantics"].any()


def test_worked_examples_are_the_small_edits_that_the_instruction_asks_for() -> None:
    kept = []
    for shot in bundled_shots():
        words = shot.text.lower().split()
        for side in SIDES:
            edited = shot.reference.side(side).lower().split()
            blocks = difflib.SequenceMatcher(None, words, edited, False).get_matching_blocks()
            kept.append(sum(block.size for block in blocks) / len(words))
            assert kept[-1] >= 0.4, shot.text
            assert len(edited) <= len(words) + 4, shot.text
    assert sum(kept) / len(kept) > 0.6
