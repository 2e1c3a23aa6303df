"""The interface of methods, and how a method is found by name.

A method turns an input into an output: a headline into two counterfactuals, a paragraph into a
label, a story into an edit. It is a plain object, so that an Inspect task, an estimate, a command
and a library call can all use it.

To add a method, write a module with a function ``method(context: MethodContext) -> Method`` and put
it in a family's folder of methods, where its file name, with hyphens, is its name; or put it
anywhere, and name its file, or its import path. A method's options and their defaults
are a mapping ``OPTIONS`` in its module; their values come from ``context.options``. A method's own
templates are in a folder ``prompts`` next to its module; it opens them as
``context.pack.template("its-name/template", …)``.
"""

import importlib
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

from contrafact.errors import InputError
from contrafact.family.settings import RunSettings
from contrafact.models.asking import Ask, PlannedCall
from contrafact.options import checked_value
from contrafact.prompts import PromptPack, open_pack

__all__ = ["Method", "MethodContext", "Methods", "Option"]

ItemT = TypeVar("ItemT", contravariant=True)
OutputT = TypeVar("OutputT", covariant=True)

Option = str | int | float | bool
"""The value of a method's option, of the same type as its default."""


class Method(Protocol[ItemT, OutputT]):
    """A method of any family.

    A method that runs models itself also has ``open(model, model_args)``, which loads a model and
    raises `InputError` if that is impossible.
    """

    name: str
    shots: int

    async def __call__(self, item: ItemT, ask: Ask, *, draw: int = 1) -> OutputT:
        """Work on one item.

        Args:
            item: The item; the method ignores the fields that outputs are judged by.
            draw: Which draw of worked examples this is, from 1.

        Raises:
            Unanswered: If the model gives no answer; the output is then invalid.
        """
        ...

    def plan(self, item: ItemT) -> Sequence[PlannedCall]:
        """Return the calls that one item will take; none for a method that asks no model."""
        ...


@dataclass(frozen=True)
class MethodContext:
    """The inputs from which a method is made.

    Attributes:
        settings: The run's settings, with its models as far as they are known: a method refuses
            models that it cannot work with.
        items: All items of the data, including those left out by a limit.
        pool: Items to take examples from; if empty, the method takes the bundled examples.
        options: All options of the method, filled in by `Methods.make`.
        name: The method's name with its non-default options, filled in by `Methods.make`.
    """

    settings: RunSettings = field(default_factory=RunSettings)
    pack: PromptPack = field(default_factory=open_pack)
    items: Sequence[Any] = ()
    pool: Sequence[Any] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class _Chosen:
    """A requested method: its name, its module, the options it has, and the options given."""

    name: str
    path: str
    known: Mapping[str, Option]
    given: Mapping[str, Option]

    @property
    def spec(self) -> str:
        """The method's canonical text: options in the method's order, defaults left out."""
        written = [
            f"{key}={_written(self.given[key])}"
            for key, default in self.known.items()
            if self.given.get(key, default) != default
        ]
        return f"{self.name}:{','.join(written)}" if written else self.name


@dataclass(frozen=True)
class Methods:
    """The methods of a task: the modules of its package, or any importable module.

    A method's options follow its name, ``NAME:OPTION=VALUE,OPTION=VALUE``, so that one run can
    compare a method under different options. Modules of ``baselines`` are methods that ask no
    model.
    """

    task: str
    package: str
    baselines: str | None = None

    def names(self) -> list[str]:
        return self._modules(self.package)

    def baseline_names(self) -> list[str]:
        return self._modules(self.baselines) if self.baselines else []

    def asks_none(self, spec: str) -> bool:
        """Return whether a method, given with or without options, asks no model."""
        return spec.partition(":")[0] in self.baseline_names()

    def spec(self, spec: str, generation: Mapping[str, Any] | None = None) -> str:
        """Return a method's name with its options, in canonical form.

        A method with an option ``temperature`` samples by itself. The run's sampling settings
        (``generation``: ``temperature``, ``max_tokens``, …) would not reach it, so they become its
        options, unless these are given.

        Raises:
            InputError: If there is no such method or option, or the method lacks a setting.
        """
        chosen = self._choose(spec)
        if "temperature" not in chosen.known:
            return chosen.spec
        given = dict(chosen.given)
        for key, value in (generation or {}).items():
            option = key.replace("_", "-")
            if option == "seed":
                continue
            if option not in chosen.known:
                raise InputError(
                    f"--{option} does not reach {chosen.name}, which samples by itself",
                    hint="leave it out, or run that method in a run of its own",
                )
            given.setdefault(option, type(chosen.known[option])(value))
        return replace(chosen, given=given).spec

    def make(self, spec: str, context: MethodContext) -> Method[Any, Any]:
        """Return the method of that name, with its templates opened and checked.

        Raises:
            InputError: If there is no such method or option, its prompts are faulty, or it does not
                fit the task or one of the models.
        """
        chosen = self._choose(spec)
        module = importlib.import_module(chosen.path)
        folder = Path(str(module.__file__)).parent / "prompts"
        if folder.is_dir():
            prefix = chosen.name.rpartition(".")[2].replace("_", "-")
            context.pack.mount(prefix, folder)
        options = {**chosen.known, **chosen.given}
        made: Method[Any, Any] = module.method(replace(context, options=options, name=chosen.spec))
        return made

    def _choose(self, spec: str) -> _Chosen:
        name, colon, rest = spec.partition(":")
        path = self._path(name)
        options: Mapping[str, Option] = getattr(_module(path, name), "OPTIONS", {})
        given: dict[str, Option] = {}
        for part in rest.split(",") if colon else ():
            key, equals, text = (piece.strip() for piece in part.partition("="))
            if not (key and equals and text):
                raise InputError(
                    f"'{part}' in the method '{spec}' is not an option",
                    hint="write NAME:OPTION=VALUE, with commas between several",
                )
            if key not in options or key in given:
                has = f"its options are {', '.join(options)}" if options else "it has none"
                what = "is given twice" if key in given else f"is not an option of {name}"
                raise InputError(f"'{key}' {what}", hint=has)
            given[key] = checked_value(key, type(options[key]), text)
        # A file, like a module without a package, goes by its bare name.
        return _Chosen(name if "." in path else path, path, options, given)

    def _path(self, name: str) -> str:
        if name in self.names():
            return f"{self.package}.{name.replace('-', '_')}"
        if name in self.baseline_names():
            return f"{self.baselines}.{name.replace('-', '_')}"
        file = Path(name if name.endswith(".py") else f"{name}.py")
        if file.is_file():
            return _loaded(file)
        if name.endswith(".py"):
            raise InputError(f"there is no file '{name}' with a method", hint="check its path")
        if "." in name or (name.isidentifier() and find_spec(name)):
            return name
        names = ", ".join((*self.names(), *self.baseline_names()))
        raise InputError(
            f"{self.task} has no method '{name}'",
            hint=f"use one of {names}, or name a file ({name}.py) or a module",
        )

    def _modules(self, package: str) -> list[str]:
        spec = find_spec(package)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(folders))


def _loaded(file: Path) -> str:
    """Load a file as a module called as the file is, and return that name."""
    name, folder = file.stem, str(file.resolve().parent)
    known = sys.modules.get(name) or find_spec(name)
    where = getattr(known, "__file__", None) or getattr(known, "origin", None)
    if known is not None and not (where and Path(where).is_file() and file.samefile(where)):
        raise InputError(
            f"'{file}' is called as a module that is installed", hint="give the file another name"
        )
    if folder not in sys.path:
        sys.path.append(folder)  # where it finds the modules beside it
        importlib.invalidate_caches()
    return name


def _module(path: str, name: str) -> Any:
    try:
        module = importlib.import_module(path)
    except Exception as error:  # importing a module may raise anything
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (path == missing or path.startswith(f"{missing}.")):
            raise InputError(
                f"cannot import the method '{name}'",
                hint="name its file, or check the import path and that PYTHONPATH names its folder",
            ) from None
        raise InputError(
            f"the method '{name}' fails when it is imported ({type(error).__name__}: {error})",
            hint="correct it",
        ) from error
    if not hasattr(module, "method"):
        raise InputError(
            f"the module '{name}' has no function 'method(context)'",
            hint="write one, or name another method (`contrafact methods`)",
        )
    return module


def _written(value: Option) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")
