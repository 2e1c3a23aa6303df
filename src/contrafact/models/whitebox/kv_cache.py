"""Keys and values: prompts in one batch, the beginnings they share computed once.

A judge's prompts differ in the text to judge and share the rubric before it. What is worth sharing
is found in the prompts themselves, those that wait and those seen lately, so that nothing has to
mark where a rubric ends.
"""

import inspect
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

Tokens = tuple[int, ...]

ServedPrompt = tuple[Tokens, "Prefix | None", int]
"""A prompt, the beginning that serves it, and how many of its tokens: fewer than there are."""

_LEAST = 32  # tokens by which a beginning must go past the one it builds on
_WORTH = 128  # tokens that it must save, counted over the prompts known to share it
_SEEN = 64  # earlier prompts that are compared with
_KEPT_TOKENS = 8192  # of beginnings, over all; 370 MB for the embedded model in float32


@dataclass(frozen=True, eq=False)
class Prefix:
    """A beginning, and each layer's keys and values of it, ``(1, heads, tokens, size)``."""

    tokens: tuple[int, ...]
    layers: Sequence[tuple["torch.Tensor", "torch.Tensor"]]


class PromptBatch:
    """Rows that go through the model together, with their keys and values.

    Each row's beginning stands on the left, padded to the longest, then what it feeds itself,
    padded on the left too, so that the last position is every row's own. ``cache`` has keys and
    values once logits were asked for.
    """

    def __init__(self, causal: CausalModel, rows: Sequence[ServedPrompt]):
        import torch

        self._causal = causal
        keeps = "logits_to_keep" in inspect.signature(causal.model.forward).parameters
        self._few = {"logits_to_keep": 1} if keeps else {}
        before = max(length for _, _, length in rows)
        width = max(len(tokens) - length for tokens, _, length in rows)
        fed = torch.zeros((len(rows), width), dtype=torch.long)
        places = torch.zeros_like(fed)
        mask = torch.zeros((len(rows), before + width), dtype=torch.long)
        for index, (tokens, _, length) in enumerate(rows):
            own = len(tokens) - length
            fed[index, width - own :] = torch.tensor(tokens[length:])
            places[index, width - own :] = torch.arange(length, len(tokens))
            mask[index, before - length : before] = 1
            mask[index, before + width - own :] = 1
        self._fed, self._places, self._mask = (
            part.to(causal.device) for part in (fed, places, mask)
        )
        self.cache: Any = prefix_cache([(prefix, length) for _, prefix, length in rows], before)

    def logits(self) -> "torch.Tensor":
        """Return the last position's logits, ``(rows, vocabulary)``, float32."""
        output: Any = self._causal.model(
            input_ids=self._fed,
            attention_mask=self._mask,
            position_ids=self._places,
            past_key_values=self.cache,
            use_cache=True,
            **self._few,
        )
        self.cache = output.past_key_values
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def keep(self, rows: Sequence[int]) -> bool:
        """Go on with these rows alone; return whether the cache could part with the others."""
        import torch

        if plain_layers(self.cache) is None:
            return False
        index = torch.tensor(rows, device=self._mask.device)
        self.cache.batch_select_indices(index)
        self._fed, self._mask, self._places = (
            own[index] for own in (self._fed, self._mask, self._places)
        )
        return True

    def feed(self, tokens: "torch.Tensor") -> None:
        """Append a token to each row: ``(rows,)``."""
        import torch

        self._fed = tokens.to(self._mask.device)[:, None]
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        self._places = self._places[:, -1:] + 1


def plain_layers(cache: Any) -> Sequence[Any] | None:
    """Return a cache's layers if they hold a key and a value for every position, and no more."""
    from transformers.cache_utils import DynamicLayer

    layers = getattr(cache, "layers", [None])
    return layers if all(type(layer) is DynamicLayer for layer in layers) else None


def prefix_cache(rows: Sequence[tuple[Prefix | None, int]], before: int) -> Any:
    """Return the rows' beginnings as one cache, padded on the left to ``before`` positions."""
    known = next((prefix for prefix, length in rows if prefix is not None and length), None)
    if known is None:
        return None
    import torch
    from transformers import DynamicCache

    distinct = list(dict.fromkeys(rows))
    order = {row: place for place, row in enumerate(distinct)}
    places = torch.tensor([order[row] for row in rows], device=known.layers[0][0].device)

    def joined(layer: int, part: int) -> torch.Tensor:
        own = [
            (known if prefix is None else prefix).layers[layer][part][:, :, :length]
            for prefix, length in distinct
        ]
        gaps = [(0, 0, before - length, 0) for _, length in distinct]
        whole = torch.cat(
            [torch.nn.functional.pad(one, gap) for one, gap in zip(own, gaps, strict=True)]
        )
        return whole if len(distinct) == len(rows) else whole[places]

    cache = DynamicCache()
    for layer in range(len(known.layers)):
        cache.update(joined(layer, 0), joined(layer, 1), layer)
    return cache


def read_prefix(
    causal: CausalModel, tokens: tuple[int, ...], base: Prefix | None, length: int
) -> Prefix | None:
    """Return a beginning, read once, ``length`` of its tokens (fewer than it has) from another one.

    None for a model whose memory is more than keys and values.
    """
    import torch

    batch = PromptBatch(causal, [(tokens, base, length)])
    with torch.inference_mode():
        batch.logits()
    layers = plain_layers(batch.cache)
    if layers is None:
        return None
    return Prefix(tokens, [(layer.keys, layer.values) for layer in layers])


def by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Group rows by number, longest first, so that a group padded holds ``most`` tokens at most."""
    order = sorted(range(len(lengths)), key=lambda row: lengths[row], reverse=True)
    start = 0
    while start < len(order):
        count = max(1, most // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


def common_length(one: Sequence[int], two: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common from the start."""
    least = min(len(one), len(two))
    if one[:least] == two[:least]:
        return least
    return next(place for place in range(least) if one[place] != two[place])


def worth_sharing(asked: Sequence[Tokens], seen: Sequence[Tokens] = ()) -> list[Tokens]:
    """Return the beginnings that are worth computing once, shorter before longer.

    A beginning is worth it if it goes well past the one it builds on and saves enough, over all
    prompts that share it, earlier ones (``seen``) too. One that only those share is not.
    """
    marked = sorted([*((prompt, True) for prompt in asked), *((prompt, False) for prompt in seen)])
    found: list[Tokens] = []
    # A group of prompts that share at least their first `depth` tokens, sorted: what the first
    # and the last of them share, all do.
    groups = [(marked, 0)]
    while groups:
        group, depth = groups.pop()
        if len(group) < 2 or not any(waits for _, waits in group):
            continue
        first, last = group[0][0], group[-1][0]
        shared = common_length(first, last)
        gain = shared - depth
        if gain >= _LEAST and gain * (len(group) - 1) >= _WORTH:
            found.append(first[:shared])
            depth = shared
        parts: dict[Tokens, list[tuple[Tokens, bool]]] = {}
        for prompt, waits in group:
            parts.setdefault(prompt[shared : shared + 1], []).append((prompt, waits))
        # Prompts that end here are equal, and share nothing more.
        groups += [(part, depth) for after, part in parts.items() if after]
    return sorted(found, key=len)


class PrefixStore:
    """Beginnings with their keys and values, the least recently used of them forgotten."""

    def __init__(self, kept_tokens: int = _KEPT_TOKENS):
        self._kept_tokens = kept_tokens
        self._kept: OrderedDict[Tokens, Prefix] = OrderedDict()
        self._seen: deque[Tokens] = deque(maxlen=_SEEN)
        self._usable = True  # unless the model keeps more than keys and values per position

    def wanted(self, asked: Sequence[Tokens]) -> list[Tokens]:
        """Return the beginnings worth computing that are not here, shorter before longer."""
        return [
            prefix
            for prefix in worth_sharing(asked, self._seen)
            if len(prefix) <= self._kept_tokens and self.best(prefix)[1] < len(prefix)
        ]

    def prepare(
        self,
        causal: CausalModel,
        prompts: Sequence[Tokens],
        check: Callable[[], None] = lambda: None,
    ) -> list[tuple[Prefix | None, int, int]]:
        """Compute what prompts share and is not kept yet, and return what serves each of them.

        ``check`` is called before each beginning is computed; what it raises ends the work.

        Returns:
            For each prompt a beginning, how many of the prompt's tokens it serves (fewer than there
            are: something must be fed), and how many tokens were computed on its account.
        """
        computed = [0] * len(prompts)
        if self._usable:
            for tokens in self.wanted(prompts):
                check()
                base, length = self.best(tokens)
                prefix = read_prefix(causal, tokens, base, min(length, len(tokens) - 1))
                if prefix is None:
                    self._usable = False
                    break
                self.add(prefix)
                shares = (common_length(prompt, tokens) == len(tokens) for prompt in prompts)
                computed[list(shares).index(True)] += len(tokens) - length
            self._seen.extend(prompts)
        served = []
        for prompt, paid in zip(prompts, computed, strict=True):
            found, length = self.best(prompt)
            served.append((found, min(length, len(prompt) - 1), paid))
        return served

    def best(self, prompt: Tokens) -> tuple[Prefix | None, int]:
        """Return the beginning that serves a prompt best, and how many of its tokens do."""
        found, length = None, 0
        for prefix in self._kept.values():
            if (shared := common_length(prefix.tokens, prompt)) > length:
                found, length = prefix, shared
        if found is not None:
            self._kept.move_to_end(found.tokens)
        return found, length

    def add(self, prefix: Prefix) -> None:
        """Keep a beginning; those that it holds in itself go."""
        for tokens in [kept for kept in self._kept if prefix.tokens[: len(kept)] == kept]:
            del self._kept[tokens]
        self._kept[prefix.tokens] = prefix
        while sum(map(len, self._kept)) > self._kept_tokens:
            self._kept.popitem(last=False)
