"""Questions are put once; what failed is put again; a panel votes."""

import asyncio

import pytest
from inspect_ai.model import get_model

from contrafact.errors import InputError
from contrafact.exam.finforce import FinforceExaminer, finforce_items
from contrafact.exam.rows import exam_rows
from contrafact.exam.sitting import questions_of, sit
from contrafact.files.journal import Journal
from contrafact.prompts import open_pack
from contrafact.records import Verdict

ITEMS = finforce_items()[:6]


class Scripted(FinforceExaminer):
    """Asks nobody: the criterion's verdict is true unless the judge's name says otherwise."""

    def __post_init__(self):
        super().__post_init__()
        self.asked = []
        self.broken = False

    async def ask(self, judge, criterion, prompt):
        self.asked.append((str(judge), criterion, prompt))
        if self.broken and len(self.asked) > 3:
            raise ConnectionError("the line is dead")
        if "odd" in str(judge):
            return Verdict(criterion=criterion, passed=None, invalid="mumbles", judge=str(judge))
        return Verdict(criterion=criterion, passed="no" not in str(judge), judge=str(judge))


def examiner() -> Scripted:
    return Scripted(open_pack())


def judges(*names):
    return {name: get_model(f"mockllm/{name}") for name in names}


def ask(path, own, names, **options):
    questions = questions_of(ITEMS, own, list(names), **options)
    with Journal(path, {"judge": "any"}) as answers:
        sitting = asyncio.run(sit(questions, own, judges(*names), answers, at_once=2))
        return questions, sitting, dict(answers.known)


def test_nothing_is_asked_twice_and_a_longer_exam_asks_only_what_is_new(tmp_path):
    own = examiner()
    questions, sitting, _ = ask(tmp_path / "a.jsonl", own, ["yes"])
    distinct = {q.key for q in questions}
    assert sitting.asked == len(own.asked) == len(distinct)
    again = examiner()
    _, sitting, _ = ask(tmp_path / "a.jsonl", again, ["yes"])
    assert again.asked == []
    more = examiner()
    questions, _, _ = ask(tmp_path / "a.jsonl", more, ["yes"], repeats=3)
    plain = sum(not q.swapped and q.repeat > 1 for q in questions)
    assert len(more.asked) == plain


def test_failed_questions_are_told_and_only_they_are_asked_again(tmp_path):
    own = examiner()
    own.broken = True
    questions, sitting, known = ask(tmp_path / "a.jsonl", own, ["yes"])
    assert len(known) == 3
    assert set(sitting.failures.values()) == {"ConnectionError: the line is dead"}
    assert len(sitting.failures) == len(questions) - 3
    again = examiner()
    _, sitting, known = ask(tmp_path / "a.jsonl", again, ["yes"])
    assert len(again.asked) == len(questions) - 3
    assert not sitting.failures


def test_answers_to_other_questions_are_not_taken(tmp_path):
    ask(tmp_path / "a.jsonl", examiner(), ["yes"])
    with pytest.raises(InputError, match="differs in judge"):
        Journal(tmp_path / "a.jsonl", {"judge": "another"}).__enter__()


def test_a_panel_is_the_majority_of_its_valid_members(tmp_path):
    names = ["yes", "no", "yes-too", "odd"]
    questions, _, known = ask(tmp_path / "a.jsonl", examiner(), names, order=False, repeats=2)
    rows = exam_rows(ITEMS, questions, known)
    assert rows
    for row in rows:
        assert row.passed is True
        assert row.repeats == (True, True)
        assert row.members == {"yes": True, "no": False, "yes-too": True, "odd": None}
        assert not row.asked_swapped


def test_a_tie_is_invalid_and_says_so(tmp_path):
    questions, _, known = ask(tmp_path / "a.jsonl", examiner(), ["yes", "no"])
    rows = exam_rows(ITEMS, questions, known)
    assert {(row.passed, row.invalid) for row in rows} == {(None, "tie")}
    assert all(row.asked_swapped for row in rows)
