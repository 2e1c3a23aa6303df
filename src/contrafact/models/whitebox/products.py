"""Products with a model's weights on the CPU, in the widest instructions that the processor has.

PyTorch multiplies float32 matrices by MKL, which keeps to half of the width of AVX-512 on
processors other than Intel's, and reads every weight anew for a few rows. oneDNN, which PyTorch
brings along, does neither, once the weights lie in its own order. It adds up all of an output's
products in one go, however, where MKL adds up stretches of 192 and then those: over a deep model
the one is four times as far from float64 as the other. So weights are laid out here in stretches
too, no longer than leaves both equally near. Without AVX-512 this is slower, and left alone.

Layers whose gradients are wanted, other precisions and other devices go PyTorch's own way, and a
model that is to be trained is given its plain layers back.
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
    """A linear layer that keeps a copy of its weights in oneDNN's order, once it has needed one.

    It is a plain layer for all that is trained, saved or moved; the copy is never saved. Weights
    that are written to are noticed, but not by way of ``.data``: see `unpack_products`.
    """

    _kept: "tuple[Any, list[Tensor] | None] | None" = None
    """What the weights were when they were copied, and the copy; none of weights that changed."""

    def forward(self, input: "Tensor") -> "Tensor":
        """Return the layer's outputs, ``(…, inputs)`` to ``(…, outputs)``."""
        copy = self._copy_for(input)
        if copy is None:
            return super().forward(input)
        products = [
            torch.ops.mkldnn._linear_pointwise(part, weight, None, "none", [], "")
            for part, weight in zip(torch.split(input, self._stretch, dim=-1), copy, strict=True)
        ]
        made: Tensor = products[0]
        for more in products[1:] if self.bias is None else [*products[1:], self.bias]:
            made.add_(more)
        return made

    def _copy_for(self, input: "Tensor") -> "list[Tensor] | None":
        weight = self.weight
        if not (
            input.device.type == weight.device.type == "cpu"
            and input.dtype == weight.dtype == torch.float32
            and input.numel() >= _FEW * self.in_features
            and not torch.is_autocast_enabled("cpu")
            and not (torch.is_grad_enabled() and (input.requires_grad or weight.requires_grad))
        ):
            return None
        written = 0 if weight.is_inference() else weight._version
        state = (weight.data_ptr(), written, weight.shape)
        kept = self._kept  # looked at once: another thread may be at it
        if kept is None:
            kept = self._kept = (state, self._copied())
        elif kept[0] != state:  # weights that are changed once will be again
            kept = self._kept = (None, None)
        return kept[1]

    def _copied(self) -> "list[Tensor]":
        with torch.inference_mode():
            return [
                torch.ops.mkldnn._reorder_linear_weight(part.contiguous(), None)
                for part in torch.split(self.weight.detach(), self._stretch, dim=1)
            ]

    @property
    def _stretch(self) -> int:
        """The length of the stretches that its inputs are cut into, about equal."""
        return -(-self.in_features // -(-self.in_features // _STRETCH))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.__dict__.pop("_kept", None)
        return super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call]


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
        layer.__dict__.pop("_kept", None)
        layer.__class__ = torch.nn.Linear
