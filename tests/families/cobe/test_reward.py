"""The reward in the signature that trainers call."""

import json
import re

import pytest

from contrafact.errors import InputError
from contrafact.families.cobe.data import bundled_stories, story_object
from contrafact.families.cobe.reward import edit_reward, reward_rows
from contrafact.families.cobe.synth.compose import compose

ROW = next(compose(1, 5))
GIVEN = ROW["Right answers"] + ROW["Wrong answers"]
DUE = [float(all(one["verdicts"].values())) for one in GIVEN]
TEXTS = [one["text"] for one in GIVEN]
STORY = json.dumps({key: value for key, value in ROW.items() if "answers" not in key})


def test_the_proof_of_a_story_is_a_reward_without_a_model():
    reward = edit_reward()
    n = len(TEXTS)
    rewards = reward(prompts=["p"] * n, completions=TEXTS, story=[STORY] * n, completion_ids=None)
    assert rewards == DUE and set(DUE) == {0.0, 1.0}
    assert reward.__name__ == "cobe_reward"


def test_a_share_is_denser_and_conversations_are_read():
    chats = [[{"role": "assistant", "content": text}] for text in TEXTS]
    rewards = edit_reward("share")(
        ["p"] * len(chats), chats, story=[json.loads(STORY)] * len(chats)
    )
    shares = [list(one["verdicts"].values()) for one in GIVEN]
    assert rewards == [sum(passed) / len(passed) for passed in shares]
    assert 0 < min(rewards) < 1
    with pytest.raises(InputError, match="use conjunction or share"):
        edit_reward("sum")


def test_a_completions_draft_earns_nothing():
    right, wrong = TEXTS[DUE.index(1.0)], TEXTS[DUE.index(0.0)]
    given = [
        f"<think>{wrong}</think>{right}",
        f"<think>{right}</think>{wrong}",
        f"<think>{right}",
        "  ",
    ]
    assert edit_reward()(["p"] * 4, given, story=[STORY] * 4) == [1.0, 0.0, 0.0, 0.0]


def test_rows_of_a_dataset_hold_what_the_reward_needs_and_misuse_is_reported():
    rows = reward_rows(bundled_stories())
    assert len(rows) == 42
    assert set(rows[0]) == {"prompt", "query", "story"}
    assert rows[0]["query"] in rows[0]["prompt"]
    reward = edit_reward()
    with pytest.raises(InputError, match="needs a story for every completion"):
        reward(["p"], ["c"])
    with pytest.raises(InputError, match="neither text nor a conversation"):
        reward(["p"], [None], story=[STORY])
    with pytest.raises(InputError, match="has no proof; train on stories of"):
        reward(["p"], ["c"], story=[json.dumps(story_object(bundled_stories()[0]))])


@pytest.mark.parametrize("form", ["conjunction", "share"])
def test_both_rewards_of_the_proof_agree_and_what_is_left_out_is_not_paid(form):
    from contrafact.families.cobe.stories import LEVELS, Stories

    tasks = Stories(11, LEVELS[1], form=form)
    for entry in map(tasks.__getitem__, range(6)):
        right = entry["answer"]
        sentences = re.split(r"(?<=[.!?])\s+", right)
        partial = [" ".join(sentences[:n] + sentences[n + 1 :]) for n in range(len(sentences))]
        whole = [right, f"<think>No post.</think>\n{right}", f"Final answer: {right}",
                 f"```\n{right}\n```", f"\u200b{right}\ufeff", f"{right}\n"]  # fmt: skip
        none = [f"<think>{right}", f"{right} Who knows what the harbour did?", "Who knows?", "…",
                "", f"{right}\n\nWait, that is wrong.", right + " x" * 20_000]  # fmt: skip
        texts = [*whole, *partial, *none]
        rewards = edit_reward(form)(
            ["p"] * len(texts), texts, story=[entry["metadata"]["story"]] * len(texts)
        )
        assert rewards == [tasks.score_answer(text, entry) for text in texts]
        paid, rest = rewards[: len(whole)], rewards[len(whole) :]
        assert set(paid) == {1.0}
        assert min(rest[: len(partial)]) < 1  # but a consequence may be left out (E2)
        assert max(rest[len(partial) :]) < 1
