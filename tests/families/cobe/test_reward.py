"""The reward in the signature that trainers call."""

import asyncio
import json
import re

import pandas as pd
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


@pytest.mark.slow
def test_runs_exam_reward_study_and_proof_agree_on_the_causes_that_answers_name(
    quick_contrafact, tmp_path
):
    from contrafact.families.cobe.data import load_known, subject_of
    from contrafact.families.cobe.exam import cobe_items
    from contrafact.families.cobe.verifier import proof

    def done(*words):
        ran = quick_contrafact(*words)
        assert ran.returncode == 0, ran.stderr

    done("cobe", "synth", "--n", "8", "--seed", "5", "--out", "s.jsonl")
    rows = []
    known = load_known(tmp_path / "s.jsonl")
    for one in known:
        for place, answer in enumerate((*one.right[:1], *one.wrong[:4])):
            row = {"system": f"answer {place}", "id": one.story.id, "phrasing": "A"}
            rows.append(row | {"response": answer.text})
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done("score", "cobe", "a.jsonl", "--data", "s.jsonl", "--judge", "proof", "--judge-causes",
         "--out", "run")  # fmt: skip
    items = pd.read_parquet(tmp_path / "run" / "items.parquet").dropna(subset="text")
    ran = {(row["sample_id"], row["text"]): row for _, row in items.iterrows()}
    assert {row["causes"] for row in ran.values()} >= {0.0, 1.0}
    stories = {one.story.id: one.story for one in known}

    examined = cobe_items(known, causes=True)
    assert {one.known.get("causes") for one in examined} == {True, False, None}
    for one in examined:
        if (row := ran.get((one.material.id, one.text))) is not None:
            assert one.known.get("causes", row["causes"]) == row["causes"]
            assert one.whole == row["correct"]
    for (story, text), row in ran.items():
        assert row["causes"] == proof("causes", subject_of(stories[story], text)).passed
    reward = edit_reward("proof", causes=True)
    given = reward([""] * len(ran), [text for _, text in ran], story=[stories[s] for s, _ in ran])
    assert given == [row["correct"] for row in ran.values()]

    done("cobe", "study", "sample", "run", "--sheet", "causes", "--n", "40", "--out", "sheet.csv")
    assert "causes" in pd.read_csv(tmp_path / "sheet.csv")
    key = pd.read_csv(tmp_path / "sheet.key.csv")
    both = key.merge(items, on=["sample_id", "system", "phrasing"])
    assert len(both) == 40
    assert (both["judge_causes"] == both["causes"].eq(1)).all()

    done("score", "cobe", "a.jsonl", "--data", "s.jsonl", "--judge", "proof", "--out", "usual")
    usual = pd.read_parquet(tmp_path / "usual" / "items.parquet")
    assert not [name for name in usual.columns if "causes" in name]
    # What counts a response's verdicts counts one more where ``causes`` is asked.
    kept = [name for name in usual.columns if name != "correct" and not name.startswith("by_")]
    pd.testing.assert_frame_equal(usual[kept], pd.read_parquet(
        tmp_path / "run" / "items.parquet")[kept])  # fmt: skip
