"""Arguments and requests of the providers that run a model in this process.

A request's body is the same as Inspect's ``openai-api`` provider sends over HTTP, so that a model
gives the same answers in this process and behind a server. ``top_k``, ``cache_prompt`` and the
length of a list (`OneItemArray`), which llama.cpp accepts beyond OpenAI's protocol, are added if
they are set.
"""

import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    GenerateConfig,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ResponseSchema,
    messages_to_openai,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import JSONSchema

from contrafact.errors import InputError
from contrafact.text.delimit import tokenizable

__all__ = ["GUIDED_CHOICE", "InProcessAPI", "OneItemArray", "SharedSchema", "closed_object"]

GUIDED_CHOICE = "guided_choice"
"""The key (vLLM's) of ``GenerateConfig.extra_body`` that holds a list of the only replies allowed.
Models in this process follow it."""

MAX_TOKENS = 2048
"""The default limit on the tokens of an answer of a model in this process."""

_Engine = TypeVar("_Engine")


class InProcessAPI(ModelAPI, Generic[_Engine]):
    """A model in this process, loaded at the first call and shared; `InputError` if unusable."""

    kind: str
    """The name of such models in messages."""
    arguments: Sequence[str]
    """The names of the provider's arguments (``-M``)."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        **given: Any,
    ) -> None:
        self._engine: _Engine | None = None
        self._lock = threading.Lock()
        if base_url is not None:
            raise InputError(
                f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind} model runs in this "
                "process and has no base URL",
                hint="for a server use --model openai-api/<name>/<model>",
            )
        if unknown := sorted(set(given) - set(self.arguments)):
            raise InputError(
                f"{self.kind} models have no argument {', '.join(unknown)}",
                hint=f"their arguments are {', '.join(self.arguments)}",
            )
        super().__init__(self.set_up(model_name, given), config=config or GenerateConfig())

    @abstractmethod
    def set_up(self, model_name: str, given: dict[str, Any]) -> str:
        """Check and store the arguments; return the model's name, or raise an `InputError`."""

    @abstractmethod
    def load(self) -> _Engine:
        """Load and return the engine that runs the model. Blocking."""

    def engine(self) -> _Engine:
        """Return the model's engine, loading it if needed. Blocking; `InputError` if that fails."""
        with self._lock:
            if self._engine is None:
                self._engine = self.load()
            return self._engine

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> tuple[ModelOutput | Exception, ModelCall]:
        """Answer a conversation; `InputError` if unsupported, or the model cannot be loaded."""
        self.check_request(input, tools, config)
        return await self.answer(input, config)

    @abstractmethod
    async def answer(
        self, input: list[ChatMessage], config: GenerateConfig
    ) -> tuple[ModelOutput, ModelCall]:
        """Answer a conversation that consists of text only."""

    def max_tokens(self) -> int:
        """Return the default limit on an answer's tokens."""
        return MAX_TOKENS

    def at_once(self) -> int:
        """Return how many samples run at once: few, so that the first are finished early."""
        return 16

    def close(self) -> None:
        """Release the engine, which ends when no other model in this process uses it."""
        with self._lock:
            self._engine = None

    def too_long(self, error: str, call: dict[str, Any]) -> tuple[ModelOutput, ModelCall]:
        """Return the output that reports a prompt longer than the context."""
        output = ModelOutput.from_content(
            self.model_name, error, stop_reason="model_length", error=error
        )
        return output, ModelCall.create(call, {"error": error})

    def check_request(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo], config: GenerateConfig
    ) -> None:
        """Raise an `InputError` if a request is not supported, such as tools or pictures."""
        other = "use another --model for this task"
        if tools or any(
            isinstance(message, ChatMessageTool)
            or (isinstance(message, ChatMessageAssistant) and message.tool_calls)
            for message in messages
        ):
            raise InputError(f"{self.kind} models take no tools", hint=other)
        for message in messages:
            for part in [] if isinstance(message.content, str) else message.content:
                if part.type not in ("text", "reasoning"):
                    problem = f"{self.kind} models accept only text; a message holds {part.type}"
                    raise InputError(problem, hint=other)
        if config.prompt_logprobs is not None:
            raise InputError(f"{self.kind} models give no log-probabilities of the prompt")
        if (config.num_choices or 1) > 1:
            raise InputError(f"{self.kind} models give only one answer per call")


def guided_choice(config: GenerateConfig) -> tuple[str, ...]:
    """Return the only replies that a request allows; empty if it allows all.

    Raises:
        InputError: If one is not a non-empty string, or the request has a schema as well.
    """
    given = (config.extra_body or {}).get(GUIDED_CHOICE)
    if given is None:
        return ()
    if (
        not isinstance(given, list | tuple)
        or not given
        or not all(isinstance(reply, str) and reply for reply in given)
    ):
        raise InputError(f"{GUIDED_CHOICE} must be a list of replies, none of them empty")
    if config.response_schema is not None:
        raise InputError(f"{GUIDED_CHOICE} and a response schema exclude each other")
    return tuple(dict.fromkeys(given))


async def request_body(
    model: str, messages: Sequence[ChatMessage], config: GenerateConfig
) -> dict[str, Any]:
    """Return the request body, with every text in it made readable to a tokenizer (`tokenizable`).

    Strings of special tokens such as ``<|im_end|>`` stay, and llama.cpp reads them as these tokens,
    as it does over HTTP: callers must remove them from untrusted text in a prompt. `GUIDED_CHOICE`
    is left out; the provider handles it.
    """
    body: dict[str, Any] = {
        "messages": await messages_to_openai(list(messages)),
        "model": model,
        "max_tokens": config.max_tokens,
        "frequency_penalty": config.frequency_penalty,
        "stop": config.stop_seqs,
        "presence_penalty": config.presence_penalty,
        "logit_bias": config.logit_bias,
        "seed": config.seed,
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": config.top_k,
        "logprobs": config.logprobs,
        "top_logprobs": config.top_logprobs,
        "response_format": _response_format(config),
        "cache_prompt": config.cache_prompt if isinstance(config.cache_prompt, bool) else None,
    }
    body = {name: value for name, value in body.items() if value is not None}
    if config.logit_bias:
        body["logit_bias"] = {str(token): bias for token, bias in config.logit_bias.items()}
    extra = config.extra_body or {}
    body |= {name: value for name, value in extra.items() if name != GUIDED_CHOICE}
    cleaned: dict[str, Any] = clean_value(body)
    return cleaned


def clean_value(value: Any) -> Any:
    """Return a JSON value with all strings, keys included, made `tokenizable`."""
    if isinstance(value, str):
        return tokenizable(value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    return value


class SharedSchema(ResponseSchema):
    """A reply's schema that all calls share: it is not copied when Inspect copies settings."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self


def closed_object(properties: dict[str, JSONSchema]) -> JSONSchema:
    """Return the schema of an object that has exactly these properties."""
    return JSONSchema(
        type="object", properties=properties, required=list(properties), additionalProperties=False
    )


class OneItemArray(JSONSchema):
    """The schema of a list of exactly one item, which Inspect's schemas cannot express.

    Models in this process must follow it; services get a list without a length, since several of
    them accept nothing else.
    """

    minItems: int = 1
    maxItems: int = 1


def _response_format(config: GenerateConfig) -> dict[str, Any] | None:
    schema = config.response_schema
    if schema is None:
        return None
    return {
        "type": "json_schema",
        "json_schema": {
            "name": schema.name,
            "schema": schema.json_schema.model_dump(exclude_none=True, serialize_as_any=True),
            "description": schema.description,
            "strict": schema.strict,
        },
    }
