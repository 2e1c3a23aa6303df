"""Writing under given noise for concurrent callers, who meet in one queue for each model."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.models.whitebox.card import MOST_ROWS
from contrafact.models.whitebox.kv_cache import PrefixStore
from contrafact.models.whitebox.noise.decoding import continuation_text, generate, prompt_tokens
from contrafact.models.whitebox.noise.gumbel import Noise, Sampling
from contrafact.models.whitebox.queue import BatchQueue
from contrafact.models.whitebox.weights import CausalModel, Precision, shared_causal

__all__ = ["BATCH", "ContextExceeded", "Writer", "Written", "shared_writer"]

BATCH = 16
"""Callers that share a batch on the CPU: with three texts each 48 rows, on two cores the best."""

_DEFAULT = Sampling()


class ContextExceeded(InputError):
    """A prompt and the text to be written do not fit the model's context."""


@dataclass(frozen=True)
class Written:
    """A text that was written under given noise.

    Attributes:
        tokens: They are kept since a text need not come back to the same tokens.
        ended: Whether the model ended it, or it was cut at the token limit.
        least_lead: The smallest lead of a token over its runner-up, in logits. Above 0.001, the
            text is the same in every batch.
    """

    text: str
    tokens: tuple[int, ...]
    ended: bool
    least_lead: float
    prompt_tokens: int


@dataclass(frozen=True)
class _Wanted:
    prompts: tuple[str, ...]
    noises: tuple[Noise, ...]
    max_tokens: int
    sampling: Sampling


class Writer:
    """A model that writes for concurrent callers; at most ``batch`` of them share a batch."""

    def __init__(self, causal: CausalModel, *, batch: int | None = None):
        self.causal = causal
        self._prefixes = PrefixStore()
        self._queue: BatchQueue[_Wanted, list[Written]] = BatchQueue(
            self._write,
            batch_key=lambda wanted: (wanted.max_tokens, wanted.sampling),
            max_batch=batch or (MOST_ROWS if causal.on_card else BATCH),
            name=f"writing with {causal.name}",
        )

    async def write(
        self,
        prompts: Sequence[str],
        noises: Sequence[Noise],
        *,
        max_tokens: int,
        sampling: Sampling = _DEFAULT,
    ) -> list[Written]:
        """Write one text for each prompt (`prompt_tokens`), under its noise, in one batch.

        Noises that are shared belong into one call.

        Raises:
            ContextExceeded: If one of the prompts is; other callers are not concerned.
            InputError: If the model's logits are not finite.
            QueueClosed: If the writer is closed first.
        """
        if len(prompts) != len(noises):
            raise ValueError(f"{len(prompts)} prompts and {len(noises)} noises")
        return await self._queue.submit(
            _Wanted(tuple(prompts), tuple(noises), max_tokens, sampling)
        )

    def close(self) -> None:
        """End the work; see `BatchQueue.close`."""
        self._queue.close()

    def _write(
        self, batch: Sequence[_Wanted], check: Callable[[], None]
    ) -> list[list[Written] | Exception]:
        answers: list[list[Written] | Exception] = []
        rows: list[list[int]] = []
        noises: list[Noise] = []
        for wanted in batch:
            tokens = [prompt_tokens(self.causal, prompt) for prompt in wanted.prompts]
            longest = max(map(len, tokens), default=0)
            if longest + wanted.max_tokens > self.causal.context:
                error = ContextExceeded(
                    f"a prompt of {longest:,} tokens and {wanted.max_tokens:,} to be written do "
                    f"not fit the context of {self.causal.context:,} tokens",
                    hint="shorten the prompt, or ask for fewer tokens",
                )
                answers.append(error)
                continue
            answers.append([])
            rows += tokens
            noises += wanted.noises
        if not rows:
            return answers
        served = self._prefixes.prepare(self.causal, [tuple(row) for row in rows], check)
        made = generate(
            self.causal,
            rows,
            noises,
            max_tokens=batch[0].max_tokens,
            sampling=batch[0].sampling,
            rows=None if self.causal.on_card else len(rows),
            check=check,
            known=[(prefix, length) for prefix, length, _ in served],
        )
        texts = (
            Written(
                continuation_text(self.causal, one.tokens),
                one.tokens,
                one.ended,
                min(one.gaps),
                len(row),
            )
            for one, row in zip(made, rows, strict=True)
        )
        for wanted, answer in zip(batch, answers, strict=True):
            if isinstance(answer, list):
                answer += [next(texts) for _ in wanted.prompts]
        return answers


_writers: dict[CausalModel, Writer] = {}
_making = threading.Lock()


def shared_writer(
    name: str, *, device: str | None = None, precision: Precision = "float32"
) -> Writer:
    """Return the one writer of a model in this process, loading the model if need be. Blocking.

    Below float32 two batches differ by more than leads allow for.

    Raises:
        InputError: If it cannot be loaded.
    """
    causal = shared_causal(name, device=device, precision=precision)
    with _making:
        if causal not in _writers:
            _writers[causal] = Writer(causal)
        return _writers[causal]
