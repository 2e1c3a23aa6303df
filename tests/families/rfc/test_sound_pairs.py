"""How many pairs are really sound, by a judge's exam."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from contrafact.families.rfc.judging import CRITERIA
from contrafact.families.rfc.sound import BY_FACTS, Counted, sound_pairs

sys.path.append(str(Path(__file__).parents[2] / "support"))
from made_exams import exam_with

KINDS = ("flipping", "sentiment", "causal")


def names(kind):
    return [f"{kind}:{one.name}" for one in CRITERIA[kind]]


ALL_NAMES = [name for kind in KINDS for name in names(kind)]


def drawn(rng, right, wrong, number, examined=120):
    """Return an exam and the judged pairs of one judge, and how many of those are sound.

    The judge passes what is right, and fails what is wrong, at the rates given for a criterion.
    """
    rates = {
        name: tuple((int(rng.binomial(examined, p)), examined) for p in (right[name], wrong[name]))
        for name in ALL_NAMES
    }
    pairs, sound = [], 0
    for kind in KINDS:
        for at in range(number):
            truth = [True] * 3
            if rng.random() < 0.3:  # a mix of faults that is the file's own
                truth[int(rng.choice(3, p=(0.7, 0.2, 0.1)))] = False
            sound += all(truth)
            says = [
                is_true if rng.random() < (right if is_true else wrong)[name] else not is_true
                for is_true, name in zip(truth, names(kind), strict=True)
            ]
            signs = "".join("01"[one] for one in says)
            pairs.append(Counted(kind, signs, f"{kind} {at}"))
    return exam_with(rates), pairs, sound


def test_the_intervals_of_judges_drawn_at_random_cover_the_truth():
    covered = raw = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        right, wrong = ({n: rng.uniform(0.75, 0.99) for n in ALL_NAMES} for _ in range(2))
        exam, pairs, sound = drawn(rng, right, wrong, 200)
        *_, found = sound_pairs(pairs, exam, rng=rng)
        assert found.kind == "all" and found.pairs == 600 and not found.why
        assert found.low <= found.estimate <= found.high
        covered += found.low <= sound <= found.high
        raw += found.low <= found.passed <= found.high
    assert covered >= 21  # fewer happens one time in five hundred where 95 of 100 cover
    assert raw < covered  # what the judge passes is no estimate


def test_what_facts_decide_counts_as_they_decide_it():
    pairs = [Counted("numerical", BY_FACTS, str(n)) for n in range(30)]
    pairs += [Counted("numerical", "", str(n)) for n in range(10)]
    (found,) = sound_pairs(pairs, exam_with({}), rng=np.random.default_rng(0))
    assert (found.pairs, found.passed, found.estimate) == (40, 30, 30)
    assert found.low == found.high == 30 and found.why == "30 by facts alone"


RATES = dict.fromkeys(ALL_NAMES, ((57, 60), (54, 60)))
JUDGED = [Counted(kind, "111" if n % 3 else "011", f"{n}") for n in range(120) for kind in KINDS]


@pytest.mark.parametrize(
    ("rates", "why"),
    [
        ({}, "the exam did not ask flipping:reversed, flipping:coherent, flipping:nothing_added"),
        (RATES | {"flipping:coherent": ((30, 60), (30, 60))}, "on flipping:coherent sensitivity"),
        (RATES | {"flipping:coherent": ((9, 10), (9, 10))}, "needs 25 items of either verdict"),
    ],
)
def test_where_the_exam_says_too_little_there_is_the_reason_and_no_figure(rates, why):
    found = sound_pairs(JUDGED, exam_with(rates), rng=np.random.default_rng(0))
    assert [one.kind for one in found] == [*KINDS, "all"]
    assert math.isnan(found[0].estimate) and why in found[0].why
    assert math.isnan(found[-1].estimate) and math.isnan(found[-1].low)
    assert math.isnan(found[1].estimate) == (not rates)


def test_few_items_on_a_criterion_leave_the_verdict_on_the_whole_and_that_is_said():
    few = RATES | {"flipping:coherent": ((9, 10), (9, 10)), "flipping": ((76, 80), (72, 80))}
    flips, *_, every = sound_pairs(JUDGED, exam_with(few), rng=np.random.default_rng(0))
    # 80 of 120 pass, of a judge that is right on .95 and .9: (2/3 - .1) / .85 are sound.
    assert flips.estimate == pytest.approx(120 * (2 / 3 - 0.1) / 0.85)
    assert flips.low < flips.estimate < flips.high
    for one in (flips, every):
        assert one.why == "flipping as a whole, for faults mixed as in the exam"


def test_pairs_without_every_verdict_are_left_out_and_few_pairs_say_nothing():
    open_ones = [Counted("flipping", "1?1", "x")] * 5
    flips, *_ = sound_pairs([*JUDGED, *open_ones], exam_with(RATES), rng=np.random.default_rng(0))
    assert flips.pairs == 125 and "5 without a verdict on every criterion" in flips.why
    (few,) = sound_pairs(
        [one for one in JUDGED if one.kind == "causal"][:50], exam_with(RATES),
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert math.isnan(few.estimate) and "50 judged items" in few.why


def test_pairs_of_one_original_say_less_than_as_many_of_their_own():
    own = [one for one in JUDGED if one.kind == "causal"]
    shared = [one._replace(cluster=one.signs + str(int(one.cluster) // 10)) for one in own]
    exam = exam_with(RATES)
    (apart,), (together,) = (
        sound_pairs(pairs, exam, rng=np.random.default_rng(0)) for pairs in (own, shared)
    )
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


def test_an_exam_of_another_judge_gives_no_figure():
    found = sound_pairs(JUDGED, exam_with(RATES), "not known: x", rng=np.random.default_rng(0))
    assert all(math.isnan(one.estimate) and one.why == "not known: x" for one in found)
