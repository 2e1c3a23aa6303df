"""The two ways that the bench times find the same rows, so that its ratio is of the same work."""

import pytest
from bench._paragraphs import paragraphs

from bench import bucketing
from contrafact.families.rfc.pipeline.bucket import bucket

OWN = [
    "Norrick Steel's record-high profit fell short of expectations in May, since costs rose 3%.",
    "It has cut jobs, cut jobs, and will cut guidance; weekly gains of $4 led to a sell–off.",
    "Stronger-than-expected\n orders lifted the mood: better than feared, the CEO may say.",
    "",
    "No term stands here.",
]


def test_a_loop_over_expressions_gives_the_same_rows():
    texts = [*OWN, *paragraphs(None)[0][:25]]
    ours = bucket(texts)
    assert ours == bucket(texts, bucketing.Loop().spots)
    assert sum(map(len, (row.evidence for row in ours))) > 40


@pytest.mark.slow
def test_the_bench_tells_whether_rows_differ(monkeypatch):
    texts = paragraphs(None)[0][:16]
    monkeypatch.setattr(bucketing, "paragraphs", lambda data: (texts, "16 paragraphs"))
    result = bucketing.run(True, None)
    assert result.ratio > 0
    assert result.notes[0] == "rows of 4 paragraphs compared: all are equal"
