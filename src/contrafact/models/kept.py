"""Answers that are kept as they arrive, so that killed work repeats only its unanswered calls.

`KeptModel` keeps each of its answers; `kept_piece` keeps the result of work that calls no
`KeptModel`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from inspect_ai.model import CachePolicy, ChatMessage, GenerateConfig, Model, ModelOutput

from contrafact.files.journal import hash_of
from contrafact.models.calls import (
    Calls,
    asked_key,
    current_calls,
    decisive,
    keep_answer,
    question_key,
)

__all__ = ["KeptModel", "kept_piece"]


async def kept_piece(asked: object, work: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of work without a `KeptModel`, from the current journal if it is there.

    ``asked`` holds everything on which the result depends.
    """
    calls, key = current_calls.get(), hash_of(asked)
    if calls is None or calls.journal is None:
        return await work()
    if key not in calls.journal.known:
        calls.journal.keep(key, await work())
    return calls.journal.known[key]


class KeptModel(Model):
    """A model that answers from the journal of the current work (`counted_calls`) if possible."""

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
        """Return the model's answer, from the journal if it is there."""
        calls = current_calls.get() or Calls()
        key = question_key(self._named, input, self._settings | decisive(config))
        if calls.journal is not None and key in calls.journal.known:
            calls.again += 1
            return ModelOutput.model_validate_json(calls.journal.known[key])
        # If the same question is already being answered, wait for that answer.
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
        asked_key.set(key)  # set for this task alone
        output = await self.ask(calls, input, config)
        keep_answer(output)
        return output

    async def ask(
        self, calls: Calls, input: str | list[ChatMessage], config: GenerateConfig
    ) -> ModelOutput:
        """Call the model and count its answer."""
        output = await super().generate(input, config=config)
        calls.count(self._named, output)
        return output
