"""The share that passes everything, corrected jointly: it covers whatever the mix of failures."""

import numpy as np
import pytest

from contrafact.stats.correction import ExamRate, correct_conjunction

NAMES = ["E1", "E2", "E3", "E4", "E5"]
SENSITIVITY = np.array([0.95] * 5)
SPECIFICITY = np.array([0.95, 0.95, 0.4, 0.7, 0.5])
MIXES = {
    "mostly E1": (0.8, 0.05, 0.05, 0.05, 0.05),
    "mostly E3 and E5": (0.05, 0.05, 0.45, 0.05, 0.4),
    "even": (0.2,) * 5,
}


def study(mix, rng, *, n=400, right=200, wrong=60, rate=0.5):
    """Return a run's verdicts, and the exam's rates of its judge; one criterion fails at most."""
    truth = np.ones((n, 5), dtype=bool)
    failed = rng.random(n) >= rate
    truth[np.flatnonzero(failed), rng.choice(5, failed.sum(), p=mix)] = False
    verdicts = np.where(truth, rng.random((n, 5)) < SENSITIVITY, rng.random((n, 5)) >= SPECIFICITY)
    rates = {
        "sensitivity": [ExamRate(rng.binomial(right, p), right) for p in SENSITIVITY],
        "specificity": [ExamRate(rng.binomial(wrong, p), wrong) for p in SPECIFICITY],
    }
    return verdicts.astype(float), rates


@pytest.mark.parametrize("mix", MIXES)
def test_the_interval_covers_whatever_fails_most(mix):
    rng = np.random.default_rng(5)
    studies = 200
    covered = claimed = 0
    for _ in range(studies):
        verdicts, rates = study(MIXES[mix], rng)
        found = correct_conjunction(verdicts, names=NAMES, rng=rng, draws=400, **rates)
        claimed += found.usable
        covered += found.usable and found.low <= 0.5 <= found.high
    assert claimed >= 0.9 * studies
    # 93% less two standard errors of so many studies.
    assert covered / claimed >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / claimed)


def test_a_criterion_on_which_the_judge_cannot_tell_is_named():
    verdicts, rates = study(MIXES["even"], np.random.default_rng(0))
    rates["specificity"][2] = ExamRate(5, 60)
    found = correct_conjunction(verdicts, names=NAMES, rng=np.random.default_rng(0), **rates)
    assert not found.usable and np.isnan(found.low)
    assert "on E3 sensitivity and specificity sum to" in found.why


def test_what_is_not_asked_counts_for_nothing():
    rng = np.random.default_rng(1)
    verdicts, rates = study(MIXES["mostly E1"], rng)
    verdicts[:, 2:] = np.nan
    rates["specificity"][4] = ExamRate(0, 60)
    found = correct_conjunction(verdicts, names=NAMES, rng=rng, **rates)
    assert found.usable
    assert found.raw == np.nanmin(verdicts, axis=1).mean()
    with pytest.raises(ValueError, match="at least one"):
        correct_conjunction(np.full((3, 5), np.nan), names=NAMES, rng=rng, **rates)
