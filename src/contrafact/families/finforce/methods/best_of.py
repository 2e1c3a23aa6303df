"""best-of: several drafts at a temperature, the sound ones ranked, the best of each side kept.

Not in the paper, whose methods each write once (FIN-FORCE, section 4). Drafts that are degenerate
are dropped; a verifier ranks the rest, or their likelihood to the writer where none is named
(`contrafact.families.finforce.verifying`). Sides are chosen one by one: the best risk may come from
another draft than the best opportunity. The chosen and the refused are kept.
"""

from collections.abc import Mapping, Sequence

from contrafact.errors import InputError
from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.families.finforce.verifying import (
    PAIR_TOKENS,
    DraftingMethod,
    draft_seed,
    option_in,
    with_likelihood,
)
from contrafact.family.method import MethodContext, Option
from contrafact.judges.rubric import gathered
from contrafact.models.asking import Ask, PlannedCall, Unanswered
from contrafact.records import Headline

__all__ = ["OPTIONS", "SAMPLES_ITSELF", "BestOf", "method"]

OPTIONS: Mapping[str, Option] = {"n": 4, "temperature": 0.8, "base": "zero-shot"}
"""``n``: how many drafts. ``temperature``: of the drafts. ``base``: the prompt that each is written
by, ``zero-shot`` or ``guided``."""

SAMPLES_ITSELF = False
"""The temperature of a run becomes the drafts'; all else reaches the model as it is."""

_MOST = 64


class BestOf(DraftingMethod):
    """So many calls of the writer, and one of the verifier for every draft with a sound text."""

    def __init__(self, context: MethodContext):
        options = {**OPTIONS, **context.options}
        self._n = option_in(options, "n", 2, _MOST)
        self._temperature = float(options["temperature"])
        if not 0 < self._temperature <= 2:
            raise InputError(
                f"the temperature of drafts is above 0 and at most 2, not {self._temperature:g}: "
                "they would all be the same",
                hint="give it one of its own: --method best-of:temperature=0.8",
            )
        super().__init__(context, "best-of", str(options["base"]))

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        """See `contrafact.family.method.Method`."""
        made, ask = self._begin(headline, ask)
        prompt = self._prompt.prompt(headline, draw)

        schema = pair_schema("original_headline", nested=True)

        async def draft(number: int) -> tuple[Generation, float | None]:
            seed = draft_seed(self._context, headline, draw, number)
            one = ask.sampled(seed, self._temperature)
            try:
                output, likelihood = await with_likelihood(one, prompt, schema)
            except Unanswered as reason:
                return Generation.none(str(reason)), None
            return read_pair(output), likelihood

        drafts = await gathered(map(draft, range(1, self._n + 1)))
        numbers = [made.add(one, likelihood=likelihood) for one, likelihood in drafts]
        checks = [self._verifier.assess(ask, headline, made.sound(number)) for number in numbers]
        for number, findings in zip(numbers, await gathered(checks), strict=True):
            made.note(number, findings)
        return made.result()

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        draft = PlannedCall(self._prompt.prompt(headline), PAIR_TOKENS)
        return [draft] * self._n + [self._verifier.plan(headline)] * self._n


def method(context: MethodContext) -> BestOf:
    """Return the method."""
    return BestOf(context)
