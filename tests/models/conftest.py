"""One loaded model for all tests of this folder."""

import asyncio
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
from tests.support.chance_gguf import save_llama

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


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let a package be missing."""

    def drop(package: str) -> None:
        real = importlib.util.find_spec
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name, *rest: None if name == package else real(name)
        )

    return drop


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF file of two small random layers whose tokens are bytes."""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    tokens = ["<|start|>", "<|end|>", *bytes_to_unicode().values(), "th"]
    width, inner, rng = 64, 96, np.random.default_rng(7)
    shapes = {"token_embd": (len(tokens), width), "output_norm": (width,)}
    shapes["output"] = (len(tokens), width)
    for layer in range(2):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            shapes[f"blk.{layer}.{part}"] = (width, width)
        for part in ("attn_norm", "ffn_norm"):
            shapes[f"blk.{layer}.{part}"] = (width,)
        for part in ("ffn_gate", "ffn_up"):
            shapes[f"blk.{layer}.{part}"] = (inner, width)
        shapes[f"blk.{layer}.ffn_down"] = (width, inner)
    tensors = {
        name: rng.normal(0, 0.3, shape) if len(shape) > 1 else np.ones(shape)
        for name, shape in shapes.items()
    }
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    return save_llama(path, tokens, tensors, context=64, heads=2)
