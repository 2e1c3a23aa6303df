"""Answering prompts in a batch, by a model whose weights are at hand.

What prompts share is computed once (`contrafact.models.whitebox.prefixes`), only the last
position's logits are made, and where the replies that may be given are known, one look at them
decides. A judge's verdict therefore takes one forward pass over what is its own.

A row of a batch is computed with other rows in another order of additions, so that logits differ
by up to 1e-4 in float32: an answer is the same in every batch unless two tokens come that close.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from contrafact.errors import InputError
from contrafact.models.whitebox.noise import (
    Noise,
    Sampling,
    continuation_text,
    end_tokens,
)
from contrafact.models.whitebox.noise.sampling import choose
from contrafact.models.whitebox.prefixes import PrefixStore, common_length
from contrafact.models.whitebox.reading import Prefix, PromptBatch, read_prefix
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

__all__ = ["Answer", "Answerer", "Request", "Scored"]

_BATCH_TOKENS = 16_384  # of prompts, padding included, that keys and values are held of at once


@dataclass(frozen=True)
class Request:
    """A prompt and how it is to be answered.

    Attributes:
        tokens: The prompt, at least one token.
        max_tokens: The most tokens of the answer, the end token included.
        sampling: Temperature and top-p; the likeliest token each time if none.
        noise: What to sample with.
        top_k: Sample from the so many likeliest tokens.
        stops: Strings before which the answer ends.
        alternatives: How many alternatives to each token are told, with log-probabilities; none
            tells no log-probabilities at all.
        bias: Added to the logits of tokens.
        frequency_penalty: Taken from a token's logit for each time it was written.
        presence_penalty: Taken from the logits of tokens that were written.
        replies: If given, the answer is one of these.
    """

    tokens: tuple[int, ...]
    max_tokens: int
    sampling: Sampling | None = None
    noise: Noise | None = None
    top_k: int | None = None
    stops: tuple[str, ...] = ()
    alternatives: int | None = None
    bias: Mapping[int, float] = field(default_factory=dict)
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    replies: tuple[tuple[int, ...], ...] = ()

    @property
    def brief(self) -> bool:
        """Whether it is answered by one look, or nearly: it must not wait for long answers."""
        return self.max_tokens == 1 or bool(self.replies)


@dataclass(frozen=True)
class Scored:
    """A token that was chosen, with log-probabilities under the model itself, at temperature 1.

    Attributes:
        token: The token.
        logprob: Its log-probability.
        others: The likeliest tokens there, the likeliest first, with theirs.
    """

    token: int
    logprob: float
    others: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Answer:
    """What a model answered.

    Attributes:
        text: The answer, without special tokens and without what stopped it.
        tokens: Its tokens; the end token is the last of them where the model ended it.
        stop: Why it ended: by itself or at a stop string, or at the token limit.
        reused: How many of the prompt's tokens were not computed for it.
        scored: Its tokens' log-probabilities, if asked for. Tokens that had to come have none.
    """

    text: str
    tokens: tuple[int, ...]
    stop: Literal["stop", "max_tokens"]
    reused: int
    scored: tuple[Scored, ...] = ()


class Answerer:
    """A model that answers batches of requests, and keeps what their prompts share.

    For one thread at a time.

    Args:
        causal: The model.
    """

    def __init__(self, causal: CausalModel):
        self._causal = causal
        self._ends = end_tokens(causal)
        # None for a model whose memory of a prompt is more than keys and values per position.
        self._store: PrefixStore | None = PrefixStore()

    def answer(
        self, requests: Sequence[Request], check: Callable[[], None] = lambda: None
    ) -> list[Answer]:
        """Return the answers to requests, in order.

        Args:
            requests: The requests.
            check: Called before each pass through the model; what it raises ends the work.

        Raises:
            InputError: If the model's logits are not finite numbers.
        """
        import torch

        rows = [_Row(self._causal, self._ends, request) for request in requests]
        with torch.inference_mode():
            asked = [row for row in rows if not row.done]
            self._share(asked, check)
            asked.sort(key=lambda row: len(row.tokens) - row.length)
            while asked:
                part = _fitting(asked)
                del asked[: len(part)]
                self._decode(part, check)
        return [row.answer() for row in rows]

    def _share(self, rows: "Sequence[_Row]", check: Callable[[], None]) -> None:
        """Compute what rows share and is not kept yet, and give each row what serves it."""
        if self._store is None:
            return
        prompts = [row.tokens for row in rows]
        for tokens in self._store.wanted(prompts):
            check()
            base, length = self._store.best(tokens)
            prefix = read_prefix(self._causal, tokens, base, min(length, len(tokens) - 1))
            if prefix is None:
                self._store = None
                return
            self._store.add(prefix)
            first = next(row for row in rows if common_length(row.tokens, tokens) == len(tokens))
            first.paid += len(tokens) - length
        for row in rows:
            row.prefix, length = self._store.best(row.tokens)
            row.length = min(length, len(row.tokens) - 1)  # something must be fed
        self._store.remember(prompts)

    def _decode(self, rows: "Sequence[_Row]", check: Callable[[], None]) -> None:
        import torch

        batch = PromptBatch(self._causal, [(row.tokens, row.prefix, row.length) for row in rows])
        for row in rows:
            row.prefix = None  # the batch has its own copy
        position = 0
        while True:
            check()
            logits = batch.logits()
            if not logits.amax(-1).isfinite().all():
                raise InputError(
                    "the model's logits are not finite numbers",
                    hint="its weights may be damaged, or overflow at their precision",
                )
            chosen = _chosen(rows, logits, position)
            for row, own, token in zip(rows, logits, chosen.tolist(), strict=True):
                if not row.done:
                    row.take(token, own)
            if all(row.done for row in rows):
                return
            batch.feed(torch.as_tensor(chosen))
            position += 1


class _Row:
    """A request on its way."""

    def __init__(self, causal: CausalModel, ends: frozenset[int], request: Request):
        self._causal = causal
        self._ends = ends
        self.request = request
        self.written: list[int] = []
        self.done: Literal["stop", "max_tokens"] | None = None
        self._text: str | None = None
        self._scored: list[Scored] = []
        self._follow()
        # What had to come first is part of what is fed.
        self.tokens = (*request.tokens, *self.written)
        self.prefix: Prefix | None = None
        self.length = 0
        self.paid = 0

    def _follow(self) -> None:
        """Write the tokens that all replies still possible have next."""
        if not self.request.replies:
            return
        place = len(self.written)
        possible = self._possible()
        shared = common_length(min(possible), max(possible))
        # Later on only one token is fed at a time.
        if place == 0 or len(possible) == 1:
            self.written += possible[0][place:shared]
        if len(possible) == 1:
            self._end("stop")

    def _possible(self) -> list[tuple[int, ...]]:
        own = tuple(self.written)
        return [reply for reply in self.request.replies if reply[: len(own)] == own]

    def adjusted(self, logits: "torch.Tensor") -> "torch.Tensor":
        """Return the logits as the request wants them; the same object if nothing is changed."""
        import torch

        request, written = self.request, set(self.written)
        if request.bias or (written and (request.frequency_penalty or request.presence_penalty)):
            logits = logits.clone()
            for token, bias in request.bias.items():
                if 0 <= token < len(logits):
                    logits[token] += bias
            for token in written:
                often = self.written.count(token)
                logits[token] -= request.frequency_penalty * often + request.presence_penalty
        if request.replies:
            ways = torch.tensor(sorted({reply[len(self.written)] for reply in self._possible()}))
            ways = ways.to(logits.device)
            only = torch.full_like(logits, -math.inf)
            logits = only.scatter(0, ways, logits[ways])
        elif request.top_k is not None and request.top_k < len(logits):
            least = logits.topk(max(1, request.top_k)).values[-1]
            logits = logits.masked_fill(logits < least, -math.inf)
        return logits

    def take(self, token: int, logits: "torch.Tensor") -> None:
        """Write a token, and see whether that is the end."""
        self.written.append(token)
        if self.request.alternatives is not None:
            self._scored.append(_scored(token, logits, self.request.alternatives))
        if self.request.replies:
            self._follow()
            return
        if self.request.stops and self._stopped():
            return
        if token in self._ends:
            self._end("stop")
        elif len(self.written) >= self.request.max_tokens:
            self._end("max_tokens")

    def _stopped(self) -> bool:
        text = continuation_text(self._causal, self.written)
        places = [place for stop in self.request.stops if (place := text.find(stop)) >= 0]
        if places:
            self._text = text[: min(places)]
            self._end("stop")
        return bool(places)

    def _end(self, why: Literal["stop", "max_tokens"]) -> None:
        if len(self.written) > self.request.max_tokens:  # a reply that was not asked for whole
            del self.written[self.request.max_tokens :]
            why = "max_tokens"
        self.done = why

    def answer(self) -> Answer:
        """Return the answer, once it is done."""
        assert self.done is not None
        text = continuation_text(self._causal, self.written) if self._text is None else self._text
        # What is forced on the answer is fed with the prompt, and is no token of it.
        reused = min(self.length - self.paid, len(self.request.tokens))
        return Answer(text, tuple(self.written), self.done, max(0, reused), tuple(self._scored))


def _fitting(rows: Sequence[_Row]) -> list[_Row]:
    """Return the first rows that may go together."""
    before = width = 0
    for count, row in enumerate(rows):
        before = max(before, row.length)
        width = max(width, len(row.tokens) - row.length)
        if count and (before + width) * (count + 1) > _BATCH_TOKENS:
            return list(rows[:count])
    return list(rows)


def _chosen(rows: Sequence[_Row], logits: "torch.Tensor", position: int) -> "torch.Tensor":
    """Return each row's next token, ``(rows,)``."""
    import torch

    wanted = [own if row.done else row.adjusted(own) for row, own in zip(rows, logits, strict=True)]
    tokens = torch.stack([one.argmax() for one in wanted])
    by_mechanism: dict[Sampling, list[int]] = {}
    for index, row in enumerate(rows):
        if row.request.sampling is not None and not row.done:
            by_mechanism.setdefault(row.request.sampling, []).append(index)
    for sampling, indices in by_mechanism.items():
        noise = []
        for index in indices:
            own = rows[index].request.noise
            assert own is not None
            noise.append(torch.from_numpy(own.at(position, logits.shape[-1])))
        drawn = torch.stack([wanted[index] for index in indices])
        tokens[indices], _ = choose(drawn, torch.stack(noise).to(logits.device), sampling)
    return tokens


def _scored(token: int, logits: "torch.Tensor", alternatives: int) -> Scored:
    log_p = logits.log_softmax(-1)
    likeliest = log_p.topk(min(alternatives, len(log_p)))
    others = zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
    return Scored(token, float(log_p[token]), tuple(others))
