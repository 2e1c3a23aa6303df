"""Edit logs: replayed here by hand, so that nothing of the rewriter vouches for itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.pipeline.edits import (
    apply,
    article_for,
    between,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.pipeline.numerical import rewrite_numerical
from contrafact.families.rfc.records import Edit

NEWS = "Norrick Steel raised its dividend 8% to $1.35 a share on sales of $4.6 billion."


def replayed(original: str, edits) -> str:
    """Replay from the right, so that no span moves."""
    text = original
    for edit in reversed(edits):
        assert original[edit.start : edit.end] == edit.before
        text = text[: edit.start] + edit.after + text[edit.end :]
    return text


def test_the_log_gives_the_rewrite_and_all_outside_it_is_as_it_was():
    for seed in range(12):
        result = rewrite_numerical(NEWS, seed)
        assert result.rewritten is not None, result.reason
        ends = [0]
        for edit in result.edits:
            assert ends[-1] <= edit.start <= edit.end
            assert edit.before != edit.after
            assert edit.why
            ends.append(edit.end)
        assert replayed(NEWS, result.edits) == result.rewritten != NEWS


def test_one_seed_gives_one_rewrite_and_others_other_figures():
    assert rewrite_numerical(NEWS, 5) == rewrite_numerical(NEWS, 5)
    assert len({rewrite_numerical(NEWS, seed).rewritten for seed in range(8)}) > 4


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_log_of_a_model_replays(original, rewritten):
    assert replayed(original, between(original, rewritten)) == rewritten


def test_a_log_of_another_text_is_refused():
    edit = Edit(start=0, end=4, before="Rice", after="Corn", why="test")
    assert apply("Rice is up", [edit]) == "Corn is up"
    with pytest.raises(ValueError, match="does not stand"):
        apply("Oats are up", [edit])
    with pytest.raises(ValueError, match="overlaps"):
        apply("Rice is up", [edit, edit])


def test_of_two_edits_at_one_place_the_first_stands():
    text = "Prices rose again"
    one, two = replace_at(text, 7, 11, "fell", "a"), replace_at(text, 7, 17, "slid", "b")
    same = replace_at(text, 0, 6, "Prices", "c")
    assert compose([one], [two], [same]) == (one,)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a rise in sales", "rise", "upturn", "an upturn in sales"),
        ("An increase in sales", "increase", "decrease", "A decrease in sales"),
        ("an 8% rise", "8%", "5%", "a 5% rise"),
        ("a $5 billion deal", "$5", "$8.5", "an $8.5 billion deal"),
        ("A upbeat outlook", "upbeat", "downbeat", "A downbeat outlook"),  # was wrong before
        ("India rose", "rose", "fell", "India fell"),
    ],
)
def test_articles_agree_with_what_follows_them(text, old, new, expected):
    at = text.index(old)
    edits = with_articles(text, [replace_at(text, at, at + len(old), new, "test")])
    assert apply(text, edits) == expected


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("hour", "an"), ("unit", "a"), ("uninspired day", "an"), ("euro", "a"), ("IPO", "an"),
        ("US firm", "a"), ("S&P fund", "an"), ("11% fall", "an"), ("110-point fall", "a"),
        ("18,000-job cut", "an"), ("1,800-job cut", "a"), ("80% share", "an"), ("€8 fee", "an"),
        ("one-off", "a"), ("", "a"),
    ],
)  # fmt: skip
def test_articles_go_by_sound(word, article):
    assert article_for(word) == article


def test_markup_is_no_paragraph():
    text = "<ol><li>Shares of Norrick Steel rose 4%</li></ol>"
    assert rewrite_numerical(text, 1).reason == "contains markup, so it is not a plain paragraph"
