"""Pairs in: every shape that stages and the published set have; faults are reported by line."""

import pytest
from tests.support.lines import write_lines

from contrafact.errors import InputError
from contrafact.families.rfc.data import PairNotes, bundled_pairs, items_of, load_pairs


def write(path, *rows):
    return write_lines(path, rows)


def row(**fields):
    texts = {"original": "Sales rose 4%.", "rewritten": "Sales rose 7%."}
    return {"manipulation": "numerical", **texts, **fields}


def test_rows_of_three_fields_get_ids_and_cluster_by_their_original(tmp_path):
    path = write(
        tmp_path / "p.jsonl",
        row(),
        row(manipulation="flipping", rewritten="Sales fell 4%."),
        row(original="Costs rose 9%.", rewritten="Costs rose 14%."),
    )
    notes = PairNotes()
    first, second, third = load_pairs(path, notes)
    assert first.id != second.id
    assert first.article_id == second.article_id != third.article_id
    assert "3 rows without article_id, which cluster by their original" in notes.lines()[0]


def test_detection_shows_both_members_of_every_pair_and_a_shared_original_once_per_pair(tmp_path):
    path = write(
        tmp_path / "p.jsonl",
        row(id="a", article_id="n1"),
        row(id="b", article_id="n1", manipulation="flipping", rewritten="Sales fell 4%."),
    )
    items = items_of("rfc-detect", load_pairs(path))
    assert [item.id for item in items] == ["a-true", "a-false", "b-true", "b-false"]
    assert [item.shown for item in items] == [
        "Sales rose 4%.", "Sales rose 7%.", "Sales rose 4%.", "Sales fell 4%.",
    ]  # fmt: skip
    assert [item.gold for item in items] == ["true", "false"] * 2
    assert {item.cluster for item in items} == {"n1"}


def test_diagnosis_shows_each_pair_once_with_its_manipulation_as_gold():
    items = items_of("rfc-diagnose", bundled_pairs())
    assert [item.gold for item in items] == [pair.manipulation for pair in bundled_pairs()]


def test_the_published_shape_gives_the_manipulated_half_and_says_so(tmp_path):
    path = write(
        tmp_path / "p.jsonl",
        {
            "Stock Ticker": "BRMF",
            "Publication Date": "2025-05-01T09:30:00Z",
            "URL": "https://news.example/1",
            "Category": "Sentiment Amplification",
            "Rewritten Text": "Sales rose remarkably.",
        },
    )
    notes = PairNotes()
    (pair,) = load_pairs(path, notes)
    assert (pair.manipulation, pair.ticker, pair.date) == ("sentiment", "BRMF", "2025-05-01")
    assert [item.gold for item in items_of("rfc-detect", [pair])] == ["false"]
    assert any("always answering 'false' is always right" in line for line in notes.lines())
    with pytest.raises(InputError, match="hydrate"):
        items_of("rfc-diagnose", [pair])
    with pytest.raises(InputError, match=r"p\.jsonl:1: the pair has no original"):
        load_pairs(path, originals=True)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"manipulation": "typo"}, "'typo' is not a manipulation"),
        ({"manipulation": None}, "the manipulation is missing"),
        ({"rewritten": " "}, "'rewritten' is empty"),
        ({"rewritten": 7}, "'rewritten' is not text"),
        ({"original": ""}, "'original' is empty"),
        ({"rewritten": "Sales  rose 4%."}, "the same text"),
    ],
)
def test_a_bad_row_is_reported_by_its_line(tmp_path, bad, message):
    path = write(tmp_path / "p.jsonl", row(), row(**bad))
    with pytest.raises(InputError, match=message) as caught:
        load_pairs(path)
    assert caught.value.line == 2


def test_one_id_for_two_pairs_is_refused_and_a_repeated_pair_is_left_out_and_reported(tmp_path):
    same = write(tmp_path / "same.jsonl", row(id="x"), row(id="x"))
    notes = PairNotes()
    assert len(load_pairs(same, notes)) == 1
    assert notes.duplicates == [(2, 1)]
    other = write(tmp_path / "other.jsonl", row(id="x"), row(id="x", rewritten="Sales rose 9%."))
    with pytest.raises(InputError, match="belongs to another pair, on line 1") as caught:
        load_pairs(other)
    assert caught.value.line == 2


def test_a_megabyte_and_half_a_character_are_read(tmp_path):
    long = "Sales rose 4%. " * 70_000
    path = write(tmp_path / "p.jsonl", row(original=long, rewritten=long + "Up."))
    (pair,) = load_pairs(path)
    assert len(pair.original) > 1_000_000
    broken = tmp_path / "b.jsonl"
    broken.write_text('{"manipulation":"causal","original":"A \\ud800","rewritten":"B"}\n')
    notes = PairNotes()
    assert load_pairs(broken, notes)[0].original == "A \ufffd"
    assert "1 row with broken characters, replaced by U+FFFD (line 1)" in notes.lines()
