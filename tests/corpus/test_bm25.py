"""BM25 against another implementation, and that what may not be found counts for nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.corpus.related import Bm25
from contrafact.text.likeness import distinct, mean_overlap, pairwise_bleu

WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_scores_are_those_of_bm25s(texts, query):
    bm25s = pytest.importorskip("bm25s")
    theirs = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    theirs.index(texts, show_progress=False)
    known = [word for word in query if word in theirs.vocab_dict]
    wanted = theirs.get_scores(known) if known else np.zeros(len(texts))
    scores = Bm25(texts).scores(query, range(len(texts)))
    assert [scores.get(at, 0.0) for at in range(len(texts))] == pytest.approx(wanted, abs=1e-5)


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, max_size=6), WORDS)
def test_texts_that_may_not_be_found_change_no_score(texts, others, query):
    places = range(len(texts))
    alone = Bm25(texts).scores(query, places)
    assert Bm25([*texts, *others]).scores(query, places) == alone
    assert all(score > 0 for score in alone.values())


def test_nothing_is_found_among_nothing():
    assert Bm25([["a"]]).scores(["a"], []) == {}


def test_diversity_by_hand():
    texts = ["Prices fall", "prices rise", "Prices fall"]
    assert distinct(texts, 1) == 3 / 6
    assert distinct(texts, 2) == 2 / 3
    assert math.isnan(distinct(texts, 3)) and math.isnan(mean_overlap(texts[:1]))
    assert mean_overlap(texts) == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert pairwise_bleu(["Banks lend more now"] * 2) == pytest.approx(1.0)


@given(st.lists(st.text("abc ", min_size=1), min_size=2, max_size=5))
def test_repeating_a_set_of_texts_never_makes_it_more_diverse(texts):
    once, twice = distinct(texts, 1), distinct(texts * 2, 1)
    assert math.isnan(once) or twice <= once
