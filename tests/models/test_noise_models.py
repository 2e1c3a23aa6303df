"""Generating under noise and inferring it, with small random models of several kinds."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from tests.support.small_models import NUMBERS, numbers_model

from contrafact.errors import InputError
from contrafact.models.whitebox.completion import Completion, CompletionRequest, complete
from contrafact.models.whitebox.gumbel import (
    CLOSE,
    DrawnNoise,
    HindsightNoise,
    Noise,
    Sampling,
    draw,
)
from contrafact.models.whitebox.noise import generate, infer
from contrafact.models.whitebox.tokens import end_tokens
from contrafact.models.whitebox.weights import CausalModel

VOCABULARY = 97
PROMPTS = [[1, 5, 9], [1, 7], [1, *range(20, 45)], [1, 5, 9, 33, 60, 2, 8], [1, 90]]
MECHANISMS = [Sampling(), Sampling(0.7), Sampling(1.3, 0.9)]
ALPHA = 1e-4


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def causal(request: pytest.FixtureRequest) -> CausalModel:
    return numbers_model(request.param)


def draws(count: int, seed: int = 0) -> list[DrawnNoise]:
    return [draw(seed, f"item {number}") for number in range(count)]


def written(
    causal: CausalModel,
    prompts: Sequence[Sequence[int]],
    noises: Sequence[Noise],
    sampling: Sampling = MECHANISMS[0],
    **options: Any,
) -> list[Completion]:
    return generate(causal, prompts, noises, **{"sampling": sampling, "max_tokens": 24, **options})


def inferred(
    causal: CausalModel,
    texts: Sequence[Sequence[int]],
    drawn: Sequence[DrawnNoise],
    sampling: Sampling = MECHANISMS[0],
) -> list[HindsightNoise]:
    return [
        infer(causal, *each, sampling=sampling) for each in zip(PROMPTS, texts, drawn, strict=True)
    ]


def assert_same(one: Completion, tokens: tuple[int, ...]) -> None:
    """The invariant: equal, or the first divergence had a lead under 1e-3 logits."""
    for left, right, gap in zip(one.tokens, tokens, one.leads, strict=False):
        if left != right:
            assert gap < CLOSE == 1e-3
            return
    assert one.tokens == tokens


@pytest.mark.parametrize("sampling", MECHANISMS, ids=str)
def test_the_same_prompt_and_drawn_noise_give_the_same_tokens(
    causal: CausalModel, sampling: Sampling
) -> None:
    first = written(causal, PROMPTS, draws(5), sampling)
    again = written(causal, PROMPTS, draws(5), sampling)
    assert first == again
    other = written(causal, PROMPTS, draws(5, seed=1), sampling)
    assert all(one.tokens != two.tokens for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("sampling", MECHANISMS, ids=str)
def test_inferred_noise_gives_back_the_text(causal: CausalModel, sampling: Sampling) -> None:
    texts = [one.tokens for one in written(causal, PROMPTS, draws(5), sampling)]
    noises = inferred(causal, texts, draws(5, seed=2), sampling)
    back = written(causal, PROMPTS, noises, sampling)
    if sampling.top_p == 1:
        assert [one.tokens for one in back] == texts
    for text, one in zip(texts, back, strict=True):  # the nucleus may have a doubtful edge
        assert_same(one, text)


def test_a_text_the_model_would_hardly_write_comes_back_too(causal: CausalModel) -> None:
    rng = np.random.default_rng(3)
    texts = [(*rng.integers(1, VOCABULARY, 20).tolist(), 0) for _ in PROMPTS]
    noises = inferred(causal, texts, draws(5))
    back = written(causal, PROMPTS, noises)
    assert [one.tokens for one in back] == texts
    alone = [written(causal, [p], [n])[0] for p, n in zip(PROMPTS, noises, strict=True)]
    assert [one.tokens for one in alone] == texts


def test_batch_and_order_change_nothing(causal: CausalModel) -> None:
    prompts = [PROMPTS[index % 5][: 3 + index] for index in range(8)]
    for sampling in (MECHANISMS[0], MECHANISMS[2]):
        together = written(causal, prompts, draws(8), sampling, rows=8, max_tokens=15)
        alone = written(causal, prompts, draws(8), sampling, rows=1, max_tokens=15)
        mixed = written(causal, prompts[::-1], draws(8)[::-1], sampling, rows=3, max_tokens=15)[
            ::-1
        ]
        for one, two, three in zip(alone, together, mixed, strict=True):
            assert_same(one, two.tokens)
            assert_same(one, three.tokens)
        same = sum(one.tokens == two.tokens for one, two in zip(alone, together, strict=True))
        assert same >= 7


def test_the_cache_and_padding_give_what_the_plain_model_gives(causal: CausalModel) -> None:
    """Against the definition: one row, no cache, no padding, float64."""
    plain = copy.deepcopy(causal.model).double()
    for prompt, noise, one in zip(
        PROMPTS, draws(5), written(causal, PROMPTS, draws(5)), strict=True
    ):
        ids = list(prompt)
        for position, (token, gap) in enumerate(zip(one.tokens, one.leads, strict=True)):
            with torch.inference_mode():
                logits = plain(input_ids=torch.tensor([ids])).logits[0, -1].numpy()
            scores = logits + noise.at(position, VOCABULARY)
            best, second = np.sort(scores)[:-3:-1]
            assert gap == pytest.approx(best - second, abs=CLOSE)
            assert token == int(np.argmax(scores)) or gap < CLOSE
            ids.append(token)


def assert_follows(tokens: Sequence[int], p: np.ndarray) -> None:
    """By chi-square, rare tokens taken together."""
    expected = len(tokens) * p
    seen = np.bincount(tokens, minlength=VOCABULARY)
    common = expected >= 5
    observed = np.append(seen[common], seen[~common].sum())
    pooled = np.append(expected[common], expected[~common].sum())
    assert common.sum() > 3
    assert observed[pooled == 0].sum() == 0
    assert stats.chisquare(observed[pooled > 0], pooled[pooled > 0]).pvalue > ALPHA


def softmax_after(causal: CausalModel, ids: list[int], temperature: float = 1.0) -> np.ndarray:
    with torch.inference_mode():
        logits = causal.model(input_ids=torch.tensor([ids])).logits[0, -1].double()
    return torch.softmax(logits / temperature, -1).numpy()


@pytest.mark.slow
def test_sampled_tokens_follow_the_models_softmax() -> None:
    causal, count = numbers_model("llama"), 20_000
    two = written(causal, [[1, 7]] * count, draws(count, 5), max_tokens=2, rows=4000)
    firsts = np.array([one.tokens[0] for one in two])
    assert_follows(firsts, softmax_after(causal, [1, 7]))
    usual = int(np.bincount(firsts[firsts != 0]).argmax())
    after = [one.tokens[1] for one in two if one.tokens[0] == usual]
    assert len(after) > 1000
    assert_follows(after, softmax_after(causal, [1, 7, usual]))


def shifted(causal: CausalModel, shift: float) -> CausalModel:
    """Return a model whose logits are all moved by a constant."""
    model = copy.deepcopy(causal.model)

    def move(module: Any, given: Any, output: Any) -> Any:
        output.logits = output.logits.double() + shift
        return output

    model.register_forward_hook(move)
    return CausalModel("shifted", model, NUMBERS, causal.device, 1, causal.context)


@pytest.mark.parametrize("shift", [-1000.0, 1000.0])
def test_shifted_logits_change_nothing(shift: float) -> None:
    causal = numbers_model("llama")
    moved = shifted(causal, shift)
    for sampling in MECHANISMS:
        plain = written(causal, PROMPTS, draws(5), sampling, ends=(0,))
        assert [one.tokens for one in written(moved, PROMPTS, draws(5), sampling, ends=(0,))] == [
            one.tokens for one in plain
        ]
        texts = [one.tokens for one in plain]
        noises = [inferred(model, texts, draws(5, 6), sampling) for model in (causal, moved)]
        for one, two, text in zip(*noises, texts, strict=True):
            for position in range(len(text)):
                assert one.at(position, VOCABULARY) == pytest.approx(
                    two.at(position, VOCABULARY), rel=1e-6, abs=1e-6
                )


def test_another_prompt_or_model_under_held_noise_shares_more_than_under_fresh(
    causal: CausalModel,
) -> None:
    """What holding the noise is for: less of the text changes."""
    other = CausalModel(
        "nudged", copy.deepcopy(causal.model), NUMBERS, causal.device, 1, causal.context
    )
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.mul_(1.001)
    base = written(causal, PROMPTS * 4, draws(20), ends=())
    held = written(other, PROMPTS * 4, draws(20), ends=())
    fresh = written(other, PROMPTS * 4, draws(20, seed=9), ends=())

    def shared(ones: list[Completion]) -> float:
        pairs = zip(base, ones, strict=True)
        return float(np.mean([np.equal(a.tokens, b.tokens).mean() for a, b in pairs]))

    assert shared(held) > shared(fresh) + 0.2


def test_each_row_stops_at_its_own_end(causal: CausalModel) -> None:
    free = written(causal, PROMPTS, draws(5), ends=())
    assert all(len(one.tokens) == 24 and not one.ended for one in free)
    end = free[0].tokens[6]
    stopped = written(causal, PROMPTS, draws(5), ends=(end,))
    for one, whole in zip(stopped, free, strict=True):
        assert one.tokens == whole.tokens[: len(one.tokens)]
        assert one.ended is (end in whole.tokens)
        assert one.ended is (one.tokens[-1] == end)
        assert len(one.leads) == len(one.tokens)
    assert end_tokens(causal) == {0}


def test_what_does_not_fit_or_cannot_be_is_reported(causal: CausalModel) -> None:
    with pytest.raises(InputError, match=r"28 tokens and 101 more do not fit the context of 128"):
        written(causal, [[1] * 28], draws(1), max_tokens=101)
    assert len(written(causal, [[1] * 28], draws(1), max_tokens=100, ends=())[0].tokens) == 100
    with pytest.raises(InputError, match="a prompt has no tokens"):
        written(causal, [[]], draws(1))
    with pytest.raises(InputError, match="at least one token"):
        written(causal, PROMPTS[:1], draws(1), max_tokens=0)
    with pytest.raises(InputError, match="a text has no tokens"):
        infer(causal, PROMPTS[0], [], draw(0, "x"))
    rare = int(causal.model(input_ids=torch.tensor([PROMPTS[0]])).logits[0, -1].argmin())
    with pytest.raises(
        InputError, match=rf"token 1 \('\[{rare}\]', id {rare}\).*top-p 0\.5.*use top-p 1"
    ):
        infer(causal, PROMPTS[0], [rare], draw(0, "x"), sampling=Sampling(top_p=0.5))
    with pytest.raises(InputError, match="not finite"):
        written(shifted(causal, math.nan), PROMPTS, draws(5), ends=(0,))
    assert written(causal, [], []) == []


def test_rows_do_not_notice_that_others_ended(causal: CausalModel) -> None:
    prompts = [[1, row + 2, *range(row % 5)] for row in range(40)]
    noises = [draw(9, f"row {row}") for row in range(40)]
    ends = range(0, VOCABULARY, 9)  # an end comes soon, now here, now there
    together = generate(causal, prompts, noises, max_tokens=40, ends=ends)
    for prompt, noise, one in zip(prompts, noises, together, strict=True):
        (alone,) = generate(causal, [prompt], [noise], max_tokens=40, ends=ends)
        assert alone.tokens == one.tokens or min(*alone.leads, *one.leads) < CLOSE
        assert one.ended == (one.tokens[-1] in ends)


def test_a_row_that_ended_at_the_context_does_not_go_on_past_it(causal: CausalModel) -> None:
    requests = [CompletionRequest((1,) * 124, 4), CompletionRequest((1, 5), 100)]
    together = complete(causal, requests, ends=())
    assert [len(one.tokens) for one in together] == [4, 100]
    assert together == [complete(causal, [one], ends=())[0] for one in requests]
