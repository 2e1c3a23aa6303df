"""Causal language models in PyTorch: by name, from a folder, or from a GGUF file.

A GGUF file takes transformers half a minute to read; it is converted once and kept as
safetensors, bit-equal in float32, under the cache folder by the hash of its content. Files on
this machine are never asked a hub for.
"""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrafact.errors import InputError
from contrafact.models.gguf import SMOLLM2, check_gguf, gguf_path, looks_like_path

if TYPE_CHECKING:
    import torch

__all__ = ["CausalModel", "converted", "default_cache", "load_causal"]

_HUB = "https://huggingface.co"
_HUB_SECONDS = 10.0  # to find out whether the hub can be reached at all
_LAYOUT = "1"  # of a converted folder; counts up when what is stored in it changes


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A causal language model, ready to score.

    Attributes:
        name: What it was asked for by.
        model: The transformers model, in evaluation mode, float32.
        tokenizer: Its tokenizer.
        device: Where it is.
        start_token: The id of the token that texts start after: the tokenizer's own start token
            (``<|endoftext|>`` for GPT-2), or its end token where it has none.
        context: The most tokens it reads at once.
    """

    name: str
    model: Any
    tokenizer: Any
    device: "torch.device"
    start_token: int
    context: int


def load_causal(name: str, *, cache: Path | None = None, device: str | None = None) -> CausalModel:
    """Load a causal language model.

    Args:
        name: ``smollm2-135m`` (the embedded weights), a GGUF file, a folder as
            ``save_pretrained`` writes it, or the name of a model on the Hugging Face hub
            (``gpt2``), which is downloaded if it is not in the hub's own cache.
        cache: Where converted GGUF files are kept; ``default_cache()`` if not given.
        device: PyTorch's name of the device; a GPU if there is one, else the CPU.

    Raises:
        InputError: If the model is not there, cannot be had, or is not a causal language model,
            or if PyTorch or transformers is not installed.
    """
    _check_packages()
    import torch

    where, named_files = _locate(name, cache)
    with _quietly():
        model, tokenizer = _from_files(where, name) if named_files else _from_hub(name)
    start = tokenizer.bos_token_id
    if start is None:
        start = tokenizer.eos_token_id
    if start is None:
        raise InputError(f"the tokenizer of {name} has neither a start nor an end token")
    placed = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return CausalModel(
        name=name,
        model=model.eval().to(placed),
        tokenizer=tokenizer,
        device=placed,
        start_token=int(start),
        context=_context(model, tokenizer),
    )


def default_cache() -> Path:
    """Return the folder of converted weights.

    It lies in ``$CONTRAFACT_CACHE`` if that is set, else in ``$XDG_CACHE_HOME/contrafact`` or
    ``~/.cache/contrafact``. Nothing is made.
    """
    own = os.environ.get("CONTRAFACT_CACHE")
    if own:
        return Path(own).expanduser().absolute() / "weights"
    shared = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache"
    return base / "contrafact" / "weights"


def converted(path: Path, cache: Path | None = None) -> Path:
    """Return the folder that holds a GGUF file as safetensors, converting it if it is not there.

    The folder appears whole or not at all; two processes that convert the same file at once end
    with one folder.

    Args:
        path: The GGUF file.
        cache: The folder to keep it in; ``default_cache()`` if not given.

    Raises:
        InputError: If the file cannot be converted, or the folder cannot be written.
    """
    check_gguf(path)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    root = cache or default_cache()
    target = root / f"{path.stem}-{digest}-{_LAYOUT}"
    if target.is_dir():
        return target
    try:
        root.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".converting-", dir=root))
        try:
            _convert(path, work)
            _move(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"the converted weights cannot be written ({error.strerror or error})",
            file=root,
            mend="set CONTRAFACT_CACHE to a folder with room for four bytes per parameter",
        ) from error
    return target


def _convert(path: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with _quietly():
            source = {"gguf_file": path.name, "local_files_only": True}
            tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
            model = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **source)
    except Exception as error:  # transformers raises what its parsers raise
        raise InputError(
            f"PyTorch cannot load this GGUF file ({_first_line(error)})",
            file=path,
            mend="give the model as a folder of safetensors instead",
        ) from error
    # The weights are plain float32 now, but the marks of the quantiser forbid saving them.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    with _quietly():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _move(work: Path, target: Path) -> None:
    """Rename a finished folder into place; one that came first is as good."""
    work.chmod(0o755)  # temporary folders are private
    try:
        work.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _locate(name: str, cache: Path | None) -> tuple[Path, bool]:
    """Return the folder a name stands for and whether it stands for files at all."""
    path = Path(name).expanduser()
    if name == SMOLLM2:
        return converted(gguf_path(name), cache), True
    if path.is_dir():
        return path, True
    if path.is_file() or looks_like_path(name):
        return converted(path, cache), True  # which says what is wrong with the path
    return path, False


def _from_files(folder: Path, name: str) -> tuple[Any, Any]:
    try:
        return _pretrained(folder, local_files_only=True)
    except Exception as error:
        raise InputError(
            f"no causal language model can be loaded from {name} ({_first_line(error)})",
            mend="name a folder that holds config.json, a tokenizer and safetensors",
        ) from error


def _from_hub(name: str) -> tuple[Any, Any]:
    try:
        return _pretrained(name, local_files_only=True)
    except (OSError, ValueError) as error:  # not in the hub's own cache
        problem = f"the model {name} is neither on this machine nor to be had from the hub"
        mend = "check the name, or give a folder or a GGUF file by its path"
        if not _hub_answers():
            raise InputError(f"{problem} (it cannot be reached)", mend=mend) from error
    try:
        return _pretrained(name, local_files_only=False)
    except Exception as error:
        raise InputError(f"{problem} ({_first_line(error)})", mend=mend) from error


def _pretrained(source: str | Path, *, local_files_only: bool) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_files_only)
    model = AutoModelForCausalLM.from_pretrained(
        source, dtype=torch.float32, local_files_only=local_files_only
    )
    return model, tokenizer


def _hub_answers() -> bool:
    """Tell whether the hub can be reached, before its client retries for most of a minute."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return False
    import httpx

    try:
        httpx.head(os.environ.get("HF_ENDPOINT", _HUB), timeout=_HUB_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return True


def _context(model: Any, tokenizer: Any) -> int:
    stated = [
        getattr(model.config, "max_position_embeddings", None),
        getattr(tokenizer, "model_max_length", None),  # a huge number where it is unknown
    ]
    known = [int(value) for value in stated if value is not None and 0 < value < 10**9]
    if not known:
        raise InputError("the model states no context length, and texts cannot be cut to it")
    return min(known)


def _check_packages() -> None:
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{' and '.join(missing)}, which white-box work needs, is not installed",
            mend="run: pip install 'contrafact[whitebox]'",
        )


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep transformers' own bars and warnings off the terminal, and give them back after."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
