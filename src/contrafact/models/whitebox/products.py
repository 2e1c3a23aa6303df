"""Matrix products with a model's weights on the CPU, in the processor's widest instructions.

PyTorch multiplies float32 matrices by MKL, which on AMD's processors uses only half the width of
AVX-512, and reads every weight again for each few rows. oneDNN, which PyTorch includes, does
neither if the weights are in its own memory layout. But it adds up all products of an output in one
sum, where MKL adds up blocks of 192 and then the blocks: over a deep model its error against
float64 is four times as large. So the weights are split into blocks here, too, short enough for an
equal error. On other processors this is slower and not used.

It is used for inference only; a model whose weights are to change is loaded without it.
"""

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

_STRETCH = 384  # the most products that are added up in one block
_FEW = 16  # rows below which PyTorch's own product is as fast
_MOST = 2**29  # weights of a model; their second copy takes four bytes each


class PackedLinear(torch.nn.Linear):
    """A linear layer with a second copy of its weights in oneDNN's layout, made at first use.

    The copy is made again when the weights have changed. Copies and pickles of the layer leave it
    out, since PyTorch cannot read such a tensor.
    """

    _copy: "tuple[tuple[int, int], list[Tensor]] | None" = None

    def __init__(self, layer: torch.nn.Linear):
        torch.nn.Module.__init__(self)  # Linear's would allocate new weights
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
            or weight.is_inference()  # changes of inference tensors are not counted
        ):
            return super().forward(input)
        stretch = -(-self.in_features // -(-self.in_features // _STRETCH))  # of equal blocks
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
        self._copy = None  # converted weights may have the old address
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_copy"}


def pack_products(model: Any) -> None:
    """Replace a model's linear layers by `PackedLinear` if `onednn_serves`.

    Each takes the memory of its weights once more at its first use. Models with more than half a
    billion weights in such layers stay unchanged.
    """
    if not onednn_serves():
        return
    layers = {name: one for name, one in model.named_modules() if type(one) is torch.nn.Linear}
    if sum(layer.weight.numel() for layer in layers.values()) > _MOST:
        return
    for name, layer in layers.items():
        model.set_submodule(name, PackedLinear(layer))


def onednn_serves() -> bool:
    """Return whether the copy in oneDNN's layout is faster here: on AMD's processors with AVX-512.

    It was a tenth slower on Intel's with AVX-512, where MKL uses the full width, and on processors
    without AVX-512.
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
