"""The Inspect provider of families' verifiers: ``verifier/NAME``, ``verifier/NAME:READER``."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelAPI, ModelOutput, get_model
from inspect_ai.tool import ToolChoice, ToolInfo

from contrafact.errors import InputError
from contrafact.family import families, family_named
from contrafact.judges.judge import JUDGE_CONFIG
from contrafact.judges.verifier import (
    METADATA,
    READER,
    VERIFIER,
    Decision,
    Subject,
    reader_of,
    reading_cache,
)
from contrafact.models.asking import answer, no_answer
from contrafact.models.estimate import CallEstimate, judge_estimates
from contrafact.models.opening import IN_PROCESS, open_model

__all__ = ["VerifierAPI", "reader_estimates"]


_KEPT = 256
"""How many texts' replies of a reader are kept, as each criterion of a text asks for them."""


def reader_estimates(
    judges: Sequence[str], subjects: Sequence[Subject], times: float, *, tokens: bool
) -> list[CallEstimate]:
    """Return one estimate for the reader of every verifier that has one.

    Args:
        subjects: Some texts, as the verifiers judge them; each is read once.
        times: How often they are read in the whole run.
        tokens: Whether to count tokens as well as calls.
    """
    rows: list[CallEstimate] = []
    for judge in judges:
        if reader := reader_of(judge):
            name = judge.removeprefix(VERIFIER).partition(":")[0]
            asked = [family_named(s["family"]).readers[name].load()(s) for s in subjects]
            questions = [question for question in asked if question is not None]
            length = max((question.tokens for question in questions), default=0) // 2
            prompts = [question.prompt for question in questions]
            rows += judge_estimates(
                [reader], prompts, times, reply_tokens=length, tokens=tokens, role=READER
            )
    return rows


class VerifierAPI(ModelAPI):
    """Verifiers as an Inspect provider; nothing is sent anywhere but to a reader, if one is named.

    A reader takes the provider's arguments and its configuration.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        names = sorted({name for family in families().values() for name in family.verifiers})
        self._name = model_name.partition(":")[0]
        if self._name not in names:
            raise InputError(f"there is no verifier '{self._name}'", hint=f"use {', '.join(names)}")
        self._reader: Model | None = None
        if reader := reader_of(f"{VERIFIER}{model_name}"):
            opened = open_model(reader, config=config, **model_args)
            self._reader = get_model(role=READER, default=opened)
        elif model_args:
            raise InputError(
                f"a verifier takes no argument '{next(iter(model_args))}'",
                hint="leave --judge-arg out",
            )
        self._readings: OrderedDict[str, asyncio.Future[list[str]]] = OrderedDict()

    def decide(self, criterion: str, subject: Subject) -> Decision:
        verifier = family_named(subject["family"]).verifiers[self._name].load()
        return verifier(criterion, subject)

    async def _read(self, subject: Subject) -> Subject:
        """Return a subject with the replies of the reader, which is asked once for all criteria."""
        key = json.dumps(subject, sort_keys=True, default=str)
        reading = self._readings.get(key)
        if reading is None or reading.cancelled() or (reading.done() and reading.exception()):
            reading = asyncio.ensure_future(self._replies(subject))
            self._readings[key] = reading
            if reading_cache.get():  # it has them from now on, and the log of whoever asks again
                reading.add_done_callback(lambda _: self._readings.pop(key, None))
            if len(self._readings) > _KEPT:
                self._readings.popitem(last=False)
        return {**subject, "readings": await asyncio.shield(reading)}

    async def _replies(self, subject: Subject) -> list[str]:
        ask = family_named(subject["family"]).readers[self._name].load()
        replies: list[str] = []
        while self._reader and (question := ask({**subject, "readings": replies})) is not None:
            config = JUDGE_CONFIG.model_copy(update={"response_schema": question.schema})
            if str(self._reader).startswith(IN_PROCESS):  # it does not reason
                config = config.model_copy(update={"max_tokens": question.tokens})
            cache = reading_cache.get()
            output = await answer(self._reader, question.prompt, config, cache)
            replies.append(output.completion if no_answer(output) is None else "")
        return replies

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the decision on the last message's subject, in the form read by `decision_by`."""
        asked = (input[-1].metadata or {}).get(METADATA)
        if not asked:
            raise InputError(
                "a verifier judges data that it is given, not the text of a prompt",
                hint="use a verifier as a judge only",
            )
        subject = asked["subject"]
        if self._reader is not None:
            subject = await self._read(subject)
        decision = self.decide(asked["criterion"], subject)
        verdict = {name: value for name, value in asdict(decision).items() if value is not None}
        reply = json.dumps({"passed": decision.passed, **verdict}, ensure_ascii=False)
        return ModelOutput.from_content(self.model_name, reply)
