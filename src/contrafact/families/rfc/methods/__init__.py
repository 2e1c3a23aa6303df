"""Methods of the two tasks that ask a model, one module each (RFC-BENCH, sections 2.3 and 4)."""

from dataclasses import replace
from typing import cast

from contrafact.families.rfc.labels import TaskName
from contrafact.families.rfc.settings import LabelOptions
from contrafact.family.method import MethodContext, Methods

__all__ = ["DETECT_ONLY", "asks_for_reasons", "methods_of", "task_of", "with_reasons"]


DETECT_ONLY = frozenset({"coherence", "self-contrast", "evidence"})
"""Methods that judge one paragraph by itself, and cannot diagnose a pair."""


def methods_of(task: str) -> Methods:
    """Return the methods of a task; those of `DETECT_ONLY` look at one paragraph."""
    return Methods(
        task,
        "contrafact.families.rfc.methods",
        baselines="contrafact.families.rfc.baselines",
        without=DETECT_ONLY if task == "rfc-diagnose" else frozenset(),
    )


def task_of(context: MethodContext) -> TaskName:
    """Return the task that a method is made for."""
    return cast(TaskName, context.task)


def asks_for_reasons(context: MethodContext) -> bool:
    """Return whether a method is to ask for reasons."""
    return isinstance(context.settings, LabelOptions) and context.settings.rationale


def with_reasons(context: MethodContext) -> MethodContext:
    """Return the context of a method that asks for reasons."""
    options = context.settings if isinstance(context.settings, LabelOptions) else LabelOptions()
    return replace(context, settings=options.model_copy(update={"rationale": True}))
