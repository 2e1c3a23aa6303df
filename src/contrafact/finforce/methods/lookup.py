"""Finding a method by its name: a module of this package, or any importable module."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contrafact.errors import InputError
from contrafact.finforce.generation import Method
from contrafact.models.lookup import factory_in, names_in
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Headline

__all__ = ["MethodContext", "make_method", "method_names"]

_NOT_METHODS = {"lookup"}


@dataclass(frozen=True)
class MethodContext:
    """What a method is made from.

    Attributes:
        pack: The prompt pack.
        shots: How many few-shot examples to show; 0 lets the method decide.
        pool: Headlines with reference counterfactuals to draw examples from.
        seed: Seed of the draws.
    """

    pack: PromptPack = field(default_factory=open_pack)
    shots: int = 0
    pool: Sequence[Headline] = ()
    seed: int = 0


def method_names() -> list[str]:
    """Return the names of the methods that ship with the package."""
    return names_in(Path(__file__).parent, but=_NOT_METHODS)


def make_method(name: str, context: MethodContext) -> Method:
    """Return the method of that name, its templates opened and checked.

    Raises:
        InputError: if there is no such method, or its prompts are not in order.
    """
    if name in method_names():
        path = f"{__package__}.{name.replace('-', '_')}"
    elif "." in name:
        path = name
    else:
        raise InputError(
            f"there is no method '{name}'",
            mend=f"use one of {', '.join(method_names())}, or the import path of a module",
        )
    made: Method = factory_in(path, "method", name=name, what="method")(context)
    return made
