"""New headlines, written by the model from examples, and which of them are kept.

FIN-FORCE, appendix B.2 and table 12; Yuan et al. (2024): eight examples to a prompt, six of the
data and two of the model's own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contrafact.corpus.duplicates import Text, find_duplicates
from contrafact.families.finforce.screen import proposal_by_rule
from contrafact.models.whitebox.noise import Sampling
from contrafact.models.whitebox.weights import CausalModel
from contrafact.records import content_id
from contrafact.text.delimit import delimit
from contrafact.training.config import Headlines
from contrafact.training.dialogue import Dialogue
from contrafact.training.stages import Journal
from contrafact.training.writing import Reply, Said, write_replies

__all__ = ["Written", "headline_of", "write_headlines"]

_ROUND = 48
_LONGEST = 250
_ECHO = 6  # words in a row that are no coincidence
_MARKS = ".,:;!?\"'“”‘’"
_FEWEST_WORDS = 4
_WRAPS = re.compile(r"^</?example>|</?example>$|^[\"“'‘*\-•\s]+|[\"”'’*\s]+$")
_LABEL = re.compile(r"^(?:new\s+)?(?:headline|title|news|answer)\s*\d*\s*[:.]\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Written:
    """What an iteration wrote: the headlines it keeps, and the others with the reason."""

    kept: tuple[str, ...]
    rejected: tuple[tuple[str, str], ...]


def headline_of(reply: Reply) -> tuple[str, str | None]:
    """Return the headline in a reply, and why it is none; no reason if it is one.

    Quotation marks, tags and a label around it go; of several lines the first counts.
    """
    lines = [line.strip() for line in reply.text.splitlines() if line.strip()]
    if not lines:
        return "", "no text"
    text = lines[0]
    for _ in range(3):
        text = _LABEL.sub("", _WRAPS.sub("", text)).strip()
    if not reply.ended and len(lines) == 1:
        return text, "cut off at the token limit"
    words = text.split()
    if len(words) < _FEWEST_WORDS:
        return text, f"under {_FEWEST_WORDS} words"
    if len(text) > _LONGEST:
        return text, f"over {_LONGEST} characters"
    if delimit(text) != text:
        return text, "holds a tag or invisible characters"
    folded = [word.casefold() for word in words]
    threes = list(zip(folded, folded[1:], folded[2:], strict=False))
    if len(set(threes)) < len(threes):
        return text, "says the same words twice"
    ruled = proposal_by_rule(text)
    if ruled is not None and ruled.market_event is False:
        return text, f"no market event: {ruled.why}"
    return text, None


def write_headlines(
    causal: CausalModel,
    dialogue: Dialogue,
    seeds: Sequence[str],
    known: Sequence[str],
    settings: Headlines,
    *,
    seed: int,
    iteration: int,
    journal: Journal,
    said: Said = lambda _: None,
) -> Written:
    """Return new headlines; fewer than wanted where the tries do not suffice.

    Args:
        causal: The model.
        dialogue: The prompts.
        seeds: Headlines of the data, to be shown as examples.
        known: Headlines that are not new: of the data, held out, of earlier iterations.
        settings: How many, from how many examples, how sampled.
        seed: Seed of examples and noise.
        iteration: Which iteration this is.
        journal: Where replies are kept.
        said: Called with how many more headlines are kept.
    """
    sampling = Sampling(settings.temperature, settings.top_p)
    before = [Text(content_id(text, prefix="h"), text) for text in dict.fromkeys([*seeds, *known])]
    asked = _runs(dialogue.ask_headline([]))
    kept: list[Text] = []
    rejected: list[tuple[str, str]] = []
    most = int(settings.tries * settings.count)
    for start in range(0, most, _ROUND):
        if len(kept) >= settings.count:
            break
        prompts = {}
        for number in range(start, min(most, start + _ROUND)):
            rng = np.random.default_rng([seed, iteration, number])
            own = min(settings.own_examples, len(kept))
            shown = [
                *_some(rng, seeds, settings.seed_examples + settings.own_examples - own),
                *_some(rng, [one.text for one in kept], own),
            ]
            order = rng.permutation(len(shown))
            prompts[f"headline {iteration}.{number}"] = dialogue.ask_headline(
                [shown[int(place)] for place in order]
            )
        replies = write_replies(
            causal,
            prompts,
            seed=seed,
            sampling=sampling,
            max_tokens=settings.max_tokens,
            journal=journal,
        )
        fresh: list[Text] = []
        for key in prompts:
            text, reason = headline_of(replies[key])
            if reason is None and asked & _runs(text):
                reason = "repeats what was asked"
            if reason is None:
                fresh.append(Text(content_id(text, prefix="h"), text))
            else:
                rejected.append((text, reason))
        twins = {found.position: found for found in find_duplicates(fresh, [*before, *kept])}
        new = [one for position, one in enumerate(fresh) if position not in twins]
        rejected += [(fresh[position].text, found.reason) for position, found in twins.items()]
        room = settings.count - len(kept)
        kept += new[:room]
        said(len(new[:room]))
    return Written(tuple(one.text for one in kept), tuple(rejected))


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of `_ECHO` words."""
    words = [word.strip(_MARKS).casefold() for word in text.split()]
    return {tuple(words[at : at + _ECHO]) for at in range(len(words) - _ECHO + 1)}


def _some(rng: np.random.Generator, texts: Sequence[str], count: int) -> list[str]:
    count = min(count, len(texts))
    return [texts[int(place)] for place in rng.choice(len(texts), size=count, replace=False)]
