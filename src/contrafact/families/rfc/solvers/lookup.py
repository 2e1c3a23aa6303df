"""Finding a solver or a baseline by its name: a module here, or any importable module."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answerer
from contrafact.families.rfc.labels import TaskName
from contrafact.models.lookup import factory_in, names_in
from contrafact.prompts import PromptPack, open_pack
from contrafact.records import NewsItem, Rewrite

__all__ = ["BASELINES", "SolverContext", "baseline_names", "make_solver", "solver_names"]

_NOT_SOLVERS = {"lookup", "prompted", "entries"}
_NOT_BASELINES = {"folds", "features", "figures", "model", "run"}
BASELINES = "contrafact.families.rfc.baselines"


@dataclass(frozen=True)
class SolverContext:
    """What a solver is made from.

    Attributes:
        task: The task.
        pack: The prompt pack.
        pairs: All pairs of the data set, also those that a limit leaves out: what `memory`
            searches and baselines are cross-validated on.
        shots: Examples per prompt: 0, 2 or 8.
        pool: Pairs to take examples from.
        rationale: Whether to ask for reasons.
        background: News to search instead of the pairs' originals, for `memory`.
        seed: Seed of the examples' order and of the folds.
    """

    task: TaskName
    pairs: Sequence[Rewrite]
    pack: PromptPack = field(default_factory=open_pack)
    shots: int = 0
    pool: Sequence[Rewrite] = ()
    rationale: bool = False
    background: Sequence[NewsItem] | None = None
    seed: int = 0


def solver_names() -> list[str]:
    """Return the names of the solvers that ask a model."""
    return names_in(Path(__file__).parent, but=_NOT_SOLVERS)


def baseline_names(task: TaskName | None = None) -> list[str]:
    """Return the names of the baselines, which ask none; those of one task if it is named."""
    names = names_in(Path(__file__).parents[1] / "baselines", but=_NOT_BASELINES)
    return [name for name in names if task != "rfc-diagnose" or name != "coherence"]


def make_solver(name: str, context: SolverContext) -> Answerer:
    """Return the solver or baseline of that name, its templates opened and checked.

    Raises:
        InputError: if there is no such solver, it does not fit the task, or its prompts are not
            in order.
    """
    module_name = name.replace("-", "_")
    if name in solver_names():
        path = f"{__package__}.{module_name}"
    elif name in baseline_names(context.task):
        path = f"{BASELINES}.{module_name}"
    elif "." in name:
        path = name
    else:
        known = ", ".join((*solver_names(), *baseline_names(context.task)))
        raise InputError(
            f"{context.task} has no solver '{name}'",
            hint=f"use one of {known}, or the import path of a module",
        )
    made: Answerer = factory_in(path, "answerer", name=name, what="solver")(context)
    return made
