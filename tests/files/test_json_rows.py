"""A list in JSON is read as it stands, and a damaged one is refused."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.files.json_rows import json_list

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab",\\[]{}é漢\n😀: ', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=8,
)


def read(data):
    return [row for _, row in json_list(io.BytesIO(data), "x.json")]


@given(
    st.lists(st.dictionaries(st.text("abc"), VALUES, max_size=3), max_size=4),
    st.sampled_from([None, 1]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
)
def test_a_list_gives_its_rows(rows, indent, encoding):
    text = json.dumps(rows, ensure_ascii=False, indent=indent)
    assert read(text.encode(encoding)) == rows


@given(st.data())
def test_a_damaged_list_is_refused(data):
    text = json.dumps([{"a": data.draw(VALUES)}, {"b": data.draw(VALUES)}])
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(InputError, match=r"x\.json"):
        read(cut.encode())
