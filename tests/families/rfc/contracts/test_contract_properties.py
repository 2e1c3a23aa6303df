"""Valid pairs made at random, then one rule broken at a time."""

from dataclasses import dataclass

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contrafact.families.rfc.contracts import check_pair

NAMES = ("Norrick Steel", "Halden Optics", "Quillon Freight", "Osmery Foods", "Vantry Air")
MOVES = (("rose", "fell"), ("climbed", "dropped"), ("gained", "lost"), ("jumped", "slid"))
QUARTERS = ("first", "second", "third", "fourth")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True)
class Story:
    """What a short report says, so that one fact can be changed at a time."""

    name: str
    up: bool
    move: int
    percent: int
    revenue: int
    quarter: int
    day: int

    def text(self, **changes: object) -> str:
        facts = {**self.__dict__, **changes}
        verb = MOVES[facts["move"]][0 if facts["up"] else 1]
        result = "beat" if facts["up"] else "missed"
        demand = "strong" if facts["up"] else "weak"
        return (
            f"{facts['name']} shares {verb} {facts['percent']}% on {DAYS[facts['day']]} after "
            f"{QUARTERS[facts['quarter']]}-quarter revenue of ${facts['revenue']} million {result} "
            f"expectations on {demand} demand for its products."
        )


stories = st.builds(
    Story,
    name=st.sampled_from(NAMES),
    up=st.booleans(),
    move=st.integers(0, len(MOVES) - 1),
    percent=st.integers(4, 30),
    revenue=st.integers(20, 900),
    quarter=st.integers(0, 3),
    day=st.integers(0, 4),
)
quick = settings(max_examples=40)


def broken(manipulation: str, original: str, rewritten: str) -> set[str]:
    return {v.rule for v in check_pair(manipulation, original, rewritten).violations}


def perturbed(story: Story, share: float) -> dict[str, int]:
    return {"percent": round(story.percent * share), "revenue": round(story.revenue * share)}


@given(stories, st.floats(1.6, 1.9))
@quick
def test_numbers_in_range_are_sound(story, share):
    assert broken("numerical", story.text(), story.text(**perturbed(story, share))) == set()


@given(stories, st.floats(1.6, 1.9), st.sampled_from(["percent", "revenue"]))
@quick
def test_a_number_that_stays_is_found(story, share, kept):
    changed = perturbed(story, share) | {kept: getattr(story, kept)}
    assert broken("numerical", story.text(), story.text(**changed)) == {"quantity-unchanged"}


@given(stories, st.floats(3.0, 9.0))
@quick
def test_money_beyond_twice_is_out_of_range(story, share):
    changed = perturbed(story, 1.7) | {"revenue": round(story.revenue * share)}
    assert broken("numerical", story.text(), story.text(**changed)) == {"range"}


@given(stories)
@quick
def test_a_decline_beyond_a_hundred_percent_is_impossible(story):
    assume(not story.up)
    changed = perturbed(story, 1.7) | {"percent": 130}
    assert "impossible-value" in broken("numerical", story.text(), story.text(**changed))


@given(stories, st.integers(1, 3))
@quick
def test_another_quarter_is_found_in_every_manipulation(story, step):
    moved = {"quarter": (story.quarter + step) % 4}
    numerical = story.text(**perturbed(story, 1.7), **moved)
    flipped = story.text(up=not story.up, **moved)
    assert broken("numerical", story.text(), numerical) == {"date-changed"}
    assert broken("flipping", story.text(), flipped) == {"date-changed"}


@given(stories, st.integers(1, 4))
@quick
def test_another_day_is_found(story, step):
    flipped = story.text(up=not story.up, day=(story.day + step) % 5)
    assert broken("flipping", story.text(), flipped) == {"date-changed"}


@given(stories, st.sampled_from(NAMES))
@quick
def test_another_company_is_found(story, name):
    assume(name != story.name)
    rules = broken("flipping", story.text(), story.text(up=not story.up, name=name))
    assert rules & {"entity-changed", "entity-lost", "entity-added"}


@given(stories, st.integers(0, 3))
@quick
def test_everything_turned_round_is_sound(story, move):
    assert broken("flipping", story.text(), story.text(up=not story.up, move=move)) == set()


@given(stories, st.integers(0, 3))
@quick
def test_other_words_for_the_same_direction_reverse_nothing(story, move):
    assume(move != story.move)
    assert broken("flipping", story.text(), story.text(move=move)) == {"nothing-reversed"}


@given(stories, st.integers(31, 60))
@quick
def test_a_flip_that_changes_a_number_is_found(story, percent):
    flipped = story.text(up=not story.up, percent=percent)
    assert broken("flipping", story.text(), flipped) == {"number-changed"}


@given(stories, st.sampled_from(["beat", "missed", "strong", "weak"]))
@quick
def test_a_direction_left_standing_is_found(story, word):
    original, flipped = story.text(), story.text(up=not story.up)
    other = {"beat": "missed", "missed": "beat", "strong": "weak", "weak": "strong"}[word]
    assume(f" {word} " in original)
    assert broken("flipping", original, flipped.replace(other, word)) == {"not-reversed"}


LOUD = ("sharply", "markedly", "notably", "remarkably")


@given(stories, st.sampled_from(LOUD))
@quick
def test_one_stronger_word_is_sound(story, word):
    original = story.text()
    rewritten = original.replace(f"{story.percent}% on", f"{word} by {story.percent}% on")
    assert broken("sentiment", original, rewritten) == set()


@given(stories, st.sampled_from(["explosive", "stunning", "devastating", "catastrophic"]))
@quick
def test_an_extreme_word_is_found(story, word):
    original = story.text()
    rewritten = original.replace(" demand", f" and {word} demand")
    assert "over-amplified" in broken("sentiment", original, rewritten)


@given(stories)
@quick
def test_a_direction_turned_round_is_no_amplification(story):
    rewritten = story.text(up=not story.up).replace(" demand", " and notable demand")
    assert "direction-changed" in broken("sentiment", story.text(), rewritten)


CAUSES = ("higher freight costs", "a weaker dollar", "slower store openings", "milder weather")


@given(stories, st.sampled_from(CAUSES), st.sampled_from(CAUSES))
@quick
def test_another_cause_is_sound_and_the_same_one_is_not(story, old, new):
    def report(cause: str, up: bool = True) -> str:
        verb = "rose" if up else "fell"
        return (
            f"{story.name} said costs {verb} {story.percent}% in the "
            f"{QUARTERS[story.quarter]} quarter due to {cause}, while revenue was flat."
        )

    rules = broken("causal", report(old), report(new))
    assert rules == ({"identical"} if old == new else set())
    if old != new:
        assert "effect-changed" in broken("causal", report(old), report(new, up=False))
        assert "cause-unchanged" in broken(
            "causal", report(old), report(old).replace("was flat", "was unchanged")
        )
