"""On a GPU: batches as large as its memory takes, or halves of them."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from contrafact.errors import InputError
from contrafact.models.whitebox.weights import CausalModel

__all__ = ["MOST_ROWS", "batch_limit", "in_halves"]

MOST_ROWS = 256
"""Calls that share a batch on a GPU, where nothing else is said and its memory takes them."""

_SHARE = 0.6  # of the free memory; the rest is for what is not counted
_ROW_BYTES = 128  # a token's logit in float32 and float64, its noise, and what that is drawn by

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_logger = logging.getLogger(__name__)
_shares: dict[str, float] = {}  # of devices whose memory did not take what was counted


def batch_limit(causal: CausalModel) -> tuple[int, int] | None:
    """Return how many tokens a batch may hold, and as how many each row's logits count.

    From the memory that is free now, and the bytes that a token takes: keys and values, twice (they
    are copied where they grow), and what a layer makes of it. None for a model on the CPU.
    """
    if not causal.on_card:
        return None
    import torch

    free, _ = torch.cuda.mem_get_info(causal.device)
    # What PyTorch keeps for itself and does not use is free, too.
    free += torch.cuda.memory_reserved(causal.device) - torch.cuda.memory_allocated(causal.device)
    config = causal.model.config.get_text_config()
    heads, size = config.num_attention_heads, config.hidden_size
    kept = getattr(config, "num_key_value_heads", None) or heads
    kept *= getattr(config, "head_dim", None) or size // heads
    wide = getattr(config, "intermediate_size", None) or 4 * size
    token = causal.model.dtype.itemsize * (
        4 * config.num_hidden_layers * kept + 4 * wide + 8 * size
    )
    share = _shares.get(str(causal.device), _SHARE)
    return max(1, int(share * free) // token), -(-_ROW_BYTES * config.vocab_size // token)


def in_halves(
    causal: CausalModel,
    items: Sequence[_Item],
    work: Callable[[Sequence[_Item]], list[_Result]],
) -> list[_Result]:
    """Do work on all items, or where a GPU's memory is too small on halves; later ones, too.

    `InputError` where it does not take one item.
    """
    import torch

    try:
        return work(items)
    except torch.cuda.OutOfMemoryError as error:
        if len(items) < 2:
            raise InputError(
                f"the memory of {causal.device} does not take one text for {causal.name}",
                hint="shorten the text, ask for fewer tokens, or say precision=bfloat16",
            ) from error
    # What the failed work held is let go of with its error.
    torch.cuda.empty_cache()
    device = str(causal.device)
    if device not in _shares:
        _logger.warning("the memory of %s did not take a batch: going on with halves", device)
    _shares[device] = _shares.get(device, _SHARE) / 2
    middle = len(items) // 2
    return [
        done for part in (items[:middle], items[middle:]) for done in in_halves(causal, part, work)
    ]
