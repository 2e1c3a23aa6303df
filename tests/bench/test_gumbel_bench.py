"""What the bench compares with is right: its noise gives its texts back, ours included."""

import numpy as np
import pytest
from tests.support.small_models import numbers_model

from bench import gumbel
from contrafact.models.whitebox.noise import generate

PROMPTS = [[1, 5, 9], [1, 7, 7, 30, 41], [1, 90]]


class Held:
    """Noise that was kept, position by position."""

    def __init__(self, values):
        self.values = values

    def at(self, position, vocabulary):
        return self.values[position]


@pytest.fixture(scope="module")
def causal():
    return numbers_model()


def test_the_plain_way_writes_what_ours_writes_under_the_same_noise(causal):
    texts, noise = gumbel.plain(causal, PROMPTS, np.random.default_rng(4))
    assert noise.shape == (gumbel.TOKENS, 97)
    again = generate(causal, PROMPTS, [Held(noise)] * 3, max_tokens=gumbel.TOKENS, ends=())
    assert [list(one.tokens) for one in again] == texts
    assert texts[0] != texts[1] != texts[2]


def test_hindsight_is_gumbel_noise_on_average():
    """Over texts drawn from the model, inferred noise is distributed as drawn noise is."""
    rng = np.random.default_rng(0)
    log_p = np.log(rng.dirichlet(np.ones(5), size=1)).repeat(4000, axis=0)
    text = rng.choice(5, size=4000, p=np.exp(log_p[0])).tolist()
    noise = gumbel.hindsight(log_p, text, rng)
    assert ((log_p + noise).argmax(1) == text).all()
    assert noise.mean(0) == pytest.approx(np.full(5, np.euler_gamma), abs=0.08)
