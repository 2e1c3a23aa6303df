"""A plain text starts behind the token that the model was trained to find there."""

from types import SimpleNamespace
from typing import Any

import pytest

from contrafact.models.whitebox.weights import text_start

VOCABULARY = {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2, "<s>": 3, "</s>": 4}


def tokenizer(bos: str | None, eos: str | None, *without: str) -> Any:
    known = {name: one for name, one in VOCABULARY.items() if name not in without}
    return SimpleNamespace(
        bos_token=bos, eos_token=eos, get_vocab=lambda: known, convert_tokens_to_ids=known.get
    )


@pytest.mark.parametrize(
    ("made", "start"),
    [
        (tokenizer("<|endoftext|>", "<|endoftext|>"), 0),  # GPT-2
        (tokenizer("<|im_start|>", "<|im_end|>"), 0),  # SmolLM2-Instruct
        (tokenizer(None, "<|im_end|>"), 0),  # Qwen 2.5-Instruct
        (tokenizer("<s>", "</s>"), 3),  # Llama 2
        (tokenizer(None, "</s>"), 4),
        (tokenizer("<|im_start|>", "<|im_end|>", "<|endoftext|>"), 1),
        (tokenizer(None, None), None),
    ],
)
def test_the_start_of_a_text_is_no_turn_of_a_conversation(made, start):
    assert text_start(made) == start
