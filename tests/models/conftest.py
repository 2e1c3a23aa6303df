"""One loaded model for all tests of this folder."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model

from contrafact.models.embedded import EmbeddedAPI
from contrafact.models.server import EmbeddedServer

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
    return model.api.server()


@pytest.fixture(scope="session")
def ask(model: Model) -> Ask:
    """Ask the embedded model one thing, greedily unless told otherwise."""

    def _ask(prompt: Any, **settings: Any) -> ModelOutput:
        config = GenerateConfig(**{"temperature": 0.0, "max_tokens": 12, **settings})
        return asyncio.run(model.generate(prompt, config=config))

    return _ask
