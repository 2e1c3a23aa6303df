"""What a review has let through, where labellers overlook the same hard items."""

from datetime import UTC, datetime

import numpy as np
import pytest

from contrafact.errors import InputError
from contrafact.family.review import Rule
from contrafact.review.answers import Ballot
from contrafact.review.project import Stage, load_project, validate_project
from contrafact.review.residual import residual_cells, residual_error, residual_notes
from contrafact.review.state import Batch, ReviewItem, ReviewState, Vote
from contrafact.stats.votes import missed_at_most

NOW = datetime(2031, 3, 1, 9, 0, tzinfo=UTC)
FIELDS = {"manipulation": "flipping", "original": "It rose.", "rewritten": "It fell."}


def with_recheck(project):
    """Return a project whose adjudicator looks at a sample of what both annotators passed."""
    stages = {stage.id: stage for stage in project.stages}
    annotation = stages["annotation"]
    onward = [
        rule.model_copy(update={"to": "recheck"}) if rule.to == "final" else rule
        for rule in annotation.rules
    ]
    recheck = Stage(
        id="recheck",
        kind="audit",
        title="Recheck of what both passed",
        roles=("adjudicator",),
        questions=annotation.questions,
        verdict=annotation.verdict,
        apart_from=("annotation",),
        strata="manipulation",
        rate=0.2,
        passes=("pass",),
        rules=(
            Rule(to="final", why="passed by all", none=("fail", "mis-category")),
            Rule(to="removed", why="failed when looked at again"),
        ),
    )
    stages["annotation"] = annotation.model_copy(update={"rules": tuple(onward)})
    made = project.model_copy(update={"stages": (*stages.values(), recheck)})
    assert validate_project(made) is None
    return made


def vote(seq, who, stage, slot, verdict, **more):
    return Vote(seq, who, NOW, stage, 1, slot, Ballot({}, verdict=verdict), "t1", "g1", **more)


def review_of(wrong, passes, rate, expert, rng):
    """Return a review by three people of items that both annotators judged.

    Args:
        wrong: Whether each item is wrong, shape (items,).
        passes: Whether each annotator passes each item, shape (items, 2).
        rate: The share of what both passed that the adjudicator looks at again; 0 for no recheck.
        expert: The chances that the adjudicator fails a right and a wrong item.
        rng: Where randomness comes from.
    """
    state = ReviewState(with_recheck(load_project("rfc-rewrite-three")))
    both = np.flatnonzero(passes.all(axis=1))
    drawn = rng.choice(both, size=round(rate * len(both)), replace=False) if rate else []
    chance = {f"i{n}": len(drawn) / len(both) for n in sorted(drawn)}
    if len(drawn):
        members = tuple(f"i{n}" for n in both)
        strata = dict.fromkeys(members, "all")
        state.batches["recheck-1"] = Batch("recheck-1", "recheck", members, chance, strata)
    for n, (bad, own) in enumerate(zip(wrong, passes, strict=True)):
        name = f"i{n}"
        votes = [
            vote(1 + slot, who, "annotation", slot, "pass" if own[slot] else "fail")
            for slot, who in enumerate(("Cem", "Dia"))
        ]
        outcome = "final" if own.all() else "removed"
        if name in chance:
            fails = rng.random() < expert[int(bad)]
            votes.append(
                vote(3, "Ada", "recheck", 0, "fail" if fails else "pass", batch="recheck-1")
            )
            outcome = "removed" if fails else "final"
        state.items[name] = ReviewItem(
            name, FIELDS, FIELDS, "t1", NOW, outcome=outcome, votes=tuple(votes)
        )
    return state


def hard_for_both(items, wrong, hard, rng):
    """Return truth and votes where wrong items are hard with a chance, and both miss those.

    Of easy ones each annotator misses one in ten, of right items each fails one in twenty.
    """
    bad = rng.random(items) < wrong
    overlooked = bad & (rng.random(items) < hard)
    found = rng.random((items, 2)) < np.where(bad, 0.9, 0.05)[:, None]
    return bad, ~(found & ~overlooked[:, None])


def coverage(rounds, rate, expert, wrong, hard, seed):
    """Return the share of intervals that hold the truth, the mean truth, and their mean width."""
    rng = np.random.default_rng(seed)
    held, truths, widths = 0, [], []
    for _ in range(rounds):
        bad, passes = hard_for_both(300, wrong, hard, rng)
        state = review_of(bad, passes, rate, expert, rng)
        finals = [bad[int(name[1:])] for name, i in state.items.items() if i.outcome == "final"]
        found = residual_error(state).wrong
        truths.append(float(np.mean(finals)))
        widths.append(found.high - found.low)
        held += found.low <= truths[-1] <= found.high
    return held / rounds, float(np.mean(truths)), float(np.mean(widths))


RIGHT_EXPERT, HASTY_EXPERT, BLIND_EXPERT = (0.0, 1.0), (0.02, 0.9), (0.0, 0.2)
# A share of wrong items, and of those that both overlook: 8 to 16% of what both pass is wrong.
WORLDS = [(0.15, 0.5), (0.25, 0.4), (0.25, 0.5)]


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "hard"), WORLDS)
@pytest.mark.parametrize(
    ("rate", "expert"), [(0.2, RIGHT_EXPERT), (0.2, HASTY_EXPERT), (0.0, RIGHT_EXPERT)]
)
def test_intervals_hold_the_truth_where_both_overlook_the_same_items(wrong, hard, rate, expert):
    held, true, _ = coverage(200, rate, expert, wrong, hard, seed=7)
    assert 0.07 <= true <= 0.17
    assert held >= 0.9


@pytest.mark.slow
def test_what_the_figures_rest_on_can_fail():
    held, _, _ = coverage(100, 0.2, BLIND_EXPERT, 0.25, 0.6, seed=8)
    assert held < 0.5, "an expert who overlooks the same items measures nothing"
    held, _, _ = coverage(100, 0.0, RIGHT_EXPERT, 0.3, 0.95, seed=8)
    assert held < 0.5, "who finds less than a third of what is wrong has passed more"


def some_review(rate, seed=1):
    rng = np.random.default_rng(seed)
    return review_of(*hard_for_both(200, 0.2, 0.5, rng), rate, RIGHT_EXPERT, rng)


def test_the_basis_is_shown_and_a_bound_has_no_estimate():
    found = residual_error(some_review(0.2))
    assert found.wrong.basis == "recheck"
    assert found.wrong.low < found.wrong.estimate < found.wrong.high
    assert residual_notes(found)[0].startswith("recheck: an expert judged a random sample")
    bound = residual_error(some_review(0.0))
    assert (bound.wrong.basis, bound.wrong.estimate, bound.wrong.low) == ("bound", None, 0.0)
    assert residual_cells(bound.wrong)[-1].startswith("at most ")
    assert "each voter finds at least 33% of what is wrong" in residual_notes(bound)[0]


def test_who_finds_more_leaves_less():
    state = some_review(0.0)
    highs = [residual_error(state, finds=finds).wrong.high for finds in (0.2, 0.5, 0.9)]
    assert highs == sorted(highs, reverse=True)
    assert highs[0] > highs[-1]
    with pytest.raises(InputError, match="people cannot find 1 of what is wrong"):
        residual_error(state, finds=1.0)


def test_an_item_that_the_expert_passed_counts_as_right():
    state = some_review(1.0)
    found = residual_error(state)
    assert (found.wrong.estimate, found.wrong.high) == (0.0, 0.0)
    assert found.wrong.failed > 0


@pytest.mark.parametrize("found", [0, 1, 7, 60])
@pytest.mark.parametrize("finds", [0.2, 1 / 3, 0.8])
def test_a_bound_fails_no_more_often_than_it_may(found, finds):
    from scipy.stats import binom

    most = missed_at_most(found, finds, 0.05)
    assert binom.cdf(found, found + most, finds) > 0.05 or most == 0
    assert binom.cdf(found, found + most + 1, finds) <= 0.05
