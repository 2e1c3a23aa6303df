"""Products with a model's weights on the CPU, in the widest instructions that the processor has.

PyTorch multiplies float32 matrices by MKL, which keeps to half of the width of AVX-512 on AMD's
processors, and reads every weight anew for a few rows. oneDNN, which PyTorch brings along, does
neither, once the weights lie in its own order. It adds up all of an output's products in one go,
however, where MKL adds up stretches of 192 and then those: over a deep model the one is four times
as far from float64 as the other. So weights are laid out here in stretches too, no longer than
leaves both equally near. On other processors this is slower, and left alone.

Only inference is answered so; a model whose weights are to change is loaded without.
"""

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["onednn_serves", "pack_products"]

_STRETCH = 384  # at most so many inputs' products are added up in one go
_FEW = 16  # rows below which PyTorch's own product is as fast
_MOST = 2**29  # weights of a model; their second copy takes four bytes each


class PackedLinear(torch.nn.Linear):
    """A linear layer's weights, and a copy of them in oneDNN's order once it has needed one.

    The copy is of the weights as they were, and made again when they were written since. It goes
    into no copy and no pickle of the layer: PyTorch can read no such tensor.
    """

    _copy: "tuple[tuple[int, int], list[Tensor]] | None" = None

    def __init__(self, layer: torch.nn.Linear):
        torch.nn.Module.__init__(self)  # without weights of its own, which are the layer's
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias
        self.train(layer.training)

    def forward(self, input: "Tensor") -> "Tensor":
        """Return the layer's outputs, ``(…, inputs)`` to ``(…, outputs)``."""
        weight = self.weight
        if (
            not torch.is_inference_mode_enabled()
            or input.numel() < _FEW * self.in_features
            or weight.dtype != torch.float32  # moved or converted since it was loaded
            or weight.device.type != "cpu"
            or weight.is_inference()  # its writes are not counted
        ):
            return super().forward(input)
        stretch = -(-self.in_features // -(-self.in_features // _STRETCH))  # about equal ones
        version = (weight.data_ptr(), weight._version)
        if self._copy is None or self._copy[0] != version:
            parts = torch.split(weight.detach(), stretch, dim=1)
            reorder = torch.ops.mkldnn._reorder_linear_weight
            self._copy = version, [reorder(part.contiguous(), None) for part in parts]
        products = [
            torch.ops.mkldnn._linear_pointwise(part, packed, None, "none", [], "")
            for part, packed in zip(torch.split(input, stretch, dim=-1), self._copy[1], strict=True)
        ]
        outputs: Tensor = products[0]
        for addend in products[1:] if self.bias is None else [*products[1:], self.bias]:
            outputs.add_(addend)
        return outputs

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._copy = None  # converted weights may lie where those before them did
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_copy"}


def pack_products(model: Any) -> None:
    """Let a float32 model's linear layers on the CPU multiply by oneDNN where `onednn_serves`.

    Each takes the memory of its weights once more when it is first used so. Models with more than
    half a billion weights in such layers stay as they are.
    """
    if not onednn_serves():
        return
    layers = {name: one for name, one in model.named_modules() if type(one) is torch.nn.Linear}
    if sum(layer.weight.numel() for layer in layers.values()) > _MOST:
        return
    for name, layer in layers.items():
        model.set_submodule(name, PackedLinear(layer))


def onednn_serves() -> bool:
    """Tell whether the copy in oneDNN's order is faster here: on AMD's processors with AVX-512.

    On Intel's with AVX-512, where MKL has the full width, it was a tenth slower, as without.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    listed = Path("/proc/cpuinfo")
    maker = listed.read_text("utf-8", "replace") if listed.exists() else platform.processor()
    return (
        "AuthenticAMD" in maker
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )
