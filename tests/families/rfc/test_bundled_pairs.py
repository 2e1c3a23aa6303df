"""The bundled pairs prove themselves: sizes, spans, contracts."""

import json
from collections import Counter
from importlib import resources

import pytest

from contrafact.families.rfc.data import bundled_pairs, bundled_shots
from contrafact.families.rfc.records import MANIPULATIONS, Rewrite

SAMPLES = resources.files("contrafact.families.rfc") / "samples"


def rows(name):
    text = (SAMPLES / name).read_text(encoding="utf-8")
    return [Rewrite.model_validate(json.loads(line)) for line in text.splitlines()]


def test_six_pairs_of_each_manipulation_and_three_examples_of_each():
    assert Counter(p.manipulation for p in bundled_pairs()) == dict.fromkeys(MANIPULATIONS, 6)
    assert Counter(p.manipulation for p in bundled_shots()) == dict.fromkeys(MANIPULATIONS, 3)
    articles = [p.article_id for p in (*bundled_pairs(), *bundled_shots())]
    assert len(set(articles)) == len(articles)


@pytest.mark.parametrize("name", ["pairs.jsonl", "shots.jsonl"])
def test_paragraphs_have_a_title_and_a_lead_and_their_edits_give_the_rewrite(name):
    for pair in rows(name):
        assert 40 <= len(pair.original.split()) <= 80
        assert pair.category
        assert pair.date
        text = pair.original
        for edit in reversed(pair.edits):
            assert text[edit.start : edit.end] == edit.before
            text = text[: edit.start] + edit.after + text[edit.end :]
        assert text == pair.rewritten
        assert pair.id == Rewrite.of(pair.manipulation, pair.original, pair.rewritten,
                                     article_id="x").id  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs.jsonl", "shots.jsonl"])
def test_no_fact_of_a_bundled_pair_is_wrong(name):
    from contrafact.families.rfc.contracts import check_pair

    for pair in rows(name):
        check = check_pair(pair.manipulation, pair.original, pair.rewritten)
        assert not check.violations, (pair.original[:60], check.violations)
