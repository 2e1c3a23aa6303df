"""Answers that are kept as they come: work that is killed and repeated asks only what is open.

There are two sizes of what is kept. A piece of work that is one call, or whose parts cost nothing,
is kept whole under its name (`work_open`); where a piece takes several calls, each answer is kept
besides, by its model (`KeptModel`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from inspect_ai.model import CachePolicy, ChatMessage, GenerateConfig, Model, ModelOutput

from contrafact.console import Progress
from contrafact.files.journal import Journal, hash_of
from contrafact.models.asking import failure_cause
from contrafact.models.calls import (
    Calls,
    asked_for,
    asked_key,
    current_calls,
    decisive,
    keep_answer,
    question_key,
)
from contrafact.models.estimate import ask_if_many
from contrafact.models.prices import is_paid

__all__ = ["KeptModel", "kept_piece", "work_open"]

_T = TypeVar("_T")


def work_open(
    items: Mapping[str, _T],
    work: Callable[[_T], Awaitable[Any]],
    journal: Journal,
    *,
    at_once: int,
    noun: str,
    model: str | None = None,
) -> dict[str, str]:
    """Work on the items that the journal has no piece of, and keep the pieces as they come.

    Args:
        items: By the key of the piece that is made of each.
        noun: What progress calls them.
        model: Who is called once for each piece; many paid calls of it are confirmed first.

    Returns:
        Why work failed, by its key, where it did; a later start tries again.
    """

    async def piece(key: str) -> Any:
        asked_for.set(key)
        return await work(items[key])

    left = [key for key in items if key not in journal.known]
    if model is not None and is_paid(model):
        ask_if_many(len(left))
    with Progress(noun, len(items), len(items) - len(left)) as steps:
        filled = journal.fill(left, piece, at_once=at_once, each=steps.one)
        failures = asyncio.run(filled)
    return {key: failure_cause(error) for key, error in failures.items()}


async def kept_piece(asked: object, work: Callable[[], Awaitable[Any]]) -> Any:
    """Return what work makes, which asks no `KeptModel`: from the current journal, if it is there.

    ``asked`` is what the piece depends on.
    """
    calls, key = current_calls.get(), hash_of(asked)
    if calls is None or calls.journal is None:
        return await work()
    if key not in calls.journal.known:
        calls.journal.keep(key, await work())
    return calls.journal.known[key]


class KeptModel(Model):
    """A model that answers from the journal of the current work (`counted_calls`), if it can."""

    def __init__(self, model: Model) -> None:
        super().__init__(model.api, model.config, model.model_args)
        self._named, self._settings = str(model), decisive(model.config)

    async def generate(
        self,
        input: str | list[ChatMessage],
        tools: Any = (),
        tool_choice: Any = None,
        config: GenerateConfig = GenerateConfig(),
        cache: bool | CachePolicy | Any = False,
        on_stream: Any = None,
    ) -> ModelOutput:
        """Return the model's answer, from the journal where it is there."""
        calls = current_calls.get() or Calls()
        key = question_key(self._named, input, self._settings | decisive(config))
        if calls.journal is not None and key in calls.journal.known:
            calls.again += 1
            return ModelOutput.model_validate_json(calls.journal.known[key])
        # One question at a time: who asks the same meanwhile waits for its answer.
        if (asked := calls.answering.get(key)) is not None:
            return await asyncio.shield(asked)
        answer = asyncio.ensure_future(self._kept(calls, key, input, config))
        calls.answering[key] = answer
        try:
            return await answer
        finally:
            del calls.answering[key]

    async def _kept(
        self, calls: Calls, key: str, input: str | list[ChatMessage], config: GenerateConfig
    ) -> ModelOutput:
        asked_key.set(key)  # of this task alone
        output = await self.ask(calls, input, config)
        keep_answer(output)
        return output

    async def ask(
        self, calls: Calls, input: str | list[ChatMessage], config: GenerateConfig
    ) -> ModelOutput:
        """Return what the model says, and count it."""
        output = await super().generate(input, config=config)
        calls.count(self._named, output)
        return output
