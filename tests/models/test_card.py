"""What is done on a GPU alone, exercised without one: its memory is faked.

The model stays on the CPU, so that the tokens of both ways can be compared.
"""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contrafact.errors import InputError
from contrafact.models.whitebox import card, completion, provider
from contrafact.models.whitebox.completion import Completer, CompletionRequest
from contrafact.models.whitebox.gumbel import _philox, device_noise
from contrafact.models.whitebox.noise import HindsightNoise, Noise, Sampling, draw, generate
from contrafact.models.whitebox.perplexity import perplexities
from contrafact.models.whitebox.weights import CausalModel, load_causal

CPU = torch.device("cpu")
ROOM = 8 * 2**30
Causal = Callable[..., CausalModel]


@pytest.fixture(scope="module")
def plain(byte_model: Any, tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    folder = byte_model(tmp_path_factory.mktemp("card") / "model", context=400)
    return load_causal(str(folder))


@pytest.fixture
def on_card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose CPU passes for a GPU of 8 GiB."""
    monkeypatch.setattr(CausalModel, "on_card", True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (ROOM, ROOM))
    yield
    card._shares.clear()


def prompts(count: int = 7) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(3)
    shared = tuple(rng.integers(4, 250, 140).tolist())
    return [(*shared, *rng.integers(4, 250, 3 + 2 * n).tolist()) for n in range(count)]


def requests(**changed: Any) -> list[CompletionRequest]:
    """Of every kind: likeliest, sampled by two mechanisms, adjusted, scored, one of few replies."""
    kinds: list[dict[str, Any]] = [
        {},
        {"sampling": Sampling(0.8), "noise": draw(1, "a"), "alternatives": 3},
        {"sampling": Sampling(1.3, 0.9), "noise": draw(2, "b")},
        {"frequency_penalty": 1.5, "bias": {9: 2.0}, "alternatives": 5},
        {"sampling": Sampling(0.8), "noise": draw(1, "a"), "top_k": 4},
        {"replies": ((10, 11, 12), (10, 30, 14))},
        {"max_tokens": 3, "alternatives": 0},
    ]
    return [
        CompletionRequest(tokens, **{"max_tokens": 60, "alternatives": None, **kind, **changed})
        for tokens, kind in zip(prompts(), kinds, strict=True)
    ]


# -- noise


@given(
    st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=3),
    st.integers(0, 2**40),
    st.integers(1, 41),
)
def test_the_integers_are_numpys(keys: list[int], position: int, count: int) -> None:
    expected = [
        np.random.Philox(key=key, counter=[0, position, 0, 0]).random_raw(count) for key in keys
    ]
    made = _philox(keys, position, count, CPU).numpy().view(np.uint64)
    assert np.array_equal(made, np.stack(expected))


@pytest.mark.parametrize("vocabulary", [1, 6, 49_152, 50_257])
def test_noise_is_that_of_the_cpu(vocabulary: int) -> None:
    logits = torch.linspace(-2, 2, 12 * 6).reshape(12, 6)
    noises: list[Noise] = [draw(n % 3, "x") for n in range(5)]  # some are shared
    noises += [
        HindsightNoise(draw(9, "x"), tuple([2] * length), logits, Sampling()) for length in (3, 12)
    ]
    for position in (0, 5):
        made = device_noise(noises, position, vocabulary, CPU)
        expected = np.stack([noise.at(position, vocabulary) for noise in noises])
        assert made.dtype == torch.float64
        assert np.abs(made.numpy() - expected).max() < 1e-12


# -- writing


def test_what_is_written_is_what_the_cpu_writes(
    plain: CausalModel, on_card: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as undone:
        undone.setattr(CausalModel, "on_card", False)
        expected = Completer(plain).complete(requests())
    monkeypatch.setattr(completion, "noise_of", lambda noises, *rest: device_noise(noises, *rest))
    for one, two in zip(expected, Completer(plain).complete(requests()), strict=True):
        assert (one.tokens, one.text, one.stop) == (two.tokens, two.text, two.stop)


def test_a_memory_that_is_too_small_halves_the_batch_and_says_so_once(
    plain: CausalModel,
    on_card: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = [one.tokens for one in Completer(plain).complete(requests())]
    texts = ["Shares rise", "Oil", "The bank waits", "Rates fall again"]
    scores = perplexities(texts, model=plain)
    limit = card.batch_limit(plain)
    forward, most, tried = plain.model.forward, 2, []

    def small(*given: Any, **named: Any) -> Any:
        tried.append(len(named["input_ids"]))
        if tried[-1] > most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return forward(*given, **named)

    # `forward_parameters` reads what the model takes.
    monkeypatch.setattr(plain.model, "forward", _signed_as(forward, small))
    with caplog.at_level(logging.WARNING):
        assert [one.tokens for one in Completer(plain).complete(requests())] == expected
        written = generate(plain, prompts(), [draw(0, "x")] * 7, max_tokens=4)
    assert len(written) == 7 and max(tried) > most
    assert len(caplog.records) == 1 and "halves" in caplog.records[0].message
    after = card.batch_limit(plain)
    assert limit is not None and after is not None and after[0] < limit[0] / 2
    most = 0
    with pytest.raises(InputError, match="does not take one text"):
        generate(plain, prompts(1), [draw(0, "x")], max_tokens=4)
    most = 2
    monkeypatch.setattr(
        plain.model.base_model,
        "forward",
        _signed_as(plain.model.base_model.forward, _refusing(plain)),
    )
    assert [one.perplexity for one in perplexities(texts, model=plain)] == pytest.approx(
        [one.perplexity for one in scores], rel=1e-5
    )


def _signed_as(known: Any, new: Callable[..., Any]) -> Callable[..., Any]:
    import functools

    return functools.wraps(known)(new)


def _refusing(causal: CausalModel) -> Callable[..., Any]:
    """The model's body, for at most two rows."""
    forward = causal.model.base_model.forward

    def small(*given: Any, **named: Any) -> Any:
        if len(named["input_ids"]) > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return forward(*given, **named)

    return small


# -- how much at once


def test_a_batch_is_as_large_as_the_memory_takes(
    plain: CausalModel, on_card: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    forward = plain.model.forward

    def counted(*given: Any, **named: Any) -> Any:
        seen.append(len(named["input_ids"]))
        return forward(*given, **named)

    monkeypatch.setattr(plain.model, "forward", _signed_as(forward, counted))
    many = [tuple(range(4, 24))] * 100
    rows = {}
    for memory in (2**40, 2**23):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=memory: (free, free))
        seen.clear()
        written = generate(plain, many, [draw(0, "x")] * 100, max_tokens=2)
        assert len(written) == 100
        rows["generate", memory] = max(seen)
        seen.clear()
        asked = [CompletionRequest(tokens, max_tokens=2) for tokens in many]
        assert len(Completer(plain).complete(asked)) == 100
        rows["complete", memory] = max(seen)
    assert rows["generate", 2**40] == rows["complete", 2**40] == 100
    limit = card.batch_limit(plain)
    assert limit is not None
    assert rows["generate", 2**23] == limit[0] // (22 + limit[1]) < 100
    assert 1 < rows["complete", 2**23] < 100


def test_the_bytes_of_a_token_follow_from_the_models_shape(
    plain: CausalModel, on_card: None
) -> None:
    # Two layers, two heads of sixteen, keys and values, each twice; 48 wide, 32 through.
    token = 4 * (4 * 2 * 32 + 4 * 48 + 8 * 32)
    limit = card.batch_limit(plain)
    assert limit == (int(0.6 * ROOM) // token, -(-128 * len(plain.tokenizer) // token))
    half = dataclasses.replace(plain, model=_of_half(plain))
    narrow = card.batch_limit(half)
    assert narrow is not None and narrow[0] == pytest.approx(2 * limit[0], abs=2)


def _of_half(causal: CausalModel) -> Any:
    import copy

    return copy.deepcopy(causal.model).to(torch.bfloat16)


def test_on_the_cpu_nothing_is_measured(plain: CausalModel) -> None:
    assert card.batch_limit(plain) is None


@pytest.mark.parametrize(
    ("rows", "gpu", "expected"),
    [
        (None, False, (32, 16)),
        (40, False, (80, 16)),
        (None, True, (512, 256)),
        (40, True, (80, 40)),
        (4, True, (8, 16)),
    ],
)
def test_how_many_calls_are_under_way_is_known_before_the_model_is_loaded(
    byte_model: Any,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    rows: int | None,
    gpu: bool,
    expected: tuple[int, int],
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    given: dict[str, Any] = {} if rows is None else {"rows": rows}
    model = provider.WhiteboxAPI(str(byte_model(tmp_path / "model")), **given)
    assert (model.max_connections(), model.at_once()) == expected
