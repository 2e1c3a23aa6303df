"""How methods and solvers of every family call a language model, and how they plan these calls.

Also: why a call failed, in words that may be shown to the user.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
)

from contrafact.errors import WriteError
from contrafact.models.calls import (
    Tries,
    asked_for,
    current_calls,
    current_tries,
    decisive,
    is_empty,
    question_key,
)
from contrafact.models.service import NoAnswer, is_service, lacking, without
from contrafact.records import CALLED, CAUSES, CUT_OFF, FILTERED, REASONED, REFUSED, TOO_LONG
from contrafact.redaction import redacted
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalSample

__all__ = [
    "CAUSES",
    "CUT_OFF",
    "UNREADABLE",
    "Ask",
    "PlannedCall",
    "Unanswered",
    "answer",
    "answered_calls",
    "cache_policy",
    "cause_of",
    "cut_off",
    "failure_cause",
    "kept_reply",
    "no_answer",
]

UNREADABLE = "unreadable"
"""The cause of every other invalid result."""


class Unanswered(Exception):
    """The model gave no usable answer, for a reason that repeating the call would not change."""


@dataclass(frozen=True)
class PlannedCall:
    """One planned call of the model under test, from which the cost is estimated."""

    prompt: str
    reply_tokens: int


@dataclass(frozen=True)
class Ask:
    """The function through which a method calls a language model.

    Attributes:
        structured: Whether to ask the provider for schema-constrained JSON.
        config: Settings that are added to the model's own.
        exchanges: A list to which every prompt and reply is appended, so that texts copied from
            them can be detected.
    """

    model: Model
    structured: bool = True
    cache: bool | CachePolicy = False
    config: GenerateConfig = field(default_factory=GenerateConfig)
    exchanges: list[tuple[str, str]] | None = None

    def sampled(self, seed: int, temperature: float | None = None) -> "Ask":
        """Return a copy with another seed, to ask for one of several answers to the same prompt."""
        given = GenerateConfig(seed=seed)
        if temperature is not None:
            given = GenerateConfig(seed=seed, temperature=temperature)
        return replace(self, config=self.config.merge(given))

    async def __call__(
        self, messages: str | list[ChatMessage], schema: ResponseSchema | None = None
    ) -> ModelOutput:
        """Return the model's output; raise `Unanswered` if the prompt is too long or is refused."""
        config = self.config
        if schema is not None and self.structured:
            config = config.model_copy(update={"response_schema": schema})
        output = await answer(self.model, messages, config, self.cache)
        if self.exchanges is not None:
            prompt = messages
            if not isinstance(prompt, str):
                prompt = "\n".join(one.text for one in prompt if one.role != "assistant")
            self.exchanges.append((prompt, output.completion))
        if (reason := no_answer(output, cut=False)) is not None:
            raise Unanswered(reason)
        return output


async def answer(
    model: Model,
    messages: str | list[ChatMessage],
    config: GenerateConfig,
    cache: bool | CachePolicy = False,
) -> ModelOutput:
    """Return a model's output; ask a service once more, past the cache, if its output is empty.

    A failed call raises the error of its last try, in the service's words, and the same work does
    not repeat it for the same purpose (`asked_for`). Two empty replies count as a failure, too.
    """
    calls = current_calls.get() if is_service(model) else None
    settings = {**decisive(config), "for": asked_for.get()}
    key = "" if calls is None else question_key(str(model), messages, settings)
    if calls is not None and key in calls.failed:
        raise calls.failed[key]
    tries = Tries()
    token = current_tries.set(tries)
    try:
        output = await _generated(model, messages, config, cache)
        if is_empty(output) and is_service(model):
            limit = model.config.max_retries if config.max_retries is None else config.max_retries
            left = None if limit is None else limit - tries.made
            if left is not None and left < 0:
                raise NoAnswer("the service replied without a word")
            again = config.model_copy(update={"max_retries": left})
            output = await _generated(model, messages, again, False)
            if is_empty(output):
                raise NoAnswer("the service replied without a word, twice")
        return output
    except Exception as error:
        last = getattr(error, "last_attempt", None)  # of tenacity's RetryError
        cause = (None if last is None else last.exception()) or error
        if calls is not None and isinstance(cause, Exception) and _is_of_a_service(cause):
            calls.failed[key] = cause
        if cause is error:
            raise
        raise cause from cause.__cause__
    finally:
        current_tries.reset(token)


async def _generated(
    model: Model, messages: str | list[ChatMessage], config: GenerateConfig, cache: Any
) -> ModelOutput:
    """Return a model's output; repeat a refused request without the setting it was refused for.

    Only settings that a request can do without are left out. `contrafact.models.service` leaves
    them out of all later calls; this is for models that it does not watch, such as those of
    ``inspect eval``.
    """
    while True:
        try:
            return await model.generate(messages, config=config, cache=cache)
        except Exception as error:
            # Inspect's own message quotes the request; the service's message is in the causes.
            around = type(error).__name__ in _AROUND and error.__cause__
            name = None if is_service(model) else lacking(str(around or error), config)
            if name is None:
                raise
            config = without(config, [name])


def _is_of_a_service(error: Exception) -> bool:
    """Return whether an error comes from a service rather than from a bug in the program."""
    return type(error).__module__ != "builtins" or isinstance(error, ConnectionError | TimeoutError)


def cut_off(output: ModelOutput) -> bool:
    """Return whether the length limit ended a reply."""
    return output.stop_reason == "max_tokens"


def no_answer(output: ModelOutput, *, cut: bool = True) -> str | None:
    """Return why an output holds no answer, as its provider reports it; None if it may hold one.

    With ``cut``, an output that was cut off at the length limit holds no answer.
    """
    if cut and cut_off(output):
        return CUT_OFF
    if output.stop_reason == "model_length":
        return f"{TOO_LONG}: {output.error or output.completion}"
    choice, parts = output.choices[0], output.message.content
    if (choice.stop_details is not None and choice.stop_details.type == "refusal") or (
        not isinstance(parts, str) and any(getattr(part, "refusal", None) for part in parts)
    ):
        return REFUSED
    if output.stop_reason == "content_filter":
        return FILTERED
    if printable(output.completion).strip() or cut_off(output):
        return None
    if output.message.tool_calls:
        return CALLED
    reasons = not isinstance(parts, str) and any(part.type == "reasoning" for part in parts)
    return REASONED if reasons else None


def kept_reply(output: ModelOutput) -> str:
    """Return a reply as it is written to files: its text, or in brackets why it holds no answer."""
    reason = no_answer(output)
    return output.completion if reason is None else f"[{reason}]"


def cause_of(reason: str) -> str:
    """Return the cause of an invalid result, for tables: its reason's entry in `CAUSES`."""
    return next((cause for words, cause in CAUSES.items() if reason.startswith(words)), UNREADABLE)


def cache_policy(scope: str | None) -> bool | CachePolicy:
    """Return Inspect's cache policy that keeps answers under a name; False without a name."""
    if scope is None:
        return False
    return CachePolicy(expiry=None, per_epoch=True, scopes={"run": scope})


_AROUND = ("RetryError", "ModelGenerateError")
"""Inspect's errors that wrap a service's error, after retries or a refused request."""


def failure_cause(error: BaseException) -> str:
    """Return why a call failed, in one line, without secrets.

    After retries it is the error of the last one, with its own cause if its message is very
    short. A `WriteError` is raised again, since no call failed.
    """
    chain = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None:
        if inner in chain:
            break
        chain.append(inner)
    if (full := next((one for one in chain if isinstance(one, WriteError)), None)) is not None:
        raise full  # the result of a call could not be written
    causes = [link for link in chain if type(link).__name__ not in _AROUND] or chain
    text = _formatted(causes[0])
    if len(str(causes[0])) < 25 and len(causes) > 1 and str(causes[-1]):
        text += f" ({_formatted(causes[-1])})"
    return text[:300]


def _formatted(error: BaseException) -> str:
    text = redacted(printable(" ".join(str(error).split())))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def answered_calls(sample: "EvalSample") -> "Iterator[ModelEvent]":
    """Yield a sample's answered calls, without failed tries."""
    for event in sample.events:
        if event.event == "model" and event.error is None and not event.output.empty:
            yield event
