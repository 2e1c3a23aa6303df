"""What an exam and labels can give is said before anybody is asked, and items are drawn for it."""

import re
from collections import Counter

import pytest

from contrafact.exams.correct import exam_gives, what_corrects
from contrafact.families.cobe.exam import cobe_items, drawn_known
from contrafact.families.finforce.exam import finforce_items
from contrafact.families.rfc.exam import rfc_items
from contrafact.family.exam import draw_crossed, draw_needed
from contrafact.stats.correction import MIN_EXAM, planned_half_width
from contrafact.stats.intervals import effective_number

MODEL = ("--model", "embedded/smollm2-135m", "--judge", "embedded/smollm2-135m")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_draw_gives_every_criterion_what_a_correction_needs_first(seed):
    stories = cobe_items(drawn_known(200, seed))
    for items, n in ((finforce_items(), 100), (stories, 200)):
        drawn = draw_crossed(items, n, seed)
        known = Counter(one for item in drawn for one in item.known.items())
        assert len(drawn) == n and sum(item.should_pass for item in drawn) == n // 2
        assert min(known.values()) >= MIN_EXAM, known
        lack, gives = exam_gives(drawn, {name for name, _ in known})
        assert not lack and all(f"{name} to ±" in gives[0] for name, _ in known)
        # A perfect judge's rate is corrected only where no note says that it is not.
        for name, verdict in known:
            alike = [one.cluster for one in drawn if one.known.get(name) is verdict]
            if effective_number([1.0] * len(alike), alike) < MIN_EXAM:
                assert f"{name} " in gives[1]


def test_an_exam_that_is_too_small_says_which_criteria_are_short():
    drawn = draw_crossed(finforce_items(), 60, 0)
    known = Counter(one for item in drawn for one in item.known.items())
    (lack,), gives = exam_gives(drawn, ["forward_compatibility", "directionality", "not asked"])
    assert not gives
    assert lack.startswith("too few items, 25 that should pass and 25 that should fail, to correct")
    for name in ("forward_compatibility", "directionality"):
        right, wrong = known[name, True], known[name, False]
        assert f"{name} ({right} and {wrong})" in lack


def test_pairs_are_drawn_by_need_too():
    names = {name for item in rfc_items() for name, verdict in item.known.items() if verdict}
    for n, least in ((100, 5), (320, MIN_EXAM)):
        drawn = draw_needed(rfc_items(), n, 1)
        known = Counter(one for item in drawn for one in item.known.items())
        assert len({item.id for item in drawn}) == n and drawn == draw_needed(rfc_items(), n, 1)
        for name in names:
            pool = sum(item.known.get(name) is False for item in rfc_items())
            assert known[name, True] >= least and known[name, False] >= min(pool, least), name
    sound = sum(item.should_pass for item in draw_needed(rfc_items(), 48, 0))
    assert sound == 24  # until one half has what it needs, the halves take turns
    assert draw_needed(rfc_items(), None, 0) == list(rfc_items())


def test_an_exam_of_pairs_says_which_criteria_are_short(quick_contrafact):
    command = ("exam", "--judge", "embedded/smollm2-135m", "--family", "rfc", "--estimate")
    lack = "rates by "
    few = quick_contrafact(*command, "--n", "100").stdout.split(lack)[1]
    assert "flipping:coherent (" in few and "control" not in few
    # Of numerical pairs, which facts decide, there are too few in all.
    enough = quick_contrafact(*command, "--n", "320").stdout.split(lack)[1]
    names = re.findall(r"([\w:]+) \(\d+ and \d+\)", enough)
    assert names == ["numerical", "numerical:only_figures", "numerical:plausible"]


@pytest.mark.parametrize("n", [150, 246, 400, 2_000])
@pytest.mark.parametrize("rate", [0.6, 0.8, 1.0])
def test_what_is_promised_is_reached_and_no_less_would_do(n, rate):
    assumed = min(rate, 0.95)
    said = what_corrects(n, rate)
    items = re.search(r"an exam with ([\d,]+) items of each verdict", said)
    labels = re.search(r"people's labels of ([\d,]+) of them", said)

    def number(found):
        return int(found[1].replace(",", ""))

    if items:
        each = number(items)
        assert planned_half_width(n, exam=(each, each), rate=assumed) <= 0.05
        assert planned_half_width(n, exam=(each - 1, each - 1), rate=assumed) > 0.05 or each == 25
    if labels:
        few = number(labels)
        assert planned_half_width(n, labels=few, rate=assumed) <= 0.05
        assert planned_half_width(n, labels=few - 1, rate=assumed) > 0.05
    assert ("for ±5 points, let" in said) == (planned_half_width(n, labels=n, rate=assumed) > 0.05)
    assert ("no rate nearer" in said) == (rate == 1.0)
    assert f"a rate of {100 * assumed:.3g}%" in said
    assert ", and a judge with a sensitivity and specificity of 90%" in said


def test_where_nothing_can_correct_a_rate_it_says_what_would_be_enough():
    said = what_corrects(36, 34 / 36)
    assert said.startswith(
        "With 36 outputs, no exam can correct a rate for the judge's errors: 100"
    )
    assert "Labels of all outputs remove these errors, but not sampling error" in said
    enough = int(re.search(r"for ±5 points, let people label (\d+) outputs", said)[1])
    assert "for ±5 points, let" not in what_corrects(enough, 34 / 36)
    assert "for ±5 points, let" in what_corrects(enough - 1, 34 / 36)
    assert "an exam corrects a rate to within ±9 points at best" in what_corrects(150)


@pytest.mark.parametrize(
    ("command", "calls"),
    [(("exam", "--family", "cobe", "--n", "8"), 0), (("run", "cobe", *MODEL[:2]), 42)],
)
def test_an_estimate_counts_no_calls_to_a_verifier(quick_contrafact, command, calls):
    told = quick_contrafact(*command, "--judge", "proof", "--estimate", code=0).stdout
    assert not re.search("^verifier", told, re.MULTILINE)
    assert f"\n{calls} calls, 0 of them paid" in told


def test_estimates_of_runs_and_exams_say_it(quick_contrafact):
    told = quick_contrafact("run", "cobe", *MODEL, "--limit", "12", "--estimate", code=0).stdout
    assert "With 36 outputs, no exam can correct a rate for the judge's" in " ".join(told.split())
    told = quick_contrafact("run", "finforce", *MODEL, "--limit", "8", "--estimate", code=0).stdout
    assert "With 16 outputs, no exam can correct a rate for the judge's" in " ".join(told.split())
    plain = quick_contrafact("run", "cobe", *MODEL[:2], "--estimate", code=0).stdout
    assert "corrects" not in plain, "nobody judges"
    exam = ("exam", *MODEL[2:], "--family", "finforce", "--estimate")
    few = quick_contrafact(*exam, "--n", "40", code=0).stdout
    assert "to correct rates by forward_compatibility (" in few
    enough = " ".join(quick_contrafact(*exam, "--n", "100", code=0).stdout.split())
    assert "rates of 400 outputs are corrected by forward_compatibility to ±" in enough
    assert "too few items" not in enough
    assert "errs on none, or on all, of the items of one verdict" in enough
    assert re.search(r"each event or story, here forward_compatibility \d\d, direct", enough)
    every = exam_gives(finforce_items(), ["forward_compatibility", "directionality"])[1]
    assert "forward_compatibility 20, directionality 20, and 25 are needed" in every[1], "all items"
