"""No prompt that an exam can put to a judge has two truths, in any family."""

from collections import defaultdict

import pytest

from contrafact.families.cobe.data import bundled_known
from contrafact.families.cobe.exam import EXAM as COBE
from contrafact.families.cobe.exam import cobe_items, drawn_known
from contrafact.families.finforce.exam import EXAM as FINFORCE
from contrafact.families.rfc.exam import EXAM as RFC
from contrafact.prompts import open_pack


def truths_of(spec, items, **options):
    """Return what is true of every criterion under every prompt, as it is rendered."""
    asks = spec.examiner(open_pack(), spec.options(**options))
    found = defaultdict(set)
    for item in items:
        for name, prompt in asks.prompts(item).items():
            for criterion, known in item.known.items():
                if criterion == name or name not in item.known:
                    found[prompt, criterion].add(known)
    return found


@pytest.mark.parametrize("spec", [FINFORCE, RFC], ids=lambda spec: spec.task)
def test_no_prompt_of_a_finite_exam_has_two_truths(spec):
    found = truths_of(spec, spec.items(spec.options(), None, 0))
    assert len(found) > 50
    assert [key for key, truths in found.items() if len(truths) > 1] == []


def test_no_prompt_on_a_bundled_story_has_two_truths():
    found = truths_of(COBE, cobe_items(bundled_known()))
    assert [key for key, truths in found.items() if len(truths) > 1] == []


@pytest.mark.slow
def test_no_prompt_on_ten_thousand_drawn_answers_has_two_truths():
    items = cobe_items(drawn_known(1000, 404))
    found = truths_of(COBE, items)
    assert len(items) == 10_000
    assert [key for key, truths in found.items() if len(truths) > 1] == []
