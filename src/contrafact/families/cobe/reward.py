"""CoBe as a reward function for ``trl``'s trainers: what is proven of a response, as in a run.

``trl``'s trainers call a reward function with prompts, completions and, by name, every further
column of the dataset, and expect one number per completion. A column ``story`` tells the story;
`reward_rows` makes a dataset's rows.

    from datasets import Dataset
    from trl import GRPOTrainer

    rows = reward_rows(load_stories("stories.json"))
    GRPOTrainer(model="…", reward_funcs=edit_reward(), train_dataset=Dataset.from_list(rows), …)
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from contrafact.errors import InputError
from contrafact.families.cobe.data import queries_of, read_story, story_object
from contrafact.families.cobe.methods.few_shot import Prompted
from contrafact.families.cobe.phrasing import request_of, usual_framing
from contrafact.families.cobe.records import Story
from contrafact.families.cobe.stories import Form, reward_of, verdicts
from contrafact.prompts import open_pack

__all__ = ["edit_reward", "reward_rows"]


def edit_reward(form: Form = "conjunction") -> Callable[..., list[float]]:
    """Return a reward function for ``trl``'s trainers, which asks no model.

    A response is judged in the same way under every framing; `reward_rows` puts requests in
    ``stated:1`` by default where stories tell rules, as drawn stories do.

    Args:
        form: ``conjunction``: 1.0 where all criteria are proven to pass, else 0.0, as the paper
            scores; ``share``: the share of all criteria asked that are, a denser signal.

    Returns:
        ``reward(prompts, completions, story, **columns) -> list[float]``. Completions are texts, or
        conversations whose last message is judged, read as a run reads replies: one without an
        answer or an end gets 0.0. What `proof` leaves undecided has not passed.

    Raises:
        InputError: There is no such form; when it is called, a story has no proof.
    """
    if form not in get_args(Form):
        raise InputError(f"form is {form!r}", hint=f"use {' or '.join(get_args(Form))}")

    def cobe_reward(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float]:
        stories = columns.get("story")
        if stories is None or not len(prompts) == len(completions) == len(stories):
            raise InputError(
                "the reward needs a story for every completion",
                hint="train on rows that contrafact.families.cobe.reward.reward_rows makes",
            )
        answered = zip(map(_story, stories), map(_text, completions), strict=True)
        return [reward_of(verdicts(story, text), form) for story, text in answered]

    return cobe_reward


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
    row = json.loads(value) if isinstance(value, str) else value
    story = row if isinstance(row, Story) else read_story(row)
    if not story.proof:
        raise InputError(
            f"the story {story.id} has no proof", hint="train on stories of `contrafact cobe synth`"
        )
    return story


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
