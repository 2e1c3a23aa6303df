"""diverse: several scenarios a side, chosen from more for how far they differ.

Not in the paper, which asks for one a side (FIN-FORCE, section 4). In one call the model writes a
number of scenarios of each side, each with the channel by which it reaches the market, its horizon
and the party that it touches most. What is degenerate is dropped, a verifier says which is best, or
it is the first where none is named (`contrafact.families.finforce.verifying`), and from there each
next one is the scenario that differs most from those chosen: in channel, horizon and party, then in
words. The first is the side's counterfactual; all are judged, and kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from inspect_ai.model import ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.errors import InputError
from contrafact.families.finforce.cards import CHANNELS, HORIZONS
from contrafact.families.finforce.generation import Generation, read_side
from contrafact.families.finforce.verifying import (
    DRAFTS,
    VERIFIER,
    Candidate,
    Drafting,
    Verifier,
    best_first,
    choose,
    gathered,
    option_in,
)
from contrafact.family.method import MethodContext, Option
from contrafact.judges.replies import read_json_object
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import SIDES, Headline, Side
from contrafact.text.degenerate import Batch, equal
from contrafact.text.delimit import delimit, replace_surrogates
from contrafact.text.likeness import overlap

__all__ = ["OPTIONS", "Diverse", "Facets", "distance", "method", "read_scenarios", "spread"]

OPTIONS: Mapping[str, Option] = {"k": 3, "n": 6}
"""``k``: scenarios a side. ``n``: how many a side are written, from which they are chosen."""

_SCENARIO_TOKENS = 55


@dataclass(frozen=True)
class Facets:
    """In what scenarios may differ, as the model states it; None where it does not.

    Attributes:
        channel: How the shift reaches the market.
        horizon: How soon.
        party: Whom it touches most.
    """

    channel: str | None = None
    horizon: str | None = None
    party: str | None = None


class Diverse:
    """One call of the writer, and one of the verifier for every pair of sound scenarios."""

    shots = 0
    roles = (VERIFIER,)

    def __init__(self, context: MethodContext):
        options = {**OPTIONS, **context.options}
        self.name = context.name or "diverse"
        self._k = option_in(options, "k", 2, 10)
        self._n = option_in(options, "n", 2, 20)
        if self._n < self._k:
            raise InputError(
                f"diverse chooses {self._k} of {self._n}", hint="give it an n of at least k"
            )
        more = range(2, self._k + 1)
        texts = (f"{side}_counterfactual_{number}" for side in SIDES for number in more)
        self.added = (*texts, *DRAFTS)
        self._template = context.pack.template(
            "finforce/diverse", required={"headline", "number", "channels", "horizons"}
        )
        self._verifier = Verifier.of(context.pack)
        self._batch = Batch([one.text for one in context.items]) if context.items else None

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        """See `contrafact.family.method.Method`."""
        exchanges = [] if ask.exchanges is None else ask.exchanges
        ask = replace(ask, exchanges=exchanges)
        output = await ask(self._prompt(headline), _schema())
        scenarios = read_scenarios(output)
        if isinstance(scenarios, str):
            return Generation.none(scenarios)
        made = Drafting(headline, self._batch or Batch([headline.text]), exchanges)
        facets: dict[tuple[Side, int], Facets] = {}
        for at in range(max(len(own) for own in scenarios.values())):
            own = {side: scenarios[side][at] for side in SIDES if at < len(scenarios[side])}
            read = {side: read_side(text, side) for side, (text, _) in own.items()}
            number = made.add(
                Generation(
                    {side: text for side, (text, _) in read.items()},
                    {side: why for side, (text, why) in read.items() if text is None},
                ),
                tuple(own),
            )
            facets |= {(side, number): own[side][1] for side in own}
        numbers = range(1, made.drafts + 1)
        looks = [self._verifier.look(ask, headline, made.sound(number)) for number in numbers]
        for number, findings in zip(numbers, await gathered(looks), strict=True):
            made.note(number, findings)
        for side in SIDES:
            if not made.candidates[side]:
                why = f"no {side} scenario in the reply"
                made.candidates[side].append(Candidate(0, None, why))
        result = made.result()
        firsts = choose(made.candidates)
        taken: list[str] = [text for text in result.texts.values() if text is not None]
        more: dict[Side, list[str]] = {}
        kept: dict[Side, list[dict[str, Any]]] = {}
        for side in SIDES:
            first = firsts[side]
            chosen = [] if first is None or not first.is_sound else [first]
            chosen = spread(
                chosen,
                [one for one in made.candidates[side] if one.is_sound],
                partial(_facets_of, facets, side),
                self._k,
                taken,
            )
            more[side] = [one.text for one in chosen[1:] if one.text is not None]
            taken += more[side]
            kept[side] = [
                {
                    **one.as_json(chosen=one in chosen),
                    **vars(facets.get((side, one.draft), Facets())),
                }
                for one in made.candidates[side]
            ]
        return replace(result, trace={**result.trace, "drafts": kept}, more=more)

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        write = PlannedCall(self._prompt(headline), 2 * self._n * _SCENARIO_TOKENS)
        return [write, *[self._verifier.plan(headline)] * self._n]

    def _prompt(self, headline: Headline) -> str:
        return self._template.render(
            headline=delimit(headline.text),
            number=self._n,
            channels=", ".join(CHANNELS),
            horizons=", ".join(HORIZONS),
        )


def read_scenarios(output: ModelOutput) -> "dict[Side, list[tuple[Any, Facets]]] | str":
    """Return the scenarios of each side in a reply, as they came; or why there are none."""
    reply = read_json_object(output.completion)
    if reply.value is None:
        cut = output.stop_reason == "max_tokens"
        return "cut off at the token limit" if cut else reply.invalid or "not JSON"
    found: dict[Side, list[tuple[Any, Facets]]] = {}
    for side in SIDES:
        listed = reply.value.get(side)
        rows = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        found[side] = [
            (row.get("text"), Facets(*(_word(row.get(n)) for n in ("channel", "horizon", "party"))))
            for row in rows
        ]
    return found if any(found.values()) else "no scenario in the reply"


def distance(one: Candidate, other: Candidate, first: Facets, second: Facets) -> float:
    """Return how far two scenarios differ, 0 to 4: facets first, then words.

    Facets that are not stated count as the same.
    """
    pairs = zip(vars(first).values(), vars(second).values(), strict=True)
    differ: int = sum(a is not None and b is not None and a != b for a, b in pairs)
    return differ + 1.0 - overlap(one.text or "", other.text or "")


def spread(
    chosen: Sequence[Candidate],
    candidates: Sequence[Candidate],
    facets: Callable[[Candidate], Facets],
    k: int,
    taken: Sequence[str] = (),
) -> list[Candidate]:
    """Return up to k candidates, each next one the farthest from the nearest of those before.

    What fails by a criterion is taken only where too few do not. Of what is equally far the better
    comes first. No two have the same words, and none those of a text that is taken.

    Args:
        chosen: What is chosen already: the best one, or none.
        candidates: The sound ones.
        facets: Returns a candidate's facets.
        k: How many are wanted.
        taken: Texts that may not come again.
    """
    found, used = list(chosen), list(taken)
    ranked = best_first(candidates)
    failed = [one for one in ranked if one.finding is not None and one.finding.failed]
    for pool in ([one for one in ranked if one not in failed], failed):
        left = list(pool)
        while len(found) < k:
            left = [one for one in left if not any(equal(one.text or "", text) for text in used)]
            if not left:
                break
            # max() keeps the first of equals, which is the better one.
            best = max(
                left,
                key=lambda one: min(
                    (distance(one, other, facets(one), facets(other)) for other in found),
                    default=0.0,
                ),
            )
            found.append(best)
            used.append(best.text or "")
    return found


def method(context: MethodContext) -> Diverse:
    """Return the method."""
    return Diverse(context)


def _facets_of(facets: Mapping[tuple[Side, int], Facets], side: Side, one: Candidate) -> Facets:
    return facets[side, one.draft]


def _word(value: Any) -> str | None:
    text = " ".join(replace_surrogates(value).casefold().split()) if isinstance(value, str) else ""
    return text[:80] or None


def _schema() -> ResponseSchema:
    one = JSONSchema(
        type="object",
        properties={
            "channel": JSONSchema(type="string", enum=list(CHANNELS)),
            "horizon": JSONSchema(type="string", enum=list(HORIZONS)),
            "party": JSONSchema(type="string"),
            "text": JSONSchema(type="string"),
        },
        required=["channel", "horizon", "party", "text"],
        additionalProperties=False,
    )
    sides = tuple(reversed(SIDES))
    both = JSONSchema(
        type="object",
        properties={side: JSONSchema(type="array", items=one) for side in sides},
        required=list(sides),
        additionalProperties=False,
    )
    return ResponseSchema(name="scenarios", json_schema=both, strict=True)
