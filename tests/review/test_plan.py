import numpy as np
import pandas as pd
import pytest

from contrafact.errors import InputError
from contrafact.review.plan import draw_plan, final_items, judged_items, labels_of, plan_figures


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows(*fields: dict) -> list:
    return [(line, {"item_id": f"i{line}"} | one) for line, one in enumerate(fields, start=2)]


@pytest.mark.parametrize(
    ("verdicts", "options", "levels"),
    [
        (("pass", "fail", ""), {"judge": "v"}, ["passed", "failed", "no verdict"]),
        (("keep", "toss"), {"judge": "v", "positive": ["keep"]}, ["passed", "failed"]),
        (("pass", "fail"), {}, ["", ""]),
    ],
)
def test_verdicts_make_levels(verdicts, options, levels):
    given = rows(*({"v": verdict, "s": f"s{n}"} for n, verdict in enumerate(verdicts)))
    found = judged_items(given, "items.csv", by="s", **options)
    assert found["level"].tolist() == levels
    assert found["group"].tolist() == [f"s{n}" for n in range(len(levels))]


def test_scores_make_ranges_of_as_many_items_each():
    found = judged_items(rows(*({"v": str(n / 100)} for n in range(40))), "items.csv", judge="v")
    assert found["level"].value_counts().tolist() == [10] * 4


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "holds no items"),
        (rows({"v": 1}), {"judge": "w"}, "no field 'w'"),
        (rows({"v": "perhaps"}), {"judge": "v"}, "items.csv:2: .*'perhaps'"),
        (rows({"v": "4"}), {"judge": "v"}, "score 4 is not between 0 and 1"),
        ([(2, {"text": "x"})], {}, "items.csv:2: the row has no item id"),
        ([(2, {"id": "x"}), (3, {"id": "x"})], {}, "'x' is in the file twice"),
    ],
)
def test_items_that_cannot_be_planned_are_refused(given, options, message):
    with pytest.raises(InputError, match=message):
        judged_items(given, "items.csv", **options)


def test_a_residual_error_is_planned_of_final_items_by_how_they_became_so():
    review = [
        (1, {"item_id": "a", "review_outcome": "final", "review_why": "both passed", "kind": "x"}),
        (2, {"item_id": "b", "review_outcome": "removed", "review_why": "failed", "kind": "x"}),
        (3, {"item_id": "c", "review_outcome": "final", "review_why": "adjudicated", "kind": "y"}),
    ]
    found = final_items(review, "review 'pairs'", "kind")
    assert found.to_dict("list") == {
        "item_id": ["a", "c"],
        "group": ["x", "y"],
        "level": ["both passed", "adjudicated"],
    }
    with pytest.raises(InputError, match="no item is final yet"):
        final_items(review[1:2], "review 'pairs'", None)


def scored(source: np.random.Generator, n: int = 1_500) -> tuple[pd.DataFrame, np.ndarray]:
    """Two systems, and a judge that is sure of four items in five, and right of nearly all."""
    unsure = source.random(n) < 0.2
    good = source.random(n) < 0.7
    y = np.where(unsure, source.random(n) < 0.5, good ^ (source.random(n) < 0.015)).astype(float)
    level = np.where(unsure, "score range 2", np.where(good, "score range 3", "score range 1"))
    group = np.where(np.arange(n) % 10 == 0, "small", "large")
    ids = [f"i{at}" for at in range(n)]
    return pd.DataFrame({"item_id": ids, "group": group, "level": level}), y


def answers(key: pd.DataFrame, y: np.ndarray) -> list:
    return [
        (at, {"item_id": name, "label": "pass" if y[at] else "fail"})
        for at, name in enumerate(key["item_id"])
        if key["drawn"].iat[at]
    ]


def test_every_stratum_is_drawn_from_in_proportion_and_gets_some():
    items, _ = scored(rng(1))
    key = draw_plan(items, "rate", 150, rng(2))
    assert key["drawn"].sum() == 150
    assert key["probability"].sum() == pytest.approx(150)
    by = key.groupby(["group", "level"])
    assert (by["probability"].nunique() == 1).all()
    assert by["drawn"].sum().to_numpy() == pytest.approx(by["probability"].sum().to_numpy())
    assert by["drawn"].sum().min() >= 10
    large = key["group"] == "large"
    assert key.loc[large, "probability"].max() < 0.11


@pytest.mark.parametrize("budget", [1, 3, 20, 1_500])
def test_no_item_is_left_without_a_chance(budget):
    key = draw_plan(scored(rng(3))[0], "rate", budget, rng(4))
    assert key["drawn"].sum() == budget
    assert 0.0 < key["probability"].min() <= key["probability"].max() <= 1.0


@pytest.mark.slow
def test_figures_of_a_plan_say_more_than_a_plain_sample_and_cover():
    source = rng(5)
    items, y = scored(source)
    plain = items.assign(group="all", level="")
    widths, errors, covered = {0: [], 1: []}, {0: [], 1: []}, 0
    for _ in range(60):
        for at, frame in enumerate((items, plain)):
            key = draw_plan(frame, "rate", 300, source)
            found, by_group = plan_figures(key, labels_of(answers(key, y), key, "labels.csv"))
            widths[at].append(found.high - found.low)
            errors[at].append((found.estimate - y.mean()) ** 2)
            covered += at == 0 and found.low <= y.mean() <= found.high
        assert list(by_group) == ["all"]
    assert np.mean(widths[0]) < 0.75 * np.mean(widths[1])
    assert np.mean(errors[0]) < 0.5 * np.mean(errors[1])
    # 95% of 60, less two and a half standard errors.
    assert covered >= 53


def test_every_group_has_a_figure_and_a_residual_error_is_the_share_that_is_wrong():
    items, y = scored(rng(6))
    shares = {}
    for figure in ("rate", "residual"):
        key = draw_plan(items, figure, 700, rng(7))
        found, by_group = plan_figures(key, labels_of(answers(key, y), key, "labels.csv"))
        assert list(by_group) == ["large", "small"]
        for name, one in by_group.items():
            truth = y[items["group"] == name].mean()
            truth = truth if figure == "rate" else 1.0 - truth
            assert abs(one.estimate - truth) < 0.12
            assert one.low < one.estimate < one.high
        shares[figure] = found.estimate
    assert sum(shares.values()) == pytest.approx(1.0)


def test_few_labels_make_no_interval():
    items, y = scored(rng(8))
    key = draw_plan(items, "rate", 300, rng(9))
    found, _ = plan_figures(key, labels_of(answers(key, y)[:4], key, "labels.csv"))
    assert np.isnan(found.low)
    assert found.method == "no interval: fewer than 5 labelled clusters"


def all_drawn(n: int) -> pd.DataFrame:
    return draw_plan(judged_items(rows(*[{}] * n), "items.csv"), "rate", n, rng())


def test_several_labels_of_one_item_count_by_majority_and_a_tie_is_open():
    key = all_drawn(4).assign(drawn=[True, True, True, False])
    given = [("i2", "pass"), ("i2", "pass"), ("i2", "fail"), ("i3", "pass"), ("i3", "fail")]
    given += [("elsewhere", "pass"), ("i5", "pass"), ("i4", None)]
    labels = labels_of(
        [(n, {"item_id": one, "label": word}) for n, (one, word) in enumerate(given)],
        key,
        "labels.csv",
    )
    assert labels.values[0] == 1.0
    assert np.isnan(labels.values[1:]).all()
    assert (labels.tied, labels.outside) == (1, 2)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"id": "x", "label": "pass"}, {}, "none of the labelled items"),
        ({"id": "i2", "told": "pass"}, {}, "no field of labels"),
        ({"id": "i2", "told": "pass"}, {"field": "said"}, "no field 'said'"),
        ({"id": "i2", "told": "so-so"}, {"field": "told"}, "labels.csv:7: .*'so-so'"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(row, options, message):
    with pytest.raises(InputError, match=message):
        labels_of([(7, row)], all_drawn(1), "labels.csv", **options)
