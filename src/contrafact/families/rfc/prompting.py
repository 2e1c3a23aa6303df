"""The prompts that methods share, with their worked examples, and the method of one call.

Worked examples are for detection (RFC-BENCH, section 3.2 and appendix T). Two shots are an
unmanipulated and a manipulated example of the item's own category; eight are four pairs, numerical,
sentiment, flipping and causal in this order. Within a pair the unmanipulated member comes first.
Which pairs of the pool are taken depends on the seed and the draw alone, so that all models and
items see the same pairs; a pair of the item's own article is skipped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from inspect_ai.model import GenerateConfig

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer, read_answer, reply_tokens
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.labels import FALSE, TRUE
from contrafact.families.rfc.methods import asks_for_reasons
from contrafact.families.rfc.records import Manipulation, Rewrite
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.models.opening import holds_to_choices
from contrafact.models.requests import GUIDED_CHOICE
from contrafact.prompts import PromptTemplate
from contrafact.text.delimit import delimit

VARIABLES: Mapping[str, set[str]] = {
    "detect": {"paragraph", "shots"},
    "diagnose": {"original", "paragraph"},
}

_LABEL_TOKENS = 64  # more than any label has: an answer constrained to labels ends by itself

SHOTS: tuple[int, ...] = (0, 2, 8)
EIGHT_SHOT_ORDER: tuple[Manipulation, ...] = ("numerical", "sentiment", "flipping", "causal")


class Shots:
    def __init__(self, count: int, pool: Sequence[Rewrite], *, seed: int = 0):
        if count not in SHOTS:
            raise InputError(
                f"there is no {count}-shot prompt", hint="use 0, 2 or 8 examples (--shots)"
            )
        self.count = count
        self._seed = seed
        self._by_kind: dict[Manipulation, list[Rewrite]] = {
            kind: [pair for pair in pool if pair.manipulation == kind and pair.original]
            for kind in EIGHT_SHOT_ORDER
        }
        for kind, pairs in self._by_kind.items():
            if count and len({pair.article_id for pair in pairs}) < 2:
                raise InputError(
                    f"the pool of examples has fewer than two articles with a {kind} pair",
                    hint="give a larger file with --shots-from",
                )

    def of(self, item: Item, *, draw: int = 1) -> list[dict[str, str]]:
        """Return the examples for one item, in the prompt's order: paragraphs and labels."""
        if not self.count:
            return []
        kinds = (item.pair.manipulation,) if self.count == 2 else EIGHT_SHOT_ORDER
        pairs = [self._pair(kind, item, draw) for kind in kinds]
        return [
            {"paragraph": delimit(text), "label": label}
            for pair in pairs
            for text, label in ((pair.original, TRUE), (pair.rewritten, FALSE))
        ]

    def _pair(self, kind: Manipulation, item: Item, draw: int) -> Rewrite:
        pool = self._by_kind[kind]
        stream = [self._seed, draw, EIGHT_SHOT_ORDER.index(kind)]
        order = np.random.default_rng(stream).permutation(len(pool))
        texts = {item.pair.original, item.pair.rewritten}
        for position in order:
            pair = pool[int(position)]
            own = pair.article_id == item.pair.article_id or texts & {pair.original, pair.rewritten}
            if not own:
                return pair
        raise InputError(
            f"all {kind} examples are of the item's own article ({item.pair.article_id})",
            hint="give a larger file with --shots-from",
        )


def kind_of(context: MethodContext) -> str:
    return context.settings.task.removeprefix("rfc-")


def texts_of(item: Item) -> dict[str, object]:
    """Return an item's texts under the names that templates use, each delimited."""
    if item.task == "rfc-detect":
        return {"paragraph": delimit(item.shown)}
    return {"original": delimit(item.pair.original), "paragraph": delimit(item.pair.rewritten)}


class OneCall:
    """A method of one call: instructions, examples if any, the item.

    If only a label is asked for, a model in this process is constrained to the labels, in lower
    case or capitalised, unless ``free`` is true.
    """

    def __init__(
        self,
        name: str,
        context: MethodContext,
        *,
        template: str = "",
        reasons: bool | None = None,
        free: bool = False,
    ):
        self.name = name
        self.reasons = asks_for_reasons(context) if reasons is None else reasons
        self._switch = reasons is None
        self._free = free or self.reasons
        kind = kind_of(context)
        shots = context.settings.shots
        if shots and kind != "detect":
            raise InputError(
                "examples are for rfc-detect (appendix T); there are none for rfc-diagnose",
                hint="leave --shots out",
            )
        self._shots = Shots(shots, context.pool, seed=context.settings.seed)
        self.shots = self._shots.count
        switch = {"rationale"} if self._switch else set()
        # A pack may do without reasons, unless they are asked for.
        self._template: PromptTemplate = context.pack.template(
            f"rfc/{kind}{template}",
            required=VARIABLES[kind] | (switch if self.reasons else set()),
            optional=switch,
        )

    def prompt(self, item: Item, draw: int = 1) -> str:
        values: dict[str, object] = texts_of(item)
        if "paragraph" in values and "original" not in values:
            values["shots"] = self._shots.of(item, draw=draw)
        if self._switch:
            values["rationale"] = self.reasons
        return self._template.render(**values)

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        output = await self.constrained(ask, item)(self.prompt(item, draw))
        return read_answer(output, item, reasons=self.reasons)

    def constrained(self, ask: Ask, item: Item) -> Ask:
        """Return the model constrained to the labels, if it can be and no reasons are asked for."""
        if self._free or not holds_to_choices(ask.model):
            return ask
        choice = [*item.labels, *(label.capitalize() for label in item.labels)]
        own = GenerateConfig(max_tokens=_LABEL_TOKENS, extra_body={GUIDED_CHOICE: choice})
        return replace(ask, config=ask.config.merge(own))

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        return [PlannedCall(self.prompt(item), reply_tokens(reasons=self.reasons))]
