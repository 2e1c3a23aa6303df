"""Hidden characters are shown, and no text can be read as markup."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.delimit import visible_html, visible_text


def test_what_reorders_or_hides_is_shown_by_code_point() -> None:
    assert visible_text("a\u202eb\u200bc\x00d") == "a‹U+202E›b‹U+200B›c␀d"
    html = visible_html("<b>\u2066x")
    assert "&lt;b&gt;" in html
    assert "U+2066" in html
    assert "\u2066" not in html


def test_right_to_left_text_is_isolated_and_kept() -> None:
    assert str(visible_html("شركة ميرا")) == "<bdi>شركة ميرا</bdi>"


@given(st.text(alphabet=st.characters(codec=None), max_size=60))
def test_nothing_hidden_survives_and_all_can_be_written(text: str) -> None:
    for shown in (visible_text(text), str(visible_html(text))):
        shown.encode("utf-8")
        hidden = {"Cc", "Cf", "Cs", "Co", "Cn"}
        assert not any(unicodedata.category(character) in hidden for character in shown)


@given(st.text(max_size=80))
def test_only_our_own_tags_are_in_the_markup(text: str) -> None:
    tags = re.findall(r"</?([a-z]+)", str(visible_html(text)))
    assert set(tags) <= {"bdi", "span"}
