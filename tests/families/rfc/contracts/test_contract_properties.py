"""Pairs made at random that break nothing, then one fact changed at a time."""

import re
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


def broken(manipulation: str, original: str, rewritten: str, title: str = "") -> set[str]:
    check = check_pair(manipulation, original, rewritten, title=title)
    undecided = True if manipulation == "numerical" else None
    assert check.passed is (False if check.violations else undecided)
    return {v.rule for v in check.violations}


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
def test_nothing_is_found_in_what_is_turned_round(story, move):
    assert broken("flipping", story.text(), story.text(up=not story.up, move=move)) == set()


REWRITES = {
    "flipping": lambda story, **facts: story.text(up=not story.up, **facts),
    "sentiment": lambda story, **facts: story.text(**facts).replace(" demand", " and firm demand"),
    "causal": lambda story, **facts: re.sub(
        r"(strong|weak) demand for its products",
        "a change of prices in its shops",
        story.text(**facts),
    ),
}


@given(stories, st.sampled_from(sorted(REWRITES)), st.integers(31, 60), st.integers(901, 999))
@quick
def test_a_figure_that_changes_where_none_may_is_found(story, manipulation, percent, revenue):
    rewrite = REWRITES[manipulation]
    assert broken(manipulation, story.text(), rewrite(story)) == set()
    for facts in ({"percent": percent}, {"revenue": revenue}):
        assert broken(manipulation, story.text(), rewrite(story, **facts)) == {"number-changed"}


@given(stories, st.sampled_from(sorted(REWRITES)))
@quick
def test_a_rewrite_in_which_only_figures_differ_is_of_another_kind(story, manipulation):
    rules = broken(manipulation, story.text(), story.text(**perturbed(story, 1.7)))
    assert {"other-kind", "number-changed"} <= rules


@given(stories, st.floats(1.6, 1.9), st.sampled_from(["headline", "story"]))
@quick
def test_a_headline_and_its_story_state_one_figure(story, share, part):
    def told(revenue: int, repeated: int) -> str:
        head = f"{story.name} Posts Revenue of ${revenue} Million in the Quarter"
        return f"{head}. It took ${repeated} million in the {QUARTERS[story.quarter]} quarter."

    new = round(story.revenue * share)
    pair = (new, new + 7) if part == "headline" else (new + 7, new)
    original = told(story.revenue, story.revenue)
    assert broken("numerical", original, told(new, new)) == set()
    assert "equal-quantities" in broken("numerical", original, told(*pair))


@given(stories)
@quick
def test_a_flip_that_leaves_its_headline_or_its_story_is_found(story):
    def told(head_up: bool, up: bool) -> str:
        verb = "Climb" if head_up else "Slide"
        return f"Shares of {story.name} {verb} After Quarterly Report\n{story.text(up=up)}"

    original = told(story.up, story.up)
    title, _, _ = original.partition("\n")
    for head, up, rules in ((0, 0, set()), (1, 0, {"not-reversed"}), (0, 1, {"not-reversed"})):
        rewritten = told(story.up == head, story.up == up)
        assert broken("flipping", original, rewritten, title) == rules


@given(stories, st.sampled_from(["explosive", "stunning", "devastating", "catastrophic"]))
@quick
def test_a_sensational_word_is_found(story, word):
    rewritten = story.text().replace(" demand", f" and {word} demand")
    assert broken("sentiment", story.text(), rewritten) == {"over-amplified"}


@given(stories, st.sampled_from(["numerical", "flipping", "sentiment"]))
@quick
def test_a_clause_put_in_is_found(story, manipulation):
    rewritten = {
        "numerical": story.text(**perturbed(story, 1.7)),
        "flipping": story.text(up=not story.up),
        "sentiment": story.text().replace(" demand", " and firm demand"),
    }[manipulation]
    rewritten = rewritten.replace(".", ", after a fire destroyed the warehouse.")
    assert "content-added" in broken(manipulation, story.text(), rewritten)


@given(stories, st.sampled_from(NAMES), st.integers(2, 99))
@quick
def test_a_new_cause_may_hold_new_words_but_no_new_company_and_no_new_figure(story, name, figure):
    def report(cause: str) -> str:
        return (
            f"{story.name} said costs rose {story.percent}% in the {QUARTERS[story.quarter]} "
            f"quarter due to {cause}, while revenue was flat."
        )

    assume(name != story.name and figure != story.percent)
    original = report("higher freight costs")
    assert broken("causal", original, report("slower store openings")) == set()
    assert broken("causal", original, report(f"a strike at {name}")) & {"entity-added"}
    assert "number-added" in broken("causal", original, report(f"a {figure}% drop in footfall"))
