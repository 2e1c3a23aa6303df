"""Stories in and out: faults are reported by line and key, what is odd is noted, nothing lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.families.cobe.data import (
    APPROVAL,
    StoryNotes,
    bundled_stories,
    load_known,
    load_stories,
    read_story,
    story_object,
)
from contrafact.families.cobe.statistics import SPEC, count_texts, statistics_of
from contrafact.family.published import published_facts
from contrafact.files.tables import read_rows

SAMPLE = {
    "Core Set ID": 7,
    "Variation ID": 2,
    "Domain": "Engineering",
    "Variation text": "The valve stuck, so the tank ran over and 3 rooms were flooded.",
    "Query": [
        "Rewrite the original text, based on what would have happened instead had the tank held.",
        "Based on the preceding text, rewrite the scenario to reflect what happens if the tank "
        "had held.",
        "Rewrite the above passage to illustrate what would have occurred had the tank held.",
    ],
    "Representative answer": "The valve stuck, but the tank held and no room was flooded.",
    "Evaluation criteria": [
        "The valve stuck.",
        "The tank ran over.",
        "Numerical change expected: fewer rooms are flooded",
        "Latent: Water was flowing.",
    ],
    "Graph type": "Chain-like",
}


def write(tmp_path, *rows):
    path = tmp_path / "stories.json"
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return path


def test_the_papers_schema_is_read_and_written_back(tmp_path):
    (story,) = load_stories(write(tmp_path, SAMPLE))
    assert (story.id, story.graph, story.domain) == ("7v2", "chain", "Engineering")
    assert story.unchanged == "The valve stuck."
    assert story.changed == "The tank ran over."
    assert story.numerical == "fewer rooms are flooded"
    assert story.latent == "Water was flowing."
    again = story_object(story)
    assert again == SAMPLE | {"Graph type": "chain"}
    for suffix in ("jsonl", "csv"):
        path = tmp_path / f"stories.{suffix}"
        if suffix == "jsonl":
            path.write_text(json.dumps(SAMPLE) + "\n", encoding="utf-8")
        else:
            import pandas as pd

            from contrafact.files.tables import write_frame

            write_frame(pd.DataFrame([SAMPLE]), path)
        assert load_stories(path) == [story]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Query": SAMPLE["Query"][:1]}, "'Query' holds 1 of three"),
        ({"Query": SAMPLE["Query"][0]}, "'Query' holds 1 of three"),
        ({"Query": ["a", " ", "c"]}, "'Query': phrasing 2 is empty"),
        ({"Evaluation criteria": None}, "'Evaluation criteria' is missing"),
        ({"Evaluation criteria": ["It rained."]}, "'Evaluation criteria': E2 is missing"),
        ({"Evaluation criteria": ["It rained.", "Latent: a"]}, "'Evaluation criteria': E2"),
        ({"Evaluation criteria": ["Latent: a", "b"]}, "'Evaluation criteria': E1"),
        ({"Evaluation criteria": ["", ""]}, "'Evaluation criteria' is empty"),
        ({"Evaluation criteria": ["a", "b", "Latent:"]}, "nothing follows 'Latent:'"),
        ({"Evaluation criteria": [1, 2]}, "'Evaluation criteria' is not a list of texts"),
        ({"Graph type": "ring"}, "'Graph type' is 'ring'"),
        ({"Core Set ID": "seven"}, "'Core Set ID' is 'seven'"),
        ({"Variation ID": None}, "'Variation ID' is missing"),
        ({"Variation text": "  "}, "'Variation text' is missing or empty"),
        ({"Domain": 4}, "'Domain' is not text"),
        ({"Failure modes": [9]}, "'Failure modes' holds '9'"),
    ],
)
def test_what_is_wrong_is_reported_by_line_and_key(tmp_path, change, message):
    other = SAMPLE | {"Variation ID": 3} | change
    path = write(tmp_path, SAMPLE, other)
    with pytest.raises(InputError, match=message) as raised:
        load_stories(path)
    line = path.read_text().splitlines()[raised.value.line - 1]
    assert line.strip() == "{", "the line is where the story begins"
    assert raised.value.line > 2
    # A check tells the same, and counts the other story all the same.
    report = SPEC.check(read_rows(path), str(path))
    assert report.rows == 2
    assert report.contents[0] == "2 rows, 1 stories that can be used."
    assert len(report.violations) == 1
    assert message.split("'")[1] in report.violations[0]


def test_two_stories_of_one_id_are_refused_and_one_story_twice_is_noted(tmp_path):
    changed = SAMPLE | {"Domain": "Music"}
    with pytest.raises(InputError, match=r"7v2 is also the story on line 2, which differs"):
        load_stories(write(tmp_path, SAMPLE, changed))
    notes = StoryNotes()
    assert len(load_stories(write(tmp_path, SAMPLE, SAMPLE), notes)) == 1
    assert notes.rows == 2
    assert notes.lines() == ["1 row left out: the story came before (line 21)"]


def test_what_is_odd_loads_with_a_note(tmp_path):
    long = "The rain fell and the river rose. " * 1500
    odd = SAMPLE | {
        "Domain": "Music",
        "Query": ["What if?", *SAMPLE["Query"][1:]],
        "Evaluation criteria": ["", "The tank ran over.", "Tone: sad"],
        "Variation text": long,
        "Colour": "red",
        APPROVAL: True,
    }
    notes = StoryNotes()
    (story,) = load_stories(write(tmp_path, odd), notes)
    assert story.text == long, "a story of 50 KB is kept whole"
    assert story.other_criteria == ("Tone: sad",)
    shown = " | ".join(notes.lines())
    for part in (
        "the domain 'Music'",
        "1 row with queries in free form (line 2)",
        "with a criterion of no known kind, not asked: 'Tone: sad' (line 2)",
        "with an empty E1, which is not asked (line 2)",
        "with 51,000 characters in 'Variation text'",
        "with the key 'Colour', which is ignored",
        "1 row awaiting a person's approval",
    ):
        assert part in shown
    (counts,) = count_texts([long])
    assert counts.sentences == 1500, "all of it is counted"


def test_a_file_without_stories_and_another_kind_of_file_are_reported(tmp_path):
    with pytest.raises(InputError, match="no stories"):
        load_stories(write(tmp_path))
    with pytest.raises(InputError, match="'Variation text' is missing"):
        load_stories(write(tmp_path, {"headline": "Rates rise"}))
    with pytest.raises(InputError, match="no story of this file has known answers"):
        load_known(write(tmp_path, SAMPLE))
    wrong = SAMPLE | {"Wrong answers": [{"text": "a", "fails": "E9"}]}
    with pytest.raises(InputError, match=r":2: 'Wrong answers': an answer fails 'E9'"):
        load_known(write(tmp_path, wrong))


words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).map(str.strip)


@given(
    unchanged=words.filter(bool),
    latent=st.none() | words.filter(bool),
    modes=st.lists(st.integers(1, 7), unique=True),
)
def test_any_story_survives_a_round_trip(unchanged, latent, modes):
    prefixes = ("numerical change expected:", "latent:")
    if unchanged.casefold().startswith(prefixes):
        return
    story = bundled_stories()[0].model_copy(
        update={
            "unchanged": unchanged,
            "latent": latent,
            "failure_modes": tuple(sorted(modes)),
        }
    )
    assert read_story(json.loads(json.dumps(story_object(story)))) == story


def test_written_stories_are_read_as_they_were(tmp_path):
    stories = bundled_stories()
    rows = [story_object(story, {"Proof": {"n": 1}}) for story in stories]
    (tmp_path / "out.json").write_text(json.dumps(rows))
    notes = StoryNotes()
    read = load_stories(tmp_path / "out.json", notes)
    assert read == [story.model_copy(update={"proof": {"n": 1}}) for story in stories]
    assert notes.lines() == []


def test_words_sentences_and_clauses_are_counted():
    one, two = count_texts(
        [
            "The rope broke.",
            "Because the rope broke, the bell fell. It fell on the cart that Ada had left there.",
        ]
    )
    assert (one.words, one.sentences, one.clauses) == (3, 1, 1)
    assert (two.words, two.sentences, two.clauses) == (17, 2, 4)
    assert statistics_of(bundled_stories())["stories"] == 14
    assert published_facts("contrafact.families.cobe")["statistics"]["words_per_story"] == 38
