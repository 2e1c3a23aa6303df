"""Methods of the two tasks that ask a model, one module each (RFC-BENCH, sections 2.3 and 4)."""

from dataclasses import replace

from contrafact.families.rfc.settings import LabelOptions
from contrafact.family.method import MethodContext, Methods


def methods_of(task: str) -> Methods:
    baselines = "contrafact.families.rfc.baselines"
    return Methods(task, "contrafact.families.rfc.methods", baselines=baselines)


def asks_for_reasons(context: MethodContext) -> bool:
    return bool(context.settings.option("rationale", False))


def with_reasons(context: MethodContext) -> MethodContext:
    settings = context.settings
    options = settings.options if isinstance(settings.options, LabelOptions) else LabelOptions()
    reasons = options.model_copy(update={"rationale": True})
    return replace(context, settings=settings.model_copy(update={"options": reasons}))
