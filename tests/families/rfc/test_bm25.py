"""BM25 against another implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.methods.memory import Bm25

WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_scores_are_those_of_bm25s(texts, query):
    bm25s = pytest.importorskip("bm25s")
    theirs = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    theirs.index(texts, show_progress=False)
    known = [word for word in query if word in theirs.vocab_dict]
    wanted = theirs.get_scores(known) if known else np.zeros(len(texts))
    scores = Bm25(texts).scores(query)
    assert [scores.get(at, 0.0) for at in range(len(texts))] == pytest.approx(wanted, abs=1e-5)


def test_nothing_is_found_among_nothing():
    assert Bm25([]).scores(["a"]) == {}
