import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from contrafact.text.parsing import (
    MAX_CHARACTERS,
    Span,
    entities,
    entities_many,
    mask_spans,
    noun_phrases,
)

HEADLINE = "Central Bank of Oskarra raises rates as Veltrane Motors cuts jobs in France"


def span(text: str, words: str) -> Span:
    start = text.index(words)
    return Span(start, start + len(words), words)


def test_entities_of_a_headline() -> None:
    found = entities(HEADLINE)
    assert {"Veltrane Motors", "France"} <= {entity.text for entity in found}
    assert {e.label for e in found if e.text == "France"} == {"GPE"}
    assert all(HEADLINE[e.start : e.end] == e.text for e in found)


def test_many_texts_are_read_as_each_alone() -> None:
    texts = [HEADLINE, "", "Germany sells bonds to Japan", HEADLINE]
    assert entities_many(texts) == [entities(text) for text in texts]
    assert entities_many([]) == []


def test_noun_phrases_of_a_headline() -> None:
    found = noun_phrases("The central bank raises its main rate as exporters fear a weak crown")
    phrases = [phrase.text for phrase in found]
    assert phrases == ["The central bank", "its main rate", "exporters", "a weak crown"]


def test_text_that_spacy_cannot_take_is_read_all_the_same() -> None:
    text = "Germany \ud83d sells\x00 bonds to Japan " + "x" * 2 * MAX_CHARACTERS
    found = entities(text)
    assert "Japan" in {e.text for e in found}
    assert all(text[e.start : e.end] == e.text for e in found + noun_phrases(text))
    assert entities("") == noun_phrases("") == []


def test_masks_cover_whole_words_and_overlaps_share_one() -> None:
    text = "Veltrane's rate-setting panel weighs 3.5% cut"
    assert mask_spans(text, [span(text, "rate")]) == "Veltrane's [MASK] panel weighs 3.5% cut"
    assert mask_spans(text, [span(text, "Velt")]) == "[MASK]'s rate-setting panel weighs 3.5% cut"
    overlapping = [span(text, "setting panel"), span(text, "rate-setting"), span(text, "5%")]
    assert mask_spans(text, overlapping, "___") == "Veltrane's ___ weighs ___ cut"
    assert mask_spans(text, []) == text
    assert mask_spans(text, [Span(3, 3, "")]) == text
    assert mask_spans("two rates", [Span(3, 9, " rates")]) == "two [MASK]"


texts = st.text(alphabet="ab -'s.", min_size=1, max_size=30)


@st.composite
def text_and_spans(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(texts)
    ends = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(ends, ends).map(sorted), max_size=5))
    return text, [Span(a, b, text[a:b]) for a, b in pairs]


@given(text_and_spans())
def test_a_mask_never_cuts_a_word_and_keeps_the_rest_in_order(
    case: tuple[str, list[Span]],
) -> None:
    text, spans = case
    masked = mask_spans(text, spans, "#")
    words = iter(re.findall(r"\w+", text))
    assert all(word in words for word in re.findall(r"\w+", masked)), "whole words, in order"
    pattern = ".*".join(re.escape(piece) for piece in masked.split("#"))
    assert re.fullmatch(pattern, text, re.DOTALL)


def test_importing_does_not_load_spacy() -> None:
    code = "import sys, contrafact.text.parsing; sys.exit('spacy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
