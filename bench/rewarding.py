"""Proven rewards for a trainer: an answer scored by its task against the same through Inspect.

A trainer that calls `Stories.score_answer` opens no judge and no event loop; one that takes the
reward as trl's does (`edit_reward("proof")`) asks the judge as a run asks it.
"""

from functools import partial
from itertools import islice
from pathlib import Path

from bench import BenchResult, Timing
from bench._clock import added, timed
from contrafact.families.cobe.data import read_story
from contrafact.families.cobe.reward import edit_reward
from contrafact.families.cobe.stories import Stories

TARGET = 2.0
_SLICES = 4
_SEED = 5
_GROUP = 8


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time both ways in turns, on groups of answers to fresh tasks, as GRPO has them."""
    import json

    number = 40 if quick else 400
    stories = Stories(_SEED)
    _, drawn = timed("drawn in one process", number, lambda: [stories[at] for at in range(number)])
    ahead = Stories(_SEED + 1).ahead(2)
    next(ahead)
    _, waited = timed("drawn ahead by two", number, lambda: list(islice(ahead, number)))

    asked = []
    for at in range(number):
        entry = stories[at]
        row = json.loads(entry["metadata"]["story"])
        answers = [one["text"] for one in (*row["Right answers"], *row["Wrong answers"])]
        asked += [(entry, read_story(row), text) for text in answers[:_GROUP]]
    reward = edit_reward("proof")

    def by_task(part: list) -> list[float]:
        return [stories.score_answer(text, entry) for entry, _, text in part]

    def by_judge(part: list) -> list[float | None]:
        texts = [text for *_, text in part]
        return reward([""] * len(part), texts, story=[story for _, story, _ in part])

    ours: list[Timing] = []
    judged: list[Timing] = []
    same = 0
    each = len(asked) // _SLICES
    for start in range(0, each * _SLICES, each):
        part = asked[start : start + each]
        scores, timing = timed("score_answer", each, partial(by_task, part))
        ours.append(timing)
        rewards, timing = timed("edit_reward('proof')", each, partial(by_judge, part))
        judged.append(timing)
        same += sum(one == (other or 0.0) for one, other in zip(scores, rewards, strict=True))
    own = added(ours)
    return BenchResult(
        name="rewarding",
        unit="answers",
        total_items=own.items,
        ours=own,
        baseline=added(judged),
        target=TARGET,
        data=f"drawn stories, {_GROUP} right and wrong answers each",
        notes=[
            f"{same} of {own.items} rewards are the same",
            f"an answer takes {1000 / own.per_second:.2f} ms",
            f"a task is drawn in {1000 / drawn.per_second:.1f} ms, and waited for "
            f"{1000 / waited.per_second:.1f} ms where two processes draw ahead",
        ],
    )
