"""Small random language models, which need no weights of anybody's."""

from types import SimpleNamespace
from typing import Any

from contrafact.models.whitebox.weights import CausalModel

NUMBERS = SimpleNamespace(eos_token_id=None, decode=lambda tokens, **_: str(list(tokens)))
"""Stands for a tokenizer where nothing is read: a text is the numbers of its tokens."""


def random_model(
    kind: str,
    vocabulary: int,
    *,
    context: int,
    start: int = 0,
    end: int = 1,
    spread: float = 0.4,
    seed: int = 0,
) -> Any:
    """Return two layers of ``llama``, ``gpt2`` or ``mistral``, which forgets past 40 tokens."""
    import torch
    import transformers

    torch.manual_seed(seed)
    shared: dict[str, Any] = {"vocab_size": vocabulary, "initializer_range": spread}
    shared |= {"bos_token_id": start, "eos_token_id": end, "pad_token_id": None}
    if kind == "gpt2":
        sizes: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": context}
        config: Any = transformers.GPT2Config(**shared, **sizes)
        return transformers.GPT2LMHeadModel(config).eval()
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
    }
    if kind == "mistral":
        config = transformers.MistralConfig(**shared, **sizes, sliding_window=40)
        return transformers.MistralForCausalLM(config).eval()
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**shared, **sizes)).eval()


def numbers_model(kind: str = "llama", seed: int = 0) -> CausalModel:
    """Return a model of 97 tokens that are numbers; texts begin with 1 and end with 0."""
    import torch

    model = random_model(kind, 97, context=128, start=1, end=0, spread=0.5, seed=seed)
    return CausalModel(kind, model, NUMBERS, torch.device("cpu"), 1, 128)
