"""Prompts behind one beginning in one row: no padding, and what they share is computed once.

A rubric is kept (`contrafact.models.whitebox.kv_cache`). The prompts that go on from it are laid
into few rows, as trees: each token once, at its own position, attending to the tokens before it in
its prompt alone, so that responses that begin alike share that too. The last tokens of all prompts
stand at the end of the row, where logits are made.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contrafact.models.whitebox.kv_cache import (
    Prefix,
    PromptBatch,
    ServedPrompt,
    common_length,
    forward_parameters,
    plain_layers,
    prefix_cache,
)
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

__all__ = ["Packed", "can_pack", "last_logits", "packed"]

_ROW = 384  # tokens of a row, about: a token is held against all of its row, seen or not
_FULL = "full_attention"
# What settings call a stretch of tokens that attention does not reach past.
_WINDOWS = ("sliding_window", "window_size", "attention_window", "attention_chunk_size")
_LOST = 16  # tokens of a beginning that are read again so that prompts may share a row
_PROBE = tuple((*(0, 1, 2, 3) * 2, 1, *end) for end in ((1, 3), (1, 2, 2), (3,)))  # of any model


@dataclass(frozen=True)
class Packed:
    """Some prompts' tokens in one row.

    Attributes:
        prompts: Which prompts, by number.
        length: How many tokens of the beginning serve all of them.
        tokens: Each other token once; the last tokens of the prompts come last, in their order.
        paths: For each prompt, where its tokens stand in the row, in order.
    """

    prompts: tuple[int, ...]
    length: int
    tokens: tuple[int, ...]
    places: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]


def packed(rows: Sequence[ServedPrompt], context: int = sys.maxsize) -> list[Packed]:
    """Lay prompts that go on from the same beginning into common rows, about equally long.

    A row has at most ``context`` tokens, those of the beginning included, unless one prompt alone
    has more.
    """
    order = sorted(range(len(rows)), key=lambda n: (id(rows[n][1]), rows[n][2]))
    kinds: list[list[int]] = []
    for number in order:
        _, prefix, length = rows[number]
        if kinds:
            _, same, least = rows[kinds[-1][0]]
            if same is prefix and length - least <= _LOST:
                kinds[-1].append(number)
                continue
        kinds.append([number])
    groups: list[Packed] = []
    for numbers in kinds:
        length = rows[numbers[0]][2]
        numbers.sort(key=lambda number: rows[number][0])
        whole = _laid_out(rows, numbers, length)
        most = max(1, min(_ROW, context - length))
        size = -(-len(whole.tokens) // -(-len(whole.tokens) // most))
        group = whole if size == len(whole.tokens) else _laid_out(rows, numbers[:1], length)
        for number in numbers[len(group.prompts) :]:
            more = _laid_out(rows, [*group.prompts, number], length)
            if len(more.tokens) > size:
                groups.append(group)
                more = _laid_out(rows, [number], length)
            group = more
        groups.append(group)
    return groups


def _laid_out(rows: Sequence[ServedPrompt], group: Sequence[int], length: int) -> Packed:
    """Return some prompts, in order of their tokens, as a tree in one row."""
    tokens: list[int] = []
    places: list[int] = []
    paths: list[list[int]] = []
    before: tuple[int, ...] = ()
    for number in group:
        own = rows[number][0][length:-1]  # the last token stands apart, at the row's end
        # In order, none before shares more with it than the last.
        shared = common_length(before, own)
        known = paths[-1][:shared] if paths else []
        paths.append([*known, *range(len(tokens), len(tokens) + len(own) - shared)])
        tokens += own[shared:]
        places += range(length + shared, length + len(own))
        before = own
    for number, path in zip(group, paths, strict=True):
        path.append(len(tokens))
        tokens.append(rows[number][0][-1])
        places.append(len(rows[number][0]) - 1)
    return Packed(tuple(group), length, tuple(tokens), tuple(places), tuple(map(tuple, paths)))


def last_logits(
    causal: CausalModel, rows: Sequence[ServedPrompt], check: Callable[[], None] = lambda: None
) -> "torch.Tensor":
    """Return the logits after each prompt, ``(prompts, vocabulary)``, float32; see `can_pack`.

    ``check`` is called before each pass through the model; what it raises ends the work.
    """
    import torch

    result: torch.Tensor | None = None
    for group in packed(rows, causal.context):
        check()
        # One row at a time: what a layer makes of it stays in the caches.
        logits = _after(causal, group, rows[group.prompts[0]][1])
        if result is None:
            result = logits.new_empty((len(rows), logits.shape[-1]))
        result[list(group.prompts)] = logits
    assert result is not None
    return result


def _after(causal: CausalModel, group: Packed, prefix: Prefix | None) -> "torch.Tensor":
    """Return the logits after each prompt of a row, ``(prompts, vocabulary)``, float32."""
    import torch

    if len(group.prompts) == 1:
        whole = (*(() if prefix is None else prefix.tokens[: group.length]), *group.tokens)
        return PromptBatch(causal, [(whole, prefix, group.length)]).logits()
    count, length = len(group.tokens), group.length
    unseen = torch.finfo(causal.model.dtype).min
    mask = torch.full((1, 1, count, length + count), unseen, dtype=causal.model.dtype)
    mask[..., :length] = 0
    for path in group.paths:
        at = torch.tensor(path)
        mask[0, 0, at[:, None], length + at] = torch.full((len(path),) * 2, unseen).triu(1)
    output: Any = causal.model(
        input_ids=torch.tensor([group.tokens]),
        attention_mask=mask,
        position_ids=torch.tensor([group.places]),
        past_key_values=prefix_cache([(prefix, length)], length),
        use_cache=length > 0,
        logits_to_keep=len(group.prompts),
    )
    logits: torch.Tensor = output.logits[0, -len(group.prompts) :].float()
    return logits


def can_pack(causal: CausalModel) -> bool:
    """Tell whether a model reads prompts in one row as it reads them apart.

    Three short prompts are tried. Models whose settings name a window are refused untried, since
    short prompts do not reach past one; so are other devices and precisions: a GPU would rather
    have all prompts at once.
    """
    import torch

    if causal.device.type != "cpu" or causal.model.dtype != torch.float32:
        return False
    if not {"attention_mask", "position_ids", "logits_to_keep"} <= forward_parameters(causal):
        return False
    config = causal.model.config.get_text_config()
    windows = (getattr(config, name, None) for name in _WINDOWS)
    kinds = getattr(config, "layer_types", None) or ()
    if any(size is not None for size in windows) or any(kind != _FULL for kind in kinds):
        return False
    rows: list[ServedPrompt] = [(tokens, None, 0) for tokens in _PROBE]
    try:
        with torch.inference_mode():
            batch = PromptBatch(causal, rows)
            apart = batch.logits()
            if not plain_layers(batch.cache):
                return False
            together = last_logits(causal, rows)
    except Exception:  # noqa: BLE001 - what it cannot do at all it is not asked to do
        return False
    return bool(torch.allclose(apart, together, rtol=1e-3, atol=1e-3))
