"""The exam's figures, from rows whose making is known."""

import json

import numpy as np
import pytest
from tests.support.made_exams import exam_rows, examined

from contrafact.errors import InputError
from contrafact.exams.score import ceiling_notes, unread_notes
from contrafact.family.exam_file import read_exam, read_exams, write_exam


def row(number, known, passed, **changed):
    made = {
        "item": f"x{number}", "cluster": f"h{number // 2}", "kind": "right" if known else "wrong",
        "criterion": "E1", "known": known, "passed": passed, "words": 10, "text": "A text.",
        "invalid": None if passed is not None else "mumbles",
    }  # fmt: skip
    return made | changed


def of(rows):
    return examined(rows, resamples=500)


def judge(n, sensitivity, specificity, rng, **more):
    """Rows of a judge of known worth; every second item should pass."""
    rows = []
    for number in range(n):
        known = number % 2 == 0
        right = rng.random() < (sensitivity if known else specificity)
        rows.append(row(number, known, known == right, **{k: v(number) for k, v in more.items()}))
    return rows


def test_rates_are_counts_and_unreadable_replies_are_apart():
    rows = [row(n, True, n % 4 != 0) for n in range(40)]
    rows += [row(n, False, n % 5 == 0) for n in range(40, 90)]
    rows += [row(n, True, None) for n in range(90, 100)]
    found = of(rows).criteria["E1"]
    assert (found.sensitivity.k, found.sensitivity.n) == (30, 40)
    assert (found.specificity.k, found.specificity.n) == (40, 50)
    assert (found.invalid.k, found.invalid.n) == (10, 100)
    assert found.bias_true.estimate == pytest.approx((0.75 - 0.80) / 2)
    assert found.sensitivity.low < 0.75 < found.sensitivity.high
    assert {name: kind.known for name, kind in found.kinds.items()} == {
        "right": True, "wrong": False,
    }  # fmt: skip


def test_a_judge_that_always_says_true_leans_by_one_half():
    found = of([row(n, n % 2 == 0, True) for n in range(60)]).criteria["E1"]
    assert found.bias_true.estimate == pytest.approx(0.5)
    assert (found.sensitivity.estimate, found.specificity.estimate) == (1.0, 0.0)


def test_length_is_compared_among_items_of_one_verdict():
    rng = np.random.default_rng(0)
    # Right items are longer, and length itself does nothing.
    rows = judge(
        400, 0.8, 0.8, rng, words=lambda n: 100 + n // 2 % 7 if n % 2 == 0 else 10 + n // 2 % 7
    )
    honest = of(rows).criteria["E1"].length
    assert honest.low < 0 < honest.high
    # Now whatever is long passes.
    swayed = [one | {"passed": one["words"] % 10 > 3} for one in rows]
    figure = of(swayed).criteria["E1"].length
    assert figure.estimate == pytest.approx(1.0)


def test_probabilities_have_a_roc_curve():
    rng = np.random.default_rng(1)
    rows = judge(200, 0.5, 0.5, rng, probability=lambda n: 0.9 if n % 2 == 0 else 0.1)
    assert of(rows).criteria["E1"].auroc.estimate == 1.0


def test_nothing_readable_is_undefined_and_no_error():
    found = of([row(n, n % 2 == 0, None) for n in range(10)]).criteria["E1"]
    assert found.sensitivity.estimate is None
    assert found.bias_true.estimate is None
    assert found.invalid.estimate == 1.0


def test_where_no_verdict_can_be_read_it_is_said():
    unread = [row(n, n % 2 == 0, None) for n in range(10)]
    (note,) = unread_notes(exam_rows(unread), "a/judge")
    assert "no verdict of a/judge can be read (10 of 10: " in note
    assert not unread_notes(exam_rows([*unread, row(11, True, False)]), "a/judge")


def test_a_judge_right_on_everything_is_told_what_the_exam_cannot_tell():
    right = [row(n, n % 2 == 0, n % 2 == 0) for n in range(10)]
    (note,) = ceiling_notes(exam_rows(right), "a/judge", "easy")
    assert note == (
        "a/judge is right on all 10 verdicts: this exam of level easy cannot tell it from a "
        "perfect judge; --level hard has items at the edge"
    )
    (hard,) = ceiling_notes(exam_rows(right), "a/judge", "hard")
    assert hard.endswith("this exam of level hard cannot tell it from a perfect judge")
    (unnamed,) = ceiling_notes(exam_rows(right), "a/judge", "")
    assert unnamed.endswith("this exam cannot tell it from a perfect judge")
    for other in (row(10, True, False), row(10, True, None)):
        assert not ceiling_notes(exam_rows([*right, other]), "a/judge", "easy")


def test_a_file_comes_back_as_it_was(tmp_path):
    exam = of(judge(60, 0.9, 0.7, np.random.default_rng(2)))
    write_exam(tmp_path / "exam.json", exam)
    assert read_exam(tmp_path / "exam.json") == exam
    assert "NaN" not in (tmp_path / "exam.json").read_text()


def test_what_earlier_versions_measured_besides_is_no_error(tmp_path):
    exam = of(judge(60, 0.9, 0.7, np.random.default_rng(2)))
    rate = {"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 60}
    older = exam.model_dump(mode="json") | {"surface_scores": {"bleu": rate}, "together": rate}
    (tmp_path / "exam.json").write_text(json.dumps(older))
    assert read_exam(tmp_path / "exam.json").criteria == exam.criteria


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("not json", "is not JSON"),
        ("[]", "is no exam"),
        ('{"format": "contrafact-exam", "version": 9}', "of version 9"),
        ('{"format": "contrafact-exam", "version": 1}', "judge: is missing"),
    ],
)
def test_what_is_no_exam_is_refused(tmp_path, content, message):
    path = tmp_path / "exam.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_exam(path)


def test_two_exams_of_one_judge_are_one_too_many(tmp_path):
    exam = of(judge(20, 0.9, 0.7, np.random.default_rng(2)))
    for name in ("a", "b"):
        write_exam(tmp_path / f"{name}.json", exam)
    with pytest.raises(InputError, match="second exam of j in cobe"):
        read_exams([tmp_path / "a.json", tmp_path / "b.json"])
    assert len(read_exams([tmp_path / "a.json", tmp_path / "a.json"])) == 1
