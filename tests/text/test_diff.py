from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.diff import DiffPart, normalised_edit_distance, word_diff

# Few letters and many spaces, so that words repeat and shift.
wordy = st.text(alphabet="ab,. \n\t’é", max_size=60)


def of(parts: list[DiffPart], *kinds: str) -> str:
    return "".join(part.text for part in parts if part.kind in kinds)


def test_a_changed_word_is_shown_between_what_stayed() -> None:
    parts = word_diff("Port of Calvera delays tariff rise", "Port of Calvera speeds tariff rise")
    assert parts == [
        DiffPart("same", "Port of Calvera "),
        DiffPart("removed", "delays "),
        DiffPart("added", "speeds "),
        DiffPart("same", "tariff rise"),
    ]


def test_an_added_clause_is_one_part_and_numbers_stay_whole() -> None:
    parts = word_diff("Profit up 3.5%", "Profit up 3.5% as rivals retreat")
    assert parts == [DiffPart("same", "Profit up 3.5%"), DiffPart("added", " as rivals retreat")]
    assert [p.text for p in word_diff("up 3.5%", "up 3.4%") if p.kind == "removed"] == ["3.5"]


def test_equal_and_empty_texts() -> None:
    assert word_diff("", "") == []
    assert word_diff("all the same", "all the same") == [DiffPart("same", "all the same")]
    assert word_diff("", "new") == [DiffPart("added", "new")]
    assert word_diff("old", "") == [DiffPart("removed", "old")]


@given(st.one_of(wordy, st.text(max_size=60)), st.one_of(wordy, st.text(max_size=60)))
def test_parts_give_both_texts_back_and_are_joined(a: str, b: str) -> None:
    parts = word_diff(a, b)
    assert of(parts, "same", "removed") == a
    assert of(parts, "same", "added") == b
    assert all(part.text for part in parts)
    assert all(x.kind != y.kind for x, y in pairwise(parts))
    assert all((x.kind, y.kind) != ("added", "removed") for x, y in pairwise(parts)), (
        "what was removed is shown before what replaced it"
    )


def test_very_long_texts_are_still_whole() -> None:
    a = "start " + "a " * 30_000 + "end"
    b = "start " + "b a " * 15_000 + "end"
    parts = word_diff(a, b)
    assert of(parts, "same", "removed") == a
    assert of(parts, "same", "added") == b
    assert parts[0] == DiffPart("same", "start ")


def textbook_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        above, row = row, [i]
        for j, y in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


@given(st.text(alphabet="abc", max_size=80), st.text(alphabet="abc", max_size=80))
def test_edit_distance_is_the_textbooks(a: str, b: str) -> None:
    longer = max(len(a), len(b), 1)
    assert normalised_edit_distance(a, b) * longer == textbook_distance(a, b)


def test_edit_distance_bounds() -> None:
    assert normalised_edit_distance("", "") == 0.0
    assert normalised_edit_distance("rates", "rates") == 0.0
    assert normalised_edit_distance("abc", "xyz") == 1.0
    assert normalised_edit_distance("kitten", "sitting") == 3 / 7
    assert normalised_edit_distance("", "x" * 100_000) == 1.0
