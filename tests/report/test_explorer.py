"""What the explorer holds: any text comes back as it was, systems can be set side by side."""

import base64
import gzip
import json
import re
from collections import Counter
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.report.chapter import Options, chapter_data, sections_of
from contrafact.report.explorer import pack, pack_items
from contrafact.report.frames import TaskRuns
from contrafact.text.diff import is_scattered, word_diff

any_text = st.text(st.characters(), max_size=60) | st.sampled_from(
    ["</script><script>alert(1)</script>", "<!--", "\u202e", "\ud800", "\0", "]]>", "\u2028"]
)
values = st.recursive(
    any_text | st.integers(-5, 5) | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def unpack(packed: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(packed)))


@given(values)
def test_any_text_comes_back_and_can_end_no_element(value: Any) -> None:
    packed = pack(value)
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", packed)
    assert unpack(packed) == value
    assert pack(value) == packed


@pytest.fixture(scope="module")
def data(study: Any) -> Any:
    items = study.make_items(headlines=30, systems=study.systems[:2])
    items["details"] = [{"Channel": "credit", "Likelihood": 0.25}, None] * (len(items) // 2)
    items["dollars"] = 0.001
    return chapter_data(TaskRuns("finforce", items, study.make_meta()), Options(resamples=20))


def value_of(column: dict[str, Any], row: int) -> Any:
    code = column["codes"][row]
    return None if code < 0 else column["values"][code]


def test_every_output_is_there_with_its_text_verdicts_and_prompt(data: Any) -> None:
    items = data.items
    calls = items[["system", "draw", "sample_id"]].drop_duplicates()
    calls = calls.assign(prompt="Write of " + calls["sample_id"], reply="{}")
    packed = pack_items(data, calls)
    index = unpack(packed.index)
    assert packed.items == len(items) == len(index["system"])
    chunks = [one for chunk in packed.calls for one in unpack(chunk)]
    flags = {flag["label"]: flag["codes"] for flag in index["flags"]}
    (section,) = (one for one in sections_of(data) if one.anchor == "explorer")
    assert (section.contents or section.heading) == "Every output"
    for place, (_, row) in enumerate(items.iterrows()):
        assert index["systems"][index["system"][place]] == row["system"]
        assert value_of(index["before"], place) == row["headline"]
        assert value_of(index["where"], place).startswith(row["side"])
        text = value_of(index["text"], place)
        assert (text is None) == (row["valid"] == 0)
        assert text is None or text == row["text"]
        ((prompt, reply),) = chunks[index["calls"][place]]
        assert (prompt, reply) == (f"Write of {row['sample_id']}", "{}")
        told = flags["Directional"][place]
        if pd.isna(row["directionality"]):
            assert told == (-1 if pd.isna(row["directionality_invalid"]) else 2)
        else:
            assert told == row["directionality"]
    assert index["details"][0] == {"Channel": "credit", "Likelihood": "0.250"}
    assert [one["label"] for one in index["numbers"]][:1] == ["Perplexity: Mean"]


def test_of_too_many_outputs_whole_units_are_drawn_and_the_rest_is_counted(data: Any) -> None:
    packed = pack_items(data, None, most=40)
    index = unpack(packed.index)
    assert 30 < packed.items <= 40
    assert packed.items + packed.left_out == len(data.items)
    of_item = Counter(index["item"])
    whole = data.items.groupby(["draw", "sample_id", "side"]).size()
    assert set(of_item.values()) <= set(whole)
    drawn = {value_of(index["id"], i) for i in range(packed.items)}
    first = data.items["sample_id"].drop_duplicates().iloc[: len(drawn)]
    assert drawn != set(first)


@pytest.mark.parametrize(
    ("before", "after", "scattered"),
    [
        ("Shares of Halden fall on weak orders", "Shares of Halden rise on strong orders", False),
        ("Orders fall", "A strike closes the port for a week", True),
        ("Bank caps rates on large deposits", "The text could not be used on time", True),
        (
            "Airline may raise up to a billion in offshore bonds",
            "Regulators delay the airline as a billion is lost in bonds and offshore loans sour",
            True,
        ),
    ],
)
def test_marks_that_would_be_scraps_give_way_to_the_whole_text(
    before: str, after: str, scattered: bool
) -> None:
    assert is_scattered(word_diff(before, after)) is scattered


@given(st.text("ab .", max_size=40), st.text("ab .", max_size=40))
def test_a_text_that_shares_half_of_its_words_is_marked(before: str, after: str) -> None:
    parts = word_diff(before, after)
    same = sum(len(part.text.split()) for part in parts if part.kind == "same")
    every = sum(len(part.text.split()) for part in parts) + same
    if 4 * same >= every:
        assert not is_scattered(parts)
