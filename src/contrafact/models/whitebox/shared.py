"""Which model names stand for weights, and the one loaded copy of each in this process."""

import os
import threading
from pathlib import Path

from contrafact.models.gguf import looks_like_path
from contrafact.models.whitebox.weights import CausalModel, Precision, load_causal

__all__ = ["WEIGHTS_MEND", "shared_causal", "weights_name"]

WEIGHTS_MEND = (
    "use embedded/smollm2-135m, or whitebox/ or hf/ with a model's folder or name on the hub"
)
"""What to do about a model without weights at hand."""

# Inspect's providers that run a model from its weights, on this machine.
_PROVIDERS = ("embedded", "whitebox", "hf")

_loaded: dict[tuple[str, str | None, Precision], CausalModel] = {}
_loading = threading.Lock()


def weights_name(model: str) -> str | None:
    """Return what ``load_causal`` calls the weights of an Inspect model; None for a service.

    Args:
        model: Inspect's name: ``embedded/smollm2-135m``, ``whitebox/<name or folder>``,
            ``hf/<name or folder>``.
    """
    provider, _, name = model.partition("/")
    return name if provider in _PROVIDERS and name else None


def shared_causal(
    name: str, *, device: str | None = None, precision: Precision = "float32"
) -> CausalModel:
    """Return a model, loaded once in this process. Blocking.

    Args:
        name: As ``load_causal`` takes it.
        device: The same.
        precision: The same.

    Raises:
        InputError: If it cannot be loaded.
    """
    same = name
    if looks_like_path(name) or Path(name).is_dir():
        same = os.path.realpath(Path(name).expanduser())
    key = (same, device, precision)
    with _loading:
        if key not in _loaded:
            _loaded[key] = load_causal(name, device=device, precision=precision)
        return _loaded[key]
