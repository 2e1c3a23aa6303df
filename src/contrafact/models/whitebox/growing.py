"""Keys and values of a text that is being written, with room for what comes next."""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["growing_layer", "make_room"]

_ROOM = 64  # positions; beyond them all is copied once more


def make_room(kept: Any) -> None:
    """Let a cache of plain layers grow in place, instead of being copied for every token."""
    from transformers.cache_utils import DynamicLayer

    for place, layer in enumerate(kept.layers):
        if type(layer) is DynamicLayer:
            kept.layers[place] = growing_layer()(layer)


@cache
def growing_layer() -> Any:
    """Return the class of a cache's layer that grows in place."""
    from transformers.cache_utils import DynamicLayer

    class GrowingLayer(DynamicLayer):  # type: ignore[misc]
        """A layer whose keys and values are the first part of a longer piece of memory."""

        def __init__(self, layer: DynamicLayer):
            super().__init__()
            self.lazy_initialization(layer.keys, layer.values)
            self.keys, self.values = layer.keys, layer.values
            self._held: tuple[torch.Tensor, torch.Tensor] | None = None
            self._shown: torch.Tensor | None = None

        def update(
            self, key_states: "torch.Tensor", value_states: "torch.Tensor", *_: Any, **__: Any
        ) -> "tuple[torch.Tensor, torch.Tensor]":
            """Append keys and values, ``(rows, heads, positions, size)``; return all of them."""
            start = self.keys.shape[-2]
            stop = start + key_states.shape[-2]
            room = 0 if self._held is None else self._held[0].shape[-2]
            # Whoever chose rows or cropped made other tensors, which have no room behind them.
            if self._held is None or self.keys is not self._shown or stop > room:
                self._held = (_roomy(self.keys, stop), _roomy(self.values, stop))
            keys, values = self._held
            keys[:, :, start:stop] = key_states
            values[:, :, start:stop] = value_states
            self.keys, self.values = keys[:, :, :stop], values[:, :, :stop]
            self._shown = self.keys
            return self.keys, self.values

    return GrowingLayer


def _roomy(known: "torch.Tensor", length: int) -> "torch.Tensor":
    rows, heads, there, size = known.shape
    held = known.new_empty((rows, heads, length + _ROOM, size))
    held[:, :, :there] = known
    return held
