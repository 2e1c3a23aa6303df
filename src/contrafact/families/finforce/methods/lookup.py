"""Finding a method by its name: a module of this package, or any importable module.

A method's options follow its name, ``lm-counterfactuals:noise=fresh,temperature=0.7``, so that one
run can compare a method with itself under other options.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from contrafact.errors import InputError
from contrafact.families.finforce.generation import Method
from contrafact.models.lookup import factory_in, names_in
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Headline

__all__ = [
    "MethodContext",
    "Option",
    "make_method",
    "method_names",
    "method_spec",
    "open_weights",
]

_NOT_METHODS = {"lookup"}

Option = str | int | float
"""The value of a method's option; of the type that its default has."""


@dataclass(frozen=True)
class MethodContext:
    """What a method is made from.

    Attributes:
        pack: The prompt pack.
        shots: How many few-shot examples to show; 0 lets the method decide.
        pool: Headlines with reference counterfactuals to draw examples from.
        seed: Seed of the draws.
        models: The models that it will be used with, by their Inspect names, where they are known
            already; a method refuses those that it cannot work with.
        options: The method's options, every one of them; filled in by `make_method`.
        name: The method's name with the options that are not its defaults; filled in too.
    """

    pack: PromptPack = field(default_factory=open_pack)
    shots: int = 0
    pool: Sequence[Headline] = ()
    seed: int = 0
    models: Sequence[str] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class _Named:
    """A method that was asked for: its name, its module, the options it has, and those given."""

    name: str
    path: str
    known: Mapping[str, Option]
    given: Mapping[str, Option]

    @property
    def written(self) -> str:
        """The one way of writing it: options in the method's order, without its defaults."""
        said = [
            f"{key}={str(self.given[key]).removesuffix('.0')}"
            for key, default in self.known.items()
            if self.given.get(key, default) != default
        ]
        return f"{self.name}:{','.join(said)}" if said else self.name


def method_names() -> list[str]:
    """Return the names of the methods that ship with the package."""
    return names_in(Path(__file__).parent, but=_NOT_METHODS)


def method_spec(spec: str, settings: Mapping[str, Any] | None = None) -> str:
    """Return a method's name with its options, in the one way of writing them.

    Args:
        spec: A name, or a name with options: ``NAME:OPTION=VALUE,OPTION=VALUE``.
        settings: How the models of the run write (``temperature``, ``top_p``, ``max_tokens``, …).
            A method with options does not write through the model's interface: what is set here
            becomes its option, where its own options do not say otherwise.

    Raises:
        InputError: If there is no such method or option, a value is not of its kind, or a setting
            is none of the method's options.
    """
    named = _named(spec)
    if not named.known:
        return named.written
    given = dict(named.given)
    for key, value in (settings or {}).items():
        option = key.replace("_", "-")
        if option == "seed":
            continue
        if option not in named.known:
            raise InputError(
                f"--{option} does not reach {named.name}, which samples by itself",
                hint="leave it out, or run that method in a run of its own",
            )
        given.setdefault(option, type(named.known[option])(value))
    return replace(named, given=given).written


def make_method(spec: str, context: MethodContext) -> Method:
    """Return the method of that name, its templates opened and checked.

    Args:
        spec: A name, or a name with options: ``NAME:OPTION=VALUE,OPTION=VALUE``.
        context: What it is made from.

    Raises:
        InputError: if there is no such method or option, its prompts are not in order, or it
            cannot work with one of the models.
    """
    named = _named(spec)
    context = replace(context, options={**named.known, **named.given}, name=named.written)
    made: Method = factory_in(named.path, "method", name=named.name, what="method")(context)
    return made


@runtime_checkable
class _OpensWeights(Protocol):
    def open(self, model: str, model_args: Mapping[str, Any]) -> None: ...


def open_weights(method: Method, models: Iterable[str], model_args: Mapping[str, Any]) -> None:
    """Let a method that runs models itself load them; nothing is to be done for others. Blocking.

    Such a method has a function ``open(model, model_args)``.

    Args:
        method: The method.
        models: Inspect's names of the models.
        model_args: The arguments of their providers.

    Raises:
        InputError: If a model cannot be loaded.
    """
    if isinstance(method, _OpensWeights):
        for model in models:
            method.open(model, model_args)


def _named(spec: str) -> _Named:
    name, colon, rest = spec.partition(":")
    if name in method_names():
        path = f"{__package__}.{name.replace('-', '_')}"
    elif "." in name:
        path = name
    else:
        raise InputError(
            f"there is no method '{name}'",
            hint=f"use one of {', '.join(method_names())}, or the import path of a module",
        )
    factory_in(path, "method", name=name, what="method")
    known: Mapping[str, Option] = getattr(importlib.import_module(path), "OPTIONS", {})
    given: dict[str, Option] = {}
    for part in rest.split(",") if colon else ():
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not (key and equals and text):
            raise InputError(
                f"'{part}' in the method '{spec}' is not an option",
                hint="write NAME:OPTION=VALUE, with commas between several",
            )
        if key not in known or key in given:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            what = "is given twice" if key in given else f"is no option of {name}"
            raise InputError(f"'{key}' {what}", hint=has)
        given[key] = _value(key, text, known[key])
    return _Named(name, path, known, given)


def _value(option: str, text: str, default: Option) -> Option:
    if isinstance(default, str):
        return text
    try:
        return type(default)(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise InputError(f"the option {option} is {kind}, not '{text}'") from None
