"""Judges of pairs of known behaviour, over HTTP: their exams find what they are worth."""

import json
import sys
from pathlib import Path

import pytest
from tests.support.lines import read_lines

from contrafact.families.rfc.exam import WHOLES, rfc_items
from contrafact.families.rfc.judging import CRITERIA
from contrafact.family.exam_file import read_exam

sys.path.append(str(Path(__file__).parents[1] / "support"))
from pair_judge import digest

pytestmark = pytest.mark.slow

FAKE = "openai-api/fake/"
PARTS = {kind: [f"{kind}:{one.name}" for one in CRITERIA[kind]] for kind in WHOLES}
SERVER = Path(__file__).parents[1] / "support" / "pair_judge.py"


@pytest.fixture(scope="module")
def judge(tmp_path_factory, start_service):
    """Judges who know what is false of every item, and of a control that all of it is."""
    key = {}
    for item in rfc_items():
        false = [name.partition(":")[2] for name, value in item.known.items() if not value]
        if "control" in false:
            false = [one.name for one in CRITERIA[item.facts["manipulation"]]]
        key[digest(item.about, item.text)] = false
    path = tmp_path_factory.mktemp("exam") / "key.json"
    path.write_text(json.dumps(key), encoding="utf-8")
    with start_service(str(path), server=SERVER) as running:
        yield running


@pytest.fixture
def exam_of(judge, tmp_path, quick_contrafact):
    """Examine one judge or a panel; return the exam, what was shown, and how many were asked."""

    def run(*names, more=()):
        out = f"{names[0]}.json"
        command = ["exam", "--family", "rfc", "--no-order", "--out", out, *more]
        command += [word for one in names for word in ("--judge", f"{FAKE}{one}")]
        judge.forget()
        done = quick_contrafact(*command, env=judge.environment)
        assert done.returncode == 0, done.stderr
        asked = sum(judge.stats()["answered"].values())
        return read_exam(tmp_path / out), done.stdout, asked

    return run


def rates(exam, name):
    one = exam.criteria[name]
    return one.sensitivity.estimate, one.specificity.estimate


def test_one_call_a_pair_finds_a_judge_that_knows_to_be_right_throughout(exam_of):
    exam, shown, asked = exam_of("labels")
    assert asked == exam.n == 999
    for kind in WHOLES:
        for name in (kind, *PARTS[kind]):
            assert rates(exam, name) == (1.0, 1.0), name
            assert exam.criteria[name].sensitivity.low > 0.8
        assert rates(exam, f"{kind}:control") == (None, 1.0)
        assert exam.trust(kind)[0] and f"may be trusted with {kind}" in shown
    assert rates(exam, "response") == (1.0, 1.0)
    assert max(one.auroc.estimate for one in exam.surface.values()) <= 0.6
    assert not any(one.leaks for one in exam.surface.values())
    again = exam_of("labels")
    assert again[2] == 0 and "no model was called" in again[1] and again[0] == exam


def test_judges_that_say_the_same_of_everything_are_trusted_with_nothing(exam_of):
    for name, expected in (("passes", (1.0, 0.0)), ("fails", (0.0, 1.0))):
        exam, shown, asked = exam_of(name, more=("--n", "150"))
        assert asked == 150
        for kind in WHOLES:
            assert rates(exam, kind) == expected
            assert not exam.trust(kind)[0] and f"not for {kind}" in shown


def test_a_judge_that_is_right_on_three_kinds_only_is_not_for_the_fourth(exam_of):
    exam, shown, _ = exam_of("partial", more=("--n", "300"))
    assert [exam.trust(kind)[0] for kind in WHOLES] == [True, True, False]
    assert rates(exam, "causal:cause_changed") == (0.0, 0.0)
    assert rates(exam, "numerical:plausible") == (1.0, 1.0)
    assert "not for causal" in shown and "may be trusted with sentiment" in shown


def test_rates_that_are_found_are_the_true_ones_within_their_intervals(exam_of):
    """A judge that errs on one criterion in ten, whichever way."""
    exam, _, _ = exam_of("noisy-1")
    right = 1 - 26 / 256
    outside = [
        (name, side)
        for kind in WHOLES
        for name in PARTS[kind]
        for side in (exam.criteria[name].sensitivity, exam.criteria[name].specificity)
        if not side.low <= right <= side.high
    ]
    assert len(outside) <= 2, outside  # of 18 intervals of 95%
    assert all(exam.trust(kind)[0] for kind in WHOLES)


def test_what_cannot_be_read_is_invalid_and_never_guessed(exam_of):
    for name in ("malformed-0", "malformed-4", "malformed-9", "invents"):
        exam, _, _ = exam_of(name, more=("--n", "40"))
        for kind in WHOLES:
            for part in (kind, *PARTS[kind]):
                if part in exam.criteria:
                    invalid = exam.criteria[part].invalid
                    assert invalid.k == invalid.n > 0, (name, part)
            assert not exam.trust(kind)[0]


def test_a_panel_is_examined_as_one_and_a_tie_is_invalid(exam_of, tmp_path):
    exam, _, asked = exam_of("labels", "labels-2", "fails", more=("--n", "60"))
    assert asked == 180
    assert rates(exam, "response") == (1.0, 1.0)
    row = next(one for one in read_lines(tmp_path / exam.items) if one["known"] and one["members"])
    said = {"labels": True, "labels-2": True, "fails": False}
    assert row["members"] == {FAKE + name: passed for name, passed in said.items()}
    exam, _, _ = exam_of("fails", "labels", more=("--n", "30"))
    for row in read_lines(tmp_path / exam.items):
        tied, why = (None, "tie") if row["known"] else (False, None)
        assert row["passed"] is tied
        assert row["criterion"] == "response" or row["invalid"] == why


def test_an_estimate_calls_nothing(judge, quick_contrafact, tmp_path):
    judge.forget()
    done = quick_contrafact(
        "exam", "--family", "rfc", "--judge", f"{FAKE}labels", "--n", "50", "--estimate",
        env=judge.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "50 calls" in done.stdout
    assert not judge.stats()["answered"] and not list(tmp_path.iterdir())
    without = quick_contrafact("exam", "--family", "rfc", "--judge", f"{FAKE}labels")
    assert without.returncode == 2 and "--out" in without.stderr
