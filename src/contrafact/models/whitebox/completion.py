"""Completing prompts in a batch, by a model whose weights are at hand.

Only the last position's logits are made. Where the replies that may be given are known, as by a
JSON schema of true or false, tokens that begin none of them are not chosen.

A row of a batch is computed with other rows in another order of additions, so that logits differ
by up to 1e-4 in float32: a completion is the same in every batch unless two tokens come that close.
"""

import inspect
import itertools
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from contrafact.models.whitebox.gumbel import Noise, Sampling, check_finite, choose, noise_of
from contrafact.models.whitebox.tokens import continuation_text, end_tokens
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

__all__ = ["Completion", "CompletionRequest", "complete", "finite_replies"]

MOST_REPLIES = 64
"""A schema that leaves more replies open than this is not taken as finite."""

_BATCH_TOKENS = 16_384  # of prompts, padding included, whose keys and values are held at once
_ROWS = 48  # of a batch
_LEAST_ROWS = 8  # two to four rows cost more than eight on few cores


@dataclass(frozen=True)
class CompletionRequest:
    """A prompt and how it is to be completed.

    Attributes:
        max_tokens: The most tokens of the completion, the end token included.
        sampling: The likeliest token is taken each time if there is none.
        stops: Strings before which the completion ends.
        alternatives: How many alternatives to each token are returned, with log-probabilities; None
            returns no log-probabilities at all.
        replies: If there are any, the completion is one of these.
    """

    tokens: tuple[int, ...]
    max_tokens: int
    sampling: Sampling | None = None
    noise: Noise | None = None
    stops: tuple[str, ...] = ()
    alternatives: int | None = None
    replies: tuple[tuple[int, ...], ...] = ()

    @property
    def brief(self) -> bool:
        """Whether it takes few forward passes: it must not wait for long completions."""
        return self.max_tokens == 1 or bool(self.replies)


class TokenLogprob(NamedTuple):
    """A token that was chosen, and the likeliest others, with the model's own log-probabilities."""

    token: int
    logprob: float
    others: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Completion:
    """What a model wrote, without special tokens and without what stopped it.

    Attributes:
        tokens: The end token is the last of them where the model ended it.
        leads: Of sampled tokens, the lead over the runner-up; see `gumbel.choose`.
    """

    text: str
    tokens: tuple[int, ...]
    stop: Literal["stop", "max_tokens"]
    scored: tuple[TokenLogprob, ...] = ()
    leads: tuple[float, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the model ended it, or a stop: it was not cut at the token limit."""
        return self.stop == "stop"


def complete(
    causal: CausalModel,
    requests: Sequence[CompletionRequest],
    *,
    ends: Collection[int] | None = None,
    rows: int = _ROWS,
    check: Callable[[], None] = lambda: None,
) -> list[Completion]:
    """Return the completions of some prompts, in order.

    Args:
        ends: The tokens that end a text; the model's own if not given.
        rows: Prompts in one batch at the most.
        check: Called before each pass through the model; what it raises ends the work.

    Raises:
        InputError: If the model's logits are not finite numbers.
    """
    import torch

    ends = end_tokens(causal) if ends is None else frozenset(ends)
    texts = [_Row(causal, ends, request) for request in requests]
    # Prompts of like length go together, so that little is padding.
    waiting = sorted(texts, key=lambda row: len(row.request.tokens))
    with torch.inference_mode():
        while waiting:
            part = _fitting(waiting[:rows])
            del waiting[: len(part)]
            _decode(causal, part, check)
    return [row.completion() for row in texts]


def _decode(causal: CausalModel, rows: "list[_Row]", check: Callable[[], None]) -> None:
    batch = PromptBatch(causal, [row.request.tokens for row in rows])
    for position in itertools.count():
        check()
        chosen = _take(rows, batch.logits(), position)
        if all(row.done for row in rows):
            return
        kept = [place for place, row in enumerate(rows) if not row.done]
        # A batch of half the rows is worth it.
        if _LEAST_ROWS <= len(kept) <= len(rows) // 2 and batch.keep(kept):
            rows, chosen = [rows[place] for place in kept], chosen[kept]
        batch.feed(chosen)


class PromptBatch:
    """Prompts that go through the model together, with their keys and values.

    They are padded on the left, so that the last position is every row's own. ``cache`` has keys
    and values once logits were asked for.
    """

    def __init__(self, causal: CausalModel, prompts: Sequence[Sequence[int]]):
        import torch

        self._causal = causal
        keeps = "logits_to_keep" in inspect.signature(causal.model.forward).parameters
        self._few = {"logits_to_keep": 1} if keeps else {}
        width = max(map(len, prompts))
        fed = torch.zeros((len(prompts), width), dtype=torch.long)
        positions, mask = torch.zeros_like(fed), torch.zeros_like(fed)
        for index, tokens in enumerate(prompts):
            first = width - len(tokens)
            fed[index, first:] = torch.tensor(tokens)
            positions[index, first:] = torch.arange(len(tokens))
            mask[index, first:] = 1
        self._fed, self._positions, self._mask = (
            part.to(causal.device) for part in (fed, positions, mask)
        )
        self.cache: Any = None

    def logits(self) -> "torch.Tensor":
        """Return the last position's logits, ``(rows, vocabulary)``, float32."""
        output: Any = self._causal.model(
            input_ids=self._fed,
            attention_mask=self._mask,
            position_ids=self._positions,
            past_key_values=self.cache,
            use_cache=True,
            **self._few,
        )
        self.cache = output.past_key_values
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def keep(self, rows: Sequence[int]) -> bool:
        """Go on with these rows alone; return whether the cache could part with the others.

        It can where its layers hold a key and a value for every position, and no more.
        """
        import torch
        from transformers.cache_utils import DynamicLayer

        layers = getattr(self.cache, "layers", [None])
        if any(type(layer) is not DynamicLayer for layer in layers):
            return False
        index = torch.tensor(rows, device=self._mask.device)
        self.cache.batch_select_indices(index)
        self._fed, self._mask, self._positions = (
            part[index] for part in (self._fed, self._mask, self._positions)
        )
        return True

    def feed(self, tokens: "torch.Tensor") -> None:
        """Append a token to each row: ``(rows,)``."""
        import torch

        self._fed = tokens.to(self._mask.device)[:, None]
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        self._positions = self._positions[:, -1:] + 1


class _Row:
    def __init__(self, causal: CausalModel, ends: frozenset[int], request: CompletionRequest):
        self._causal = causal
        self._ends = ends
        self.request = request
        self.written: list[int] = []
        self.done: Literal["stop", "max_tokens"] | None = None
        self._text: str | None = None
        self._scored: list[TokenLogprob] = []
        self.leads: list[float] = []

    @property
    def ways(self) -> list[int]:
        """The tokens that some reply still possible has next."""
        count = len(self.written)
        possible = (one for one in self.request.replies if list(one[:count]) == self.written)
        return sorted({reply[count] for reply in possible})

    def take(self, token: int, scored: TokenLogprob | None) -> None:
        """Write a token, and see whether that is the end."""
        self.written.append(token)
        if scored is not None and self.request.alternatives is not None:
            others = scored.others[: self.request.alternatives]
            self._scored.append(scored._replace(others=others))
        if self.request.replies:
            if tuple(self.written) in self.request.replies:
                self.done = "stop"
                return
        elif self.request.stops:
            text = continuation_text(self._causal, self.written)
            places = [place for stop in self.request.stops if (place := text.find(stop)) >= 0]
            if places:
                self._text = text[: min(places)]
                self.done = "stop"
                return
        if token in self._ends and not self.request.replies:
            self.done = "stop"
        elif len(self.written) >= self.request.max_tokens:
            self.done = "max_tokens"

    def completion(self) -> Completion:
        assert self.done is not None
        text = continuation_text(self._causal, self.written) if self._text is None else self._text
        return Completion(
            text, tuple(self.written), self.done, tuple(self._scored), tuple(self.leads)
        )


def _fitting(rows: list[_Row]) -> list[_Row]:
    """Return the first rows that may go together; each prompt is at least as long as the last."""
    count = 1
    while count < len(rows) and len(rows[count].request.tokens) * (count + 1) <= _BATCH_TOKENS:
        count += 1
    return rows[:count]


def _take(rows: Sequence[_Row], logits: "torch.Tensor", position: int) -> "torch.Tensor":
    """Write each row's next token, and return them, ``(rows,)``."""
    check_finite(logits)
    chosen = _chosen(rows, logits, position)
    tokens: list[int] = chosen.tolist()
    scored: Sequence[TokenLogprob | None] = [None] * len(rows)
    most = max(-1 if row.request.alternatives is None else row.request.alternatives for row in rows)
    if most >= 0:
        log_p = logits.log_softmax(-1)
        likeliest = log_p.topk(min(most, log_p.shape[-1]))
        others = (
            tuple(zip(*pair, strict=True))
            for pair in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
        )
        own = log_p.gather(-1, chosen[:, None])[:, 0].tolist()
        scored = list(map(TokenLogprob, tokens, own, others))
    for row, token, one in zip(rows, tokens, scored, strict=True):
        if not row.done:
            row.take(token, one)
    return chosen


def _chosen(rows: Sequence[_Row], logits: "torch.Tensor", position: int) -> "torch.Tensor":
    """Return each row's next token, ``(rows,)``."""
    wanted = logits
    for index, row in enumerate(rows):
        if row.request.replies and not row.done:
            wanted = logits.clone() if wanted is logits else wanted
            ways = row.ways
            wanted[index] = -math.inf
            wanted[index, ways] = logits[index, ways]
    tokens = wanted.argmax(-1)
    by_mechanism: dict[Sampling, list[int]] = {}
    for index, row in enumerate(rows):
        if row.request.sampling is not None and not row.done:
            by_mechanism.setdefault(row.request.sampling, []).append(index)
    for sampling, indices in by_mechanism.items():
        noises = [one for index in indices if (one := rows[index].request.noise) is not None]
        noise = noise_of(noises, position, logits.shape[-1], logits.device)
        tokens[indices], leads = choose(wanted[indices], noise, sampling)
        for index, lead in zip(indices, leads.tolist(), strict=True):
            rows[index].leads.append(lead)
    return tokens


def finite_replies(schema: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return all replies that a schema leaves open, as JSON; None if they cannot be listed.

    Where the replies part, the model says which way it goes; the rest need not be written token by
    token. Listed are objects all of whose properties are required, booleans, null, enumerations and
    alternatives of these.
    """
    values = _values(schema)
    if not values:
        return None
    return tuple(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values))


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    found: list[Any] | None = None
    kind = schema.get("type")
    if "enum" in schema:
        # No number: one may begin another, and there would be no telling where it ends.
        plain = all(value is None or isinstance(value, bool | str) for value in schema["enum"])
        found = list(schema["enum"]) if plain else None
    elif kind == "boolean":
        found = [True, False]
    elif kind == "null":
        found = [None]
    elif "anyOf" in schema:
        parts = [_values(part) for part in schema["anyOf"]]
        known = [part for part in parts if part is not None]
        found = list(itertools.chain(*known)) if len(known) == len(parts) else None
    elif kind == "object":
        properties = schema.get("properties") or {}
        parts = [_values(part) for part in properties.values()]
        known = [part for part in parts if part]
        required = set(schema.get("required") or [])
        if properties and len(known) == len(parts) and set(properties) <= required:
            combined = itertools.islice(itertools.product(*known), MOST_REPLIES + 1)
            found = [dict(zip(properties, values, strict=True)) for values in combined]
    return found if found is not None and len(found) <= MOST_REPLIES else None
