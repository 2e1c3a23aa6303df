"""few-shot: the plain prompt with worked examples before it.

Examples come from a pool in seeded random draws, each asked in the phrasing of the question. A
draw's order depends on the seed and the draw alone, so that the same examples serve every model and
every story of that draw; variations of the story's own core set are skipped.
"""

from collections.abc import Sequence

import numpy as np

from contrafact.errors import InputError
from contrafact.families.cobe.data import PHRASINGS, StoryQuery, bundled_shots
from contrafact.families.cobe.records import Story
from contrafact.family.method import MethodContext
from contrafact.family.task import read_text
from contrafact.models.asking import Ask, PlannedCall
from contrafact.prompts import PromptPack
from contrafact.records import Output
from contrafact.text.delimit import delimit

_DEFAULT_SHOTS = 3
EDIT_TOKENS = 70
"""The approximate length of an edited scenario, for estimates."""


class Prompted:
    """One call: examples if any, the scenario, the query."""

    def __init__(
        self,
        name: str,
        pack: PromptPack,
        *,
        shots: int = 0,
        pool: Sequence[Story] = (),
        seed: int = 0,
    ):
        self.name = name
        self.shots = shots
        self._pool = [story for story in pool if story.answer]
        self._seed = seed
        self._template = pack.template("cobe/edit", required={"story", "query", "shots"})
        families = {story.core_set_id for story in self._pool}
        if shots and len(families) <= shots:
            raise InputError(
                f"the pool holds answers to {len(families)} core stories, "
                f"too few to draw {shots} and leave out the story's own",
                hint="give a larger file with --shots-from, or fewer --shots",
            )

    def prompt(self, question: StoryQuery, draw: int = 1) -> str:
        story = question.story
        shots = draw_shots(self._pool, self.shots, seed=self._seed, draw=draw, story=story)
        phrasing = PHRASINGS.index(question.phrasing)
        return self._template.render(
            story=delimit(story.text),
            query=delimit(question.query),
            shots=[
                {
                    "story": delimit(shot.text),
                    "query": delimit(shot.queries[phrasing]),
                    "answer": delimit(shot.answer),
                }
                for shot in shots
            ],
        )

    async def __call__(self, question: StoryQuery, ask: Ask, *, draw: int = 1) -> Output:
        return read_text(await ask(self.prompt(question, draw)))

    def plan(self, question: StoryQuery) -> Sequence[PlannedCall]:
        return [PlannedCall(self.prompt(question), EDIT_TOKENS)]


def draw_shots(
    pool: Sequence[Story], count: int, *, seed: int, draw: int, story: Story
) -> list[Story]:
    """Return `count` examples of other core stories, in the seeded order of a draw (from 1)."""
    order = np.random.default_rng([seed, draw]).permutation(len(pool))
    chosen: dict[int, Story] = {}
    for position in order:
        shot = pool[int(position)]
        related = shot.text == story.text or shot.core_set_id == story.core_set_id
        if len(chosen) < count and not related:
            chosen.setdefault(shot.core_set_id, shot)
    return list(chosen.values())


def method(context: MethodContext) -> Prompted:
    """Return the method, with the bundled examples if no pool is given."""
    return Prompted(
        "few-shot",
        context.pack,
        shots=context.settings.shots or _DEFAULT_SHOTS,
        pool=context.pool or bundled_shots(),
        seed=context.settings.seed,
    )
