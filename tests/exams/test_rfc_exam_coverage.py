"""How many pairs are really sound, by the exams of judges drawn at random: nominal intervals hold.

Judges err on each criterion at rates of their own, and mostly on all criteria of a pair at once;
files have the exam's kinds of fault in another mix. Run with ``-s`` it prints the table.
"""

import numpy as np
import pytest
from tests.support.made_exams import examined

from contrafact.families.rfc.exam import WHOLES, rfc_items
from contrafact.families.rfc.judging import CRITERIA
from contrafact.families.rfc.sound import Counted, sound_pairs

JUDGES, FILES, PAIRS = 24, 4, 300
TOGETHER = 0.8
"""How often all verdicts on one pair hang on one draw of luck."""


def said(rng, rates, truth):
    """Return a judge's verdicts on one pair."""
    luck = rng.random(len(truth)) if rng.random() >= TOGETHER else [rng.random()] * len(truth)
    leans = [rates[name][0] if true else 1 - rates[name][1] for name, true in truth.items()]
    return {name: bool(own < lean) for name, own, lean in zip(truth, luck, leans, strict=True)}


def exam_of(rng, rates):
    """Return the exam of a judge of these rates."""
    rows = []
    for item in rfc_items():
        kind = item.facts["manipulation"]
        if kind not in WHOLES or item.whole is None:
            continue
        names = [f"{kind}:{one.name}" for one in CRITERIA[kind]]
        verdicts = said(rng, rates, {name: item.known.get(name, True) for name in names})
        verdicts[kind] = all(verdicts.values())
        for name, known in item.known.items():
            about = {"item": item.id, "cluster": item.cluster, "kind": item.kind}
            rows.append(
                about | {"criterion": name, "known": known, "passed": verdicts[name]}
                | {"words": len(item.text.split())}
            )  # fmt: skip
    return examined(rows, family="rfc", overall=WHOLES, resamples=100)


def file_of(rng, rates, share):
    """Return what the judge says of a file's pairs, and how many of each kind are sound."""
    pairs, sound = [], dict.fromkeys(WHOLES, 0)
    for kind in WHOLES:
        names = [f"{kind}:{one.name}" for one in CRITERIA[kind]]
        mix = rng.dirichlet(np.ones(len(names)))
        for place in range(PAIRS):
            truth = dict.fromkeys(names, True)
            if rng.random() >= share:
                truth[names[rng.choice(len(names), p=mix)]] = False
            sound[kind] += all(truth.values())
            signs = "".join("01"[one] for one in said(rng, rates, truth).values())
            pairs.append(Counted(kind, signs, f"{kind}-{place}"))
    return pairs, sound


@pytest.mark.slow
def test_intervals_of_sound_pairs_hold_what_they_promise():
    rng = np.random.default_rng(20)
    names = [f"{kind}:{one.name}" for kind in WHOLES for one in CRITERIA[kind]]
    held = {share: [] for share in (0.3, 0.6, 0.9)}
    missing = 0
    for _ in range(JUDGES):
        rates = {name: (rng.uniform(0.8, 0.99), rng.uniform(0.7, 0.99)) for name in names}
        exam = exam_of(rng, rates)
        for turn in range(FILES):
            share = (0.3, 0.6, 0.9)[turn % 3]
            pairs, sound = file_of(rng, rates, share)
            for one in sound_pairs(pairs, exam):
                truth = sound.get(one.kind, sum(sound.values()))
                if np.isnan(one.low):
                    missing += 1
                    continue
                held[share].append((one.low <= truth <= one.high, one.high - one.low, one.passed))
    print(f"\nno interval: {missing}\n sound  intervals   hold  mean width")
    for share, own in held.items():
        hold, width, _ = np.array(own, dtype=float).T
        print(f"{share:6.0%} {len(own):10} {hold.mean():6.1%} {width.mean():11.0f}")
    every = [hold for own in held.values() for hold, _, _ in own]
    assert len(every) > 200
    assert np.mean(every) >= 0.93
