"""counterfactual-distil: mask topic word and noun phrases, fill the masks per direction.

FIN-FORCE, section 4, B.2, tables 8 and 10, after Feng et al. (2024b). The masked headline and
the topic word are kept.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from contrafact.errors import require
from contrafact.families.finforce.generation import Generation, pair_schema, read_pair
from contrafact.families.finforce.records import Headline
from contrafact.family.method import MethodContext
from contrafact.judges.replies import answer_text
from contrafact.models.asking import Ask, PlannedCall
from contrafact.text.delimit import delimit
from contrafact.text.parsing import Span, mask_spans, noun_phrases

MASK = "[MASK]"
_LAST_WORD = re.compile(r"\w+\W*$")


class CounterfactualDistil:
    name = "counterfactual-distil"
    shots = 0

    def __init__(self, context: MethodContext):
        self._topic = context.pack.template("finforce/topic-word", required={"headline"})
        self._fill = context.pack.template(
            "finforce/counterfactual-distil", required={"masked_headline"}
        )

    async def __call__(self, headline: Headline, ask: Ask, *, draw: int = 1) -> Generation:
        text = delimit(headline.text)
        # Step 1: the model names the topic word (table 10).
        reply = answer_text((await ask(self._topic.render(headline=text))).completion).text
        topic = reply.strip().strip("\"'`.:*").strip()
        # Step 2: the topic word and the noun phrases are masked.
        masked, has_topic = mask_headline(text, topic)
        trace = {"topic_word": topic, "topic_word_found": has_topic, "masked_headline": masked}
        if MASK not in masked:
            return Generation.none("nothing to mask: no noun phrase, no topic word", trace)
        # Step 3: the model fills the masks, once for each direction (table 8).
        prompt = self._fill.render(masked_headline=masked)
        output = await ask(prompt, pair_schema("original_masked_headline"))
        return _without_masks(read_pair(output, trace))

    def plan(self, headline: Headline) -> Sequence[PlannedCall]:
        text = delimit(headline.text)
        return [
            PlannedCall(self._topic.render(headline=text), reply_tokens=5),
            PlannedCall(self._fill.render(masked_headline=text), reply_tokens=110),
        ]


def mask_headline(text: str, topic: str) -> tuple[str, bool]:
    """Return the headline with topic word and noun phrases masked, and whether it has the topic.

    Spans are extended to whole words. At least one word stays: if the parser takes the whole
    headline for a noun phrase, only the topic is masked, or else all words but the last.
    """
    matches = re.finditer(rf"(?<!\w){re.escape(topic)}(?!\w)", text, re.IGNORECASE) if topic else ()
    topics = [Span(*match.span(), match.group()) for match in matches]
    last = _LAST_WORD.search(text)
    start = last.start() if last else 0
    but_last = Span(0, start, text[:start])
    for spans in ([*noun_phrases(text), *topics], topics, [but_last]):
        masked = mask_spans(text, spans, MASK)
        if MASK in masked and re.search(r"\w", masked.replace(MASK, "")):
            return masked, bool(topics)
    return text, bool(topics)


def method(context: MethodContext) -> CounterfactualDistil:
    """Return the method; `InputError` without spaCy."""
    require("spacy", "noun phrases")
    return CounterfactualDistil(context)


def _without_masks(generation: Generation) -> Generation:
    unfilled = {
        side: f"a mask is left unfilled in the {side} counterfactual"
        for side, text in generation.texts.items()
        if text is not None and MASK.lower() in text.lower()
    }
    return replace(generation, invalid={**generation.invalid, **unfilled})
