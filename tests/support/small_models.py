"""Small random language models, which need no weights of anybody's."""

from collections.abc import Sequence
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
    """Return two layers of a kind, such as ``llama``; ``mistral`` forgets past 40 tokens."""
    import torch
    import transformers

    from contrafact.models.whitebox.products import pack_products

    torch.manual_seed(seed)
    shared: dict[str, Any] = {"vocab_size": vocabulary, "initializer_range": spread}
    shared |= {"bos_token_id": start, "eos_token_id": end, "pad_token_id": None}
    kinds = {"gpt2": ("GPT2", "LMHeadModel")}
    kinds |= {
        name: (name.title(), "ForCausalLM") for name in ("llama", "mistral", "qwen2", "qwen3")
    }
    if kind == "gpt2":
        sizes: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": context}
    else:
        sizes = {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": context,
        }
    if kind == "mistral":
        sizes["sliding_window"] = 40
    name, head = kinds[kind]
    config = getattr(transformers, f"{name}Config")(**shared, **sizes)
    model = getattr(transformers, f"{name}{head}")(config).eval()
    pack_products(model)  # as where weights are loaded
    return model


def numbers_model(kind: str = "llama", seed: int = 0) -> CausalModel:
    """Return a model of 97 tokens that are numbers; texts begin with 1 and end with 0."""
    import torch

    model = random_model(kind, 97, context=128, start=1, end=0, spread=0.5, seed=seed)
    return CausalModel(kind, model, NUMBERS, torch.device("cpu"), 1, 128)


def word_model(
    texts: Sequence[str], template: str, *, words: int, width: int, context: int
) -> tuple[Any, Any]:
    """Return a random Llama of two layers and a tokenizer that has read some texts."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    special = ["<|end|>", "<|user|>", "<|assistant|>"]
    bpe.train_from_iterator(texts, vocab_size=words, special_tokens=special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        bos_token="<|user|>",
        eos_token="<|end|>",
        additional_special_tokens=["<|assistant|>"],
        model_max_length=context,
    )
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=context,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
    )
    return LlamaForCausalLM(config), tokenizer
