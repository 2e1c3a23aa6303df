"""Classification: equal to scikit-learn's, and honest about what is invalid."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from contrafact.stats.classification import (
    MEASURES,
    auroc,
    auroc_one_vs_rest,
    binary_figures,
    classification,
    confusion_matrix,
    measures,
)

LABELS = ("numerical", "flipping", "sentiment", "causal")
rows = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from((*LABELS, None))), min_size=1, max_size=60
)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def reference(gold: list[str], predicted: list[str], labels: list[str]) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        averaged = metrics.precision_recall_fscore_support(
            gold, predicted, labels=labels, average="macro", zero_division=0
        )
        return {
            "accuracy": metrics.accuracy_score(gold, predicted),
            "precision": averaged[0],
            "recall": averaged[1],
            "f1": averaged[2],
            "mcc": metrics.matthews_corrcoef(gold, predicted),
        }


@given(rows)
def test_measures_over_valid_outputs_are_those_of_scikit_learn(pairs):
    valid = [(g, p) for g, p in pairs if p is not None]
    assume(valid)
    found = measures(confusion_matrix(*zip(*pairs, strict=True), LABELS), "valid")
    gold, predicted = (list(side) for side in zip(*valid, strict=True))
    expected = reference(gold, predicted, sorted({*gold, *predicted}))
    assert {name: float(found[name]) for name in MEASURES} == pytest.approx(expected, abs=1e-12)


@given(rows)
def test_strict_measures_are_scikit_learns_with_invalid_as_a_class_that_nobody_has(pairs):
    found = measures(confusion_matrix(*zip(*pairs, strict=True), LABELS), "strict")
    gold = [g for g, _ in pairs]
    predicted = [p or "invalid" for _, p in pairs]
    expected = reference(gold, predicted, sorted({*gold, *predicted} - {"invalid"}))
    assert {name: float(found[name]) for name in MEASURES} == pytest.approx(expected, abs=1e-12)


@given(rows)
def test_many_matrices_at_once_are_measured_as_one_by_one(pairs):
    one = confusion_matrix(*zip(*pairs, strict=True), LABELS)
    both = measures(np.stack([one, one * 3, np.zeros_like(one)]))
    for name, value in measures(one).items():
        assert both[name][:2] == pytest.approx(np.array([value, value]), nan_ok=True)
        assert math.isnan(both[name][2])


def test_the_matrix_has_gold_in_rows_and_the_invalid_in_the_last_column():
    found = confusion_matrix(["t", "t", "f", "f"], ["f", None, "f", "t"], ("t", "f"))
    assert found.tolist() == [[0, 1, 1], [1, 1, 0]]


def test_a_model_that_always_says_the_same_has_a_third_and_no_correlation():
    found = classification(
        ["true", "false"] * 40, ["true"] * 80, ("true", "false"), None, rng=rng(), resamples=200
    )
    assert found.figures["f1", "valid"].estimate == pytest.approx(1 / 3)
    assert found.figures["mcc", "valid"].estimate == 0.0
    assert math.isnan(found.figures["mcc", "valid"].low)  # the same on every resample
    assert found.invalid_rate.estimate == 0.0
    assert found.invalid_rate.high > 0.0  # none of eighty is not never


def test_all_invalid_has_no_valid_measure_and_a_strict_one_of_nothing():
    found = classification(
        ["true", "false"] * 5, [None] * 10, ("true", "false"), None, rng=rng(), resamples=50
    )
    assert all(math.isnan(found.figures[name, "valid"].estimate) for name in MEASURES)
    assert found.figures["accuracy", "strict"].estimate == 0.0
    assert found.invalid_rate.estimate == 1.0
    none = classification([], [], ("true", "false"), [], rng=rng(), resamples=50)
    assert math.isnan(none.figures["f1", "strict"].estimate)


def test_intervals_resample_whole_clusters():
    """Ten copies of each item say no more than the item: the interval must not shrink."""
    noise = np.random.default_rng(1)
    gold = [str(x) for x in noise.choice(["a", "b"], 60)]
    predicted = [g if noise.random() < 0.7 else "a" for g in gold]
    kwargs = {"level": 0.95, "resamples": 4000}
    single = classification(gold, predicted, ("a", "b"), list(range(60)), rng=rng(), **kwargs)
    copied = classification(
        gold * 10, predicted * 10, ("a", "b"), [*range(60)] * 10, rng=rng(), **kwargs
    )
    for name in MEASURES:
        a, b = single.figures[name, "valid"], copied.figures[name, "valid"]
        assert a.estimate == pytest.approx(b.estimate)
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.1)


def test_the_bootstrap_agrees_with_scikit_learn_in_a_loop():
    noise = np.random.default_rng(3)
    gold = noise.choice(LABELS, 150)
    predicted = np.where(noise.random(150) < 0.6, gold, noise.choice(LABELS, 150))
    found = classification(
        gold.tolist(), predicted.tolist(), LABELS, None, rng=rng(), resamples=5000
    ).figures["f1", "valid"]
    draws = [
        metrics.f1_score(gold[i], predicted[i], average="macro")
        for i in (noise.integers(0, 150, 150) for _ in range(600))
    ]
    assert (found.low, found.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.015)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40).filter(
        lambda items: len({y for y, _ in items}) == 2
    )
)
def test_auroc_is_scikit_learns_ties_included(items):
    y, x = zip(*items, strict=True)
    found = auroc(y, x, None, rng=rng(), resamples=20)
    assert found.estimate == pytest.approx(metrics.roc_auc_score(y, x))


def test_auroc_of_one_kind_is_undefined():
    assert math.isnan(auroc([1, 1], [0.2, 0.9], None, rng=rng(), resamples=5).estimate)


weighed = st.tuples(
    st.sampled_from(LABELS), st.lists(st.integers(1, 5), min_size=4, max_size=4).map(np.array)
)


@settings(max_examples=30)
@given(st.lists(weighed, min_size=2, max_size=40))
def test_one_against_the_rest_is_scikit_learns_mean_over_the_classes_present(items):
    gold, weights = zip(*items, strict=True)
    assume(len(set(gold)) > 1)
    scores = np.array([row / row.sum() for row in weights])
    found = auroc_one_vs_rest(gold, scores, LABELS, None, rng=rng(), resamples=5).estimate
    areas = [
        metrics.roc_auc_score([one == label for one in gold], column)
        for label, column in zip(LABELS, scores.T, strict=True)
        if label in gold
    ]
    assert found == pytest.approx(np.mean(areas))
    if len(areas) == len(LABELS):
        by_name = scores[:, np.argsort(LABELS)]
        assert found == pytest.approx(metrics.roc_auc_score(gold, by_name, multi_class="ovr"))


def test_of_two_labels_one_against_the_rest_is_the_area_itself_bounds_and_all():
    noise = np.random.default_rng(6)
    gold, p, c = noise.integers(0, 2, 60), noise.random(60), noise.integers(0, 15, 60)
    found = auroc_one_vs_rest(
        gold.tolist(), np.stack([1 - p, p], axis=1), (0, 1), c, rng=rng(), resamples=200
    )
    own = auroc(gold, p, c, rng=rng(), resamples=200)
    assert (found.estimate, found.low, found.high, found.clusters) == pytest.approx(
        (own.estimate, own.low, own.high, own.clusters)
    )


def test_one_against_the_rest_refuses_what_does_not_pair_up():
    for gold, scores, message in (
        ("ab", [[0.5, 0.5]], "2 labels for 1"),
        ("ac", [[0.5, 0.5]] * 2, "not in the label space"),
        ("ab", [[0.5, math.nan]] * 2, "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            auroc_one_vs_rest(gold, scores, "ab", None, rng=rng(), resamples=5)
    alone = auroc_one_vs_rest("aa", [[0.5, 0.5]] * 2, "ab", None, rng=rng(), resamples=5)
    assert math.isnan(alone.estimate)


def test_the_order_of_rows_changes_no_seeded_figure():
    noise = np.random.default_rng(5)
    y, x, c = noise.integers(0, 2, 80), noise.integers(0, 9, 80), noise.integers(0, 20, 80)
    order = noise.permutation(80)
    first = auroc(y, x, c, rng=rng(), resamples=300)
    assert first == auroc(y[order], x[order], c[order], rng=rng(), resamples=300)
    scores = np.stack([x, 9 - x], axis=1)
    many = auroc_one_vs_rest(y.tolist(), scores, (1, 0), c, rng=rng(), resamples=300)
    assert many == auroc_one_vs_rest(
        y[order].tolist(), scores[order], (1, 0), c[order], rng=rng(), resamples=300
    )
    labels = np.array(["n", "p"])
    one = classification(
        labels[y].tolist(), labels[x % 2].tolist(), ("n", "p"), c, rng=rng(), resamples=300
    )
    other = classification(
        labels[y][order].tolist(), labels[x % 2][order].tolist(), ("n", "p"), c[order],
        rng=rng(), resamples=300,
    )  # fmt: skip
    assert one.figures == other.figures


@pytest.mark.parametrize(
    ("gold", "predicted", "labels", "message"),
    [
        (["a"], ["c"], ("a", "b"), "not in the label space"),
        ([None], ["a"], ("a", "b"), "not in the label space"),
        (["a", "b"], ["a"], ("a", "b"), "2 gold labels for 1"),
        (["a"], ["a"], ("a", "a"), "occurs twice"),
    ],
)
def test_what_cannot_be_counted_is_refused(gold, predicted, labels, message):
    with pytest.raises(ValueError, match=message):
        confusion_matrix(gold, predicted, labels)


def figures(reference, rater, **options):
    counts, found = binary_figures(
        reference, rater, resamples=500, rng=np.random.default_rng(0), **options
    )
    return SimpleNamespace(**counts, **found)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_estimates_are_those_of_scikit_learn(pairs):
    reference, rater = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = figures(reference, rater)
    expected = metrics.precision_recall_fscore_support(
        reference, rater, average="binary", zero_division=np.nan
    )
    got = (found.precision.estimate, found.recall.estimate, found.f1.estimate)
    np.testing.assert_allclose(got, expected[:3])
    assert found.accuracy.estimate == pytest.approx(metrics.accuracy_score(reference, rater))


def test_clusters_widen_and_misuse_is_refused():
    reference = np.tile([1, 1, 0, 0, 1], 20)
    rater = np.tile([1, 0, 0, 1, 1], 20)
    rater[::7] = 1 - rater[::7]
    order = np.argsort(rater == reference, kind="stable")
    labels = np.arange(100) // 5
    alone = figures(reference[order], rater[order]).f1
    whole = figures(reference[order], rater[order], clusters=labels).f1
    assert whole.high - whole.low > 1.4 * (alone.high - alone.low)
    with pytest.raises(ValueError, match="pair up"):
        figures([1, 0], [1])
    with pytest.raises(ValueError, match="0 or 1"):
        figures([2.0], [1.0])
