"""Finding a solver by its name: a module of this package, or any importable module."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contrafact.errors import InputError
from contrafact.families.cobe.editing import Editor
from contrafact.models.lookup import factory_in, names_in
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import Story

__all__ = ["SolverContext", "make_solver", "solver_names"]

_NOT_SOLVERS = {"lookup"}


@dataclass(frozen=True)
class SolverContext:
    """What a solver is made from.

    Attributes:
        pack: The prompt pack.
        shots: How many few-shot examples to show; 0 lets the solver decide.
        pool: Stories with representative answers to draw examples from; the bundled pool if empty.
        seed: Seed of the draws.
    """

    pack: PromptPack = field(default_factory=open_pack)
    shots: int = 0
    pool: Sequence[Story] = ()
    seed: int = 0


def solver_names() -> list[str]:
    """Return the names of the solvers that ship with the package."""
    return names_in(Path(__file__).parent, but=_NOT_SOLVERS)


def make_solver(name: str, context: SolverContext) -> Editor:
    """Return the solver of that name, its templates opened and checked.

    Raises:
        InputError: if there is no such solver, or its prompts are not in order.
    """
    if name in solver_names():
        path = f"{__package__}.{name.replace('-', '_')}"
    elif "." in name:
        path = name
    else:
        raise InputError(
            f"cobe has no solver '{name}'",
            hint=f"use one of {', '.join(solver_names())}, or the import path of a module",
        )
    made: Editor = factory_in(path, "editor", name=name, what="solver")(context)
    return made
