"""Baselines on a whole data set at once, without an evaluation around them."""

from collections.abc import Sequence
from typing import Any, Protocol, cast

from contrafact.families.rfc.answers import Answer
from contrafact.families.rfc.data import Item, items_of
from contrafact.families.rfc.items import item_row
from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.solvers.lookup import SolverContext, baseline_names, make_solver
from contrafact.records import Rewrite

__all__ = ["NO_MODEL", "baseline_rows"]

NO_MODEL = "none/none"
"""Inspect's name of the model that is never asked."""


class _Knowing(Protocol):
    def answer(self, item: Item) -> Answer: ...


def baseline_rows(
    task: TaskName, pairs: Sequence[Rewrite], *, seed: int = 0, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the per-item rows of baselines, as `contrafact.families.rfc.items` describes them.

    Args:
        task: The task.
        pairs: The data set.
        seed: Seed of the folds.
        names: Which baselines; all that the task has where none is given.

    Raises:
        InputError: if the data hold fewer than two articles, or a name is no baseline's.
    """
    rows = []
    items = items_of(task, pairs)
    for name in names or baseline_names(task):
        made = cast(_Knowing, make_solver(name, SolverContext(task=task, pairs=pairs, seed=seed)))
        for item in items:
            answer = made.answer(item)
            rows.append(
                item_row(
                    item,
                    system=f"baseline · {name}",
                    model=NO_MODEL,
                    solver=name,
                    shots=0,
                    draw=1,
                    predicted=answer.predicted,
                    invalid=answer.invalid,
                    probabilities=answer.probabilities,
                    rationale=answer.rationale,
                    error_class=None,
                    reply=None,
                )
            )
    return rows
