"""repair: a draft, what a verifier finds wrong with it, and another try, until nothing is wrong.

Not in the paper. A first draft is checked: a reply that cannot be read and a text that is
degenerate are found without a model, and of what is sound a verifier names the criterion that
fails and why (`contrafact.families.finforce.verifying`). What is wrong is told to the writer, which
writes that side anew, so many times at most. The best of all that was written is kept, so that no
repair makes a text worse; drafts, faults and choice are kept as well.
"""

from collections.abc import Mapping, Sequence

from contrafact.families.finforce.generation import (
    Generation,
    pair_schema,
    read_pair,
    side_schema,
)
from contrafact.families.finforce.verifying import (
    PAIR_TOKENS,
    SENTENCES,
    Candidate,
    DraftingMethod,
    choose,
    draft_seed,
    option_in,
)
from contrafact.family.method import MethodContext, Option
from contrafact.models.asking import Ask, PlannedCall, Unanswered
from contrafact.records import SIDES, Headline, Side
from contrafact.text.degenerate import EQUAL_SIDES
from contrafact.text.delimit import delimit

__all__ = ["OPTIONS", "Repair", "method"]

OPTIONS: Mapping[str, Option] = {"rounds": 2, "base": "zero-shot"}
"""``rounds``: how many repairs at most. ``base``: the prompt of the first draft, ``zero-shot`` or
``guided``."""

_MOST = 16


class Repair(DraftingMethod):
    """One call of the writer, one of the verifier, and both again for every repair."""

    def __init__(self, context: MethodContext):
        options = {**OPTIONS, **context.options}
        self._rounds = option_in(options, "rounds", 1, _MOST)
        super().__init__(context, "repair", str(options["base"]))
        self._repair = context.pack.template("finforce/repair", required={"headline", "wrong"})

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        """See `contrafact.family.method.Method`."""
        made, ask = self._begin(headline, ask)
        first = await ask(
            self._prompt.prompt(headline, draw), pair_schema("original_headline", nested=True)
        )
        number, done = made.add(read_pair(first)), 0
        made.note(number, await self._verifier.assess(ask, headline, made.sound(number)))
        while done < self._rounds and (wrong := faults(choose(made.candidates))):
            done += 1
            again = ask.sampled(draft_seed(self._context, headline, draw, done))
            try:
                prompt = self._ask_again(headline, wrong)
                output = await again(prompt, side_schema(tuple(wrong)))
            except Unanswered as reason:
                made.add(Generation.none(str(reason)), tuple(wrong))
                break
            number = made.add(read_pair(output), tuple(wrong))
            made.note(number, await self._verifier.assess(ask, headline, made.sound(number)))
        return made.result({"rounds": done})

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`: the most that it may take."""
        wrong = {side: {"text": headline.text, "fault": "word " * 40} for side in SIDES}
        again = PlannedCall(self._ask_again(headline, wrong), PAIR_TOKENS)
        checks = [self._verifier.plan(headline)] * (1 + self._rounds)
        first = PlannedCall(self._prompt.prompt(headline), PAIR_TOKENS)
        return [first, *[again] * self._rounds, *checks]

    def _ask_again(self, headline: Headline, wrong: Mapping[Side, Mapping[str, str]]) -> str:
        shown = {
            side: {name: delimit(text) for name, text in wrong[side].items()}
            for side in SIDES
            if side in wrong
        }
        return self._repair.render(headline=delimit(headline.text), wrong=shown)


def faults(chosen: Mapping[Side, Candidate | None]) -> dict[Side, dict[str, str]]:
    """Return what is wrong with the best draft so far: the text and its fault, by side.

    What a verifier said in words that cannot be read is no fault.
    """
    found: dict[Side, dict[str, str]] = {}
    for side in SIDES:
        one = chosen[side]
        if one is None:
            found[side] = {"text": "", "fault": f"It {EQUAL_SIDES}."}
        elif one.problem is not None:
            what = "It" if one.text else "The reply could not be used:"
            found[side] = {"text": one.text or "", "fault": f"{what} {one.problem}."}
        elif one.finding is not None and one.finding.failed is not None:
            fault = f"It fails by this: {SENTENCES[one.finding.failed]} {one.finding.why}"
            found[side] = {"text": one.text or "", "fault": fault.strip()}
    return found


def method(context: MethodContext) -> Repair:
    """Return the method."""
    return Repair(context)
