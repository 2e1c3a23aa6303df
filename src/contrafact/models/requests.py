"""What the providers of models in this process share: their arguments, requests and their bodies.

A body is the one that Inspect's ``openai-api`` provider sends over HTTP, so that a model gives the
same answers in process and behind a server; ``top_k`` and ``cache_prompt``, which OpenAI's protocol
lacks and llama.cpp's takes, are added where they are set, and so is how long a list is
(`OneItemArray`).
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

__all__ = [
    "GUIDED_CHOICE",
    "MAX_TOKENS",
    "InProcessAPI",
    "OneItemArray",
    "SharedSchema",
    "closed_object",
    "guided_choice",
    "request_body",
]

GUIDED_CHOICE = "guided_choice"
"""The key of ``GenerateConfig.extra_body`` that holds the only replies allowed, a list of strings;
vLLM's name for it. Models in this process hold to it."""

MAX_TOKENS = 2048
"""Where the answer of a model in this process ends if nothing else says so."""

_Engine = TypeVar("_Engine")


class InProcessAPI(ModelAPI, Generic[_Engine]):
    """A model in this process, loaded at the first call and shared; `InputError` on bad ones."""

    kind: str
    """What messages call such models."""
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
                hint=f"those they have are {', '.join(self.arguments)}",
            )
        super().__init__(self.set_up(model_name, given), config=config or GenerateConfig())

    @abstractmethod
    def set_up(self, model_name: str, given: dict[str, Any]) -> str:
        """Check and take the arguments, and return the name; `InputError` if it is of no model."""

    @abstractmethod
    def load(self) -> _Engine:
        """Return what runs the model, where no model of this process has it yet. Blocking."""

    def engine(self) -> _Engine:
        """Return what runs the model, loaded if need be; blocking; `InputError` if it cannot be."""
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
        """Answer a conversation; `InputError` on what is not served, or a model not loaded."""
        self.check_request(input, tools, config)
        return await self.answer(input, config)

    @abstractmethod
    async def answer(
        self, input: list[ChatMessage], config: GenerateConfig
    ) -> tuple[ModelOutput, ModelCall]:
        """Answer a conversation of texts."""

    def max_tokens(self) -> int:
        """Return where an answer ends if nothing else says so."""
        return MAX_TOKENS

    def at_once(self) -> int:
        """Return how many samples of a run go together: few, so that the first are soon kept."""
        return 16

    def close(self) -> None:
        """Let go of what runs the model. It ends when no model of this process needs it."""
        with self._lock:
            self._engine = None

    def too_long(self, error: str, call: dict[str, Any]) -> tuple[ModelOutput, ModelCall]:
        """Return the output for a prompt that is longer than the context."""
        output = ModelOutput.from_content(
            self.model_name, error, stop_reason="model_length", error=error
        )
        return output, ModelCall.create(call, {"error": error})

    def check_request(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolInfo], config: GenerateConfig
    ) -> None:
        """Refuse what is not served, such as tools and pictures, by `InputError`."""
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
                    problem = f"{self.kind} models take text only, and a message holds {part.type}"
                    raise InputError(problem, hint=other)
        if config.prompt_logprobs is not None:
            raise InputError(f"{self.kind} models give no log-probabilities of the prompt")
        if (config.num_choices or 1) > 1:
            raise InputError(f"{self.kind} models give one answer to a call")


def guided_choice(config: GenerateConfig) -> tuple[str, ...]:
    """Return the only replies that a request allows; empty where it allows all.

    Raises:
        InputError: If they are not strings of at least a character, or a schema is asked for too.
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
    """Return the request body, with every text in it as a tokenizer can read it (`tokenizable`).

    Special-token strings such as ``<|im_end|>`` stay, and llama.cpp reads them as the tokens they
    name, here as over HTTP: who quotes text from outside in a prompt takes them out first.
    `GUIDED_CHOICE` is left out, which takes the model's tokens to say.
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
    """Return a JSON-like value with every string in it made `tokenizable`, keys included."""
    if isinstance(value, str):
        return tokenizable(value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    return value


class SharedSchema(ResponseSchema):
    """A reply's schema that all calls share: Inspect, which copies settings, copies it not."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self


def closed_object(properties: dict[str, JSONSchema]) -> JSONSchema:
    """Return the schema of an object that has all of these properties, and no other."""
    return JSONSchema(
        type="object",
        properties=properties,
        required=list(properties),
        additionalProperties=False,
    )


class OneItemArray(JSONSchema):
    """The schema of a list of just one item, for which Inspect's schemas have no word.

    Models that are run here are held to it; services are sent the list without it, which is all
    that several of them take.
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
