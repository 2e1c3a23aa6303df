"""What is decided beside a sentence that the grammar cannot read, and how often that is wrong."""

from collections import Counter

import pytest
from tests.support.insertions import SPANS, inserted_answers

from contrafact.families.cobe.data import read_story, subject_of
from contrafact.families.cobe.verifier import decisions

MOST_WRONG = 0.005


def counted(stories: int, seed: int) -> Counter[tuple[str, str]]:
    """Return, by kind of span, how many answers and verdicts there are, decided and right."""
    counts: Counter[tuple[str, str]] = Counter()
    for one in inserted_answers(stories, seed):
        decided = decisions(subject_of(read_story(one.row), one.text))
        counts[one.kind, "answers"] += 1
        for name, due in one.verdicts.items():
            passed = decided[name].passed
            counts[one.kind, "verdicts"] += 1
            if passed is not None:
                counts[one.kind, "decided"] += 1
                counts[one.kind, "right" if passed is due else "wrong"] += 1
                counts[one.kind, "failed"] += not passed
    return counts


def check(counts: Counter[tuple[str, str]], answers: int) -> None:
    kinds = [*SPANS, "compared"]
    assert sum(counts[kind, "answers"] for kind in kinds) >= answers
    for kind in kinds:
        assert counts[kind, "wrong"] <= MOST_WRONG * counts[kind, "decided"], kind
    for kind in ("denied", "conditional", "contradicted later"):
        assert counts[kind, "decided"] > 0.2 * counts[kind, "verdicts"], kind
        assert counts[kind, "failed"] > 0.2 * counts[kind, "decided"], kind
    # "Even so" before it may look back further than the sentence before: E3 is open then.
    assert counts["compared", "decided"] >= 0.98 * counts["compared", "verdicts"]
    assert not counts["framed or taken back", "decided"]


def test_hardly_anything_is_decided_wrong_beside_what_cannot_be_read():
    check(counted(140, 1), 120)


@pytest.mark.slow
def test_of_more_than_five_hundred_answers_at_most_one_verdict_in_two_hundred_is_wrong():
    check(counted(700, 2), 600)
