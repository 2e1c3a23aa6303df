"""Questions are put once; what failed is put again; a panel votes."""

from dataclasses import replace

from inspect_ai.model import get_model

from contrafact.exam.questions import put, questions_of
from contrafact.exam.score import exam_rows
from contrafact.families.finforce.exam import examiner as examiner_of
from contrafact.families.finforce.exam import finforce_items
from contrafact.family.settings import StructuredOptions
from contrafact.files.journal import Journal
from contrafact.prompts import open_pack
from contrafact.records import Verdict

ITEMS = finforce_items()[:6]


class Scripted:
    """Asks no model: the criterion's verdict is true unless the judge's name says otherwise."""

    def __init__(self):
        self.asked = []
        self.broken = False
        self.examiner = replace(examiner_of(open_pack(), StructuredOptions()), ask=self.ask)

    async def ask(self, judge, names, prompt, subject=None):
        return [self.verdict(judge, *names, prompt)]

    def verdict(self, judge, criterion, prompt):
        self.asked.append((str(judge), criterion, prompt))
        if self.broken and len(self.asked) > 3:
            raise ConnectionError("the line is dead")
        if "odd" in str(judge):
            return Verdict(criterion=criterion, passed=None, invalid="mumbles", judge=str(judge))
        return Verdict(criterion=criterion, passed="no" not in str(judge), judge=str(judge))


def judges(*names):
    return {name: get_model(f"mockllm/{name}") for name in names}


def ask(path, own, names, **options):
    questions = questions_of(ITEMS, own.examiner, list(names), **options)
    with Journal(path, {"judge": "any"}) as answers:
        failures = put(questions, own.examiner, judges(*names), answers, at_once=2)
        return questions, failures, dict(answers.known)


def test_nothing_is_asked_twice_and_a_longer_exam_asks_only_what_is_new(tmp_path):
    own = Scripted()
    questions, failures, _ = ask(tmp_path / "a.jsonl", own, ["yes"])
    distinct = {q.key for q in questions}
    assert len(own.asked) == len(distinct)
    assert not failures
    again = Scripted()
    _, failures, _ = ask(tmp_path / "a.jsonl", again, ["yes"])
    assert again.asked == []
    more = Scripted()
    questions, _, _ = ask(tmp_path / "a.jsonl", more, ["yes"], repeats=3)
    plain = sum(not q.swapped and q.repeat > 1 for q in questions)
    assert len(more.asked) == plain


def test_failed_questions_are_reported_and_only_they_are_asked_again(tmp_path):
    own = Scripted()
    own.broken = True
    questions, failures, known = ask(tmp_path / "a.jsonl", own, ["yes"])
    assert len(known) == 3
    assert set(failures.values()) == {"ConnectionError: the line is dead"}
    assert len(failures) == len(questions) - 3
    again = Scripted()
    _, failures, known = ask(tmp_path / "a.jsonl", again, ["yes"])
    assert len(again.asked) == len(questions) - 3
    assert not failures


def test_a_panel_is_the_majority_of_its_valid_members(tmp_path):
    names = ["yes", "no", "yes-too", "odd"]
    questions, _, known = ask(tmp_path / "a.jsonl", Scripted(), names, order=False, repeats=2)
    rows = exam_rows(ITEMS, questions, known)
    assert len(rows)
    for row in rows.to_dict("records"):
        assert row["passed"] is True
        assert row["repeats"] == [True, True]
        assert row["members"] == {"yes": True, "no": False, "yes-too": True, "odd": None}
        assert not row["asked_swapped"]


def test_a_tie_is_invalid_and_says_so(tmp_path):
    questions, _, known = ask(tmp_path / "a.jsonl", Scripted(), ["yes", "no"])
    rows = exam_rows(ITEMS, questions, known)
    assert rows["passed"].isna().all() and rows["invalid"].eq("tie").all()
    assert rows["asked_swapped"].all()
