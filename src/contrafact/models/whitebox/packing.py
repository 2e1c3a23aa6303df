"""Prompts behind one beginning in one row: no padding, and what they share is computed once.

A rubric is kept (`contrafact.models.whitebox.kv_cache`). The prompts that go on from it are laid
into few rows, as trees: each token once, at its own position, attending to the tokens before it in
its prompt alone, so that responses that begin alike share that too. The last tokens of all prompts
stand at the end of the row, where logits are made.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contrafact.models.whitebox.kv_cache import (
    PromptBatch,
    ServedPrompt,
    common_length,
    prefix_cache,
)
from contrafact.models.whitebox.weights import CausalModel

if TYPE_CHECKING:
    import torch

_ROW = 384  # tokens of a row, about: a token is held against all of its row, seen or not
_KINDS = frozenset({"gpt2", "llama", "qwen2", "qwen3"})


@dataclass
class Packed:
    """Some prompts' tokens in one row, behind ``length`` tokens of a beginning.

    Attributes:
        prompts: Which prompts, by number.
        tokens: Each of their other tokens once, but for their last, with its place in its prompt.
        paths: For each prompt, where its tokens but the last stand in the row, in order.
    """

    length: int
    prompts: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    paths: list[list[int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """All tokens of the row, the prompts' last included."""
        return len(self.tokens) + len(self.prompts)


def packed(rows: Sequence[ServedPrompt], context: int = sys.maxsize) -> list[Packed]:
    """Lay prompts that go on from the same beginning into common rows.

    A row has at most ``context`` tokens, those of the beginning and the prompts' last included,
    unless one prompt alone has more.
    """
    groups: list[Packed] = []
    kind: tuple[int, int] | None = None
    before: tuple[int, ...] = ()
    order = sorted(range(len(rows)), key=lambda n: (id(rows[n][1]), rows[n][2], rows[n][0]))
    for number in order:
        tokens, prefix, length = rows[number]
        own = tokens[length:-1]
        # In order, none before shares more with it than the last.
        shared = common_length(before, own)
        if kind != (id(prefix), length) or (
            groups[-1].size + len(own) - shared + 1 > min(_ROW, context - length)
        ):
            groups.append(Packed(length))
            kind, shared = (id(prefix), length), 0
        group = groups[-1]
        known = group.paths[-1][:shared] if shared else []
        group.paths.append(
            [*known, *range(len(group.tokens), len(group.tokens) + len(own) - shared)]
        )
        group.prompts.append(number)
        group.tokens += own[shared:]
        group.places += range(length + shared, length + len(own))
        before = own
    return groups


def last_logits(
    causal: CausalModel, rows: Sequence[ServedPrompt], check: Callable[[], None] = lambda: None
) -> "torch.Tensor":
    """Return the logits after each prompt, ``(prompts, vocabulary)``, float32; see `can_pack`.

    ``check`` is called before each pass through the model; what it raises ends the work.
    """
    import torch

    order, found = [], []
    for group in packed(rows, causal.context):
        check()
        # One row at a time: what a layer makes of it stays in the caches.
        own = [rows[number] for number in group.prompts]
        alone = len(own) == 1
        found.append(PromptBatch(causal, own).logits() if alone else _after(causal, group, own))
        order += group.prompts
    return torch.cat(found)[torch.tensor(order).argsort()]


def _after(causal: CausalModel, group: Packed, rows: Sequence[ServedPrompt]) -> "torch.Tensor":
    """Return the logits after each prompt of a row, ``(prompts, vocabulary)``, float32."""
    import torch

    ends = [tokens[-1] for tokens, _, _ in rows]
    places = group.places + [len(tokens) - 1 for tokens, _, _ in rows]
    first, count, length = len(group.tokens), len(places), group.length
    unseen = torch.finfo(causal.model.dtype).min
    mask = torch.full((1, 1, count, length + count), unseen, dtype=causal.model.dtype)
    mask[..., :length] = 0
    for number, path in enumerate(group.paths):
        at = torch.tensor([*path, first + number])
        mask[0, 0, at[:, None], length + at] = torch.full((len(at),) * 2, unseen).triu(1)
    output: Any = causal.model(
        input_ids=torch.tensor([group.tokens + ends]),
        attention_mask=mask,
        position_ids=torch.tensor([places]),
        past_key_values=prefix_cache([(rows[0][1], length)], length),
        use_cache=length > 0,
        logits_to_keep=len(rows),
    )
    logits: torch.Tensor = output.logits[0, -len(rows) :].float()
    return logits


def can_pack(causal: CausalModel) -> bool:
    """Tell whether a model reads prompts in one row as it reads them apart.

    Those of some kinds do, whose settings name no window; on the CPU and in float32 it is faster.
    """
    import torch

    config = causal.model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or ()
    return (
        causal.device.type == "cpu"
        and causal.model.dtype == torch.float32
        and config.model_type in _KINDS
        and all(kind == "full_attention" for kind in kinds)
    )
