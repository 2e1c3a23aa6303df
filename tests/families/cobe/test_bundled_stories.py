"""The bundled stories prove themselves: each right answer passes, each wrong one fails one thing.

Marks, written apart from the answers, stand for a judge: what has to be there, what must be gone,
which connector would be wrong, where a number has to lie, what would contradict the background.
"""

import re
from collections import Counter

import pytest

from contrafact.families.cobe.data import (
    CRITERION_NAMES,
    StoryNotes,
    bundled_known,
    bundled_shots,
    bundled_stories,
    criteria_of,
    load_stories,
)
from contrafact.families.cobe.phrasing import free_forms
from contrafact.families.cobe.records import DOMAINS, GRAPHS

BECAUSE = r"\b(?:Because|Since)\b"

# E1: all of these stand. E2: none of these does. E3: none of these does. E4: the number lies
# between these. E5: none of these stands.
MARKS = {
    "1v1": {
        "E1": [r"coolant hose (?:had )?split"],
        "E2": [r"engine overheated", r"(?<!not )had to stop"],
        "E3": [BECAUSE],
        "E4": [(r"(\d+) minutes", 0, 39)],
    },
    "2v1": {
        "E1": [r"slept badly", r"lecture hall was stuffy|stuffy lecture hall"],
        "E2": [r"dozed off"],
        "E3": [BECAUSE],
    },
    "3v1": {
        "E1": [r"(?:A|a) magnetic storm", r"sky (?:was lit )?in green"],
        "E2": [r"It disturbed"],
        "E3": [BECAUSE],
    },
    "4v1": {
        "E1": [r"fever"],
        "E2": [r"died", r"without", r"Venn surrendered"],
        "E3": [r"in spite of both, the border town of Venn did not"],
    },
    "5v1": {
        "E1": [r"A frost came"],
        "E2": [r"killed the blossom"],
        "E3": [r"so it spared"],
        "E4": [(r"(\d+) tonnes", 201, 10**6), (r"(\d+) crowns", 0, 29)],
    },
    "6v1": {
        "E1": [r"[Rr]ain (?:that )?soaked", r"sound system (?:that )?hummed", r"fans.* clapped"],
        "E2": [r"went badly"],
        "E3": [BECAUSE],
        "E5": [r"never clapped"],
    },
    "7v1": {
        "E1": [r"knee ached"],
        "E2": [r"barometer in the surgery fell"],
        "E3": [BECAUSE],
    },
    "8v1": {
        "E1": [r"[Ss]alt had eaten", r"heavy crane"],
        "E2": [r"A cable snapped", r"was closed"],
        "E3": [r"heavy crane crossed it, so no cable"],
        "E4": [(r"added (\d+) kilometres", 0, 0)],
    },
    "9v1": {
        "E1": [r"overslept"],
        "E2": [r"missed the ferry", r"call off lunch"],
        "E3": [r"overslept, so"],
        "E5": [r"refused"],
    },
    "10v1": {
        "E1": [r"pond water"],
        "E2": [r"blue light", r"grew faster", r"bacteria died"],
        "E3": [r"in spite of both the oxygen stayed"],
        "E4": [(r"(\d+) milligrams", 0, 8)],
    },
    "11v1": {
        "E1": [r"volcano (?:on the island of Sel )?erupted", r"[Pp]umice", r"[Nn]o ship could"],
        "E2": [r"[Aa]sh buried"],
        "E3": [r"^Because a volcano"],
    },
    "12v1": {
        "E1": [r"had raised its prices", r"cheaper rival had opened"],
        "E2": [r"takings fell"],
        "E3": [r"street, so its takings held"],
    },
    "13v1": {
        "E1": [r"had mislabelled the vials", r"doctor was in a hurry"],
        "E2": [r"twice the dose", r"called off"],
        "E3": [r"hurry, so the patient got the right"],
        "E4": [(r"pulse \D*(\d+)", 46, 200)],
        "E5": [r"too weak"],
    },
    "14v1": {
        "E1": [r"wall (?:of the theatre )?had faded"],
        "E2": [r"gone pale"],
        "E3": [BECAUSE],
    },
}  # fmt: skip


def failed(story_id, text):
    """The criteria that a text fails, by the marks."""
    marks, found = MARKS[story_id], []
    if not all(re.search(mark, text) for mark in marks["E1"]):
        found.append("E1")
    found += [name for name in ("E2", "E3", "E5")
              if any(re.search(mark, text) for mark in marks.get(name, ()))]  # fmt: skip
    for mark, low, high in marks.get("E4", ()):
        numbers = [int(number) for number in re.findall(mark, text)]
        if any(not low <= number <= high for number in numbers):
            found.append("E4")
    return sorted(set(found))


KNOWN = bundled_known()
ANSWERS = [
    pytest.param(known, one, id=f"{known.story.id}-{one.fails or 'right'}-{place}")
    for known in KNOWN
    for place, one in enumerate((*known.right, *known.wrong))
]


@pytest.mark.parametrize(("known", "one"), ANSWERS)
def test_an_answer_fails_what_it_says_and_nothing_else(known, one):
    assert failed(known.story.id, one.text) == ([one.fails] if one.fails else [])
    assert one.why


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.story.id)
def test_the_story_as_it_happened_fails_and_every_criterion_has_a_wrong_answer(known):
    assert "E2" in failed(known.story.id, known.story.text)
    asked = set(criteria_of(known.story))
    assert {one.fails for one in known.wrong} == asked
    assert set(MARKS[known.story.id]) == asked
    assert len(known.right) >= 2


def test_all_graphs_domains_criteria_and_modes_appear():
    stories = bundled_stories()
    assert {story.graph for story in stories} == set(GRAPHS)
    assert {story.domain for story in stories} == set(DOMAINS)
    assert {name for story in stories for name in criteria_of(story)} == set(CRITERION_NAMES)
    assert {mode for story in stories for mode in story.failure_modes} == set(range(1, 8))
    ids = Counter(story.core_set_id for story in (*stories, *bundled_shots()))
    assert set(ids.values()) == {1}, "stories and examples share no core story"


@pytest.mark.parametrize("name", ["stories.json", "shots.json"])
def test_the_files_load_without_a_note_and_queries_have_their_form(name):
    from importlib import resources

    notes = StoryNotes()
    path = resources.files("contrafact.families.cobe") / "samples" / name
    stories = load_stories(str(path), notes)
    assert notes.lines() == []
    assert all(free_forms(story.queries) == [] for story in stories)
    assert all(story.answer for story in stories)
