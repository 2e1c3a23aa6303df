"""The verifier ``rules``: what it decides, what it leaves open, and never by its own headline."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrafact.families.finforce.error_classes import classify
from contrafact.families.finforce.exam import finforce_items
from contrafact.families.finforce.judging import subject_of
from contrafact.families.finforce.verifier import balance, rules
from contrafact.records import CRITERIA

CASES = Path(__file__).with_name("rules_cases.jsonl")

HEADLINE = "Korvan Mills reports higher quarterly sales in Europe"


def decided(criterion, text, side="risk", headline=HEADLINE):
    return rules(criterion, subject_of(headline, side, text)).passed


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Korvan Mills warns of layoffs as European demand collapses", "risk"),
        ("Korvan Mills does not recover in Europe and its costs soar", "risk"),
        ("Inflation rises again in Europe, squeezing Korvan Mills", "risk"),
        ("Korvan Mills wins record orders in Europe, boosting profit", "opportunity"),
        ("Korvan Mills avoids layoffs as costs fall in Europe", "opportunity"),
        ("Korvan Mills resolves its dispute and resumes shipments", "opportunity"),
    ],
)
def test_the_side_is_read_off_what_is_new(text, side):
    other = "opportunity" if side == "risk" else "risk"
    assert decided("directionality", text, side) is True
    assert decided("directionality", text, other) is False


def test_a_text_that_says_nothing_new_has_no_side():
    assert decided("directionality", HEADLINE) is False
    assert (
        decided("directionality", "KORVAN MILLS reports higher quarterly sales in Europe.") is False
    )


def test_what_balances_is_undecided():
    decision = rules(
        "directionality", subject_of(HEADLINE, "risk", "Korvan Mills grows in Europe amid layoffs")
    )
    assert decision.passed is None and "balance" in decision.reason


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("Korvan Mills cuts jobs after its sales in Europe slow", True),
        ("A choir from Ostrava sings at the harbour", False),
        ("Korvan Mills did not report higher quarterly sales in Europe", False),
        ("Korvan Mills keeps its quarterly sales in Europe", None),
    ],
)
def test_forward_compatibility(text, passed):
    assert decided("forward_compatibility", text) is passed


def test_no_rule_decides_another_criterion():
    assert decided("trivial_consequences", "Korvan Mills cuts jobs") is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_gets_a_decision_and_sides_oppose(headline, text):
    assert balance(headline, headline) == 0
    risk = decided("directionality", text, "risk", headline)
    gain = decided("directionality", text, "opportunity", headline)
    same = risk is gain
    assert not same or risk in (None, False)
    assert decided("forward_compatibility", text, headline=headline) in (True, False, None)


def test_which_side_news_is_of_is_told_far_better_than_by_chance():
    """The items were written before the rules were; the bounds are what was measured, less 5%."""
    right: dict[str, list[bool]] = {}
    for item in finforce_items():
        for criterion, known in item.known.items():
            found = rules(criterion, subject_of(item.about, item.facts["side"], item.text)).passed
            if found is not None:
                right.setdefault(item.kind, []).append(found is known)
    shares = {kind: sum(own) / len(own) for kind, own in right.items()}
    assert shares["pass"] > 0.83 and shares["wrong-side"] > 0.8 and shares["turned"] > 0.8


def test_the_documented_figures_on_hand_written_cases_are_those_of_today():
    """100 cases, written before the word lists were read; one half was never tuned on."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    assert len({(case["headline"], case["text"], case["side"]) for case in cases}) == 100
    expected = []
    for criterion in CRITERIA:
        for held_back in (False, True):
            own = [case for case in cases if case["held_back"] is held_back]
            for known in (True, False):
                found = [rules(criterion, case).passed for case in own if case[criterion] is known]
                counts = (found.count(known), found.count(not known), found.count(None))
                name = criterion.replace("_", " ")
                half = "held back" if held_back else "open"
                answer = "holds" if known else "fails"
                expected.append(
                    f"| {name}, {answer} | {half} | {counts[0]} | {counts[1]} | {counts[2]} |"
                )
    of_errors = [(case, classify(case["headline"], case["text"])) for case in cases]
    for mark, flag in (("new_figure", "numeric_prediction"), ("entities_lost", "fantastical_edit")):
        pairs = [(case[mark], getattr(one, flag)) for case, one in of_errors]
        right, wrong = pairs.count((True, True)), pairs.count((False, True))
        open_ones = sum(found is None for _, found in pairs)
        there = sum(known for known, _ in pairs)
        expected.append(f"| {flag} | {right + wrong} | {right} | {there} | {open_ones} |")
    page = (Path(__file__).parents[3] / "docs" / "verifiers.md").read_text(encoding="utf-8")
    assert [line for line in expected if line not in page] == []


@pytest.mark.parametrize(
    ("headline", "text", "passed"),
    [
        ("Ostrel port reopens after storm", "Ostrel port shuts after storm damage", None),
        ("Ostrel exports climb to record", "Ostrel exports fall short and shops close", None),
        ("Ostrel exports climb to record", "Ostrel exports climb on, and prices fall", True),
        ("Ostrel port reopens after storm", "Ostrel port reopens", None),
    ],
)
def test_a_first_clause_that_turns_the_event_round_or_repeats_it_is_left_open(
    headline, text, passed
):
    assert decided("forward_compatibility", text, headline=headline) is passed


def test_routes_are_no_rout():
    assert decided("directionality", "Korvan Mills opens routes to Spain") is None
