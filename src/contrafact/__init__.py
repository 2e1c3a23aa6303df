"""contrafact: generate, build, detect and judge counterfactual text, and say how well.

The commands for Python: ``import contrafact as cf``, then ``cf.run(…)``. A function is
imported when it is first used, so that the import itself takes no time.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# Some packages report their use to their makers unless this is set when they are imported.
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
    found = getattr(import_module(_PLACES[name]), name)
    if not isinstance(sys.modules[__name__].__dict__.get(name), _CallableModule):
        globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__]


class _CallableModule(ModuleType):
    """A subpackage that has a function's name (`contrafact.exam`): called, it is the function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return _function_of(self)(*arguments, **options)

    __signature__ = property(lambda self: import_module("inspect").signature(_function_of(self)))
    __doc__ = property(lambda self: str(_function_of(self).__doc__))
    aio = property(lambda self: _function_of(self).aio)


def _function_of(module: ModuleType) -> Any:
    name = module.__name__.rpartition(".")[2]
    return getattr(import_module(_PLACES[name]), name)


class _Face(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a subpackage sets it here, and would else hide the function of its name.
        if name in _PLACES and isinstance(value, ModuleType):
            value.__class__ = _CallableModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
