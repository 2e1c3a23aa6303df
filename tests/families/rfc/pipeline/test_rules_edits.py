"""Edit logs: replayed here by hand, so that nothing of the rewriter vouches for itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.rfc.pipeline.rules import NoRewrite, rewrite_by_rules
from contrafact.families.rfc.pipeline.rules.edits import (
    apply,
    between,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.grammar import article_for
from contrafact.records import Edit

NEWS = {
    "numerical": "Norrick Steel raised its dividend 8% to $1.35 a share on sales of $4.6 billion.",
    "flipping": "Shares of Norrick Steel rose 4% on Tuesday after strong sales beat estimates.",
    "sentiment": "Sales at Norrick Steel rose 4% on solid demand, and the outlook may improve.",
    "causal": "Shares of Norrick Steel fell 4% on Tuesday due to softer demand for pipes.",
}


def replayed(original: str, edits) -> str:
    """Replay from the right, so that no span moves."""
    text = original
    for edit in reversed(edits):
        assert original[edit.start : edit.end] == edit.before
        text = text[: edit.start] + edit.after + text[edit.end :]
    return text


@pytest.mark.parametrize("manipulation", list(NEWS))
def test_the_log_gives_the_rewrite_and_all_outside_it_is_as_it_was(manipulation):
    original = NEWS[manipulation]
    for seed in range(12):
        result = rewrite_by_rules(original, manipulation, seed)
        assert not isinstance(result, NoRewrite), result.reason
        ends = [0]
        for edit in result.edits:
            assert ends[-1] <= edit.start <= edit.end
            assert edit.before != edit.after
            assert edit.why
            ends.append(edit.end)
        assert replayed(original, result.edits) == result.rewritten != original


@pytest.mark.parametrize("manipulation", list(NEWS))
def test_one_seed_gives_one_rewrite(manipulation):
    first, second = (rewrite_by_rules(NEWS[manipulation], manipulation, 5) for _ in range(2))
    assert first == second


def test_seeds_give_different_figures():
    texts = {rewrite_by_rules(NEWS["numerical"], "numerical", s).rewritten for s in range(8)}
    assert len(texts) > 4


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
    for manipulation in NEWS:
        assert rewrite_by_rules(text, manipulation, 1) == NoRewrite(
            "holds markup, and is no paragraph"
        )
