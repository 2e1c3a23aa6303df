"""The Inspect model provider ``whitebox``: a causal language model run by PyTorch in this process.

Names, arguments (``-M``) and what is served are in docs/models.md. Concurrent calls are answered in
batches. The model is loaded at the first call, once per process; names, files and packages are
checked when it is opened. Log-probabilities are the model's own, before temperature and other
changes.
"""

import asyncio
import hashlib
import logging
import secrets
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelCall,
    ModelOutput,
    ModelUsage,
    TopLogprob,
)

from contrafact.errors import InputError
from contrafact.models.gguf import full_path, is_pathlike
from contrafact.models.requests import MAX_TOKENS, InProcessAPI, guided_choice
from contrafact.models.server import PromptTooLong
from contrafact.models.whitebox.completion import (
    Completion,
    CompletionRequest,
    complete,
    finite_replies,
)
from contrafact.models.whitebox.gumbel import Sampling, draw
from contrafact.models.whitebox.tokens import conversation_tokens
from contrafact.models.whitebox.weights import (
    CausalModel,
    Precision,
    check_causal,
    check_precision,
    shared_causal,
)

__all__ = ["Engine", "WhiteboxAPI", "WhiteboxSettings", "shared_engine"]

_logger = logging.getLogger(__name__)
_LINGER = 0.1  # seconds
_NOT_SERVED = ("top_k", "frequency_penalty", "presence_penalty", "logit_bias")


_Waiting = tuple[CompletionRequest, "Future[Completion]"]


@dataclass(frozen=True)
class WhiteboxSettings:
    """The settings of loading and answering; models with equal settings share one `Engine`."""

    name: str
    rows: int = 16
    device: str | None = None
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise InputError(
                f"a white-box model's rows must be a whole number from 1, not {self.rows!r}"
            )
        check_causal(self.name)
        check_precision(self.precision, self.device)


class Engine:
    """A loaded model that answers the requests of all callers in batches, in one thread.

    Requests that arrive during a batch form the next one. An idle thread first waits until no
    request has arrived for `_LINGER` seconds, since requests rarely come alone.
    """

    def __init__(self, settings: WhiteboxSettings):
        self.causal = shared_causal(
            settings.name, device=settings.device, precision=settings.precision
        )
        self._rows = settings.rows
        self._waiting: list[_Waiting] = []
        self._changing = threading.Lock()
        self._thread = ThreadPoolExecutor(1, f"answering with {settings.name}")

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the answer to a request, or raise the error of its batch."""
        future: Future[Completion] = Future()
        with self._changing:
            self._waiting.append((request, future))
        self._thread.submit(self._answer_batch)
        return await asyncio.wrap_future(future)

    def _answer_batch(self) -> None:
        """Answer up to a batch of the waiting requests; called once for each request."""
        seen = 0
        while seen < len(self._waiting) < self._rows:
            seen = len(self._waiting)
            time.sleep(_LINGER)
        with self._changing:
            waiting = [entry for entry in self._waiting if not entry[1].cancelled()]
            # Verdicts and long completions have separate batches, so that verdicts need not wait.
            brief = bool(waiting) and waiting[0][0].brief
            alike = [entry for entry in waiting if entry[0].brief == brief]
            others = [entry for entry in waiting if entry[0].brief != brief]
            batch = alike[: self._rows]
            self._waiting = others + alike[self._rows :]
        if not batch:
            return

        def check() -> None:
            if all(future.cancelled() for _, future in batch):
                raise CancelledError

        error: Exception | None = None
        answers: Sequence[Completion | None] = [None] * len(batch)
        try:
            requests = [request for request, _ in batch]
            answers = complete(self.causal, requests, rows=self._rows, check=check)
        except Exception as raised:  # noqa: BLE001 - every caller of the batch gets it
            error = raised
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.set_running_or_notify_cancel():
                continue
            if answer is None:
                future.set_exception(error)
            else:
                future.set_result(answer)


_engines: weakref.WeakValueDictionary[WhiteboxSettings, Engine] = weakref.WeakValueDictionary()
_loading = threading.Lock()


def shared_engine(settings: WhiteboxSettings) -> Engine:
    """Return the process's engine for these settings, loading the model if need be. Blocking.

    It is kept as long as there is a reference to it.
    """
    with _loading:
        engine = _engines.get(settings)
        if engine is None:
            engine = _engines[settings] = Engine(settings)
        return engine


class WhiteboxAPI(InProcessAPI[Engine]):
    """Inspect's API for a causal language model in this process; `InputError` if unusable."""

    kind = "white-box"
    arguments = ("rows", "device", "precision")

    def set_up(self, model_name: str, given: dict[str, Any]) -> str:
        """See `InProcessAPI`."""
        is_path = is_pathlike(model_name) or Path(model_name).is_dir()
        name = full_path(model_name) if is_path else model_name
        self.settings = WhiteboxSettings(name, **given)
        return name

    def load(self) -> Engine:
        """Return the process's engine for these settings."""
        return shared_engine(self.settings)

    async def answer(
        self, input: list[ChatMessage], config: GenerateConfig
    ) -> tuple[ModelOutput, ModelCall]:
        """See `InProcessAPI`."""
        engine = await asyncio.to_thread(self.engine)
        turns = [{"role": one.role, "content": one.text} for one in input]
        # An answer that has begun is completed.
        begun = bool(input) and input[-1].role == "assistant"
        prompt = tuple(conversation_tokens(engine.causal, turns, begun=begun))
        replies = _replies(engine.causal, config)
        room = engine.causal.context - len(prompt)
        call = {"model": self.model_name, "prompt_tokens": len(prompt)}
        call |= config.model_dump(mode="json", exclude_none=True)
        if room < max((len(reply) for reply in replies), default=1):
            return self.too_long(str(PromptTooLong(len(prompt), engine.causal.context)), call)
        answer = await engine.complete(_request(prompt, replies, room, config))
        output = _output(self.model_name, engine.causal, len(prompt), answer)
        return output, ModelCall.create(call, output.model_dump(mode="json", exclude_none=True))

    def max_connections(self) -> int:
        """Return the useful number of calls at once: two batches."""
        return 2 * self.settings.rows

    def at_once(self) -> int:
        """Return how many samples of a run are processed at once: at least a batch."""
        return max(super().at_once(), self.settings.rows)

    def connection_key(self) -> str:
        """Return the model's name: calls with the same key share connections."""
        return self.settings.name


def _replies(causal: CausalModel, config: GenerateConfig) -> tuple[tuple[int, ...], ...]:
    """Return the only allowed replies as tokens; empty if there is no schema, or too many."""
    replies: tuple[str, ...] | None = guided_choice(config)
    if not replies and config.response_schema is not None:
        replies = finite_replies(config.response_schema.json_schema.model_dump(exclude_none=True))
        if replies is None:
            _warn(
                "white-box models follow a response_schema only if it allows few replies "
                "(true or false, one of a list); ignoring it"
            )
    if not replies:
        return ()
    ids = causal.tokenizer(list(replies), add_special_tokens=False, verbose=False)["input_ids"]
    return tuple(map(tuple, ids))


@cache
def _warn(message: str) -> None:
    _logger.warning(message)


def _request(
    prompt: tuple[int, ...], replies: tuple[tuple[int, ...], ...], room: int, config: GenerateConfig
) -> CompletionRequest:
    for name in _NOT_SERVED:
        if getattr(config, name):
            _warn(f"white-box models do not support {name}; ignoring it")
    temperature = 1.0 if config.temperature is None else config.temperature
    top_p = 1.0 if config.top_p is None else config.top_p
    sampling = Sampling(temperature, top_p) if temperature != 0 and top_p != 0 else None
    seed = secrets.randbits(63) if config.seed is None else config.seed
    # Prompts with the same seed must not share noise: their answers would be correlated.
    sequence = hashlib.sha256(repr(prompt).encode()).hexdigest()
    alternatives = (config.top_logprobs or 0) if config.logprobs else None
    return CompletionRequest(
        prompt,
        max_tokens=min(room, config.max_tokens or MAX_TOKENS),
        sampling=sampling,
        noise=None if sampling is None else draw(seed, sequence),
        stops=tuple(stop for stop in config.stop_seqs or () if stop),
        alternatives=alternatives,
        replies=replies,
    )


def _output(model: str, causal: CausalModel, prompt: int, answer: Completion) -> ModelOutput:
    message = ChatMessageAssistant(content=answer.text, model=model, source="generate")
    return ModelOutput(
        model=model,
        choices=[
            ChatCompletionChoice(
                message=message, stop_reason=answer.stop, logprobs=_logprobs(causal, answer)
            )
        ],
        usage=ModelUsage(
            input_tokens=prompt,
            output_tokens=len(answer.tokens),
            total_tokens=prompt + len(answer.tokens),
        ),
    )


def _logprobs(causal: CausalModel, answer: Completion) -> Logprobs | None:
    if not answer.scored:
        return None

    def shown(token: int) -> str:
        text: str = causal.tokenizer.decode([token], clean_up_tokenization_spaces=False)
        return text

    return Logprobs(
        content=[
            Logprob(
                token=shown(one.token),
                logprob=one.logprob,
                top_logprobs=[
                    TopLogprob(token=shown(token), logprob=logprob) for token, logprob in one.others
                ],
            )
            for one in answer.scored
        ]
    )
