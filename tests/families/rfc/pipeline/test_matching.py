"""Of several versions a build takes those whose words stand in originals as often."""

from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.pipeline.matching import matched

WORDS = st.lists(st.sampled_from(["shares", "fell", "rose", "on", "weak", "firm"]), min_size=2)
TEXTS = WORDS.map(" ".join)
ROWS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), max_size=6)


def surplus(originals, rewrites, word):
    return sum(text.split().count(word) for text in rewrites) - sum(
        text.split().count(word) for text in originals
    )


def test_what_one_rewrite_loses_another_brings_in():
    originals = ["shares fell today", "bonds slid today"]
    versions = [["shares tumbled today", "shares slid today"], ["bonds sank today"]]
    assert matched(originals, versions) == [1, 0]


def test_of_two_words_that_no_rewrite_loses_the_one_that_originals_have_is_taken():
    originals = ["oil fell", "gold sank deeply", "tin sank deeply", "zinc sank deeply"]
    versions = [["oil slid deeply", "oil sank deeply"], *([text] for text in originals[1:])]
    assert matched(originals, versions)[0] == 1


def test_no_word_is_brought_in_over_and_over_where_others_fit():
    originals = [f"shares {n} fell" for n in "abcdef"]
    versions = [[f"{text} {put}" for put in ("hard", "far", "fast")] for text in originals]
    taken = matched(originals, versions)
    rewrites = [of_text[at] for of_text, at in zip(versions, taken, strict=True)]
    assert {surplus(originals, rewrites, word) for word in ("hard", "far", "fast")} == {2}


def test_rewrites_are_as_long_as_originals_on_average():
    originals = [f"a{n} b{n} c{n} d{n}" for n in range(6)]
    versions = [[f"a{n} c{n} d{n}", f"a{n} b{n} x{n} c{n} d{n}"] for n in range(6)]
    assert 2 <= sum(matched(originals, versions)) <= 4


@given(ROWS)
def test_each_text_gets_one_of_its_versions_and_always_the_same(rows):
    originals, versions = [text for text, _ in rows], [each for _, each in rows]
    taken = matched(originals, versions)
    assert all(0 <= at < len(each) for at, each in zip(taken, versions, strict=True))
    assert taken == matched(originals, versions)
