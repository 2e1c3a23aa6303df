"""How many pairs are really sound, by a judge's exam, by labels, or by both."""

import math

import numpy as np
import pytest
from tests.support.made_exams import exam_with, rate

from contrafact.families.rfc.sound import BY_FACTS, Counted, sound_pairs
from contrafact.family.exam_file import KindRate

KINDS = ("flipping", "sentiment", "causal")
FAULTS = 3
"""Kinds of fault, one for each criterion of a pair."""


def examined(rates):
    """Return an exam: of each kind, (right, n) of sound pairs and of each kind of fault."""
    pooled = {kind: (own[0], tuple(np.sum(own[1:], axis=0))) for kind, own in rates.items()}
    exam = exam_with(pooled)
    kinds = {
        kind: {
            f"fault {n}": KindRate(known=False, right=rate(*one)) for n, one in enumerate(own[1:])
        }
        for kind, own in rates.items()
    }
    of = {k: part.model_copy(update={"kinds": kinds[k]}) for k, part in exam.criteria.items()}
    return exam.model_copy(update={"criteria": of})


def signs(rng, truth, right, wrong, together):
    """Return what a judge says by each criterion, with one draw of luck for all, or one each."""
    luck = np.full(FAULTS, rng.random()) if rng.random() < together else rng.random(FAULTS)
    return "".join("01"[int(one)] for one in luck < np.where(truth, right, 1 - wrong))


def drawn(rng, mix, together, number=200, each=80):
    """Return an exam, the judged pairs of the same judge with another mix of faults, and truth."""
    pairs, labels, rates = [], {}, {}
    for kind in KINDS:
        right, wrong = rng.uniform(0.75, 0.99, (2, FAULTS))
        truths = [np.ones(FAULTS, bool), *~np.eye(FAULTS, dtype=bool)]
        passed = [
            sum("0" not in signs(rng, one, right, wrong, together) for _ in range(each))
            for one in truths
        ]
        rates[kind] = [(passed[0], each), *((each - one, each) for one in passed[1:])]
        for at in range(number):
            truth = truths[1 + int(rng.choice(FAULTS, p=mix)) if rng.random() < 0.3 else 0]
            says = signs(rng, truth, right, wrong, together)
            pairs.append(Counted(kind, says, f"{kind} {at}", f"{kind} {at}"))
            labels[pairs[-1].id] = bool(truth.all())
    return examined(rates), pairs, labels


@pytest.mark.parametrize("together", [0.0, 0.9])
@pytest.mark.parametrize("by", ["exam", "labels"])
@pytest.mark.slow
def test_the_intervals_cover_the_truth_whether_or_not_errors_come_together(together, by):
    covered = raw = 0
    studies = 40
    for seed in range(studies):
        rng = np.random.default_rng([seed, int(together * 10)])
        exam, pairs, truth = drawn(rng, (0.8, 0.1, 0.1), together)
        some = {pairs[n].id: truth[pairs[n].id] for n in rng.choice(len(pairs), 100, replace=False)}
        labels = some if by == "labels" else None
        *_, found = sound_pairs(pairs, exam, labels=labels)
        assert (
            found.kind == "all"
            and found.pairs == 600
            and f"by {'the ' * (by == 'exam')}{by}" in found.why
        )
        assert found.low <= found.estimate <= found.high
        sound = sum(truth.values())
        covered += found.low <= sound <= found.high
        raw += found.low <= found.passed <= found.high
    assert covered >= 0.93 * studies - 3 * np.sqrt(0.93 * 0.07 * studies)
    assert raw < covered  # what the judge passes is no estimate


def test_an_exam_does_not_know_which_faults_a_file_has():
    """A judge that fails one kind of fault always and another half of the time."""
    rng = np.random.default_rng(1)
    exam = examined({"causal": [(76, 80), (80, 80), (40, 80)]})
    for share in (0.5, 1.0):  # of pairs without the fault that is hard to see
        sound = rng.random(600) < 0.6
        seen = rng.random(600) < share
        passed = rng.random(600) < np.where(sound, 0.95, np.where(seen, 0.0, 0.5))
        pairs = [Counted("causal", "111" if one else "011", f"{n}") for n, one in enumerate(passed)]
        (found,) = sound_pairs(pairs, exam)
        assert found.low <= sound.sum() <= found.high
        assert found.why == "by the exam, for any mix of its kinds of fault"


def test_what_facts_decide_counts_as_they_decide_it():
    pairs = [Counted("numerical", BY_FACTS, str(n)) for n in range(30)]
    pairs += [Counted("numerical", "", str(n)) for n in range(10)]
    (found,) = sound_pairs(pairs, exam_with({}))
    assert (found.pairs, found.passed, found.estimate) == (40, 30, 30)
    assert found.low == found.high == 30 and found.why == "30 by facts alone"


RATES = {kind: [(57, 60), (54, 60), (50, 60)] for kind in KINDS}
JUDGED = [
    Counted(kind, "111" if n % 3 else "011", f"{n}", f"{kind} {n}")
    for n in range(120)
    for kind in KINDS
]


@pytest.mark.parametrize(
    ("flipping", "why"),
    [
        (None, "no verdicts on whole flipping pairs"),
        ([(30, 60), (30, 60)], "this judge cannot tell"),
        ([(9, 10), (9, 10)], "needs 25 items"),
        ([(57, 60), (60, 60), (3, 60)], "the judge fails 5% of the exam's 'fault 1'"),
    ],
)
def test_where_the_exam_says_too_little_there_is_the_reason_and_what_would_say_it(flipping, why):
    rates = {kind: own for kind, own in RATES.items() if kind != "flipping"}
    found = sound_pairs(JUDGED, examined(rates | ({"flipping": flipping} if flipping else {})))
    assert [one.kind for one in found] == [*KINDS, "all"]
    for one in (found[0], found[-1]):
        assert math.isnan(one.estimate) and math.isnan(one.low)
        assert why in one.why and "label some 100 pairs drawn at random (--labels)" in one.why
    assert not math.isnan(found[1].estimate)


def test_few_items_of_a_kind_of_fault_are_taken_with_the_others_like_it():
    few = {"flipping": [(76, 80), (54, 60), (6, 8), (6, 8)]}
    (flips,) = sound_pairs(JUDGED[::3], examined(few))
    # 80 of 120 pass, of a judge that is right on 76 of 80 and 66 of 76.
    assert flips.estimate == pytest.approx(120 * (2 / 3 - 10 / 76) / (76 / 80 - 10 / 76))
    assert flips.low < flips.estimate < flips.high


def test_labels_decide_where_there_are_enough_and_the_exam_elsewhere():
    labels = {one.id: n % 5 > 0 for n, one in enumerate(JUDGED[::3]) if n < 60}
    flips, tones, *_, every = sound_pairs(JUDGED, examined(RATES), labels=labels)
    assert flips.why == "by labels of 60" and flips.estimate == pytest.approx(120 * 0.8)
    assert tones.why.startswith("by the exam") and every.why == "by labels of 60"
    *_, alone = sound_pairs(JUDGED, labels=dict(list(labels.items())[:3]))
    assert math.isnan(alone.estimate) and "too few of these pairs are labelled" in alone.why


def test_pairs_without_every_verdict_are_left_out_and_few_pairs_say_nothing():
    open_ones = [Counted("flipping", "1?1", "x")] * 5
    flips, *_ = sound_pairs([*JUDGED, *open_ones], examined(RATES))
    assert flips.pairs == 125 and "5 without a verdict on every criterion" in flips.why
    (few,) = sound_pairs(
        [one for one in JUDGED if one.kind == "causal"][:50], examined(RATES),
    )  # fmt: skip
    assert math.isnan(few.estimate) and "100 judged items" in few.why


def test_pairs_of_one_original_say_less_than_as_many_of_their_own():
    own = [one for one in JUDGED if one.kind == "causal"]
    shared = [one._replace(cluster=one.signs + str(int(one.cluster) // 10)) for one in own]
    exam = examined(RATES)
    (apart,), (together,) = (sound_pairs(pairs, exam) for pairs in (own, shared))
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


def test_an_exam_of_another_judge_gives_no_figure():
    found = sound_pairs(JUDGED, examined(RATES), "x")
    assert all(math.isnan(one.estimate) and one.why == "not known: x" for one in found)
