"""What it took to write: read from a sample's log, and shown beside every score."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from contrafact.family.display import Column, with_figures
from contrafact.family.report import ChapterData
from contrafact.models.prices import Tokens, dollars

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

__all__ = ["beside_costs", "cost_columns"]


def cost_columns(
    sample: "EvalSample", model: str, local: Sequence[tuple[int, int]] = ()
) -> dict[str, Any]:
    """Return what it took to write what a sample holds: all calls but the judge's.

    Args:
        sample: The sample.
        model: The model under test.
        local: What weights in this process read and wrote, as `TaskRun.local_calls` has it.

    Returns:
        ``calls``, ``tokens`` (sent and received) and ``dollars`` (list price; NaN where it is not
        known); nothing where nothing was written, as of outputs that were made elsewhere.
    """
    used: dict[str, list[Tokens]] = {}
    for read, written in local:
        used.setdefault(model, []).append(Tokens(read, written))
    for event in sample.events:
        if event.event == "model" and event.role != "grader" and not event.output.empty:
            used.setdefault(event.model, []).append(Tokens.of(event.output.usage))
    if not used:
        return {}
    prices = [dollars(name, calls) for name, calls in used.items()]
    known = [float(price) for price in prices if price is not None]
    every = [call for calls in used.values() for call in calls]
    return {
        "calls": float(len(every)),
        "tokens": float(sum(call.sent + call.written for call in every)),
        "dollars": math.fsum(known) if len(known) == len(prices) else math.nan,
    }


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
