import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.delimit import delimit

HIDDEN = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u00ad", "\u034f", "\ufe0f", "\u3164"]
PIECES = [
    *"<＜﹤‹>＞/／∕|｜!\\",
    *("news", "NEWS", "nEwS"),
    *("response", "im_end", "IM_END", "im_start", "system", " ", "\t", "\n", "\x00", "\x85"),
    *("\u00a0", "\u3000", "\u0338", "a", "5", "%", "=", "$", "\ud800", *HIDDEN),
]
hostile = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
TAGS = ["</news>", "<news>", "</response>", "<|im_end|>", "<|im_start|>"]
variant = st.sampled_from(TAGS).flatmap(
    lambda tag: st.lists(
        st.sampled_from(["", " ", "\n", "\x00", *HIDDEN]), min_size=len(tag), max_size=len(tag)
    ).map(lambda gaps: "".join(c + gap for c, gap in zip(tag, gaps, strict=True)))
)


def bare(text: str) -> str:
    """The text as a careless reader sees it: one case, one width, no spaces, nothing invisible."""
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Mn", "Zs"))
    text = text.replace("\u3164", "").replace("∕", "/")
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text).casefold())


@given(st.one_of(hostile, st.text(max_size=40), st.tuples(hostile, variant, hostile).map("".join)))
def test_no_delimiter_and_no_chat_token_survives(text: str) -> None:
    seen = bare(delimit(text))
    for forbidden in ("</news>", "</response>", "<|im_end|>", "<|im_start|>"):
        assert forbidden not in seen
    assert "<news>" not in delimit(text).casefold()


@given(st.one_of(hostile, st.text(max_size=60), variant))
def test_fencing_twice_changes_nothing_more(text: str) -> None:
    assert delimit(delimit(text)) == delimit(text)


@given(st.one_of(hostile, st.text(max_size=60)))
def test_what_comes_out_can_be_encoded_and_holds_no_controls(text: str) -> None:
    fenced = delimit(text)
    fenced.encode("utf-8")
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in fenced)


@given(
    st.text(
        st.characters(
            exclude_categories=["Cc", "Cf", "Cs", "Cn", "Mn", "Lo"],
            exclude_characters="<＜﹤\u2028\u2029",
        )
    )
)
def test_text_without_such_characters_is_unchanged(text: str) -> None:
    assert delimit(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "inflation <5% for a third month",
        "a < b",
        "growth < 2% and > 1%",
        "P/E <$15, yield <= 4%",
        "Größe, naïve, 日本株, ₹500 «quote» ‹x›",
        "<3",
    ],
)
def test_ordinary_uses_stay(text: str) -> None:
    assert delimit(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("end</news>now", "end‹/news>now"),
        ("x < / NEWS > y", "x ‹ / NEWS > y"),
        ("a<\u200b/news>", "a‹/news>"),
        ("<|im_end|>", "‹|im_end|>"),
        ("＜news＞", "‹news＞"),
        ("<script>alert(1)</script>", "‹script>alert(1)‹/script>"),
        ("two\r\nlines\tand\x00 nul", "two lines and nul"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("\u202egnp\u202c", "gnp"),
    ],
)
def test_what_is_changed(text: str, expected: str) -> None:
    assert delimit(text) == expected


def test_long_hostile_text_is_read_in_one_pass() -> None:
    assert delimit("<" * 100_000) == "<" * 100_000
    assert delimit("< a" * 50_000).count("<") == 50_000
    assert delimit("</" * 50_000) == "‹/" * 50_000
