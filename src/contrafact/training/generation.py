"""The texts that the model writes in a training: replies, new items, candidate answers.

Each text is written under its own noise, from its key and the seed. So it is the same in every
batch except for near ties (see `contrafact.models.whitebox.noise`). Batches are the same after a
restart, so that a killed stage reaches the same result.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from inspect_ai.model import GenerateConfig, get_model

from contrafact.corpus.duplicates import Text, find_duplicates
from contrafact.errors import InputError
from contrafact.family.method import Method, MethodContext
from contrafact.family.settings import RunSettings
from contrafact.files.journal import Journal
from contrafact.models.asking import Ask, Unanswered
from contrafact.models.whitebox.noise import Sampling, draw, generate, prompt_tokens
from contrafact.models.whitebox.weights import CausalModel
from contrafact.records import content_id
from contrafact.training.config import NewItems, Sampled
from contrafact.training.context import Advance, TrainingContext

_ROWS = 48  # the fastest on two cores; few rows cost nearly as much as many
_ECHO = 6  # this many words in a row are not repeated by chance
_MARKS = ".,:;!?\"'“”‘’"

# Replies


@dataclass(frozen=True)
class Reply:
    """A text that the model wrote, and whether it ended within the token limit."""

    text: str
    ended: bool


def generate_replies(
    causal: CausalModel,
    prompts: Mapping[str, str],
    *,
    settings: Sampled,
    seed: int,
    journal: Journal,
    advance: Advance = lambda _: None,
) -> dict[str, Reply]:
    """Return a reply to each prompt.

    Args:
        prompts: The prompts by key; the noise of a reply depends on its key and the seed.
        seed: Seed of the noise.
        journal: The journal that keeps finished batches.

    Raises:
        InputError: A prompt is too long for the model, or its logits are not numbers.
    """
    keys = sorted(prompts, key=lambda key: (len(prompts[key]), key))
    replies: dict[str, Reply] = {}
    for start in range(0, len(keys), _ROWS):
        batch = keys[start : start + _ROWS]
        name = content_id(*batch, prefix="b")
        if name not in journal.known:
            texts = generate(
                causal,
                [prompt_tokens(causal, prompts[key]) for key in batch],
                [draw(seed, key) for key in batch],
                max_tokens=settings.max_tokens,
                sampling=Sampling(settings.temperature, settings.top_p),
            )
            journal.keep(name, [[text.text, text.ended] for text in texts])
        for key, (text, ended) in zip(batch, journal.known[name], strict=True):
            replies[key] = Reply(text, ended)
        advance(len(batch))
    return replies


def check_context(causal: CausalModel, prompt: str, max_tokens: int, *, what: str) -> None:
    """Raise an `InputError` unless a prompt and the longest reply to it fit the context."""
    tokens = len(prompt_tokens(causal, prompt))
    if tokens + max_tokens > causal.context:
        raise InputError(
            f"the context of {causal.name} is too short: {causal.context:,} tokens, and {what} "
            f"takes {tokens:,} to ask and up to {max_tokens:,} to answer",
            hint="use a model with a longer context, a shorter prompt pack, or fewer max_tokens",
        )


# New items


def generate_items(
    context: TrainingContext,
    causal: CausalModel,
    seeds: Sequence[str],
    known: Sequence[str],
    *,
    iteration: int,
    journal: Journal,
    advance: Advance = lambda _: None,
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return new items, and the rejected ones with their reasons.

    There are fewer than wanted if the tries are used up.

    Args:
        seeds: Items of the data that serve as examples in prompts.
        known: Items that do not count as new: for validation, held out, or of earlier iterations.
        journal: The journal that keeps the replies.
        advance: Called with the number of further items that are kept.
    """
    spec, settings, seed = context.spec, context.config.items, context.config.seed
    before = [Text(spec.item_id(text), text) for text in dict.fromkeys([*seeds, *known])]
    prompted = _word_runs(context.prompts.new_item([]))
    kept: list[Text] = []
    rejected: list[tuple[str, str]] = []
    most = int(settings.tries * settings.count)
    for start in range(0, most, _ROWS):
        if len(kept) >= settings.count:
            break
        batch = {
            f"{spec.item} {iteration}.{number}": context.prompts.new_item(
                _examples(np.random.default_rng([seed, iteration, number]), seeds, kept, settings)
            )
            for number in range(start, min(most, start + _ROWS))
        }
        replies = generate_replies(causal, batch, settings=settings, seed=seed, journal=journal)
        fresh: list[Text] = []
        for key in batch:
            text, reason = spec.read_item(replies[key].text, replies[key].ended)
            if reason is None and prompted & _word_runs(text):
                reason = "repeats the prompt"
            if reason is None:
                fresh.append(Text(spec.item_id(text), text))
            else:
                rejected.append((text, reason))
        duplicates = find_duplicates(fresh, [*before, *kept], figures=False)
        twins = {duplicate.position: str(duplicate.reason) for duplicate in duplicates}
        rejected += [(fresh[position].text, reason) for position, reason in twins.items()]
        new = [text for position, text in enumerate(fresh) if position not in twins]
        new = new[: settings.count - len(kept)]
        kept += new
        advance(len(new))
    return [item.text for item in kept], rejected


def _examples(
    rng: np.random.Generator, seeds: Sequence[str], kept: Sequence[Text], settings: NewItems
) -> list[str]:
    """Draw a prompt's examples (Yuan et al., 2024), some from the data, some from the model."""

    def some(texts: Sequence[str], count: int) -> list[str]:
        count = min(count, len(texts))
        return [texts[int(index)] for index in rng.choice(len(texts), size=count, replace=False)]

    written = min(settings.own_examples, len(kept))
    examples = [
        *some(seeds, settings.seed_examples + settings.own_examples - written),
        *some([item.text for item in kept], written),
    ]
    return [examples[int(index)] for index in rng.permutation(len(examples))]


def _word_runs(text: str) -> set[tuple[str, ...]]:
    """Return every sequence of `_ECHO` words in a text."""
    words = [word.strip(_MARKS).casefold() for word in text.split()]
    return {tuple(words[at : at + _ECHO]) for at in range(len(words) - _ECHO + 1)}


# Candidates


@dataclass(frozen=True)
class Candidate:
    key: str
    item: str
    reply: Reply


def write_candidates(
    context: TrainingContext,
    model: str,
    items: Sequence[str],
    *,
    iteration: int,
    journal: Journal,
    advance: Advance = lambda _: None,
) -> list[Candidate]:
    """Return the answers of the config's method to all items, in order.

    ``zero-shot`` is the model's own reply. Another method's answer is written as a reply; an
    invalid answer becomes an empty reply, which enters no pair.

    Raises:
        InputError: There is no such method, or it cannot work with this model.
    """
    config, item_id = context.config, context.spec.item_id
    wanted = {
        f"candidate {iteration}.{item_id(item)}.{number}": (item, number)
        for item in items
        for number in range(config.candidates.per_item)
    }
    if config.candidates.method == "zero-shot":
        replies = generate_replies(
            context.model(model),
            {key: context.prompts.answer(item) for key, (item, _) in wanted.items()},
            settings=config.candidates,
            seed=config.seed,
            journal=journal,
            advance=advance,
        )
    else:
        context.free_model()  # the method loads its own model
        _answer_by_method(context, model, wanted, iteration, journal, advance)
        replies = {key: Reply(journal.known[key], True) for key in wanted}
    return [Candidate(key, item, replies[key]) for key, (item, _) in wanted.items()]


def _answer_by_method(
    context: TrainingContext,
    model: str,
    wanted: Mapping[str, tuple[str, int]],
    iteration: int,
    journal: Journal,
    advance: Advance,
) -> None:
    """Write the method's reply to each wanted item and number to the journal."""
    spec, seed = context.spec, context.config.seed
    name = f"whitebox/{model}"
    method = open_method(context, seed=seed * 1_000 + iteration, models=(name,))
    ask = Ask(get_model(name, config=GenerateConfig(**_sampling(context), seed=seed)))

    async def reply(key: str) -> str:
        item, number = wanted[key]
        try:
            answer = spec.method_answer(await method(spec.method_input(item), ask, draw=number + 1))
        except Unanswered:
            answer = None
        return "" if answer is None else spec.reply(item, answer)

    failures = asyncio.run(journal.fill(wanted, reply, at_once=_ROWS, each=lambda _: advance(1)))
    for error in failures.values():
        raise error


def open_method(
    context: TrainingContext, *, seed: int = 0, models: Sequence[str] = ()
) -> Method[Any, Any]:
    """Return the checked method for candidates; `InputError` if it cannot be used."""
    methods = context.spec.methods
    settings = RunSettings(task=methods.task, models=tuple(models), seed=seed)
    spec = methods.spec(context.config.candidates.method, _sampling(context))
    return methods.make(spec, MethodContext(settings, pack=context.pack))


def _sampling(context: TrainingContext) -> dict[str, Any]:
    names = {"temperature", "top_p", "max_tokens"}
    return context.config.candidates.model_dump(include=names)
