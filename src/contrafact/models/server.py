"""llama.cpp in this process: one server per model file and settings, shared by all who use it.

``xllamacpp.Server`` takes requests in process, but always opens an HTTP endpoint as well: here
on the loopback interface only, on a random free port, with a random key and no origin allowed to
browsers. Only requests for a text's tokens go through the port, since the binding offers no other
way.

Why results do not depend on earlier requests (a quantised key-value cache with flash
attention, one slot) is in ``docs/decisions/0002-one-slot-quantised-kv.md``.
"""

import atexit
import importlib.util
import json
import os
import secrets
import threading
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args
from weakref import WeakValueDictionary

from contrafact.errors import InputError

_MAX_DEFAULT_THREADS = 8  # with more, a small model waits for its threads longer than it gains
# How long a waiting thread spins before it sleeps, in rounds of some ten nanoseconds. With
# libgomp's default, 300,000, on cores that other programs keep busy, a thread spends its whole
# time slice waiting for a thread that has none (docs/decisions/0002).
_SPIN_ROUNDS = 1_000
_WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_PROMPT_CACHE_MIB = 2048  # memory in which llama.cpp may keep earlier prompts
_TOKENIZE_SECONDS = 60  # one word takes a millisecond, unless the machine is very busy
# Requests to the own process use no proxy, whatever the environment says.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_CLOSED = "this embedded server is closed"

KvCache = Literal["q8_0", "f16"]


class PromptTooLong(Exception):
    """A prompt, with the chat template, has more tokens than the context of a slot."""

    def __init__(self, prompt_tokens: int, context: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.context = context
        super().__init__(
            f"the prompt has {prompt_tokens} tokens, and the model's context holds {context}"
        )


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server; equal settings share one server.

    Attributes:
        path: The absolute path of the GGUF file, checked.
        context: Tokens per slot; a model trained with fewer keeps its own number.
        slots: The number of requests processed at once. One is fastest on few cores.
        threads: By default ``OMP_NUM_THREADS``, else one less than the cores this process may use,
            from 2 to 8 (1 on one core), since all threads wait for one that other programs slow.
        kv_cache: The type of the key-value cache. ``q8_0`` makes results independent of prompt
            reuse; ``f16``, for models whose head size is not a multiple of 32, does not.
        adapter: The GGUF file of a LoRA adapter. The same weights without it have another server,
            so that the two share no cached prompt.
    """

    path: Path
    context: int = 8192
    slots: int = 1
    threads: int | None = None
    kv_cache: KvCache = "q8_0"
    adapter: Path | None = None

    def __post_init__(self) -> None:
        for name in ("context", "slots", "threads"):
            value = getattr(self, name)
            if name == "threads" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(
                    f"the embedded model's {name} must be a whole number from 1, not {value!r}"
                )
        if self.kv_cache not in get_args(KvCache):
            raise InputError(
                f"the embedded model's kv_cache must be one of {', '.join(get_args(KvCache))}, "
                f"not {self.kv_cache!r}"
            )


def check_runtime() -> None:
    """Raise an `InputError` unless llama.cpp is installed; it is not loaded."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise InputError(
            "llama.cpp (xllamacpp), which runs embedded models, is not installed",
            hint="run: pip install 'contrafact[embedded]'",
        )


@cache
def load_runtime() -> Any:
    """Return the module of llama.cpp, whose waiting threads are set to spin only briefly.

    The OpenMP library reads this setting when it is loaded, which PyTorch may already have done.
    A value set in the environment is kept.

    Raises:
        InputError: If llama.cpp is not installed.
    """
    check_runtime()
    unset = not any(name in os.environ for name in _WAITING)
    if unset:
        os.environ[_WAITING[0]] = str(_SPIN_ROUNDS)
    try:
        import xllamacpp
    finally:
        if unset:
            del os.environ[_WAITING[0]]
    return xllamacpp


class EmbeddedServer:
    """A loaded model. Calls block and are thread-safe; `InputError` if it cannot be loaded."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.api_key = secrets.token_urlsafe(24)
        self._server: Any = _open(settings, self.api_key)
        self._root: str = self._server.listening_address
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._tokens_lock = threading.Lock()
        # One token, so that llama.cpp's loop is known to run: a server that is closed before its
        # loop has begun misses the word to stop and waits for it for ever.
        self._server.handle_completions({"prompt": "a", "max_tokens": 1, "cache_prompt": False})

    @property
    def address(self) -> str:
        """The base URL of the OpenAI-compatible endpoint, for clients with the ``api_key``."""
        return f"{self._root}/v1"

    def chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a chat completion request of OpenAI's HTTP protocol, without streaming.

        Raises:
            PromptTooLong: If the prompt does not fit into the context.
            InputError: If llama.cpp refuses the request.
            RuntimeError: If the server is closed, or llama.cpp fails.
        """
        # A local name keeps the model loaded until this call ends, even if it is closed meanwhile.
        server = self._server
        if server is None:
            raise RuntimeError(_CLOSED)
        try:
            response: dict[str, Any] = server.handle_chat_completions(dict(body))
        except ValueError as error:  # how the binding reports an invalid argument
            raise InputError(f"llama.cpp refused the request: {error}") from error
        if "error" in response:
            raise _error(response["error"])
        return response

    def tokens(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text, without special tokens; `RuntimeError` if closed."""
        with self._tokens_lock:
            if text not in self._tokens:
                server = self._server
                if server is None:
                    raise RuntimeError(_CLOSED)
                request = urllib.request.Request(
                    f"{self._root}/tokenize",
                    json.dumps({"content": text, "add_special": False}).encode(),
                    {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"},
                )
                with _DIRECT.open(request, timeout=_TOKENIZE_SECONDS) as reply:
                    self._tokens[text] = tuple(json.load(reply)["tokens"])
            return self._tokens[text]

    def close(self) -> None:
        """Unload the model and close the port when all running calls have ended."""
        self._server = None

    @property
    def closed(self) -> bool:
        """Whether the server was closed."""
        return self._server is None


_lock = threading.Lock()
_servers: WeakValueDictionary[ServerSettings, EmbeddedServer] = WeakValueDictionary()


def shared_server(settings: ServerSettings) -> EmbeddedServer:
    """Return the process's server for these settings, loading it if need be. Blocking.

    It is kept as long as a model uses it.

    Raises:
        InputError: As ``EmbeddedServer`` does.
    """
    with _lock:
        server = _servers.get(settings)
        if server is None or server.closed:
            server = _servers[settings] = EmbeddedServer(settings)
        return server


@atexit.register
def _close_all() -> None:
    """Unload all models before the interpreter unloads llama.cpp."""
    for server in list(_servers.values()):
        server.close()


def _error(error: Mapping[str, Any]) -> Exception:
    """Return the exception for an error in a response body."""
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLong(int(error["n_prompt_tokens"]), int(error["n_ctx"]))
    message = str(error.get("message", error))
    if error.get("code") == 400:
        return InputError(f"llama.cpp refused the request: {message}")
    return RuntimeError(f"llama.cpp failed: {message}")


def _open(settings: ServerSettings, api_key: str) -> Any:
    llama = load_runtime()
    params = llama.CommonParams()
    params.model.path = str(settings.path)
    if settings.adapter is not None:
        adapter = llama.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = str(settings.adapter), 1.0
        params.lora_adapters = [adapter]
    params.verbosity = -1  # otherwise llama.cpp writes over progress bars on stderr
    params.n_ctx = settings.context * settings.slots
    params.n_parallel = settings.slots
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    threads = settings.threads or default_threads()
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    if not _has_gpu(llama):
        params.n_gpu_layers = 0
    if settings.kv_cache == "q8_0":
        params.cache_type_k = params.cache_type_v = llama.ggml_type.GGML_TYPE_Q8_0
        params.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.cors_origins = ""
    params.cors_credentials = False
    params.endpoint_slots = False  # it shows other users' requests
    params.ui = False
    try:
        return llama.Server(params)
    except RuntimeError:  # the error gives no reason
        hint = "check that the file is complete and of a kind that llama.cpp supports"
        if settings.kv_cache == "q8_0":
            hint += "; a model whose head size is no multiple of 32 needs -M kv_cache=f16"
        problem = "llama.cpp cannot load this model"
        raise InputError(problem, file=settings.path, hint=hint) from None


def default_threads() -> int:
    """Return how many threads compute by default; see `ServerSettings`."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    # The cores that this process may use, if the system tells; containers often allow few.
    mine = getattr(os, "sched_getaffinity", None)
    cores = len(mine(0)) if mine else os.cpu_count() or 1
    return min(cores, max(2, min(cores - 1, _MAX_DEFAULT_THREADS)))


def _has_gpu(llama: Any) -> bool:
    cpu = llama.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    return any(device["type"] != cpu for device in llama.get_device_info())
