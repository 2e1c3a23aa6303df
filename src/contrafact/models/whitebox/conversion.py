"""GGUF files as folders of safetensors, converted once; and LoRA adapters as GGUF files.

A GGUF file takes transformers half a minute to read; it is converted once and kept as
safetensors, bit-equal in float32, under the cache folder by the hash of its content.
"""

import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contrafact.errors import InputError
from contrafact.files.download import cache_dir
from contrafact.files.lock import locked_file
from contrafact.models.gguf import ADAPTER_FILE

__all__ = ["converted", "first_line", "merge_adapter", "quietly", "write_adapter"]

_ROTATED = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
"""Layers whose outputs llama.cpp keeps in another order, and how many heads they have."""
_TENSORS = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
_LAYOUT = "1"  # of a converted folder; counts up when what is stored in it changes


def converted(path: Path, cache: Path | None = None) -> Path:
    """Return the folder that holds a GGUF file as safetensors, converting it if it is not there.

    The folder is in ``cache``, else in `cache_dir`, and appears whole or not at all; of two
    processes that want the same file one waits for the other.

    Raises:
        InputError: If the file cannot be converted, or the folder cannot be written.
    """
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    root = cache or cache_dir() / "weights"
    target = root / f"{path.stem}-{digest}-{_LAYOUT}"
    if target.is_dir():
        return target
    try:
        with locked_file(target, wait=True), TemporaryDirectory(".part", ".", root) as draft:
            if not target.is_dir():
                folder = Path(draft) / "model"
                folder.mkdir()
                _convert(path, folder)
                folder.rename(target)
    except OSError as error:
        raise InputError(
            f"the converted weights cannot be written ({error.strerror or error})",
            file=root,
            hint="set CONTRAFACT_CACHE to a folder with room for four bytes per parameter",
        ) from error
    return target


def _convert(path: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with quietly():
            source = {"gguf_file": path.name, "local_files_only": True}
            tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
            model = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **source)
    except Exception as error:  # transformers raises what its parsers raise
        raise InputError(
            f"PyTorch cannot load this GGUF file ({first_line(error)})",
            file=path,
            hint="give the model as a folder of safetensors instead",
        ) from error
    # The weights are plain float32 now, but the marks of the quantiser forbid saving them.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    with quietly():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def write_adapter(folder: Path, config: Any) -> Path | None:
    """Write an adapter of a folder, as peft saves it, for llama.cpp; None where it cannot be.

    The matrix that reads a layer's input is stored in 8 bits, the other, whose rows are shorter
    than a block of them, in 16 of which the last six are zero, so that a wheel packs them to half:
    the two together are some 1% off.

    Args:
        config: Of the model that the adapter belongs to, as transformers has it; a Llama's.
    """
    if config.model_type != "llama":
        return None
    import gguf
    from safetensors.torch import load_file

    stated = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    path = folder / ADAPTER_FILE
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(stated["lora_alpha"]))
    eighth = gguf.GGMLQuantizationType.Q8_0
    for name, weights in sorted(load_file(folder / "adapter_model.safetensors").items()):
        # base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight
        *_, layer, _, module, side, _ = name.split(".")
        one = f"blk.{layer}.{_TENSORS[module]}.weight.{side.lower()}"
        values = weights.float().numpy()
        if side == "lora_B" and module in _ROTATED:
            heads = getattr(config, _ROTATED[module])
            halves = values.reshape(heads, 2, len(values) // heads // 2, -1)
            values = halves.swapaxes(1, 2).reshape(values.shape)
        if values.shape[-1] % 32:
            rounded = (values.astype("float16").view("uint16") + 32) & 0xFFC0
            writer.add_tensor(one, rounded.view("float16"))
        else:
            writer.add_tensor(one, gguf.quants.quantize(values, eighth), raw_dtype=eighth)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def merge_adapter(model: Any, path: Path) -> None:
    """Add an adapter of `write_adapter`'s to a model's weights; `InputError` if quantised."""
    import gguf
    import torch

    reader = gguf.GGUFReader(path)
    alpha = float(reader.fields["adapter.lora.alpha"].contents())
    values = {one.name: gguf.dequantize(one.data, one.tensor_type) for one in reader.tensors}
    for name, layer in model.named_modules():
        *_, place, _, module = f"..{name}".split(".")
        first = f"blk.{place}.{_TENSORS.get(module)}.weight.lora_a"
        if first not in values:
            continue
        if not layer.weight.is_floating_point():
            raise InputError("an adapter in GGUF belongs to weights that are not in 4 bits")
        inner, outer = values[first], values[f"{first[:-1]}b"].astype("float32")
        if module in _ROTATED:
            heads = getattr(model.config, _ROTATED[module])
            halves = outer.reshape(heads, len(outer) // heads // 2, 2, -1)
            outer = halves.swapaxes(1, 2).reshape(outer.shape)
        change = torch.from_numpy(outer @ inner * (alpha / len(inner)))
        layer.weight.data += change.to(layer.weight)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep transformers' own bars and warnings off the terminal, and give them back after."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", message="Could not find a config file")  # peft's
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def first_line(error: Exception) -> str:
    """Return the first line of what an exception says, or what it is."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
