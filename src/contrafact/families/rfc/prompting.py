"""The two kinds of prompts that solvers share: an item's texts put in, and a label read out."""

from collections.abc import Sequence

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer, read_answer, reply_tokens
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.methods import asks_for_reasons
from contrafact.families.rfc.shots import Shots
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.prompts import PromptTemplate
from contrafact.text.delimit import delimit

__all__ = ["OneCall", "kind_of", "texts_of"]


def kind_of(context: MethodContext) -> str:
    """Return the first part of the task's template names: ``detect`` or ``diagnose``."""
    return context.task.removeprefix("rfc-")


def texts_of(item: Item) -> dict[str, str]:
    """Return an item's texts by the names that templates use, fit to stand between tags."""
    if item.task == "rfc-detect":
        return {"paragraph": delimit(item.shown)}
    return {"original": delimit(item.pair.original), "paragraph": delimit(item.pair.rewritten)}


class OneCall:
    """One call: instructions, examples if any, the item.

    Args:
        name: The solver's name.
        context: What it is made from.
        template: The template's name after ``detect`` or ``diagnose``, with its hyphen.
        reasons: Whether the template always asks for reasons; None where it asks by its variable
            ``rationale``.
        more: Variables of the template besides.
    """

    def __init__(
        self,
        name: str,
        context: MethodContext,
        *,
        template: str = "",
        reasons: bool | None = None,
        more: frozenset[str] = frozenset(),
    ):
        self.name = name
        self.task = context.task
        self.reasons = asks_for_reasons(context) if reasons is None else reasons
        self._switch = reasons is None
        detecting = self.task == "rfc-detect"
        if context.shots and not detecting:
            raise InputError(
                "examples are for rfc-detect (appendix T); rfc-diagnose has none",
                hint="leave --shots out",
            )
        self._shots = Shots(context.shots, context.pool, seed=context.seed)
        self.shots = self._shots.count
        required = {"paragraph", "shots" if detecting else "original", *more}
        switch = {"rationale"} if self._switch else set()
        # A pack may do without reasons, unless they are asked for.
        self._template: PromptTemplate = context.pack.template(
            f"rfc/{kind_of(context)}{template}",
            required=required | (switch if self.reasons else set()),
            optional=switch,
        )

    def prompt(self, item: Item, draw: int = 1, **more: object) -> str:
        """Return the prompt for one item."""
        values: dict[str, object] = {**texts_of(item), **more}
        if self.task == "rfc-detect":
            values["shots"] = [
                {"paragraph": delimit(shot.paragraph), "label": shot.label}
                for shot in self._shots.of(item, draw=draw)
            ]
        if self._switch:
            values["rationale"] = self.reasons
        return self._template.render(**values)

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        output = await ask(self.prompt(item, draw))
        return read_answer(output, item, reasons=self.reasons)

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        return [PlannedCall(self.prompt(item), reply_tokens(reasons=self.reasons))]
