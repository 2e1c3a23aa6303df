"""One loaded model for all tests of this folder."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model

from contrafact.models.embedded import EmbeddedAPI
from contrafact.models.server import EmbeddedServer
from contrafact.models.whitebox.weights import CausalModel, shared_causal

Ask = Callable[..., ModelOutput]


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    """The embedded model as Inspect finds it; one thread, since tests share their cores."""
    loaded = get_model("embedded/smollm2-135m", threads=1)
    yield loaded
    loaded.api.close()


@pytest.fixture(scope="session")
def server(model: Model) -> EmbeddedServer:
    """The server behind the embedded model."""
    assert isinstance(model.api, EmbeddedAPI)
    return model.api.engine()


@pytest.fixture(scope="session")
def ask(model: Model) -> Ask:
    """Ask the embedded model one thing, greedily unless told otherwise."""

    def _ask(prompt: Any, **settings: Any) -> ModelOutput:
        config = GenerateConfig(**{"temperature": 0.0, "max_tokens": 12, **settings})
        return asyncio.run(model.generate(prompt, config=config))

    return _ask


@pytest.fixture(scope="session")
def smollm() -> CausalModel:
    """The embedded weights in PyTorch, one copy for a process; converted once, as for any user."""
    return shared_causal("smollm2-135m")


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file of two small random layers whose tokens are bytes."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    tokens = ["<|start|>", "<|end|>", *bytes_to_unicode().values(), "th"]
    width, inner, heads, layers = 64, 96, 2, 2
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *[1] * (len(tokens) - 2)])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    rng = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        values = rng.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))

    add("token_embd", len(tokens), width)
    add("output_norm", width)
    add("output", len(tokens), width)
    for layer in range(layers):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}", width, width)
        add(f"blk.{layer}.attn_norm", width)
        add(f"blk.{layer}.ffn_norm", width)
        add(f"blk.{layer}.ffn_gate", inner, width)
        add(f"blk.{layer}.ffn_up", inner, width)
        add(f"blk.{layer}.ffn_down", width, inner)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
