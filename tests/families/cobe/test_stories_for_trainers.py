"""Tasks for trainers: the same by every way of reading, scored as the file's answers are known."""

import json
import subprocess
import sys
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contrafact as cf
from contrafact.errors import InputError
from contrafact.families.cobe.data import PHRASINGS
from contrafact.families.cobe.stories import LEVELS, Difficulty, Stories, verdicts


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), index=st.integers(0, 400), level=st.sampled_from(LEVELS))
def test_a_task_is_the_same_wherever_it_is_drawn_and_its_answers_score_as_they_are_known(
    seed: int, index: int, level: Difficulty
):
    entry = Stories(seed, level)[index]
    tasks = Stories(seed, level)
    assert tasks[index] == entry

    row = json.loads(entry["metadata"]["story"])
    phrasing = entry["metadata"]["phrasing"]
    assert phrasing in level.phrasings
    assert row["Query"][PHRASINGS.index(phrasing)] in entry["question"]
    assert level.fits(row)
    for right in row["Right answers"]:
        assert tasks.score_answer(right["text"], entry) == 1
    for wrong in row["Wrong answers"]:
        assert tasks.score_answer(wrong["text"], entry) == 0


def test_what_cannot_be_read_earns_nothing_and_a_share_counts_what_passes():
    tasks = Stories(5, form="share")
    entry = tasks[0]
    row = json.loads(entry["metadata"]["story"])

    assert tasks.score_answer(None, entry) == 0
    assert tasks.score_answer("A dragon ate the town.", entry) == 0
    for wrong in row["Wrong answers"]:
        known = wrong["verdicts"]
        assert tasks.score_answer(wrong["text"], entry) == sum(known.values()) / len(known)


def test_iterating_drawing_ahead_and_indexing_give_the_same_tasks():
    tasks = cf.stories(11, difficulty=1)
    first = list(islice(tasks, 40))
    assert [one.prompt for one in first] == [tasks[place]["question"] for place in range(40)]
    ahead = tasks.ahead(2, start=6)
    assert [one.prompt for one in islice(ahead, 34)] == [one.prompt for one in first[6:]]
    assert all(one.reward(one.story.answer) == 1 for one in first)
    for one in first:
        assert all(verdicts(one.story, one.story.answer).values())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"facts": (5, 3)}, "facts is 5 to 3"),
        ({"graphs": ("ring",)}, "no graph type 'ring'"),
        ({"traps": ("luck",)}, "no trap 'luck'"),
        ({"traps": ("far",), "least_traps": 2}, "least_traps is 2 of 1"),
        ({"phrasings": "D"}, "phrasings is 'D'"),
        ({"words": (1, 5)}, "no story of this difficulty"),
    ],
)
def test_a_difficulty_that_cannot_be_is_one_line(wrong: dict, says: str):
    with pytest.raises(InputError, match=says):
        cf.stories(0, difficulty=wrong)[0]
    for level in (-1, 7, "hard"):
        with pytest.raises(InputError, match="difficulty"):
            cf.stories(0, difficulty=level)


def test_nothing_that_asks_models_is_imported():
    code = (
        "import sys; from contrafact.families.cobe.stories import Stories; Stories(1)[0];"
        "print([name for name in ('inspect_ai', 'openai', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
