"""What it took to write, shown beside every score (read by `family.run.cost_columns`)."""

from collections.abc import Sequence

import pandas as pd

from contrafact.family.display import Column, with_figures
from contrafact.family.report import ChapterData

__all__ = ["beside_costs"]


def beside_costs(
    frame: pd.DataFrame,
    data: ChapterData,
    figures: pd.DataFrame | None = None,
    *,
    scope: str = "",
    on: Sequence[str] = ("system",),
) -> tuple[pd.DataFrame, tuple[Column, ...]]:
    """Return lines of a table with what it took to write, and the columns for it.

    Of what is not known there is no column. The figures stand without their intervals, which the
    spec's own table of them has.

    Args:
        frame: The lines, with the columns named by ``on``.
        data: What the chapter is made from.
        figures: The figures that the table is of; those over all rows of a system where none.
        scope: What they are about, where the spec knows several scopes.
        on: The columns by which a figure finds its line.
    """
    spec = data.spec
    if figures is None:
        figures = data.figures[spec.is_overall(data.figures)]
    selected = {
        f"cost_{one.name}": {"measure": one.name, "form": one.forms[0]}
        | ({"scope": scope or spec.scopes[0]} if spec.scopes else {})
        for one in map(spec.measure, spec.costs)
        if figures["measure"].eq(one.name).any()
    }
    frame = with_figures(frame, figures, selected, on)
    added = [f"{key}{end}" for key in selected for end in ("_low", "_high", "_sd")]
    columns = (
        Column(key, one.label, one.kind, one.group, one.better, ranked=False)
        for key in selected
        for one in [spec.measure(key.removeprefix("cost_"))]
    )
    return frame.drop(columns=added, errors="ignore"), tuple(columns)
