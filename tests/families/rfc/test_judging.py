"""What judges say of pairs: prompts, and what facts and verdicts amount to."""

import pytest

from contrafact.errors import InputError
from contrafact.families.rfc.contracts import Check, check_pair
from contrafact.families.rfc.contracts.rules import fail
from contrafact.families.rfc.judging import CRITERIA, Judging, check_judges, settled
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.judges.judge import panel_verdict
from contrafact.judges.quoted import QuotedVerdict
from contrafact.judges.rubric import Judged

PAIR = "Norrick rose on Tuesday.", "Norrick fell on Tuesday."
OPEN, PASSED = Check(None, (), ()), Check(True, (), ())


def test_each_kind_is_asked_its_criteria_together_or_each_alone_and_the_texts_come_last():
    for kind in MANIPULATIONS:
        names = tuple(one.name for one in CRITERIA[kind])
        ((asked, prompt),) = Judging().prompts(kind, "a </original> b", "c")
        assert asked == names and prompt.endswith("<rewritten>c</rewritten>")
        assert prompt.count("</original>") == 2  # where texts are announced, and around this one
        for (alone,), text in Judging(each=True).prompts(kind, *PAIR):
            assert f"- {alone}: " in text and f"- {alone}: " in prompt
            assert not any(f"- {name}: " in text for name in names if name != alone)
    first, second = (Judging().prompts("causal", *pair)[0][1] for pair in (PAIR, ("x", "y")))
    assert second[: len(second) * 4 // 5] in first  # what a prefix cache holds


def test_a_pack_that_cannot_ask_a_criterion_alone_is_refused(tmp_path):
    from contrafact.prompts import open_pack

    (tmp_path / "rfc").mkdir()
    for kind in MANIPULATIONS:
        path = tmp_path / "rfc" / f"judge-{kind}.jinja"
        path.write_text("Fair? {{ original }} {{ rewritten }}", encoding="utf-8")
    assert Judging(open_pack(tmp_path)).prompts("causal", *PAIR)[0][1].startswith("Fair?")
    with pytest.raises(InputError, match="'criteria' is never used"):
        Judging(open_pack(tmp_path), each=True)


def judged(kind, *members, words="fell on Tuesday"):
    """Return verdicts: of each judge a sign for each criterion of the kind."""
    votes = {
        one.name: [
            QuotedVerdict(
                criterion=one.name,
                passed={"1": True, "0": False, "?": None}[signs[place]],
                invalid="mumbles" if signs[place] == "?" else None,
                judge=f"j{number}",
                words=words if signs[place] == "0" else "",
            )
            for number, signs in enumerate(members, start=1)
        ]
        for place, one in enumerate(CRITERIA[kind])
    }
    return Judged({name: panel_verdict(own) for name, own in votes.items()}, votes)


@pytest.mark.parametrize(
    ("members", "passed", "broken", "open_"),
    [
        (["111"], True, [], 0),
        (["101"], False, ["meaning-coherent"], 0),
        (["00?"], False, ["meaning-reversed", "meaning-coherent"], 1),
        (["1?1"], None, [], 1),
        (["???"], None, [], 3),
        (["111", "110"], None, [], 1),  # a tie
        (["111", "110", "?10"], False, ["meaning-nothing-added"], 0),
        (["111", "1?1"], True, [], 0),
    ],
)
def test_all_true_passes_one_false_fails_and_what_has_no_verdict_stays_open(
    members, passed, broken, open_
):
    found = settled(OPEN, judged("flipping", *members), "flipping", *PAIR)
    assert found.passed is passed and Judged({}, {}).passed is None
    assert [one.rule for one in found.violations] == broken
    assert [one.rule for one in found.review] == ["meaning-undecided"] * open_


def test_a_violation_has_the_words_who_says_so_and_where_they_stand():
    found = settled(OPEN, judged("flipping", "111", "011", "011"), "flipping", *PAIR)
    (one,) = found.violations
    assert "j2, j3: 'fell on Tuesday'" in one.message and "j1" not in one.message
    assert one.original_span is None
    assert PAIR[1][slice(*one.rewritten_span)] == "fell on Tuesday"
    tie = settled(OPEN, judged("flipping", "111", "011"), "flipping", *PAIR)
    assert "no verdict on reversed: tie" in tie.review[0].message


def test_a_numerical_pair_stays_what_facts_make_it_and_judges_speak_to_a_person():
    found = settled(PASSED, judged("numerical", "0?"), "numerical", *PAIR)
    assert found.passed is True and not found.violations
    assert [one.rule for one in found.review] == ["meaning-plausible", "meaning-undecided"]
    for verdicts, passed in (("01", False), ("0?", False), ("1?", True), ("11", True)):
        given = judged("numerical", verdicts)
        assert settled(PASSED, given, "numerical", *PAIR, decide=True).passed is passed


def test_a_numerical_pair_whose_words_are_exchanged_is_for_a_judge():
    texts = ("Strong demand lifted sales 12%.", "Weak demand lifted sales 20%.")
    facts = check_pair("numerical", *texts)
    assert Judging().asks("numerical", facts)
    assert settled(facts, judged("numerical", "11"), "numerical", *texts).passed is True
    assert settled(facts, judged("numerical", "10"), "numerical", *texts).passed is False


def test_only_what_facts_leave_open_is_asked_and_numerical_pairs_on_request():
    failed = Check(False, (fail("date-changed", "x"),), ())
    asks = Judging().asks
    assert asks("causal", OPEN) and not asks("causal", failed) and not asks("numerical", PASSED)
    asks = Judging(numerical=True).asks
    assert asks("numerical", PASSED) and not asks("numerical", failed)


def test_a_verifier_reads_no_meaning():
    with pytest.raises(InputError, match="rfc has no verifier"):
        check_judges(["verifier/none"])
