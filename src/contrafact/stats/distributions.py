"""Quantiles and tails of the distributions behind intervals and tests.

They replace SciPy in reports (140 MB for four functions); a test compares them with it.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_FRACTION_STEPS = 10_000  # the continued fraction converges long before
_TINY = 1e-300


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal variable is at most ``z``."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def normal_quantile(probability: float) -> float:
    """Return the point below which a standard normal variable lies with this probability."""
    if probability in (0.0, 1.0):
        return math.copysign(math.inf, probability - 0.5)
    return _NORMAL.inv_cdf(probability)


def t_tail(t: float, freedom: float) -> float:
    """Return the probability that a variable of Student's t is over ``t``."""
    # Two tails of t are the regularised incomplete beta function at freedom / (freedom + t²).
    within = t * t / (freedom + t * t)
    tail = 0.5 * _incomplete_beta(freedom / 2.0, 0.5, 1.0 - within, within)
    return tail if t >= 0.0 else 1.0 - tail


@lru_cache(maxsize=4_096)
def t_quantile(freedom: float, probability: float) -> float:
    """Return the quantile of Student's t; `ValueError` outside 0 < freedom, 0 < probability < 1."""
    if not (freedom > 0.0 and 0.0 < probability < 1.0):
        raise ValueError("degrees of freedom are over 0, and a probability is between 0 and 1")
    if probability == 0.5:
        return 0.0
    if probability > 0.5:
        return -t_quantile(freedom, 1.0 - probability)
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > probability:
        low, high = high, 2.0 * high
    return -_bisect(lambda t: t_tail(t, freedom) > probability, low, high)


def beta_quantile(a: float, b: float, probability: float) -> float:
    """Return the quantile of Beta(a, b); `ValueError` outside a, b > 0, 0 < probability < 1."""
    if not (a > 0.0 and b > 0.0 and 0.0 < probability < 1.0):
        raise ValueError("shapes are over 0, and a probability is between 0 and 1")
    return _bisect(lambda x: _incomplete_beta(a, b, x, 1.0 - x) < probability, 0.0, 1.0)


def _bisect(below: Callable[[float], bool], low: float, high: float) -> float:
    """Return the largest float between two for which ``below`` is true."""
    while (middle := 0.5 * (low + high)) not in (low, high):
        low, high = (middle, high) if below(middle) else (low, middle)
    return middle


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function at ``x``; ``rest`` is ``1 - x``, exactly."""
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # here the fraction for the other side converges sooner
        return 1.0 - _incomplete_beta(b, a, rest, x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    log_front += a * math.log(x) + b * math.log(rest)
    # The continued fraction by Lentz's method (Abramowitz and Stegun, 26.5.8).
    numerator, denominator = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    denominator = 1.0 / (denominator or _TINY)
    fraction = denominator
    for step in range(1, _FRACTION_STEPS):
        for term in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            denominator = 1.0 / ((1.0 + term * denominator) or _TINY)
            numerator = (1.0 + term / numerator) or _TINY
            change = numerator * denominator
            fraction *= change
        if abs(change - 1.0) < 1e-16:
            break
    return math.exp(log_front) * fraction / a
