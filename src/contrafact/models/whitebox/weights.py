"""Causal language models in PyTorch: by name, from a folder, or from a GGUF file.

`shared_causal` loads each model once per process. Since transformers needs half a minute to read a
GGUF file, it is converted once to safetensors, bit-equal in float32, in the cache folder under the
hash of its content. LoRA adapters are read from and written to GGUF files as well. For local files
no hub is asked.
"""

import hashlib
import importlib.util
import json
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, get_args

from contrafact.errors import InputError
from contrafact.files.download import cache_dir
from contrafact.files.hub import asked_of_hub, hub_api
from contrafact.files.lock import locked_file
from contrafact.models.gguf import (
    ADAPTER_FILE,
    FROM_WEIGHTS,
    SMOLLM2,
    check_gguf,
    gguf_path,
    is_pathlike,
    plain_name,
    shipped_adapter,
)

if TYPE_CHECKING:
    import torch

__all__ = [
    "ADAPTER_WEIGHTS",
    "WEIGHTS_HINT",
    "CausalModel",
    "adapter_parts",
    "check_causal",
    "load_causal",
    "quietly",
    "weights_name",
    "write_adapter",
]

WEIGHTS_HINT = (
    "use embedded/smollm2-135m, or whitebox/ or hf/ with a model's folder or name on the hub"
)
"""The hint for a model without local weights."""

Precision = Literal["float32", "bfloat16", "float16", "4bit"]

_CONFIG, _ADAPTER = "config.json", "adapter_config.json"  # a model's folder has one of them
ADAPTER_WEIGHTS = "adapter_model.safetensors"
"""The file in which peft keeps an adapter."""
_FOLDER_HINT = "name a folder that holds config.json, a tokenizer and safetensors, all whole"


_ROTATED = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
"""Layers whose outputs llama.cpp keeps in another order, and the config's number of their heads."""
_TENSORS = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
_LAYOUT = "1"  # version of a converted folder's content


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A causal language model, ready to score.

    Attributes:
        name: The name by which it was loaded.
        model: The transformers model, in evaluation mode; float32 unless asked for otherwise.
        start_token: The id of the token before a text, from `text_start`.
        context: The most tokens that it reads at once.
    """

    name: str
    model: Any
    tokenizer: Any
    device: "torch.device"
    start_token: int
    context: int


def load_causal(
    name: str, *, device: str | None = None, precision: Precision = "float32", packed: bool = True
) -> CausalModel:
    """Load a causal language model.

    Args:
        name: ``smollm2-135m`` or ``embedded/smollm2-135m`` (the embedded weights), a GGUF file, a
            folder as ``save_pretrained`` writes it (a LoRA adapter's too, which is merged into the
            model that it names), or the name of a model on the Hugging Face hub (``gpt2``), which
            is downloaded if it is not in the hub's own cache.
        device: PyTorch's name of the device; a GPU if there is one, else the CPU.
        precision: How the weights are kept. ``4bit`` needs a GPU and bitsandbytes.
        packed: Whether layers may keep a second copy of their weights (`products`); False if the
            weights are to change.

    Raises:
        InputError: If the model does not exist or load, or is not a causal language model,
            if a package or the device is missing, or for 4 bits without a GPU.
    """
    name, found = check_causal(name)
    check_precision(precision, device)
    placed = _placed_device(device)
    with quietly():
        model, tokenizer = _loaded_pair(name, found, _loading_options(precision, placed))
    start = text_start(tokenizer)
    if start is None:
        raise InputError(f"the tokenizer of {name} has neither a start nor an end token")
    context = _context_of(model, tokenizer)
    # 4-bit weights are already on the device, and cannot be moved.
    model = model.eval() if precision == "4bit" else model.eval().to(placed)
    if packed and precision == "float32" and placed.type == "cpu":
        from contrafact.models.whitebox.products import pack_products

        pack_products(model)
    return CausalModel(
        name=name,
        model=model,
        tokenizer=tokenizer,
        device=placed,
        start_token=int(start),
        context=context,
    )


_TURNS = frozenset({"<|im_start|>", "<|im_end|>"})
"""The tokens that open and close a turn of a conversation (ChatML), but no plain text."""
_BETWEEN_TEXTS = "<|endoftext|>"
"""The token between two texts in the pre-training of GPT-2, SmolLM2, Qwen and similar models."""


def text_start(tokenizer: Any) -> int | None:
    """Return the token that came before each text in a model's training, or None.

    It is the tokenizer's start token, or without one its end token. For a chat model, whose
    tokenizer names the marker of a turn instead, it is the token between two texts.
    """
    start = tokenizer.bos_token if tokenizer.bos_token is not None else tokenizer.eos_token
    if start in _TURNS and _BETWEEN_TEXTS in tokenizer.get_vocab():
        start = _BETWEEN_TEXTS
    return None if start is None else int(tokenizer.convert_tokens_to_ids(start))


_loaded: dict[tuple[str, str | None, Precision], CausalModel] = {}
_loading = threading.Lock()


def shared_causal(
    name: str, *, device: str | None = None, precision: Precision = "float32"
) -> CausalModel:
    """Return a model, loaded once in this process; see `load_causal`. Blocking."""
    name = same = plain_name(name)
    if is_pathlike(name) or Path(name).is_dir():
        same = os.path.realpath(Path(name).expanduser())
    key = (same, device, precision)
    with _loading:
        if key not in _loaded:
            _loaded[key] = load_causal(name, device=device, precision=precision)
        return _loaded[key]


def weights_name(model: str) -> str | None:
    """Return the name for `load_causal` of an Inspect model's weights; None for a service."""
    name = model.partition("/")[2]
    return name if name and model.startswith(FROM_WEIGHTS) else None


def check_precision(precision: Precision, device: str | None = None) -> None:
    """Raise an `InputError` if a precision is unknown, or lacks a GPU or a package."""
    if precision not in get_args(Precision):
        known = ", ".join(get_args(Precision))
        raise InputError(f"the precision of weights is one of {known}, not {precision!r}")
    if precision != "4bit":
        return
    import torch

    if not torch.cuda.is_available() or (device or "cuda").partition(":")[0] != "cuda":
        raise InputError(
            "4-bit weights need a GPU, and this model would run on the CPU",
            hint="leave the precision at float32, or name a smaller model",
        )
    if importlib.util.find_spec("bitsandbytes") is None:
        problem = "4-bit weights need bitsandbytes, which is not installed"
        raise InputError(problem, hint="run: pip install bitsandbytes")


def check_causal(name: str) -> tuple[str, Path | None]:
    """Check a model's packages, path and kind of folder, without loading it or asking the hub.

    Returns:
        Its plain name, and its file or folder; None if it may be on the hub.

    Raises:
        InputError: If `load_causal` would fail for one of these.
    """
    _check_packages()
    name = plain_name(name)
    shipped = gguf_path(name) if name == SMOLLM2 else shipped_adapter(name)
    path = shipped or Path(name).expanduser()
    if path.is_dir():
        if not any((path / file).is_file() for file in (_CONFIG, _ADAPTER)):
            raise InputError(
                f"no causal language model can be loaded from {name} (it holds no {_CONFIG})",
                hint=_FOLDER_HINT,
            )
    elif path.exists():
        check_gguf(path)
    elif is_pathlike(name) or len(Path(name).parts) > 2:  # a name on the hub has one slash at most
        hint = (
            "name a model's folder or a GGUF file by its path, or a model on the Hugging Face hub"
        )
        raise InputError("there is no such file or folder", file=path, hint=hint)
    else:
        return name, None
    return name, path


def _placed_device(device: str | None) -> "torch.device":
    """Return the device of this name, or the best available one."""
    import torch

    try:
        placed = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=placed)
    except (RuntimeError, AssertionError) as error:  # AssertionError: PyTorch has no CUDA
        raise InputError(
            f"PyTorch cannot use the device {device!r} ({_first_line(error)})",
            hint="name a device that is available here, such as cpu or cuda, or leave it out",
        ) from error
    return placed


def _loading_options(precision: Precision, device: "torch.device") -> dict[str, Any]:
    import torch

    if precision != "4bit":
        return {"dtype": getattr(torch, precision)}
    from transformers import BitsAndBytesConfig

    small = BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
    )
    return {"dtype": torch.bfloat16, "quantization_config": small, "device_map": {"": device}}


def _loaded_pair(name: str, found: Path | None, options: dict[str, Any]) -> tuple[Any, Any]:
    if found is None:
        return _from_hub(name, options)
    folder = converted(found) if found.is_file() else found
    try:
        if not (folder / _CONFIG).is_file():
            return _adapted(folder, options)
        return _pretrained(folder, options, local_files_only=True)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"no causal language model can be loaded from {name} ({_first_line(error)})",
            hint=_FOLDER_HINT,
        ) from error


def _adapted(folder: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    """Load the model that a LoRA adapter was trained on, with the adapter merged into it."""
    by_peft = (folder / ADAPTER_WEIGHTS).is_file() or not (folder / ADAPTER_FILE).is_file()
    if by_peft and importlib.util.find_spec("peft") is None:
        raise InputError(
            "this folder holds an adapter, and peft, which reads it, is not installed",
            file=folder,
            hint="run: pip install 'contrafact[train]'",
        )
    from transformers import AutoTokenizer

    stated = json.loads((folder / _ADAPTER).read_text(encoding="utf-8"))
    base = check_causal(str(stated["base_model_name_or_path"]))
    model, tokenizer = _loaded_pair(*base, options)
    if (folder / "tokenizer_config.json").is_file():
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if not by_peft:
        _merge_adapter(model, folder / ADAPTER_FILE)
        return model, tokenizer
    from peft import PeftModel

    return PeftModel.from_pretrained(model, folder).merge_and_unload(), tokenizer


def _from_hub(name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    try:
        return _pretrained(name, options, local_files_only=True)
    except (OSError, ValueError):  # not in the hub's own cache
        pass
    problem = f"the model {name} is neither on this machine nor available from the hub"
    hint = "check the name, or give a folder or a GGUF file by its path"
    try:
        # Ask for its information first: this fails at once; downloads are retried for a minute.
        asked_of_hub(lambda: hub_api().model_info(name, timeout=10), "model", name, source=name)
        return _pretrained(name, options, local_files_only=False)
    except InputError as error:
        raise InputError(f"{problem} ({error.problem})", hint=hint) from error
    except Exception as error:
        raise InputError(f"{problem} ({_first_line(error)})", hint=hint) from error


def _pretrained(
    source: str | Path, options: dict[str, Any], *, local_files_only: bool
) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_files_only)
    return AutoModelForCausalLM.from_pretrained(
        source, local_files_only=local_files_only, **options
    ), tokenizer


def _context_of(model: Any, tokenizer: Any) -> int:
    stated = [
        getattr(model.config, "max_position_embeddings", None),
        getattr(tokenizer, "model_max_length", None),  # a huge number where it is unknown
    ]
    known = [int(value) for value in stated if value is not None and 0 < value < 10**9]
    if not known:
        raise InputError("the model's config has no context length, to which texts must be cut")
    return min(known)


def _check_packages() -> None:
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"white-box work needs {' and '.join(missing)}: not installed here",
            hint="run: pip install 'contrafact[whitebox]'",
        )


def converted(path: Path, cache: Path | None = None) -> Path:
    """Return the folder that holds a GGUF file as safetensors, converting it if it is not there.

    The folder is in ``cache``, by default `cache_dir`, and appears only when it is complete; of two
    processes that convert the same file one waits for the other.

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
    except Exception as error:  # transformers passes on its parsers' errors
        raise InputError(
            f"PyTorch cannot load this GGUF file ({_first_line(error)})",
            file=path,
            hint="give the model as a folder of safetensors instead",
        ) from error
    # The weights are plain float32 now, but the quantiser's attributes forbid saving them.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    with quietly():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def write_adapter(folder: Path, config: Any) -> Path | None:
    """Convert the peft adapter in a folder for llama.cpp; return the file, None if not a Llama's.

    The matrix that reads a layer's input is stored in 8 bits. The other, whose rows are shorter
    than a block of 8-bit values, is stored in 16 bits of which the last six are zero, so that a
    wheel compresses them to half. The result differs by some 1%.

    Args:
        config: The transformers config of the model that the adapter belongs to.
    """
    if config.model_type != "llama":
        return None
    import gguf
    from safetensors.torch import load_file

    stated = json.loads((folder / _ADAPTER).read_text(encoding="utf-8"))
    path = folder / ADAPTER_FILE
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(stated["lora_alpha"]))
    eighth = gguf.GGMLQuantizationType.Q8_0
    for name, weights in sorted(load_file(folder / ADAPTER_WEIGHTS).items()):
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


def adapter_parts(model: Any, path: Path) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each layer of a model that `write_adapter` wrote a part for, and the two matrices."""
    import gguf
    import torch

    values = {
        one.name: gguf.dequantize(one.data, one.tensor_type).astype("float32")
        for one in gguf.GGUFReader(path).tensors
    }
    for name, layer in model.named_modules():
        *_, place, _, module = f"..{name}".split(".")
        first = f"blk.{place}.{_TENSORS.get(module)}.weight.lora_a"
        if first not in values:
            continue
        outer = values[f"{first[:-1]}b"]
        if module in _ROTATED:
            heads = getattr(model.config, _ROTATED[module])
            halves = outer.reshape(heads, len(outer) // heads // 2, 2, -1)
            outer = halves.swapaxes(1, 2).reshape(outer.shape)
        yield layer, torch.from_numpy(values[first]), torch.from_numpy(outer.copy())


def _merge_adapter(model: Any, path: Path) -> None:
    """Add an adapter written by `write_adapter` to a model's weights; `InputError` if quantised."""
    import gguf

    alpha = float(gguf.GGUFReader(path).fields["adapter.lora.alpha"].contents())
    for layer, inner, outer in adapter_parts(model, path):
        if not layer.weight.is_floating_point():
            raise InputError("a GGUF adapter cannot be added to 4-bit weights")
        change = outer @ inner * (alpha / len(inner))
        layer.weight.data += change.to(layer.weight)


@contextmanager
def quietly() -> Iterator[None]:
    """Hide transformers' progress bars and warnings for a block."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", message="Could not find a config file")  # from peft
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    """Return the first line of an exception's message, or its type."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
