"""The same task over llama.cpp's own HTTP server and in process: the same outputs."""

import os

import pandas as pd
import pytest

from contrafact.models.server import EmbeddedServer, ServerSettings

EMBEDDED = "embedded/smollm2-135m"
OVER_HTTP = "openai-api/nearby/smollm2-135m"


@pytest.fixture
def nearby(chance_weights, chance_path):
    """Environment in which the provider ``openai-api/nearby`` is llama.cpp's server."""
    server = EmbeddedServer(ServerSettings(path=chance_weights))
    try:
        address = {"NEARBY_BASE_URL": server.address, "NEARBY_API_KEY": server.api_key}
        yield {**os.environ, **address, "PYTHONPATH": chance_path}
    finally:
        server.close()


@pytest.mark.slow
def test_a_run_over_http_equals_one_in_process(quick_contrafact, nearby, tmp_path):
    def run(model: str, out: str) -> None:
        result = quick_contrafact(
            "run", "cobe", "--model", model, "--out", out, "--limit", "2",
            "--method", "plain", "--temperature", "1", "--seed", "1", "--max-tokens", "60",
            "--max-connections", "1", env=nearby,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr

    run(EMBEDDED, "inside")
    run(OVER_HTTP, "over-http")
    inside, over = (tmp_path / "inside", tmp_path / "over-http")
    named = ["system", "model"]
    a, b = (
        pd.read_parquet(folder / "items.parquet").drop(columns=named) for folder in (inside, over)
    )
    assert len(a) > 0
    pd.testing.assert_frame_equal(a, b)
    assert pd.read_parquet(inside / "items.parquet")["text"].notna().any()
