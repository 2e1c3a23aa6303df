import numpy as np
import pytest

from contrafact.errors import InputError
from contrafact.review.plan_files import frame_of_rows, labels_in_rows


def rows(*fields: dict) -> list:
    return [(line, {"item_id": f"i{line}"} | one) for line, one in enumerate(fields, start=2)]


def test_verdicts_make_levels_and_a_guess():
    frame = frame_of_rows(
        rows({"v": "pass", "s": "a"}, {"v": "fail", "s": "b"}, {"v": "", "s": "a"}),
        "items.csv",
        by="s",
        judge="v",
    )
    assert frame.judge_level == ("passed", "failed", "no verdict")
    assert frame.guess == pytest.approx([0.8, 0.2, 0.5])
    assert frame.groups == ("a", "b")
    assert frame.group == ("a", "b", "a")


def test_scores_make_ranges_of_as_many_items_each():
    frame = frame_of_rows(rows(*({"v": str(n / 100)} for n in range(40))), "items.csv", judge="v")
    counts = [frame.judge_level.count(level) for level in sorted(set(frame.judge_level))]
    assert counts == [10] * 4
    assert frame.guess == pytest.approx([0.2 + 0.6 * n / 100 for n in range(40)])


def test_without_a_judge_nothing_is_known():
    frame = frame_of_rows(rows({}, {}), "items.csv")
    assert set(frame.judge_level) == {""}
    assert frame.guess == pytest.approx([0.5, 0.5])


def test_own_words_for_a_pass():
    frame = frame_of_rows(
        rows({"v": "keep"}, {"v": "toss"}), "items.csv", judge="v", positive=["keep"]
    )
    assert frame.judge_level == ("passed", "failed")


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "there are no items"),
        (rows({"v": 1}), {"judge": "w"}, "no field 'w'"),
        (rows({"v": "perhaps"}), {"judge": "v"}, "items.csv:2: 'perhaps' is no label"),
        (rows({"v": "4"}), {"judge": "v"}, "score 4 is not between 0 and 1"),
        ([(2, {"text": "x"})], {}, "items.csv:2: the item has no id"),
        ([(2, {"id": "x"}), (3, {"id": "x"})], {}, "'x' is there twice"),
    ],
)
def test_items_that_cannot_be_planned_are_refused(given, options, message):
    with pytest.raises(InputError, match=message):
        frame_of_rows(given, "items.csv", **options)


def test_several_labels_of_one_item_count_by_majority_and_a_tie_is_open():
    frame = frame_of_rows(rows({}, {}, {}), "items.csv")
    given = [("i2", "pass"), ("i2", "pass"), ("i2", "fail"), ("i3", "pass"), ("i3", "fail")]
    labels = labels_in_rows(
        [(n, {"item_id": one, "label": message}) for n, (one, message) in enumerate(given)]
        + [(9, {"item_id": "elsewhere", "label": "pass"}), (10, {"item_id": "i4", "label": None})],
        frame,
        "labels.csv",
    )
    assert labels.values[0] == 1.0
    assert np.isnan(labels.values[1:]).all()
    assert (labels.tied, labels.outside) == (1, 1)


def test_labels_of_other_items_alone_are_a_mistake():
    frame = frame_of_rows(rows({}), "items.csv")
    with pytest.raises(InputError, match="no label is of any of these items"):
        labels_in_rows([(2, {"id": "x", "label": "pass"})], frame, "labels.csv")


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"id": "i2", "told": "pass"}, {}, "no field of labels"),
        ({"id": "i2", "told": "pass"}, {"field": "said"}, "no field 'said'"),
        ({"id": "i2", "told": "so-so"}, {"field": "told"}, "labels.csv:7: 'so-so' is no label"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(row, options, message):
    frame = frame_of_rows(rows({}), "items.csv")
    with pytest.raises(InputError, match=message):
        labels_in_rows([(7, row)], frame, "labels.csv", **options)
