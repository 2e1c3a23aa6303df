"""contrafact is a Python toolkit for counterfactual text: text in which one thing is changed, what
follows from it changes too, and everything else stays the same.

A function, as ``cf.run`` after ``import contrafact as cf``, is imported when it is first used.
"""

import os
from importlib import import_module
from typing import Any

# Some packages send usage data to their makers unless this is set when they are imported.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

_PLACES = {
    name: module
    for module, names in {
        "contrafact.api.judges": ("agreement", "correct", "exam"),
        "contrafact.api.models": ("perplexity", "whatif"),
        "contrafact.api.runs": ("load", "run", "score"),
        "contrafact.api.texts": ("check", "generate", "rewrite", "stories", "synth"),
        "contrafact.errors": ("InputError", "ModelError"),
    }.items()
    for name in names
}

__all__ = [
    "InputError",
    "ModelError",
    "__version__",
    "agreement",
    "check",
    "correct",
    "exam",
    "generate",
    "load",
    "perplexity",
    "rewrite",
    "run",
    "score",
    "stories",
    "synth",
    "whatif",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'contrafact' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__]
