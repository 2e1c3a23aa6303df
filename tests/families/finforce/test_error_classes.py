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


def test_signs_count_as_meaning() -> None:
    assert classify("up 3%", "up 3").edit_distance > 0


def test_lost_entities_make_a_fantastical_edit() -> None:
    text = "Bakers in a far valley invent a new kind of bread"
    assert lost(HEADLINE, text) == 1.0
    assert classify(HEADLINE, text).fantastical_edit is True


def test_one_entity_of_two_may_go_and_other_forms_of_a_name_count() -> None:
    assert lost(HEADLINE, "Japan's carriers profit from the pact") == 0.5
    assert classify(HEADLINE, "Japan's carriers profit from the pact").fantastical_edit is False
    assert lost(HEADLINE, "Germans and Japanese carriers profit") == 0.0


def test_a_headline_that_names_nobody_cannot_lose_anybody() -> None:
    texts = "shares end flat in quiet trade", "shares tumble as lenders fail"
    assert lost(*texts) is None
    assert classify(*texts).fantastical_edit is None


def test_the_source_of_a_headline_is_not_its_subject() -> None:
    credited = "Germany sells more bonds than planned - Japan Daily News"
    assert lost(credited, "Germany pays more for its bonds") == 0.0


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


@pytest.mark.parametrize(
    "text",
    [
        "thousands of jobs",
        "billions of dollars",
        "dozens of carriers",
        "Hundreds of ships",
        "a few",
    ],
)
def test_a_size_without_a_figure_is_no_numeric_prediction(text: str) -> None:
    assert not classify(HEADLINE, f"Pact puts {text} at risk").numeric_prediction


def test_a_new_figure_is_a_numeric_prediction() -> None:
    assert classify(HEADLINE, "Germany and Japan pact cuts freight rates by 5%").numeric_prediction
    assert classify(HEADLINE, "Germany and Japan pact halved rates").numeric_prediction
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


def test_a_frame_is_classified_row_by_row() -> None:
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


def test_classes_survive_parquet(tmp_path: Path) -> None:
    classify_many(frame()).to_parquet(tmp_path / "items.parquet")
    read = pd.read_parquet(tmp_path / "items.parquet")
    assert list(read["fluency_lapse"]) == [False, None, None, True]


def test_an_empty_frame_stays_empty() -> None:
    assert len(classify_many(frame().iloc[:0])) == 0


@settings(max_examples=25)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_classified(headline: str, counterfactual: str) -> None:
    found = classify(headline, counterfactual)
    assert 0.0 <= found.edit_distance <= 1.0
    assert classify(headline, headline).similar_semantics
    assert not classify(headline, headline).numeric_prediction
