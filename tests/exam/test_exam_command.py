"""``contrafact exam``, over HTTP, with a judge whose worth is known."""

import json

import pytest

from contrafact.families.cobe.data import (
    KnownAnswer,
    KnownStory,
    load_known,
    write_stories,
)
from contrafact.families.cobe.exam import CobeExamOptions, cobe_items
from contrafact.families.cobe.exam import examiner as cobe_examiner
from contrafact.families.cobe.phrasing import queries
from contrafact.families.finforce.exam import examiner, finforce_items
from contrafact.family.exam_file import read_exam
from contrafact.family.settings import StructuredOptions
from contrafact.prompts import open_pack
from contrafact.records import Story


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
            assert found.order is None
        assert exam.criteria["directionality"].bias_true.low > 0
        assert (exam.judge, exam.family, exam.n) == (judge.judge, "finforce", 740)
        assert "passes what is right" in run.stdout
        asked = judge.answered()
        content = (tmp_path / "exam.json").read_bytes()
        rows = [json.loads(line) for line in (tmp_path / exam.items).read_text().splitlines()]
        assert len(rows) == asked == 900
        again = quick_contrafact(*command, env=judge.environment)
        assert again.returncode == 0
        assert "no model was called" in again.stdout
        assert judge.answered() == asked
        assert (tmp_path / "exam.json").read_bytes() == content
        # Order and a second time: only what is new.
        longer = quick_contrafact(
            *(part for part in command if part != "--no-order"), "--repeats", "2", "--n", "40",
            env=judge.environment,
        )  # fmt: skip
        assert longer.returncode == 0, longer.stderr
        exam = read_exam(tmp_path / "exam.json")
        fresh = sum(len(item.known) for item in finforce_items() if item.id in _ids(tmp_path)) * 2
        assert judge.answered() == asked + fresh
        assert exam.repeats.same["directionality"].estimate == 1.0
        assert exam.criteria["directionality"].order.changed.n > 0


def counted(rate) -> tuple[int, int]:
    return rate.k, rate.n


def _ids(folder):
    lines = (folder / "exam.items.jsonl").read_text().splitlines()
    return {json.loads(line)["item"] for line in lines}


def test_a_judge_that_cannot_tell_is_reported(quick_contrafact, tmp_path, start_judge, verdicts):
    with start_judge(verdicts, sensitivity=0.3, specificity=0.3) as judge:
        run = quick_contrafact(
            "exam", "--judge", judge.judge, "--no-order", "--n", "60", "--out", "exam.json",
            env=judge.environment,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "this judge cannot tell" in run.stdout


def test_failed_calls_are_reported_and_leave_no_exam(
    quick_contrafact, tmp_path, start_judge, verdicts
):
    few = dict(list(verdicts.items())[:10])
    options = ("--no-order", "--n", "20", "--max-retries", "0", "--out", "exam.json")
    with start_judge(few) as judge:
        run = quick_contrafact("exam", "--judge", judge.judge, *options, env=judge.environment)
    assert run.returncode == 1
    assert "questions failed; the same command tries them again" in run.stderr
    assert not (tmp_path / "exam.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "exam.csv"), "name it .json"),
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


KEEPERS = ("Anton", "Bettina", "Carlo", "Dora", "Emil", "Frieda", "Gustav", "Hanna")


def story(number: int, keeper: str) -> KnownStory:
    """A lamp that is lit and a boat that comes home; had it been out, the boat would have sunk."""
    stays = f"{keeper} kept the lighthouse."
    core = Story(
        id=f"{number}v1",
        core_set_id=number,
        variation_id=1,
        domain="Engineering",
        text=f"{stays} Because the lamp was lit, the boat came home.",
        queries=queries("the lamp had been out"),
        answer=f"{stays} Because the lamp was out, the boat ran aground.",
        unchanged=stays,
        changed="The lamp was lit. The boat came home.",
    )
    right = [core.answer, f"Because the lamp was out, the boat ran aground. {stays}"]
    right.append(f"Surely! {core.answer} I hope that this helps you on your way.")
    shown = ["edited", "told in another order", "with words around it"]
    wrong = {
        "E1": "Nobody kept the lighthouse. Because the lamp was out, the boat ran aground.",
        "E2": f"{stays} Although the lamp was out, the boat came home.",
        "E3": f"{stays} Although the lamp was out, the boat ran aground.",
    }
    return KnownStory(
        story=core,
        right=tuple(KnownAnswer(text=t, why=w) for t, w in zip(right, shown, strict=True)),
        wrong=tuple(KnownAnswer(text=t, why="wrong", fails=name) for name, t in wrong.items()),
    )


def answers_object(known):
    return {
        "Right answers": [one.model_dump(exclude_none=True) for one in known.right],
        "Wrong answers": [one.model_dump(exclude_none=True) for one in known.wrong],
    }


@pytest.fixture
def stories(tmp_path):
    known = [story(number, keeper) for number, keeper in enumerate(KEEPERS, 1)]
    path = tmp_path / "stories.json"
    write_stories([one.story for one in known], path, [answers_object(one) for one in known])
    return path


def test_cobe_items_fail_one_criterion_each(stories):
    items = cobe_items(load_known(stories))
    assert len(items) == 8 * 6
    for item in items:
        failed = [name for name, passes in item.known.items() if not passes]
        assert item.kind == (f"fails {failed[0]}" if failed else item.kind)
        assert item.whole is (not failed)
        assert set(item.known) == {"E1", "E2", "E3"}
    kinds = {item.kind for item in items if item.whole}
    assert kinds == {"right: edited", "right: told in another order", "right: with words around it"}


@pytest.mark.slow
def test_the_verdict_on_a_response_is_measured_and_not_multiplied(
    quick_contrafact, tmp_path, start_judge, key_of, stories
):
    verdicts = key_of(
        cobe_items(load_known(stories)), cobe_examiner(open_pack(), CobeExamOptions())
    )
    command = ("exam", "--family", "cobe", "--data", str(stories), "--out", "exam.json")
    with start_judge(verdicts, sensitivity=0.8, specificity=0.7) as judge:
        run = quick_contrafact(*command, "--judge", judge.judge, env=judge.environment)
    assert run.returncode == 0, run.stderr
    exam = read_exam(tmp_path / "exam.json")
    assert list(exam.criteria) == ["E1", "E2", "E3", "response"]
    rows = [json.loads(line) for line in (tmp_path / "exam.items.jsonl").read_text().splitlines()]
    by_item: dict[str, list[bool]] = {}
    for row in rows:
        if row["criterion"] != "response":
            by_item.setdefault(row["item"], []).append(row["passed"])
    wholes = [row for row in rows if row["criterion"] == "response"]
    assert all(row["passed"] == all(by_item[row["item"]]) for row in wholes)
    right = [row["passed"] for row in wholes if row["known"]]
    found = exam.criteria["response"]
    assert counted(found.sensitivity) == (sum(right), 24)
    assert counted(exam.criteria["E2"].specificity)[1] == 8
    assert counted(exam.criteria["E2"].sensitivity)[1] == 40
    assert found.order.changed.n == 48
    assert set(exam.surface_scores) == {"bleu", "rouge_l", "edit_similarity", "judge"}
    # The representative answer is left out there.
    assert exam.surface_scores["bleu"].n == 40
    assert "right told from wrong" in run.stdout


def test_a_file_without_wrong_answers_is_no_exam(quick_contrafact, tmp_path):
    one = story(1, "Anton")
    path = tmp_path / "right.json"
    write_stories([one.story], path, [answers_object(one.model_copy(update={"wrong": ()}))])
    run = quick_contrafact(
        "exam", "--judge", "none/none", "--family", "cobe", "--data", str(path), "--out", "e.json"
    )
    assert run.returncode == 2
    assert "needs stories with right answers and with wrong ones" in run.stderr
