"""Finding a method or solver by its name: a module of a package, or any importable module.

A family's methods are the modules of a folder: a new one is one file, and no list names it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from contrafact.errors import InputError

__all__ = ["factory_in", "names_in"]


def names_in(folder: Path, *, but: Collection[str] = ()) -> list[str]:
    """Return the names of the modules in a folder, with hyphens for underscores.

    Args:
        folder: The package's folder.
        but: Modules that are no methods.
    """
    names = {module.name for module in pkgutil.iter_modules([str(folder)])} - set(but)
    return sorted(name.replace("_", "-") for name in names)


def factory_in(path: str, function: str, *, name: str, what: str) -> Callable[[Any], Any]:
    """Return the function that makes a method from its context.

    Args:
        path: The module's import path.
        function: What the function is called in it.
        name: What the user called the method.
        what: What it is called in messages: "method", "solver".

    Raises:
        InputError: if there is no such module, or no such function in it.
    """
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not (path == error.name or path.startswith(f"{error.name}.")):
            raise
        raise InputError(
            f"cannot import the {what} '{name}'", hint="check the import path"
        ) from None
    factory: Callable[[Any], Any] | None = getattr(module, function, None)
    if factory is None:
        raise InputError(f"the module '{name}' has no function '{function}(context)'")
    return factory
