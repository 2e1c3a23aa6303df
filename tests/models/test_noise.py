"""Gumbel noise and the mechanism that makes tokens of it, without a language model."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from contrafact.errors import InputError
from contrafact.models.whitebox.gumbel import (
    CLOSE,
    HindsightNoise,
    Sampling,
    choose,
    draw,
    log_probabilities,
    truncated,
)

LOGITS = torch.tensor([[2.0, -1.0, 0.5, 0.0, 1.2, -3.0]], dtype=torch.float64)
DRAWS = 20_000
# One failure in ten thousand by chance, and the seeds are fixed.
ALPHA = 1e-4


def noise_of(seed: int, draws: int, vocabulary: int) -> np.ndarray:
    return draw(seed, "a headline").at(0, draws * vocabulary).reshape(draws, vocabulary)


def chosen(logits: torch.Tensor, noise: np.ndarray, sampling: Sampling) -> np.ndarray:
    tokens, _ = choose(logits.expand(len(noise), -1), torch.from_numpy(noise), sampling)
    return tokens.numpy()


def test_noise_is_a_function_of_seed_sequence_position_and_token() -> None:
    drawn = draw(3, "x")
    whole = drawn.at(5, 1001)
    assert np.array_equal(whole, draw(3, "x").at(5, 1001))
    assert np.array_equal(whole[:77], drawn.at(5, 77))  # a smaller vocabulary changes no token's
    for start, stop in ((0, 1), (3, 4), (402, 999), (1000, 1001)):
        assert np.array_equal(whole[start:stop], drawn.at(5, stop)[start:])
    for other in (draw(4, "x").at(5, 1001), draw(3, "y").at(5, 1001), drawn.at(6, 1001)):
        assert not np.isin(other, whole).any()


def test_noise_is_the_same_in_every_version_and_on_every_machine() -> None:
    # Kept noise would be worthless if it could not be made again: these are Philox's own bits.
    bits = np.random.Philox(key=draw(0, "a").key, counter=[0, 2, 0, 0]).random_raw(3)
    uniform = ((bits >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52
    assert draw(0, "a").at(2, 3) == pytest.approx(-np.log(-np.log(uniform)), rel=1e-12)
    assert draw(0, "a").at(2, 3) == pytest.approx(PINNED, rel=1e-12)


PINNED = [2.3816573065476128, 0.37801368840939076, -0.20967164542599567]


def test_noise_is_standard_gumbel_and_independent() -> None:
    drawn = draw(1, "a headline")
    noise = np.stack([drawn.at(position, 1000) for position in range(100)])
    assert np.isfinite(noise).all()
    assert stats.kstest(noise.ravel(), stats.gumbel_r.cdf).pvalue > ALPHA
    pairs = [(noise[:, :-1], noise[:, 1:]), (noise[:-1], noise[1:])]
    for left, right in pairs:
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 0.015


@pytest.mark.parametrize(
    "sampling",
    [Sampling(), Sampling(0.6), Sampling(1.7, 0.95), Sampling(top_p=0.8)],
    ids=lambda s: f"T={s.temperature} p={s.top_p}",
)
def test_tokens_follow_the_softmax(sampling: Sampling) -> None:
    tokens = chosen(LOGITS, noise_of(2, DRAWS, 6), sampling)
    expected = torch.softmax(LOGITS[0] / sampling.temperature, -1).numpy()
    if sampling.top_p < 1:  # the definition, in plain words
        order = np.argsort(-expected)
        kept = order[: np.searchsorted(expected[order].cumsum(), sampling.top_p) + 1]
        expected = np.where(np.isin(np.arange(6), kept), expected, 0)
        expected /= expected.sum()
    counts = np.bincount(tokens, minlength=6)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], DRAWS * expected[possible]).pvalue > ALPHA


@pytest.mark.parametrize(
    ("token", "sampling"), [(0, Sampling()), (3, Sampling()), (4, Sampling(0.7, 0.9))], ids=str
)
def test_inferred_noise_has_the_posterior(token: int, sampling: Sampling) -> None:
    """Against noise that did lead to the token, picked out of many draws."""
    noise = noise_of(5, 3 * DRAWS, 6)
    picked = noise[chosen(LOGITS, noise, sampling) == token]
    log_p = log_probabilities(LOGITS, sampling)[0].numpy()
    inferred = np.stack([truncated(log_p, token, prior) for prior in noise_of(6, DRAWS, 6)])
    assert (np.argmax(log_p + inferred, axis=1) == token).all()
    assert len(picked) > 1000
    for other in range(6):
        assert stats.ks_2samp(picked[:, other], inferred[:, other]).pvalue > ALPHA
    # The marginal of the chosen token is known: a Gumbel value moved up by its surprise.
    moved = stats.gumbel_r(loc=-log_p[token])
    assert stats.kstest(inferred[:, token], moved.cdf).pvalue > ALPHA
    # And pairs hang together as they should: not the marginals alone.
    for one, two in ((token, (token + 1) % 6), (1, 2)):
        difference = (picked[:, one] - picked[:, two], inferred[:, one] - inferred[:, two])
        assert stats.ks_2samp(*difference).pvalue > ALPHA


def test_inferring_from_sampled_tokens_gives_back_standard_noise() -> None:
    """The posterior, averaged over the tokens the model samples, is the prior."""
    noise = noise_of(7, DRAWS, 6)
    tokens = chosen(LOGITS, noise, Sampling())
    log_p = log_probabilities(LOGITS, Sampling())[0].numpy()
    priors = noise_of(8, DRAWS, 6)
    inferred = np.stack(
        [truncated(log_p, token, prior) for token, prior in zip(tokens, priors, strict=True)]
    )
    for token in range(6):
        assert stats.kstest(inferred[:, token], stats.gumbel_r.cdf).pvalue > ALPHA
    assert abs(np.corrcoef(inferred.T) - np.eye(6)).max() < 0.04


def test_a_token_outside_the_nucleus_keeps_its_prior() -> None:
    sampling = Sampling(top_p=0.6)
    log_p = log_probabilities(LOGITS, sampling)[0].numpy()
    outside = ~np.isfinite(log_p)
    assert outside.sum() == 4
    prior = draw(1, "x").at(0, 6)
    assert np.array_equal(truncated(log_p, 0, prior)[outside], prior[outside])


logits = st.lists(
    st.floats(-1e6, 1e6) | st.floats(-30, 30) | st.just(-math.inf), min_size=2, max_size=40
).filter(lambda values: any(map(math.isfinite, values)))


@given(logits, st.data(), st.integers(0, 2**40))
def test_the_observed_token_is_the_argmax_for_any_logits(
    values: list[float], data: st.DataObject, seed: int
) -> None:
    possible = [index for index, value in enumerate(values) if math.isfinite(value)]
    token = data.draw(st.sampled_from(possible))
    sampling = Sampling(data.draw(st.sampled_from([0.05, 0.7, 1.0, 3.0])))
    given_logits = torch.tensor([values], dtype=torch.float64)
    noise = HindsightNoise(draw(seed, "x"), (token,), given_logits, sampling).at(0, len(values))
    assert not np.isnan(noise).any() and (noise < np.inf).all()
    tokens, gaps = choose(given_logits, torch.from_numpy(noise[None]), sampling)
    assert tokens.tolist() == [token]
    assert gaps.item() > 0.99 * CLOSE
    exact = truncated(
        log_probabilities(given_logits, sampling)[0].numpy(),
        token,
        draw(seed, "x").at(0, len(values)),
    )
    tokens, gaps = choose(given_logits, torch.from_numpy(exact[None]), sampling)
    assert tokens.tolist() == [token]
    assert gaps.item() > 0
    assert np.abs(noise - exact).max() <= CLOSE / sampling.temperature * 1.01


@given(logits, st.sampled_from([-1000.0, 1000.0]), st.sampled_from([1.0, 0.9]), st.integers(0, 99))
def test_a_constant_on_all_logits_changes_nothing(
    values: list[float], shift: float, top_p: float, seed: int
) -> None:
    sampling = Sampling(top_p=top_p)
    plain = torch.tensor([values], dtype=torch.float64)
    one, two = (log_probabilities(x, sampling) for x in (plain, plain + shift))
    assert torch.allclose(one, two, rtol=1e-9, atol=1e-6)
    noise = torch.from_numpy(draw(seed, "x").at(0, len(values))[None])
    first, gap = choose(plain, noise, sampling)
    second, _ = choose(plain + shift, noise, sampling)
    assert first.tolist() == second.tolist() or gap.item() < 1e-6


def test_logits_that_overflow_plain_sums_are_no_trouble() -> None:
    huge = torch.full((1, 5000), 8e4, dtype=torch.float32)
    assert log_probabilities(huge, Sampling())[0, 0].item() == pytest.approx(-math.log(5000))
    noise = HindsightNoise(draw(0, "x"), (17,), huge, Sampling()).at(0, 5000)
    assert int(np.argmax(noise)) == 17
    assert stats.kstest(np.delete(noise, 17), stats.gumbel_r.cdf).pvalue > ALPHA


def test_past_its_text_inferred_noise_is_the_counters_own() -> None:
    drawn = draw(9, "x")
    noise = HindsightNoise(drawn, (2, 0), LOGITS.expand(2, -1), Sampling())
    assert not np.array_equal(noise.at(1, 6), drawn.at(1, 6))
    assert np.array_equal(noise.at(2, 6), drawn.at(2, 6))
    # A model with more tokens, or fewer, than the one that was read.
    assert np.array_equal(noise.at(1, 9)[:6], noise.at(1, 6))
    assert np.array_equal(noise.at(1, 9)[6:], drawn.at(1, 9)[6:])
    assert np.array_equal(noise.at(1, 4), noise.at(1, 6)[:4])


def test_the_nucleus_is_the_smallest_set_with_the_mass() -> None:
    p = np.array([0.4, 0.3, 0.2, 0.1])
    given_logits = torch.tensor(np.log(p))[None]

    def kept(top_p: float) -> list[float]:
        return log_probabilities(given_logits, Sampling(top_p=top_p))[0].exp().tolist()

    assert kept(0.39) == pytest.approx([1, 0, 0, 0])
    assert kept(0.41) == pytest.approx([4 / 7, 3 / 7, 0, 0])
    assert kept(0.95) == pytest.approx(p)
    assert kept(1e-9) == pytest.approx([1, 0, 0, 0])
    wide = torch.zeros((2, 3000), dtype=torch.float64)  # far more than the first look takes in
    wide[1, 7] = 20
    sizes = log_probabilities(wide, Sampling(top_p=0.5)).isfinite().sum(-1).tolist()
    assert sizes == [3000, 1]  # equals stay together


def test_the_lead_is_in_logits_whatever_the_temperature() -> None:
    noise = torch.zeros((1, 6), dtype=torch.float64)
    for temperature in (0.1, 1.0, 2.0):
        _, gaps = choose(LOGITS, noise, Sampling(temperature))
        assert gaps.item() == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sampling(0), "temperature must be above 0"),
        (lambda: Sampling(-1), "temperature must be above 0"),
        (lambda: Sampling(math.nan), "temperature must be above 0"),
        (lambda: Sampling(top_p=0), "top-p must be above 0"),
        (lambda: Sampling(top_p=1.1), "at most 1"),
        (lambda: log_probabilities(LOGITS * math.nan, Sampling()), "not finite"),
        (lambda: log_probabilities(LOGITS + math.inf, Sampling()), "not finite"),
    ],
)
def test_what_cannot_be_sampled_from_is_reported(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
