"""The leakage battery finds what was planted, and nothing where there is nothing."""

import numpy as np
import pytest
from tests.support.lines import write_lines

from contrafact.errors import InputError
from contrafact.families.rfc.data import bundled_pairs
from contrafact.families.rfc.leakage import (
    DIAGNOSTICS,
    diagnostics,
    leakage,
    summary,
)
from contrafact.families.rfc.records import Rewrite

WORDS = ("sales", "costs", "orders", "profit", "margin", "demand", "supply", "output", "prices")


def pairs(count, change, manipulation="causal"):
    rng = np.random.default_rng(4)
    made = []
    for number in range(count):
        words = rng.choice(WORDS, 12).tolist()
        made.append(
            Rewrite.of(manipulation, " ".join(words), change(words, rng), article_id=f"n{number}")
        )
    return made


def swapped(words, rng):
    """The same words in another order: nothing that their number or kind could tell."""
    order = rng.permutation(12)
    while [words[at] for at in order] == words:
        order = rng.permutation(12)
    return " ".join(words[at] for at in order)


def by_artefact(found, manipulation="all"):
    return found[found["manipulation"].eq(manipulation)].set_index("artefact")["auroc"]


def test_a_planted_word_is_found_by_n_grams_and_a_planted_length_by_length():
    found = by_artefact(leakage(pairs(60, lambda w, _: " ".join([*w, "reportedly"])), resamples=50))
    assert found["n-grams"] > 0.95
    found = by_artefact(leakage(pairs(60, lambda w, _: " ".join(w * 2)), resamples=50))
    assert found["length"] > 0.95


def test_where_nothing_is_planted_nothing_is_found():
    found = by_artefact(leakage(pairs(120, swapped), resamples=50))
    assert abs(found["length"] - 0.5) < 0.1
    assert abs(found["n-grams"] - 0.5) < 0.2


def test_few_articles_of_a_kind_are_not_probed_alone_and_none_is_an_error():
    table = leakage(bundled_pairs(), resamples=20)
    assert set(table["manipulation"]) == {"all"}
    with pytest.raises(InputError, match="no leak can be measured"):
        leakage([Rewrite.of("causal", "", "Up.", article_id="a")])


def test_the_five_diagnostics_by_manipulation():
    table = summary(diagnostics(bundled_pairs()))
    assert set(table["diagnostic"]) == set(DIAGNOSTICS)
    counts = table[table["diagnostic"] == "jaccard"].set_index("manipulation")["pairs"]
    assert counts.to_dict() == {
        "all": 24, "numerical": 6, "flipping": 6, "sentiment": 6, "causal": 6,
    }  # fmt: skip


@pytest.mark.slow
def test_the_command_writes_tables_and_says_no_when_the_limit_is_passed(quick_contrafact, tmp_path):
    rows = pairs(30, lambda w, _: " ".join([*w, "reportedly"]))
    write_lines(tmp_path / "pairs.jsonl", [row.model_dump(mode="json") for row in rows])
    quick_contrafact("rfc", "surface", "pairs.jsonl", "--out", "a", code=0)
    refused = quick_contrafact("rfc", "surface", "pairs.jsonl", "--out", "b", "--max-auroc", "0.7")
    assert refused.returncode == 1
    assert "n-grams tells all rewrites from originals: AUROC" in refused.stderr
    # The same data and seed give the same tables to the byte.
    for name in ("diagnostics.csv", "leakage.csv", "pairs.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    missing = quick_contrafact("rfc", "surface", "nowhere.jsonl", "--out", "c")
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
