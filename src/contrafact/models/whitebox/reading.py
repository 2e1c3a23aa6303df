"""Prompts going through a model together, each after a beginning that is known already."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contrafact.models.whitebox.growing import growing_layer, make_room
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

__all__ = ["Prefix", "PromptBatch", "read_prefix"]


@dataclass(frozen=True, eq=False)
class Prefix:
    """A beginning and what the model made of it.

    Attributes:
        tokens: Its tokens.
        layers: Each layer's keys and values, ``(1, heads, tokens, size)``.
    """

    tokens: tuple[int, ...]
    layers: Sequence[tuple["torch.Tensor", "torch.Tensor"]]


class PromptBatch:
    """Rows that go through the model together, with their keys and values.

    Each row's beginning stands on the left, padded to the longest, then what it feeds itself,
    padded on the left too, so that the last position is every row's own.

    Args:
        causal: The model.
        rows: Each row's tokens, the beginning that serves it, and how many of the tokens that
            serves; fewer than there are.
        positions: How many of the last positions' logits `along` gives.

    Attributes:
        cache: The model's keys and values, once it has been asked for logits.
    """

    def __init__(
        self,
        causal: CausalModel,
        rows: Sequence[tuple[tuple[int, ...], Prefix | None, int]],
        *,
        positions: int = 1,
    ):
        import torch

        self._causal = causal
        adapted = getattr(causal.model, "get_base_model", None)
        plain = causal.model if adapted is None else adapted()
        keeps = "logits_to_keep" in inspect.signature(plain.forward).parameters
        self._positions = positions
        self._few = {"logits_to_keep": positions} if keeps else {}
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
        self.cache: Any = _cache([(prefix, length) for _, prefix, length in rows], before)

    def logits(self) -> "torch.Tensor":
        """Return the last position's logits, ``(rows, vocabulary)``, float32."""
        return self.along(use_cache=True)[:, -1].float()

    def along(self, *, use_cache: bool = False) -> "torch.Tensor":
        """Return the last positions' logits, ``(rows, positions, vocabulary)``.

        Args:
            use_cache: Whether to keep keys and values, for more tokens.
        """
        output = self._causal.model(
            input_ids=self._fed,
            attention_mask=self._mask,
            position_ids=self._places,
            past_key_values=self.cache,
            use_cache=use_cache,
            **self._few,
        )
        self.cache = output.past_key_values if use_cache else None
        kept: torch.Tensor = output.logits[:, -self._positions :]
        return kept

    def keep(self, rows: Sequence[int]) -> bool:
        """Go on with these rows alone; return whether the cache could part with the others."""
        import torch

        if _layers(self.cache) is None:
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

        if _layers(self.cache) is not None:
            make_room(self.cache)
        self._fed = tokens.to(self._mask.device)[:, None]
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        self._places = self._places[:, -1:] + 1


def read_prefix(
    causal: CausalModel, tokens: tuple[int, ...], base: Prefix | None, length: int
) -> Prefix | None:
    """Return a beginning, read once; None for a model whose memory is more than keys and values.

    Args:
        causal: The model.
        tokens: The beginning.
        base: Another, that it is computed from.
        length: How many tokens it shares with that; fewer than it has.
    """
    batch = PromptBatch(causal, [(tokens, base, length)])
    batch.logits()
    layers = _layers(batch.cache)
    if layers is None:
        return None
    return Prefix(tokens, [(layer.keys, layer.values) for layer in layers])


def _layers(cache: Any) -> Sequence[Any] | None:
    """Return a cache's layers if they hold a key and a value for every position, and no more."""
    from transformers.cache_utils import DynamicLayer

    layers = getattr(cache, "layers", [None])
    plain = (DynamicLayer, growing_layer())
    return layers if all(type(layer) in plain for layer in layers) else None


def _cache(rows: Sequence[tuple[Prefix | None, int]], before: int) -> Any:
    """Return the rows' beginnings as one cache, padded on the left to ``before`` positions."""
    known = next((prefix for prefix, length in rows if prefix is not None and length), None)
    if known is None:
        return None
    import torch
    from transformers import DynamicCache

    def joined(layer: int, part: int) -> torch.Tensor:
        own = [
            (known if prefix is None else prefix).layers[layer][part][:, :, :length]
            for prefix, length in rows
        ]
        gaps = [(0, 0, before - length, 0) for _, length in rows]
        return torch.cat(
            [torch.nn.functional.pad(one, gap) for one, gap in zip(own, gaps, strict=True)]
        )

    cache = DynamicCache()
    for layer in range(len(known.layers)):
        cache.update(joined(layer, 0), joined(layer, 1), layer)
    return cache
