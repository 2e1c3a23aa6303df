"""Surface measures: within their ranges, nothing between equals, and the same both ways round."""

import math

from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.surface import surface, token_count, token_ratio

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
