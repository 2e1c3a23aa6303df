"""Baselines: honest by article, the same every time, and the same inside and outside Inspect."""

import asyncio
from dataclasses import asdict

import numpy as np
import pytest
from tests.support.replies import evaluated

from contrafact.errors import InputError
from contrafact.families.rfc.baseline import article_folds, cross_validated
from contrafact.families.rfc.data import bundled_pairs, items_of
from contrafact.families.rfc.items import ITEM_COLUMNS, item_row, items_frame
from contrafact.families.rfc.methods import methods_of
from contrafact.families.rfc.records import Rewrite
from contrafact.families.rfc.scoring import pairwise_accuracy
from contrafact.family.method import MethodContext
from contrafact.family.settings import RunSettings


def baseline_rows(task, pairs, *, seed=0, names=None):
    """Return the per-item rows of baselines, without Inspect."""
    methods = methods_of(task)
    rows = []
    for name in names or methods.baseline_names():
        made = methods.make(name, MethodContext(RunSettings(task=task, seed=seed), items=pairs))
        for item in items_of(task, pairs):
            answer = asyncio.run(made(item, None))
            of = {"system": name, "model": "none/none", "method": name, "shots": 0, "draw": 1}
            rows.append(item_row(item, asdict(answer), **of))
    return rows


def test_no_fold_judges_an_article_it_learnt_from():
    articles = [f"n{i // 3}" for i in range(40)]
    judged = []
    for train, test in article_folds(articles, seed=1):
        assert not {articles[i] for i in train} & {articles[i] for i in test}
        judged += test.tolist()
    assert sorted(judged) == list(range(40))


def test_what_only_an_article_knows_is_not_learnt():
    """Features that name the article and nothing else leave chance behind."""
    clusters = np.repeat(np.arange(60), 2)
    gold = ["true" if c % 2 else "false" for c in clusters]
    features = np.eye(60)[clusters]
    found = cross_validated(features, gold, ("false", "true"), clusters.tolist(), seed=0)
    right = (found.argmax(axis=1) == np.array([g == "true" for g in gold])).mean()
    assert right < 0.75
    feature = np.array([[g == "true"] for g in gold], dtype=float)
    found = cross_validated(feature, gold, ("false", "true"), clusters.tolist(), seed=0)
    assert ((found[:, 1] > 0.5) == feature[:, 0].astype(bool)).all()


def test_majority_says_one_thing_and_gets_no_pair_right():
    rows = baseline_rows("rfc-detect", bundled_pairs(), names=["majority"])
    assert {row["predicted"] for row in rows} == {"true"}
    assert pairwise_accuracy(rows) == (0.0, 0.0)
    skewed = [p for p in bundled_pairs() if p.manipulation != "causal"] + [
        Rewrite.of("flipping", f"Up {n}.", f"Down {n}.", article_id=f"x{n}") for n in range(3)
    ]
    rows = baseline_rows("rfc-diagnose", skewed, names=["majority"])
    assert {row["predicted"] for row in rows} == {"flipping"}


def test_rows_have_the_promised_columns_and_repeat_exactly():
    for task in ("rfc-detect", "rfc-diagnose"):
        rows = baseline_rows(task, bundled_pairs(), seed=3)
        assert all(tuple(row) == ITEM_COLUMNS for row in rows)
        assert repr(rows) == repr(baseline_rows(task, bundled_pairs(), seed=3))
    names = {row["method"] for row in baseline_rows("rfc-diagnose", bundled_pairs())}
    assert names == {"majority", "surface"}


def test_one_article_cannot_be_cross_validated():
    with pytest.raises(InputError, match="two articles"):
        baseline_rows("rfc-diagnose", bundled_pairs()[:1], names=["surface"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "name"),
    [("rfc-detect", "majority"), ("rfc-detect", "surface"), ("rfc-diagnose", "surface")],
)
def test_under_inspect_a_baseline_says_the_same_and_asks_no_model(tmp_path, task, name):
    log, _ = evaluated(task, "none/none", tmp_path, method=name)
    assert log.status == "success"
    rows = items_frame(log.samples, system="s", model="none/none", method=name, shots=0)
    direct = {r["sample_id"]: r for r in baseline_rows(task, bundled_pairs(), names=[name])}
    assert {r["sample_id"]: r["predicted"] for r in rows} == {
        key: r["predicted"] for key, r in direct.items()
    }
    assert not any(event.event == "model" for sample in log.samples for event in sample.events)
