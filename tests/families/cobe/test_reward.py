"""The reward in the signature that trainers call."""

import asyncio
import json
import re

import pytest
from tests.support.replies import says

from contrafact.errors import InputError
from contrafact.families.cobe.data import bundled_known, bundled_stories, story_object
from contrafact.families.cobe.reward import edit_reward, reward_rows

KNOWN = bundled_known()[0]
ANSWERS = {one.text: one for one in (*KNOWN.right, *KNOWN.wrong)}
ORDER = ("had to stay", "had to change", "join its clauses", "amounts have moved", "background")


def judge(invalid=()):
    """A judge that knows the bundled answers."""

    def reply(prompt):
        text = prompt.rsplit("<response>", 1)[1].split("</response>")[0]
        (asked,) = [f"E{i}" for i, title in enumerate(ORDER, 1) if title in prompt.split("\n")[0]]
        known = "F" if ANSWERS[text].fails == asked else "T"
        return "?" if asked in invalid else known

    return says(reply, "judge")


STORY = json.dumps(story_object(KNOWN.story))
TEXTS = list(ANSWERS)


def test_right_answers_earn_one_and_wrong_ones_nothing():
    reward = edit_reward(judge())
    n = len(TEXTS)
    rewards = reward(prompts=["p"] * n, completions=TEXTS, story=[STORY] * n, completion_ids=None)
    assert rewards == [0.0 if ANSWERS[text].fails else 1.0 for text in TEXTS]
    assert reward.__name__ == "cobe_reward"


def test_a_share_is_denser_and_conversations_are_read():
    reward = edit_reward(judge(), form="share")
    chats = [[{"role": "assistant", "content": text}] for text in TEXTS]
    rewards = reward(["p"] * len(chats), chats, story=[KNOWN.story] * len(chats))
    assert set(rewards) == {1.0, 0.75}


def test_an_empty_completion_earns_nothing_and_an_open_verdict_has_no_reward():
    reward = edit_reward(judge(invalid=("E3",)))
    wrong = next(text for text in TEXTS if ANSWERS[text].fails == "E1")
    right = TEXTS[0]
    assert reward(["p"] * 3, ["  ", wrong, right], story=[STORY] * 3) == [0.0, 0.0, None]
    share = edit_reward(judge(invalid=("E3",)), form="share")
    assert share(["p"] * 2, [wrong, right], story=[STORY] * 2) == [0.5, 0.75]


def test_a_completions_draft_earns_nothing():
    reward = edit_reward(judge())
    wrong = next(text for text in TEXTS if ANSWERS[text].fails)
    right = next(text for text in TEXTS if not ANSWERS[text].fails)
    given = [f"<think>{wrong}</think>{right}", f"<think>{right}</think>{wrong}", f"<think>{right}"]
    assert reward(["p"] * 3, given, story=[STORY] * 3) == [1.0, 0.0, 0.0]


def test_it_works_inside_a_running_loop():
    async def train():
        return edit_reward(judge())(["p"], TEXTS[:1], story=[STORY])

    assert asyncio.run(train()) == [1.0]


def test_rows_of_a_dataset_hold_what_the_reward_needs_and_misuse_is_reported():
    rows = reward_rows(bundled_stories())
    assert len(rows) == 42
    assert set(rows[0]) == {"prompt", "query", "story"}
    assert rows[0]["query"] in rows[0]["prompt"]
    reward = edit_reward(judge())
    with pytest.raises(InputError, match="needs a story for every completion"):
        reward(["p"], ["c"])
    with pytest.raises(InputError, match="neither text nor a conversation"):
        reward(["p"], [None], story=[STORY])


def test_the_proof_of_a_story_is_a_reward_without_a_model():
    from contrafact.families.cobe.synth.compose import compose

    row = next(compose(1, 5))
    story = json.dumps({key: value for key, value in row.items() if "answers" not in key})
    given = row["Right answers"] + row["Wrong answers"]
    rewards = edit_reward("proof")(
        ["p"] * len(given), [one["text"] for one in given], story=[story] * len(given)
    )
    assert rewards == [float(all(one["verdicts"].values())) for one in given]


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
        rewards = edit_reward("proof", form=form)(
            ["p"] * len(texts), texts, story=[entry["metadata"]["story"]] * len(texts)
        )
        assert rewards == [tasks.score_answer(text, entry) for text in texts]
        paid, rest = rewards[: len(whole)], rewards[len(whole) :]
        assert set(paid) == {1.0}
        assert min(rest[: len(partial)]) < 1  # but a consequence may be left out (E2)
        assert max(rest[len(partial) :]) < 1
