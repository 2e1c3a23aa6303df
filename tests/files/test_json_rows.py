"""A list in JSON is read in pieces as it would be read whole, wherever a piece ends."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.files import json_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab",\\[]{}é漢\n😀: ', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=8,
)


def read(data, window):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "_WINDOW", window)
        return [row for _, row in json_rows.json_list(io.BytesIO(data), "x.json")]


@given(
    st.lists(st.dictionaries(st.text("abc"), VALUES, max_size=3), max_size=4),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
)
def test_pieces_of_any_size_give_the_same_rows(rows, window, indent, encoding):
    text = json.dumps(rows, ensure_ascii=False, indent=indent)
    assert read(text.encode(encoding), window) == rows


@given(st.data(), st.integers(1, 40))
def test_a_damaged_list_is_refused_wherever_a_piece_ends(data, window):
    text = json.dumps([{"a": data.draw(VALUES)}, {"b": data.draw(VALUES)}])
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(InputError, match=r"x\.json"):
        read(cut.encode(), window)
