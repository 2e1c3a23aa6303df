"""Between strings and the token ids that noise belongs to."""

from collections.abc import Sequence
from typing import Any

from contrafact.errors import InputError
from contrafact.models.whitebox.weights import CausalModel
from contrafact.text.delimit import tokenizable

__all__ = ["continuation_text", "end_tokens", "prompt_tokens", "text_tokens"]


def end_tokens(causal: CausalModel) -> frozenset[int]:
    """Return the tokens that end a text: the tokenizer's, and those of the model's settings."""
    settings = getattr(causal.model, "generation_config", None)
    stated: Any = getattr(settings, "eos_token_id", None)
    several = stated if isinstance(stated, list | tuple) else [stated]
    own = None if causal.tokenizer is None else causal.tokenizer.eos_token_id
    return frozenset(int(token) for token in (*several, own) if token is not None)


def prompt_tokens(causal: CausalModel, prompt: str, *, chat: bool | None = None) -> list[int]:
    """Return the token ids of a prompt.

    Args:
        causal: The model.
        prompt: What to say to it.
        chat: Whether it is a user's message, put into the tokenizer's chat template, or plain
            text behind the start token that is to be continued. A message where there is a
            template, if not given.

    Raises:
        InputError: If a template is asked for and the tokenizer has none.
    """
    tokenizer = causal.tokenizer
    prompt = tokenizable(prompt)
    if chat is None:
        chat = bool(tokenizer.chat_template)
    if not chat:
        plain = tokenizer(prompt, add_special_tokens=False, verbose=False)["input_ids"]
        return [causal.start_token, *plain]
    if not tokenizer.chat_template:
        raise InputError(
            f"the tokenizer of {causal.name} has no chat template",
            hint="give the prompt as plain text to be continued",
        )
    message = [{"role": "user", "content": prompt}]
    shown = tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
    ids: list[int] = tokenizer(shown, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def text_tokens(causal: CausalModel, text: str, *, ended: bool = True) -> list[int]:
    """Return the token ids of a text that follows a prompt.

    Args:
        causal: The model.
        text: The text.
        ended: Whether the text is whole, so that the end token belongs to it.
    """
    ids: list[int] = causal.tokenizer(tokenizable(text), add_special_tokens=False, verbose=False)[
        "input_ids"
    ]
    end = causal.tokenizer.eos_token_id
    return [*ids, int(end)] if ended and end is not None else ids


def continuation_text(causal: CausalModel, tokens: Sequence[int]) -> str:
    """Return the string that a continuation's tokens are, without special tokens."""
    text: str = causal.tokenizer.decode(
        list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return text
