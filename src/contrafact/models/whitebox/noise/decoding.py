"""Generating under given noise, inferring the noise of a given text, and counterfactual texts.

A row of a batch is computed with other batch neighbours in another order of additions, so its
logits differ in the last digits (by up to 1e-4 in float32). An item therefore gives the same text
in every batch, or the first token that differs had a lead under ``CLOSE`` (1e-3 logits) over the
runner-up; every token's lead is returned.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.models.whitebox.card import batch_limit, in_halves
from contrafact.models.whitebox.kv_cache import Prefix, PromptBatch, by_length
from contrafact.models.whitebox.noise.gumbel import (
    DrawnNoise,
    HindsightNoise,
    Noise,
    Sampling,
    choose,
    device_noise,
    draw,
    log_probabilities,
)
from contrafact.models.whitebox.weights import CausalModel
from contrafact.text.delimit import tokenizable

if TYPE_CHECKING:
    import torch

__all__ = [
    "Continuation",
    "CounterfactualText",
    "continuation_text",
    "conversation_tokens",
    "counterfactual_texts",
    "end_tokens",
    "generate",
    "infer",
    "prompt_tokens",
    "text_tokens",
]

_ROWS = 48  # of a batch on the CPU
_LEAST_ROWS = 8  # two to four rows cost more than eight on few cores
_READ_TOKENS = 512  # of texts whose logits are made at once when noise is inferred
_DEFAULT = Sampling()


def end_tokens(causal: CausalModel) -> frozenset[int]:
    """Return the tokens that end a text: the tokenizer's, and those of the model's settings."""
    settings = getattr(causal.model, "generation_config", None)
    stated: Any = getattr(settings, "eos_token_id", None)
    several = stated if isinstance(stated, list | tuple) else [stated]
    own = None if causal.tokenizer is None else causal.tokenizer.eos_token_id
    return frozenset(int(token) for token in (*several, own) if token is not None)


def conversation_tokens(
    causal: CausalModel, turns: Sequence[Mapping[str, str]], *, begun: bool = False
) -> list[int]:
    """Return the token ids of a conversation, those that open the answer included.

    A model without a chat template continues the texts, an empty line between them, behind its
    start token. An answer that is ``begun``, the last turn, goes on.

    Raises:
        InputError: If the template refuses the conversation.
    """
    from jinja2 import TemplateError

    turns = [{**turn, "content": tokenizable(turn["content"])} for turn in turns]
    if not causal.tokenizer.chat_template:
        return [causal.start_token, *_ids(causal, "\n\n".join(turn["content"] for turn in turns))]
    try:
        shown = causal.tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
        )
    except TemplateError as error:
        problem = f"the chat template of {causal.name} refuses the conversation ({error})"
        raise InputError(problem) from error
    return _ids(causal, shown)


def prompt_tokens(causal: CausalModel, prompt: str, *, chat: bool | None = None) -> list[int]:
    """Return the token ids of a prompt.

    Args:
        chat: Whether it is a user's message in the tokenizer's chat template, or plain text behind
            the start token that is to be continued. A message where there is a template, if None.

    Raises:
        InputError: If a template is asked for and the tokenizer has none.
    """
    if chat and not causal.tokenizer.chat_template:
        raise InputError(
            f"the tokenizer of {causal.name} has no chat template",
            hint="give the prompt as plain text to be continued",
        )
    if chat is False:
        return [causal.start_token, *_ids(causal, tokenizable(prompt))]
    return conversation_tokens(causal, [{"role": "user", "content": prompt}])


def text_tokens(causal: CausalModel, text: str, *, ended: bool = True) -> list[int]:
    """Return the token ids of a text that follows a prompt; with the end token if it is whole."""
    ids = _ids(causal, tokenizable(text))
    end = causal.tokenizer.eos_token_id
    return [*ids, int(end)] if ended and end is not None else ids


def _ids(causal: CausalModel, text: str) -> list[int]:
    ids: list[int] = causal.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def continuation_text(causal: CausalModel, tokens: Sequence[int]) -> str:
    """Return the string that a continuation's tokens are, without special tokens."""
    text: str = causal.tokenizer.decode(
        list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return text


@dataclass(frozen=True)
class Continuation:
    """What a model wrote under some noise.

    Attributes:
        tokens: The tokens; the end token is the last of them where the text ended.
        gaps: Each token's lead over the runner-up, in logits; 0 where the edge of the nucleus
            was too close to call.
        ended: Whether the model ended the text, or it was cut at the token limit.
    """

    tokens: tuple[int, ...]
    gaps: tuple[float, ...]
    ended: bool


def generate(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    noises: Sequence[Noise],
    *,
    max_tokens: int,
    sampling: Sampling = _DEFAULT,
    ends: Collection[int] | None = None,
    rows: int | None = None,
    check: Callable[[], None] = lambda: None,
    known: Sequence[tuple[Prefix | None, int]] | None = None,
) -> list[Continuation]:
    """Continue each prompt under its noise; return a continuation for each, in order.

    The same prompt and noise give the same tokens; another prompt or model under the same noise
    gives the counterfactual.

    Args:
        prompts: Token ids, at least one each; see `prompt_tokens`.
        noises: The noise of each. Rows that share a noise share the work of making it.
        max_tokens: The most tokens to write, the end token included.
        ends: The tokens that end a text; the model's own if not given.
        rows: Prompts in one batch, those of like length together; 48 if not given, and on a GPU as
            many as its memory takes.
        check: Called before each token; what it raises ends the work.
        known: What serves each prompt of a beginning read before; see `PrefixStore.prepare`.

    Raises:
        InputError: If a prompt and ``max_tokens`` do not fit the model's context together, a
            number is out of range, or the model's logits are not finite.
    """
    if max_tokens < 1 or (rows is not None and rows < 1):
        raise InputError("at least one token must be written, and one row make a batch")
    if len(prompts) != len(noises):
        raise ValueError(f"{len(prompts)} prompts and {len(noises)} noises")
    for prompt in prompts:
        _check_room(causal, len(prompt), max_tokens)
    last = frozenset(end_tokens(causal) if ends is None else ends)
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]), reverse=True)
    done: dict[int, Continuation] = {}
    if rows is None:
        longest, card = max(map(len, prompts), default=0) + max_tokens, batch_limit(causal)
        rows = max(1, card[0] // (longest + card[1])) if card else _ROWS

    def write(part: Sequence[int]) -> list[Continuation]:
        asked = [(tuple(prompts[n]), *(known[n] if known else (None, 0))) for n in part]
        batch, own = PromptBatch(causal, asked, room=max_tokens), [noises[n] for n in part]
        return _decode(batch, own, max_tokens, sampling, last, check)

    for start in range(0, len(order), rows):
        part = order[start : start + rows]
        done.update(zip(part, in_halves(causal, part, write), strict=True))
    return [done[index] for index in range(len(prompts))]


def infer(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[int]],
    draws: Sequence[DrawnNoise],
    *,
    sampling: Sampling = _DEFAULT,
) -> list[HindsightNoise]:
    """Infer noise under which the model continues each prompt with its text.

    It is a draw from the posterior of the noise given the text: under it the text comes back,
    and over many draws it is distributed as noise that led to this text is. It keeps the
    model's logits along the text, four bytes per token and vocabulary entry in float32.
    Prompts and texts are token ids, an end token included where the text ends.

    Raises:
        InputError: If a text cannot have been sampled so (a token outside top-p), does not fit
            the model's context, or the model's logits are not finite.
    """
    if not len(prompts) == len(texts) == len(draws):
        raise ValueError(f"{len(prompts)} prompts, {len(texts)} texts, {len(draws)} draws")
    for prompt, text in zip(prompts, texts, strict=True):
        if not text:
            raise InputError("a text has no tokens, and says nothing of its noise")
        _check_room(causal, len(prompt), len(text))
    made: dict[int, HindsightNoise] = {}
    for part in by_length([len(text) for text in texts], _READ_TOKENS):
        along = _read(causal, [prompts[index] for index in part], [texts[index] for index in part])
        for index, logits in zip(part, along, strict=True):
            _check_possible(causal, texts[index], logits, sampling)
            made[index] = HindsightNoise(draws[index], tuple(texts[index]), logits, sampling)
    return [made[index] for index in range(len(prompts))]


@dataclass(frozen=True)
class CounterfactualText:
    """A text, and what it would have been under the intervention; ``ended`` within the limit."""

    factual: str
    counterfactual: str
    ended: bool


def counterfactual_texts(
    causal: CausalModel,
    factual_prompt: str,
    counterfactual_prompt: str,
    *,
    text: str | None = None,
    other: CausalModel | None = None,
    samples: int = 1,
    seed: int = 0,
    held: bool = True,
    sampling: Sampling = _DEFAULT,
    max_tokens: int = 128,
    chat: bool | None = None,
) -> list[CounterfactualText]:
    """Return what would have been written under another prompt, another model, or both, by sample.

    Args:
        text: The text that was written, whole; its noise is inferred. Without it the model
            writes one, whose noise is known.
        other: The model to write with instead, with the same tokens.
        samples: How many counterfactuals to draw, each under noise of its own.
        held: Whether the noise is kept; otherwise it is drawn anew, for comparison.
        max_tokens: The most tokens to write; a given text may have more.
        chat: How prompts are put; see `prompt_tokens`.

    Raises:
        InputError: If the models do not share their tokens, the text cannot have been sampled,
            or prompt and text do not fit the context.
    """
    if samples < 1:
        raise InputError(f"at least one sample must be drawn, not {samples}")
    writer = causal if other is None else other
    if writer.tokenizer.get_vocab() != causal.tokenizer.get_vocab():
        raise InputError(
            f"{writer.name} and {causal.name} do not share their tokens",
            hint="noise can be held only between models with one tokenizer",
        )
    before = prompt_tokens(causal, factual_prompt, chat=chat)
    after = prompt_tokens(writer, counterfactual_prompt, chat=chat)
    drawn = [draw(seed, f"sample {number}") for number in range(samples)]
    noises: Sequence[Noise] = drawn
    if text is None:
        written = generate(
            causal, [before] * samples, noises, max_tokens=max_tokens, sampling=sampling
        )
        facts = [continuation_text(causal, one.tokens) for one in written]
    else:
        tokens = text_tokens(causal, text)
        # One reading serves all samples: only the randomness differs.
        (first,) = infer(causal, [before], [tokens], drawn[:1], sampling=sampling)
        noises = [first.under(one) for one in drawn]
        facts = [text] * samples
    if not held:
        noises = [draw(seed, f"fresh {number}") for number in range(samples)]
    instead = generate(writer, [after] * samples, noises, max_tokens=max_tokens, sampling=sampling)
    return [
        CounterfactualText(fact, continuation_text(writer, one.tokens), one.ended)
        for fact, one in zip(facts, instead, strict=True)
    ]


def _decode(
    batch: PromptBatch,
    noises: Sequence[Noise],
    max_tokens: int,
    sampling: Sampling,
    ends: frozenset[int],
    check: Callable[[], None],
) -> list[Continuation]:
    import torch

    tokens: list[list[int]] = [[] for _ in noises]
    gaps: list[list[float]] = [[] for _ in noises]
    ended = [False] * len(noises)
    rows = list(range(len(noises)))  # which text each row of the batch writes
    kept_noise: NDArray[np.float64] | None = None
    with torch.inference_mode():
        for position in range(max_tokens):
            check()
            logits = batch.logits()
            own, over = [noises[text] for text in rows], [ended[text] for text in rows]
            if batch.on_card:
                noise = device_noise(own, position, logits.shape[-1], logits.device)
            else:
                if kept_noise is None:
                    kept_noise = np.zeros((len(rows), logits.shape[-1]))
                made = _noise(kept_noise[: len(rows)], own, over, position)
                noise = torch.from_numpy(made).to(logits.device)
            chosen, leads = choose(logits, noise, sampling)
            for text, token, lead in zip(rows, chosen.tolist(), leads.tolist(), strict=True):
                if not ended[text]:
                    tokens[text].append(token)
                    gaps[text].append(lead)
                    ended[text] = token in ends
            if all(ended):
                break
            kept = _kept([ended[text] for text in rows])
            if len(kept) < len(rows) and batch.keep(kept):
                rows = [rows[row] for row in kept]
                chosen = chosen[kept]
            batch.feed(chosen)
    return [
        Continuation(tuple(own), tuple(leads), end)
        for own, leads, end in zip(tokens, gaps, ended, strict=True)
    ]


def _kept(ended: Sequence[bool]) -> list[int]:
    """Return the rows that go on: all, until so many have ended that a smaller batch is worth it.

    Rows that ended fill it up where fewer than ``_LEAST_ROWS`` go on: less would cost as much.
    """
    going = [row for row, over in enumerate(ended) if not over]
    if 2 * max(len(going), _LEAST_ROWS) > len(ended):
        return list(range(len(ended)))
    over = [row for row, over in enumerate(ended) if over]
    return sorted([*going, *over[: max(0, _LEAST_ROWS - len(going))]])


def _noise(
    result: NDArray[np.float64], noises: Sequence[Noise], ended: Sequence[bool], position: int
) -> NDArray[np.float64]:
    """Put a position's noise into ``(rows, vocabulary)``; rows that ended need none."""
    first: dict[Noise, int] = {}
    for row, noise in enumerate(noises):
        if ended[row]:
            continue
        if noise in first:
            result[row] = result[first[noise]]
        else:
            first[noise] = row
            result[row] = noise.at(position, result.shape[-1])
    return result


def _read(
    causal: CausalModel, prompts: Sequence[Sequence[int]], texts: Sequence[Sequence[int]]
) -> "Iterator[torch.Tensor]":
    """Yield the logits before each token of each text, ``(tokens, vocabulary)``, on the CPU."""
    import torch

    longest = max(len(text) for text in texts)
    rows = [(*prompt, *text)[:-1] for prompt, text in zip(prompts, texts, strict=True)]
    with torch.inference_mode():
        logits = PromptBatch(causal, [(row, None, 0) for row in rows], positions=longest).along()
    for own, text in zip(logits, texts, strict=True):
        yield own[len(own) - len(text) :].cpu().clone()


def _check_room(causal: CausalModel, prompt: int, text: int) -> None:
    if prompt == 0:
        raise InputError("a prompt has no tokens")
    if prompt + text > causal.context:
        raise InputError(
            f"a prompt of {prompt:,} tokens and {text:,} more do not fit the context of "
            f"{causal.context:,} tokens that {causal.name} has",
            hint="shorten the prompt, or ask for fewer tokens",
        )


def _check_possible(
    causal: CausalModel, text: Sequence[int], logits: "torch.Tensor", sampling: Sampling
) -> None:
    for position, token in enumerate(text):
        log_p = log_probabilities(logits[position, None], sampling)[0]
        if not log_p[token].isfinite():
            named = f"{causal.tokenizer.decode([token])!r}, " if causal.tokenizer else ""
            raise InputError(
                f"the text cannot have been sampled so: its token {position + 1} ({named}id "
                f"{token}) has no probability at top-p {sampling.top_p:g}",
                hint="use top-p 1",
            )
