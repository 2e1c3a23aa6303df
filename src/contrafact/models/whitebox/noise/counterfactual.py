"""The string a model would have written: noise held, prompt or model changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.models.whitebox.noise.decoding import Continuation, generate, infer
from contrafact.models.whitebox.noise.gumbel import Noise, draw
from contrafact.models.whitebox.noise.sampling import Sampling
from contrafact.models.whitebox.noise.tokens import continuation_text, prompt_tokens, text_tokens
from contrafact.models.whitebox.weights import CausalModel

__all__ = ["CounterfactualText", "counterfactual_texts"]

_DEFAULT = Sampling()


@dataclass(frozen=True)
class CounterfactualText:
    """A text and what it would have been.

    Attributes:
        factual: The text that was written.
        counterfactual: The text under the same noise and the intervention.
        ended: Whether the counterfactual came to its end within the token limit.
    """

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
    """Return what would have been written under another prompt, another model, or both.

    Args:
        causal: The model that wrote the text.
        factual_prompt: The prompt it was written under.
        counterfactual_prompt: The prompt to write under instead; the same for a change of the
            model alone.
        text: The text that was written, whole; its noise is inferred. Without it the model
            writes one, whose noise is known.
        other: The model to write with instead, with the same tokens.
        samples: How many counterfactuals to draw, each under noise of its own.
        seed: Seed of the noise.
        held: Whether the noise is held; otherwise it is drawn anew, for comparison.
        sampling: Temperature and top-p, for both.
        max_tokens: The most tokens to write; a given text may have more.
        chat: How prompts are put; see `prompt_tokens`.

    Returns:
        One pair per sample.

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
    fresh = [draw(seed, f"fresh {number}") for number in range(samples)]
    noises: Sequence[Noise]
    if text is None:
        noises = drawn
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
    instead = generate(
        writer,
        [after] * samples,
        noises if held else fresh,
        max_tokens=max_tokens,
        sampling=sampling,
    )
    return [_pair(writer, fact, one) for fact, one in zip(facts, instead, strict=True)]


def _pair(causal: CausalModel, factual: str, instead: Continuation) -> CounterfactualText:
    return CounterfactualText(factual, continuation_text(causal, instead.tokens), instead.ended)
