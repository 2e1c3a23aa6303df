"""Products with a model's weights on the CPU, in the widest instructions that the processor has.

PyTorch multiplies float32 matrices by MKL, which keeps to half of the width of AVX-512 on
processors other than Intel's, and reads every weight anew for a few rows. oneDNN, which PyTorch
brings along, does neither, once the weights lie in its own order. It adds up all of an output's
products in one go, however, where MKL adds up stretches of 192 and then those: over a deep model
the one is four times as far from float64 as the other. So weights are laid out here in stretches
too, no longer than leaves both equally near. Without AVX-512 this is slower, and left alone.

Only inference is answered so, and a model whose weights are to change is given its plain layers
back.
"""

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["pack_products", "unpack_products"]

_STRETCH = 384  # at most so many inputs' products are added up in one go
_FEW = 16  # rows below which PyTorch's own product is as fast
_MOST = 2**29  # weights of a model; their second copy takes four bytes each


class PackedLinear(torch.nn.Linear):
    """A linear layer that keeps a copy of its weights in oneDNN's order, once it has needed one."""

    _copy: "list[Tensor] | None" = None

    def forward(self, input: "Tensor") -> "Tensor":
        """Return the layer's outputs, ``(…, inputs)`` to ``(…, outputs)``."""
        if not torch.is_inference_mode_enabled() or input.numel() < _FEW * self.in_features:
            return super().forward(input)
        stretch = -(-self.in_features // -(-self.in_features // _STRETCH))  # about equal ones
        if self._copy is None:
            self._copy = [
                torch.ops.mkldnn._reorder_linear_weight(part.contiguous(), None)
                for part in torch.split(self.weight.detach(), stretch, dim=1)
            ]
        products = [
            torch.ops.mkldnn._linear_pointwise(part, weight, None, "none", [], "")
            for part, weight in zip(torch.split(input, stretch, dim=-1), self._copy, strict=True)
        ]
        made: Tensor = products[0]
        for more in products[1:] if self.bias is None else [*products[1:], self.bias]:
            made.add_(more)
        return made


def pack_products(model: Any) -> None:
    """Let a float32 model's linear layers on the CPU multiply by oneDNN where that serves.

    Each takes the memory of its weights once more when it is first used so. Models with more than
    half a billion weights in such layers stay as they are, as does everything where PyTorch has no
    oneDNN, or the processor no AVX-512.
    """
    if not _serves():
        return
    layers = [one for one in model.modules() if type(one) is torch.nn.Linear]
    if sum(one.weight.numel() for one in layers) > _MOST:
        return
    for layer in layers:
        layer.__class__ = PackedLinear


def _serves() -> bool:
    return (
        torch.backends.cpu.get_cpu_capability() == "AVX512"
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def unpack_products(model: Any) -> None:
    """Make a model's layers plain again, in place, for whoever is going to change its weights."""
    layers: list[Any] = [one for one in model.modules() if type(one) is PackedLinear]
    for layer in layers:
        layer.__dict__.pop("_copy", None)
        layer.__class__ = torch.nn.Linear
