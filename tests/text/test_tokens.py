import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.tokens import (
    alternation,
    normal,
    same_root,
    sentence_spans,
    stem,
)


def sentences(text: str, **options: bool) -> list[str]:
    return [text[start:end].strip() for start, end in sentence_spans(text, **options)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Shares fell. Bonds rose.", ["Shares fell.", "Bonds rose."]),
        ("Shares of Acme Inc. fell 3.5% on Jan. 4.", ["Shares of Acme Inc. fell 3.5% on Jan. 4."]),
        ("It bought Acme Inc. The price was low.", ["It bought Acme Inc.", "The price was low."]),
        ("The U.S. Federal Reserve waits.", ["The U.S. Federal Reserve waits."]),
        ('"It is over." He left.', ['"It is over."', "He left."]),
        ("Sales rose; costs fell", ["Sales rose;", "costs fell"]),
        ("First line\nsecond line", ["First line", "second line"]),
        ("Oil up | Example News", ["Oil up |", "Example News"]),
        ("it rose approx. 5% that week", ["it rose approx. 5% that week"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert sentences(text) == expected
    assert sentences(text, dashes=True) == expected


def test_a_dash_ends_a_headline_only_where_that_is_asked_for():
    headline = "Oil rises - Example News"
    assert sentences(headline) == [headline]
    assert sentences(headline, dashes=True) == ["Oil rises -", "Example News"]
    assert len(sentences("Costs - as ever - rose", dashes=True)) == 1


@given(st.text(st.sampled_from("aB5.!? ;\n-|…\"'U")), st.booleans())
def test_sentences_cover_the_text_in_order(text, dashes):
    spans = sentence_spans(text, dashes=dashes)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert all(start < end for start, end in spans)


def test_a_sentence_without_end_is_cut_between_words():
    spans = sentence_spans("word " * 500)
    assert all(end - start <= 800 for start, end in spans)
    assert all(end % 5 == 0 for _, end in spans)


@pytest.mark.parametrize(
    ("words", "alike"),
    [
        (("raise", "raises", "raised", "raising"), True),
        (("cut", "cuts", "cutting"), True),
        (("company", "companies"), True),
        (("U.S.'s", "US"), True),
        (("rise", "fall"), False),
        (("profit", "prophet"), False),
    ],
)
def test_inflections_of_a_word_have_one_stem(words, alike):
    assert (len({stem(word) for word in words}) == 1) == alike


def test_names_with_one_root():
    assert same_root("nigeria", "nigerian")
    assert same_root("china", "chinese")
    assert not same_root("iran", "iraq")
    assert normal("Apple’s") == "apple"


@given(st.lists(st.text(st.sampled_from("ab c."), min_size=1, max_size=6), min_size=1))
def test_an_alternation_matches_its_terms_and_nothing_else(terms):
    pattern = re.compile(alternation(terms))
    assert all(pattern.fullmatch(term) for term in terms)
    for other in ("x", "abcx", "a.b.c.x"):
        assert not pattern.fullmatch(other)
