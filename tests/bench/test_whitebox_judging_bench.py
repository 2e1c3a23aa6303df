"""What the bench asks is what a judge of stories is asked: rubrics that many prompts share."""

import pytest
from inspect_ai.model import get_model

from bench import whitebox_judging
from contrafact.models.whitebox.kv_cache import common_length, worth_sharing


def test_each_headline_is_judged_six_times_behind_three_rubrics():
    texts = ["Tern & Vale raises its dividend", "Norrick Steel cuts output"]
    asked = whitebox_judging.prompts(texts)
    assert len(set(asked)) == 12
    letters = [tuple(map(ord, prompt)) for prompt in asked]
    shared = worth_sharing(letters)
    assert len(shared) >= 3
    for prompt, own in zip(asked, letters, strict=True):
        longest = max(common_length(own, one) for one in shared)
        assert longest > 0.75 * len(own)
        assert prompt.rstrip().endswith("T or F:")


@pytest.mark.slow
def test_both_ways_write_the_same_first():
    asked = [*whitebox_judging.prompts(["Norrick Steel cuts output"])[:2], "Reply with T or F."]
    ours = whitebox_judging.judged(get_model("whitebox/smollm2-135m"), asked)
    theirs = whitebox_judging.generated(asked)
    assert [one.reply for one in ours] == [reply for reply, _ in theirs]
