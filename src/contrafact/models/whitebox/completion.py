"""Completes prompts in batches, by a model whose weights are loaded here.

Only the logits of the last position are computed. If the allowed replies are known, as from a JSON
schema of true or false, only tokens that lead to one of them are chosen.

The other rows of a batch change the order of additions, so that logits differ by up to 1e-4 in
float32: a completion is the same in every batch unless two tokens come that close.
"""

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

__all__ = ["Completion", "CompletionRequest", "complete"]

MOST_REPLIES = 64
"""The replies of a schema that allows more than this are not listed."""

_BATCH_TOKENS = 16_384  # prompt tokens, padding included, whose keys and values are held at once
_ROWS = 48  # rows of a batch


@dataclass(frozen=True)
class CompletionRequest:
    """A prompt and the settings of its completion.

    Attributes:
        max_tokens: The most tokens of the completion, the end token included.
        sampling: How tokens are sampled; without it the likeliest token is chosen each time.
        stops: Strings; the completion ends before the first that occurs.
        alternatives: How many alternatives to each token are returned, with log-probabilities; None
            returns no log-probabilities at all.
        replies: The tokens of the allowed replies; empty allows all.
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
        """Whether it needs few forward passes, and must not wait for long completions."""
        return self.max_tokens == 1 or bool(self.replies)


class TokenLogprob(NamedTuple):
    """A chosen token and its likeliest alternatives, with the model's own log-probabilities."""

    token: int
    logprob: float
    others: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Completion:
    """The text that a model wrote, without special tokens and without the stop string.

    Attributes:
        tokens: The tokens written; the last is the end token if the model ended the text.
        leads: The lead of each sampled token over the runner-up; see `gumbel.choose`.
    """

    text: str
    tokens: tuple[int, ...]
    stop: Literal["stop", "max_tokens"]
    scored: tuple[TokenLogprob, ...] = ()
    leads: tuple[float, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the model or a stop string ended the text, and not the token limit."""
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
        rows: The most prompts in one batch.
        check: Called before each pass through the model; an exception that it raises ends the work.

    Raises:
        InputError: If the model's logits are not finite numbers.
    """
    import torch

    ends = end_tokens(causal) if ends is None else frozenset(ends)
    texts = [_Row(causal, ends, request) for request in requests]
    # Prompts of similar length share a batch, so that there is little padding.
    waiting = sorted(texts, key=lambda row: len(row.request.tokens))
    with torch.inference_mode():
        while waiting:
            part = _fitting(waiting[:rows], causal.context)
            del waiting[: len(part)]
            _decode(causal, part, check)
    return [row.completion() for row in texts]


def _decode(causal: CausalModel, rows: "list[_Row]", check: Callable[[], None]) -> None:
    """Let transformers generate the completions; `_take` chooses each next token."""
    import torch
    from transformers import GenerationConfig

    # Padding on the left, so that the last position belongs to every row.
    width = max(len(row.request.tokens) for row in rows)
    prompts = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros_like(prompts)
    for index, row in enumerate(rows):
        first = width - len(row.request.tokens)
        prompts[index, first:] = torch.tensor(row.request.tokens)
        mask[index, first:] = 1

    def chosen(ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        tokens = _take(rows, logits, ids.shape[1] - width)
        only = torch.full_like(logits, -math.inf)
        return only.scatter(-1, tokens[:, None].to(logits.device), 0.0)

    def ended(ids: torch.Tensor, scores: Any) -> torch.Tensor:
        check()
        return torch.tensor([row.done is not None for row in rows], device=ids.device)

    check()
    most = max(row.request.max_tokens for row in rows)
    # The model's own settings, which replace missing ones, may add penalties and end tokens.
    settings, causal.model.generation_config = causal.model.generation_config, GenerationConfig()
    try:
        causal.model.generate(
            prompts.to(causal.device),
            attention_mask=mask.to(causal.device),
            generation_config=GenerationConfig(max_new_tokens=most, pad_token_id=0),
            logits_processor=[chosen],
            stopping_criteria=[ended],
        )
    finally:
        causal.model.generation_config = settings


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
        """The next tokens of the replies that are still possible."""
        count = len(self.written)
        possible = (one for one in self.request.replies if list(one[:count]) == self.written)
        return sorted({reply[count] for reply in possible})

    def take(self, token: int, scored: TokenLogprob | None) -> None:
        """Append a token, and set ``done`` if it ends the completion."""
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


def _fitting(rows: list[_Row], context: int) -> list[_Row]:
    """Return the first rows that fit into one batch; each prompt is at least as long as the last.

    A batch runs until its longest row ends, and every row must stay within the context until then.
    """
    most = 0
    for count, row in enumerate(rows):
        length, most = len(row.request.tokens), max(most, row.request.max_tokens)
        if count and (length * (count + 1) > _BATCH_TOKENS or length + most > context):
            return rows[:count]
    return rows


def _take(rows: Sequence[_Row], logits: "torch.Tensor", position: int) -> "torch.Tensor":
    """Append the next token to each row, and return these tokens, ``(rows,)``."""
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
    """Return all replies that a schema allows, as JSON; None if they cannot be listed.

    The model then only chooses where the replies differ. Schemas of objects whose properties are
    all required, booleans, null, enumerations and alternatives of these can be listed.
    """
    values = _values(schema)
    if not values:
        return None
    return tuple(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values))


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    found: list[Any] | None = None
    kind = schema.get("type")
    if "enum" in schema:
        # No numbers: one may begin with another, so its end could not be told.
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
