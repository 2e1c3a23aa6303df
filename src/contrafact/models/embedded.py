"""The Inspect model provider ``embedded``: a GGUF model run by llama.cpp in this process.

Names, arguments (``-M``: the fields of ``ServerSettings``) and what is served are in
docs/models.md. The model is loaded at the first call, once per file and settings; files and
packages are checked when it is named. A call that was handed to llama.cpp is waited for, also when
it is cancelled; calls that wait for their turn are not.

A choice of replies is written in the tokens that the model itself splits each into: under a grammar
of characters a greedy model would take whatever short token begins a reply.
"""

import functools
from dataclasses import fields
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelCall,
    ModelOutput,
    model_output_from_openai,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from contrafact.models.gguf import full_path, gguf_paths, is_pathlike, shipped_adapter
from contrafact.models.requests import InProcessAPI, guided_choice, request_body
from contrafact.models.server import (
    EmbeddedServer,
    PromptTooLong,
    ServerSettings,
    check_runtime,
    shared_server,
)

__all__ = ["EmbeddedAPI"]

# How many calls run at once, per event loop and server; the others wait where they can be
# cancelled, and in no thread.
_limiters: RunVar[dict[ServerSettings, anyio.CapacityLimiter]] = RunVar("contrafact_embedded")


class EmbeddedAPI(InProcessAPI[EmbeddedServer]):
    """A GGUF model in this process, as Inspect calls models; `InputError` if it cannot be used."""

    kind = "embedded"
    arguments = tuple(
        field.name for field in fields(ServerSettings) if field.name not in ("path", "adapter")
    )

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        **model_args: Any,
    ) -> None:
        path, adapter = gguf_paths(model_name)
        by_path = is_pathlike(model_name) or (adapter and not shipped_adapter(model_name))
        name = full_path(model_name) if by_path else model_name
        super().__init__(name, base_url, config, model_args)
        check_runtime()
        self.settings = ServerSettings(path=path, adapter=adapter, **model_args)

    def load(self) -> EmbeddedServer:
        """Return the process's server for these settings."""
        return shared_server(self.settings)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput | tuple[ModelOutput | Exception, ModelCall]:
        """Answer a conversation; `InputError` on what is not served, `RuntimeError` on failure."""
        self.check_request(input, tools, config)
        choice = guided_choice(config)
        body = await request_body(self.model_name, input, config)
        limiter = _limiter(self.settings)
        server = await anyio.to_thread.run_sync(self.engine)
        if choice:
            body["grammar"] = await anyio.to_thread.run_sync(_grammar, server, choice)
        responses = []
        try:
            for request in _one_choice_each(body, config.num_choices or 1):
                call = functools.partial(server.chat, request)
                responses.append(await anyio.to_thread.run_sync(call, limiter=limiter))
        except PromptTooLong as error:
            return self.too_long(str(error), body)
        response = _merged(responses) | {"model": self.model_name}
        return await model_output_from_openai(response), ModelCall.create(body, response)

    def max_connections(self) -> int:
        """Return how many calls are worked on at once."""
        return self.settings.slots

    def connection_key(self) -> str:
        """Return the file: what calls share their connections by."""
        return str(self.settings.adapter or self.settings.path)


def _limiter(settings: ServerSettings) -> anyio.CapacityLimiter:
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {}
        _limiters.set(limiters)
    return limiters.setdefault(settings, anyio.CapacityLimiter(settings.slots))


def _grammar(server: EmbeddedServer, choice: tuple[str, ...]) -> str:
    """Return the grammar, in llama.cpp's notation, that allows these replies in their tokens."""
    ways = [" ".join(f"<[{token}]>" for token in server.tokens(reply)) for reply in choice]
    return "root ::= " + " | ".join(dict.fromkeys(ways))


def _one_choice_each(body: dict[str, Any], choices: int) -> list[dict[str, Any]]:
    """Return a request per choice, seeds counted up from the first as llama.cpp itself does."""
    if choices == 1 or body.get("seed") is None:
        return [body] * choices
    return [body | {"seed": body["seed"] + index} for index in range(choices)]


def _merged(responses: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one response with the choices of all; the prompt counts once, its answers all."""
    first = responses[0]
    if len(responses) == 1:
        return first
    written = sum(response["usage"]["completion_tokens"] for response in responses)
    usage = first["usage"] | {
        "completion_tokens": written,
        "total_tokens": first["usage"]["prompt_tokens"] + written,
    }
    choices = [
        response["choices"][0] | {"index": index} for index, response in enumerate(responses)
    ]
    return first | {"choices": choices, "usage": usage}
