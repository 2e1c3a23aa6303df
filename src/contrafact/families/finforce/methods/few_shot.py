"""few-shot: the zero-shot prompt with worked examples (FIN-FORCE, section 4, B.2, table 9).

Examples come from a pool in seeded random draws. A draw depends on the seed and its number alone,
so that every model and every headline gets the same examples; a headline that is in the pool itself
is left out of its own prompt.
"""

import json
from collections.abc import Sequence

import numpy as np

from contrafact.errors import InputError
from contrafact.families.finforce.data import bundled_shots
from contrafact.families.finforce.generation import WRAPPER, Generation, pair_schema, read_pair
from contrafact.families.finforce.records import Headline
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.prompts import PromptPack
from contrafact.text.delimit import delimit

DEFAULT_SHOTS = 3


class Prompted:
    """A method of one call: the task, examples if any, the headline."""

    def __init__(
        self,
        name: str,
        pack: PromptPack,
        *,
        shots: int = 0,
        pool: Sequence[Headline] = (),
        seed: int = 0,
    ):
        self.name = name
        self.shots = shots
        self._pool = [item for item in pool if item.reference is not None]
        self._seed = seed
        self._template = pack.template("finforce/generate", required={"headline", "shots"})
        if shots and len(self._pool) <= shots:
            raise InputError(
                f"the pool holds {len(self._pool)} headlines with counterfactuals, "
                f"too few to draw {shots} and leave out the item itself",
                hint="give a larger file with --shots-from, or fewer --shots",
            )

    def prompt(self, headline: Headline, draw: int = 1) -> str:
        shots = draw_shots(self._pool, self.shots, seed=self._seed, draw=draw, exclude=headline.id)
        return self._template.render(
            headline=delimit(headline.text), shots=[_shown(shot) for shot in shots]
        )

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        output = await ask(
            self.prompt(headline, draw), pair_schema("original_headline", nested=True)
        )
        return read_pair(output)

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        return [PlannedCall(self.prompt(headline), reply_tokens=110)]


def draw_shots(
    pool: Sequence[Headline], count: int, *, seed: int, draw: int, exclude: str
) -> list[Headline]:
    """Return ``count`` headlines of the pool, drawn by seed and draw, without the excluded id."""
    if not count:
        return []
    order = np.random.default_rng([seed, draw]).permutation(len(pool))
    others = [pool[int(position)] for position in order if pool[int(position)].id != exclude]
    return others[:count]


def method(context: MethodContext) -> Prompted:
    """Return the method, with our own pool of examples if none is given."""
    return Prompted(
        "few-shot",
        context.pack,
        shots=context.settings.shots or DEFAULT_SHOTS,
        pool=context.pool or bundled_shots(),
        seed=context.settings.seed,
    )


def _shown(shot: Headline) -> dict[str, str]:
    if shot.reference is None:
        raise ValueError("an example needs its reference counterfactuals")
    headline = delimit(shot.text)
    answer = {
        "original_headline": headline,
        "opportunity_counterfactual": delimit(shot.reference.opportunity),
        "risk_counterfactual": delimit(shot.reference.risk),
    }
    return {"headline": headline, "answer": json.dumps({WRAPPER: [answer]}, ensure_ascii=False)}
