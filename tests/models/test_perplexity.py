"""Perplexity against a plain float64 computation."""

import copy
import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from contrafact.errors import InputError
from contrafact.models.fluency import score_fluency
from contrafact.models.whitebox.conversion import converted
from contrafact.models.whitebox.perplexity import TextPerplexity, perplexities
from contrafact.models.whitebox.weights import CausalModel, load_causal

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


def close(found: list[float], expected: list[float]) -> None:
    """As the documentation says: within 1e-5, and a text of one token within 2e-4."""
    assert found == [
        pytest.approx(value, rel=2e-4 if text == "Oil" else 1e-5)
        for text, value in zip(TEXTS, expected, strict=True)
    ]


def values(scores: list[TextPerplexity]) -> list[float]:
    return [score.perplexity for score in scores]


@pytest.fixture(scope="module")
def together(smollm: CausalModel) -> list[TextPerplexity]:
    """What the real model makes of the texts, all in one batch."""
    return perplexities(TEXTS, model=smollm)


@pytest.mark.slow
def test_the_real_model_agrees_with_float64(
    smollm: CausalModel, together: list[TextPerplexity]
) -> None:
    scores = together
    close(values(scores), [in_float64(smollm, text) for text in TEXTS])
    counts = [len(smollm.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in TEXTS]
    assert [score.tokens for score in scores] == counts
    assert not any(score.windowed for score in scores)


@pytest.mark.slow
def test_batches_and_order_change_nothing(
    smollm: CausalModel, together: list[TextPerplexity]
) -> None:
    # Three of the texts fit 40 tokens together, and the two others are alone.
    small = values(perplexities(TEXTS[::-1], model=smollm, batch_tokens=40))[::-1]
    close(values(together), small)


def test_a_text_alone_is_scored_as_among_others(tiny: CausalModel) -> None:
    together = values(perplexities(TEXTS, model=tiny))
    alone = [perplexities([text], model=tiny)[0].perplexity for text in TEXTS]
    small = values(perplexities(TEXTS[::-1], model=tiny, batch_tokens=40))[::-1]
    assert together == pytest.approx(alone, rel=1e-5)
    assert small == pytest.approx(alone, rel=1e-5)


@pytest.mark.slow
def test_likely_text_is_less_perplexing_than_its_words_shuffled(smollm: CausalModel) -> None:
    plain = "The company said on Monday that its profit rose in the second quarter."
    words = plain.split()
    np.random.default_rng(1).shuffle(words)
    likely, shuffled = values(perplexities([plain, " ".join(words)], model=smollm))
    assert 1 < likely < shuffled / 3


def test_an_empty_text_has_no_perplexity_and_says_why(tiny: CausalModel) -> None:
    scores = perplexities(["", "up", ""], model=tiny)
    assert [math.isnan(score.perplexity) for score in scores] == [True, False, True]
    assert scores[0].reason == "the text has no tokens" and scores[1].reason is None
    assert math.isnan(perplexities([""], model=tiny)[0].perplexity)
    assert perplexities([], model=tiny) == []


def test_a_text_longer_than_the_context_is_scored_in_windows(tiny: CausalModel) -> None:
    text = "abcdefg hij " * 12  # 144 tokens of one byte each, and 64 fit
    (score,) = perplexities([text], model=tiny, batch_tokens=100)
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


def test_a_model_that_caps_its_logits_is_scored_with_the_cap(tiny: CausalModel) -> None:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        vocab_size=len(tiny.tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        final_logit_softcapping=1.0,
        max_position_embeddings=64,
    )
    torch.manual_seed(3)
    capped = Gemma2ForCausalLM(config).eval()
    with torch.no_grad():
        capped.get_output_embeddings().weight.mul_(40)
    model = CausalModel("capped", capped, tiny.tokenizer, tiny.device, tiny.start_token, 64)
    texts = ["up and down", "a"]
    expected = [in_float64(model, text) for text in texts]
    assert values(perplexities(texts, model=model)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "x" * 500])
def test_odd_text_is_scored(tiny: CausalModel, text: str) -> None:
    assert perplexities([text], model=tiny)[0].perplexity >= 1


def test_a_batch_must_hold_a_token(tiny: CausalModel) -> None:
    with pytest.raises(InputError, match="at least one token"):
        perplexities(["a"], model=tiny, batch_tokens=0)


def test_a_model_can_be_named(tiny_gguf: Path, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("CONTRAFACT_CACHE", str(tmp_path))
    (score,) = perplexities(["up"], model=str(tiny_gguf))
    assert score.perplexity > 1
