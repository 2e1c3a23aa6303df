"""BLEU and ROUGE-L, held against the packages they are named after where these are installed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import contrafact.families
from contrafact.text.likeness import bleu, rouge_l

WORDS = st.lists(
    st.sampled_from(["rates", "Rates", "rose", "3.5%", "up-to", "U.S.", "&amp;", "7-year", "(a)"])
    | st.text(max_size=6),
    max_size=14,
).map(" ".join)


def pairs():
    folder = Path(next(iter(contrafact.families.__path__))) / "rfc" / "samples"
    for line in (folder / "contract_pairs_held_out.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["rewritten"], row["original"]


@given(WORDS, WORDS)
def test_bleu_is_sacrebleus(text, reference):
    sacrebleu = pytest.importorskip("sacrebleu")
    expected = sacrebleu.sentence_bleu(text, [reference]).score / 100.0
    assert bleu(text, reference) == pytest.approx(expected, abs=1e-12)


@given(WORDS, WORDS)
def test_rouge_l_is_rouge_scores(text, reference):
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    expected = scorer.score(reference, text)["rougeL"].fmeasure
    assert rouge_l(text, reference) == pytest.approx(expected, abs=1e-12)


def test_both_are_the_packages_on_the_bundled_pairs():
    sacrebleu = pytest.importorskip("sacrebleu")
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    compared = 0
    for text, reference in pairs():
        compared += 1
        expected = sacrebleu.sentence_bleu(text, [reference]).score / 100.0
        assert bleu(text, reference) == pytest.approx(expected, abs=1e-12)
        expected = scorer.score(reference, text)["rougeL"].fmeasure
        assert rouge_l(text, reference) == pytest.approx(expected, abs=1e-12)
    assert compared > 20


def test_by_hand():
    # Matches of 5/6, 3/5, 1/4 and none of three, which counts a half.
    expected = (5 / 6 * 3 / 5 * 1 / 4 * (1 / 2) / 3) ** 0.25
    assert bleu("the cat sat on a mat", "the cat sat on the mat") != 1.0
    assert bleu("a b c x d e", "a b c y d e") == pytest.approx(expected)
    assert rouge_l("a b c x", "a c d") == pytest.approx(2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3))


def test_the_same_text_is_1_and_another_is_0():
    for score in (bleu, rouge_l):
        assert score("Rates rose in May", "Rates rose in May") == pytest.approx(1.0)
        assert score("Rates rose", "nobody knew") == 0.0
        assert score("", "") == score("", "a") == score("a", "") == 0.0
