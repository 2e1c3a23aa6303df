"""The Inspect model provider ``embedded``: a GGUF model run by llama.cpp in this process.

Names, arguments (``-M``: the fields of ``ServerSettings``) and what is served are in
docs/models.md. The model is loaded at the first call, once per file and settings; files and
packages are checked when it is opened. A call that llama.cpp has begun is waited for even if it is
cancelled; a call that still waits for its turn is dropped.

If only certain replies are allowed, the grammar lists each in the tokens into which the model
itself splits it: under a grammar of characters a greedy model would take any short token that
begins a reply.
"""

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

# How many calls run at once, per event loop and server; the others wait outside of threads,
# where they can be cancelled.
_limiters: RunVar[dict[ServerSettings, anyio.CapacityLimiter]] = RunVar("contrafact_embedded")


class EmbeddedAPI(InProcessAPI[EmbeddedServer]):
    """Inspect's API for a GGUF model in this process; `InputError` if it cannot be used."""

    kind = "embedded"
    arguments = tuple(
        field.name for field in fields(ServerSettings) if field.name not in ("path", "adapter")
    )

    def set_up(self, model_name: str, given: dict[str, Any]) -> str:
        """See `InProcessAPI`."""
        path, adapter = gguf_paths(model_name)
        check_runtime()
        self.settings = ServerSettings(path=path, adapter=adapter, **given)
        by_path = is_pathlike(model_name) or (adapter and not shipped_adapter(model_name))
        return full_path(model_name) if by_path else model_name

    def load(self) -> EmbeddedServer:
        """Return the process's server for these settings."""
        return shared_server(self.settings)

    async def answer(
        self, input: list[ChatMessage], config: GenerateConfig
    ) -> tuple[ModelOutput, ModelCall]:
        """See `InProcessAPI`; `RuntimeError` if llama.cpp fails."""
        choice = guided_choice(config)
        body = await request_body(self.model_name, input, config)
        limiter = _limiter(self.settings)
        server = await anyio.to_thread.run_sync(self.engine)
        if choice:
            body["grammar"] = await anyio.to_thread.run_sync(_grammar, server, choice)
        try:
            response = await anyio.to_thread.run_sync(server.chat, body, limiter=limiter)
        except PromptTooLong as error:
            return self.too_long(str(error), body)
        response |= {"model": self.model_name}
        return await model_output_from_openai(response), ModelCall.create(body, response)

    def max_connections(self) -> int:
        """Return how many calls run at once."""
        return self.settings.slots

    def connection_key(self) -> str:
        """Return the path of the model file: calls to the same file share connections."""
        return str(self.settings.adapter or self.settings.path)


def _limiter(settings: ServerSettings) -> anyio.CapacityLimiter:
    try:
        limiters = _limiters.get()
    except LookupError:
        limiters = {}
        _limiters.set(limiters)
    return limiters.setdefault(settings, anyio.CapacityLimiter(settings.slots))


def _grammar(server: EmbeddedServer, choice: tuple[str, ...]) -> str:
    """Return the grammar, in llama.cpp's notation, that allows only these replies."""
    ways = [" ".join(f"<[{token}]>" for token in server.tokens(reply)) for reply in choice]
    return "root ::= " + " | ".join(dict.fromkeys(ways))
