"""counterfactual-distil: mask topic word and noun phrases, fill the masks per direction.

FIN-FORCE, section 4, B.2, tables 8 and 10, after Feng et al. (2024b). The masked headline and
the topic word are kept.
"""

from collections.abc import Sequence

from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import SIDES, Headline, Side
from contrafact.text.delimit import delimit
from contrafact.text.parsing import Span, mask_spans, noun_phrases

__all__ = ["MASK", "CounterfactualDistil", "mask_headline", "method"]

MASK = "[MASK]"


class CounterfactualDistil:
    """Two calls: name the topic word; fill the masks."""

    name = "counterfactual-distil"
    shots = 0

    def __init__(self, context: MethodContext):
        self._topic = context.pack.template("finforce/topic-word", required={"headline"})
        self._fill = context.pack.template(
            "finforce/counterfactual-distil", required={"masked_headline"}
        )

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        """See `contrafact.family.method.Method`."""
        text = delimit(headline.text)
        # Step 1: the model names the topic word.
        reply = (await ask(self._topic.render(headline=text))).completion
        topic = reply.strip().strip("\"'`.:*").strip()
        # Step 2: topic word and noun phrases are masked.
        masked, found = mask_headline(text, topic)
        trace = {"topic_word": topic, "topic_word_found": found, "masked_headline": masked}
        if MASK not in masked:
            return Generation.none("nothing to mask: no noun phrase, no topic word", trace)
        # Step 3: the masks are filled once per direction.
        prompt = self._fill.render(masked_headline=masked)
        output = await ask(prompt, pair_schema("original_masked_headline"))
        return _without_masks(read_pair(output, trace))

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        text = delimit(headline.text)
        return [
            PlannedCall(self._topic.render(headline=text), reply_tokens=5),
            PlannedCall(self._fill.render(masked_headline=text), reply_tokens=110),
        ]


def mask_headline(text: str, topic: str) -> tuple[str, bool]:
    """Return the headline with topic word and noun phrases masked, and if the topic was found.

    Overlapping spans are merged and grown to whole words.
    """
    spans = list(noun_phrases(text))
    start = text.lower().find(topic.lower()) if topic else -1
    if start >= 0:
        spans.append(Span(start, start + len(topic), text[start : start + len(topic)]))
    return mask_spans(text, spans, MASK), start >= 0


def method(context: MethodContext) -> CounterfactualDistil:
    """Return the method."""
    return CounterfactualDistil(context)


def _without_masks(generation: Generation) -> Generation:
    texts: dict[Side, str | None] = dict(generation.texts)
    invalid: dict[Side, str] = dict(generation.invalid)
    for side in SIDES:
        text = texts[side]
        if text is not None and MASK.lower() in text.lower():
            texts[side] = None
            invalid[side] = f"a mask is left unfilled in the {side} counterfactual"
    return Generation(texts, invalid, generation.repairs, generation.trace)
