"""contrafact: generate, build, detect and judge counterfactual text, and say how well.

The verbs of the command line for Python: ``import contrafact as cf``, then ``cf.run(…)``. A verb is
imported when it is first used, so that the import itself takes no time.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# Some packages report their use to their makers unless this is set when they are imported.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

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
    "synth",
    "whatif",
]

__version__ = "0.1.0"

_PLACES = {
    "agreement": "contrafact.api.judges",
    "check": "contrafact.api.texts",
    "correct": "contrafact.api.judges",
    "exam": "contrafact.api.judges",
    "generate": "contrafact.api.texts",
    "load": "contrafact.api.runs",
    "perplexity": "contrafact.api.models",
    "rewrite": "contrafact.api.texts",
    "run": "contrafact.api.runs",
    "score": "contrafact.api.runs",
    "synth": "contrafact.api.texts",
    "whatif": "contrafact.api.models",
    "InputError": "contrafact.errors",
    "ModelError": "contrafact.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'contrafact' has no attribute '{name}'")
    found = getattr(import_module(_PLACES[name]), name)
    if not isinstance(sys.modules[__name__].__dict__.get(name), _VerbModule):
        globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


class _VerbModule(ModuleType):
    """A subpackage that has a verb's name: called, it is the verb."""

    @property
    def _verb(self) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(_PLACES[name]), name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._verb(*arguments, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(self._verb)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return str(self._verb.__doc__)

    @property
    def aio(self) -> Any:
        """The verb, to be awaited."""
        return self._verb.aio


class _Face(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a subpackage sets it here, and would else hide the verb of its name.
        if name in _PLACES and isinstance(value, ModuleType):
            value.__class__ = _VerbModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
