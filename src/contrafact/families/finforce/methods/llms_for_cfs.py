"""llms-for-cfs: find the decisive phrases, edit them, put them back, as one reasoning chain.

FIN-FORCE, section 4, B.2 and table 8, after Nguyen et al. (2024). The chain is kept.
"""

from collections.abc import Sequence

from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import Headline
from contrafact.text.delimit import delimit

__all__ = ["method"]


class LlmsForCfs:
    """One call whose reply reasons before it answers."""

    name = "llms-for-cfs"
    shots = 0

    def __init__(self, context: MethodContext):
        self._template = context.pack.template("finforce/llms-for-cfs", required={"headline"})

    def _prompt(self, headline: Headline) -> str:
        return self._template.render(headline=delimit(headline.text))

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        schema = pair_schema("original_headline", "reasoning")
        return read_pair(await ask(self._prompt(headline), schema))

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        return [PlannedCall(self._prompt(headline), reply_tokens=300)]


def method(context: MethodContext) -> LlmsForCfs:
    """Return the method."""
    return LlmsForCfs(context)
