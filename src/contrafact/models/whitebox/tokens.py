"""Tokens of prompts and texts, made by a model's own tokenizer and chat template."""

from collections.abc import Mapping, Sequence
from typing import Any

from contrafact.errors import InputError
from contrafact.models.whitebox.weights import CausalModel
from contrafact.text.delimit import tokenizable


def end_tokens(causal: CausalModel) -> frozenset[int]:
    """Return the end tokens of the tokenizer and of the model's settings."""
    settings = getattr(causal.model, "generation_config", None)
    stated: Any = getattr(settings, "eos_token_id", None)
    several = stated if isinstance(stated, list | tuple) else [stated]
    own = causal.tokenizer.eos_token_id
    return frozenset(int(token) for token in (*several, own) if token is not None)


def conversation_tokens(
    causal: CausalModel, turns: Sequence[Mapping[str, str]], *, begun: bool = False
) -> list[int]:
    """Return the token ids of a conversation, with those that open the answer.

    Without a chat template they are the start token and the texts, with empty lines between them.
    With ``begun`` the last turn is the start of the answer, which is continued.

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
        chat: Whether the prompt is a user's message in the tokenizer's chat template, or plain text
            after the start token. None is a message if the tokenizer has a template.

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
    """Return the token ids of a text that follows a prompt, with an end token if ``ended``."""
    ids = _ids(causal, tokenizable(text))
    end = causal.tokenizer.eos_token_id
    return [*ids, int(end)] if ended and end is not None else ids


def _ids(causal: CausalModel, text: str) -> list[int]:
    ids: list[int] = causal.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def continuation_text(causal: CausalModel, tokens: Sequence[int]) -> str:
    """Return the text of a continuation's tokens, without special tokens."""
    text: str = causal.tokenizer.decode(
        list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return text
