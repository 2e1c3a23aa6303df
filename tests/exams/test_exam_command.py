"""``contrafact exam``, over HTTP, with a judge whose worth is known."""

import json
from collections import Counter
from importlib.resources import files

import pytest

from contrafact.families.cobe.data import bundled_known, criteria_of
from contrafact.families.cobe.exam import CobeExamOptions, cobe_items
from contrafact.families.cobe.exam import examiner as cobe_examiner
from contrafact.families.finforce.exam import examiner, finforce_items
from contrafact.family.exam_file import read_exam
from contrafact.family.settings import StructuredOptions
from contrafact.prompts import open_pack

STORIES = files("contrafact.families.cobe") / "samples" / "stories.json"


@pytest.fixture(scope="module")
def verdicts(key_of):
    return key_of(finforce_items(), examiner(open_pack(), StructuredOptions()))


@pytest.mark.slow
def test_an_exam_finds_the_worth_of_a_judge_and_asks_nothing_twice(
    quick_contrafact, tmp_path, start_judge, verdicts
):
    with start_judge(verdicts, sensitivity=0.85, specificity=0.6, invalid=0.04) as judge:
        command = ("exam", "--judge", judge.judge, "--no-order", "--out", "exam.json")
        run = quick_contrafact(*command, env=judge.environment)
        assert run.returncode == 0, run.stderr
        exam = read_exam(tmp_path / "exam.json")
        for name, found in exam.criteria.items():
            assert counted(found.sensitivity) == judge.truth(name, known=True)
            assert counted(found.specificity) == judge.truth(name, known=False)
            assert found.sensitivity.low < found.sensitivity.estimate < found.sensitivity.high
            assert found.invalid.k > 0
        assert exam.criteria["directionality"].bias_true.low > 0
        assert (exam.judge, exam.family, exam.n) == (judge.judge, "finforce", 740)
        assert "sensitivity" in run.stdout
        asked = judge.answered()
        content = (tmp_path / "exam.json").read_bytes()
        rows = [json.loads(line) for line in (tmp_path / exam.items).read_text().splitlines()]
        assert len(rows) == asked == 900
        again = quick_contrafact(*command, env=judge.environment)
        assert again.returncode == 0
        assert "no model was called" in again.stdout
        assert judge.answered() == asked
        assert (tmp_path / "exam.json").read_bytes() == content


def counted(rate) -> tuple[int, int]:
    return rate.k, rate.n


def test_a_judge_that_cannot_tell_is_reported(quick_contrafact, tmp_path, start_judge, verdicts):
    with start_judge(verdicts, sensitivity=0.3, specificity=0.3) as judge:
        run = quick_contrafact(
            "exam", "--judge", judge.judge, "--no-order", "--n", "60", "--out", "exam.json",
            env=judge.environment,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "this judge cannot tell" in run.stdout


@pytest.mark.slow
def test_failed_calls_leave_no_exam_and_only_what_has_no_answer_is_asked(
    quick_contrafact, tmp_path, start_judge, verdicts
):
    command = ("exam", "--no-order", "--n", "20", "--max-retries", "0", "--out", "exam.json")
    half = dict(list(verdicts.items())[::2])
    with start_judge(half) as judge:
        command += ("--judge", judge.judge)
        run = quick_contrafact(*command, env=judge.environment)
        first = judge.answered()
    assert run.returncode == 1
    assert "questions failed; the same command tries them again" in run.stderr
    assert not (tmp_path / "exam.json").exists()
    with start_judge(verdicts) as judge:
        for more in ((), (), ("--n", "30")):
            run = quick_contrafact(*command, *more, env=judge.environment)
            assert run.returncode == 0, run.stderr
            rows = len((tmp_path / "exam.items.jsonl").read_text().splitlines())
            assert 0 < first < rows and (more or judge.answered() == rows - first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "exam.csv"), "name it .json"),
        (("--out", "e.json", "--order"), "--order is retired: an exam asks each question once"),
        (("--out", "e.json", "--repeats", "2"), "--repeats is retired: an exam asks each"),
        (("--out", "e.json", "--judge-context"), "No such option: --judge-context"),
        (("--out", "e.json", "--data", "x.json"), "No such option: --data"),
        (("--out", "e.json", "--n", "5000"), "there are 740 items, not 5000"),
        (("--out", "e.json", "--family", "cobe", "--data", "none.json"), "none.json: no such file"),
        (("--out", "e.json"), "cannot use the model 'nobody/knows'"),
    ],
)
def test_bad_usage_is_reported_in_one_line(quick_contrafact, options, message):
    run = quick_contrafact("exam", "--judge", "nobody/knows", *options)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_a_file_that_is_no_exam_is_not_overwritten(quick_contrafact, tmp_path):
    (tmp_path / "e.json").write_text('{"mine": 1}')
    run = quick_contrafact("exam", "--judge", "nobody/knows", "--out", "e.json")
    assert run.returncode == 2
    assert "e.json: exists and is not an exam" in run.stderr
    assert (tmp_path / "e.json").read_text() == '{"mine": 1}'


def test_cobe_items_fail_one_criterion_each():
    items = cobe_items(bundled_known())
    for item in items:
        failed = [name for name, passes in item.known.items() if not passes]
        assert item.kind == f"fails {failed[0]}" if failed else item.kind.startswith("right")
        assert item.whole is (not failed) and len(failed) < 2
        assert set(item.known) == set(criteria_of(item.material))
    kinds = Counter(item.kind for item in items)
    assert kinds["fails E1"] == kinds["fails E2"] == kinds["fails E3"] == 14
    assert kinds["right: the representative answer"] == 14 and kinds["right: reordered"] == 2


@pytest.mark.slow
def test_the_verdict_on_a_response_is_measured_and_not_multiplied(
    quick_contrafact, tmp_path, start_judge, key_of
):
    verdicts = key_of(cobe_items(bundled_known()), cobe_examiner(open_pack(), CobeExamOptions()))
    command = ("exam", "--family", "cobe", "--data", str(STORIES), "--out", "exam.json")
    with start_judge(verdicts, sensitivity=0.8, specificity=0.7) as judge:
        run = quick_contrafact(*command, "--judge", judge.judge, env=judge.environment)
    assert run.returncode == 0, run.stderr
    exam = read_exam(tmp_path / "exam.json")
    assert list(exam.criteria) == ["E1", "E2", "E3", "E4", "E5", "response"]
    rows = [json.loads(line) for line in (tmp_path / "exam.items.jsonl").read_text().splitlines()]
    by_item: dict[str, list[bool]] = {}
    for row in rows:
        if row["criterion"] != "response":
            by_item.setdefault(row["item"], []).append(row["passed"])
    wholes = [row for row in rows if row["criterion"] == "response"]
    assert all(row["passed"] == all(by_item[row["item"]]) for row in wholes)
    right = [row["passed"] for row in wholes if row["known"]]
    found = exam.criteria["response"]
    assert counted(found.sensitivity) == (sum(right), 28)
    assert counted(exam.criteria["E2"].specificity)[1] == 14
    assert counted(exam.criteria["E2"].sensitivity)[1] == 64
    assert "Right told from wrong" in run.stdout


def test_a_file_without_wrong_answers_is_no_exam(quick_contrafact, tmp_path):
    rows = [row | {"Wrong answers": []} for row in json.loads(STORIES.read_text())]
    path = tmp_path / "right.json"
    path.write_text(json.dumps(rows))
    run = quick_contrafact(
        "exam", "--judge", "none/none", "--family", "cobe", "--data", str(path), "--out", "e.json"
    )
    assert run.returncode == 2
    assert "needs stories with right answers and with wrong ones" in run.stderr
