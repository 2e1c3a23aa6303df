import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.diff import (
    DiffPart,
    normalised_edit_distance,
    surface,
    token_count,
    token_ratio,
    word_diff,
)

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
    assert normalised_edit_distance(a, b) == textbook_distance(a, b) / longer


def test_edit_distance_bounds() -> None:
    assert normalised_edit_distance("", "") == 0.0
    assert normalised_edit_distance("rates", "rates") == 0.0
    assert normalised_edit_distance("abc", "xyz") == 1.0
    assert normalised_edit_distance("kitten", "sitting") == 3 / 7
    assert normalised_edit_distance("", "x" * 100_000) == 1.0


texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(["Profit", "rose", "5%", "to", "$1,200.50", ",", "—", "été", "fell"]))
    .map(" ".join),
)  # fmt: skip


def test_a_pair_is_measured():
    measured = surface("Profit rose 5% to $1,200.50.", "Profit fell 5%, to $1,200.50, and 7 cents.")
    assert measured.length_ratio == 42 / 28
    assert measured.jaccard == 4 / 9  # profit, 5, to and 1,200.50 of nine
    assert measured.punctuation_difference == 2
    assert measured.numeric_difference == 1
    assert 0.3 < measured.edit_distance < 0.5
    assert measured.token_ratio == token_count(
        "Profit fell 5%, to $1,200.50, and 7 cents."
    ) / token_count("Profit rose 5% to $1,200.50.")


def test_tokens_are_those_of_openais_cl100k():
    # From OpenAI's own cookbook.
    assert token_count("tiktoken is great!") == 6
    assert token_count("antidisestablishmentarianism") == 6
    assert token_count("2 + 2 = 4") == 7
    assert token_count("お誕生日おめでとう") == 9
    assert token_count("<|endoftext|>") > 1  # text, and no control token


def test_nothing_and_half_characters_are_measured_too():
    assert token_ratio("", "") == 1.0
    assert token_ratio("", "more") == math.inf
    assert surface("", "more").length_ratio == math.inf
    assert surface("", "").jaccard == 1.0
    assert surface("a \ud800 b", "a \ud800 b").token_ratio == 1.0


def test_a_small_change_to_a_megabyte_is_measured_where_it_is():
    text = "The port was calm and traders waited for the ships. " * 20_000
    measured = surface(text, text.replace("calm", "busy", 1))
    assert measured.edit_distance == 4 / len(text)
    assert measured.length_ratio == 1.0


def test_tokens_of_a_long_text_are_those_of_its_parts():
    sentence = "The port was calm and traders waited for the ships. "
    several = token_count((sentence * 10).strip())
    assert token_count((sentence * 30_000).strip()) == 3_000 * several


@given(texts)
def test_a_text_does_not_depart_from_itself(text):
    measured = surface(text, text)
    assert measured.length_ratio == measured.token_ratio == measured.jaccard == 1.0
    assert measured.edit_distance == 0.0
    assert measured.punctuation_difference == measured.numeric_difference == 0


@given(texts, texts)
def test_measures_keep_their_ranges_and_turn_round_with_the_pair(a, b):
    there, back = surface(a, b), surface(b, a)
    assert 0.0 <= there.jaccard <= 1.0
    assert 0.0 <= there.edit_distance <= 1.0
    assert (there.edit_distance == 0.0) == (a == b)
    assert there.jaccard == back.jaccard
    assert there.edit_distance == back.edit_distance
    assert there.punctuation_difference == -back.punctuation_difference
    assert there.numeric_difference == -back.numeric_difference
    assert (there.length_ratio == math.inf) == (not a and bool(b))
    if a and b:
        assert math.isclose(there.length_ratio * back.length_ratio, 1.0)
        assert math.isclose(there.token_ratio * back.token_ratio, 1.0)
