"""The leak gate: it finds a leak that is there, and none in what the program draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from contrafact.errors import InputError
from contrafact.families.cobe.data import known_story
from contrafact.families.cobe.exam import leak_item
from contrafact.families.cobe.synth.compose import compose
from contrafact.judges.surface import OVERALL, leak_rows
from contrafact.stats.classification import Areas

STORIES = 120


@pytest.fixture(scope="module")
def stories():
    return [known_story(row) for row in compose(STORIES, 21)]


def items_of(stories):
    return [
        leak_item(known.story, answer.text, known.verdicts(answer))
        for known in stories
        for answer in (*known.right, *known.wrong)
    ]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(1, 3)), min_size=2))
def test_the_area_is_that_of_a_library(items):
    label = np.array([one for one, _, _ in items])
    scores = np.array([float(score) for _, score, _ in items])
    weights = np.array([weight for _, _, weight in items])
    (area,) = Areas(label.astype(float), scores, np.arange(len(items)))(weights[None])
    if label.all() or not label.any():
        assert np.isnan(area)
    else:
        assert area == pytest.approx(roc_auc_score(label, scores, sample_weight=weights))


@pytest.mark.slow
def test_what_is_drawn_does_not_leak(stories):
    rows = list(leak_rows(items_of(stories), readers=["all"], folds_by=["template"]))
    assert {row.target for row in rows} >= {OVERALL, "E1", "E2", "E3"}
    for row in rows:
        # On so few stories a limit is broken only where the interval lies above it.
        assert row.low <= row.limit, row
        assert row.low <= row.auroc <= row.high


@pytest.mark.slow
def test_a_leak_is_found(stories):
    shown = [
        known.model_copy(
            update={
                "wrong": tuple(
                    one.model_copy(update={"text": f"{one.text} However, nobody knows."})
                    for one in known.wrong
                )
            }
        )
        for known in stories[:60]
    ]
    rows = list(leak_rows(items_of(shown), readers=["connectors"], folds_by=["graph"]))
    overall = [row for row in rows if row.target == OVERALL]
    assert all(row.leaks and row.auroc > 0.9 for row in overall)


def test_too_few_answers_are_reported(stories):
    with pytest.raises(InputError, match="8 right and 32 wrong texts are too few"):
        list(leak_rows(items_of(stories[:4])))
