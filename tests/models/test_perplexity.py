"""Perplexity against a plain float64 computation."""

import copy
import functools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from contrafact.models.fluency import score_fluency
from contrafact.models.whitebox import perplexity
from contrafact.models.whitebox.perplexity import TextPerplexity, perplexities
from contrafact.models.whitebox.weights import CausalModel, converted, load_causal

TEXTS = [
    "Aldmoor Bank raises its outlook after a calm quarter",
    "Oil",
    "Tern & Vale cuts its dividend as orders dry up, and warns that 40% of its plants may close",
    "ünïcode — 東京 📈 <|im_end|>",
    "Regulator opens an inquiry into Quillon Freight. " * 3,
]


@functools.lru_cache(maxsize=1)
def double(causal: CausalModel) -> Any:
    return copy.deepcopy(causal.model).double()


def in_float64(causal: CausalModel, text: str) -> float:
    """The definition, word for word: one text, everything fed, float64."""
    model = double(causal)
    ids = causal.tokenizer(text, add_special_tokens=False)["input_ids"]
    fed = torch.tensor([[causal.start_token, *ids]])
    with torch.inference_mode():
        scores = torch.log_softmax(model(input_ids=fed).logits[0, :-1], dim=-1)
    chosen = scores[torch.arange(len(ids)), torch.tensor(ids)]
    return math.exp(-float(chosen.mean()))


@pytest.fixture(scope="session")
def tiny(tiny_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    """A random model of 64 tokens of context."""
    return load_causal(str(converted(tiny_gguf, tmp_path_factory.mktemp("cache"))))


def values(scores: list[TextPerplexity]) -> list[float]:
    return [score.perplexity for score in scores]


@pytest.mark.slow
def test_the_real_model_agrees_with_float64(smollm: CausalModel) -> None:
    """As the documentation says: within 1e-5, and a text of one token within 2e-4."""
    scores = perplexities(TEXTS, model=smollm)
    assert values(scores) == [
        pytest.approx(in_float64(smollm, text), rel=2e-4 if text == "Oil" else 1e-5)
        for text in TEXTS
    ]
    counts = [len(smollm.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in TEXTS]
    assert [score.tokens for score in scores] == counts
    assert not any(score.windowed for score in scores)


def test_a_text_alone_is_scored_as_among_others(
    tiny: CausalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = values(perplexities(TEXTS, model=tiny))
    alone = [perplexities([text], model=tiny)[0].perplexity for text in TEXTS]
    monkeypatch.setattr(perplexity, "_ON_CPU", 40)
    small = values(perplexities(TEXTS[::-1], model=tiny))[::-1]
    assert together == pytest.approx(alone, rel=1e-5)
    assert small == pytest.approx(alone, rel=1e-5)


def test_an_empty_text_has_no_perplexity_and_says_why(tiny: CausalModel) -> None:
    scores = perplexities(["", "up", ""], model=tiny)
    assert [math.isnan(score.perplexity) for score in scores] == [True, False, True]
    assert scores[0].reason == "the text has no tokens" and scores[1].reason is None
    assert math.isnan(perplexities([""], model=tiny)[0].perplexity)
    assert perplexities([], model=tiny) == []


def test_a_text_longer_than_the_context_is_scored_in_windows(tiny: CausalModel) -> None:
    text = "abcdefg hij " * 12  # 144 tokens of one byte each, and 64 fit
    (score,) = perplexities([text], model=tiny)
    assert score.windowed and score.tokens == 144
    ids = tiny.tokenizer(text, add_special_tokens=False)["input_ids"]
    total = 0.0
    model = double(tiny)
    for begin, scored, end in [(0, 0, 64), (32, 64, 96), (64, 96, 128), (80, 128, 144)]:
        fed = torch.tensor([[tiny.start_token, *ids[begin : end - 1]]])
        with torch.inference_mode():
            logs = torch.log_softmax(model(input_ids=fed).logits[0], dim=-1)
        total -= sum(float(logs[i - begin, ids[i]]) for i in range(scored, end))
    assert score.perplexity == pytest.approx(math.exp(total / 144), rel=1e-5)


def test_long_texts_among_short_ones_are_told_apart(
    tiny: CausalModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["a" * 65, "b" * 64, "cd", "e" * 300]
    scores = perplexities(texts, model=tiny)
    assert [score.windowed for score in scores] == [True, False, False, True]
    alone = [perplexities([text], model=tiny)[0].perplexity for text in texts]
    assert values(scores) == pytest.approx(alone, rel=1e-5)
    found = score_fluency(texts, tiny, tmp_path)
    assert list(found.values()) == pytest.approx(alone, rel=1e-5)
    assert "2 of them are longer than the 64 tokens" in capsys.readouterr().err


def test_a_text_as_long_as_the_context_takes_one_window(tiny: CausalModel) -> None:
    (score,) = perplexities(["a" * 64], model=tiny)
    assert not score.windowed
    assert score.perplexity == pytest.approx(in_float64(tiny, "a" * 64), rel=1e-5)


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "x" * 500])
def test_odd_text_is_scored(tiny: CausalModel, text: str) -> None:
    assert perplexities([text], model=tiny)[0].perplexity >= 1


def test_a_model_can_be_named(tiny_gguf: Path, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path))
    (score,) = perplexities(["up"], model=str(tiny_gguf))
    assert score.perplexity > 1
