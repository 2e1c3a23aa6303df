"""How many wrong stories the filter keeps, where readers err, and err together."""

from random import Random

import pytest

from contrafact.families.cobe.write.reading import disagreements, expected
from contrafact.families.cobe.write.structure import NUMBER, draw_structures, twin_of

ERROR = 0.05
OTHERS = {"up": ("down", "nowhere"), "down": ("up", "nowhere"), "nowhere": ("up", "down")}


def readings(told, readers, correlation, rng):
    """Return readings of a story by what it tells; each answer is wrong with `ERROR`.

    Readers share an error with the probability `correlation`, which is then its correlation.
    """
    rows = []
    for case in told.cases:
        after = expected(told, case)
        common = {name: rng.random() < ERROR for name in after}
        for reader in range(readers):
            said = {}
            for name, then in after.items():
                errs = common[name] if rng.random() < correlation**0.5 else rng.random() < ERROR
                other = rng.choice(OTHERS[then]) if name == NUMBER else not then
                said[name] = other if errs else then
            rows.append({"reader": str(reader), "suppose": list(case), "after": said})
    return rows


def shares(pairs, correlation, readers=2):
    """Return the shares of right and of wrong stories that are kept.

    A wrong story tells what its twin's structure has, in which one fact comes about otherwise.
    """
    rng = Random(1)
    kept = [
        [not disagreements(one, readings(told, readers, correlation, rng)) for told in (one, twin)]
        for one, twin in pairs
        for _ in range(4)
    ]
    return [sum(column) / len(kept) for column in zip(*kept, strict=True)]


@pytest.mark.slow
def test_readers_who_err_together_keep_more_wrong_stories_and_few_in_all():
    """As docs/write.md has it of more stories: two readers, errors of 5% in each answer."""
    drawn = [one for seed in (1, 2, 3) for one in draw_structures(40, seed, None, None)]
    pairs = [(one, twin) for one in drawn if (twin := twin_of(one, Random(1)))]
    assert len(pairs) > 40
    right, wrong = zip(*(shares(pairs, one) for one in (0.0, 0.3, 0.6)), strict=True)
    assert right == tuple(sorted(right)), "errors that are shared cost fewer right stories"
    assert wrong[0] <= wrong[1] <= wrong[2] < 0.05
    assert wrong[0] < 0.005
