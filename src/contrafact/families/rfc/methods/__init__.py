"""Methods of the two tasks that ask a model, one module each (RFC-BENCH, sections 2.3 and 4)."""

from dataclasses import replace

from contrafact.families.rfc.settings import LabelOptions
from contrafact.family.method import MethodContext, Methods

__all__ = ["asks_for_reasons", "methods_of", "with_reasons"]


def methods_of(task: str) -> Methods:
    """Return the methods of a task."""
    baselines = "contrafact.families.rfc.baselines"
    return Methods(task, "contrafact.families.rfc.methods", baselines=baselines)


def asks_for_reasons(context: MethodContext) -> bool:
    """Return whether a method is to ask for reasons."""
    return isinstance(context.settings, LabelOptions) and context.settings.rationale


def with_reasons(context: MethodContext) -> MethodContext:
    """Return the context of a method that asks for reasons."""
    options = context.settings if isinstance(context.settings, LabelOptions) else LabelOptions()
    return replace(context, settings=options.model_copy(update={"rationale": True}))
