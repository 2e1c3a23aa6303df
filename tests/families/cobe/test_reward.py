"""The reward in the signature that trainers call."""

import asyncio
import json

import pytest
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from contrafact.errors import InputError
from contrafact.families.cobe.data import bundled_known, bundled_stories, story_object
from contrafact.families.cobe.reward import edit_reward, reward_rows

KNOWN = bundled_known()[0]
ANSWERS = {one.text: one for one in (*KNOWN.right, *KNOWN.wrong)}
ORDER = ("had to stay", "had to change", "join its clauses", "amounts have moved", "background")


def judge(invalid=()):
    """A judge that knows the bundled answers."""

    def answer(messages, tools, tool_choice, config):
        prompt = messages[-1].text
        text = prompt.rsplit("<response>", 1)[1].split("</response>")[0]
        (asked,) = [f"E{i}" for i, title in enumerate(ORDER, 1) if title in prompt.split("\n")[0]]
        reply = "F" if ANSWERS[text].fails == asked else "T"
        output = ModelOutput.from_content("mockllm/judge", "?" if asked in invalid else reply)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/judge", custom_outputs=answer, memoize=False)


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
    free = [f"{given[0]['text']} Who knows what the harbour did?", "Who knows?"]
    for form in ("conjunction", "share"):
        found = edit_reward("proof", form=form)(["p"] * 2, free, story=[story] * 2)
        assert found == [None, None]
