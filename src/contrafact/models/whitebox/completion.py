"""Completing prompts in a batch, by a model whose weights are at hand.

What prompts share is computed once (`contrafact.models.whitebox.kv_cache`), only the last
position's logits are made, and where the replies that may be given are known, as by a JSON schema
of true or false, one look at them decides. A judge's verdict therefore takes one forward pass over
what is its own.

A row of a batch is computed with other rows in another order of additions, so that logits differ
by up to 1e-4 in float32: a completion is the same in every batch unless two tokens come that close.
"""

import itertools
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from contrafact.models.whitebox.gumbel import Noise, Sampling, check_finite, choose, noise_of
from contrafact.models.whitebox.kv_cache import Prefix, PrefixStore, PromptBatch, common_length
from contrafact.models.whitebox.packing import can_pack, last_logits
from contrafact.models.whitebox.tokens import continuation_text, end_tokens
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

__all__ = ["Completer", "Completion", "CompletionRequest", "finite_replies"]

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
        score_replies: Whether tokens of replies that had to come are scored, a pass for each.
    """

    tokens: tuple[int, ...]
    max_tokens: int
    sampling: Sampling | None = None
    noise: Noise | None = None
    stops: tuple[str, ...] = ()
    alternatives: int | None = None
    replies: tuple[tuple[int, ...], ...] = ()
    score_replies: bool = False

    @property
    def brief(self) -> bool:
        """Whether it takes one forward pass, or nearly: it must not wait for long completions."""
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
        reused: How many of the prompt's tokens were kept from others, and served it.
        scored: Empty for tokens that had to come, without `CompletionRequest.score_replies`.
        leads: Of sampled tokens, the lead over the runner-up; see `gumbel.choose`.
    """

    text: str
    tokens: tuple[int, ...]
    stop: Literal["stop", "max_tokens"]
    reused: int
    scored: tuple[TokenLogprob, ...] = ()
    leads: tuple[float, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the model ended it, or a stop: it was not cut at the token limit."""
        return self.stop == "stop"


class Completer:
    """A model that completes batches of prompts, and keeps what they share; for one thread.

    Args:
        ends: The tokens that end a text; the model's own if not given.
        rows: Prompts in one batch at the most.
    """

    def __init__(
        self, causal: CausalModel, *, ends: Collection[int] | None = None, rows: int = _ROWS
    ):
        self._causal = causal
        self._ends = end_tokens(causal) if ends is None else frozenset(ends)
        self._rows = rows
        self._prefixes = PrefixStore()

    def complete(
        self, requests: Sequence[CompletionRequest], check: Callable[[], None] = lambda: None
    ) -> list[Completion]:
        """Return the completions, in order; ``check`` runs before each pass, and may end the work.

        Raises:
            InputError: If the model's logits are not finite numbers.
        """
        import torch

        rows = [_Row(self._causal, self._ends, request) for request in requests]
        with torch.inference_mode():
            going = [row for row in rows if not row.done]
            served = self._prefixes.prepare(self._causal, [row.tokens for row in going], check)
            for row, (prefix, length, paid) in zip(going, served, strict=True):
                row.prefix, row.length, row.paid = prefix, length, paid
            going.sort(key=lambda row: len(row.tokens) - row.length)
            brief = [row for row in going if row.takes_one_pass]
            if brief and self._packs:
                asked = [(row.tokens, row.prefix, row.length) for row in brief]
                _take(brief, last_logits(self._causal, asked, check), 0)
                going = [row for row in going if not row.done]
            while going:
                part = _fitting(going[: self._rows])
                del going[: len(part)]
                self._decode(part, check)
        return [row.completion() for row in rows]

    @cached_property
    def _packs(self) -> bool:
        return can_pack(self._causal)

    def _decode(self, rows: "list[_Row]", check: Callable[[], None]) -> None:
        batch = PromptBatch(self._causal, [(row.tokens, row.prefix, row.length) for row in rows])
        for row in rows:
            row.prefix = None  # the batch has its own copy
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
        if self.request.score_replies:
            if tuple(self.written) in possible:
                self._end("stop")
            return
        shared = common_length(min(possible), max(possible))
        # Later on only one token is fed at a time.
        if place == 0 or len(possible) == 1:
            self.written += possible[0][place:shared]
        if len(possible) == 1:
            self._end("stop")

    @property
    def takes_one_pass(self) -> bool:
        """Whether the next token ends it, whichever it is."""
        if not self.request.replies:
            return self.request.max_tokens == 1
        possible, place = self._possible(), len(self.written)
        ways = {reply[place : place + 1] for reply in possible}
        return not self.request.score_replies and len(ways) == len(possible) and () not in ways

    @property
    def ways(self) -> list[int]:
        """The tokens that some reply still possible has next."""
        return sorted({reply[len(self.written)] for reply in self._possible()})

    def _possible(self) -> list[tuple[int, ...]]:
        own = tuple(self.written)
        return [reply for reply in self.request.replies if reply[: len(own)] == own]

    def take(self, token: int, scored: TokenLogprob | None) -> None:
        """Write a token, and see whether that is the end."""
        self.written.append(token)
        if scored is not None and self.request.alternatives is not None:
            others = scored.others[: self.request.alternatives]
            self._scored.append(scored._replace(others=others))
        if self.request.replies:
            self._follow()
            return
        if self.request.stops:
            text = continuation_text(self._causal, self.written)
            places = [place for stop in self.request.stops if (place := text.find(stop)) >= 0]
            if places:
                self._text = text[: min(places)]
                self._end("stop")
                return
        if token in self._ends:
            self._end("stop")
        elif len(self.written) >= self.request.max_tokens:
            self._end("max_tokens")

    def _end(self, why: Literal["stop", "max_tokens"]) -> None:
        if len(self.written) > self.request.max_tokens:  # a reply that was not asked for whole
            del self.written[self.request.max_tokens :]
            why = "max_tokens"
        self.done = why

    def completion(self) -> Completion:
        assert self.done is not None
        text = continuation_text(self._causal, self.written) if self._text is None else self._text
        # What is forced on the completion is fed with the prompt, and is no token of it.
        reused = min(self.length - self.paid, len(self.request.tokens))
        return Completion(
            text,
            tuple(self.written),
            self.done,
            max(0, reused),
            tuple(self._scored),
            tuple(self.leads),
        )


def _fitting(rows: list[_Row]) -> list[_Row]:
    """Return the first rows that may go together."""
    before = width = 0
    for count, row in enumerate(rows):
        before = max(before, row.length)
        width = max(width, len(row.tokens) - row.length)
        if count and (before + width) * (count + 1) > _BATCH_TOKENS:
            return rows[:count]
    return rows


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
