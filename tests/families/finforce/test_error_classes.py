import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrafact.families.finforce.error_classes import (
    PERPLEXITY_RATIO,
    classify_many,
    entities_lost,
)
from contrafact.text.parsing import entities

HEADLINE = "Germany and Japan sign shipping pact as freight rates climb 12%"


def classify(
    headline: str, text: str, perplexity: float = math.nan, of_headline: float = 40.0
) -> Any:
    row = {"headline": headline, "text": text, "perplexity": perplexity}
    return classify_many(pd.DataFrame([row | {"headline_perplexity": of_headline}])).iloc[0]


def lost(headline: str, text: str) -> float | None:
    return entities_lost(headline, entities(headline), text)


def test_a_sound_continuation_has_no_error() -> None:
    text = "Germany and Japan widen shipping pact as 12% climb in freight rates draws new carriers"
    found = classify(HEADLINE, text, 50.0)
    assert not found.similar_semantics
    assert lost(HEADLINE, text) == 0.0
    assert found.fantastical_edit is False
    assert found.fluency_lapse is False
    assert not found.numeric_prediction


def test_case_and_punctuation_do_not_make_a_difference_in_meaning() -> None:
    shouted = HEADLINE.upper().replace(" AS ", ", as ") + "!"
    assert classify(HEADLINE, shouted).similar_semantics
    assert classify(HEADLINE, shouted).edit_distance == 0.0
    assert classify(HEADLINE, HEADLINE.replace("climb", "fall")).similar_semantics
    clause = "Germany and Japan sign shipping pact, and exporters' insurance costs fall with it"
    assert not classify(HEADLINE, clause).similar_semantics
    assert classify("up 3%", "up 3").edit_distance > 0, "signs count as meaning"


@pytest.mark.parametrize(
    ("headline", "text", "share", "fantastical"),
    [
        (HEADLINE, "Bakers in a far valley invent a new kind of bread", 1.0, True),
        (HEADLINE, "Japan's carriers profit from the pact", 0.5, False),
        (HEADLINE, "Germans and Japanese carriers profit", 0.0, False),  # other forms of a name
        ("shares end flat in quiet trade", "shares tumble as lenders fail", None, None),
        (  # who is credited is not the subject
            "Germany sells more bonds than planned - Japan Daily News",
            "Germany pays more for its bonds",
            0.0,
            False,
        ),
    ],
)
def test_lost_entities_make_a_fantastical_edit(headline, text, share, fantastical) -> None:
    assert lost(headline, text) == share
    assert classify(headline, text).fantastical_edit is fantastical


LIMIT = PERPLEXITY_RATIO * 40.0


@pytest.mark.parametrize(
    ("perplexity", "expected"),
    [(LIMIT + 1, True), (LIMIT, False), (math.nan, None)],
)
def test_fluency_lapses_where_perplexity_is_far_above_the_headlines(
    perplexity: float, expected: bool | None
) -> None:
    assert classify(HEADLINE, "x", perplexity).fluency_lapse is expected
    assert classify(HEADLINE, "x", 50.0, math.nan).fluency_lapse is None


def test_a_new_figure_is_a_numeric_prediction_and_a_size_without_one_is_none() -> None:
    for text in ("pact cuts freight rates by 5%", "pact halved rates"):
        assert classify(HEADLINE, f"Germany and Japan {text}").numeric_prediction, text
    for size in ("thousands of jobs", "billions of dollars", "dozens of carriers", "a few"):
        assert not classify(HEADLINE, f"Pact puts {size} at risk").numeric_prediction, size
    assert not classify(HEADLINE, "Pact puts Hundreds of ships at risk").numeric_prediction
    assert not classify(HEADLINE, "Germany and Japan end pact by 2030").numeric_prediction


def frame() -> pd.DataFrame:
    rows = [
        (HEADLINE, HEADLINE, 10.0, 40.0),
        (HEADLINE, None, math.nan, 40.0),
        ("no names here", "profits up 5%", math.nan, math.nan),
        (HEADLINE, "Bakers in a far valley invent bread", 500.0, 40.0),
    ]
    columns = ["headline", "text", "perplexity", "headline_perplexity"]
    return pd.DataFrame(rows, columns=columns, index=[7, 3, 9, 1])


def test_a_frame_is_classified_row_by_row(tmp_path: Path) -> None:
    items = frame()
    result = classify_many(items)
    assert list(result.index) == [7, 3, 9, 1]
    assert "similar_semantics" not in items, "the frame given is left alone"
    flags = ["similar_semantics", "fantastical_edit", "fluency_lapse", "numeric_prediction"]
    assert result[flags].to_numpy().tolist() == [
        [True, False, False, False],
        [None, None, None, None],
        [False, None, None, True],
        [False, True, True, False],
    ]
    assert result["edit_distance"].isna().tolist() == [False, True, False, False]
    result.to_parquet(tmp_path / "items.parquet")
    read = pd.read_parquet(tmp_path / "items.parquet")
    assert list(read["fluency_lapse"]) == [False, None, None, True]
    assert len(classify_many(items.iloc[:0])) == 0


@settings(max_examples=25)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_classified(headline: str, counterfactual: str) -> None:
    found = classify(headline, counterfactual)
    assert 0.0 <= found.edit_distance <= 1.0
    assert classify(headline, headline).similar_semantics
    assert not classify(headline, headline).numeric_prediction
