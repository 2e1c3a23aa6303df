"""CoBe as a reward function for ``trl``'s trainers, with the same criteria and judges as a run.

``trl``'s trainers call a reward function with prompts, completions and, by name, every further
column of the dataset, and expect one number per completion, or None where it has none. A column
``story`` tells the story; `reward_rows` makes a dataset's rows.

    from datasets import Dataset
    from trl import GRPOTrainer

    rows = reward_rows(load_stories("stories.json"))
    reward = edit_reward("openai/…")
    GRPOTrainer(model="…", reward_funcs=reward, train_dataset=Dataset.from_list(rows), …)
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, get_args

from inspect_ai.model import Model, get_model

from contrafact.errors import InputError
from contrafact.families.cobe.data import queries_of, read_story, story_object
from contrafact.families.cobe.judging import JudgedEdit, Judging
from contrafact.families.cobe.methods.few_shot import Prompted
from contrafact.families.cobe.phrasing import request_of, usual_framing
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.stories import Form, reward_of
from contrafact.family.settings import judge_names, with_reader
from contrafact.judges.replies import answer_text
from contrafact.judges.verifier import UNDECIDED
from contrafact.prompts import PromptPack, open_pack

__all__ = ["edit_reward", "reward_rows"]

_RewardFunction = Callable[..., list[float | None]]


def edit_reward(
    judges: str | Model | Sequence[str | Model],
    *,
    form: Form = "conjunction",
    context: bool = False,
    reader: str | None = None,
    pack: PromptPack | None = None,
) -> _RewardFunction:
    """Return a reward function for ``trl``'s trainers.

    A response is judged in the same way under every framing; `reward_rows` puts requests in
    ``stated:1`` by default where stories tell rules, as drawn stories do.

    Args:
        judges: One judge or a panel: Inspect's names, models, or the verifier ``proof``, which
            needs stories with proofs and asks no model.
        form: ``conjunction``: 1.0 where all criteria pass, else 0.0, as the paper scores;
            ``share``: the share that pass of all criteria asked, a denser signal.
        context: Whether the judge sees scenario and query as well.
        reader: The model that reads for ``proof`` what its grammar cannot; what then stays open
            gets None.

    Returns:
        ``reward(prompts, completions, story, **columns) -> list[float | None]``. Completions are
        texts, or conversations whose last message is judged, read as a run reads replies: one
        without an answer or an end gets 0.0. What a verifier leaves undecided has not passed. Where
        a judge's reply is invalid and no criterion fails, the conjunction gets None, which ``trl``
        leaves out. A judge's failed call raises an error; it gives no reward of zero.

    Raises:
        InputError: There is no such form, or a template of the pack is not in order.
    """
    if form not in get_args(Form):
        raise InputError(f"form is {form!r}", hint=f"use {' or '.join(get_args(Form))}")
    named = [judges] if isinstance(judges, str | Model) else list(judges)
    models = [judge for judge in named if isinstance(judge, Model)]
    names = with_reader(judge_names([judge for judge in named if isinstance(judge, str)]), reader)
    judging = Judging(pack or open_pack(), context)

    def cobe_reward(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        stories = columns.get("story")
        if stories is None or not len(prompts) == len(completions) == len(stories):
            raise InputError(
                "the reward needs a story for every completion",
                hint="train on rows that contrafact.families.cobe.reward.reward_rows makes",
            )
        phrasings = columns.get("query") or [""] * len(prompts)
        texts = [_text(completion) for completion in completions]
        panel = [*map(get_model, names), *models]

        async def reward(text: str, story: Any, query: str) -> float | None:
            read = answer_text(text)
            if read.invalid:
                return 0.0
            judged = await judging.judge(panel, _story(story), read.text, query=query)
            return _reward_of(judged, form, read=reader is not None)

        return _all_of([reward(*one) for one in zip(texts, stories, phrasings, strict=True)])

    return cobe_reward


def _reward_of(judged: JudgedEdit, form: Form, *, read: bool) -> float | None:
    """Return the reward of a response.

    It is None for a conjunction that an invalid reply leaves open, and for any reward that a
    verifier leaves open although the response was ``read`` for it.
    """
    if read and judged.passed is None:
        return None
    open_verdicts = (verdict for verdict in judged.panel.values() if verdict.passed is None)
    reasons = [verdict.invalid or "" for verdict in open_verdicts]
    unread = not all(reason.startswith(UNDECIDED) for reason in reasons)
    if form == "conjunction" and judged.passed is None and unread:
        return None
    return reward_of({name: verdict.passed for name, verdict in judged.panel.items()}, form)


def reward_rows(stories: Sequence[Story], framing: str | None = None) -> list[dict[str, str]]:
    """Return a dataset's rows, three for every story.

    Each has ``prompt`` (of the method plain), ``query`` (without the framing) and ``story`` (JSON,
    the paper's schema).

    Args:
        stories: The stories.
        framing: How the request is put, ``plain`` or ``stated:1`` to ``stated:3``; by default, as
            in a run, ``stated:1`` for drawn stories (those that tell rules), else ``plain``.

    Raises:
        InputError: There is no such framing.
    """
    pack = open_pack()
    plain, request = Prompted("plain", pack), request_of(pack, framing or usual_framing(stories))
    return [
        {
            "prompt": plain.prompt(replace(question, framed=request(question.query))),
            "query": question.query,
            "story": json.dumps(story_object(question.story), ensure_ascii=False),
        }
        for question in queries_of(stories)
    ]


def _story(value: Any) -> Story:
    if isinstance(value, Story):
        return value
    row = json.loads(value) if isinstance(value, str) else value
    return read_story(row)


def _text(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        content = completion[-1].get("content")
        if isinstance(content, str):
            return content
    raise InputError(
        "a completion is neither text nor a conversation", hint="give texts or lists of messages"
    )


def _all_of(rewards: Sequence[Coroutine[Any, Any, float | None]]) -> list[float | None]:
    """Run a coroutine to its end, even if an event loop is already running in this thread."""

    async def together() -> list[float | None]:
        return await asyncio.gather(*rewards)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(together())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, together()).result()
